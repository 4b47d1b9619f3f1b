/* transaction_reads.c - what transactions have read and written, and what of it others have changed since. See
 * transaction.h. */
#include "session/core/transaction_int.h"

#include "session/pl/pl_eval.h"
#include "storage/undo_rows.h"
#include "types/func.h"

enum { ROWS_LOOKED_AT = 4096 /* of the changes of a version: more are taken for all rows of the table */ };

/* ---- reads ------------------------------------------------------------------------------------------ */
/* A copy for the time after the plan's; columns of the scan become the table's, without a scan they are that already.
 * *ok false: it is of a kind that is not understood, or there is no memory. */
static Expr *copy_filter(Arena *a, const Plan *scan, const Expr *e, bool *ok) {
    int64_t n;
    const FuncDef *all = func_table(&n);
    bool known = e->kind != EX_PARAM && e->kind != EX_SUBQUERY && e->kind != EX_AGG;
    if (e->kind == EX_FUNC)
        known = e->u.func >= all && e->u.func < all + n && !(e->u.func->flags & (FN_VOLATILE | FN_STABLE)) &&
                e->u.func->kernel;
    /* In another time zone it would be another value, but for comparisons. */
    bool zone = type_has_zone(e->type);
    for (int32_t i = 0; i < e->n_args; i++) zone |= type_has_zone(e->args[i]->type);
    if (e->kind == EX_CAST || (e->kind == EX_FUNC && e->type.id != T_BOOL)) known &= !zone;
    Expr *copy = known && !stack_stop() ? arena_new_of(a, Expr) : NULL;
    if (copy) {
        *copy = *e;
        copy->args = arena_array(a, Expr *, e->n_args + 1);
    }
    *ok = *ok && copy && copy->args;
    if (!*ok) return NULL;
    if (e->kind == EX_CONST) *ok = value_copy(a, &e->u.value, &copy->u.value) == ST_OK;
    if (e->kind == EX_COL && scan) {
        int32_t i = 0;
        while (i < scan->n_out && scan->out_cols[i] != e->u.col) i++;
        *ok = i < scan->n_out && scan->scan.cols[i] >= 0;
        if (*ok) copy->u.col = scan->scan.cols[i];
    }
    for (int32_t i = 0; *ok && i < e->n_args; i++) copy->args[i] = copy_filter(a, scan, e->args[i], ok);
    return copy;
}

static bool same_read(const TxnRead *a, const TxnRead *b) {
    if (a->table != b->table || a->refers != b->refers || a->n_conds != b->n_conds || a->n_filters != b->n_filters)
        return false;
    for (int32_t i = 0; i < a->n_filters; i++)
        if (!expr_equal(a->filters[i], b->filters[i])) return false;
    for (int32_t i = 0; i < a->n_conds; i++) {
        const ReadCond *x = &a->conds[i], *y = &b->conds[i];
        if (x->col != y->col || x->is_text != y->is_text || x->lo != y->lo || x->hi != y->hi ||
            (x->is_text && !str_eq(x->text, y->text)))
            return false;
    }
    return true;
}
/* The table came to be after what the transaction sees. */
static bool is_new(const TxnHub *h, const Txn *x, int64_t table) {
    for (const Version *v = h->newest; v && v->ts > x->ts; v = v->before)
        for (int64_t i = 0; i < v->events.len; i++)
            if (v->events.items[i].made && v->events.items[i].id == table) return true;
    return false;
}
/* Conditions are copied. At READ COMMITTED reads count for the statement only, but those that are kept. */
static Status add_read(Session *s, const TxnRead *r, bool keep) {
    Txn *x = s->txn;
    if (x->sees_latest && !keep && !s->block.keeps_read) return ST_OK;
    if (!session_reads_version(s) && is_new(transaction_hub(s), x, r->table)) /* a version has no newer ones */
        return serialization_failure(s, "A table was defined after the transaction's first statement.");
    for (int64_t i = x->reads.len - 1; i >= 0; i--) {
        const TxnRead *old = &x->reads.items[i];
        if (old->table == r->table &&
            (old->n_conds + old->n_filters == 0 || (i + 16 > x->reads.len && same_read(old, r))))
            return ST_OK;
    }
    TxnRead copy = {.table = r->table,
                    .n_conds = r->n_conds,
                    .n_filters = r->n_filters,
                    .refers = r->refers,
                    .conds = arena_array(x->arena, ReadCond, r->n_conds + 1),
                    .filters = arena_array(x->arena, Expr *, r->n_filters + 1)};
    bool ok = copy.conds && copy.filters;
    for (int32_t i = 0; ok && i < r->n_filters; i++) copy.filters[i] = copy_filter(x->arena, NULL, r->filters[i], &ok);
    for (int32_t i = 0; ok && i < r->n_conds; i++) {
        copy.conds[i] = r->conds[i];
        if (!r->conds[i].is_text) continue;
        char *text = arena_strndup(x->arena, r->conds[i].text.ptr, r->conds[i].text.len);
        ok = text != NULL;
        if (ok) copy.conds[i].text = str_make(text, r->conds[i].text.len);
    }
    return ok && vec_push(x->arena, &x->reads, copy) ? ST_OK : err_oom(&s->err);
}
int transaction_tables_read(const Session *s, int most, int64_t *ids) {
    int n = 0;
    for (int64_t i = 0; s->txn && i < s->txn->reads.len; i++) {
        int k = 0;
        while (k < n && ids[k] != s->txn->reads.items[i].table) k++;
        if (k == n && n < most) ids[n++] = s->txn->reads.items[i].table;
    }
    return n;
}
Status transaction_reads_table(Session *s, const Table *t) {
    if (!s->txn) return ST_OK;
    transaction_reads_row(s, t->id, -1);
    return add_read(s, &(TxnRead){.table = t->id}, false);
}

/* column = value; false: not of a kind that is understood. */
static bool equals(const Table *t, int col, const Value *v, ReadCond *out) {
    Type want = t->cols[col].type;
    int64_t n;
    *out = (ReadCond){.col = col};
    if (v->is_null) return false;
    if (type_phys(want) == PH_STR) {
        out->is_text = true;
        out->text = v->u.str;
        return type_same_strings(v->type, want);
    }
    bool same = type_eq(v->type, want) || (type_is_integer(v->type) && type_is_integer(want));
    if (!same || type_phys(want) > PH_I128 || !cell_as_i64(type_phys(v->type), value_cell_const(v), &n)) return false;
    out->lo = out->hi = n;
    return true;
}
static Status reads_key(Session *s, const Table *t, int key, const Value *vals, bool refers) {
    if (!s->txn) return ST_OK;
    ReadCond conds[32];
    TxnRead r = {.table = t->id, .refers = refers, .conds = conds};
    for (int j = 0; j < t->keys[key].n_cols && j < 32; j++)
        r.n_conds += equals(t, t->keys[key].cols[j], &vals[j], &conds[r.n_conds]);
    return add_read(s, &r, refers);
}
Status transaction_reads_key(Session *s, const Table *t, int key, const Value *vals) {
    return reads_key(s, t, key, vals, false);
}
Status transaction_refers_to(Session *s, const Table *t, int key, const Value *vals) {
    return reads_key(s, t, key, vals, true);
}

/* The scan's column that an expression is, perhaps as a wider integer; -1. */
static int scan_column(const Plan *scan, const Expr *e) {
    if (e->kind == EX_CAST && type_is_integer(e->type) && type_is_integer(e->args[0]->type) &&
        e->type.id > e->args[0]->type.id)
        e = e->args[0];
    if (e->kind != EX_COL) return -1;
    for (int32_t i = 0; i < scan->n_out; i++)
        if (scan->out_cols[i] == e->u.col) return scan->scan.cols[i];
    return -1;
}
/* column IN (constants): within the least and the greatest. */
static bool bounds_of_list(const Plan *scan, const Expr *e, ReadCond *out) {
    int col = scan_column(scan, e->args[0]);
    if (col < 0 || e->n_args < 2) return false;
    for (int32_t i = 1; i < e->n_args; i++) {
        ReadCond one;
        if (e->args[i]->kind != EX_CONST || !equals(scan->scan.table, col, &e->args[i]->u.value, &one) || one.is_text)
            return false;
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
        if (col < 0 || other->kind != EX_CONST || !equals(scan->scan.table, col, &other->u.value, out)) continue;
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
enum { CONDS = 32, FILTERS = 16 /* of a read; more are not looked at */ };
static void add_bounds(Walk *w, const Plan *scan, const Plan *p, TxnRead *r, ReadCond *conds) {
    for (int32_t i = 0; i < p->n_conds; i++) {
        ReadCond c;
        bool known = bounds(scan, p->conds[i], &c), ok = true;
        if ((!known || p->conds[i]->kind == EX_IN) && r->n_filters < FILTERS) { /* of IN only the ends are known */
            Expr *e = copy_filter(w->a, scan, p->conds[i], &ok);
            if (ok) r->filters[r->n_filters++] = e;
        }
        if (!known || r->n_conds == CONDS) continue;
        if (c.is_text) {
            char *text = arena_strndup(w->a, c.text.ptr, c.text.len);
            w->ok = w->ok && text;
            if (text) c.text = str_make(text, c.text.len);
        }
        conds[r->n_conds++] = c;
    }
}
static void walk(Walk *w, const Plan *p) {
    if (stack_stop()) return;
    if (p->kind == LP_SCAN) {
        ReadCond *conds = arena_array(w->a, ReadCond, CONDS);
        TxnRead r = {.table = p->scan.table->id, .conds = conds, .filters = arena_array(w->a, Expr *, FILTERS)};
        if (!conds || !r.filters) {
            w->ok = false;
            return;
        }
        add_bounds(w, p, p, &r, conds);
        for (int i = 0; i < w->n_above; i++) add_bounds(w, p, w->above[i], &r, conds);
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
    *out = (TxnReads){.locks = c->rows.locks};
    walk(&w, b->plan);
    /* The optimiser may have done without a scan because of what it knows of a table as a whole (no value comes twice):
     * then the whole table was read. */
    for (int64_t i = 0; i < c->relations.len; i++) {
        const Table *t = catalog_table(c->catalog, slice_of(c->relations.items[i]));
        if (!t) continue;
        int64_t named = 0, scans = t == b->table && b->kind == STMT_INSERT && !b->hit && !b->on_conflict_nothing;
        for (int64_t k = 0; k < c->relations.len; k++) named += strcmp(c->relations.items[k], t->name) == 0;
        for (int64_t k = 0; k < out->list.len; k++) scans += out->list.items[k].table == t->id;
        if (scans < named || c->n_ctes > 0) w.ok = w.ok && vec_push(a, &out->list, ((TxnRead){.table = t->id}));
    }
    TRY(stack_check(c->err)); /* a walk that was cut short left out reads */
    return w.ok ? ST_OK : err_oom(c->err);
}
Status transaction_reads(Session *s, const TxnReads *r) {
    if (!s->txn) return ST_OK;
    for (int64_t i = 0; i < r->list.len; i++) {
        transaction_reads_row(s, r->list.items[i].table, -1);
        TRY(add_read(s, &r->list.items[i], r->locks));
    }
    return ST_OK;
}

/* ---- conflicts --------------------------------------------------------------------------------------------- */
/* What the version's log comes to. false: there is no memory for that. */
static bool look(Version *v) {
    if (v->look) return true;
    Arena *a = arena_new(arena_account(v->arena), NULL);
    if (a && undo_net(v->log, a, &v->n_net, &v->net) == ST_OK && undo_cells(v->log, a, &v->cells) == ST_OK) {
        v->look = a;
        return true;
    }
    arena_free(a);
    return false;
}

static bool cell_matches(const ReadCond *c, const Value *v) {
    int64_t n;
    if (v->is_null) return false;
    if (c->is_text) return str_eq(c->text, v->u.str);
    return !cell_as_i64(type_phys(v->type), value_cell_const(v), &n) || (n >= c->lo && n <= c->hi);
}
/* A row as it was before `from` and all after it, or, when that is NULL, as it is now. */
typedef struct OldRow {
    const Session *s;
    Arena *tmp;
    const Version *from;
    const Table *t;
    int64_t rowid;
} OldRow;
static void old_value(const OldRow *o, int col, Value *out) {
    const Version *named = o->from;
    while (named && !undo_cells_find(named->cells, o->t, o->rowid, col, out)) named = named->next;
    if (!named) table_value(o->t, o->rowid, col, out);
}
static Status old_column(void *ctx, ColId col, const Value **out) {
    OldRow *o = ctx;
    Value *v = arena_new_of(o->tmp, Value);
    if (!v) return ST_ERROR;
    old_value(o, col, v);
    *out = v;
    return ST_OK;
}
static bool row_matches(OldRow *o, const TxnRead *r) {
    Value v;
    for (int32_t i = 0; i < r->n_conds; i++) {
        old_value(o, r->conds[i].col, &v);
        if (!cell_matches(&r->conds[i], &v)) return false;
    }
    for (int32_t i = 0; i < r->n_filters; i++) {
        Err e = {0};
        EvalCtx x = {.arena = o->tmp, .err = &e, .session = &o->s->info, .column = old_column, .column_ctx = o};
        arena_reset(o->tmp);
        arena_set_err(o->tmp, &e);
        bool known = eval_expr(&x, r->filters[i], &v) == ST_OK; /* an error would be the reader's */
        arena_set_err(o->tmp, NULL);
        if (known && (v.is_null || !v.u.b)) return false;
    }
    return true;
}
static bool reads_change(const Session *s, Arena *tmp, const TxnRead *r, const NetChange *c, const Version *first) {
    if (r->table != c->id) return false;
    if (c->whole || r->n_conds + r->n_filters == 0 || c->n_deleted + c->n_updated + c->n_inserted > ROWS_LOOKED_AT)
        return true;
    OldRow before = {s, tmp, first, c->table, 0}, now = {s, tmp, NULL, c->table, 0};
    for (int64_t i = 0; i < c->n_deleted; i++) {
        before.rowid = c->deleted[i];
        if (row_matches(&before, r)) return true;
    }
    for (int64_t i = 0; i < c->n_updated; i++) {
        before.rowid = now.rowid = c->updated[i];
        const bool was = row_matches(&before, r);
        if (r->refers ? was && !row_matches(&now, r) : was || row_matches(&now, r)) return true;
    }
    for (int64_t i = 0; i < c->n_inserted && !r->refers; i++) {
        now.rowid = c->inserted[i];
        if (row_matches(&now, r)) return true;
    }
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
/* Rows that both have updated, but for those to which `log`, whose changes `a` is, has added without reading them
 * before `b`, the commit ts. */
static bool updates_overlap(const UndoLog *log, const NetChange *a, const NetChange *b, int64_t ts) {
    for (int64_t i = 0, k = 0; i < a->n_updated && k < b->n_updated;) {
        const int64_t own = a->updated[i], other = b->updated[k];
        if (own == other && !undo_only_adds(log, a->table, own, ts)) return true;
        i += own <= other;
        k += other <= own;
    }
    return false;
}
static bool writes_overlap(const UndoLog *log, const NetChange *a, const NetChange *b, int64_t ts) {
    if (a->id != b->id) return false;
    return a->replaced || b->replaced || have_common(a->n_deleted, a->deleted, b->n_deleted, b->deleted) ||
           have_common(a->n_deleted, a->deleted, b->n_updated, b->updated) ||
           have_common(a->n_updated, a->updated, b->n_deleted, b->deleted) || updates_overlap(log, a, b, ts);
}

static bool writes_conflict(const Version *v, const UndoLog *log, int64_t n, const NetChange *own) {
    for (int64_t k = 0; k < v->n_net; k++)
        for (int64_t i = 0; i < n; i++)
            if (writes_overlap(log, &own[i], &v->net[k], v->ts)) return true;
    return false;
}
/* Definitions, and tables of which all rows are others: their cells are not to be looked at. */
static bool tables_conflict(const Version *v, const Txn *x) {
    for (int64_t i = 0; i < x->reads.len; i++) {
        for (int64_t k = 0; k < v->events.len; k++)
            if (v->events.items[k].id == x->reads.items[i].table) return true;
        for (int64_t k = 0; k < v->n_net; k++)
            if (v->net[k].replaced && v->net[k].id == x->reads.items[i].table) return true;
    }
    return false;
}
static const Version *first_after(const TxnHub *h, int64_t ts) {
    Version *v = h->newest;
    while (v && v->before && v->before->ts > ts) v = v->before;
    return v && v->ts > ts ? v : NULL;
}

bool transaction_writes_conflict(const TxnHub *h, const Txn *x, int64_t n, const NetChange *own) {
    for (Version *v = h->newest; v && v->ts > x->ts; v = v->before)
        if (look(v) && writes_conflict(v, x->session->undo, n, own)) return true;
    return false;
}

static bool reads_conflict(const Session *s, Arena *tmp) {
    const Txn *x = s->txn;
    const Version *first = first_after(transaction_hub(s), x->ts);
    for (const Version *v = first; v; v = v->next)
        for (int64_t k = 0; k < v->n_net; k++)
            for (int64_t i = 0; i < x->reads.len; i++)
                if (reads_change(s, tmp, &x->reads.items[i], &v->net[k], first)) return true;
    return false;
}

const char *transaction_conflict(const Session *s, int64_t n, const NetChange *own) {
    const Txn *x = s->txn;
    if (x->broken) return "A table that it changed was dropped or defined anew.";
    for (Version *v = transaction_hub(s)->newest; v && v->ts > x->ts; v = v->before) {
        if (!look(v)) return "There is no memory to look through what others committed.";
        if (writes_conflict(v, s->undo, n, own))
            return "A row that it changed was changed by a transaction that was committed meanwhile.";
        if (tables_conflict(v, x)) return "A table that it read was replaced meanwhile.";
    }
    Arena *tmp = arena_new(&s->db->account, NULL);
    bool conflict = !tmp || reads_conflict(s, tmp);
    arena_free(tmp);
    return conflict
               ? "A row that it read, or would read now, was changed by a transaction that was committed meanwhile."
               : NULL;
}
