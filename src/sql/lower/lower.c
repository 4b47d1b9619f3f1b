/* lower.c - plans to segments: sources, joins, sinks.
 *
 * lower_plan() returns a Pipe whose current rows are the plan's output. A blocking operator seals its child's
 * pipe with a sink (one segment) and starts a new pipe on the operator's state. Segments are appended in the order
 * in which they must run: build sides before probe sides.
 *
 * `needed` is the set of columns used above; it decides what build rows, groups and sorts carry.
 */
#include <stdio.h>

#include "sql/lower/lower_int.h"
#include "types/oid.h"

/* ---- pipes ------------------------------------------------------------------------------ */

Pipe *pipe_new(Lower *l, SourceKind kind, const char *label) {
    Pipe *p = arena_new_of(l->arena, Pipe);
    if (!p) return NULL;
    builder_init(&p->b, l->arena);
    p->source.kind = kind;
    p->source.id = -1;
    p->n_cols = l->c->cols.len;
    p->label = label;
    return p;
}
ColEntry *pipe_col(Pipe *p, ColId id) {
    int64_t k = id / COL_PAGE;
    if (k >= p->n_pages) {
        int64_t n = MAX_OF(k + 1, MAX_OF(p->n_cols / COL_PAGE + 1, 2 * p->n_pages));
        ColPage **pages = arena_array(p->b.arena, ColPage *, n);
        if (!pages) return &p->lost;
        if (p->n_pages) memcpy(pages, p->pages, (size_t)p->n_pages * sizeof *pages);
        p->pages = pages;
        p->n_pages = n;
    }
    if (!p->pages[k] && !(p->pages[k] = arena_new_of(p->b.arena, ColPage))) return &p->lost;
    return &p->pages[k]->at[id % COL_PAGE];
}

Status pipe_seal(Lower *l, Pipe *p, const Sink *sink, const char *what) {
    TRY(lower_scan_ranges_flush(l, p));
    p->source.n_zone = (int32_t)p->zones.len;
    p->source.zone = p->zones.items;
    Program *prog = program_finish(&p->b, &p->source, sink, l->err);
    if (!prog) return ST_ERROR;
    SegmentPlan s = {prog, arena_printf(l->arena, "%s -> %s", p->label, what)};
    return vec_push(l->arena, &l->segments, s) ? ST_OK : ST_ERROR;
}

CellSpec pipe_cell_spec(Pipe *p, Reg r) {
    const RegInfo *i = lower_info(p, r);
    return (CellSpec){
        .phys = i->phys, .type = i->type, .nullable = i->nullable, .stable_str = i->stable_str, .dict = i->dict};
}

ColEntry pipe_source_entry(int64_t imm, const CellSpec *c, Type type, Range range) {
    return (ColEntry){.where = CW_SOURCE,
                      .phys = c->phys,
                      .nullable = c->nullable,
                      .stable_str = c->stable_str,
                      .type = type,
                      .imm = imm,
                      .dict = c->dict,
                      .range = range};
}

static Type col_type(Lower *l, ColId id) { return l->c->cols.items[id].type; }

/* Ids of `set` that plan p produces, in id order. */
ColId *lower_needed_of(Lower *l, Plan *p, const ColSet *needed, int32_t *n) {
    ColSet out = colset_new(l->c);
    plan_outputs(l->c, p, &out);
    int64_t max = 0, words = MIN_OF(out.n_words, needed->n_words);
    for (int64_t w = 0; w < words; w++) max += __builtin_popcountll(out.bits[w] & needed->bits[w]);
    ColId *ids = arena_array(l->arena, ColId, max + 1);
    *n = 0;
    if (!ids) return NULL;
    for (int64_t w = 0; w < words; w++)
        for (uint64_t b = out.bits[w] & needed->bits[w]; b; b &= b - 1)
            ids[(*n)++] = (ColId)(w * 64 + __builtin_ctzll(b));
    return ids;
}

static ColSet needed_with(Lower *l, const ColSet *needed, Expr *const *exprs, int32_t n) {
    ColSet s = colset_new(l->c);
    if (needed) colset_add_all(l->c, &s, needed);
    for (int32_t i = 0; i < n; i++) expr_cols(l->c, exprs[i], &s);
    return s;
}

/* ---- row stores -------------------------------------------------------------------------- */

int32_t lower_rows_spec(Lower *l, int32_t n, CellSpec *cells, int64_t limit, int64_t offset, bool ordered,
                        int32_t sort) {
    RowsSpec r = {.n_cols = n, .cols = cells, .ordered = ordered, .limit = limit, .offset = offset, .sort = sort};
    return vec_push(l->arena, &l->rows, r) ? (int32_t)l->rows.len - 1 : -1;
}

/* Seals p into row store `store`; regs already made. */
static Status sink_rows(Lower *l, Pipe *p, int32_t store, int32_t n, Reg *regs, int64_t stop_after) {
    Sink s = {.kind = SINK_ROWS, .id = store, .n_regs = n, .regs = regs, .limit = stop_after};
    return pipe_seal(l, p, &s, arena_printf(l->arena, "rows #%d", (int)store));
}

/* A new pipe reading row store `store`, whose column i is ids[i]. */
static Pipe *rows_pipe(Lower *l, int32_t store, int32_t n, const ColId *ids, const ColEntry *entries) {
    Pipe *p = pipe_new(l, SRC_ROWS, arena_printf(l->arena, "rows #%d", (int)store));
    if (!p) return NULL;
    p->source.id = store;
    for (int32_t i = 0; i < n; i++) *pipe_col(p, ids[i]) = entries[i];
    return p;
}

/* Materialises columns ids of p and goes on from there. */
static Pipe *materialise(Lower *l, Pipe *p, int32_t n, const ColId *ids, int64_t limit, int64_t offset, bool ordered) {
    Reg *regs = arena_array(l->arena, Reg, n + 1);
    CellSpec *cells = arena_array(l->arena, CellSpec, n + 1);
    ColEntry *entries = arena_array(l->arena, ColEntry, n + 1);
    if (!regs || !cells || !entries) return NULL;
    for (int32_t i = 0; i < n; i++) {
        regs[i] = lower_col(l, p, ids[i]);
        if (!regs[i]) return NULL;
        cells[i] = pipe_cell_spec(p, regs[i]);
        entries[i] = pipe_source_entry(i, &cells[i], col_type(l, ids[i]), lower_range(p, regs[i]));
    }
    int32_t store = lower_rows_spec(l, n, cells, limit, offset, ordered, -1);
    if (store < 0) return NULL;
    int64_t stop = limit < 0 ? -1 : offset > 0 ? (limit > INT64_MAX - offset ? -1 : limit + offset) : limit;
    if (sink_rows(l, p, store, n, regs, stop) != ST_OK) return NULL;
    return rows_pipe(l, store, n, ids, entries);
}

/* ---- scans --------------------------------------------------------------------------------- */

static const JoinInfo *find_join(Lower *l, const Plan *plan) {
    for (int64_t i = 0; i < l->join_infos.len; i++)
        if (l->join_infos.items[i].plan == plan) return &l->join_infos.items[i];
    return NULL;
}

static Status runtime_filters(Lower *l, Pipe *p, Plan *s) {
    for (int32_t i = 0; i < s->scan.n_runtime; i++) {
        const JoinInfo *j = find_join(l, s->scan.runtime[i].join);
        if (!j || !j->build_key || j->build_key->kind != EX_COL || j->build_key->u.col != s->scan.runtime[i].build_col)
            continue;
        Reg k = lower_col(l, p, s->scan.runtime[i].local_col);
        if (!k) return ST_ERROR;
        if (j->key_dict) {
            if (lower_info(p, k)->dict != j->key_dict) continue;
        } else {
            if (lower_info(p, k)->dict && j->key_phys != PH_STR) continue;
            Range r = lower_range(p, k);
            if (j->key_phys == PH_I32 && (!r.known || r.lo < INT32_MIN || r.hi > INT32_MAX)) continue;
            k = lower_as(l, p, k, (Phys)j->key_phys);
        }
        ProbeSite *site = arena_new_of(l->arena, ProbeSite);
        Reg *keys = arena_array(l->arena, Reg, 1);
        if (!k || !site || !keys) return ST_ERROR;
        keys[0] = k;
        *site = (ProbeSite){.join = j->id, .kind = PK_SEMI, .n_keys = 1, .keys = keys};
        Instr *in = builder_emit(&p->b, OP_PROBE, PH_BOOL, 0, 0, 0, 0);
        if (!in) return err_oom(l->err);
        in->aux = site;
    }
    return ST_OK;
}

static Pipe *lower_scan(Lower *l, Plan *s) {
    Pipe *p = pipe_new(l, SRC_TABLE, arena_printf(l->arena, "scan %s", name_of_key(s->scan.table->name)));
    if (!p) return NULL;
    p->source.table = s->scan.table;
    p->source.est_rows = (double)s->scan.table->live_rows;
    for (int32_t i = 0; i < s->n_out; i++) {
        ColEntry *e = pipe_col(p, s->out_cols[i]);
        int32_t c = s->scan.cols[i];
        if (c < 0) {
            *e = (ColEntry){.where = CW_SOURCE,
                            .phys = PH_I64,
                            .type = type_make(T_INT8),
                            .imm = -1,
                            .range = {true, 0, INT64_MAX}};
            continue;
        }
        const Column *col = &s->scan.table->cols[c];
        Phys ph = type_phys(col->type);
        *e = (ColEntry){.where = CW_SOURCE,
                        .phys = (uint8_t)ph,
                        .type = col->type,
                        .imm = c,
                        .stable_str = true,
                        .nullable = !col->not_null && !(s->scan.table->live_rows > 0 && col->stats.has_range &&
                                                        col->stats.null_count == 0),
                        .range = range_of_type(col->type)};
        if (col->dict) {
            e->dict = col->dict;
            e->phys = PH_I32;
            e->range = (Range){true, 0, MAX_OF(col->dict->n - 1, 0)};
            e->table_int = true;
        } else if (ph >= PH_I16 && ph <= PH_I128) {
            if (col->stats.has_range && rule_on(l->c, RULE_RANGES))
                e->range = (Range){true, MIN_OF(col->stats.min, 0), MAX_OF(col->stats.max, 0)};
            if (col->stats.has_range && rule_on(l->c, RULE_RANGES) && !e->nullable)
                e->range = (Range){true, col->stats.min, MAX_OF(col->stats.max, col->stats.min)};
            e->table_int = ph != PH_I128;
            e->phys = e->range.lo >= INT32_MIN && e->range.hi <= INT32_MAX   ? PH_I32
                      : e->range.lo >= INT64_MIN && e->range.hi <= INT64_MAX ? PH_I64
                                                                             : PH_I128;
        }
    }
    /* Tests on encoded data first; then semi-joins against small builds; then the rest in the given order. */
    bool *done = arena_array(l->arena, bool, s->n_conds + 1);
    if (!done) return NULL;
    for (int32_t i = 0; i < s->n_conds; i++)
        if (lower_scan_filter(l, p, s->conds[i], &done[i]) != ST_OK) return NULL;
    if (lower_scan_ranges_flush(l, p) != ST_OK || runtime_filters(l, p, s) != ST_OK) return NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < s->n_conds; i++) {
            if (done[i] || (pass == 0 && expr_can_fail(s->conds[i]))) continue;
            if (lower_filter(l, p, s->conds[i]) != ST_OK) return NULL;
            done[i] = true;
        }
    return lower_scan_ranges_flush(l, p) == ST_OK ? p : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool all_const(const Plan *v) {
    if (v->values.cells) return true;
    for (int64_t r = 0; r < v->values.n_rows; r++)
        for (int32_t i = 0; i < v->n_out; i++)
            if (v->values.rows[r][i]->kind != EX_CONST) return false;
    return true;
}

/* The number of the row in a series source of n rows, as a code. */
static Reg row_index(Lower *l, Pipe *p, int64_t n) {
    Reg r = lower_reg(l, p, PH_I64, type_make(T_INT8), false, (Range){true, 0, MAX_OF(n - 1, 0)});
    if (!r || !builder_emit(&p->b, OP_LOAD, PH_I64, r, 0, 0, 0)) return 0;
    return lower_as(l, p, r, PH_I32);
}

/* One column of n values as a map from row number to cell. */
static ColEntry *map_column(Lower *l, Pipe *p, Reg index, ColId id, int64_t n, const void *cells, const uint8_t *valid,
                            Range range) {
    Type t = col_type(l, id);
    CodeMap *m = arena_new_of(l->arena, CodeMap);
    if (!m) return NULL;
    *m = (CodeMap){cells, valid, n};
    Reg d = lower_reg(l, p, type_phys(t), t, valid != NULL, range);
    Instr *in = d ? builder_emit(&p->b, OP_CODE_MAP, PH_I32, d, index, 0, 0) : NULL;
    if (!in) return NULL;
    in->aux = m;
    lower_info(p, d)->stable_str = true;
    *pipe_col(p, id) = (ColEntry){.where = CW_REG, .reg = d, .type = t, .nullable = valid != NULL, .range = range};
    return pipe_col(p, id);
}

/* Where its operator stands, in the order of columns, and not where it is first read: volatile values, and in a
 * statement that changes settings the others, too, which may read them. */
static bool computed_there(const Lower *l, const Expr *e) { return l->c->sets_settings || expr_is_volatile(e); }

static Pipe *lower_values(Lower *l, Plan *v, const ColSet *needed) {
    if (v->values.n_rows == 1 && !v->values.cells) {
        Pipe *p = pipe_new(l, SRC_ONE, "one row");
        if (!p) return NULL;
        for (int32_t i = 0; i < v->n_out; i++) {
            Type t = col_type(l, v->out_cols[i]);
            *pipe_col(p, v->out_cols[i]) = (ColEntry){.where = CW_EXPR, .expr = v->values.rows[0][i], .type = t};
            Expr *e = v->values.rows[0][i];
            bool now = colset_has(needed, v->out_cols[i]) ? computed_there(l, e) : expr_is_volatile(e);
            if (now && !lower_col(l, p, v->out_cols[i])) return NULL;
        }
        return p;
    }
    if (!all_const(v)) { /* rows with expressions: each is a segment of its own into one store */
        int32_t n = v->n_out;
        CellSpec *cells = arena_array(l->arena, CellSpec, n + 1);
        ColEntry *entries = arena_array(l->arena, ColEntry, n + 1);
        if (!cells || !entries) return NULL;
        for (int32_t i = 0; i < n; i++) {
            Type t = col_type(l, v->out_cols[i]);
            cells[i] = (CellSpec){.phys = (uint8_t)type_phys(t), .type = t, .nullable = true};
            entries[i] = pipe_source_entry(i, &cells[i], t, range_of_type(t));
        }
        int32_t store = lower_rows_spec(l, n, cells, -1, 0, true, -1);
        for (int64_t r = 0; r < v->values.n_rows; r++) {
            Pipe *p = pipe_new(l, SRC_ONE, "one row");
            Reg *regs = arena_array(l->arena, Reg, n + 1);
            if (!p || !regs || store < 0) return NULL;
            for (int32_t i = 0; i < n; i++) {
                regs[i] = lower_canonical(l, p, lower_expr(l, p, v->values.rows[r][i]), col_type(l, v->out_cols[i]));
                if (!regs[i]) return NULL;
            }
            if (sink_rows(l, p, store, n, regs, -1) != ST_OK) return NULL;
        }
        return rows_pipe(l, store, n, v->out_cols, entries);
    }
    Pipe *p = pipe_new(l, SRC_SERIES, "values");
    if (!p) return NULL;
    p->source.start = 0;
    p->source.stop = v->values.n_rows - 1;
    p->source.step = 1;
    p->source.est_rows = (double)v->values.n_rows;
    if (v->values.n_rows > INT32_MAX)
        return err_set(l->err, ERR_STATEMENT_TOO_COMPLEX, "VALUES has too many rows"), NULL;
    Reg index = row_index(l, p, v->values.n_rows);
    if (!index) return NULL;
    for (int32_t i = 0; i < v->n_out; i++) {
        if (!colset_has(needed, v->out_cols[i])) continue;
        Type t = col_type(l, v->out_cols[i]);
        int64_t size = phys_size(type_phys(t));
        if (v->values.cells && v->values.cells[i].is_const) {
            const Value null = {.type = t, .is_null = true};
            Expr *e = expr_const(l->c, &null);
            if (!e) return NULL;
            *pipe_col(p, v->out_cols[i]) = (ColEntry){.where = CW_EXPR, .expr = e, .type = t, .nullable = true};
            continue;
        }
        if (v->values.cells) {
            if (!map_column(l, p, index, v->out_cols[i], v->values.n_rows, v->values.cells[i].data,
                            v->values.cells[i].valid, range_of_type(t)))
                return NULL;
            continue;
        }
        char *cells = arena_calloc(l->arena, size * (v->values.n_rows + 1));
        uint8_t *valid = arena_calloc(l->arena, v->values.n_rows + 1);
        if (!cells || !valid) return NULL;
        bool nulls = false;
        for (int64_t r = 0; r < v->values.n_rows; r++) {
            const Value *val = &v->values.rows[r][i]->u.value;
            valid[r] = !val->is_null;
            nulls |= val->is_null;
            if (!val->is_null) memcpy(cells + r * size, value_cell_const(val), (size_t)size);
        }
        if (!map_column(l, p, index, v->out_cols[i], v->values.n_rows, cells, nulls ? valid : NULL, range_of_type(t)))
            return NULL;
    }
    return p;
}

/* ---- rows from outside the database ------------------------------------------------------------ */

static Pipe *lower_stream(Lower *l, const Plan *s) {
    Pipe *p = pipe_new(l, SRC_STREAM, arena_printf(l->arena, "read %s", s->stream->label));
    if (!p) return NULL;
    p->source.stream = s->stream;
    p->source.est_rows = s->stream->est_rows;
    for (int32_t i = 0; i < s->n_out; i++) {
        Type t = col_type(l, s->out_cols[i]);
        const CellSpec c = {.phys = (uint8_t)type_phys(t), .type = t, .nullable = true};
        *pipe_col(p, s->out_cols[i]) = pipe_source_entry(s->stream_cols[i], &c, t, range_of_type(t));
    }
    return p;
}

enum { SERIES_MAX = 50000000 };

static Pipe *lower_series(Lower *l, Plan *s) {
    Value a[3];
    for (int32_t i = 0; i < s->n_exprs && i < 3; i++) {
        Expr *e = s->exprs[i];
        if (e->kind != EX_CONST && !lower_eval(l, e, 0, NULL, &a[i]))
            return err_at(l->err, e->location, ERR_FEATURE_NOT_SUPPORTED,
                          "arguments of generate_series must be constant"),
                   NULL;
        if (e->kind == EX_CONST) a[i] = e->u.value;
    }
    ColId id = s->out_cols[0];
    Type t = col_type(l, id);
    Phys ph = type_phys(t);
    Pipe *p = pipe_new(l, SRC_SERIES, "generate_series");
    if (!p) return NULL;
    bool null_arg = a[0].is_null || a[1].is_null || (s->n_exprs > 2 && a[2].is_null);
    p->source.step = 1;
    if (null_arg) {
        p->source.start = 1;
        p->source.stop = 0;
        a[0].u.i64 = 0;
    }
    if (t.id == T_INT4 || t.id == T_INT8 || t.id == T_INT2) {
        int64_t lo = 1, hi = 0, step = 1;
        if (!null_arg) {
            (void)cell_as_i64(ph, value_cell(&a[0]), &lo);
            (void)cell_as_i64(ph, value_cell(&a[1]), &hi);
            if (s->n_exprs > 2) (void)cell_as_i64(ph, value_cell(&a[2]), &step);
        }
        if (step == 0) return err_set(l->err, ERR_INVALID_PARAMETER, "step size cannot equal zero"), NULL;
        p->source.start = lo;
        p->source.stop = hi;
        p->source.step = step;
        p->source.est_rows = ((double)hi - (double)lo) / (double)step + 1;
        Range r = {true, MIN_OF(lo, hi), MAX_OF(lo, hi)};
        *pipe_col(p, id) = (ColEntry){.where = CW_SOURCE, .phys = PH_I64, .type = t, .imm = 0, .range = r};
        return p;
    }
    /* Other types: the values are made here. */
    int64_t cap = 64, n = 0, size = phys_size(ph);
    char *cells = arena_alloc(l->arena, cap * size);
    bool up = true;
    if (!null_arg && t.id == T_NUMERIC) {
        int128_t step = s->n_exprs > 2 ? (ph == PH_I64 ? a[2].u.i64 : a[2].u.i128) : pow10_i128[t.scale];
        if (step == 0) return err_set(l->err, ERR_INVALID_PARAMETER, "step size cannot equal zero"), NULL;
        up = step > 0;
        int128_t x = ph == PH_I64 ? a[0].u.i64 : a[0].u.i128, end = ph == PH_I64 ? a[1].u.i64 : a[1].u.i128;
        for (; cells && (up ? x <= end : x >= end); x += step) {
            if (n == SERIES_MAX)
                return err_set(l->err, ERR_STATEMENT_TOO_COMPLEX, "generate_series has more than %d rows", SERIES_MAX),
                       NULL;
            if (n == cap && !vec_grow_(l->arena, (void **)&cells, n, &cap, size)) return NULL;
            int64_t x64 = (int64_t)x;
            memcpy(cells + n++ * size, ph == PH_I64 ? (void *)&x64 : (void *)&x, (size_t)size);
        }
    } else if (!null_arg) {
        if (s->n_exprs < 3 || a[2].type.id != T_INTERVAL)
            return err_set(l->err, ERR_UNDEFINED_FUNCTION, "generate_series over timestamps needs an interval step"),
                   NULL;
        int128_t k = interval_cmp_value(&a[2].u.interval);
        if (k == 0) return err_set(l->err, ERR_INVALID_PARAMETER, "step size cannot equal zero"), NULL;
        up = k > 0;
        const struct Zone *zone = l->c->session ? l->c->session->form.zone : NULL;
        if (t.id == T_TIMESTAMPTZ) zone_reads++;
        for (int64_t x = a[0].u.i64; cells && (up ? x <= a[1].u.i64 : x >= a[1].u.i64);) {
            if (n == SERIES_MAX)
                return err_set(l->err, ERR_STATEMENT_TOO_COMPLEX, "generate_series has more than %d rows", SERIES_MAX),
                       NULL;
            if (n == cap && !vec_grow_(l->arena, (void **)&cells, n, &cap, size)) return NULL;
            memcpy(cells + n++ * size, &x, (size_t)size);
            if (t.id == T_TIMESTAMPTZ ? timestamptz_add_interval(zone, x, &a[2].u.interval, 1, &x)
                                      : timestamp_add_interval(x, &a[2].u.interval, 1, &x))
                return err_set(l->err, ERR_DATETIME_OVERFLOW, "timestamp out of range"), NULL;
        }
    }
    if (!cells) return NULL;
    p->source.start = 0;
    p->source.stop = n - 1;
    Reg index = row_index(l, p, n);
    if (!index) return NULL;
    if (!map_column(l, p, index, id, n, cells, NULL, range_of_type(t))) return NULL;
    if (!s->ordinality) return p;
    int64_t *numbers = arena_array(l->arena, int64_t, n + 1);
    if (!numbers) return NULL;
    for (int64_t i = 0; i < n; i++) numbers[i] = i + 1;
    return map_column(l, p, index, s->out_cols[1], n, (char *)numbers, NULL, (Range){true, 1, n}) ? p : NULL;
}

/* ---- joins ------------------------------------------------------------------------------------- */

typedef struct KeyPair {
    Expr *build, *probe;
    bool null_equal;
} KeyPair;

/* The dictionary of a column's codes, wherever it came from, NULL for others. Lowered columns of that origin are always
 * codes, unless a set operation is in between, which has values: its columns may be made like those of a table. */
static const Dict *static_dict(Lower *l, const Expr *e) {
    if (e->kind != EX_COL) return NULL;
    ColId id = e->u.col;
    for (int hops = 0; hops < 1000; hops++) {
        const ColInfo *c = &l->c->cols.items[id];
        ColId next = 0;
        if (colset_has(&l->set_cols, id)) return NULL;
        for (int64_t i = 0; i < l->aliases.len; i++)
            if (l->aliases.items[i].from == id) next = l->aliases.items[i].to;
        if (!next) return c->table && c->col >= 0 ? c->table->cols[c->col].dict : NULL;
        id = next;
    }
    return NULL;
}

static Status collect_aliases(Lower *l, Plan *p) {
    TRY(stack_check(l->err));
    if (p->kind == LP_PROJECT || p->kind == LP_AGG) {
        int32_t n = p->kind == LP_AGG ? p->agg.n_keys : p->n_out;
        for (int32_t i = 0; i < n && i < p->n_exprs; i++)
            if (p->exprs[i]->kind == EX_COL && p->exprs[i]->u.col != p->out_cols[i] &&
                !vec_push(l->arena, &l->aliases, ((ColMap){p->out_cols[i], p->exprs[i]->u.col})))
                return ST_ERROR;
    }
    for (int32_t i = 0; p->kind == LP_SETOP && i < p->n_out; i++) colset_add(l->c, &l->set_cols, p->out_cols[i]);
    if (p->kind == LP_CTE_SCAN) {
        for (int32_t i = 0; i < p->n_out; i++)
            if (!vec_push(l->arena, &l->aliases, ((ColMap){p->out_cols[i], p->cte.cols[i]}))) return ST_ERROR;
        while (l->cte_needed.len <= p->cte.id)
            if (!vec_push(l->arena, &l->cte_needed, colset_new(l->c))) return ST_ERROR;
        for (int32_t i = 0; i < p->n_out; i++) colset_add(l->c, &l->cte_needed.items[p->cte.id], p->cte.cols[i]);
    }
    if (p->kind == LP_AGG)
        for (int32_t i = 0; i < p->agg.n_calls; i++)
            if (p->agg.calls[i].kind == AGG_ANY && p->agg.calls[i].arg->kind == EX_COL &&
                !vec_push(l->arena, &l->aliases, ((ColMap){p->agg.calls[i].out, p->agg.calls[i].arg->u.col})))
                return ST_ERROR;
    for (int32_t i = 0; i < p->n_children; i++) TRY(collect_aliases(l, p->children[i]));
    return ST_OK;
}

static bool is_int_phys(int p) { return p >= PH_I16 && p <= PH_I128; }
static int bits_of(uint64_t v) { return v ? 64 - __builtin_clzll(v) : 0; }

/* How the keys of a join are compared; decided from the build side. */
typedef struct KeyPlan {
    int32_t n; /* pairs */
    KeyPair *pairs;
    const Dict **dict; /* codes on both sides */
    uint8_t *phys;     /* of each key when not packed */
    bool packed;
    KeyPack pack; /* base, shift, bits, nullable; args per side */
} KeyPlan;

static Range probe_range(Lower *l, const Expr *e) {
    if (e->kind == EX_COL) {
        ColId id = e->u.col;
        for (int hops = 0; hops < 100; hops++) {
            const ColInfo *c = &l->c->cols.items[id];
            if (c->table && c->col >= 0) {
                const Column *col = &c->table->cols[c->col];
                if (col->stats.has_range && rule_on(l->c, RULE_RANGES))
                    return (Range){true, MIN_OF(col->stats.min, 0), MAX_OF(col->stats.max, 0)};
                break;
            }
            ColId next = 0;
            for (int64_t i = 0; i < l->aliases.len; i++)
                if (l->aliases.items[i].from == id) next = l->aliases.items[i].to;
            if (!next) break;
            id = next;
        }
    }
    return range_of_type(e->type);
}

/* Build-side key registers; fills the plan. */
static Reg *build_keys(Lower *l, Pipe *bp, KeyPlan *k, KeySpec **specs_out, int32_t *n_out) {
    Reg *regs = arena_array(l->arena, Reg, k->n + 1);
    KeySpec *specs = arena_array(l->arena, KeySpec, k->n + 1);
    k->dict = arena_array(l->arena, const Dict *, k->n + 1);
    k->phys = arena_array(l->arena, uint8_t, k->n + 1);
    if (!regs || !specs || !k->dict || !k->phys) return NULL;
    bool packable = k->n > 1;
    int total = 0;
    for (int32_t i = 0; i < k->n; i++) {
        KeyPair *kp = &k->pairs[i];
        Reg r = lower_expr(l, bp, kp->build);
        if (!r) return NULL;
        const Dict *d = lower_info(bp, r)->dict;
        if (d && d == static_dict(l, kp->probe)) {
            k->dict[i] = d;
            k->phys[i] = PH_I32;
        } else {
            if (d) r = lower_as(l, bp, r, PH_STR);
            if (!r) return NULL;
            Phys ph = (Phys)lower_info(bp, r)->phys;
            if (is_int_phys(ph)) {
                Range pr = probe_range(l, kp->probe);
                bool small = ph <= PH_I32 && pr.known && pr.lo >= INT32_MIN && pr.hi <= INT32_MAX;
                bool mid = ph <= PH_I64 && pr.known && pr.lo >= INT64_MIN && pr.hi <= INT64_MAX;
                k->phys[i] = small ? PH_I32 : mid ? PH_I64 : PH_I128;
            } else {
                k->phys[i] = (uint8_t)ph;
            }
        }
        Range range = lower_range(bp, r);
        if (packable && is_int_phys(k->phys[i]) && k->phys[i] != PH_I128 && range.known && range.hi >= range.lo &&
            range.hi - range.lo < ((int128_t)1 << 61))
            total += bits_of((uint64_t)(range.hi - range.lo) + (kp->null_equal ? 1 : 0));
        else packable = false;
        if (total > 62) packable = false;
        regs[i] = r;
    }
    if (packable) {
        k->packed = true;
        k->pack.n = k->n;
        k->pack.base = arena_array(l->arena, int64_t, k->n);
        k->pack.shift = arena_array(l->arena, uint8_t, k->n);
        k->pack.bits = arena_array(l->arena, uint8_t, k->n);
        k->pack.nullable = arena_array(l->arena, bool, k->n);
        if (!k->pack.base || !k->pack.shift || !k->pack.bits || !k->pack.nullable) return NULL;
        int shift = 0;
        for (int32_t i = 0; i < k->n; i++) {
            Range range = lower_range(bp, regs[i]);
            k->pack.base[i] = (int64_t)range.lo;
            k->pack.nullable[i] = k->pairs[i].null_equal;
            k->pack.bits[i] =
                (uint8_t)MAX_OF(1, bits_of((uint64_t)(range.hi - range.lo) + (k->pairs[i].null_equal ? 1 : 0)));
            k->pack.shift[i] = (uint8_t)shift;
            shift += k->pack.bits[i];
        }
        specs[0] = (KeySpec){.phys = PH_I64,
                             .type = type_make(T_INT8),
                             .nullable = true,
                             .has_range = true,
                             .min = 0,
                             .max = (int64_t)(((uint64_t)1 << shift) - 1)};
        *n_out = 1;
    } else {
        for (int32_t i = 0; i < k->n; i++) {
            Range range = lower_range(bp, regs[i]);
            specs[i] = (KeySpec){.phys = k->phys[i],
                                 .type = k->pairs[i].build->type,
                                 .nullable = true,
                                 .null_equal = k->pairs[i].null_equal,
                                 .dict = k->dict[i]};
            if (is_int_phys(k->phys[i]) && range.known && range.lo >= INT64_MIN && range.hi <= INT64_MAX) {
                specs[i].has_range = true;
                specs[i].min = (int64_t)range.lo;
                specs[i].max = (int64_t)range.hi;
            }
        }
        *n_out = k->n;
    }
    *specs_out = specs;
    return regs;
}

/* Turns one side's raw key registers into what the table compares. */
static Reg *finish_keys(Lower *l, Pipe *p, const KeyPlan *k, Reg *raw) {
    if (!k->packed) {
        for (int32_t i = 0; i < k->n; i++) {
            if (k->dict[i]) continue;
            raw[i] = lower_as(l, p, raw[i], (Phys)k->phys[i]);
            if (!raw[i]) return NULL;
        }
        return raw;
    }
    KeyPack *pk = arena_new_of(l->arena, KeyPack);
    Reg *out = arena_array(l->arena, Reg, 1);
    if (!pk || !out) return NULL;
    *pk = k->pack;
    pk->args = arena_array(l->arena, Reg, k->n);
    if (!pk->args) return NULL;
    for (int32_t i = 0; i < k->n; i++) {
        pk->args[i] = lower_as(l, p, raw[i], PH_I64);
        if (!pk->args[i]) return NULL;
    }
    Reg d = lower_reg(l, p, PH_I64, type_make(T_INT8), true, (Range){true, 0, INT64_MAX});
    Instr *in = d ? builder_emit(&p->b, OP_KEY_PACK, PH_I64, d, 0, 0, 0) : NULL;
    if (!in) return NULL;
    in->aux = pk;
    out[0] = d;
    return out;
}

static bool covers(Lower *l, const ColSet *have, const Expr *e) {
    ColSet s = colset_new(l->c);
    expr_cols(l->c, e, &s);
    return colset_subset(&s, have);
}

static bool same_key_type(const Expr *a, const Expr *b) {
    if (type_phys(a->type) != type_phys(b->type)) {
        bool ia = is_int_phys(type_phys(a->type)), ib = is_int_phys(type_phys(b->type));
        if (!ia || !ib) return false;
    }
    int sa = a->type.id == T_NUMERIC ? a->type.scale : 0, sb = b->type.id == T_NUMERIC ? b->type.scale : 0;
    return sa == sb;
}

/* Equal values of the type are the same value: not so 0 and -0, or 1 month and 30 days. */
static bool equal_is_same(Type t) { return t.id != T_FLOAT4 && t.id != T_FLOAT8 && t.id != T_INTERVAL; }

/* A join while it is lowered. */
typedef struct JoinWork {
    Plan *p, *build, *probe;
    ColSet build_out;
    /* 1 */
    ProbeKind kind;
    bool unmatched, from_build; /* build rows afterwards: those without a match too; they are all of the result */
    bool track;                 /* either: their matched flags are kept */
    /* 2 */
    KeyPlan k;
    Expr **build_keys, **probe_keys; /* k.n */
    Expr **rest;                     /* conditions that are no keys */
    int32_t n_rest;
    bool residual_block; /* they decide about the match, not about its rows afterwards */
    /* 3 */
    int32_t join, n_keys;
    bool rows_used; /* not only whether there is a match */
    int32_t n_ids;  /* columns of the build side that are needed above */
    ColId *ids;
    ColEntry *entries; /* where they are in the join's payload */
    int32_t *as_key;   /* the key that has the column's value already; -1: none, it is in the payload */
} JoinWork;

/* 1. Which probe, and what happens with build rows afterwards. */
static void join_kind(JoinWork *j, bool build_left) {
    j->kind = PK_INNER;
    switch ((JoinKind)j->p->join.kind) {
    case JN_INNER: break;
    case JN_LEFT:
        j->kind = build_left ? PK_INNER : PK_LEFT;
        j->unmatched = build_left;
        break;
    case JN_RIGHT:
        j->kind = build_left ? PK_LEFT : PK_INNER;
        j->unmatched = !build_left;
        break;
    case JN_FULL:
        j->kind = PK_LEFT;
        j->unmatched = true;
        break;
    case JN_SEMI:
        j->kind = build_left ? PK_MARK_BUILD : PK_SEMI;
        j->from_build = build_left;
        break;
    case JN_ANTI:
        j->kind = build_left ? PK_MARK_BUILD : PK_ANTI;
        j->from_build = build_left;
        break;
    case JN_MARK: j->kind = PK_MARK; break;
    case JN_SINGLE: j->kind = PK_SINGLE; break;
    }
    j->track = j->unmatched || j->from_build;
}

/* Whether the condition is an equation of something of the build side with something of the probe side. */
static bool join_key(Lower *l, const JoinWork *j, const ColSet *probe_out, Expr *c, KeyPair *pair) {
    bool eq = c->kind == EX_FUNC && c->u.func->opcode == OP_EQ && c->n_args == 2, nd = c->kind == EX_NOT_DISTINCT;
    if ((!eq && !nd) || !same_key_type(c->args[0], c->args[1])) return false;
    if ((j->kind == PK_MARK && j->p->n_conds != 1 && !j->p->join.mark_exists) || expr_is_volatile(c)) return false;
    if (c->args[0]->kind == EX_CONST || c->args[1]->kind == EX_CONST) return false;
    for (int side = 0; side < 2; side++) {
        Expr *build = c->args[side], *probe = c->args[1 - side];
        if (!covers(l, &j->build_out, build) || !covers(l, probe_out, probe)) continue;
        *pair = (KeyPair){build, probe, nd};
        return true;
    }
    return false;
}

/* 2. Conditions: hash keys and the rest. A mark join keeps three-valued logic: only its single condition can be a key,
 * unless all that matters is whether the mark is true. */
static Status join_conditions(Lower *l, JoinWork *j) {
    int32_t n = j->p->n_conds;
    ColSet probe_out = colset_new(l->c);
    plan_outputs(l->c, j->probe, &probe_out);
    j->k.pairs = arena_array(l->arena, KeyPair, n + 1);
    j->rest = arena_array(l->arena, Expr *, n + 1);
    j->build_keys = arena_array(l->arena, Expr *, n + 1);
    j->probe_keys = arena_array(l->arena, Expr *, n + 1);
    if (!j->k.pairs || !j->rest || !j->build_keys || !j->probe_keys) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        KeyPair pair;
        if (!join_key(l, j, &probe_out, j->p->conds[i], &pair)) {
            j->rest[j->n_rest++] = j->p->conds[i];
            continue;
        }
        j->build_keys[j->k.n] = pair.build;
        j->probe_keys[j->k.n] = pair.probe;
        j->k.pairs[j->k.n++] = pair;
    }
    j->residual_block = j->n_rest > 0 && (j->kind != PK_INNER || j->track);
    return ST_OK;
}

/* The key of an inner join from whose probe side the build column can be taken; -1: none. */
static int32_t key_of_column(const JoinWork *j, ColId id) {
    int32_t found = -1;
    if (j->kind != PK_INNER || j->track || j->residual_block) return -1;
    for (int32_t i = 0; i < j->k.n; i++) {
        const Expr *b = j->build_keys[i];
        if (!j->k.pairs[i].null_equal && b->kind == EX_COL && b->u.col == id &&
            type_eq(b->type, j->probe_keys[i]->type) && equal_is_same(b->type))
            found = i;
    }
    return found;
}

/* The columns that the join's rows carry: registers and cells of *n of them. */
static Status join_payload(Lower *l, JoinWork *j, Pipe *bp, const ColSet *above, int32_t *n, Reg **regs,
                           CellSpec **cells) {
    j->ids = lower_needed_of(l, j->build, above, &j->n_ids);
    *regs = arena_array(l->arena, Reg, j->n_ids + 1);
    *cells = arena_array(l->arena, CellSpec, j->n_ids + 1);
    j->entries = arena_array(l->arena, ColEntry, j->n_ids + 1);
    j->as_key = arena_array(l->arena, int32_t, j->n_ids + 1);
    if (!j->ids || !*regs || !*cells || !j->entries || !j->as_key) return ST_ERROR;
    *n = 0;
    for (int32_t i = 0; i < j->n_ids && j->rows_used; i++) {
        j->as_key[i] = key_of_column(j, j->ids[i]);
        if (j->as_key[i] >= 0) continue;
        Reg r = lower_col(l, bp, j->ids[i]);
        if (!r) return ST_ERROR;
        CellSpec *c = &(*cells)[*n];
        (*regs)[*n] = r;
        *c = pipe_cell_spec(bp, r);
        j->entries[i] = pipe_source_entry(*n, c, col_type(l, j->ids[i]), lower_range(bp, r));
        ++*n;
    }
    return ST_OK;
}

/* 3. The build side. Key columns of an inner join are taken from the probe side above. */
static Status join_build(Lower *l, JoinWork *j, const ColSet *above) {
    ColSet build_needed = needed_with(l, above, j->build_keys, j->k.n);
    Pipe *bp = lower_plan(l, j->build, &build_needed);
    if (!bp) return ST_ERROR;
    KeySpec *specs = NULL;
    Reg *raw = build_keys(l, bp, &j->k, &specs, &j->n_keys);
    if (!raw) return ST_ERROR;
    j->rows_used = j->kind == PK_INNER || j->kind == PK_LEFT || j->kind == PK_SINGLE || j->track || j->n_rest > 0;
    int32_t n_pay;
    Reg *pay;
    CellSpec *cells;
    TRY(join_payload(l, j, bp, above, &n_pay, &pay, &cells));
    j->join = (int32_t)l->joins.len;
    JoinSpec spec = {.n_keys = j->n_keys,
                     .keys = specs,
                     .n_payload = n_pay,
                     .payload = cells,
                     .exists_only = !j->rows_used,
                     .track_matched = j->track,
                     .has_null_mark = j->kind == PK_MARK,
                     .est_rows = j->build->est_rows};
    spec.text = j->n_keys && j->k.n ? arena_printf(l->arena, "%s = %s%s", expr_text(l->c, j->probe_keys[0]),
                                                   expr_text(l->c, j->build_keys[0]), j->k.n > 1 ? ", ..." : "")
                                    : "cross";
    if (!vec_push(l->arena, &l->joins, spec)) return ST_ERROR;
    Reg *keys = finish_keys(l, bp, &j->k, raw);
    if (!keys) return ST_ERROR;
    Sink sink = {
        .kind = SINK_JOIN, .id = j->join, .n_keys = j->n_keys, .keys = keys, .n_regs = n_pay, .regs = pay, .limit = -1};
    TRY(pipe_seal(l, bp, &sink, arena_printf(l->arena, "join build #%d", (int)j->join)));
    JoinInfo info = {.plan = j->p, .id = j->join};
    if (!j->k.packed && j->k.n == 1 && !j->k.pairs[0].null_equal) {
        info.build_key = j->build_keys[0];
        info.key_phys = j->k.phys[0];
        info.key_dict = j->k.dict[0];
    }
    return vec_push(l->arena, &l->join_infos, info) ? ST_OK : ST_ERROR;
}

/* Makes the build side's columns known behind the probe: those in a candidate's row, and those that are keys. */
static void probe_columns(Lower *l, const JoinWork *j, Pipe *pp, const Reg *keys, Reg cand, ProbeSite *site) {
    for (int32_t i = 0; i < j->n_ids && j->rows_used; i++) {
        ColEntry *e = pipe_col(pp, j->ids[i]);
        if (j->as_key[i] >= 0) {
            Reg r = keys[j->as_key[i]];
            *e = (ColEntry){.where = CW_REG,
                            .reg = r,
                            .type = col_type(l, j->ids[i]),
                            .nullable = false,
                            .dict = lower_info(pp, r)->dict,
                            .range = lower_range(pp, r)};
            continue;
        }
        *e = j->entries[i];
        e->where = CW_BUILD;
        e->row = cand;
        e->site = site;
    }
}

/* The body of PROBE_BEGIN: candidates for which all other conditions hold are matches. */
static Status probe_residual(Lower *l, const JoinWork *j, Pipe *pp, Reg mark, ProbeSite *site) {
    int64_t regs = pp->b.regs.len, computed = pp->computed.len;
    pp->depth++;
    Reg ok = 0;
    for (int32_t i = 0; i < j->n_rest; i++) {
        Reg r = lower_expr(l, pp, j->rest[i]);
        if (!r) return ST_ERROR;
        if (ok) {
            bool nullable = lower_info(pp, ok)->nullable || lower_info(pp, r)->nullable;
            Reg both = lower_reg(l, pp, PH_BOOL, type_make(T_BOOL), nullable, (Range){true, 0, 1});
            if (!both || !builder_emit(&pp->b, OP_AND, PH_BOOL, both, ok, r, 0)) return ST_ERROR;
            r = both;
        }
        ok = r;
    }
    pp->depth--;
    lower_forget_since_reg(pp, regs, computed);
    Instr *end = builder_emit(&pp->b, OP_PROBE_END, PH_BOOL, mark, ok, 0, 0);
    if (!end) return err_oom(l->err);
    end->aux = site;
    return ST_OK;
}

/* Behind an outer join build columns may be NULL (rows without a match carry zero cells in NULL places); behind one
 * that asks only for a match there are none. */
static void columns_after_probe(const JoinWork *j, Pipe *pp) {
    bool outer = j->kind == PK_LEFT || j->kind == PK_SINGLE;
    for (int32_t i = 0; i < j->n_ids && j->rows_used; i++) {
        ColEntry *e = pipe_col(pp, j->ids[i]);
        if (outer) e->nullable = true;
        if (j->as_key[i] >= 0) continue;
        if (outer && e->range.known) {
            e->range.lo = MIN_OF(e->range.lo, 0);
            e->range.hi = MAX_OF(e->range.hi, 0);
        }
        if (!outer && j->kind != PK_INNER) *e = (ColEntry){.where = CW_NONE};
    }
}

/* 4. The probe. */
static Pipe *join_probe(Lower *l, JoinWork *j, const ColSet *above) {
    ColSet probe_needed = needed_with(l, above, j->probe_keys, j->k.n);
    Pipe *pp = lower_plan(l, j->probe, &probe_needed);
    if (!pp) return NULL;
    Reg *raw = arena_array(l->arena, Reg, j->k.n + 1);
    Reg *cols = arena_array(l->arena, Reg, j->k.n + 1);
    if (!raw || !cols || lower_scan_ranges_flush(l, pp) != ST_OK) return NULL;
    for (int32_t i = 0; i < j->k.n; i++) {
        cols[i] = raw[i] = lower_expr(l, pp, j->probe_keys[i]);
        if (!raw[i]) return NULL;
    }
    Reg *keys = finish_keys(l, pp, &j->k, raw);
    ProbeSite *site = arena_new_of(l->arena, ProbeSite);
    if (!keys || !site) return NULL;
    *site = (ProbeSite){.join = j->join, .kind = (uint8_t)j->kind, .n_keys = j->n_keys, .keys = keys};
    bool is_mark = j->kind == PK_MARK, outer = j->kind == PK_LEFT || j->kind == PK_SINGLE;
    Reg row = 0;
    if (is_mark) row = lower_reg(l, pp, PH_BOOL, type_make(T_BOOL), true, (Range){true, 0, 1});
    else if (j->rows_used && (j->kind == PK_INNER || outer || j->residual_block))
        row = lower_reg(l, pp, PH_I64, type_make(T_INT8), false, (Range){false, 0, 0});
    if (err_is_set(l->err)) return NULL;
    Reg cand = row;
    if (is_mark && j->residual_block) { /* candidates' rows need a register of their own */
        cand = lower_reg(l, pp, PH_I64, type_make(T_INT8), false, (Range){false, 0, 0});
        if (!cand) return NULL;
    }
    Instr *in = builder_emit(&pp->b, j->residual_block ? OP_PROBE_BEGIN : OP_PROBE, PH_I64, cand, 0, 0, 0);
    if (!in) return err_oom(l->err), NULL;
    in->aux = site;
    probe_columns(l, j, pp, cols, cand, site);
    if (j->residual_block && probe_residual(l, j, pp, is_mark ? row : 0, site) != ST_OK) return NULL;
    columns_after_probe(j, pp);
    if (is_mark)
        *pipe_col(pp, j->p->join.mark_col) =
            (ColEntry){.where = CW_REG, .reg = row, .type = type_make(T_BOOL), .nullable = true, .range = {true, 0, 1}};
    if (j->kind == PK_INNER && !j->track)
        for (int32_t i = 0; i < j->n_rest; i++)
            if (lower_filter(l, pp, j->rest[i]) != ST_OK) return NULL;
    return pp;
}

/* Matched pairs and unmatched build rows meet in one row store; the probe side's columns of the latter are NULL. */
static Pipe *join_pairs_and_rest(Lower *l, const JoinWork *j, Pipe *pairs, Pipe *rest, const ColSet *needed) {
    int32_t n = 0;
    ColId *ids = lower_needed_of(l, j->p, needed, &n);
    Reg *r1 = arena_array(l->arena, Reg, n + 1), *r2 = arena_array(l->arena, Reg, n + 1);
    CellSpec *cells = arena_array(l->arena, CellSpec, n + 1);
    ColEntry *out = arena_array(l->arena, ColEntry, n + 1);
    if (!ids || !r1 || !r2 || !cells || !out) return NULL;
    for (int32_t i = 0; i < n; i++) {
        r1[i] = lower_col(l, pairs, ids[i]);
        if (!r1[i]) return NULL;
        cells[i] = pipe_cell_spec(pairs, r1[i]);
        cells[i].nullable = true;
        Range range = lower_range(pairs, r1[i]);
        if (colset_has(&j->build_out, ids[i])) {
            r2[i] = lower_col(l, rest, ids[i]);
            if (!r2[i]) return NULL;
            if (!cells[i].dict) r2[i] = lower_as(l, rest, r2[i], (Phys)cells[i].phys);
        } else {
            Value v = {.type = cells[i].type, .is_null = true};
            r2[i] = lower_as(l, rest, lower_const(l, rest, &v), (Phys)cells[i].phys);
        }
        if (!r2[i]) return NULL;
        if (range.known) {
            range.lo = MIN_OF(range.lo, 0);
            range.hi = MAX_OF(range.hi, 0);
        }
        cells[i].stable_str = cells[i].stable_str && lower_info(rest, r2[i])->stable_str;
        out[i] = pipe_source_entry(i, &cells[i], col_type(l, ids[i]), range);
    }
    int32_t store = lower_rows_spec(l, n, cells, -1, 0, false, -1);
    if (store < 0 || sink_rows(l, pairs, store, n, r1, -1) != ST_OK || sink_rows(l, rest, store, n, r2, -1) != ST_OK)
        return NULL;
    return rows_pipe(l, store, n, ids, out);
}

/* 5. Build rows by their matched flag. */
static Pipe *join_build_rows(Lower *l, const JoinWork *j, Pipe *pp, const ColSet *needed) {
    if (j->from_build) {
        Sink none = {.kind = SINK_NONE, .id = -1, .limit = -1};
        if (pipe_seal(l, pp, &none, "mark build rows") != ST_OK) return NULL;
    }
    bool matched = j->p->join.kind == JN_SEMI;
    Pipe *up = pipe_new(l, SRC_JOIN,
                        arena_printf(l->arena, "join #%d %s rows", (int)j->join, matched ? "matched" : "unmatched"));
    if (!up) return NULL;
    up->source.id = j->join;
    up->source.matched = matched;
    up->source.est_rows = j->build->est_rows;
    for (int32_t i = 0; i < j->n_ids; i++) *pipe_col(up, j->ids[i]) = j->entries[i];
    return j->from_build ? up : join_pairs_and_rest(l, j, pp, up, needed);
}

static Pipe *lower_join(Lower *l, Plan *p, const ColSet *needed) {
    bool build_left = p->join.build_left && p->join.kind != JN_MARK && p->join.kind != JN_SINGLE;
    JoinWork j = {.p = p,
                  .build = p->children[build_left ? 0 : 1],
                  .probe = p->children[build_left ? 1 : 0],
                  .build_out = colset_new(l->c)};
    plan_outputs(l->c, j.build, &j.build_out);
    join_kind(&j, build_left);                        /* 1 */
    if (join_conditions(l, &j) != ST_OK) return NULL; /* 2 */
    ColSet above = needed_with(l, needed, j.rest, j.n_rest);
    if (join_build(l, &j, &above) != ST_OK) return NULL;            /* 3 */
    Pipe *pp = join_probe(l, &j, &above);                           /* 4 */
    return pp && j.track ? join_build_rows(l, &j, pp, needed) : pp; /* 5 */
}

/* ---- aggregation ----------------------------------------------------------------------------------- */

/* An upper bound for the rows a plan can produce, saturating; for sums that must not overflow. */
static double max_rows(Lower *l, const Plan *p) {
    if (stack_stop()) return 0;
    if (p->kind == LP_SETOP && p->cte.id) return 1e12;
    switch (p->kind) {
    case LP_SCAN: return (double)p->scan.table->live_rows;
    case LP_VALUES: return (double)p->values.n_rows;
    case LP_JOIN: {
        double a = max_rows(l, p->children[0]), b = max_rows(l, p->children[1]);
        if (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK || p->join.kind == JN_SINGLE)
            return a;
        if (p->join.kind == JN_INNER)
            for (int32_t i = 0; i < p->n_conds; i++) {
                const Expr *c = p->conds[i];
                if (c->kind != EX_FUNC || c->u.func->opcode != OP_EQ) continue;
                for (int s = 0; s < 2; s++) {
                    if (c->args[s]->kind != EX_COL) continue;
                    const ColInfo *ci = &l->c->cols.items[c->args[s]->u.col];
                    if (!ci->table || ci->col < 0 || !ci->table->cols[ci->col].stats.unique) continue;
                    /* the column's table appears once below that side only if that side is its plain scan */
                    for (int ch = 0; ch < 2; ch++)
                        if (p->children[ch]->kind == LP_SCAN && p->children[ch]->scan.table == ci->table)
                            return ch == 0 ? b : a;
                }
            }
        return a * b + a + b;
    }
    case LP_SERIES:
    case LP_STREAM: return 1e12;
    case LP_CTE: return max_rows(l, p->children[1]);
    case LP_CTE_SCAN: return 1e12;
    case LP_REPEAT: return p->repeats ? (double)p->repeats * max_rows(l, p->children[0]) : 1e18;
    default: {
        double s = 1;
        for (int32_t i = 0; i < p->n_children; i++) s += max_rows(l, p->children[i]);
        return s;
    }
    }
}

/* An aggregate while it is lowered. */
typedef struct AggWork {
    const AggCall *call;
    Expr *arg; /* with FILTER in it; NULL: none */
    Type type; /* of the result */
    double max_rows;
    Reg reg, reg2;
    RegInfo in; /* of the argument */
    Range in_range;
    AggCell *cell;
    const Dict *dict; /* of the result */
    Range range;
    bool nullable;
} AggWork;

/* Columns that the keys and the aggregates that are needed read. */
static ColSet agg_reads(Lower *l, const Plan *p, const ColSet *needed) {
    ColSet in = colset_new(l->c);
    for (int32_t i = 0; i < p->agg.n_keys; i++) expr_cols(l->c, p->exprs[i], &in);
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (!colset_has(needed, p->agg.calls[i].out)) continue;
        if (p->agg.calls[i].arg) expr_cols(l->c, p->agg.calls[i].arg, &in);
        if (p->agg.calls[i].arg2) expr_cols(l->c, p->agg.calls[i].arg2, &in);
        if (p->agg.calls[i].filter) expr_cols(l->c, p->agg.calls[i].filter, &in);
    }
    return in;
}

/* Key i of the groups: its register in cp, and its column in np. 0: failed. */
static Reg agg_key(Lower *l, const Plan *p, int32_t i, Pipe *cp, Pipe *np, KeySpec *key) {
    Reg r = lower_expr(l, cp, p->exprs[i]);
    if (!r) return 0;
    const RegInfo *ri = lower_info(cp, r);
    Range range = lower_range(cp, r);
    *key = (KeySpec){.phys = ri->phys,
                     .type = p->exprs[i]->type,
                     .nullable = ri->nullable,
                     .null_equal = true,
                     .has_range = ri->has_range,
                     .min = ri->min,
                     .max = ri->max,
                     .dict = ri->dict};
    CellSpec c = pipe_cell_spec(cp, r);
    c.stable_str = false; /* the table copies key bytes; those of a partition on disk come and go with it */
    *pipe_col(np, p->out_cols[i]) = pipe_source_entry(i, &c, p->exprs[i]->type, range);
    return r;
}

/* FILTER becomes a CASE: what it leaves out is NULL, which aggregates with a filter pass over. */
static Status agg_argument(Lower *l, Pipe *cp, AggWork *w) {
    const AggCall *a = w->call;
    w->arg = a->arg;
    if (a->filter) {
        Expr *c = expr_new(l->c, EX_CASE, a->arg ? a->arg->type : type_make(T_BOOL), 2);
        if (!c) return ST_ERROR;
        c->args[0] = a->filter;
        c->args[1] = a->arg ? a->arg : expr_bool(l->c, true);
        w->arg = c;
    }
    if (!w->arg) return ST_OK;
    w->reg = lower_expr(l, cp, w->arg);
    if (!w->reg) return ST_ERROR;
    w->in = *lower_info(cp, w->reg);
    w->in_range = lower_range(cp, w->reg);
    return ST_OK;
}

/* The argument in another physical type, which is the cell's from now on. */
static Status agg_input_as(Lower *l, Pipe *cp, AggWork *w, Phys to) {
    w->reg = lower_as(l, cp, w->reg, to);
    if (!w->reg) return ST_ERROR;
    w->cell->in_phys = to;
    return ST_OK;
}

/* The narrowest sum that the argument's range and the number of rows allow. */
static Status agg_sum(Lower *l, Pipe *cp, AggWork *w) {
    AggCell *cell = w->cell;
    Range range = w->in_range;
    if (w->in.phys == PH_F32 || w->in.phys == PH_F64) {
        cell->op = AO_SUM_F64;
        cell->out_phys = PH_F64;
        return ST_OK;
    }
    if (w->type.id == T_DECIMAL) {
        TRY(agg_input_as(l, cp, w, PH_STR));
        cell->op = AO_SUM_DEC;
        cell->out_phys = PH_STR;
        return ST_OK;
    }
    double rows = MAX_OF(w->max_rows, 1.0);
    if (range.known && range_max_abs(range) < INT64_MAX && (double)range_max_abs(range) * rows < 9e18) {
        cell->op = AO_SUM_I64;
        cell->out_phys = PH_I64;
        if (w->in.phys == PH_I128) TRY(agg_input_as(l, cp, w, PH_I64));
        int128_t m = (int128_t)((double)range_max_abs(range) * rows) + 1;
        w->range = (Range){true, range.lo < 0 ? -m : 0, m};
    } else if (type_phys(w->type) == PH_I64) {
        cell->op = AO_SUM_I64_CHECKED;
        cell->out_phys = PH_I64;
    } else {
        cell->op = AO_SUM_I128;
        cell->out_phys = PH_I128;
    }
    return ST_OK;
}

static Status agg_min_max(Lower *l, Pipe *cp, AggWork *w) {
    if (w->in.dict && w->in.dict->n != w->in.dict->n_sorted) { /* its codes are not in order */
        TRY(agg_input_as(l, cp, w, PH_STR));
        w->in = *lower_info(cp, w->reg);
    }
    w->dict = w->in.dict;
    w->cell->op = w->call->kind == AGG_MIN ? AO_MIN : AO_MAX;
    w->cell->out_phys = w->in.phys;
    w->range = w->in_range;
    return ST_OK;
}

static Status agg_variance(Lower *l, Pipe *cp, AggWork *w) {
    AggCell *cell = w->cell;
    cell->arg = w->call->kind;
    if (w->type.id == T_NUMERIC) {
        cell->op = AO_VAR_EXACT;
        cell->in_scale = w->arg->type.id == T_NUMERIC ? w->arg->type.scale : 0;
        cell->out_phys = PH_I128;
        return ST_OK;
    }
    TRY(agg_input_as(l, cp, w, PH_F64));
    cell->op = AO_VAR;
    cell->out_phys = PH_F64;
    return ST_OK;
}

static Status agg_regression(Lower *l, Pipe *cp, AggWork *w) {
    bool count = w->call->kind == AGG_REGR_COUNT;
    TRY(agg_input_as(l, cp, w, PH_F64));
    w->reg2 = lower_as(l, cp, lower_expr(l, cp, w->call->arg2), PH_F64);
    w->cell->op = AO_REGR;
    w->cell->arg = w->call->kind;
    w->cell->out_phys = count ? PH_I64 : PH_F64;
    if (count) w->nullable = false;
    return w->reg2 ? ST_OK : ST_ERROR;
}

/* How the aggregate is computed, and what is known of its result. */
static Status agg_cell(Lower *l, Pipe *cp, AggWork *w) {
    AggCell *cell = w->cell;
    AggKind kind = (AggKind)w->call->kind;
    switch (kind) {
    case AGG_COUNT_STAR:
    case AGG_COUNT:
        cell->op = w->arg && w->in.nullable ? AO_COUNT : AO_COUNT_STAR;
        if (cell->op == AO_COUNT_STAR) w->reg = 0;
        cell->out_phys = PH_I64;
        w->range = (Range){true, 0, w->max_rows < 9e18 ? (int128_t)w->max_rows : INT64_MAX};
        w->nullable = false;
        return ST_OK;
    case AGG_SUM: return agg_sum(l, cp, w);
    case AGG_MIN:
    case AGG_MAX: return agg_min_max(l, cp, w);
    case AGG_ANY:
    case AGG_SINGLE:
        w->dict = w->in.dict;
        cell->op = kind == AGG_ANY ? AO_ANY : AO_SINGLE;
        cell->out_phys = w->in.phys;
        w->range = w->in_range;
        return ST_OK;
    case AGG_BOOL_AND:
    case AGG_BOOL_OR:
        cell->op = kind == AGG_BOOL_AND ? AO_BOOL_AND : AO_BOOL_OR;
        cell->out_phys = PH_BOOL;
        return ST_OK;
    case AGG_BIT_AND:
    case AGG_BIT_OR:
    case AGG_BIT_XOR:
        w->reg = lower_canonical(l, cp, w->reg, w->arg->type);
        if (!w->reg) return ST_ERROR;
        cell->in_phys = cell->out_phys = lower_info(cp, w->reg)->phys;
        cell->op = kind == AGG_BIT_AND ? AO_BIT_AND : kind == AGG_BIT_OR ? AO_BIT_OR : AO_BIT_XOR;
        return ST_OK;
    case AGG_VAR_POP:
    case AGG_VAR_SAMP:
    case AGG_STDDEV_POP:
    case AGG_STDDEV_SAMP: return agg_variance(l, cp, w);
    case AGG_CORR:
    case AGG_COVAR_POP:
    case AGG_COVAR_SAMP:
    case AGG_REGR_AVGX:
    case AGG_REGR_AVGY:
    case AGG_REGR_COUNT:
    case AGG_REGR_INTERCEPT:
    case AGG_REGR_R2:
    case AGG_REGR_SLOPE:
    case AGG_REGR_SXX:
    case AGG_REGR_SXY:
    case AGG_REGR_SYY: return agg_regression(l, cp, w);
    case AGG_STRING_AGG:
        TRY(agg_input_as(l, cp, w, PH_STR));
        w->reg2 = lower_as(l, cp, lower_expr(l, cp, w->call->arg2), PH_STR);
        cell->out_phys = PH_STR;
        cell->op = AO_STRING_AGG;
        return w->reg2 ? ST_OK : ST_ERROR;
    case AGG_CLIENT:
        cell->op = AO_CLIENT;
        cell->func = w->call->func;
        cell->out_phys = type_phys(w->type);
        w->reg = lower_canonical(l, cp, w->reg, w->arg->type);
        if (!w->reg) return ST_ERROR;
        cell->in_phys = lower_info(cp, w->reg)->phys;
        if (!w->call->arg2) return ST_OK;
        w->reg2 = lower_canonical(l, cp, lower_expr(l, cp, w->call->arg2), w->call->arg2->type);
        return w->reg2 ? ST_OK : ST_ERROR;
    default: return err_internal(l->err, "aggregate kind %d reached the lowering", (int)kind);
    }
}

/* One aggregate: its cell in the states, its registers in cp, and its column in np. */
static Status lower_agg_call(Lower *l, const Plan *p, Pipe *cp, Pipe *np, int32_t slot, AggWork *w) {
    const AggCall *a = w->call;
    AggCell *cell = w->cell;
    if (a->distinct) return err_internal(l->err, "DISTINCT aggregate reached the lowering");
    w->type = cell->type = col_type(l, a->out);
    w->range = range_of_type(w->type);
    w->nullable = true;
    TRY(agg_argument(l, cp, w));
    cell->in_phys = w->in.phys;
    cell->in_nullable = w->in.nullable;
    TRY(agg_cell(l, cp, w));
    if (w->reg) {
        const RegInfo *ri = lower_info(cp, w->reg);
        cell->in_nullable = ri->nullable;
        /* these make bytes of their own */
        const bool bits = cell->op == AO_BIT_AND || cell->op == AO_BIT_OR || cell->op == AO_BIT_XOR;
        cell->stable_str =
            ri->stable_str && cell->op != AO_STRING_AGG && cell->op != AO_SUM_DEC && cell->op != AO_CLIENT && !bits;
        if (p->agg.n_keys > 0 && !ri->nullable && a->kind != AGG_VAR_SAMP && a->kind != AGG_STDDEV_SAMP &&
            cell->op != AO_REGR && cell->op != AO_CLIENT)
            w->nullable = false;
    }
    if (w->nullable && w->range.known) {
        w->range.lo = MIN_OF(w->range.lo, 0);
        w->range.hi = MAX_OF(w->range.hi, 0);
    }
    CellSpec c = {.phys = cell->out_phys,
                  .type = w->type,
                  .nullable = w->nullable,
                  .stable_str = cell->stable_str,
                  .dict = w->dict};
    *pipe_col(np, a->out) = pipe_source_entry(p->agg.n_keys + slot, &c, w->type, w->range);
    return ST_OK;
}

Status lower_plain_agg(Lower *l, const Plan *child, const AggCall *call, Pipe *cp, Pipe *np, int32_t column,
                       AggCell *cell, Reg *reg, Reg *reg2) {
    const Plan ungrouped = {.kind = LP_AGG};
    AggWork w = {.call = call, .max_rows = max_rows(l, child), .cell = cell};
    TRY(lower_agg_call(l, &ungrouped, cp, np, column, &w));
    *reg = w.reg;
    *reg2 = w.reg2;
    return ST_OK;
}

static Pipe *lower_agg(Lower *l, Plan *p, const ColSet *needed) {
    ColSet in = agg_reads(l, p, needed);
    Pipe *cp = lower_plan(l, p->children[0], &in);
    if (!cp || lower_scan_ranges_flush(l, cp) != ST_OK) return NULL;
    double bound = max_rows(l, p->children[0]);
    Reg *keys = arena_array(l->arena, Reg, p->agg.n_keys + 1), *regs = arena_array(l->arena, Reg, p->agg.n_calls + 1),
        *regs2 = arena_array(l->arena, Reg, p->agg.n_calls + 1);
    AggSpec spec = {.n_keys = p->agg.n_keys,
                    .keys = arena_array(l->arena, KeySpec, p->agg.n_keys + 1),
                    .aggs = arena_array(l->arena, AggCell, p->agg.n_calls + 1),
                    .est_groups = p->est_rows,
                    .one_group = p->agg.n_keys == 0};
    int32_t id = (int32_t)l->aggs.len;
    Pipe *np = pipe_new(l, SRC_AGG, arena_printf(l->arena, "groups #%d", (int)id));
    if (!keys || !regs || !regs2 || !spec.keys || !spec.aggs || !np) return NULL;
    np->source.id = id;
    np->source.est_rows = p->est_rows;
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        keys[i] = agg_key(l, p, i, cp, np, &spec.keys[i]);
        if (!keys[i]) return NULL;
    }
    bool any2 = false;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (!colset_has(needed, p->agg.calls[i].out)) continue;
        int32_t slot = spec.n_aggs++;
        AggWork w = {.call = &p->agg.calls[i], .max_rows = bound, .cell = &spec.aggs[slot]};
        if (lower_agg_call(l, p, cp, np, slot, &w) != ST_OK) return NULL;
        regs[slot] = w.reg;
        regs2[slot] = w.reg2;
        any2 |= w.reg2 != 0;
    }
    if (!vec_push(l->arena, &l->aggs, spec)) return NULL;
    Sink sink = {.kind = SINK_AGG,
                 .id = id,
                 .n_keys = p->agg.n_keys,
                 .keys = keys,
                 .n_regs = spec.n_aggs,
                 .regs = regs,
                 .regs2 = any2 ? regs2 : NULL,
                 .limit = -1};
    return pipe_seal(l, cp, &sink, arena_printf(l->arena, "aggregate #%d", (int)id)) == ST_OK ? np : NULL;
}

/* ---- sort, limit, set operations, CTEs ---------------------------------------------------------------- */

Reg lower_sort_key(Lower *l, Pipe *cp, Reg r, Type type, KeySpec *key) {
    if (r && lower_info(cp, r)->dict && lower_info(cp, r)->dict->n != lower_info(cp, r)->dict->n_sorted)
        r = lower_as(l, cp, r, PH_STR);
    if (!r) return 0;
    const RegInfo *ri = lower_info(cp, r);
    *key = (KeySpec){.phys = ri->phys,
                     .type = type,
                     .nullable = ri->nullable,
                     .has_range = ri->has_range,
                     .min = ri->min,
                     .max = ri->max,
                     .dict = ri->dict};
    return r;
}

/* Sorts p's child; columns ids in order. canonical: final types for the result. Returns the row store, -1 on error. */
static int32_t lower_sort_store(Lower *l, Plan *p, int32_t n, const ColId *ids, bool canonical, ColEntry *entries) {
    ColSet in = colset_new(l->c);
    for (int32_t i = 0; i < n; i++) colset_add(l->c, &in, ids[i]);
    for (int32_t i = 0; i < p->sort.n; i++) expr_cols(l->c, p->sort.keys[i].expr, &in);
    Pipe *cp = lower_plan(l, p->children[0], &in);
    if (!cp || lower_scan_ranges_flush(l, cp) != ST_OK) return -1;
    SortSpec spec = {.n_keys = p->sort.n,
                     .n_cols = n,
                     .cols = arena_array(l->arena, CellSpec, n + 1),
                     .limit = p->limit.rows,
                     .offset = MAX_OF(p->limit.offset, 0)};
    spec.keys = arena_calloc(l->arena, (int64_t)sizeof(spec.keys[0]) * (p->sort.n + 1));
    Reg *keys = arena_array(l->arena, Reg, p->sort.n + 1), *regs = arena_array(l->arena, Reg, n + 1);
    if (!spec.cols || !spec.keys || !keys || !regs) return -1;
    for (int32_t i = 0; i < p->sort.n; i++) {
        Reg r = lower_expr(l, cp, p->sort.keys[i].expr);
        keys[i] = lower_sort_key(l, cp, r, p->sort.keys[i].expr->type, &spec.keys[i].key);
        if (!keys[i]) return -1;
        spec.keys[i].desc = p->sort.keys[i].desc;
        spec.keys[i].nulls_first = p->sort.keys[i].nulls_first;
    }
    for (int32_t i = 0; i < n; i++) {
        regs[i] = lower_col(l, cp, ids[i]);
        if (canonical && regs[i]) regs[i] = lower_canonical(l, cp, regs[i], col_type(l, ids[i]));
        if (!regs[i]) return -1;
        spec.cols[i] = pipe_cell_spec(cp, regs[i]);
        if (canonical) spec.cols[i].stable_str = false; /* the result outlives the statement's lock on the tables */
        if (entries) entries[i] = pipe_source_entry(i, &spec.cols[i], col_type(l, ids[i]), lower_range(cp, regs[i]));
    }
    int32_t sort = (int32_t)l->sorts.len;
    if (!vec_push(l->arena, &l->sorts, spec)) return -1;
    int32_t store = lower_rows_spec(l, n, spec.cols, -1, 0, true, sort);
    Sink sink = {
        .kind = SINK_SORT, .id = store, .n_keys = p->sort.n, .keys = keys, .n_regs = n, .regs = regs, .limit = -1};
    if (store < 0 ||
        pipe_seal(l, cp, &sink, arena_printf(l->arena, p->limit.rows >= 0 ? "top-n #%d" : "sort #%d", (int)sort)) !=
            ST_OK)
        return -1;
    return store;
}

static Pipe *lower_union(Lower *l, Plan *p, const ColSet *needed) {
    int32_t n = 0;
    int32_t *which = arena_array(l->arena, int32_t, p->n_out + 1);
    ColId *ids = arena_array(l->arena, ColId, p->n_out + 1);
    CellSpec *cells = arena_array(l->arena, CellSpec, p->n_out + 1);
    ColEntry *entries = arena_array(l->arena, ColEntry, p->n_out + 1);
    if (!which || !ids || !cells || !entries) return NULL;
    for (int32_t i = 0; i < p->n_out; i++) {
        if (!colset_has(needed, p->out_cols[i])) continue;
        which[n] = i;
        ids[n] = p->out_cols[i];
        Type t = col_type(l, ids[n]);
        cells[n] = (CellSpec){.phys = (uint8_t)type_phys(t), .type = t, .nullable = true};
        entries[n] = pipe_source_entry(n, &cells[n], t, range_of_type(t));
        n++;
    }
    int32_t store = lower_rows_spec(l, n, cells, -1, 0, !p->unordered, -1);
    if (store < 0) return NULL;
    for (int32_t c = 0; c < p->n_children; c++) {
        ColSet in = colset_new(l->c);
        for (int32_t i = 0; i < n; i++) colset_add(l->c, &in, p->set.cols[c][which[i]]);
        Pipe *cp = lower_plan(l, p->children[c], &in);
        Reg *regs = arena_array(l->arena, Reg, n + 1);
        if (!cp || !regs || lower_scan_ranges_flush(l, cp) != ST_OK) return NULL;
        for (int32_t i = 0; i < n; i++) {
            regs[i] = lower_canonical(l, cp, lower_col(l, cp, p->set.cols[c][which[i]]), cells[i].type);
            if (!regs[i]) return NULL;
        }
        if (sink_rows(l, cp, store, n, regs, -1) != ST_OK) return NULL;
    }
    return rows_pipe(l, store, n, ids, entries);
}

/* Appends a row store to another of the same columns. */
static Status copy_rows(Lower *l, int32_t from, int32_t to, int32_t n, const ColId *ids, const ColEntry *entries) {
    Pipe *p = rows_pipe(l, from, n, ids, entries);
    Reg *regs = arena_array(l->arena, Reg, n + 1);
    if (!p || !regs) return ST_ERROR;
    for (int32_t i = 0; i < n; i++)
        if (!(regs[i] = lower_col(l, p, ids[i]))) return ST_ERROR;
    return sink_rows(l, p, to, n, regs, -1);
}

static Status recursive_term(Lower *l, Plan *p, int32_t term, int32_t store, const CellSpec *cells) {
    ColSet in = colset_new(l->c);
    for (int32_t i = 0; i < p->n_out; i++) colset_add(l->c, &in, p->set.cols[term][i]);
    Pipe *cp = lower_plan(l, p->children[term], &in);
    Reg *regs = arena_array(l->arena, Reg, p->n_out + 1);
    if (!cp || !regs || lower_scan_ranges_flush(l, cp) != ST_OK) return ST_ERROR;
    for (int32_t i = 0; i < p->n_out; i++)
        if (!(regs[i] = lower_canonical(l, cp, lower_col(l, cp, p->set.cols[term][i]), cells[i].type))) return ST_ERROR;
    return sink_rows(l, cp, store, p->n_out, regs, -1);
}

/* Groups by all columns. */
static AggSpec *distinct_rows(Lower *l, int32_t n, const CellSpec *cells) {
    AggSpec *a = arena_new_of(l->arena, AggSpec);
    if (!a || !(a->keys = arena_array(l->arena, KeySpec, n + 1))) return NULL;
    a->n_keys = n;
    a->hashed = true;
    for (int32_t i = 0; i < n; i++) a->keys[i] = (KeySpec){.phys = cells[i].phys, .nullable = cells[i].nullable};
    return a;
}

static Pipe *lower_recursive(Lower *l, Plan *p) {
    bool streamed = l->streamed == p;
    int32_t n = p->n_out;
    CellSpec *cells = arena_array(l->arena, CellSpec, n + 1);
    ColEntry *entries = arena_array(l->arena, ColEntry, n + 1);
    if (!cells || !entries) return NULL;
    for (int32_t i = 0; i < n; i++) {
        Type t = col_type(l, p->out_cols[i]);
        cells[i] = (CellSpec){.phys = (uint8_t)type_phys(t), .type = t, .nullable = true};
        entries[i] = pipe_source_entry(i, &cells[i], t, range_of_type(t));
    }
    LoopSpec loop = {.work = lower_rows_spec(l, n, cells, -1, 0, true, -1),
                     .next = lower_rows_spec(l, n, cells, -1, 0, true, -1),
                     .result = streamed ? -1 : lower_rows_spec(l, n, cells, -1, 0, true, -1),
                     .limit = -1};
    if (loop.work < 0 || loop.next < 0 || (loop.result < 0 && !streamed) ||
        recursive_term(l, p, 0, loop.work, cells) != ST_OK)
        return NULL;
    loop.first = (int32_t)l->segments.len;
    CteInfo work = {.id = p->cte.id, .rows = loop.work, .entries = entries, .cols = p->out_cols, .n_cols = n};
    if (p->set.op == SO_RECURSIVE && !(loop.distinct = distinct_rows(l, n, cells))) return NULL;
    if (!vec_push(l->arena, &l->ctes, work) ||
        (!streamed && copy_rows(l, loop.work, loop.result, n, p->out_cols, entries) != ST_OK))
        return NULL;
    loop.step = (int32_t)l->segments.len;
    if (recursive_term(l, p, 1, loop.next, cells) != ST_OK) return NULL;
    loop.end = (int32_t)l->segments.len;
    l->stream_loop = l->loops.len;
    if (!vec_push(l->arena, &l->loops, loop)) return NULL;
    return rows_pipe(l, streamed ? loop.work : loop.result, n, p->out_cols, entries);
}

/* The recursive query that p's rows come from one by one: nothing between but projections, filters and joins that are
 * probed with them; the other side becomes the build side. NULL: there is none. */
static const Plan *streamed_source(Plan *p) {
    if (stack_stop()) return NULL;
    if (p->kind == LP_SETOP) return p->cte.id ? p : NULL;
    if (p->kind == LP_PROJECT || p->kind == LP_FILTER) return streamed_source(p->children[0]);
    if (p->kind != LP_JOIN || p->join.kind == JN_FULL) return NULL;
    const Plan *left = p->join.kind != JN_RIGHT ? streamed_source(p->children[0]) : NULL;
    const Plan *right =
        !left && (p->join.kind == JN_RIGHT || p->join.kind == JN_INNER) ? streamed_source(p->children[1]) : NULL;
    if (left || right) p->join.build_left = right != NULL;
    return left ? left : right;
}

/* The segments behind the loop's, which end in the store of a LIMIT, become the first of each round. */
static Status stream_rows(Lower *l, int32_t store, int64_t limit) {
    LoopSpec loop = l->loops.items[l->stream_loop];
    SegmentPlan *s = l->segments.items;
    int32_t steps = loop.end - loop.step, more = (int32_t)l->segments.len - loop.end;
    SegmentPlan *step = arena_array(l->arena, SegmentPlan, steps + 1);
    if (!step) return ST_ERROR;
    memcpy(step, s + loop.step, (size_t)steps * sizeof *step);
    memmove(s + loop.step, s + loop.end, (size_t)more * sizeof *s);
    memcpy(s + loop.step + more, step, (size_t)steps * sizeof *step);
    for (int64_t i = 0; i < l->loops.len; i++) {
        LoopSpec *x = &l->loops.items[i];
        if (i == l->stream_loop || x->first < loop.step) continue;
        int32_t by = x->first < loop.end ? more : -steps;
        x->first += by;
        x->step += by;
        x->end += by;
    }
    loop.step += more;
    loop.end += more;
    loop.result = store;
    loop.limit = limit;
    for (int64_t i = l->stream_loop; i + 1 < l->loops.len; i++) l->loops.items[i] = l->loops.items[i + 1];
    l->loops.items[l->loops.len - 1] = loop; /* behind those in it */
    return ST_OK;
}

static Pipe *lower_limit(Lower *l, Plan *p, const ColSet *needed) {
    const Plan *outer = l->streamed;
    int64_t offset = MAX_OF(p->limit.offset, 0), most = 0;
    bool bounded = p->limit.rows >= 0 && !__builtin_add_overflow(p->limit.rows, offset, &most);
    l->streamed = bounded ? streamed_source(p->children[0]) : NULL;
    const Plan *streamed = l->streamed;
    Pipe *cp = lower_plan(l, p->children[0], needed);
    int64_t loop = l->stream_loop;
    l->streamed = outer;
    if (!cp || lower_scan_ranges_flush(l, cp) != ST_OK) return NULL;
    int32_t n = 0;
    ColId *ids = lower_needed_of(l, p, needed, &n);
    Pipe *out = ids ? materialise(l, cp, n, ids, p->limit.rows, offset, true) : NULL;
    if (!out || !streamed) return out;
    l->stream_loop = loop;
    return stream_rows(l, out->source.id, most) == ST_OK ? out : NULL;
}

static Pipe *lower_cte(Lower *l, Plan *p, const ColSet *needed) {
    int32_t n = 0;
    ColSet used = p->cte.id < l->cte_needed.len ? l->cte_needed.items[p->cte.id] : colset_new(l->c);
    Pipe *cp = lower_plan(l, p->children[0], &used);
    if (!cp || lower_scan_ranges_flush(l, cp) != ST_OK) return NULL;
    ColId *ids = lower_needed_of(l, p->children[0], &used, &n);
    Reg *regs = arena_array(l->arena, Reg, n + 1);
    CellSpec *cells = arena_array(l->arena, CellSpec, n + 1);
    CteInfo info = {.id = p->cte.id, .entries = arena_array(l->arena, ColEntry, n + 1), .cols = ids, .n_cols = n};
    if (!ids || !regs || !cells || !info.entries) return NULL;
    for (int32_t i = 0; i < n; i++) {
        regs[i] = lower_col(l, cp, ids[i]);
        if (!regs[i]) return NULL;
        cells[i] = pipe_cell_spec(cp, regs[i]);
        info.entries[i] = pipe_source_entry(i, &cells[i], col_type(l, ids[i]), lower_range(cp, regs[i]));
    }
    info.rows = lower_rows_spec(l, n, cells, -1, 0, !p->unordered, -1);
    if (info.rows < 0 || sink_rows(l, cp, info.rows, n, regs, -1) != ST_OK) return NULL;
    if (!vec_push(l->arena, &l->ctes, info)) return NULL;
    return lower_plan(l, p->children[1], needed);
}

static Pipe *lower_cte_scan(Lower *l, Plan *p) {
    for (int64_t i = l->ctes.len - 1; i >= 0; i--) {
        const CteInfo *c = &l->ctes.items[i];
        if (c->id != p->cte.id) continue;
        Pipe *np = pipe_new(l, SRC_ROWS, arena_printf(l->arena, "CTE rows #%d", (int)c->rows));
        if (!np) return NULL;
        np->source.id = c->rows;
        np->source.est_rows = p->est_rows;
        for (int32_t k = 0; k < p->n_out; k++)
            for (int32_t j = 0; j < c->n_cols; j++)
                if (c->cols[j] == p->cte.cols[k]) *pipe_col(np, p->out_cols[k]) = c->entries[j];
        return np;
    }
    return err_internal(l->err, "CTE %lld is not materialised", (long long)p->cte.id), NULL;
}

Pipe *lower_plan(Lower *l, Plan *p, const ColSet *needed) {
    if (stack_check(l->err) != ST_OK) return NULL;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: return lower_scan(l, p);
    case LP_VALUES: return lower_values(l, p, needed);
    case LP_SERIES: return lower_series(l, p);
    case LP_STREAM: return lower_stream(l, p);
    case LP_FILTER: {
        ColSet in = needed_with(l, needed, p->conds, p->n_conds);
        Pipe *cp = lower_plan(l, p->children[0], &in);
        for (int32_t i = 0; cp && i < p->n_conds; i++)
            if (lower_filter(l, cp, p->conds[i]) != ST_OK) return NULL;
        return cp && lower_scan_ranges_flush(l, cp) == ST_OK ? cp : NULL;
    }
    case LP_PROJECT: {
        ColSet in = colset_new(l->c);
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(needed, p->out_cols[i]) || expr_is_volatile(p->exprs[i])) expr_cols(l->c, p->exprs[i], &in);
        Pipe *cp = lower_plan(l, p->children[0], &in);
        if (!cp) return NULL;
        for (int32_t i = 0; i < p->n_out; i++) {
            ColId id = p->out_cols[i];
            Expr *e = p->exprs[i];
            if (!colset_has(needed, id) || (e->kind == EX_COL && e->u.col == id)) continue;
            if (e->kind == EX_COL) {
                *pipe_col(cp, id) = *pipe_col(cp, e->u.col);
                if (!pipe_col(cp, id)->reg) { /* load once, under the original's entry */
                    *pipe_col(cp, id) =
                        (ColEntry){.where = CW_EXPR, .expr = e, .type = e->type, .dict = pipe_col(cp, e->u.col)->dict};
                }
            } else {
                *pipe_col(cp, id) = (ColEntry){.where = CW_EXPR, .expr = e, .type = e->type};
            }
            if (computed_there(l, e) && !lower_col(l, cp, id)) return NULL;
        }
        return cp;
    }
    case LP_JOIN: return lower_join(l, p, needed);
    case LP_AGG: return lower_agg(l, p, needed);
    case LP_WINDOW: return lower_window(l, p, needed);
    case LP_SORT: {
        int32_t n = 0;
        ColId *ids = lower_needed_of(l, p, needed, &n);
        ColEntry *entries = arena_array(l->arena, ColEntry, n + 1);
        if (!ids || !entries) return NULL;
        int32_t store = lower_sort_store(l, p, n, ids, false, entries);
        return store < 0 ? NULL : rows_pipe(l, store, n, ids, entries);
    }
    case LP_LIMIT: return lower_limit(l, p, needed);
    case LP_SETOP:
        if (p->set.op == SO_RECURSIVE_ALL || p->set.op == SO_RECURSIVE) return lower_recursive(l, p);
        if (p->set.op != SO_UNION_ALL)
            return err_internal(l->err, "set operation %d reached the lowering", (int)p->set.op), NULL;
        return lower_union(l, p, needed);
    case LP_CTE: return lower_cte(l, p, needed);
    case LP_CTE_SCAN: return lower_cte_scan(l, p);
    case LP_REPEAT: {
        ColSet in = colset_new(l->c);
        colset_add_all(l->c, &in, needed);
        colset_add(l->c, &in, p->count_col);
        Pipe *cp = lower_plan(l, p->children[0], &in);
        if (!cp || lower_scan_ranges_flush(l, cp) != ST_OK) return NULL;
        Reg r = lower_as(l, cp, lower_col(l, cp, p->count_col), PH_I64);
        if (!r) return NULL;
        if (!p->n_out) return builder_emit(&cp->b, OP_REPEAT, PH_I64, 0, r, 0, 0) ? cp : NULL;
        Range range = {true, 0, p->repeats ? p->repeats - 1 : INT64_MAX};
        Type t = type_make(T_INT8);
        Reg d = lower_reg(l, cp, PH_I64, t, false, range);
        if (!d || !builder_emit(&cp->b, OP_REPEAT, PH_I64, d, r, 0, 0)) return NULL;
        *pipe_col(cp, p->out_cols[0]) = (ColEntry){.where = CW_REG, .reg = d, .type = t, .range = range};
        return cp;
    }
    }
    return err_internal(l->err, "plan kind %d", (int)p->kind), NULL;
}

QueryPlan *sql_lower(PlanCtx *c, Plan *plan, int32_t n_result, const ColId *result) {
    Lower lower = {.c = c, .arena = c->arena, .err = c->err}, *l = &lower;
    l->set_cols = colset_new(l->c);
    if (collect_aliases(l, plan) != ST_OK) return NULL;
    ColSet needed = colset_new(c);
    for (int32_t i = 0; i < n_result; i++) colset_add(c, &needed, result[i]);
    int32_t store = -1;
    if (plan->kind == LP_SORT && plan->limit.rows < 0) { /* the sorted rows are the result */
        store = lower_sort_store(l, plan, n_result, result, true, NULL);
        if (store < 0) return NULL;
    } else {
        Pipe *p = lower_plan(l, plan, &needed);
        Reg *regs = arena_array(c->arena, Reg, n_result + 1);
        CellSpec *cells = arena_array(c->arena, CellSpec, n_result + 1);
        if (!p || !regs || !cells || lower_scan_ranges_flush(l, p) != ST_OK) return NULL;
        for (int32_t i = 0; i < n_result; i++) {
            regs[i] = lower_canonical(l, p, lower_col(l, p, result[i]), c->cols.items[result[i]].type);
            if (!regs[i]) return NULL;
            cells[i] = pipe_cell_spec(p, regs[i]);
            cells[i].stable_str = false; /* the result outlives the statement's lock on the tables */
        }
        store = lower_rows_spec(l, n_result, cells, -1, 0, true, -1);
        if (store < 0 || sink_rows(l, p, store, n_result, regs, -1) != ST_OK) return NULL;
    }
    /* walks that return no Status may have been cut short */
    QueryPlan *q = stack_check(c->err) == ST_OK && !err_is_set(c->err) ? arena_new_of(c->arena, QueryPlan) : NULL;
    if (!q) return NULL;
    bool named = false; /* names of objects are looked up by the statement's own thread */
    for (int64_t i = 0; i < c->cols.len; i++) named |= oid_has_name(c->cols.items[i].type);
    *q = (QueryPlan){.serial = c->calls_routine || c->one_thread || named,
                     .row_by_row = c->sets_settings || c->sequences.in_order,
                     .n_loops = (int32_t)l->loops.len,
                     .loops = l->loops.items,
                     .n_segments = (int32_t)l->segments.len,
                     .segments = l->segments.items,
                     .n_joins = (int32_t)l->joins.len,
                     .joins = l->joins.items,
                     .n_aggs = (int32_t)l->aggs.len,
                     .aggs = l->aggs.items,
                     .n_sorts = (int32_t)l->sorts.len,
                     .sorts = l->sorts.items,
                     .n_windows = (int32_t)l->windows.len,
                     .windows = l->windows.items,
                     .n_rows = (int32_t)l->rows.len,
                     .rows = l->rows.items,
                     .result = store};
    return q;
}
