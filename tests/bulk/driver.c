/* driver.c - bulks against calls one at a time: runs the cases that oracle.py writes.
 *
 * With --recover DIR configurations have their databases there, with a redo log; each is left as a crash leaves it, and
 * opened again, which must give the same tables.
 *
 * A case comes on standard input, a command per line, fields separated by tabs:
 *
 *   S sql                      a statement of the setup, run in every database of the case; tabs are ends of lines
 *   R name                     a routine: calls name them by number, in this order
 *   T table                    a table to compare
 *   C routine arg arg ..       a call; its IN and INOUT arguments as texts, \N is NULL
 *   M call connection sql      before the call of that number (their number: after the last) connection 0, which runs
 *                              the calls, or 1 or 2, others, execute the SQL: here as in the reference. Ascending;
 *                              bulks end there. Tabs are ends of lines
 *   E calls                    the reference has digests of its tables for readers after so many calls each (1)
 *   G strategy vector threads cuts flags settings
 *                              a configuration: calls are cut into bulks at `cuts` (numbers with commas, or -);
 *                              settings: further SQL
 *   V                          the reference is printed: `O` per call its SQLSTATE, message, place, what else is told
 *                              and OUT values, `W` per row its table's number and values
 *   .                          runs the case
 *
 * The reference calls one after the other with CALL (SELECT for functions), each a transaction, or between savepoints
 * where SQL has begun one. Then every configuration runs the same calls in a database of its own: SQLSTATE, message,
 * detail, hint, names, place (line and statement), OUT values and notices of every call, rows or error of all SQL
 * between them and the rows of all tables must be the reference's, to the bit in their text form.
 *
 * Readers (flags r and c) read all tables in a transaction. What each gives must be the tables of the reference after
 * some number of calls, which never goes down. The reference keeps a digest of its tables behind every
 * call, or fewer (E), and around all SQL between calls: where E is more than 1, bulks must be cut there only
 * (bulk_slice_calls).
 *
 * Flags: s  tables are read between bulks          x  the calls are run, the tables put back, and all is run again
 *        t  all bulks in one transaction           q  a transaction with all bulks is rolled back first
 *        m  every second piece goes through CALL   f  the footprint's figures are printed
 *        o  with bulk_order = any: the reference is made again, one by one in the order that the bulks chose
 *        r  another session reads whenever a bulk has given up the lock between two slices, and between bulks
 *        c  another thread reads all the time
 *        d  the reader of r has the configuration's settings and reads table by table, outside of transactions: where
 *           bulks have left the rows, on a device too
 *        n  no bulk is told what comes next; else each is, and the next one has what was done ahead for it
 * (CallPipeline)
 *
 * Answers: `P name` with why it runs one call at a time, if it does; `D configuration: what differs`; `E what` when the
 * case is no case; `A configurations bulks arguments footprints`, where devices with memory of their own could do
 * something ahead: configurations with such bulks; bulks that the one before was told of; those of them whose
 * arguments, and whose footprints, were there when they began; `. calls failed` at the end.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/redo.h"
#include "exec/device/dev.h"
#include "session/ddl/index_program.h"
#include "session/pool/bulk.h"
#include "session/pool/bulk_redo.h"
#include "session/pool/bulk_slices.h"
#include "../remove_tree.h"

enum { MAX_ROUTINES = 32, MAX_TABLES = 32, MAX_ARGS = 16, MAX_DIFFERENCES = 4, OTHERS = 2, WATCHERS = 2 };

typedef struct Lines {
    int64_t n, cap;
    char **items;
} Lines;
typedef struct Call {
    int routine, n_args;
    char *args[MAX_ARGS];
} Call;
/* SQL before a call. */
typedef struct Mix {
    int64_t at;
    int connection;
    char *sql;
} Mix;
typedef struct Config {
    char *strategy, *cuts, *flags, *settings, *name;
    int vector, threads;
} Config;
typedef struct Outcome {
    char sqlstate[6];
    char *message, *outs, *place, *said, *about;
} Outcome; /* outs: texts with tabs; place: "4 at RAISE", as far as it is known; said: notices; about: an error's
              detail, hint and names */

/* What was done ahead for bulks of devices with memory of their own. */
typedef struct Ahead {
    int64_t configs, bulks, arguments, footprints;
} Ahead;

typedef struct Case {
    Lines setup, tables, routines, configs;
    int64_t n_calls, cap_calls;
    Call *calls;
    int64_t n_mixes, cap_mixes, every; /* every: calls between digests */
    Mix *mixes;
    bool shown; /* the reference is printed */
} Case;

/* Digests of all tables, in the order in which they were read. */
typedef struct Digests {
    int64_t n, cap;
    uint64_t *of;
} Digests;
/* What calls and SQL between them gave, and the tables at the end; digests: of a reference. */
typedef struct Run {
    Outcome *calls;
    char **mixes; /* rows, or the error */
    Lines tables[MAX_TABLES];
    Digests digests;
} Run;

/* s runs the calls, others SQL between them, watchers read (flags r and c); those are there when a case has use for
 * them, since a session that is alone publishes no versions. */
typedef struct Conn {
    Database *db;
    Session *s, *others[OTHERS], *watchers[WATCHERS];
} Conn;

static void *check(void *p) {
    if (p) return p;
    fprintf(stderr, "driver: out of memory\n");
    exit(3);
}
static char *copy_text(const char *t) { return check(strdup(t)); }
static void lines_add(Lines *l, char *text) {
    if (l->n == l->cap) l->items = check(realloc(l->items, (size_t)(l->cap = l->cap * 2 + 16) * sizeof *l->items));
    l->items[l->n++] = text;
}
static void lines_free(Lines *l) {
    for (int64_t i = 0; i < l->n; i++) free(l->items[i]);
    free(l->items);
    *l = (Lines){0};
}
static void case_free(Case *k) {
    lines_free(&k->setup), lines_free(&k->tables), lines_free(&k->routines), lines_free(&k->configs);
    for (int64_t i = 0; i < k->n_calls; i++)
        for (int a = 0; a < k->calls[i].n_args; a++) free(k->calls[i].args[a]);
    free(k->calls);
    for (int64_t i = 0; i < k->n_mixes; i++) free(k->mixes[i].sql);
    free(k->mixes);
    *k = (Case){0};
}
static void outcome_clear(Outcome *o) {
    free(o->message), free(o->outs), free(o->place), free(o->said), free(o->about);
    *o = (Outcome){0};
}
static void run_new(const Case *k, Run *r) {
    *r = (Run){.calls = check(calloc((size_t)k->n_calls + 1, sizeof *r->calls)),
               .mixes = check(calloc((size_t)k->n_mixes + 1, sizeof *r->mixes))};
}
static void run_free(const Case *k, Run *r) {
    for (int64_t i = 0; i < k->n_calls; i++) outcome_clear(&r->calls[i]);
    for (int64_t i = 0; i < k->n_mixes; i++) free(r->mixes[i]);
    for (int t = 0; t < MAX_TABLES; t++) lines_free(&r->tables[t]);
    free(r->calls), free(r->mixes), free(r->digests.of);
    *r = (Run){0};
}

/* ---- sessions ------------------------------------------------------------------------------- */
/* With --recover: the directory that configurations have their databases in, with a redo log. */
static const char *recovered;

static bool open_database(const char *path, int threads, Conn *c, Err *e) {
    if (database_open(path, vfs_posix(), threads, 0, &c->db, e) != ST_OK) return false;
    return !path || (index_programs_of_all(&c->db->catalog, e) == ST_OK &&
                     database_replay(c->db, &bulk_redo_ops, e) == ST_OK && redo_start(c->db, e) == ST_OK);
}
static bool conn_open(Conn *c, const char *path, int threads, bool others) {
    *c = (Conn){0};
    Err e = {0};
    bool ok = open_database(path, threads, c, &e) && session_new(c->db, &c->s, &e) == ST_OK;
    for (int i = 0; ok && others && i < OTHERS; i++) ok = session_new(c->db, &c->others[i], &e) == ST_OK;
    for (int i = 0; ok && others && i < WATCHERS; i++) ok = session_new(c->db, &c->watchers[i], &e) == ST_OK;
    if (!ok) printf("E %s\n", e.message);
    return ok;
}
static void conn_close(Conn *c) {
    for (int i = 0; i < WATCHERS; i++)
        if (c->watchers[i]) session_free(c->watchers[i]);
    for (int i = 0; i < OTHERS; i++)
        if (c->others[i]) session_free(c->others[i]);
    if (c->s) session_free(c->s);
    if (c->db) database_close(c->db);
    *c = (Conn){0};
}

/* Appends to a text that grows. */
typedef struct Text {
    char *p;
    size_t n, cap;
} Text;
static void text_add(Text *t, const char *p, size_t n) {
    if (t->n + n + 1 > t->cap) t->p = check(realloc(t->p, t->cap = (t->n + n + 1) * 2));
    memcpy(t->p + t->n, p, n);
    t->p[t->n += n] = 0;
}
static void text_value(Text *t, Session *s, const Value *v, bool first) {
    if (!first) text_add(t, "\t", 1);
    if (v->is_null) {
        text_add(t, "\\N", 2);
        return;
    }
    Arena *a = check(arena_new(&s->account, &s->err));
    int64_t n = 0;
    const char *p = check(value_to_text(a, v, &n));
    text_add(t, p, (size_t)n);
    arena_free(a);
}

/* A row of a statement that ran, as text. */
static void row_text(Text *t, Statement *st, int64_t row) {
    for (int32_t k = 0; k < st->n_cols; k++) {
        Value v = {.is_null = true};
        if (st->values) {
            v = st->values[row * st->n_cols + k];
        } else if (st->is_text) {
            const char *x = st->text_rows[row][k];
            if (x) v = (Value){.type = type_make(T_TEXT), .u.str = str_make(x, (int64_t)strlen(x))};
        } else {
            const void *cell;
            bool null = true;
            if (rows_cell(st->rows, st->row_map ? st->row_map[row] : row, st->first_col + k, &cell, &null,
                          &st->session->err) == ST_OK &&
                !null) {
                v = (Value){.type = st->types[k]};
                memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
            }
        }
        text_value(t, st->session, &v, k == 0);
    }
}
/* What an error tells beside its message. */
static char *about(const char *detail, const char *hint, const ErrNames *names) {
    Text t = {0};
    text_add(&t, detail ? detail : "", detail ? strlen(detail) : 0);
    for (int i = -1; i < ERR_FIELDS; i++) {
        const char *x = i < 0 ? hint : names ? names->of[i] : NULL;
        text_add(&t, "|", 1);
        if (x) text_add(&t, x, strlen(x));
    }
    return t.p;
}
/* Notices of the call in hand. */
static Text heard;
static void hear(void *ctx, const SessionNotice *n) {
    (void)ctx;
    const char *groups[] = {n->severity, n->sqlstate, n->message, n->detail, n->hint, n->context};
    for (int i = 0; i < 6; i++) {
        text_add(&heard, groups[i], strlen(groups[i]));
        text_add(&heard, "|", 1);
    }
}
static void listen(Session *s) {
    heard = (Text){0};
    s->client.notice = hear;
}
static char *stop_listening(Session *s) {
    s->client.notice = NULL;
    return heard.p;
}
static bool run_sql(Session *s, const char *sql, Lines *rows) {
    Statement *st = NULL;
    int64_t used = 0;
    Slice text = slice_of(sql);
    while (text.len > 0) {
        if (statement_prepare(s, text, &st, &used) != ST_OK) return false;
        if (st && statement_run(st) != ST_OK) return statement_free(st), false;
        for (int64_t i = 0; st && rows && st->show_rows && i < st->n_rows; i++) {
            Text t = {0};
            row_text(&t, st, i);
            lines_add(rows, t.p ? t.p : copy_text(""));
        }
        statement_free(st);
        text.ptr += used, text.len -= used;
    }
    return true;
}
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static bool table_rows(Session *s, const char *table, Lines *out) {
    char sql[200];
    snprintf(sql, sizeof sql, "select * from %s", table);
    if (!run_sql(s, sql, out)) return false;
    if (out->n) qsort(out->items, (size_t)out->n, sizeof *out->items, by_text);
    return true;
}

/* ---- SQL between calls, readers ------------------------------------------------------------------- */
/* Its rows, in order of their texts, or its error. */
static char *run_mix(Session *s, const char *sql) {
    Lines rows = {0};
    Text t = {0};
    text_add(&t, "", 0);
    if (!run_sql(s, sql, &rows)) {
        text_add(&t, s->err.sqlstate, strlen(s->err.sqlstate));
        text_add(&t, " ", 1);
        text_add(&t, s->err.message, strlen(s->err.message));
    }
    if (rows.n) qsort(rows.items, (size_t)rows.n, sizeof *rows.items, by_text);
    for (int64_t i = 0; i < rows.n; i++) {
        text_add(&t, rows.items[i], strlen(rows.items[i]));
        text_add(&t, "; ", 2);
    }
    lines_free(&rows);
    return t.p;
}
static bool is_due(const Case *k, int64_t mix, int64_t at) { return mix < k->n_mixes && k->mixes[mix].at <= at; }
static char *run_mix_of(const Conn *c, const Mix *m) {
    return run_mix(m->connection == 0 ? c->s : c->others[m->connection - 1], m->sql);
}
static uint64_t digest_rows(const Lines *rows, uint64_t h) {
    for (int64_t i = 0; i < rows->n; i++) {
        for (const char *p = rows->items[i]; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
        h = (h ^ 10) * 1099511628211u;
    }
    return (h ^ 255) * 1099511628211u;
}
/* Of all tables as one snapshot has them; apart: in a statement each, while nothing changes. */
static bool digest_tables(const Case *k, Session *s, bool apart, uint64_t *out) {
    uint64_t h = 1469598103934665603u;
    Err why = {0}; /* ROLLBACK has none */
    bool ok = apart || run_sql(s, "begin", NULL);
    for (int64_t t = 0; ok && t < k->tables.n; t++) {
        Lines rows = {0};
        if ((ok = table_rows(s, k->tables.items[t], &rows))) h = digest_rows(&rows, h);
        lines_free(&rows);
    }
    *out = h;
    if (ok || apart) return apart ? ok : run_sql(s, "commit", NULL);
    err_copy(&why, &s->err);
    if (run_sql(s, "rollback", NULL)) err_copy(&s->err, &why);
    return false;
}
/* Not twice in a row. */
static bool digests_add(const Case *k, Session *s, bool apart, Digests *d) {
    uint64_t h;
    if (!digest_tables(k, s, apart, &h)) return false;
    if (d->n > 0 && d->of[d->n - 1] == h) return true;
    if (d->n == d->cap) d->of = check(realloc(d->of, (size_t)(d->cap = d->cap * 2 + 64) * sizeof *d->of));
    d->of[d->n++] = h;
    return true;
}
/* What a reader read comes in the reference in this order; the number of the first that does not, -1: all do. */
static int64_t not_in_order(const Digests *read, const Digests *reference) {
    for (int64_t i = 0, at = 0; i < read->n; i++) {
        while (at < reference->n && reference->of[at] != read->of[i]) at++;
        if (at == reference->n) return i;
    }
    return -1;
}
static bool is_in(uint64_t x, const Digests *d) {
    for (int64_t i = 0; i < d->n; i++)
        if (d->of[i] == x) return true;
    return false;
}

typedef struct Reader {
    const Case *k;
    Session *s;
    Digests read;
    atomic_bool stop;
    pthread_t thread;
    bool failed, apart;
} Reader;
static void read_now(void *ctx) {
    Reader *r = ctx;
    if (r->failed || digests_add(r->k, r->s, r->apart, &r->read)) return;
    /* Beside definitions, where its statements need the lock (a device may run them): it would try again. */
    r->failed = strcmp(r->s->err.sqlstate, ERR_SERIALIZATION_FAILURE) != 0;
}
static void *read_on(void *ctx) {
    Reader *r = ctx;
    while (!r->failed && !atomic_load(&r->stop)) {
        read_now(r);
        sched_yield();
    }
    return NULL;
}

/* reads: it will have a reader. */
static bool setup(const Case *k, Conn *c, const char *path, int threads, bool reads) {
    if (!conn_open(c, path, threads, reads || k->n_mixes > 0)) return false;
    for (int64_t i = 0; i < k->setup.n; i++)
        if (!run_sql(c->s, k->setup.items[i], NULL)) {
            printf("E %s: %s: %s\n", c->s->err.sqlstate, c->s->err.message, k->setup.items[i]);
            conn_close(c);
            return false;
        }
    return true;
}
static const Routine *routine_of(const Case *k, Session *s, int number) {
    const Routine *r = NULL;
    return session_bulk_routine(s, slice_of(k->routines.items[number]), &r) == ST_OK ? r : NULL;
}

/* ---- the reference ------------------------------------------------------------------------------ */
/* Where the routines were that it calls: the context's lines of functions before `end`. */
static void add_inner(Text *t, const char *context, const char *end) {
    for (const char *at = context; at && at < end; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, "PL/pgSQL function ", 18) != 0 && strncmp(at, "SQL function ", 13) != 0) continue;
        text_add(t, " < ", 3);
        text_add(t, at, strcspn(at, "\n"));
    }
}
/* Where the routine was: "4 at RAISE". NULL: the text does not say. */
static char *place_in(const char *context, const char *routine) {
    char what[100];
    int n = snprintf(what, sizeof what, "PL/pgSQL function %s(", routine);
    const char *at = NULL; /* the outermost one is the call's */
    for (const char *p = strstr(context, what); p; p = strstr(p + 1, what)) at = p;
    const char *line = at ? strstr(at + n, ") line ") : NULL, *end = line ? strchr(line, '\n') : NULL;
    if (!line || (strchr(at, '\n') && strchr(at, '\n') < line)) return NULL;
    Text t = {0};
    text_add(&t, line + 7, end ? (size_t)(end - line - 7) : strlen(line + 7));
    add_inner(&t, context, at);
    return t.p;
}
static bool one_call(const Case *k, Session *s, int64_t at, Statement **kept, Outcome *o) {
    const Call *x = &k->calls[at];
    const Routine *r = routine_of(k, s, x->routine);
    if (!r) return false;
    if (!kept[x->routine]) {
        Text t = {0};
        char piece[40];
        text_add(&t, r->is_procedure ? "call " : "select ", r->is_procedure ? 5 : 7);
        text_add(&t, r->name, strlen(r->name));
        text_add(&t, "(", 1);
        for (int i = 0, n = 0, args = 0; i < r->n_params; i++) {
            bool in = r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
            if (!in && !r->is_procedure) continue;
            int len = in ? snprintf(piece, sizeof piece, "%s$%d", args ? ", " : "", ++n)
                         : snprintf(piece, sizeof piece, "%snull", args ? ", " : "");
            text_add(&t, piece, (size_t)len);
            args++;
        }
        text_add(&t, ")", 1);
        int64_t used;
        Status st = statement_prepare(s, slice_of(t.p), &kept[x->routine], &used);
        free(t.p);
        if (st != ST_OK) return false;
    }
    Statement *st = kept[x->routine];
    statement_reset(st);
    for (int i = 0; i < x->n_args && i < st->n_params; i++) {
        statement_clear_param(st, i);
        if (strcmp(x->args[i], "\\N") == 0) continue;
        int64_t len = (int64_t)strlen(x->args[i]);
        char *copy = check(mem_alloc(&s->account, len + 1, &s->err));
        memcpy(copy, x->args[i], (size_t)len + 1);
        st->params[i] = (Value){.type = type_make(T_UNKNOWN), .u.str = str_make(copy, len)};
    }
    outcome_clear(o);
    const bool in_block = s->state == 'T'; /* a call that fails ends it otherwise */
    if (in_block && !run_sql(s, "savepoint of_call", NULL)) return false;
    listen(s);
    Status ran = statement_run(st);
    o->said = stop_listening(s);
    if (ran == ST_OK && in_block && !run_sql(s, "release of_call", NULL)) return false;
    if (ran != ST_OK) {
        memcpy(o->sqlstate, s->err.sqlstate, sizeof o->sqlstate);
        o->message = copy_text(s->err.message);
        ErrNames names = err_names_of(&s->err);
        o->about = about(s->err.detail, s->err.hint, &names);
        o->place = place_in(s->err.context, r->name);
        return !in_block || run_sql(s, "rollback to of_call; release of_call", NULL);
    }
    Text t = {0};
    if (st->show_rows && st->n_rows > 0) row_text(&t, st, 0);
    o->outs = t.p;
    return true;
}

/* ---- bulks --------------------------------------------------------------------------------------- */
/* The calls [from, to) as parts of a bulk. */
typedef struct Piece {
    Arena *arena;
    int64_t from, to;
    int n_groups;
    BulkCalls groups[MAX_ROUTINES];
    int64_t ids[MAX_ROUTINES]; /* of their routines */
    uint64_t ticket;
    bool told;
} Piece;
static void piece_free(Piece *x) {
    arena_free(x->arena);
    *x = (Piece){0};
}
static bool make_piece(const Case *k, Session *s, int64_t from, int64_t to, Piece *piece) {
    int n_routines = (int)k->routines.n;
    Arena *a = check(arena_new(&s->db->account, &s->err));
    bool ok = true;
    *piece = (Piece){.arena = a, .from = from, .to = to};
    for (int p = 0; p < n_routines && ok; p++) {
        const Routine *r = routine_of(k, s, p);
        int64_t n = 0;
        for (int64_t c = from; c < to; c++) n += k->calls[c].routine == p;
        if (n == 0) continue;
        if (!r) return false;
        Vec *v = check(arena_calloc(a, (MAX_ARGS + 1) * (int64_t)sizeof *v));
        uint32_t *calls = check(arena_calloc(a, n * (int64_t)sizeof *calls + 8));
        int in = 0;
        for (int i = 0; i < r->n_params; i++) {
            if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
            Type t = r->param_types[i];
            int64_t size = phys_size(type_phys(t)), at = 0;
            v[in] = (Vec){.phys = (uint8_t)type_phys(t),
                          .type = t,
                          .data = check(arena_calloc(a, (n + 1) * size)),
                          .valid = check(arena_calloc(a, n + 1))};
            for (int64_t c = from; c < to && ok; c++) {
                if (k->calls[c].routine != p) continue;
                const char *text = k->calls[c].args[in];
                Value x;
                if (strcmp(text, "\\N") != 0) {
                    ok = value_from_text(t, slice_of(text), NULL, a, &x, &s->err) == ST_OK;
                    if (ok) memcpy((char *)v[in].data + at * size, value_cell(&x), (size_t)size);
                    v[in].valid[at] = 1;
                }
                at++;
            }
            in++;
        }
        for (int64_t c = from, at = 0; c < to; c++)
            if (k->calls[c].routine == p) calls[at++] = (uint32_t)(c - from);
        piece->ids[piece->n_groups] = r->id;
        piece->groups[piece->n_groups++] = (BulkCalls){.routine = r, .n = n, .params = v, .calls = calls};
    }
    return ok;
}
static bool next_piece(void *ctx, int32_t *n_groups, const BulkCalls **groups) {
    const Piece *x = ctx;
    *n_groups = x->n_groups;
    *groups = x->groups;
    return true;
}
/* Bulks run compiled on a device with memory of its own, and have footprints. */
static bool works_ahead(Session *s) {
    DeviceUse use;
    if (strcmp(s->settings.exec.executor, "compiled") != 0 || strcmp(s->settings.bulk.strategy, "serial") == 0)
        return false;
    if (session_device_use(s, NULL, &use) != ST_OK || !use.runtime) return false; /* the bulk tells why */
    return s->settings.bulk.copies || !dev_runtime_device(use.runtime)->info.shares_memory;
}
static void count_ahead(Ahead *x, const BulkStats *stats) {
    x->bulks++;
    x->arguments += stats->prefetched;
    x->footprints += stats->foot_prefetched;
}
/* next: what comes then, NULL: nobody knows; its arguments may be sent ahead. piece->told: the bulk before was given
 * this one. sequence[from ..]: the calls in the order that the result stands for. */
static bool bulk_piece(const Case *k, Session *s, const Piece *piece, Piece *next, Outcome *out, BulkStats *stats,
                       Ahead *ahead, int64_t *sequence) {
    const int64_t from = piece->from, to = piece->to;
    const int n_groups = piece->n_groups;
    const BulkCalls *groups = piece->groups;
    BulkResult *b = NULL;
    bool ok = true;
    if (n_groups > 0) {
        CallPipeline pipeline = {.next = next ? next_piece : NULL, .ctx = next, .ticket = piece->ticket};
        atomic_store(&s->cancel, false);
        err_clear(&s->err);
        Status st = session_bulk_run_sliced(s, n_groups, groups, &pipeline, &b);
        ok = session_end_statement(s, st) == ST_OK;
        if (next) next->ticket = pipeline.next_ticket, next->told = true;
        if (ok && piece->told) count_ahead(ahead, &b->stats);
    }
    for (int p = 0; p < n_groups && ok; p++) {
        const Routine *r = groups[p].routine;
        int n_outs = 0;
        for (int i = 0; i < r->n_params; i++) n_outs += r->param_modes[i] != 'i';
        if (n_outs == 0 && !r->is_procedure) n_outs = 1;
        for (int64_t i = 0; i < groups[p].n; i++) {
            Outcome *o = &out[from + groups[p].calls[i]];
            const CallError *e = b->errors[p][i];
            outcome_clear(o);
            listen(s);
            session_bulk_notices(s, b, p, i, 1);
            o->said = stop_listening(s);
            if (e) {
                char place[100];
                Text where = {0};
                snprintf(place, sizeof place, "%d at %s", (int)e->line, e->place ? e->place : "");
                text_add(&where, place, strlen(place));
                if (e->context) add_inner(&where, e->context, e->context + strlen(e->context));
                memcpy(o->sqlstate, e->sqlstate, sizeof o->sqlstate);
                o->message = copy_text(e->message ? e->message : "");
                o->about = about(e->detail, e->hint, e->names);
                o->place = e->line > 0 && e->place ? where.p : NULL;
                if (!o->place) free(where.p);
                continue;
            }
            Text t = {0};
            for (int q = 0; q < n_outs; q++) {
                const Vec *x = &b->outs[p][q];
                Value val = {.type = x->type, .is_null = x->valid && !x->valid[i]};
                int64_t size = phys_size((Phys)x->phys);
                if (!val.is_null) memcpy(value_cell(&val), (const char *)x->data + i * size, (size_t)size);
                text_value(&t, s, &val, q == 0);
            }
            o->outs = t.p;
        }
    }
    for (int64_t c = from; c < to; c++) sequence[c] = c;
    for (int64_t p = 0, at = from; ok && b && b->group_order && p < n_groups; p++) {
        const BulkCalls *x = &groups[b->group_order[p]];
        for (int64_t i = 0; i < x->n; i++) sequence[at++] = from + x->calls[i];
    }
    if (b) {
        stats->n_ops += b->stats.n_ops;
        stats->depth = MAX_OF(stats->depth, b->stats.depth);
        stats->strategy = b->stats.strategy;
        bulk_result_free(b);
    }
    (void)k;
    return ok;
}

static bool has(const Config *g, char flag) { return strchr(g->flags, flag) != NULL; }

/* Where the piece from `from` on ends: at the next cut or SQL. */
static int64_t next_cut(const Case *k, const char **cuts, int64_t from) {
    char *end = NULL;
    int64_t to = k->n_calls;
    if (**cuts && **cuts != '-') to = MIN_OF((int64_t)strtol(*cuts, &end, 10), k->n_calls);
    for (int64_t i = 0; i < k->n_mixes && k->mixes[i].at < to; i++)
        if (k->mixes[i].at > from) return k->mixes[i].at;
    if (end) *cuts = *end == ',' ? end + 1 : end;
    return to;
}
/* SQL between pieces; definitions may have moved. */
static void between_pieces(const Case *k, const Conn *c, int64_t from, int64_t *next_mix, Piece *now, char **mixes) {
    const int64_t before = *next_mix;
    for (; is_due(k, *next_mix, from); ++*next_mix) mixes[*next_mix] = run_mix_of(c, &k->mixes[*next_mix]);
    for (int g = 0; *next_mix > before && now->arena && g < now->n_groups; g++) {
        const Routine *r = NULL;
        for (int p = 0; p < k->routines.n && !(r && r->id == now->ids[g]); p++) r = routine_of(k, c->s, p);
        now->groups[g].routine = r;
    }
}
/* All calls, cut as the configuration says. Bulks are told what comes next, but for flag n; where calls run one by one
 * in between, that was not true. */
static bool run_pieces(const Case *k, const Config *g, const Conn *c, Run *run, BulkStats *stats, Ahead *ahead,
                       int64_t *sequence, Reader *reader) {
    Session *s = c->s;
    Statement *kept[MAX_ROUTINES] = {0};
    int64_t from = 0, next_mix = 0;
    bool ok = true;
    const char *cuts = g->cuts;
    Piece pieces[2] = {{0}, {0}}; /* this one and the next */
    int64_t to = next_cut(k, &cuts, 0);
    for (int piece = 0; ok && from < k->n_calls; piece++) {
        const int64_t end = MAX_OF(from, to), then = end < k->n_calls ? next_cut(k, &cuts, end) : k->n_calls;
        Piece *now = &pieces[piece % 2], *next = &pieces[(piece + 1) % 2];
        between_pieces(k, c, from, &next_mix, now, run->mixes);
        if (has(g, 'r')) read_now(reader);
        if (has(g, 'm') && piece % 2 == 1) {
            for (int64_t x = from; ok && x < to; x++) ok = one_call(k, s, sequence[x] = x, kept, &run->calls[x]);
        } else if (to > from) {
            if (!now->arena) ok = make_piece(k, s, from, to, now);
            if (ok && then > to && !has(g, 'n')) ok = make_piece(k, s, to, then, next);
            ok = ok && bulk_piece(k, s, now, next->arena ? next : NULL, run->calls, stats, ahead, sequence);
        }
        piece_free(now);
        if (has(g, 'r')) read_now(reader);
        for (int64_t t = 0; ok && has(g, 's') && t < k->tables.n; t++) {
            Lines rows = {0};
            ok = table_rows(s, k->tables.items[t], &rows);
            lines_free(&rows);
        }
        from = end;
        to = then;
    }
    if (ok) between_pieces(k, c, k->n_calls, &next_mix, &pieces[0], run->mixes);
    if (has(g, 'r')) read_now(reader);
    for (int i = 0; i < 2; i++) piece_free(&pieces[i]);
    for (int r = 0; r < MAX_ROUTINES; r++) statement_free(kept[r]);
    return ok;
}

/* ---- comparison ------------------------------------------------------------------------------------- */
static const char *text_or(const char *t, const char *none) { return t ? t : none; }
/* One error with two messages, by who finds it: expressions alone or in programs. */
static const char *message_of(const Outcome *o) {
    if (strcmp(o->sqlstate, "22003") == 0 && o->message && strcmp(o->message, "value overflows numeric format") == 0)
        return "numeric field overflow";
    return text_or(o->message, "");
}
/* An UPDATE in a bulk does not tell the row that it fails for: another call may be changing its other columns. Of
 * several sums that leave their columns' ranges it may tell another one (docs/STATUS.md). */
static bool told_alike(const Outcome *a, const Outcome *b) {
    static const char row[] = "Failing row contains (", field[] = "A field with precision ";
    const char *x = text_or(a->about, ""), *y = text_or(b->about, "");
    if (strncmp(x, field, sizeof field - 1) == 0 && strncmp(y, field, sizeof field - 1) == 0)
        x = strchr(x, '|'), y = strchr(y, '|');
    if (y[0] == '|' && strncmp(x, row, sizeof row - 1) == 0 && strstr(x, ").|")) x = strstr(x, ").|") + 2;
    return strcmp(x, y) == 0;
}
/* Long contexts are cut: then there is no place. Recursion ends where the thread's stack does, which is at another
 * statement of the routine when other functions of the library are below it: of that the outermost place counts. */
static bool placed_alike(const Outcome *a, const Outcome *b) {
    const char *x = a->place, *y = text_or(b->place, "");
    if (!x) return true;
    if (strcmp(a->sqlstate, "54001") != 0) return strcmp(x, y) == 0;
    size_t n = strcspn(x, "<");
    return n == strcspn(y, "<") && strncmp(x, y, n) == 0;
}
static int compare_mixes(const Case *k, const Config *g, char *const *want, char *const *got) {
    int n = 0;
    for (int64_t i = 0; i < k->n_mixes && n < MAX_DIFFERENCES; i++) {
        if (strcmp(want[i], text_or(got[i], "")) == 0) continue;
        n++;
        printf("D %s: before call %lld: %.200s: one by one %.500s, in bulk %.500s\n", g->name,
               (long long)k->mixes[i].at, k->mixes[i].sql, want[i], text_or(got[i], ""));
    }
    return n;
}
static int compare(const Case *k, const Config *g, Session *s, const Run *reference, const Run *run) {
    const Outcome *want = reference->calls, *got = run->calls;
    const Lines *tables = reference->tables;
    int n = compare_mixes(k, g, reference->mixes, run->mixes);
    for (int64_t i = 0; i < k->n_calls && n < MAX_DIFFERENCES; i++) {
        const Outcome *a = &want[i], *b = &got[i];
        if (placed_alike(a, b) && strcmp(a->sqlstate, b->sqlstate) == 0 && strcmp(message_of(a), message_of(b)) == 0 &&
            strcmp(text_or(a->outs, ""), text_or(b->outs, "")) == 0 &&
            strcmp(text_or(a->said, ""), text_or(b->said, "")) == 0 && told_alike(a, b))
            continue;
        n++;
        printf("D %s: call %lld of %s: one by one %s %s, in bulk %s %s (line %s, %s) [%s] [%s] [%s] [%s]\n", g->name,
               (long long)i, k->routines.items[k->calls[i].routine], a->sqlstate[0] ? a->sqlstate : "gives",
               a->sqlstate[0] ? a->message : text_or(a->outs, ""), b->sqlstate[0] ? b->sqlstate : "gives",
               b->sqlstate[0] ? b->message : text_or(b->outs, ""), text_or(a->place, "-"), text_or(b->place, "-"),
               text_or(a->said, ""), text_or(b->said, ""), text_or(a->about, ""), text_or(b->about, ""));
    }
    for (int64_t t = 0; t < k->tables.n; t++) {
        Lines rows = {0};
        if (!table_rows(s, k->tables.items[t], &rows)) {
            printf("D %s: table %s cannot be read: %s\n", g->name, k->tables.items[t], s->err.message);
            n++;
            continue;
        }
        int64_t i = 0, j = 0;
        for (int shown = 0; (i < tables[t].n || j < rows.n) && shown < MAX_DIFFERENCES;) {
            int c = i == tables[t].n ? 1 : j == rows.n ? -1 : strcmp(tables[t].items[i], rows.items[j]);
            if (c != 0)
                printf("D %s: table %s: %s row %s\n", g->name, k->tables.items[t], c < 0 ? "misses" : "has",
                       c < 0 ? tables[t].items[i] : rows.items[j]),
                    n++, shown++;
            i += c <= 0, j += c >= 0;
        }
        lines_free(&rows);
    }
    return n;
}

/* What readers read: tables of the reference, in their order. */
static void compare_reads(const Config *g, const Run *reference, const Reader *readers) {
    for (int i = 0; i < WATCHERS; i++) {
        const Reader *r = &readers[i];
        if (r->failed) printf("D %s: a reader: %s: %s\n", g->name, r->s->err.sqlstate, r->s->err.message);
        const int64_t at = r->failed ? -1 : not_in_order(&r->read, &reference->digests);
        if (at >= 0)
            printf("D %s: a reader: of %lld different ones read %lld is %s\n", g->name, (long long)r->read.n,
                   (long long)at,
                   is_in(r->read.of[at], &reference->digests) ? "older than the one before"
                                                              : "after no number of calls");
        if (r->read.n > 0) printf("B %lld\n", (long long)r->read.n);
    }
}

/* The calls one by one in the order `sequence`, in a database of their own. reads: with digests of the tables. */
static bool run_reference(const Case *k, const int64_t *sequence, bool reads, Conn *c, Run *want) {
    Statement *kept[MAX_ROUTINES] = {0};
    const int64_t every = MAX_OF(k->every, (int64_t)1);
    int64_t next_mix = 0;
    bool ok = true;
    for (int64_t i = 0; ok && i <= k->n_calls; i++) {
        if (reads && (i % every == 0 || i == k->n_calls || is_due(k, next_mix, i)))
            ok = digests_add(k, c->watchers[0], false, &want->digests);
        for (; ok && is_due(k, next_mix, i); next_mix++) {
            want->mixes[next_mix] = run_mix_of(c, &k->mixes[next_mix]);
            ok = !reads || digests_add(k, c->watchers[0], false, &want->digests);
        }
        if (i == k->n_calls || !ok) break;
        const int64_t call = sequence ? sequence[i] : i;
        if (!(ok = one_call(k, c->s, call, kept, &want->calls[call])))
            printf("E call %lld: %s\n", (long long)call, c->s->err.message);
    }
    for (int64_t t = 0; ok && t < k->tables.n; t++)
        if (!(ok = table_rows(c->s, k->tables.items[t], &want->tables[t]))) printf("E %s\n", c->s->err.message);
    for (int r = 0; r < MAX_ROUTINES; r++) statement_free(kept[r]);
    return ok;
}
static void compare_in_order(const Case *k, const Config *g, Session *s, const Run *got, const int64_t *sequence,
                             const Reader *readers) {
    Conn c;
    const bool reads = has(g, 'r') || has(g, 'c');
    if (!setup(k, &c, NULL, 1, reads)) return;
    Run want;
    run_new(k, &want);
    if (run_reference(k, sequence, reads, &c, &want)) {
        compare(k, g, s, &want, got);
        if (reads) compare_reads(g, &want, readers);
    }
    run_free(k, &want);
    conn_close(&c);
}

static bool restore(const Case *k, Session *s) {
    char sql[300];
    for (int64_t t = k->tables.n - 1; t >= 0; t--) { /* tables refer to earlier ones */
        snprintf(sql, sizeof sql, "delete from %s", k->tables.items[t]);
        if (!run_sql(s, sql, NULL)) return false;
    }
    for (int64_t t = 0; t < k->tables.n; t++) {
        const char *name = k->tables.items[t];
        snprintf(sql, sizeof sql, "insert into %s select * from orig_%s", name, name);
        if (!run_sql(s, sql, NULL)) return false;
    }
    return true;
}
static void failed(const Config *g, Session *s, const char *what) {
    printf("D %s: %s: %s: %s\n", g->name, what, s->err.sqlstate, s->err.message);
}

/* The first one is flag r, the second, another thread, flag c. */
static void readers_start(const Case *k, const Config *g, const Conn *c, const char *settings, Reader *r) {
    for (int i = 0; i < WATCHERS; i++) r[i] = (Reader){.k = k, .s = c->watchers[i]};
    for (int i = 0; i < WATCHERS && c->watchers[i]; i++) /* bulks may compile kernels for as long as they want */
        r[i].failed = !run_sql(r[i].s, "set lock_timeout = 0", NULL);
    r[0].apart = has(g, 'd');
    r[0].failed |= r[0].apart && !run_sql(r[0].s, settings, NULL);
    if (has(g, 'r')) bulk_slices_watch(read_now, &r[0]);
    if (has(g, 'c') && pthread_create(&r[1].thread, NULL, read_on, &r[1]) != 0) r[1].thread = 0, r[1].failed = true;
}
static void readers_stop(const Config *g, Reader *r) {
    if (has(g, 'r')) bulk_slices_watch(NULL, NULL);
    if (!has(g, 'c') || !r[1].thread) return;
    atomic_store(&r[1].stop, true);
    pthread_join(r[1].thread, NULL);
    read_now(&r[1]); /* at least once */
}
/* Leaves the database as a crash does, and opens it again: tables are what they were. */
static void crash(const Case *k, const Config *g, Conn *c) {
    Lines before[MAX_TABLES] = {{0}};
    bool ok = true;
    for (int64_t t = 0; ok && t < k->tables.n; t++)
        if (!(ok = table_rows(c->s, k->tables.items[t], &before[t]))) failed(g, c->s, "reading a table");
    conn_close(c);
    ok = ok && conn_open(c, recovered, g->threads, false);
    for (int64_t t = 0; ok && t < k->tables.n; t++) {
        Lines rows = {0};
        if (!table_rows(c->s, k->tables.items[t], &rows)) failed(g, c->s, "reading a table that was recovered");
        int64_t i = 0;
        while (i < rows.n && i < before[t].n && strcmp(rows.items[i], before[t].items[i]) == 0) i++;
        if (i < rows.n || i < before[t].n)
            printf("D %s: recovered: table %s: %s, and had %s\n", g->name, k->tables.items[t],
                   i < rows.n ? rows.items[i] : "no more", i < before[t].n ? before[t].items[i] : "no more");
        lines_free(&rows);
    }
    for (int t = 0; t < MAX_TABLES; t++) lines_free(&before[t]);
}
static void run_config(const Case *k, const Config *g, const Run *want, Ahead *ahead) {
    Conn c;
    if (recovered) remove_tree(recovered);
    if (!setup(k, &c, recovered, g->threads, has(g, 'r') || has(g, 'c'))) return;
    char sql[400];
    snprintf(sql, sizeof sql,
             "set log_verify = on; set bulk_strategy = '%s'; set vector_size = %d; set threads = %d; %s", g->strategy,
             g->vector, g->threads, g->settings);
    Run got;
    run_new(k, &got);
    int64_t *sequence = check(calloc((size_t)k->n_calls + 1, sizeof *sequence));
    BulkStats stats = {0};
    Ahead own = {0};
    Reader readers[WATCHERS];
    bool ok = run_sql(c.s, sql, NULL);
    if (!ok) failed(g, c.s, "settings");
    readers_start(k, g, &c, sql, readers);
    for (int64_t t = 0; ok && has(g, 'x') && t < k->tables.n; t++) {
        snprintf(sql, sizeof sql, "create table orig_%s as select * from %s", k->tables.items[t], k->tables.items[t]);
        if (!(ok = run_sql(c.s, sql, NULL))) failed(g, c.s, "copy");
    }
    if (ok && has(g, 'q')) {
        if (!(ok = run_sql(c.s, "begin", NULL) && run_pieces(k, g, &c, &got, &stats, &own, sequence, readers) &&
                   run_sql(c.s, "rollback", NULL)))
            failed(g, c.s, "a bulk that is rolled back");
    }
    for (int round = 0; ok && round < (has(g, 'x') ? 2 : 1); round++) {
        if (round > 0 && !(ok = restore(k, c.s))) failed(g, c.s, "putting tables back");
        if (ok && has(g, 't')) ok = run_sql(c.s, "begin", NULL);
        if (ok && !(ok = run_pieces(k, g, &c, &got, &stats, &own, sequence, readers))) failed(g, c.s, "a bulk");
        if (ok && has(g, 't')) ok = run_sql(c.s, "commit", NULL);
        if (ok && !has(g, 'o') && compare(k, g, c.s, want, &got) > 0) break;
    }
    readers_stop(g, readers);
    if (ok && has(g, 'o')) compare_in_order(k, g, c.s, &got, sequence, readers);
    else if (ok && (has(g, 'r') || has(g, 'c'))) compare_reads(g, want, readers);
    free(sequence);
    for (int i = 0; i < WATCHERS; i++) free(readers[i].read.of);
    if (own.bulks > 0 && works_ahead(c.s)) {
        ahead->configs++;
        ahead->bulks += own.bulks, ahead->arguments += own.arguments, ahead->footprints += own.footprints;
    }
    if (ok && has(g, 'f'))
        printf("F %s: %lld operations, depth %lld, strategy %d\n", g->name, (long long)stats.n_ops,
               (long long)stats.depth, (int)stats.strategy);
    run_free(k, &got);
    if (ok && recovered) crash(k, g, &c);
    conn_close(&c);
}

/* Which routines run in bulk. */
static void print_compiled(const Case *k, Session *s) {
    for (int64_t i = 0; i < k->routines.n; i++) {
        char sql[200];
        Lines rows = {0};
        const Routine *r = routine_of(k, s, (int)i);
        snprintf(sql, sizeof sql, "explain %s %s", r && !r->is_procedure ? "function" : "procedure",
                 k->routines.items[i]);
        if (!run_sql(s, sql, &rows)) printf("P %s\t%s\n", k->routines.items[i], s->err.message);
        const char *why = rows.n ? strstr(rows.items[0], " runs one call at a time: ") : NULL;
        if (rows.n) printf("P %s\t%s\n", k->routines.items[i], why ? why + 26 : "");
        lines_free(&rows);
    }
}

static char *field(char **at) {
    char *f = *at, *tab = f ? strchr(f, '\t') : NULL;
    *at = tab ? tab + 1 : NULL;
    if (tab) *tab = 0;
    return f;
}
static char *field_or_empty(char **at) {
    char *f = field(at);
    static char empty[1] = "";
    return f ? f : empty;
}

/* A line's text: no new lines within. */
static void show_text(const char *t) {
    for (; *t; t++) putchar(*t == '\n' ? ' ' : *t);
}
static void show_reference(const Case *k, const Outcome *o, const Lines *tables) {
    for (int64_t i = 0; i < k->n_calls; i++) {
        printf("O %s\t", o[i].sqlstate);
        show_text(text_or(o[i].message, ""));
        printf("\t%s\t", text_or(o[i].place, ""));
        show_text(text_or(o[i].about, ""));
        putchar('\t');
        show_text(text_or(o[i].outs, ""));
        putchar('\n');
    }
    for (int64_t t = 0; t < k->tables.n; t++)
        for (int64_t i = 0; i < tables[t].n; i++) {
            printf("W %d\t", (int)t);
            show_text(tables[t].items[i]);
            putchar('\n');
        }
}

/* By its fields, which point into `line`. */
static Config config_of(const char *name, char *line) {
    char *at = line;
    Config x = {.name = (char *)(uintptr_t)name};
    x.strategy = field_or_empty(&at);
    x.vector = atoi(field_or_empty(&at));
    x.threads = atoi(field_or_empty(&at));
    x.cuts = field_or_empty(&at);
    x.flags = field_or_empty(&at);
    x.settings = field_or_empty(&at);
    return x;
}
static bool some_read(const Case *k) {
    bool some = false;
    for (int64_t g = 0; g < k->configs.n; g++) {
        char *line = copy_text(k->configs.items[g]);
        const Config x = config_of(NULL, line);
        some |= has(&x, 'r') || has(&x, 'c');
        free(line);
    }
    return some;
}
static void run_case(const Case *k) {
    Conn c;
    const bool reads = some_read(k);
    if (!setup(k, &c, NULL, 1, reads)) return;
    print_compiled(k, c.s);
    Run want;
    run_new(k, &want);
    bool ok = run_reference(k, NULL, reads, &c, &want);
    int64_t n_failed = 0;
    Ahead ahead = {0};
    for (int64_t i = 0; ok && i < k->n_calls; i++) n_failed += want.calls[i].sqlstate[0] != 0;
    conn_close(&c);
    if (ok && k->shown) show_reference(k, want.calls, want.tables);
    for (int64_t g = 0; ok && g < k->configs.n; g++) {
        char *line = copy_text(k->configs.items[g]);
        const Config x = config_of(k->configs.items[g], line);
        run_config(k, &x, &want, &ahead);
        fflush(stdout);
        free(line);
    }
    run_free(k, &want);
    if (ahead.configs > 0)
        printf("A %lld %lld %lld %lld\n", (long long)ahead.configs, (long long)ahead.bulks, (long long)ahead.arguments,
               (long long)ahead.footprints);
    printf(". %lld %lld\n", (long long)k->n_calls, (long long)n_failed);
}

static bool read_mix(Case *k, char *at) {
    if (k->n_mixes == k->cap_mixes)
        k->mixes = check(realloc(k->mixes, (size_t)(k->cap_mixes = k->cap_mixes * 2 + 64) * sizeof *k->mixes));
    Mix *m = &k->mixes[k->n_mixes++];
    *m = (Mix){.at = atoll(field_or_empty(&at))};
    m->connection = atoi(field_or_empty(&at));
    m->sql = copy_text(at ? at : "");
    for (char *p = m->sql; *p; p++)
        if (*p == '\t') *p = '\n';
    return m->connection >= 0 && m->connection <= OTHERS && (k->n_mixes < 2 || m[-1].at <= m->at);
}
static bool read_call(Case *k, char *at) {
    if (k->n_calls == k->cap_calls)
        k->calls = check(realloc(k->calls, (size_t)(k->cap_calls = k->cap_calls * 2 + 64) * sizeof *k->calls));
    Call *c = &k->calls[k->n_calls++];
    *c = (Call){.routine = atoi(field_or_empty(&at))};
    while (at && c->n_args < MAX_ARGS) c->args[c->n_args++] = copy_text(field(&at));
    return c->routine >= 0 && c->routine < k->routines.n;
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    Case k = {0};
    if (argc > 2 && strcmp(argv[1], "--recover") == 0) recovered = argv[2];
    while ((n = getline(&line, &cap, stdin)) > 0) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        char *rest = line[0] && line[1] ? line + 2 : line + 1;
        bool ok = true;
        switch (line[0]) {
        case 'S':
            for (char *c = rest; *c; c++)
                if (*c == '\t') *c = '\n';
            lines_add(&k.setup, copy_text(rest));
            break;
        case 'T': lines_add(&k.tables, copy_text(rest)), ok = k.tables.n <= MAX_TABLES; break;
        case 'R': lines_add(&k.routines, copy_text(rest)), ok = k.routines.n <= MAX_ROUTINES; break;
        case 'G': lines_add(&k.configs, copy_text(rest)); break;
        case 'C': ok = read_call(&k, rest); break;
        case 'E': k.every = atoll(rest); break;
        case 'M': ok = read_mix(&k, rest); break;
        case 'V': k.shown = true; break;
        case '.':
            run_case(&k);
            printf("=\n");
            fflush(stdout);
            case_free(&k);
            break;
        default: ok = false;
        }
        if (!ok) {
            fprintf(stderr, "driver: %s\n", line);
            return 2;
        }
    }
    case_free(&k);
    free(line);
    return 0;
}
