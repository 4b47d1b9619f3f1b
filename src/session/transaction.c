/* transaction.c - see transaction.h. */
#include "session/transaction.h"

#include <pthread.h>

#include "types/func.h"

enum { ROWS_LOOKED_AT = 512 /* of one change: more are taken for all rows of the table */ };

/* One of a conjunction that selects rows: lo <= column <= hi, as integers, or column = text. */
typedef struct ReadCond {
    int col;
    bool is_text;
    int64_t lo, hi;
    Str text;
} ReadCond;
struct TxnRead {
    int64_t table; /* id */
    int32_t n_conds; /* 0: all rows */
    ReadCond *conds;
};

struct Txn {
    Txn *next, **link;     /* of the hub */
    Session *session;      /* NULL: rolled back, its changes still stand */
    UndoLog *undo;         /* of one without a session */
    Arena *arena;          /* reads */
    VEC(TxnRead) reads;
    _Atomic bool suspended; /* its changes are in `net` */
    Arena *saved;
    int64_t n_net;
    NetChange *net;
    bool doomed, pinned;
    bool changed;          /* its session's: at the end of some statement there were changes */
};

static TxnHub *hub_of(const Session *s) { return txn_lock_hub(s->db->txn_lock); }

/* ---- the list ------------------------------------------------------------------------------------ */
static void free_txn(Txn *x) {
    arena_free(x->saved);
    arena_free(x->arena);
    undo_free(x->undo);
    mem_free(NULL, x, (int64_t)sizeof *x);
}
static void unlink_txn(Txn *x) {
    *x->link = x->next;
    if (x->next) x->next->link = x->link;
}

static Status begin(Session *s) {
    TxnHub *h = hub_of(s);
    Txn *x = mem_calloc(NULL, (int64_t)sizeof *x, &s->err);
    if (!x) return ST_ERROR;
    if (!(x->arena = arena_new(&s->db->account, &s->err))) {
        mem_free(NULL, x, (int64_t)sizeof *x);
        return ST_ERROR;
    }
    arena_set_err(x->arena, NULL);
    x->session = s;
    pthread_mutex_lock(&h->mutex);
    x->next = h->open;
    x->link = &h->open;
    if (x->next) x->next->link = &x->next;
    h->open = x;
    pthread_mutex_unlock(&h->mutex);
    s->txn = x;
    return ST_OK;
}

/* ---- changes out of the tables and back ---------------------------------------------------------- */
static Status save(Txn *x, UndoLog *u) {
    if (!(x->saved = arena_new(&x->session->db->account, NULL))) return ST_ERROR;
    TRY(undo_net(u, x->saved, &x->n_net, &x->net));
    for (int64_t i = 0; i < x->n_net; i++) TRY(net_save(&x->net[i], x->saved));
    return ST_OK;
}
static void forget_saved(Txn *x) {
    arena_free(x->saved);
    x->saved = NULL;
    x->net = NULL;
    x->n_net = 0;
}

/* The resident's changes leave the tables. The caller has the database alone. */
static void evict(TxnHub *h) {
    pthread_mutex_lock(&h->mutex); /* its session may be rolling it back */
    Txn *x = atomic_load(&h->resident);
    atomic_store(&h->resident, NULL);
    if (x && !x->session) {
        undo_rollback(x->undo, 0);
        unlink_txn(x);
        free_txn(x);
    } else if (x) {
        if (save(x, x->session->undo) != ST_OK) {
            x->doomed = true; /* there is no memory to keep them */
            forget_saved(x);
        }
        undo_rollback(x->session->undo, 0);
        atomic_store(&x->suspended, true);
    }
    pthread_mutex_unlock(&h->mutex);
}

static Status serialization_failure(Session *s, const char *why) {
    err_clear(&s->err);
    err_set(&s->err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to read/write dependencies among transactions");
    err_detail(&s->err, "%s", why);
    err_hint(&s->err, "The transaction might succeed if retried.");
    return ST_ERROR;
}

static Status put_back(Session *s, Txn *x) {
    Arena *tmp = arena_new(&s->db->account, &s->err);
    Status st = tmp ? ST_OK : ST_ERROR;
    for (int64_t i = 0; st == ST_OK && i < x->n_net; i++) st = net_apply(&x->net[i], s->undo, tmp, &s->err);
    arena_free(tmp);
    if (st != ST_OK) {
        undo_rollback(s->undo, 0);
        x->doomed = true;
        if (strcmp(s->err.sqlstate, ERR_OUT_OF_MEMORY) == 0) return st;
        return serialization_failure(s, "A row that a concurrent transaction committed has a key of this transaction's rows.");
    }
    atomic_store(&x->suspended, false);
    forget_saved(x);
    return ST_OK;
}

LockMode transaction_lock_mode(const Session *s, LockMode mode, bool definitions) {
    const Txn *r = atomic_load(&hub_of(s)->resident);
    if (definitions && mode == LOCK_SHARED) return mode;
    return (r && r != s->txn) || (s->txn && atomic_load(&s->txn->suspended)) ? LOCK_EXCLUSIVE : mode;
}

Status transaction_enter(Session *s, bool definitions, bool *again) {
    TxnHub *h = hub_of(s);
    *again = false;
    if (definitions && s->lock == LOCK_SHARED) return ST_OK;
    if (s->state == 'T' && !s->txn) TRY(begin(s));
    Txn *x = s->txn, *r = atomic_load(&h->resident);
    if (s->lock == LOCK_SHARED) {
        *again = (r && r != x) || (x && atomic_load(&x->suspended));
        if (*again) return ST_OK;
    }
    if (r && r != x) evict(h);
    if (x && x->doomed) return serialization_failure(s, "Canceled on conflict with a transaction that was committed meanwhile.");
    return x && atomic_load(&x->suspended) ? put_back(s, x) : ST_OK;
}

void transaction_pin(Session *s) {
    if (s->txn) s->txn->pinned = true;
}
bool transaction_pinned(const Session *s) { return s->txn && (s->txn->pinned || s->catalog_undo); }

bool transaction_changed(const Session *s) { return s->txn && s->txn->changed; }

void transaction_pause(Session *s) {
    if (s->lock == LOCK_NONE) return;
    bool changed = s->txn && s->undo && undo_mark(s->undo) > 0;
    if (changed) s->txn->changed = true;
    if (transaction_pinned(s) || (s->deferrable && s->read_only)) return;
    if (changed) {
        if (undo_is_whole(s->undo)) { /* cannot be taken out again */
            s->txn->pinned = true;
            return;
        }
        atomic_store(&hub_of(s)->resident, s->txn);
    }
    session_unlock(s);
}

void transaction_end(Session *s, bool commit) {
    TxnHub *h = hub_of(s);
    Txn *x = s->txn;
    if (!x) return;
    s->txn = NULL;
    pthread_mutex_lock(&h->mutex);
    bool stands = atomic_load(&h->resident) == x;
    if (stands && !commit && s->lock == LOCK_NONE) { /* the next who takes the lock undoes it */
        x->undo = s->undo;
        x->session = NULL;
        s->undo = NULL;
        x = NULL;
    } else {
        if (stands) atomic_store(&h->resident, NULL);
        unlink_txn(x);
    }
    pthread_mutex_unlock(&h->mutex);
    if (x) free_txn(x);
}

void transactions_settle(Database *db) {
    TxnHub *h = txn_lock_hub(db->txn_lock);
    if (atomic_load(&h->resident)) evict(h);
}

/* ---- reads ------------------------------------------------------------------------------------------ */
static bool same_read(const TxnRead *a, const TxnRead *b) {
    if (a->table != b->table || a->n_conds != b->n_conds) return false;
    for (int32_t i = 0; i < a->n_conds; i++) {
        const ReadCond *x = &a->conds[i], *y = &b->conds[i];
        if (x->col != y->col || x->is_text != y->is_text || x->lo != y->lo || x->hi != y->hi || (x->is_text && !str_eq(x->text, y->text))) return false;
    }
    return true;
}
/* Conditions are copied. */
static Status add_read(Session *s, const TxnRead *r) {
    Txn *x = s->txn;
    for (int64_t i = x->reads.len - 1; i >= 0; i--) {
        const TxnRead *old = &x->reads.items[i];
        if (old->table == r->table && (old->n_conds == 0 || (i + 16 > x->reads.len && same_read(old, r)))) return ST_OK;
    }
    TxnRead copy = {r->table, r->n_conds, arena_array(x->arena, ReadCond, r->n_conds + 1)};
    bool ok = copy.conds != NULL;
    for (int32_t i = 0; ok && i < r->n_conds; i++) {
        copy.conds[i] = r->conds[i];
        if (!r->conds[i].is_text) continue;
        char *text = arena_strndup(x->arena, r->conds[i].text.ptr, r->conds[i].text.len);
        ok = text != NULL;
        if (ok) copy.conds[i].text = str_make(text, r->conds[i].text.len);
    }
    return ok && vec_push(x->arena, &x->reads, copy) ? ST_OK : err_oom(&s->err);
}
Status transaction_reads_table(Session *s, const Table *t) { return s->txn ? add_read(s, &(TxnRead){.table = t->id}) : ST_OK; }

/* column = value; false: not of a kind that is understood. */
static bool equals(const Table *t, int col, const Value *v, ReadCond *out) {
    Type want = t->cols[col].type;
    int64_t n;
    *out = (ReadCond){.col = col};
    if (v->is_null) return false;
    if (type_phys(want) == PH_STR) {
        out->is_text = true;
        out->text = v->u.str;
        return type_is_text(v->type) && type_is_text(want) && want.id != T_CHAR && v->type.id != T_CHAR;
    }
    bool same = type_eq(v->type, want) || (type_is_integer(v->type) && type_is_integer(want));
    if (!same || type_phys(want) > PH_I128 || !cell_as_i64(type_phys(v->type), value_cell_const(v), &n)) return false;
    out->lo = out->hi = n;
    return true;
}
Status transaction_reads_key(Session *s, const Table *t, int key, const Value *vals) {
    if (!s->txn) return ST_OK;
    ReadCond conds[32];
    TxnRead r = {.table = t->id, .conds = conds};
    for (int j = 0; j < t->keys[key].n_cols && j < 32; j++)
        r.n_conds += equals(t, t->keys[key].cols[j], &vals[j], &conds[r.n_conds]);
    return add_read(s, &r);
}

/* The scan's column that an expression is, perhaps as a wider integer; -1. */
static int scan_column(const Plan *scan, const Expr *e) {
    if (e->kind == EX_CAST && type_is_integer(e->type) && type_is_integer(e->args[0]->type) && e->type.id > e->args[0]->type.id) e = e->args[0];
    if (e->kind != EX_COL) return -1;
    for (int32_t i = 0; i < scan->n_out; i++)
        if (scan->out_cols[i] == e->u.col) return scan->scan_cols[i];
    return -1;
}
/* column IN (constants): within the least and the greatest. */
static bool bounds_of_list(const Plan *scan, const Expr *e, ReadCond *out) {
    int col = scan_column(scan, e->args[0]);
    if (col < 0 || e->n_args < 2) return false;
    for (int32_t i = 1; i < e->n_args; i++) {
        ReadCond one;
        if (e->args[i]->kind != EX_CONST || !equals(scan->table, col, &e->args[i]->u.value, &one) || one.is_text) return false;
        if (i == 1) *out = one;
        out->lo = MIN_OF(out->lo, one.lo);
        out->hi = MAX_OF(out->hi, one.hi);
    }
    return true;
}
/* A conjunct that bounds a column of the scan. */
static bool bounds(const Plan *scan, const Expr *e, ReadCond *out) {
    if (e->kind == EX_IN) return bounds_of_list(scan, e, out);
    if (e->kind != EX_FUNC || e->n_args != 2) return false;
    const char *op = e->u.func->name;
    for (int side = 0; side < 2; side++) {
        const Expr *own = e->args[side], *other = e->args[1 - side];
        int col = scan_column(scan, own);
        if (col < 0 || other->kind != EX_CONST || !equals(scan->table, col, &other->u.value, out)) continue;
        if (strcmp(op, "=") == 0) return true;
        bool less = op[0] == '<' && op[1] != '>', strict = op[1] == 0;
        if (out->is_text || !(less || op[0] == '>') || (op[1] && strcmp(op + 1, "=") != 0)) return false;
        if (side == 1) less = !less; /* 5 < column */
        int64_t at = out->lo;
        if (strict && (at == INT64_MIN || at == INT64_MAX)) return false;
        *out = (ReadCond){.col = col, .lo = less ? INT64_MIN : at + strict, .hi = less ? at - strict : INT64_MAX};
        return true;
    }
    return false;
}

typedef struct Walk {
    Arena *a;
    const Plan *above[16]; /* filters right above */
    int n_above;
    TxnReads *out;
    bool ok;
} Walk;
static void add_bounds(Walk *w, const Plan *scan, const Plan *p, TxnRead *r, ReadCond *conds, int max) {
    for (int32_t i = 0; i < p->n_conds && r->n_conds < max; i++) {
        ReadCond c;
        if (!bounds(scan, p->conds[i], &c)) continue;
        if (c.is_text) {
            char *text = arena_strndup(w->a, c.text.ptr, c.text.len);
            w->ok = w->ok && text;
            if (text) c.text = str_make(text, c.text.len);
        }
        conds[r->n_conds++] = c;
    }
}
static void walk(Walk *w, const Plan *p) {
    if (p->kind == LP_SCAN) {
        enum { CONDS = 32 };
        ReadCond *conds = arena_array(w->a, ReadCond, CONDS);
        TxnRead r = {.table = p->table->id, .conds = conds};
        if (!conds) {
            w->ok = false;
            return;
        }
        add_bounds(w, p, p, &r, conds, CONDS);
        for (int i = 0; i < w->n_above; i++) add_bounds(w, p, w->above[i], &r, conds, CONDS);
        w->ok = w->ok && vec_push(w->a, &w->out->list, r);
        return;
    }
    int n = w->n_above;
    if (p->kind == LP_FILTER && n < (int)ARRAY_LEN(w->above)) w->above[w->n_above++] = p;
    else if (p->kind != LP_FILTER && p->kind != LP_PROJECT && p->kind != LP_SORT) w->n_above = 0;
    const Plan *kept[ARRAY_LEN(w->above)];
    int m = w->n_above;
    memcpy(kept, w->above, sizeof kept);
    for (int32_t i = 0; i < p->n_children; i++) {
        memcpy(w->above, kept, sizeof kept);
        w->n_above = m;
        walk(w, p->children[i]);
    }
    w->n_above = n;
}

Status transaction_reads_of_plan(const PlanCtx *c, const BoundStmt *b, Arena *a, TxnReads *out) {
    Walk w = {.a = a, .out = out, .ok = true};
    *out = (TxnReads){0};
    walk(&w, b->plan);
    /* The optimiser may have done without a scan because of what it knows of a table as a whole (no value comes twice): then the whole table was read. */
    for (int64_t i = 0; i < c->relations.len; i++) {
        const Table *t = catalog_table(c->catalog, slice_of(c->relations.items[i]));
        if (!t) continue;
        int64_t named = 0, scans = t == b->table && b->kind == STMT_INSERT && !b->hit && !b->on_conflict_nothing;
        for (int64_t k = 0; k < c->relations.len; k++) named += strcmp(c->relations.items[k], t->name) == 0;
        for (int64_t k = 0; k < out->list.len; k++) scans += out->list.items[k].table == t->id;
        if (scans < named || c->n_ctes > 0) w.ok = w.ok && vec_push(a, &out->list, ((TxnRead){.table = t->id}));
    }
    return w.ok ? ST_OK : err_oom(c->err);
}
Status transaction_reads(Session *s, const TxnReads *r) {
    for (int64_t i = 0; s->txn && i < r->list.len; i++) TRY(add_read(s, &r->list.items[i]));
    return ST_OK;
}

/* ---- dooming ------------------------------------------------------------------------------------------ */
static bool cell_matches(const ReadCond *c, const Value *v) {
    int64_t n;
    if (v->is_null) return false;
    if (c->is_text) return str_eq(c->text, v->u.str);
    return !cell_as_i64(type_phys(v->type), value_cell_const(v), &n) || (n >= c->lo && n <= c->hi);
}
static bool row_matches(const TxnRead *r, const UndoLog *before, const Table *t, int64_t rowid) {
    for (int32_t i = 0; i < r->n_conds; i++) {
        Value v;
        undo_value(before, t, rowid, r->conds[i].col, &v);
        if (!cell_matches(&r->conds[i], &v)) return false;
    }
    return true;
}
static bool reads_change(const TxnRead *r, const NetChange *c, const UndoLog *u) {
    if (r->table != c->id) return false;
    if (c->whole || r->n_conds == 0 || c->n_deleted + c->n_updated + c->n_inserted > ROWS_LOOKED_AT) return true;
    for (int64_t i = 0; i < c->n_deleted; i++)
        if (row_matches(r, u, c->table, c->deleted[i])) return true;
    for (int64_t i = 0; i < c->n_updated; i++)
        if (row_matches(r, u, c->table, c->updated[i]) || row_matches(r, NULL, c->table, c->updated[i])) return true;
    for (int64_t i = 0; i < c->n_inserted; i++)
        if (row_matches(r, NULL, c->table, c->inserted[i])) return true;
    return false;
}
static bool have_common(int64_t n, const int64_t *a, int64_t m, const int64_t *b) {
    for (int64_t i = 0, k = 0; i < n && k < m;) {
        if (a[i] == b[k]) return true;
        if (a[i] < b[k]) i++;
        else k++;
    }
    return false;
}
static bool writes_overlap(const NetChange *a, const NetChange *b) {
    if (a->id != b->id) return false;
    return a->whole || b->whole || have_common(a->n_deleted, a->deleted, b->n_deleted, b->deleted) || have_common(a->n_deleted, a->deleted, b->n_updated, b->updated) ||
           have_common(a->n_updated, a->updated, b->n_deleted, b->deleted) || have_common(a->n_updated, a->updated, b->n_updated, b->updated);
}

static bool conflicts(const Txn *x, int64_t n, const NetChange *net, const UndoLog *u) {
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < x->reads.len; i++)
            if (reads_change(&x->reads.items[i], &net[k], u)) return true;
        for (int64_t i = 0; i < x->n_net && atomic_load(&x->suspended); i++)
            if (writes_overlap(&x->net[i], &net[k])) return true;
    }
    return false;
}
static void doom(Session *s, int64_t n, const NetChange *net, const UndoLog *u, bool own) {
    TxnHub *h = hub_of(s);
    pthread_mutex_lock(&h->mutex);
    for (Txn *x = h->open; x; x = x->next)
        if ((own || x != s->txn) && !x->doomed && conflicts(x, n, net, u)) x->doomed = true;
    pthread_mutex_unlock(&h->mutex);
}
bool transaction_open(const Session *s) {
    TxnHub *h = hub_of(s);
    pthread_mutex_lock(&h->mutex);
    bool yes = h->open != NULL;
    pthread_mutex_unlock(&h->mutex);
    return yes;
}

void transaction_dooms(Session *s, const UndoLog *u, bool own) {
    int64_t n;
    NetChange *net;
    if (!u || undo_mark(u) == 0 || !transaction_open(s)) return;
    Arena *a = arena_new(&s->db->account, NULL);
    if (a && undo_net(u, a, &n, &net) == ST_OK) {
        doom(s, n, net, u, own);
    } else { /* no memory to look closely: all of them */
        TxnHub *h = hub_of(s);
        pthread_mutex_lock(&h->mutex);
        for (Txn *x = h->open; x; x = x->next) x->doomed = x->doomed || own || x != s->txn;
        pthread_mutex_unlock(&h->mutex);
    }
    arena_free(a);
}
void transaction_dooms_table(Session *s, int64_t id) { doom(s, 1, &(NetChange){.id = id, .whole = true}, NULL, false); }

bool transaction_holds_rows(const Session *s, const Table *t) {
    TxnHub *h = hub_of(s);
    bool yes = false;
    pthread_mutex_lock(&h->mutex);
    for (const Txn *x = h->open; x && !yes; x = x->next)
        for (int64_t i = 0; i < x->n_net && !yes; i++) yes = x->net[i].id == t->id && !x->doomed && x->net[i].n_deleted + x->net[i].n_updated > 0;
    pthread_mutex_unlock(&h->mutex);
    return yes;
}
