/* api.c - the public interface (include/stele/stele.h) over sessions. Contracts are there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api_int.h"
#include "base/log.h"
#include "base/machine.h"
#include "db/redo.h"
#include "session/core/checkpointer.h"
#include "session/core/idle.h"
#include "session/core/result_stream.h"
#include "session/core/transaction.h"
#include "session/core/upkeep.h"
#include "session/ddl/definition.h"
#include "session/ddl/index_program.h"
#include "session/pool/bulk_redo.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

static _Thread_local Err open_error;

const char *stele_version(void) { return STELE_VERSION; }

static void (*log_hook)(void *ctx, int level, const char *message);
static void log_bridge(void *ctx, LogLevel level, const char *message) { log_hook(ctx, (int)level, message); }

void stele_set_allocator(void *(*alloc)(void *ctx, size_t bytes), void (*free_fn)(void *ctx, void *p, size_t bytes),
                         void *ctx) {
    MemHooks h = {alloc, free_fn, ctx};
    mem_set_hooks(alloc && free_fn ? &h : NULL);
}
void stele_set_logger(void (*log)(void *ctx, int level, const char *message), void *ctx) {
    log_hook = log;
    log_set(log ? log_bridge : NULL, ctx);
}

void api_error_names(ErrNames n, stele_error_info *out) {
    for (int i = 0; i < ERR_FIELDS; i++)
        if (!n.of[i]) n.of[i] = "";
    out->schema_name = n.of[EF_SCHEMA];
    out->table_name = n.of[EF_TABLE];
    out->column_name = n.of[EF_COLUMN];
    out->datatype_name = n.of[EF_DATATYPE];
    out->constraint_name = n.of[EF_CONSTRAINT];
}
void api_fill_error(const Err *e, stele_error_info *out) {
    if (!out) return;
    memcpy(out->sqlstate, err_is_set(e) ? e->sqlstate : "00000", 6);
    out->message = e->message;
    out->detail = e->detail;
    out->hint = e->hint;
    out->context = e->context;
    out->position = e->position;
    api_error_names(err_names_of(e), out);
}

static char *text_copy(const char *s, Err *e) {
    int64_t n = (int64_t)strlen(s) + 1;
    char *p = mem_alloc(NULL, n, e);
    if (p) memcpy(p, s, (size_t)n);
    return p;
}
static void text_free(char *s) {
    if (s) mem_free(NULL, s, (int64_t)strlen(s) + 1);
}

static Status check_existing(const char *path, Vfs *vfs) {
    bool there;
    TRY(database_exists(path, vfs, &there, &open_error));
    return there ? ST_OK : err_set(&open_error, ERR_UNDEFINED_FILE, "there is no database at \"%s\"", path);
}

stele_status api_open(const char *path, const stele_options *options, Vfs *vfs, stele_db **db,
                      stele_error_info *error) {
    err_clear(&open_error);
    *db = NULL;
    stele_db *d = mem_calloc(NULL, (int64_t)sizeof *d, &open_error);
    if (!d) {
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    if (options && options->temp_directory &&
        strlen(options->temp_directory) >= sizeof((Settings *)NULL)->exec.temp_directory) {
        err_set(&open_error, ERR_INVALID_PARAMETER, "the path of temp_directory is too long");
        mem_free(NULL, d, (int64_t)sizeof *d);
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    if (options && options->temp_directory && *options->temp_directory &&
        temp_directory_check(options->temp_directory, &open_error) != ST_OK) {
        mem_free(NULL, d, (int64_t)sizeof *d);
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    int threads = options && options->threads > 0 ? options->threads : cpu_count();
    int64_t limit = options && options->memory_limit > 0 ? options->memory_limit : machine_memory_usable() / 5 * 4;
    bool memory = !path || !*path || strcmp(path, ":memory:") == 0;
    bool read_only = options && options->read_only && !memory;
    if (options && (options->existing || read_only) && !memory && check_existing(path, vfs) != ST_OK) {
        mem_free(NULL, d, (int64_t)sizeof *d);
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    Status opened = read_only ? database_open_read_only(path, vfs, threads, limit, &d->db, &open_error)
                              : database_open(memory ? NULL : path, vfs, threads, limit, &d->db, &open_error);
    if (opened == ST_OK) {
        opened = index_programs_of_all(&d->db->catalog, &open_error);
        if (opened == ST_OK) opened = database_replay(d->db, &bulk_redo_ops, &open_error);
        if (opened == ST_OK && options && options->durable) opened = redo_start(d->db, &open_error);
        if (opened == ST_OK && !read_only) opened = upkeep_start(d->db, &open_error);
        if (opened == ST_OK && d->db->redo) opened = checkpointer_start(d->db, &open_error);
        if (opened != ST_OK) database_close(d->db);
    }
    if (opened != ST_OK) {
        mem_free(NULL, d, (int64_t)sizeof *d);
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    if (options && options->temp_directory) d->temp_dir = text_copy(options->temp_directory, &open_error);
    if (options && options->temp_directory && !d->temp_dir) {
        api_fill_error(&open_error, error);
        database_close(d->db);
        text_free(d->temp_dir);
        mem_free(NULL, d, (int64_t)sizeof *d);
        return STELE_ERROR;
    }
    d->db->temp_directory = d->temp_dir;
    *db = d;
    return STELE_OK;
}
stele_status stele_open(const char *path, const stele_options *options, stele_db **db, stele_error_info *error) {
    return api_open(path, options, vfs_posix(), db, error);
}

static void release_db(stele_db *d) {
    database_close(d->db);
    text_free(d->temp_dir);
    mem_free(NULL, d, (int64_t)sizeof *d);
}

stele_status stele_close(stele_db *d, stele_error_info *error) {
    if (!d) return STELE_OK;
    err_clear(&open_error);
    if (atomic_load(&d->connections) > 0)
        err_set(&open_error, ERR_OBJECT_IN_USE, "the database still has %lld connections",
                (long long)atomic_load(&d->connections));
    else database_stop_threads(d->db);
    if (!err_is_set(&open_error)) transactions_settle(d->db);
    if (!err_is_set(&open_error) && d->db->path && d->db->dirty) (void)database_save(d->db, &open_error);
    if (err_is_set(&open_error)) {
        api_fill_error(&open_error, error);
        return STELE_ERROR;
    }
    release_db(d);
    return STELE_OK;
}

stele_status stele_discard(stele_db *d) {
    if (!d) return STELE_OK;
    if (atomic_load(&d->connections) > 0) return STELE_ERROR;
    database_stop_threads(d->db);
    transactions_settle(d->db);
    release_db(d);
    return STELE_OK;
}

stele_status stele_connect(stele_db *db, stele_conn **conn) {
    *conn = NULL;
    Err e = {0};
    stele_conn *c = mem_calloc(NULL, (int64_t)sizeof *c, &e);
    if (!c) return STELE_ERROR;
    if (session_new(db->db, &c->s, &e) != ST_OK) {
        mem_free(NULL, c, (int64_t)sizeof *c);
        return STELE_ERROR;
    }
    c->owner = db;
    atomic_fetch_add(&db->connections, 1);
    *conn = c;
    return STELE_OK;
}

void stele_disconnect(stele_conn *c) {
    if (!c) return;
    session_free(c->s);
    atomic_fetch_sub(&c->owner->connections, 1);
    mem_free(NULL, c, (int64_t)sizeof *c);
}

void stele_error(stele_conn *c, stele_error_info *out) { api_fill_error(&c->s->err, out); }
void stele_interrupt(stele_conn *c) {
    atomic_store(&c->s->cancel, true);
    Session *leads = atomic_load(&c->s->leads); /* lives as long as the database */
    if (leads) atomic_store(&leads->cancel, true);
}
void stele_calls_begin(stele_conn *c) {
    session_forget_interrupt(c->s);
    c->s->groups++;
}
void stele_calls_end(stele_conn *c) {
    if (c->s->groups > 0) c->s->groups--;
}
stele_status stele_calibrate(stele_conn *c, const char *device, bool quick) {
    err_clear(&c->s->err);
    return session_calibrate(c->s, device, quick) == ST_OK ? STELE_OK : STELE_ERROR;
}
void stele_set_progress(stele_conn *c, bool (*progress)(void *ctx, double fraction), void *ctx) {
    c->s->client.progress = progress;
    c->s->client.progress_ctx = ctx;
}
void stele_set_copy_streams(stele_conn *c, int64_t (*read)(void *ctx, char *buf, int64_t size),
                            bool (*write)(void *ctx, const char *data, int64_t size), void *ctx) {
    c->s->client.copy_read = read;
    c->s->client.copy_write = write;
    c->s->client.copy_ctx = ctx;
}
static void notice_bridge(void *ctx, const SessionNotice *n) {
    const stele_conn *c = ctx;
    c->notice(c->notice_ctx, &(stele_notice){n->severity, n->sqlstate, n->message, n->detail, n->hint, n->context});
}
void stele_set_notice(stele_conn *c, void (*notice)(void *ctx, const stele_notice *n), void *ctx) {
    c->notice = notice;
    c->notice_ctx = ctx;
    c->s->client.notice = notice ? notice_bridge : NULL;
    c->s->client.notice_ctx = c;
}
char stele_transaction_state(const stele_conn *c) { return c->s->state; }

/* ---- the redo log ---- */
void stele_set_commit_wait(stele_conn *c, bool on) { c->s->block.log.returns = !on; }
int64_t stele_commit_lsn(const stele_conn *c) { return c->s->block.log.committed; }
int64_t stele_log_wait_ns(const stele_conn *c) { return c->s->block.log.waited_ns; }
int64_t stele_log_lsn(const stele_db *d) { return redo_end_lsn(d->db); }
bool stele_is_stable(const stele_db *d, int64_t lsn) { return lsn <= redo_durable_lsn(d->db); }
stele_status stele_wait_stable(stele_db *d, int64_t lsn, stele_error_info *error) {
    if (lsn <= 0) return STELE_OK;
    err_clear(&open_error);
    if (redo_check_lsn(d->db, (uint64_t)lsn, &open_error) == ST_OK && redo_wait(d->db, lsn, &open_error) == ST_OK)
        return STELE_OK;
    api_fill_error(&open_error, error);
    return STELE_ERROR;
}

/* ---- statements: stele_stmt is a Statement ------------------------------------------------- */

static Statement *st_of(stele_stmt *s) { return (Statement *)(void *)s; }
static const Statement *st_ofc(const stele_stmt *s) { return (const Statement *)(const void *)s; }

/* Positions inside the library count bytes; callers get characters. */
static void position_in_chars(Session *s, const char *sql, int64_t len) {
    if (s->err.position > 0 && s->err.position <= len + 1) s->err.position = utf8_length(sql, s->err.position - 1) + 1;
}

stele_status stele_prepare(stele_conn *c, const char *sql, int64_t len, stele_stmt **stmt, const char **tail) {
    if (len < 0) len = (int64_t)strlen(sql);
    Statement *st;
    int64_t used = 0;
    Status r = statement_prepare(c->s, (Slice){sql, len}, &st, &used);
    *stmt = (stele_stmt *)(void *)st;
    if (tail) *tail = sql + used;
    if (r != ST_OK) {
        position_in_chars(c->s, sql, len);
        *stmt = NULL;
        return STELE_ERROR;
    }
    return STELE_OK;
}
void stele_finalize(stele_stmt *s) { statement_free(st_of(s)); }
void stele_reset(stele_stmt *s) { statement_reset(st_of(s)); }

int64_t stele_param_count(const stele_stmt *s) { return st_ofc(s)->n_params; }

static Value *param(Statement *st, int64_t i) {
    if (i < 1 || i > st->n_params) {
        err_clear(&st->session->err);
        err_set(&st->session->err, ERR_UNDEFINED_PARAMETER, "there is no parameter $%lld", (long long)i);
        return NULL;
    }
    statement_clear_param(st, (int32_t)i - 1);
    return &st->params[i - 1];
}
stele_status stele_bind_null(stele_stmt *s, int64_t i) { return param(st_of(s), i) ? STELE_OK : STELE_ERROR; }
stele_status stele_bind_bool(stele_stmt *s, int64_t i, bool value) {
    Value *v = param(st_of(s), i);
    if (!v) return STELE_ERROR;
    *v = (Value){.type = type_make(T_BOOL), .u.b = value};
    return STELE_OK;
}
stele_status stele_bind_int64(stele_stmt *s, int64_t i, int64_t value) {
    Value *v = param(st_of(s), i);
    if (!v) return STELE_ERROR;
    *v = (Value){.type = type_make(T_INT8), .u.i64 = value};
    return STELE_OK;
}
stele_status stele_bind_double(stele_stmt *s, int64_t i, double value) {
    Value *v = param(st_of(s), i);
    if (!v) return STELE_ERROR;
    *v = (Value){.type = type_make(T_FLOAT8), .u.f64 = value};
    return STELE_OK;
}
stele_status stele_bind_text(stele_stmt *s, int64_t i, const char *value, int64_t len) {
    Value *v = param(st_of(s), i);
    if (!v) return STELE_ERROR;
    if (len < 0) len = (int64_t)strlen(value);
    Err *e = &st_of(s)->session->err;
    if (utf8_check(value, len) >= 0) {
        err_clear(e);
        err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\" in parameter $%lld",
                (long long)i);
        return STELE_ERROR;
    }
    err_clear(e);
    if (len > INT32_MAX) {
        err_set(e, ERR_PROGRAM_LIMIT, "value of parameter $%lld is too long: %lld bytes", (long long)i, (long long)len);
        return STELE_ERROR;
    }
    char *copy = mem_alloc(&st_of(s)->session->account, len + 1, e);
    if (!copy) return STELE_ERROR;
    memcpy(copy, value, (size_t)len);
    copy[len] = 0;
    *v = (Value){.type = type_make(T_UNKNOWN), .u.str = str_make(copy, len)};
    return STELE_OK;
}

stele_status stele_run(stele_stmt *s) {
    Statement *st = st_of(s);
    if (statement_run(st) != ST_OK) {
        if (st->ast->source.ptr) {
            const char *text = st->ast->source.ptr - st->ast->source_offset;
            position_in_chars(st->session, text, st->ast->source_offset + st->ast->source.len);
        }
        return STELE_ERROR;
    }
    return STELE_DONE;
}

stele_status stele_step(stele_stmt *s) {
    Statement *st = st_of(s);
    if (!st->ran && stele_run(s) != STELE_DONE) return STELE_ERROR;
    if (!st->show_rows) return STELE_DONE;
    if (st->next_row >= st->n_rows) {
        bool some;
        if (statement_next_piece(st, &some) != ST_OK) return STELE_ERROR;
        if (!some) return STELE_DONE;
    }
    st->next_row++;
    if (st->cell_arena) arena_reset(st->cell_arena);
    return STELE_ROW;
}

void stele_set_stream(stele_stmt *s, bool on) { st_of(s)->streams = on; }

int64_t stele_column_count(const stele_stmt *s) { return st_ofc(s)->n_cols; }
const char *stele_column_name(const stele_stmt *s, int64_t i) {
    return i >= 0 && i < st_ofc(s)->n_cols ? st_ofc(s)->names[i] : "";
}
const char *stele_column_type(const stele_stmt *s, int64_t i) {
    static _Thread_local char buf[TYPE_NAME_MAX];
    return i >= 0 && i < st_ofc(s)->n_cols ? type_name(st_ofc(s)->types[i], &buf) : "";
}
bool stele_column_is_number(const stele_stmt *s, int64_t i) {
    if (i < 0 || i >= st_ofc(s)->n_cols) return false;
    const Type t = st_ofc(s)->types[i];
    return type_is_number(t) || (t.id == T_OID && type_phys(t) == PH_I64);
}
const char *stele_command_tag(const stele_stmt *s) { return st_ofc(s)->tag; }
int64_t stele_row_count(const stele_stmt *s) { return st_ofc(s)->affected; }

/* The current row's cell; false for NULL and errors. */
static bool cell(Statement *st, int64_t i, Value *v) {
    if (i < 0 || i >= st->n_cols || st->next_row < 1 || st->next_row > st->n_rows) return false;
    if (st->columns) {
        *v = statement_column_cell(st, st->next_row - 1, i);
        return !v->is_null;
    }
    if (st->values) {
        *v = st->values[(st->next_row - 1) * st->n_cols + i];
        return !v->is_null;
    }
    if (st->is_text) {
        const char *t = st->text_rows[st->next_row - 1][i];
        if (!t) return false;
        *v = (Value){.type = type_make(T_TEXT), .u.str = str_make(t, (int64_t)strlen(t))};
        return true;
    }
    const void *p;
    bool is_null;
    int32_t col;
    int64_t row = statement_cell(st, st->next_row - 1, (int32_t)i, &col);
    if (rows_cell(st->rows, row, col, &p, &is_null, &st->session->err) != ST_OK || is_null) return false;
    *v = (Value){.type = st->types[i]};
    memcpy(value_cell(v), p, (size_t)phys_size(type_phys(v->type)));
    return true;
}
bool stele_column_is_null(stele_stmt *s, int64_t i) {
    Value v;
    return !cell(st_of(s), i, &v);
}
/* Whether CAST goes from the type to a number. */
static bool has_number(Type t) { return type_is_number(t) || type_is_text(t) || t.id == T_BOOL; }

double stele_column_double(stele_stmt *s, int64_t i) {
    Value v;
    if (!cell(st_of(s), i, &v) || !has_number(v.type)) return 0;
    switch (type_phys(v.type)) {
    case PH_BOOL: return v.u.b;
    case PH_I16: return v.u.i16;
    case PH_I32: return v.u.i32;
    case PH_I64: return v.type.id == T_NUMERIC ? numeric_to_f64(v.u.i64, v.type.scale) : (double)v.u.i64;
    case PH_I128: return numeric_to_f64(v.u.i128, v.type.scale);
    case PH_F32: return (double)v.u.f32;
    case PH_F64: return v.u.f64;
    default: {
        int64_t n;
        const char *t = stele_column_text(s, i, &n);
        return t ? strtod(t, NULL) : 0;
    }
    }
}
int64_t stele_column_int64(stele_stmt *s, int64_t i) {
    Value v;
    if (!cell(st_of(s), i, &v) || !has_number(v.type)) return 0;
    int64_t x;
    if (v.type.id == T_NUMERIC) {
        int128_t w = type_phys(v.type) == PH_I64 ? v.u.i64 : v.u.i128, r;
        return numeric_rescale(w, v.type.scale, 0, &r) || r > INT64_MAX || r < INT64_MIN ? 0 : (int64_t)r;
    }
    if (cell_as_i64(type_phys(v.type), value_cell(&v), &x)) return x;
    double d = rint(stele_column_double(s, i));
    return d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : 0;
}
bool stele_column_bool(stele_stmt *s, int64_t i) {
    Value v;
    return cell(st_of(s), i, &v) && (type_phys(v.type) == PH_BOOL ? v.u.b : stele_column_int64(s, i) != 0);
}
const char *stele_column_text(stele_stmt *s, int64_t i, int64_t *len) {
    Statement *st = st_of(s);
    Value v;
    int64_t n = 0;
    if (len) *len = 0;
    if (!cell(st, i, &v)) return NULL;
    if (!st->cell_arena) st->cell_arena = arena_new(&st->account, &st->session->err);
    if (!st->cell_arena) return NULL;
    char *t = value_to_text_form(st->cell_arena, &v, st->session->settings.client.form, &n);
    if (len) *len = n;
    return t;
}

/* Hands a finished statement's rows out as texts. A text that cannot be made is an error and never a NULL. */
static stele_status exec_rows(stele_conn *c, stele_stmt *s,
                              bool (*row)(void *ctx, int64_t n, const char *const *values, const char *const *names),
                              void *ctx, bool *stop) {
    Err *e = &c->s->err;
    int64_t n = stele_column_count(s);
    err_clear(e);
    Arena *a = arena_new(&c->s->account, e);
    const char **v = a ? arena_array(a, const char *, 2 * n + 1) : NULL;
    for (int64_t i = 0; v && i < n; i++) v[n + i] = stele_column_name(s, i);
    while (v && !*stop && stele_step(s) == STELE_ROW) {
        for (int64_t i = 0; i < n; i++) v[i] = stele_column_text(s, i, NULL);
        if (err_is_set(e)) break;
        *stop = row(ctx, n, v, v + n);
    }
    arena_free(a);
    return err_is_set(e) ? STELE_ERROR : STELE_DONE;
}

static stele_status exec_all(stele_conn *c, const char *sql,
                             bool (*row)(void *ctx, int64_t n, const char *const *values, const char *const *names),
                             void *ctx) {
    const char *end = sql + strlen(sql), *whole = sql;
    while (sql < end) {
        stele_stmt *s;
        const char *tail;
        if (stele_prepare(c, sql, end - sql, &s, &tail) != STELE_OK) {
            if (c->s->err.position > 0) c->s->err.position += utf8_length(whole, sql - whole);
            return STELE_ERROR;
        }
        if (!s) break;
        stele_status r = stele_run(s);
        bool stop = false;
        if (r == STELE_DONE && row && st_of(s)->show_rows) r = exec_rows(c, s, row, ctx, &stop);
        stele_finalize(s);
        if (r == STELE_ERROR) {
            if (c->s->err.position > 0) c->s->err.position += utf8_length(whole, sql - whole);
            return STELE_ERROR;
        }
        if (stop) break;
        sql = tail;
    }
    return STELE_OK;
}

stele_status stele_exec(stele_conn *c, const char *sql,
                        bool (*row)(void *ctx, int64_t n, const char *const *values, const char *const *names),
                        void *ctx) {
    err_clear(&c->s->err);
    stele_calls_begin(c);
    stele_status r = session_enter(c->s) == ST_OK ? exec_all(c, sql, row, ctx) : STELE_ERROR;
    session_leave(c->s);
    stele_calls_end(c);
    return r;
}

/* ---- catalog --------------------------------------------------------------------------------------- */

bool api_look_begin(Session *s, bool locked) {
    err_clear(&s->err);
    session_forget_interrupt(s);
    if (session_enter(s) == ST_OK && (locked ? session_lock(s, LOCK_SHARED) : session_read(s, true)) == ST_OK)
        return true;
    session_leave(s);
    return false;
}
void api_look_end(Session *s, Status r) {
    if (s->state == 'I') (void)session_end_statement(s, r);
    else transaction_pause(s);
    session_leave(s);
}

const char *api_dotted(Arena *a, const char *key) { return keys_dotted(a, key); }
const char *api_key(Session *s, Arena *a, const char *name) {
    const Catalog *k = session_catalog(s);
    RelationName r;
    const char *dot = strchr(name, '.');
    if (catalog_search(k, a, NULL, name, &r) != ST_OK) return NULL;
    if (!dot || (r.system < 0 && catalog_relation_exists(k, slice_of(r.key)))) return r.system < 0 ? r.key : name;
    const char *schema = arena_strndup(a, name, dot - name);
    if (!schema || catalog_search(k, a, schema, dot + 1, &r) != ST_OK) return NULL;
    return r.system < 0 ? r.key : name;
}

const char **api_schemas(Session *s, Arena *a, int64_t *n) {
    if (!api_look_begin(s, false)) return NULL;
    const Catalog *k = session_catalog(s);
    const char **out = arena_array(a, const char *, k->n_schemas + 1);
    bool ok = out != NULL;
    *n = 1;
    if (out) out[0] = KEY_PUBLIC;
    for (int64_t i = 0; ok && i < k->n_schemas; i++)
        if (!schema_is_others(k->schemas[i]->name)) ok = (out[(*n)++] = arena_strdup(a, k->schemas[i]->name)) != NULL;
    api_look_end(s, ST_OK);
    return ok ? out : NULL;
}

stele_status stele_list_tables(stele_conn *c, bool (*each)(void *ctx, const char *name, const char *kind, int64_t rows),
                               void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    const Catalog *k = session_catalog(s);
    Arena *a = arena_new(&s->account, &s->err);
    bool stop = !a;
    for (int64_t i = 0; i < k->n_tables && !stop; i++) {
        const Table *t = k->tables[i];
        if (key_is_others(t->name)) continue;
        const bool matview = catalog_matview(k, slice_of(t->name)) != NULL;
        const char *name = api_dotted(a, t->name);
        stop = !name || each(ctx, name, matview ? "materialized view" : "table", t->live_rows);
    }
    for (int64_t i = 0; i < k->n_views && !stop; i++) {
        const char *name = api_dotted(a, k->views[i]->name);
        if (!k->views[i]->materialized && !key_is_others(k->views[i]->name))
            stop = !name || each(ctx, name, "view", -1);
    }
    const Status st = !a || err_is_set(&s->err) ? ST_ERROR : ST_OK;
    arena_free(a);
    api_look_end(s, st);
    return st == ST_OK ? STELE_OK : STELE_ERROR;
}

static const char *checks_text(Arena *a, const Domain *d) {
    const char *text = "";
    for (int i = 0; text && i < d->n_checks; i++)
        text = arena_printf(a, "%s%sCHECK (%s)%s", text, i ? " " : "", d->checks[i].sql,
                            d->checks[i].not_valid ? " NOT VALID" : "");
    return text;
}
stele_status stele_list_domains(stele_conn *c,
                                bool (*each)(void *ctx, const char *name, const char *type, bool not_null,
                                             const char *default_sql, const char *checks),
                                void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    const Catalog *k = session_catalog(s);
    Arena *a = arena_new(&s->account, &s->err);
    Status st = a ? ST_OK : ST_ERROR;
    bool stop = false;
    for (int64_t i = 0; i < k->n_domains && !stop && st == ST_OK; i++) {
        char buf[TYPE_NAME_MAX];
        const Domain *d = k->domains[i], *parent = catalog_domain_by_id(k, d->parent);
        const char *type = parent ? parent->name : type_name(d->type, &buf), *checks = checks_text(a, d);
        if (checks) stop = each(ctx, d->name, type, d->not_null, d->default_sql ? d->default_sql : "", checks);
        else st = err_oom(&s->err);
    }
    arena_free(a);
    api_look_end(s, st);
    return st == ST_OK ? STELE_OK : STELE_ERROR;
}

stele_status stele_list_sequences(stele_conn *c, bool (*each)(void *ctx, const stele_sequence *s), void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    const Catalog *k = session_catalog(s);
    Arena *a = arena_new(&s->account, &s->err);
    bool stop = !a;
    for (int64_t i = 0; i < k->n_sequences && !stop; i++) {
        const Sequence *q = k->sequences[i];
        const char *name = api_dotted(a, q->name), *owner = q->owner_table ? api_dotted(a, q->owner_table) : "";
        const stele_sequence out = {name,
                                    type_plain_name(q->type),
                                    q->start,
                                    q->min,
                                    q->max,
                                    q->increment,
                                    q->cache,
                                    q->cycle,
                                    q->identity,
                                    owner,
                                    q->owner_column ? q->owner_column : ""};
        stop = !name || !owner || each(ctx, &out);
    }
    const Status st = !a || err_is_set(&s->err) ? ST_ERROR : ST_OK;
    arena_free(a);
    api_look_end(s, st);
    return st == ST_OK ? STELE_OK : STELE_ERROR;
}

/* What is shown as a column's default. */
static const char *default_text(Arena *a, const Column *col) {
    switch (col->kind) {
    case COLUMN_ALWAYS: return "generated always as identity";
    case COLUMN_BY_DEFAULT: return "generated by default as identity";
    case COLUMN_GENERATED: return arena_printf(a, "generated always as (%s) stored", col->default_sql);
    default: return col->default_sql ? col->default_sql : "";
    }
}

stele_status stele_list_columns(stele_conn *c, const char *table,
                                bool (*each)(void *ctx, const char *name, const char *type, bool not_null,
                                             const char *default_sql, const char *key),
                                void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    Status r = ST_OK;
    char buf[TYPE_NAME_MAX];
    Arena *texts = arena_new(&s->account, &s->err);
    const char *relation = texts ? api_key(s, texts, table) : NULL;
    const Table *t = relation ? catalog_table(session_catalog(s), slice_of(relation)) : NULL;
    const View *v = t || !relation ? NULL : catalog_view(session_catalog(s), slice_of(relation));
    if (!relation) {
        r = ST_ERROR;
    } else if (t) {
        for (int i = 0; i < t->n_cols; i++) {
            const char *key = "", *def = default_text(texts, &t->cols[i]);
            if (!def && (r = err_oom(&s->err)) != ST_OK) break;
            for (int k = 0; k < t->n_keys; k++)
                for (int j = 0; j < t->keys[k].n_cols; j++)
                    if (t->keys[k].cols[j] == i && (!*key || t->keys[k].primary))
                        key = t->keys[k].primary ? "primary key" : "unique";
            const Domain *d = catalog_domain_by_id(session_catalog(s), t->cols[i].domain);
            const char *type = d ? d->name : type_name(t->cols[i].type, &buf);
            if (each(ctx, t->cols[i].name, type, t->cols[i].not_null, def, key)) break;
        }
    } else if (v) {
        Arena *a = arena_new(&s->account, &s->err);
        PlanCtx pc;
        BoundStmt *b;
        if (a) plan_ctx_init(s, a, &pc);
        r = a ? sql_bind_view(&pc, v, &b) : ST_ERROR;
        for (int32_t i = 0; r == ST_OK && i < b->n_result; i++) {
            const char *def = i < v->n_defaults && v->defaults[i] ? v->defaults[i] : "";
            if (each(ctx, b->names[i], type_name(pc.cols.items[b->result[i]].type, &buf), false, def, "")) break;
        }
        arena_free(a);
    } else {
        r = err_set(&s->err, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", table);
    }
    arena_free(texts);
    api_look_end(s, r);
    return r == ST_OK ? STELE_OK : STELE_ERROR;
}

stele_status stele_list_options(stele_conn *c, const char *table,
                                bool (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    Arena *a = arena_new(&s->account, &s->err);
    const char *relation = a ? api_key(s, a, table) : NULL;
    const Table *t = relation ? catalog_table(session_catalog(s), slice_of(relation)) : NULL;
    Status r = relation ? ST_OK : ST_ERROR;
    char value[24];
    if (relation && !t && !catalog_view(session_catalog(s), slice_of(relation)))
        r = err_set(&s->err, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", table);
    if (t && t->expected_rows > 0) {
        snprintf(value, sizeof value, "%lld", (long long)t->expected_rows);
        (void)each(ctx, "expected_rows", value);
    }
    arena_free(a);
    api_look_end(s, r);
    return r == ST_OK ? STELE_OK : STELE_ERROR;
}

stele_status stele_list_routines(stele_conn *c,
                                 bool (*each)(void *ctx, const char *name, const char *kind, const char *args,
                                              const char *result, const char *language),
                                 void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, false)) return STELE_ERROR;
    const Catalog *k = session_catalog(s);
    Arena *a = arena_new(&s->account, &s->err);
    bool stop = a == NULL;
    for (int64_t i = 0; i < k->n_routines && !stop; i++) {
        const Routine *r = k->routines[i];
        const char *args = routine_arguments_text(a, r), *result = routine_result_text(a, r);
        const char *name = api_dotted(a, r->name);
        if (!args || !result || !name) break;
        stop = each(ctx, name,
                    r->is_procedure           ? "procedure"
                    : routine_is_aggregate(r) ? "aggregate"
                                              : "function",
                    args, result, r->language);
    }
    arena_free(a);
    api_look_end(s, ST_OK);
    return err_is_set(&s->err) ? STELE_ERROR : STELE_OK;
}

stele_status stele_list_definitions(stele_conn *c, bool (*each)(void *ctx, const stele_definition *d), void *ctx) {
    Session *s = c->s;
    if (!api_look_begin(s, true)) return STELE_ERROR;
    Arena *a = arena_new(&s->account, &s->err);
    Definitions all;
    Status r = a ? definitions_list(s, a, &all) : ST_ERROR;
    for (int64_t i = 0; r == ST_OK && i < all.list.len; i++) {
        const Definition *d = &all.list.items[i];
        stele_definition out = {d->kind, d->name,           d->table,   d->target,     d->create,
                                d->drop, d->drop_if_exists, d->problem, d->after_data, d->overriding};
        if (each(ctx, &out)) break;
    }
    arena_free(a);
    api_look_end(s, r);
    return r == ST_OK ? STELE_OK : STELE_ERROR;
}

void stele_list_functions(bool (*each)(void *ctx, const char *name, const char *args, const char *result,
                                       const char *doc),
                          void *ctx) {
    int64_t n;
    const FuncDef *f = func_table(&n);
    for (int64_t i = 0; i < n; i++) {
        char args[256];
        size_t at = 0;
        args[0] = 0;
        for (int k = 0; k < f[i].nargs && k < 6; k++)
            at += (size_t)snprintf(args + at, sizeof args - at, "%s%s", k ? ", " : "",
                                   type_plain_name(func_arg_type(&f[i], k)));
        if (f[i].flags & FN_VARIADIC) snprintf(args + at, sizeof args - at, ", ...");
        if (each(ctx, f[i].name, args, type_base_name((TypeId)f[i].ret), f[i].doc ? f[i].doc : "")) return;
    }
    const ListedFunction *x = sql_listed_functions(&n);
    for (int64_t i = 0; i < n; i++)
        if (each(ctx, x[i].name, x[i].args, x[i].result, x[i].doc)) return;
}
