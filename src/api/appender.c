/* appender.c - rows for a table, collected as cells and inserted by INSERT .. SELECT. Contracts are in stele.h.
 *
 * The rows are client rows (sql/plan/client_rows.h) with the types of the table's columns, so that constraints,
 * defaults, foreign keys and transactions are INSERT's own, and many rows go in by the bulk load (session/core/dml.c).
 * A column that has had a DEFAULT gets a second one, of booleans that say where: the SELECT has a CASE then, which
 * evaluates the expression for these rows.
 */
#include <stdio.h>

#include "api/api_int.h"
#include "io/arrow.h"
#include "api/value_int.h"
#include "session/pl/pl_eval.h"
#include "sql/bind/bind.h"
#include "sql/plan/client_rows.h"

enum { FLUSH_ROWS = 1 << 20, FLUSH_BYTES = 128 << 20, FIRST_ROOM = 1024 };

typedef struct AppendColumn {
    const char *name, *default_sql; /* NULL: none */
    Type type;
    int32_t size;  /* of a cell */
    int32_t flags; /* its column of flags; -1: none */
} AppendColumn;

struct stele_appender {
    stele_conn *conn;
    Arena *arena; /* names */
    const char *table;
    int32_t n, at; /* columns; the next one of the row that has been begun */
    AppendColumn *cols;
    ClientRows *rows; /* n columns, then flags; NULL: after an error, none yet */
    int64_t room;     /* rows that all of them have room for */
    int64_t flushed, dropped;
    int64_t number; /* in the name of the rows */
};

/* ---- making ------------------------------------------------------------------------------------ */

static Status add_column(stele_appender *x, const Table *t, int col, Err *e) {
    AppendColumn *c = &x->cols[x->n];
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->cols[i].name, t->cols[col].name) == 0)
            return err_set(e, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", t->cols[col].name);
    *c = (AppendColumn){.type = t->cols[col].type, .flags = -1};
    c->size = (int32_t)phys_size(type_phys(c->type));
    const char *def = sql_column_default(session_catalog(x->conn->s), &t->cols[col]);
    if (!(c->name = arena_strdup(x->arena, t->cols[col].name))) return ST_ERROR;
    if (def && !(c->default_sql = arena_strdup(x->arena, def))) return ST_ERROR;
    x->n++;
    return ST_OK;
}

static Status find_columns(stele_appender *x, const char *named, int64_t n, const char *const *columns, Err *e) {
    const Catalog *k = session_catalog(x->conn->s);
    const char *table = api_key(x->conn->s, x->arena, named);
    if (!table) return ST_ERROR;
    const Table *t = catalog_table(k, slice_of(table));
    if (t && catalog_matview(k, slice_of(table)))
        return err_set(e, ERR_WRONG_OBJECT_TYPE, "cannot change materialized view \"%s\"", table);
    if (!t && catalog_view(k, slice_of(table)))
        return err_set(e, ERR_WRONG_OBJECT_TYPE, "cannot append to view \"%s\"", table);
    if (!t) return err_set(e, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", table);
    int64_t most = n > 0 ? n : t->n_cols; /* generated ones are left out, where none are named */
    if (most > t->n_cols) return err_set(e, ERR_SYNTAX, "the appender has more columns than relation \"%s\"", table);
    x->table = arena_strdup(x->arena, table);
    x->cols = arena_array(x->arena, AppendColumn, most + 1);
    if (!x->table || !x->cols) return ST_ERROR;
    for (int64_t i = 0; i < most; i++) {
        if (n <= 0 && t->cols[i].kind == COLUMN_GENERATED) continue;
        int col = n > 0 ? table_find_column(t, slice_of(columns[i])) : (int)i;
        if (col < 0)
            return err_set(e, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", columns[i],
                           table);
        TRY(add_column(x, t, col, e));
    }
    return ST_OK;
}

/* Rows to be filled, with a place in the session's list of names while they are inserted only. */
static Status rows_begin(stele_appender *x, Err *e) {
    char name[64];
    snprintf(name, sizeof name, "rows of appender %p.%lld", (void *)x, (long long)x->number++);
    TRY(client_rows_new(&x->conn->s->account, name, &x->rows, e));
    ClientRows *r = x->rows;
    x->room = 0;
    x->at = 0;
    if (!(r->cols = arena_array(r->arena, ClientColumn, 2 * x->n + 1))) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int32_t i = 0; i < x->n; i++) {
        char column[32];
        snprintf(column, sizeof column, "c%d", (int)i);
        r->cols[i].type = x->cols[i].type;
        if (!(r->cols[i].name = arena_strdup(r->arena, column))) return err_is_set(e) ? ST_ERROR : err_oom(e);
        x->cols[i].flags = -1;
    }
    r->n_cols = x->n;
    return ST_OK;
}

static void rows_drop(stele_appender *x) {
    client_rows_unref(x->rows);
    x->rows = NULL;
}

stele_status stele_appender_new(stele_conn *c, const char *table, int64_t n, const char *const *columns,
                                stele_appender **out) {
    Session *s = c->s;
    *out = NULL;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    stele_appender *x = mem_calloc(&s->account, (int64_t)sizeof *x, &s->err);
    Status r = ST_ERROR;
    if (x) {
        x->conn = c;
        x->arena = arena_new(&s->account, &s->err);
        if (x->arena) r = find_columns(x, table, n, columns, &s->err);
    }
    api_look_end(s, r);
    if (r == ST_OK) {
        *out = x;
        return STELE_OK;
    }
    stele_appender_free(x);
    return STELE_ERROR;
}

void stele_appender_free(stele_appender *x) {
    if (!x) return;
    rows_drop(x);
    arena_free(x->arena);
    mem_free(&x->conn->s->account, x, (int64_t)sizeof *x);
}

/* ---- values ------------------------------------------------------------------------------------ */

static int64_t row_number(const stele_appender *x) { return x->flushed + x->dropped + (x->rows ? x->rows->n : 0) + 1; }

static stele_status failed(const stele_appender *x) {
    Err *e = &x->conn->s->err;
    if (!err_is_set(e)) err_oom(e);
    if (x->at < x->n)
        err_context(e, "row %lld of appender for %s, column \"%s\"", (long long)row_number(x), x->table,
                    x->cols[x->at].name);
    else err_context(e, "row %lld of appender for %s", (long long)row_number(x), x->table);
    return STELE_ERROR;
}

/* Room for one more row. */
static Status reserve(stele_appender *x, Err *e) {
    if (!x->rows && rows_begin(x, e) != ST_OK) {
        rows_drop(x);
        return ST_ERROR;
    }
    if (x->rows->n < x->room) return ST_OK;
    int64_t more = MAX_OF(x->rows->n, (int64_t)FIRST_ROOM);
    TRY(client_rows_reserve(x->rows, more, e));
    x->room = x->rows->n + more;
    return ST_OK;
}

/* The place of the next value; NULL with an error. */
static ClientColumn *next(stele_appender *x) {
    Err *e = &x->conn->s->err;
    if (err_is_set(e)) err_clear(e); /* an Err is large */
    if (x->at >= x->n) {
        err_set(e, ERR_TOO_MANY_COLUMNS, "the row has %d values already", (int)x->n);
        return NULL;
    }
    if (reserve(x, e) != ST_OK) return NULL;
    return &x->rows->cols[x->at];
}

static void set_flag(stele_appender *x, bool on) {
    int32_t f = x->cols[x->at].flags;
    if (f < 0) return;
    x->rows->cols[f].cells[x->rows->n] = on;
    x->rows->cols[f].valid[x->rows->n] = 1;
}

static stele_status put_null(stele_appender *x, ClientColumn *c) {
    int64_t size = phys_size(type_phys(c->type)), row = x->rows->n;
    memset(c->cells + row * size, 0, (size_t)size);
    if (type_phys(c->type) == PH_STR) ((Str *)(void *)c->cells)[row] = str_make("", 0);
    c->valid[row] = 0;
    c->nulls = true;
    set_flag(x, false);
    x->at++;
    return STELE_OK;
}

static stele_status put(stele_appender *x, ClientColumn *c, const Value *v) {
    if (v->is_null) return put_null(x, c);
    int64_t row = x->rows->n;
    switch (x->cols[x->at].size) { /* of fixed sizes, so that a copy is a move */
    case 4: memcpy(c->cells + row * 4, &v->u, 4); break;
    case 8: memcpy(c->cells + row * 8, &v->u, 8); break;
    case 16: memcpy(c->cells + row * 16, &v->u, 16); break;
    default: memcpy(c->cells + row * x->cols[x->at].size, &v->u, (size_t)x->cols[x->at].size);
    }
    c->valid[row] = 1;
    set_flag(x, false);
    x->at++;
    return STELE_OK;
}

/* A value of another type, whose bytes may be the caller's. */
static stele_status put_as(stele_appender *x, ClientColumn *c, Value v) {
    Session *s = x->conn->s;
    EvalCtx e = {.arena = x->rows->arena, .err = &s->err, .session = &s->info};
    Value out;
    if (!v.is_null && type_phys(v.type) == PH_STR) {
        char *copy = arena_strndup(e.arena, v.u.str.ptr, v.u.str.len);
        if (!copy) return failed(x);
        v.u.str = str_make(copy, v.u.str.len);
    }
    if (eval_assign(&e, &v, c->type, &out) != ST_OK) return failed(x);
    return put(x, c, &out);
}

stele_status stele_append_null(stele_appender *x) {
    ClientColumn *c = next(x);
    return c ? put_null(x, c) : failed(x);
}

/* The column of flags: false for the rows that are there. */
static Status add_flags(stele_appender *x, Err *e) {
    ClientRows *r = x->rows;
    ClientColumn *f = &r->cols[r->n_cols];
    char name[32];
    snprintf(name, sizeof name, "d%d", (int)x->at);
    *f = (ClientColumn){.type = type_make(T_BOOL)};
    if (!(f->name = arena_strdup(r->arena, name))) return err_is_set(e) ? ST_ERROR : err_oom(e);
    r->n_cols++;
    if (client_rows_reserve(r, x->room - r->n, e) != ST_OK) {
        r->n_cols--;
        mem_free(&r->account, f->cells, f->cells_bytes);
        mem_free(&r->account, f->valid, f->valid_bytes);
        return ST_ERROR;
    }
    memset(f->cells, 0, (size_t)x->room);
    memset(f->valid, 1, (size_t)x->room);
    x->cols[x->at].flags = r->n_cols - 1;
    return ST_OK;
}

stele_status stele_append_default(stele_appender *x) {
    ClientColumn *c = next(x);
    if (!c) return failed(x);
    int32_t at = x->at;
    if (x->cols[at].default_sql && x->cols[at].flags < 0 && add_flags(x, &x->conn->s->err) != ST_OK) return failed(x);
    put_null(x, c);
    x->at = at;
    set_flag(x, true);
    x->at++;
    return STELE_OK;
}

stele_status stele_append_bool(stele_appender *x, bool value) {
    ClientColumn *c = next(x);
    Value v = {.type = type_make(T_BOOL), .u.b = value};
    if (!c) return failed(x);
    return c->type.id == T_BOOL ? put(x, c, &v) : put_as(x, c, v);
}

stele_status stele_append_int64(stele_appender *x, int64_t value) {
    ClientColumn *c = next(x);
    Value v = {.type = type_make(T_INT8), .u.i64 = value};
    if (!c) return failed(x);
    if (c->type.id == T_INT4 && value >= INT32_MIN && value <= INT32_MAX) v.u.i32 = (int32_t)value;
    else if (c->type.id != T_INT8) return put_as(x, c, v);
    return put(x, c, &v);
}

stele_status stele_append_double(stele_appender *x, double value) {
    ClientColumn *c = next(x);
    Value v = {.type = type_make(T_FLOAT8), .u.f64 = value};
    if (!c) return failed(x);
    return c->type.id == T_FLOAT8 ? put(x, c, &v) : put_as(x, c, v);
}

/* Text without a length is kept as it comes. */
static stele_status put_text(stele_appender *x, ClientColumn *c, const char *value, int64_t len) {
    if (utf8_check(value, len) >= 0) {
        err_set(&x->conn->s->err, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
        return failed(x);
    }
    char *copy = arena_alloc(x->rows->arena, MAX_OF(len, INT64_C(1)));
    if (!copy) return failed(x);
    if (len) memcpy(copy, value, (size_t)len);
    return put(x, c, &(Value){.type = c->type, .u.str = str_make(copy, len)});
}

stele_status stele_append_text(stele_appender *x, const char *value, int64_t len) {
    if (len < 0) len = (int64_t)strlen(value);
    const AppendColumn *k = x->at < x->n ? &x->cols[x->at] : NULL;
    if (k && (k->type.id == T_TEXT || (k->type.id == T_VARCHAR && !k->type.length)) && len <= INT32_MAX) {
        ClientColumn *c = next(x);
        return c ? put_text(x, c, value, len) : failed(x);
    }
    stele_value v = {.type = STELE_TYPE_TEXT};
    v.u.text.data = value;
    v.u.text.size = len;
    return stele_append_value(x, &v);
}

stele_status stele_append_value(stele_appender *x, const stele_value *value) {
    ClientColumn *c = next(x);
    Value v;
    if (!c || value_of_client(value, x->rows->arena, &v, &x->conn->s->err) != ST_OK) return failed(x);
    return v.is_null ? put_null(x, c) : put_as(x, c, v);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int64_t bytes_of(const stele_appender *x) {
    int64_t n = arena_bytes(x->rows->arena);
    for (int32_t i = 0; i < x->n; i++) n += x->rows->n * phys_size(type_phys(x->cols[i].type));
    return n;
}

stele_status stele_append_end_row(stele_appender *x) {
    Err *e = &x->conn->s->err;
    if (x->at < x->n) {
        err_clear(e);
        err_set(e, ERR_SYNTAX, "the row has %d values, but the appender has %d columns", (int)x->at, (int)x->n);
        return failed(x);
    }
    if (!x->rows && reserve(x, e) != ST_OK) return failed(x);
    x->rows->n++;
    x->at = 0;
    bool full = x->rows->n >= FLUSH_ROWS || ((x->rows->n & (FIRST_ROOM - 1)) == 0 && bytes_of(x) >= FLUSH_BYTES);
    return full ? stele_appender_flush(x) : STELE_OK;
}

void stele_appender_drop_row(stele_appender *x) { x->at = 0; }

int64_t stele_appender_rows(const stele_appender *x) { return x->flushed; }

static stele_status row_begun(stele_appender *x) {
    err_clear(&x->conn->s->err);
    err_set(&x->conn->s->err, ERR_NOT_IN_STATE, "a row of the appender has been begun, and not ended");
    return failed(x);
}

stele_status stele_append_arrow(stele_appender *x, const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    Err *e = &x->conn->s->err;
    if (x->at > 0) return row_begun(x);
    err_clear(e);
    if (!schema->release || !batch->release)
        return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch has been released"), failed(x);
    if (schema->n_children != x->n)
        return err_set(e, ERR_DATATYPE_MISMATCH, "the Arrow batch has %lld columns, but the appender has %d",
                       (long long)schema->n_children, (int)x->n),
               STELE_ERROR;
    if (reserve(x, e) != ST_OK) return failed(x);
    int64_t before = x->rows->n;
    if (arrow_rows_add(x->rows, x->n, schema, batch, e) != ST_OK) {
        if (!err_is_set(e)) err_oom(e);
        err_context(e, "appender for %s", x->table);
        return STELE_ERROR;
    }
    x->room = MAX_OF(x->room, x->rows->n);
    for (int32_t i = x->n; i < x->rows->n_cols; i++) {
        memset(x->rows->cols[i].cells + before, 0, (size_t)(x->rows->n - before));
        memset(x->rows->cols[i].valid + before, 1, (size_t)(x->rows->n - before));
    }
    return x->rows->n >= FLUSH_ROWS || bytes_of(x) >= FLUSH_BYTES ? stele_appender_flush(x) : STELE_OK;
}

/* ---- flush ------------------------------------------------------------------------------------- */

/* insert into t (a, b) select c0, case when d1 then cast(.. as ..) else c1 end from rows */
static const char *insert_text(const stele_appender *x, Arena *a) {
    const char *names = "", *values = "";
    char type[TYPE_NAME_MAX];
    for (int32_t i = 0; names && values && i < x->n; i++) {
        const AppendColumn *c = &x->cols[i];
        const char *name = quote_name(a, c->name), *sep = i ? ", " : "";
        if (!name) return NULL;
        names = arena_printf(a, "%s%s%s", names, sep, name);
        if (c->flags < 0) values = arena_printf(a, "%s%sc%d", values, sep, (int)i);
        else
            values = arena_printf(a, "%s%scase when d%d then cast((%s) as %s) else c%d end", values, sep, (int)i,
                                  c->default_sql, type_full_name(c->type, &type), (int)i);
    }
    const char *table = quote_relation(a, x->table), *rows = quote_name(a, x->rows->name);
    if (!names || !values || !table || !rows) return NULL;
    return arena_printf(a, "insert into %s (%s) overriding system value select %s from %s", table, names, values, rows);
}

/* Which row a failure is about, where it can be told. */
static void context_of_flush(const stele_appender *x) {
    Err *e = &x->conn->s->err;
    const char *column = err_names_of(e).of[EF_COLUMN];
    int64_t first = x->flushed + x->dropped + 1;
    for (int32_t i = 0; column && strcmp(e->sqlstate, ERR_NOT_NULL_VIOLATION) == 0 && i < x->n; i++) {
        const ClientColumn *c = &x->rows->cols[i];
        if (strcmp(x->cols[i].name, column) != 0) continue;
        for (int64_t k = 0; k < x->rows->n; k++)
            if (!c->valid[k] && (x->cols[i].flags < 0 || !x->rows->cols[x->cols[i].flags].cells[k])) {
                err_context(e, "row %lld of appender for %s, column \"%s\"", (long long)(first + k), x->table, column);
                return;
            }
    }
    err_context(e, "rows %lld to %lld of appender for %s", (long long)first, (long long)(first + x->rows->n - 1),
                x->table);
}

stele_status api_insert_rows(stele_conn *c, struct ClientRows *rows, const char *sql, int64_t *n) {
    Session *s = c->s;
    stele_stmt *stmt = NULL;
    rows->next = s->client.rows;
    s->client.rows = rows;
    stele_status r = stele_prepare(c, sql, -1, &stmt, NULL);
    if (r == STELE_OK) r = stele_run(stmt) == STELE_DONE ? STELE_OK : STELE_ERROR;
    if (r == STELE_OK) *n = stele_row_count(stmt);
    ClientRows **at = &s->client.rows;
    while (*at != rows) at = &(*at)->next;
    *at = rows->next;
    s->err.position = 0; /* in a text that is not the caller's */
    stele_finalize(stmt);
    return r;
}

stele_status stele_appender_flush(stele_appender *x) {
    Err *e = &x->conn->s->err;
    if (x->at > 0) return row_begun(x);
    err_clear(e);
    if (!x->rows || x->rows->n == 0) return STELE_OK;
    Arena *a = arena_new(&x->conn->s->account, e);
    const char *sql = a ? insert_text(x, a) : NULL;
    int64_t n = 0;
    stele_status r = sql ? api_insert_rows(x->conn, x->rows, sql, &n) : STELE_ERROR;
    if (!err_is_set(e) && r != STELE_OK) err_oom(e);
    if (r != STELE_OK) context_of_flush(x);
    arena_free(a);
    if (r == STELE_OK) x->flushed += n;
    else x->dropped += x->rows->n;
    rows_drop(x);
    return r;
}
