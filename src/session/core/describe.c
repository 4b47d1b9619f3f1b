/* describe.c - DESCRIBE and SUMMARIZE of a query, a table or a file: its columns, and a summary of each.
 *
 * A summary is one query with aggregates of all columns, whose single row becomes a row per column.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "session/core/session.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* The file that the column comes from as it is, and its number there; NULL: from none. */
static const RowStream *stream_of(const Plan *p, ColId id, int32_t *col) {
    if (stack_stop()) return NULL;
    for (int32_t i = 0; p->kind == LP_STREAM && i < p->n_out; i++)
        if (p->out_cols[i] == id) {
            *col = p->stream_cols[i];
            return p->stream;
        }
    const RowStream *found = NULL;
    for (int32_t i = 0; i < p->n_children && !found; i++) found = stream_of(p->children[i], id, col);
    return found;
}

/* How a file is read, once for each. */
static void tell_streams(Session *s, const Plan *p) {
    if (stack_stop()) return;
    for (int32_t i = 0; p->kind == LP_STREAM && p->stream->more && p->stream->more[i]; i++)
        session_notice_text(s, "INFO", "00000", "%s: %s", p->stream->label, p->stream->more[i]);
    for (int32_t i = 0; i < p->n_children; i++) tell_streams(s, p->children[i]);
}

/* The table that is described, where it is one. */
static const Table *table_of(const Session *s, const AstDescribe *x) {
    const AstSelect *q = AST_AS_CONST(AstSelect, x->query);
    if (x->is_query || q->n_from != 1 || q->from[0]->kind != AST_FROM_TABLE) return NULL;
    const AstFromTable *f = AST_AS_CONST(AstFromTable, q->from[0]);
    return f->file ? NULL : catalog_table(session_catalog(s), slice_of(f->name.name));
}

static bool is_not_null(const Table *t, const char *name) {
    int c = t ? table_find_column(t, slice_of(name)) : -1;
    return c >= 0 && t->cols[c].not_null;
}

static Status bind_query(Session *s, Arena *a, const AstDescribe *x, PlanCtx *c, BoundStmt **b) {
    TRY(session_read(s, false));
    plan_ctx_init_client(s, a, c);
    TRY(sql_bind(c, x->query, 0, NULL, b));
    if ((*b)->n_params > 0)
        return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "DESCRIBE and SUMMARIZE take no parameters");
    return c->calls_routine || c->n_bulks > 0 ? session_read_locked(s) : ST_OK;
}

static Status describe(Session *s, Statement *st, const AstDescribe *x) {
    static const char *const heads[] = {"column_name", "column_type", "null", "read_as"};
    Arena *a = st->run_arena;
    PlanCtx c;
    BoundStmt *b;
    TRY(bind_query(s, a, x, &c, &b));
    const Table *t = table_of(s, x);
    TRY(statement_text_columns(st, c.reads_stream ? 4 : 3, heads));
    tell_streams(s, b->plan);
    for (int32_t i = 0; i < b->n_result; i++) {
        char type[TYPE_NAME_MAX];
        int32_t col = 0;
        const RowStream *f = stream_of(b->plan, b->result[i], &col);
        const char *const cells[] = {b->names[i], type_name(c.cols.items[b->result[i]].type, &type),
                                     is_not_null(t, b->names[i]) ? "NO" : "YES", f && f->notes ? f->notes[col] : NULL};
        TRY(statement_text_row(st, cells));
    }
    return ST_OK;
}

/* ---- SUMMARIZE --------------------------------------------------------------------------------------------------- */

typedef struct Measure {
    const char *head, *sql; /* %s is the column */
    bool numbers;           /* of numbers only */
    const char *of_bits;    /* instead of sql, of bit strings, whose min and max have other names */
} Measure;
static const Measure measures[] = {{"min", "min(%s)", false, "min_bytes(%s)"},
                                   {"max", "max(%s)", false, "max_bytes(%s)"},
                                   {"distinct", "count(distinct %s)", false, NULL},
                                   {"avg", "avg(%s)", true, NULL},
                                   {"std", "stddev(%s)", true, NULL},
                                   {"count", "count(%s)", false, NULL}};
enum { MEASURES = sizeof measures / sizeof *measures, HEADS = MEASURES + 3 };

/* select count(*), min("a")::text, ... from (query) s */
static void put(BytesOut *o, const char *s) { bytes_put(o, s, (int64_t)strlen(s)); }
static char *summary_sql(Session *s, Arena *a, const AstDescribe *x, const PlanCtx *c, const BoundStmt *b) {
    BytesOut o = {.acct = &s->account, .e = &s->err};
    char col[16], call[48];
    put(&o, "select count(*)");
    for (int32_t i = 0; i < b->n_result; i++)
        for (int m = 0; m < MEASURES; m++) {
            const Type t = c->cols.items[b->result[i]].type;
            const bool fits = !measures[m].numbers || type_is_number(t);
            snprintf(col, sizeof col, "c%d", (int)i);
            snprintf(call, sizeof call, type_is_bits(t) && measures[m].of_bits ? measures[m].of_bits : measures[m].sql,
                     col);
            put(&o, ", cast(");
            put(&o, fits ? call : "null");
            put(&o, " as text)");
        }
    put(&o, x->is_query ? " from (" : " from (select * from ");
    bytes_put(&o, x->query_source.ptr, x->query_source.len);
    put(&o, "\n) s(");
    for (int32_t i = 0; i < b->n_result; i++) {
        snprintf(col, sizeof col, "%sc%d", i ? ", " : "", (int)i);
        put(&o, col);
    }
    put(&o, ")");
    char *sql = o.failed ? NULL : arena_strndup(a, o.p, o.len);
    bytes_out_release(&o);
    return sql;
}

static Status cell_of(Session *s, Arena *a, const RunOutput *r, int32_t col, const char **out) {
    const void *cell;
    bool is_null;
    TRY(rows_cell(r->rows, 0, col, &cell, &is_null, &s->err));
    const Str *v = cell;
    *out = is_null ? NULL : arena_strndup(a, v->ptr, v->len);
    return is_null || *out ? ST_OK : ST_ERROR;
}

static Status summary_rows(Session *s, Statement *st, const PlanCtx *c, const BoundStmt *b, const RunOutput *r) {
    Arena *a = st->run_arena;
    const void *cell;
    bool is_null;
    TRY(rows_cell(r->rows, 0, 0, &cell, &is_null, &s->err));
    int64_t rows = *(const int64_t *)cell;
    for (int32_t i = 0; i < b->n_result; i++) {
        char type[TYPE_NAME_MAX], nulls[32];
        const char *cells[HEADS] = {b->names[i], type_name(c->cols.items[b->result[i]].type, &type)};
        for (int m = 0; m < MEASURES; m++) TRY(cell_of(s, a, r, 1 + i * MEASURES + m, &cells[2 + m]));
        int64_t n = strtoll(cells[1 + MEASURES], NULL, 10);
        snprintf(nulls, sizeof nulls, "%.2f", rows ? 100.0 * (double)(rows - n) / (double)rows : 0.0);
        cells[2 + MEASURES] = nulls;
        TRY(statement_text_row(st, cells));
    }
    return ST_OK;
}

static Status summarize(Session *s, Statement *st, const AstDescribe *x) {
    Arena *a = st->run_arena;
    PlanCtx c, sum;
    BoundStmt *b, *bound;
    TRY(bind_query(s, a, x, &c, &b));
    char *sql = summary_sql(s, a, x, &c, b);
    AstStmt **list;
    int64_t n;
    if (!sql) return ST_ERROR;
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    plan_ctx_init_client(s, a, &sum);
    TRY(sql_bind(&sum, list[0], 0, NULL, &bound));
    RunOutput r;
    TRY(session_run_plan(s, &sum, bound, bound->n_result, bound->result, &st->account, &r));
    const char *heads[HEADS] = {"column_name", "column_type"};
    for (int m = 0; m < MEASURES; m++) heads[2 + m] = measures[m].head;
    heads[2 + MEASURES] = "null_percent";
    Status out = statement_text_columns(st, HEADS, heads);
    if (out == ST_OK) out = summary_rows(s, st, &c, b, &r);
    query_free(r.query);
    return out;
}

Status session_describe(Session *s, Statement *st, const AstDescribe *x) {
    snprintf(st->tag, sizeof st->tag, x->summarize ? "SUMMARIZE" : "DESCRIBE");
    if (x->query->kind != AST_SELECT)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "%s of this statement is not supported",
                      st->tag);
    return x->summarize ? summarize(s, st, x) : describe(s, st, x);
}
