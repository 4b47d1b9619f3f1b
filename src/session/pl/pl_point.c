/* pl_point.c - statements that read or change at most one row, found by all columns of a key, and INSERT ... VALUES of
 * one row.
 *
 * Such statements are most of what procedures do. A query of the engine costs them a hundred times what they need: here
 * the bound plan, kept as the binder made it, is read from its end. Every column is an expression over columns below
 * it, down to the row's; it is computed at its first use, once.
 *
 * Only plans of PROJECT, FILTER, SORT and LIMIT (none, or at least one row) over one SCAN or one row of VALUES qualify,
 * or over both for INSERT ... ON CONFLICT DO UPDATE, without subqueries and aggregates; keys that foreign keys refer to
 * are left to session_dml.
 */
#include "session/pl/pl_run_int.h"

#include <stdio.h>

#include "session/core/changes.h"
#include "session/core/transaction.h"
#include "storage/row_change.h"
#include "storage/undo_rows.h"
#include "session/pool/bulk.h"

typedef enum DefKind { DEF_NONE, DEF_SCAN, DEF_EXPR } DefKind;
typedef struct ColDef {
    uint8_t kind; /* DefKind */
    int32_t col;  /* DEF_SCAN: of the table; -1: the rowid */
    const Expr *expr;
} ColDef;

/* The value that a key column must have. */
typedef struct KeyPart {
    const Expr *expr;
    Type type; /* of the table's column; the expression's is the same or a wider integer */
} KeyPart;

struct PlPoint {
    const BoundStmt *b;
    int32_t n_cols;
    ColDef *defs;               /* by ColId */
    Type *types;                /* of results */
    Table *table;               /* of the scan; NULL: VALUES alone */
    bool of_version;            /* it is of a published version, and gone when that is */
    int64_t table_id, table_at; /* in the catalog's list, when it was made */
    int key;
    KeyPart *parts;
    int32_t n_conds;
    const Expr **conds; /* without those that the key answers */
    bool adds;          /* an UPDATE that adds to columns and reads nothing of the row but its key */
    bool locks;         /* FOR UPDATE or the like */
    bool appends;       /* an INSERT into a table without keys */
};

typedef struct Run {
    Session *s;
    const PlPoint *p;
    const Table *table; /* what the session reads of p->table */
    BulkRow ahead;      /* the row where bulks left it */
    EvalCtx x;
    const Tablet *tablet;
    int64_t offset, rowid;
    Value key[32]; /* that it was looked up by */
    Value *values;
    uint8_t *done;
} Run;

/* ---- recognising ------------------------------------------------------------------------- */

typedef struct Look {
    Arena *a;
    const PlanCtx *c;
    PlPoint *p;
    VEC(const Expr *) conds;
    bool failed; /* out of memory */
} Look;

static bool add_conds(Look *l, const Expr *e) {
    if (stack_stop()) return false;
    if (e->kind == EX_AND) {
        for (int32_t i = 0; i < e->n_args; i++)
            if (!add_conds(l, e->args[i])) return false;
        return true;
    }
    if (!eval_can(e, EVAL_COLUMNS)) return false;
    if (vec_push(l->a, &l->conds, e)) return true;
    l->failed = true;
    return false;
}

static bool define(Look *l, ColId id, ColDef d) {
    if (d.kind == DEF_EXPR && d.expr->kind == EX_COL && d.expr->u.col == id) return true; /* passed through */
    if (d.kind == DEF_EXPR && !eval_can(d.expr, EVAL_COLUMNS)) return false;
    l->p->defs[id] = d;
    return true;
}

static bool read_plan(Look *l, const Plan *p) {
    for (;; p = p->children[0]) {
        for (int32_t i = 0; i < p->n_conds; i++)
            if (!add_conds(l, p->conds[i])) return false;
        switch ((PlanKind)p->kind) {
        case LP_FILTER: break;
        case LP_SORT:
        case LP_LIMIT:
            if (p->limit.rows_expr || p->limit.offset_expr || p->limit.rows == 0 || p->limit.offset > 0) return false;
            break;
        case LP_PROJECT:
            for (int32_t i = 0; i < p->n_out; i++)
                if (!define(l, p->out_cols[i], (ColDef){.kind = DEF_EXPR, .expr = p->exprs[i]})) return false;
            break;
        case LP_SCAN:
            for (int32_t i = 0; i < p->n_out; i++)
                if (!define(l, p->out_cols[i], (ColDef){.kind = DEF_SCAN, .col = p->scan.cols[i]})) return false;
            l->p->table = p->scan.table;
            return true;
        case LP_JOIN: { /* what ON CONFLICT DO UPDATE proposes, and the row that has its key */
            const Plan *scan = p->children[1];
            if (!l->p->b->hit || p->join.kind != JN_LEFT || p->join.dependent || scan->kind != LP_SCAN || l->p->table ||
                scan->n_conds > 0)
                return false;
            for (int32_t i = 0; i < scan->n_out; i++)
                if (!define(l, scan->out_cols[i], (ColDef){.kind = DEF_SCAN, .col = scan->scan.cols[i]})) return false;
            l->p->table = scan->scan.table;
            break;
        }
        case LP_VALUES:
            if (p->values.n_rows != 1 || p->values.routine_id) return false;
            for (int32_t i = 0; i < p->n_out; i++)
                if (!define(l, p->out_cols[i], (ColDef){.kind = DEF_EXPR, .expr = p->values.rows[0][i]})) return false;
            return true;
        default: return false;
        }
    }
}

/* The table's column that an expression is, perhaps as a wider integer or another kind of text; -1. */
static int32_t scan_column(const Look *l, const Expr *e) {
    if (e->kind == EX_CAST) {
        Type to = e->type, from = e->args[0]->type;
        bool wider = type_is_integer(to) && type_is_integer(from) && to.id > from.id;
        bool same = type_same_strings(to, from) && cast_is_noop(from, to);
        if (wider || same) e = e->args[0];
    }
    return e->kind == EX_COL && l->p->defs[e->u.col].kind == DEF_SCAN ? l->p->defs[e->u.col].col : -1;
}

/* The other side of column = value; NULL: the condition is not of that form. */
static const Expr *equal_to(const Look *l, const Expr *cond, int32_t col) {
    if (cond->kind != EX_FUNC || cond->n_args != 2 || strcmp(cond->u.func->name, "=") != 0) return NULL;
    Type t = l->p->table->cols[col].type;
    for (int i = 0; i < 2; i++) {
        const Expr *own = cond->args[i], *other = cond->args[1 - i];
        bool proposed = l->p->b->hit && other->kind == EX_COL && l->p->defs[other->u.col].kind == DEF_EXPR;
        if (scan_column(l, own) != col || (!proposed && !eval_can(other, 0))) continue;
        if (type_eq(other->type, t) || type_same_strings(other->type, t) ||
            (type_is_integer(t) && type_is_integer(other->type)))
            return other;
    }
    return NULL;
}

/* A key all of whose columns are given. */
static bool find_key(Look *l) {
    const Table *t = l->p->table;
    for (int k = 0; k < t->n_keys; k++) {
        const KeyConstraint *key = &t->keys[k];
        if (key->deferrable || (l->p->b->hit && k != l->p->b->conflict_key)) continue;
        KeyPart *parts = arena_array(l->a, KeyPart, key->n_cols);
        uint8_t *used = arena_calloc(l->a, l->conds.len + 1);
        if (!parts || !used) return l->failed = true, false;
        int found = 0;
        for (int j = 0; j < key->n_cols && found == j; j++)
            for (int64_t i = 0; i < l->conds.len; i++) {
                const Expr *e = used[i] ? NULL : equal_to(l, l->conds.items[i], key->cols[j]);
                if (!e) continue;
                parts[j] = (KeyPart){e, t->cols[key->cols[j]].type};
                used[i] = 1;
                found++;
                break;
            }
        if (found < key->n_cols) continue;
        l->p->key = k;
        l->p->parts = parts;
        if (!(l->p->conds = arena_array(l->a, const Expr *, l->conds.len + 1))) return l->failed = true, false;
        for (int64_t i = 0; i < l->conds.len; i++)
            if (!used[i]) l->p->conds[l->p->n_conds++] = l->conds.items[i];
        return true;
    }
    return false;
}

static bool has_foreign(const Catalog *c, const Table *t) {
    for (int64_t i = 0; i < c->n_foreign; i++)
        if (strcmp(c->foreign[i]->table, t->name) == 0 || strcmp(c->foreign[i]->ref_table, t->name) == 0) return true;
    return false;
}

static bool is_exact(Type t) { return type_is_integer(t) || (t.id == T_NUMERIC && !(t.flags & TF_UNCONSTRAINED)); }
/* The cast gives the same number, of every value of `from`. */
static bool keeps_number(Type from, Type to) {
    if (type_is_integer(from) || type_is_integer(to))
        return type_is_integer(from) && type_is_integer(to) && to.id >= from.id;
    return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale;
}
/* The expression is c + e, e + c or c - e, c being column `col` of the row, e without columns: what is added is the
 * same whatever c is. A sum that is cast to the column's type loses no digits: of integers the cast is exact or fails,
 * and of numerics the sum has no more digits behind the point than the column. */
static bool is_addition(const Look *l, const Expr *e, int32_t col) {
    Type t = l->p->table->cols[col].type;
    if (!is_exact(t)) return false;
    if (e->kind == EX_CAST) e = e->args[0];
    if (e->kind != EX_FUNC || e->n_args != 2 || !is_exact(e->type) || type_is_integer(e->type) != type_is_integer(t) ||
        (t.id == T_NUMERIC && e->type.scale > t.scale))
        return false;
    const bool minus = strcmp(e->u.func->name, "-") == 0;
    if (!minus && strcmp(e->u.func->name, "+") != 0) return false;
    for (int i = 0; i < (minus ? 1 : 2); i++) {
        const Expr *own = e->args[i];
        if (own->kind == EX_CAST && is_exact(own->type) && is_exact(own->args[0]->type) &&
            keeps_number(own->args[0]->type, own->type))
            own = own->args[0];
        if (own->kind == EX_COL && l->p->defs[own->u.col].kind == DEF_SCAN && l->p->defs[own->u.col].col == col &&
            eval_can(e->args[1 - i], 0))
            return true;
    }
    return false;
}
static bool only_adds(const Look *l) {
    const PlPoint *p = l->p;
    const BoundStmt *b = p->b;
    if (b->kind != STMT_UPDATE || !p->table || b->hit || p->n_conds > 0 || b->n_checks > 0 || b->n_result > 0 ||
        has_foreign(l->c->catalog, b->table))
        return false;
    for (int32_t i = 0; i < b->n_set; i++) {
        const ColDef *d = &p->defs[b->values[i]];
        if (d->kind != DEF_EXPR || !is_addition(l, d->expr, b->set_cols[i])) return false;
        for (int k = 0; k < b->table->n_keys; k++)
            for (int j = 0; j < b->table->keys[k].n_cols; j++)
                if (b->table->keys[k].cols[j] == b->set_cols[i]) return false;
    }
    return b->table->n_exprs == 0;
}

bool pl_point_may_defer(const PlPoint *p) { return p->b->kind == STMT_SELECT ? !p->locks : p->adds || p->appends; }
const Type *pl_point_types(const PlPoint *p) { return p->types; }
void pl_point_tag(const BoundStmt *b, bool found, char *tag, int64_t size) {
    static const char *const tags[] = {
        [STMT_SELECT] = "SELECT", [STMT_INSERT] = "INSERT 0", [STMT_UPDATE] = "UPDATE", [STMT_DELETE] = "DELETE"};
    snprintf(tag, (size_t)size, "%s %d", tags[b->kind], (int)found);
}

PlPoint *pl_point_of(Session *s, Arena *a, const PlanCtx *c, const BoundStmt *b) {
    if (b->n_members > 0) return NULL;
    if (b->on_conflict_nothing || (b->table && b->table->n_cols > 1600)) return NULL;
    PlPoint *p = arena_new_of(a, PlPoint);
    Look l = {.a = a, .c = c, .p = p};
    if (!p || !(p->defs = arena_array(a, ColDef, c->cols.len + 1)) ||
        !(p->types = arena_array(a, Type, b->n_result + 1))) {
        err_oom(&s->err);
        return NULL;
    }
    p->b = b;
    p->n_cols = (int32_t)c->cols.len;
    for (int32_t i = 0; i < b->n_result; i++) p->types[i] = c->cols.items[b->result[i]].type;
    bool ok = read_plan(&l, b->plan);
    if (ok && p->table) {
        ok = find_key(&l);
    } else if (ok) {
        ok = b->kind == STMT_INSERT || b->kind == STMT_SELECT;
        p->conds = l.conds.items;
        p->n_conds = (int32_t)l.conds.len;
    }
    if (ok && b->table && p->table && p->table != b->table) ok = false; /* INSERT ... SELECT of one row */
    p->adds = ok && only_adds(&l);
    p->locks = c->rows.locks;
    p->appends = ok && b->kind == STMT_INSERT && !p->table && !b->hit && b->n_result == 0 &&
                 table_indexes(b->table) == 0 && !has_foreign(c->catalog, b->table);
    if (l.failed) err_oom(&s->err);
    p->of_version = session_reads_version(s);
    while (p->table && p->table_at < c->catalog->n_tables && c->catalog->tables[p->table_at] != p->table) p->table_at++;
    p->table_id = p->table ? p->table->id : 0;
    return ok ? p : NULL;
}

/* ---- running ------------------------------------------------------------------------------------ */

/* What a device cannot say of a row, the host can, once it has the row: the statement begins again. */
static Status from_device(const Run *r, Status st) {
    r->s->read.again |= st != ST_OK && r->ahead.on_device;
    return st;
}
/* An integer, or a numeric as an integer at its scale. */
static int128_t exact_cell(Phys p, const void *cell) {
    int128_t wide = 0;
    int64_t n;
    if (cell_as_i64(p, cell, &n)) return n;
    memcpy(&wide, cell, sizeof wide);
    return wide;
}
/* The row's cell, with what the transaction has added to it and is not in the table. */
static void add_deferred(const Run *r, int32_t col, Value *v) {
    if (!is_exact(v->type) || !r->s->undo) return;
    const int128_t n = undo_deferred_sum(r->s->undo, r->table, r->rowid, col);
    if (n == 0) return;
    const int128_t sum = exact_cell(type_phys(v->type), value_cell_const(v)) + n;
    memcpy(value_cell(v), &sum, (size_t)phys_size(type_phys(v->type)));
}
static Status column(void *ctx, ColId id, const Value **out) {
    Run *r = ctx;
    const PlPoint *p = r->p;
    Value *v = &r->values[id];
    const void *cell;
    bool null, ahead = false;
    *out = v;
    if (r->done[id]) return ST_OK;
    const ColDef *d = &p->defs[id];
    if (d->kind == DEF_SCAN && r->ahead.at && d->col >= 0)
        TRY(from_device(r, bulk_row_cell(&r->ahead, d->col, r->x.arena, &cell, &null, &ahead, r->x.err)));
    if (d->kind == DEF_EXPR) {
        TRY(eval_expr(&r->x, d->expr, v));
    } else if (ahead) {
        *v = (Value){.type = r->table->cols[d->col].type, .is_null = null};
        memcpy(value_cell(v), cell, (size_t)phys_size(type_phys(v->type)));
    } else if (d->kind == DEF_SCAN && !r->tablet) { /* of a row that is not there */
        *v = (Value){.type = d->col < 0 ? type_make(T_INT8) : r->table->cols[d->col].type, .is_null = true};
    } else if (d->kind == DEF_SCAN && d->col < 0) {
        *v = (Value){.type = type_make(T_INT8), .u.i64 = r->rowid};
    } else if (d->kind == DEF_SCAN) {
        bool nulls;
        uint8_t valid = 1;
        *v = (Value){.type = r->table->cols[d->col].type};
        tablet_decode(r->table, r->tablet, d->col, r->offset, NULL, 1, (uint8_t)type_phys(v->type), value_cell(v),
                      &valid, &nulls);
        v->is_null = nulls && !valid;
        if (r->s->block.defers && !v->is_null) add_deferred(r, d->col, v);
    } else {
        return err_internal(r->x.err, "column %d has no definition", (int)id);
    }
    r->done[id] = 1;
    return ST_OK;
}

/* Finds the row; *there false: none. */
static Status locate(Run *r, bool *there) {
    const PlPoint *p = r->p;
    *there = true;
    if (!p->table) return ST_OK;
    const KeyConstraint *k = &r->table->keys[p->key];
    Value *key = r->key;
    if (k->n_cols > (int)ARRAY_LEN(r->key)) return err_internal(r->x.err, "a key of %d columns", k->n_cols);
    for (int j = 0; j < k->n_cols; j++) {
        Value v;
        Type to = p->parts[j].type;
        int64_t n;
        TRY(eval_expr(&r->x, p->parts[j].expr, &v));
        if (v.is_null) return *there = false, ST_OK;
        key[j] = v;
        key[j].type = to;
        if (!type_is_integer(to) || v.type.id == to.id) continue;
        if (!cell_as_i64(type_phys(v.type), value_cell_const(&v), &n)) return err_internal(r->x.err, "a key's value");
        if ((to.id == T_INT2 && n != (int16_t)n) || (to.id == T_INT4 && n != (int32_t)n)) return *there = false, ST_OK;
        if (to.id == T_INT2) key[j].u.i16 = (int16_t)n;
        else if (to.id == T_INT4) key[j].u.i32 = (int32_t)n;
        else key[j].u.i64 = n;
    }
    if (!p->adds) TRY(transaction_reads_key(r->s, r->table, p->key, key));
    if (r->ahead.at) {
        const void *cells[ARRAY_LEN(r->key)];
        for (int j = 0; j < k->n_cols; j++) cells[j] = value_cell_const(&key[j]);
        TRY(from_device(r, bulk_row_find(&r->ahead, p->key, cells, r->x.arena, r->x.err)));
        if (r->ahead.row < 0) return *there = false, ST_OK;
        r->rowid = bulk_row_rowid(&r->ahead);
        if (r->rowid < 0) return ST_OK; /* all columns are there */
    } else {
        r->rowid = table_lookup(r->table, p->key, key);
    }
    if (r->rowid < 0) {
        *there = false;
        return p->adds ? transaction_reads_key(r->s, r->table, p->key, key) : ST_OK;
    }
    if (!p->adds) transaction_reads_row(r->s, r->table->id, r->rowid);
    r->tablet = r->table->tablets[r->rowid >> 32];
    r->offset = r->rowid & 0xffffffff;
    return ST_OK;
}

/* Whether the row satisfies the conditions; one that does is held from now on where FOR UPDATE asks for it. */
static Status passes(Run *r, bool *yes) {
    const PlPoint *p = r->p;
    *yes = true;
    for (int32_t i = 0; i < p->n_conds && *yes; i++) {
        Value v;
        TRY(eval_expr(&r->x, p->conds[i], &v));
        *yes = !v.is_null && v.u.b;
    }
    const bool holds = *yes && p->locks && p->table && r->rowid >= 0 && r->s->state == 'T';
    return holds ? transaction_lock_row(r->s, r->table, r->rowid) : ST_OK;
}

/* A row as vectors of one cell: column i has the value of column ids[i] of the plan. */
static Status one_row(Run *r, Arena *a, int32_t n, const ColId *ids, const int32_t *cols, const Vec **out) {
    const Table *t = r->p->b->table;
    Vec *v = arena_array(a, Vec, n + 1);
    Value *cells = arena_array(a, Value, n + 1);
    uint8_t *valid = arena_alloc(a, n + 1);
    if (!v || !cells || !valid) return err_oom(r->x.err);
    for (int32_t i = 0; i < n; i++) {
        const Value *x;
        Type type = t->cols[cols ? cols[i] : i].type;
        TRY(column(r, ids[i], &x));
        dbg_assert(x->is_null || value_agrees(type, x));
        if (value_copy(a, x, &cells[i]) != ST_OK) return err_oom(r->x.err); /* bytes of the row itself may move */
        if (x->is_null) {
            cells[i] = (Value){.type = type, .is_null = true};
            if (type_phys(type) == PH_STR) cells[i].u.str = str_make("", 0);
        }
        valid[i] = !x->is_null;
        v[i] = (Vec){.data = value_cell(&cells[i]), .valid = &valid[i], .phys = (uint8_t)type_phys(type), .type = type};
    }
    *out = v;
    return ST_OK;
}
/* What is inserted or proposed, or (set) what the row gets: checked, keys apart. What a view refuses is left to what
 * stores the row, behind its keys. */
static Status new_row(Run *r, Arena *a, bool set, NewRows *x) {
    const BoundStmt *b = r->p->b;
    const int32_t from = b->hit && set ? b->n_checks / 2 : 0, to = b->hit && !set ? b->n_checks / 2 : b->n_checks;
    const int64_t *rowid = set ? &r->rowid : NULL;
    *x = (NewRows){.n = 1, .n_cols = set ? b->n_set : b->table->n_cols, .cols = set ? b->set_cols : NULL};
    TRY(one_row(r, a, x->n_cols, b->hit && set ? b->set_values : b->values, x->cols, &x->vals));
    const bool more = to > from || b->hit || b->n_result > 0 || r->s->block.defers;
    if (more) TRY(rows_check(b->table, x, rowid, r->x.err)); /* NOT NULL comes before; else what stores the row looks */
    for (int32_t i = from; i < to; i++) {
        const Value *v;
        const bool of_view = i >= to - b->n_view_checks;
        TRY(column(r, b->checks[i], &v));
        if (v->is_null || v->u.b) continue;
        Vec *no = arena_new_of(a, Vec);
        if (!no) return err_oom(r->x.err);
        *no = (Vec){.data = (void *)(uintptr_t)&v->u.b, .phys = PH_BOOL, .type = v->type};
        x->checks = (RowChecks){1, no, &b->check_names[i], of_view};
        return of_view && !r->s->block.defers ? ST_OK : rows_check(b->table, x, rowid, r->x.err);
    }
    return ST_OK;
}

static Status results(Run *r, Statement *st) {
    const BoundStmt *b = r->p->b;
    Value *out = arena_array(st->run_arena, Value, b->n_result + 1);
    if (!out) return err_oom(r->x.err);
    for (int32_t i = 0; i < b->n_result; i++) {
        const Value *v;
        TRY(column(r, b->result[i], &v));
        if (value_copy(st->run_arena, v, &out[i]) != ST_OK) return err_oom(r->x.err);
        out[i].type = r->p->types[i];
    }
    st->values = out;
    return ST_OK;
}

/* What an INSERT or UPDATE that failed has shown of the table: the transaction may go on and depend on a row that has a
 * key. */
static void tell_reads(Session *s, const BoundStmt *b, StmtKind kind, const Vec *vals) {
    const Table *t = b->table;
    if (kind != STMT_INSERT) {
        (void)transaction_reads_table(s, t);
        return;
    }
    for (int k = 0; k < t->n_keys; k++) {
        Value key[32];
        bool null = t->keys[k].n_cols > (int)ARRAY_LEN(key);
        for (int j = 0; j < t->keys[k].n_cols && !null; j++) {
            const Vec *v = &vals[t->keys[k].cols[j]];
            null = v->valid && !v->valid[0];
            key[j] = (Value){.type = v->type};
            memcpy(value_cell(&key[j]), v->data, (size_t)phys_size((Phys)v->phys));
        }
        if (!null) (void)transaction_reads_key(s, t, k, key);
    }
}

/* x: what is stored; of a DELETE nothing. */
static Status store(Session *s, const Run *r, Statement *st, StmtKind kind, const NewRows *x) {
    const BoundStmt *b = r->p->b;
    const bool adds = r->p->adds && s->state == 'T';
    int64_t mark = undo_mark(s->undo), done = 1;
    Status out;
    if (adds) TRY(undo_reserve_adds(b->table, r->rowid, b->n_set, b->set_cols, &s->err));
    if (kind == STMT_INSERT) out = rows_insert(b->table, x, s->undo, NULL, &s->err);
    else if (kind == STMT_UPDATE) out = rows_update(b->table, x, &r->rowid, s->undo, &s->err);
    else out = table_delete(b->table, 1, &r->rowid, s->undo, &done, &s->err);
    if (out == ST_OK) out = constraints_after(s, st, b->table, mark);
    if (out != ST_OK) {
        undo_rollback(s->undo, mark);
        tell_reads(s, b, kind, x->vals);
    } else if (adds && !undo_make_adds(s->undo, mark)) { /* it was or is NULL: it was read */
        transaction_reads_row(s, r->table->id, r->rowid);
        return transaction_reads_key(s, r->table, r->p->key, r->key);
    }
    return out;
}
/* The change is kept beside the tables. With a NULL it cannot be: then nothing has happened, and s->block.defers is
 * off.
 */
static Status defer(Session *s, Run *r, const Vec *vals) {
    const BoundStmt *b = r->p->b;
    if (b->kind == STMT_INSERT) return transaction_defer_row(s, b->table, vals);
    for (int32_t i = 0; i < b->n_set; i++) {
        Value old;
        table_value(r->table, r->rowid, b->set_cols[i], &old);
        if (!old.is_null && vals[i].valid[0]) continue;
        s->block.defers = false;
        return ST_OK;
    }
    for (int32_t i = 0; i < b->n_set; i++) {
        Value old;
        table_value(r->table, r->rowid, b->set_cols[i], &old);
        add_deferred(r, b->set_cols[i], &old);
        const int128_t n =
            exact_cell((Phys)vals[i].phys, vals[i].data) - exact_cell((Phys)vals[i].phys, value_cell_const(&old));
        TRY(transaction_defer_add(s, b->table, r->rowid, b->set_cols[i], n));
    }
    return ST_OK;
}
/* An INSERT, or an UPDATE or DELETE of the row in hand. *done false: ON CONFLICT leaves the row as it is. */
static Status change(Session *s, Run *r, Statement *st, bool *done) {
    const BoundStmt *b = r->p->b;
    StmtKind kind = b->kind;
    NewRows x = {0};
    bool there = false;
    TRY(change_allowed(s, b));
    if (kind != STMT_DELETE) TRY(new_row(r, st->run_arena, kind == STMT_UPDATE, &x));
    if (b->hit) TRY(locate(r, &there));
    if (there) {
        const Value *hit;
        TRY(column(r, b->hit, &hit));
        if (hit->is_null || !hit->u.b) return *done = false, ST_OK;
        kind = STMT_UPDATE;
        TRY(new_row(r, st->run_arena, true, &x));
    }
    if (b->n_result) TRY(results(r, st));
    return s->block.defers ? defer(s, r, x.vals) : store(s, r, st, kind, &x);
}

/* The table in the catalog that the session reads, which may be a version's. */
static const Table *table_there(const Session *s, const PlPoint *p) {
    const Catalog *c = session_catalog(s);
    int64_t i = p->table_at < c->n_tables && c->tables[p->table_at]->id == p->table_id ? p->table_at : 0;
    while (i < c->n_tables && c->tables[i]->id != p->table_id) i++;
    dbg_assert(i < c->n_tables);
    return c->tables[i];
}

Status pl_point_run(Session *s, Arena *scratch, const PlPoint *p, int32_t n_params, const Value *const *params,
                    Statement *st) {
    const BoundStmt *b = p->b;
    bool yes = true;
    Run r = {.s = s, .p = p, .table = p->table};
    if (p->table && (p->of_version || session_reads_version(s))) r.table = table_there(s, p);
    if (!s->block.defers) { /* else it looks at the tables, and changes nothing there */
        if (b->kind != STMT_SELECT) TRY(session_may_change(s, r.table ? r.table : b->table));
        if (b->kind != STMT_SELECT && !transaction_forks_serial(s)) TRY(session_begin_change(s));
        else if (p->locks && session_sees_latest(s)) TRY(session_begin_write(s));
        else if (p->table && !session_reads_version(s)) r.ahead = session_bulk_row(s, r.table);
    }
    r.x = (EvalCtx){.arena = scratch, .err = &s->err, .session = &s->info};
    r.x.params = params;
    r.x.n_params = n_params;
    r.x.column = column;
    r.x.column_ctx = &r;
    r.values = arena_alloc(scratch, p->n_cols * (int64_t)sizeof(Value));
    r.done = arena_calloc(scratch, p->n_cols);
    if (!r.values || !r.done) return err_oom(&s->err);
    st->n_cols = b->n_result;
    st->names = b->names;
    st->types = p->types;
    st->show_rows = b->kind == STMT_SELECT || b->n_result > 0;
    if (!b->hit) { /* else what is proposed is checked first */
        TRY(locate(&r, &yes));
        if (yes) TRY(passes(&r, &yes));
    }
    if (yes) TRY(b->kind == STMT_SELECT ? results(&r, st) : change(s, &r, st, &yes));
    st->affected = yes;
    st->n_rows = yes && st->show_rows;
    pl_point_tag(b, yes, st->tag, (int64_t)sizeof st->tag);
    return ST_OK;
}
