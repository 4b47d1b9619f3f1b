/* fill.c - the rows of a query into a table without rows: CREATE TABLE AS, REFRESH, ALTER TABLE.
 *
 * A table that is new, or whose rows go, needs the database lock when it has the new rows, not while these are computed
 * and encoded: where others are connected, that is done beside the tables (core/ahead.h).
 */
#include "session/ddl/utility_int.h"
#include "session/core/ahead.h"
#include "session/core/row_fill.h"

enum { PIECE_BYTES = 8 << 20 };

/* The load is the caller's to finish and to free. */
static Status fill_load(Session *s, Table *t, RunOutput *r, Arena *a, TableLoad **load) {
    RowFill f;
    TRY(row_fill_begin(s, t, a, true, &f));
    *load = f.load;
    const RowSink sink = {row_fill_vectors, &f};
    if (!r->rows) query_set_sink(r->query, &sink);
    Status st = r->rows ? row_fill_store(&f, r->rows) : ST_OK;
    while (st == ST_OK && r->more) {
        st = session_next_piece(s, PIECE_BYTES, r);
        row_fill_next(&f);
        if (st == ST_OK) st = row_fill_store(&f, r->rows);
    }
    return st;
}
Status fill_table(Session *s, Table *t, RunOutput *r, Arena *a, int64_t *count) {
    TableLoad *load = NULL;
    Status st = fill_load(s, t, r, a, &load);
    if (st == ST_OK) st = load_finish(load, s->db->pool, s->undo, count, &s->err);
    load_cancel(load);
    return st;
}

static Status bind_and_load(Session *s, Statement *st, const FillQuery *q, Ahead *a, RunOutput *r, TableLoad **load) {
    Arena *arena = st->run_arena;
    PlanCtx c;
    BoundStmt *b;
    Table *t;
    const Status bound = q->bind(q->ctx, &c, &b, &t);
    TRY(ahead_bound(s, a, arena));
    TRY(bound);
    TRY(session_begin_pieces(s, &c, b, b->n_result, b->result, &st->account, r));
    return fill_load(s, t, r, arena, load);
}
Status fill_ahead(Session *s, Statement *st, const FillQuery *q, const Table *target, AheadTries *tries,
                  TableLoad **load, bool *again) {
    Ahead a;
    RunOutput r = {0};
    *load = NULL;
    *again = false;
    if (!ahead_begin(s, target, tries, &a)) return ST_OK;
    Status out = bind_and_load(s, st, q, &a, &r, load);
    if (out == ST_OK) out = ahead_end(s, &a, again);
    query_free(r.query);
    if (out == ST_OK && !*again) return ST_OK;
    load_cancel(*load);
    *load = NULL;
    if (out != ST_OK) ahead_fail(s);
    return out;
}
