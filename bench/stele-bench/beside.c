/* beside.c - readers and callers beside a transaction benchmark (beside.h). */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "beside.h"

enum { CALLS_MOST = 100 /* of a statement */, VACUUM_EACH = 40 };

typedef struct Connection {
    Beside *all;
    stele_conn *c;
    int k; /* of the readers, or of the callers */
    pthread_t thread;
    bool started, reads;
    bool wrong;
    char why[WHY_MAX];
    int64_t looks, statements, conflicts;
    Maker maker;
    BesideTotals totals;
} Connection;
struct Beside {
    stele_db *db;
    const char *settings;
    const Workload *w;
    const Routine *const *routines;
    const OltpOptions *o;
    atomic_bool stop;
    int n;
    Connection connections[];
};

static void go_wrong(Connection *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void go_wrong(Connection *x, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(x->why, sizeof x->why, fmt, args);
    va_end(args);
    x->wrong = true;
    fprintf(stderr, "stele-bench %s: %s %d beside: %s\n", x->all->w->name, x->reads ? "reader" : "caller", x->k + 1,
            x->why);
}
/* What a statement gave, a row at a time. */
typedef void (*RowFn)(Connection *x, stele_stmt *st, void *ctx);
enum { OK, CONFLICT, CALL_FAILED, FAILED }; /* CALL_FAILED: a single call raised an error */
static int run(Connection *x, const char *sql, RowFn row, void *ctx, bool call) {
    stele_stmt *st = NULL;
    stele_status s = stele_prepare(x->c, sql, -1, &st, NULL);
    if (s == STELE_OK && st)
        while ((s = stele_step(st)) == STELE_ROW)
            if (row) row(x, st, ctx);
    x->statements++;
    int how = OK;
    if (s == STELE_ERROR) {
        stele_error_info e;
        stele_error(x->c, &e);
        how = strcmp(e.sqlstate, "40001") == 0 ? CONFLICT : call ? CALL_FAILED : FAILED;
        if (how == FAILED) go_wrong(x, "%s: %s: %.300s", e.sqlstate, e.message, sql);
        if (how == CONFLICT) x->conflicts++;
    }
    stele_finalize(st);
    return how;
}

/* ---- readers ---- */
/* What names a figure of the run holds at its end only. */
static bool is_for_readers(const char *check) { return strchr(check, '{') == NULL; }
static void take_truth(Connection *x, stele_stmt *st, void *ctx) {
    const char *cell = stele_column_text(st, 0, NULL);
    (void)x;
    *(bool *)ctx = cell && strcmp(cell, "t") == 0;
}
static void look(Connection *x, int i) {
    const char *sql = x->all->w->checks[i];
    bool holds = false;
    if (run(x, sql, take_truth, &holds, false) != OK) {
        if (!x->wrong) go_wrong(x, "invariant %d ends in a conflict", i + 1); /* who only reads never has one */
        return;
    }
    x->looks++;
    if (!holds) go_wrong(x, "invariant %d does not hold: %.300s", i + 1, sql);
}
static void read_round(Connection *x, int64_t round) {
    const bool block = (x->k + round) % 2 == 1;
    if (block) (void)run(x, "begin", NULL, NULL, false);
    for (int i = 0; x->all->w->checks[i] && !x->wrong; i++)
        if (is_for_readers(x->all->w->checks[i])) look(x, i);
    if (block && !x->wrong && run(x, "commit", NULL, NULL, false) == CONFLICT)
        go_wrong(x, "a transaction that only reads ends in a conflict");
}

/* ---- callers ---- */
static void print_cell(FILE *f, const Cell *c, Type type) {
    switch (type.id) {
    case T_ARRAY:
        fputs("array[", f);
        for (int i = 0; i < c->n; i++) fprintf(f, i ? ", %d" : "%d", c->items[i]);
        fputc(']', f);
        break;
    case T_TIMESTAMP: fprintf(f, "timestamp '2000-01-01' + interval '%lld microseconds'", (long long)c->v); break;
    case T_DECIMAL:
    case T_NUMERIC:
        fprintf(f, "%s%lld.%02lld", c->v < 0 ? "-" : "", llabs((long long)c->v) / 100, llabs((long long)c->v) % 100);
        break;
    case T_VARCHAR:
    case T_CHAR:
    case T_TEXT: fprintf(f, "'%.*s'", c->len, c->text); break;
    default: fprintf(f, "%lld", (long long)c->v);
    }
}
static void print_call(FILE *f, Connection *x, int type, bool outs) {
    const Routine *r = x->all->routines[type];
    Cell cells[COLS_MAX];
    for (int k = 0; k < COLS_MAX; k++) cells[k].v = 0, cells[k].len = 0, cells[k].n = 0;
    x->all->w->make(&x->maker, type, cells);
    x->maker.n_total++;
    fputc('(', f);
    for (int i = 0, col = 0; i < r->n_params; i++) {
        const bool in = r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
        if (!in && !outs) continue;
        if (i) fputs(", ", f);
        if (in) print_cell(f, &cells[col++], r->param_types[i]);
        else fputs("null", f);
    }
    fputc(')', f);
}
/* "values (..), (..)" of n calls. */
static void print_calls(FILE *f, Connection *x, int type, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? ", " : "values ", f);
        print_call(f, x, type, false);
    }
}
static int pick_type(Connection *x) {
    const Workload *w = x->all->w;
    const int *mix = x->all->o->mix ? x->all->o->mix : w->weights;
    int64_t shares = 0;
    for (int k = 0; k < w->n_types; k++) shares += mix[k];
    int64_t pick = rng_to(&x->maker.rng, MAX_OF(shares, 1));
    int type = 0;
    for (; type < w->n_types - 1 && pick >= mix[type]; type++) pick -= mix[type];
    return type;
}

/* What a statement's calls gave; it counts when the statement, or its transaction, has committed. */
typedef struct Given {
    int type;
    int64_t succeeded, sums[OUTS_MAX];
} Given;
static bool is_summed(Type t) { return t.id == T_INT2 || t.id == T_INT4 || t.id == T_INT8; }
/* A row of CALL bulk_call, or of a single CALL, which has no SQLSTATE. */
static void take_call(Connection *x, stele_stmt *st, void *ctx) {
    Given *g = ctx;
    const Routine *r = x->all->routines[g->type];
    const int64_t n = stele_column_count(st);
    int n_outs = 0;
    for (int64_t k = 0; k < n; k++)
        if (strcmp(stele_column_name(st, k), "sqlstate") == 0 && !stele_column_is_null(st, k)) return;
    g->succeeded++;
    for (int i = 0; i < r->n_params; i++) n_outs += r->param_modes[i] != 'i';
    for (int i = 0, out = 0; i < r->n_params; i++) {
        if (r->param_modes[i] == 'i') continue;
        const int64_t col = n - n_outs + out;
        if (is_summed(r->param_types[i]) && !stele_column_is_null(st, col)) g->sums[out] += stele_column_int64(st, col);
        out++;
    }
}
/* The row of SELECT count(*), sum(a), .. FROM bulk_call. */
static void take_sums(Connection *x, stele_stmt *st, void *ctx) {
    Given *g = ctx;
    const Routine *r = x->all->routines[g->type];
    int64_t col = 0;
    g->succeeded = stele_column_int64(st, col++);
    for (int i = 0, out = 0; i < r->n_params; i++) {
        if (r->param_modes[i] == 'i') continue;
        if (is_summed(r->param_types[i])) g->sums[out] = strtoll(stele_column_text(st, col++, NULL), NULL, 10);
        out++;
    }
}
static void print_bulk(FILE *f, Connection *x, int type, bool from) {
    const Routine *r = x->all->routines[type];
    if (from) {
        fputs("select count(*)", f);
        for (int i = 0; i < r->n_params; i++)
            if (r->param_modes[i] != 'i' && is_summed(r->param_types[i]))
                fprintf(f, ", coalesce(sum(%s), 0)", r->param_names[i]);
    }
    fprintf(f, "%s bulk_call('%s', $q$", from ? " from" : "call", r->name);
    print_calls(f, x, type, 1 + rng_to(&x->maker.rng, CALLS_MOST));
    fputs(from ? "$q$) where sqlstate is null" : "$q$)", f);
}
enum { BULK, FROM_BULK, SINGLE, COMMITTED, ROLLED_BACK, WAYS };
static int run_calls(Connection *x, int way, int type, Given *g) {
    char *sql = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&sql, &len);
    if (!f) return go_wrong(x, "out of memory"), FAILED;
    if (way == SINGLE) {
        fprintf(f, "call %s", x->all->routines[type]->name);
        print_call(f, x, type, true);
    } else {
        print_bulk(f, x, type, way == FROM_BULK);
    }
    fclose(f);
    const int how = run(x, sql, way == FROM_BULK ? take_sums : take_call, g, way == SINGLE);
    free(sql);
    return how;
}
static void call_round(Connection *x, int64_t round) {
    const int way = (int)(round % WAYS), type = pick_type(x);
    const bool block = way == COMMITTED || way == ROLLED_BACK;
    Given g = {.type = type};
    if (round % VACUUM_EACH == VACUUM_EACH - 1) (void)run(x, "vacuum", NULL, NULL, false);
    if (block) (void)run(x, "begin", NULL, NULL, false);
    int how = x->wrong ? FAILED : run_calls(x, way, type, &g);
    if (block) {
        const int end = run(x, way == COMMITTED && how == OK ? "commit" : "rollback", NULL, NULL, false);
        if (end != OK || way == ROLLED_BACK) how = CONFLICT;
    }
    if (how != OK) return;
    x->totals.succeeded[type] += g.succeeded;
    for (int i = 0; i < OUTS_MAX; i++) x->totals.sums[type][i] += g.sums[i];
}

/* ---- all of them ---- */
static void *work(void *ctx) {
    Connection *x = ctx;
    stele_error_info e;
    const char *mine[] = {x->all->settings, "set lock_timeout = 0",
                          x->reads ? (x->k % 2 ? "set executor = 'vm'" : NULL)
                                   : (x->k % 2 ? "set bulk_interval = '100us'" : NULL)};
    for (size_t i = 0; i < ARRAY_LEN(mine) && !x->wrong; i++) {
        if (!mine[i] || stele_exec(x->c, mine[i], NULL, NULL) == STELE_OK) continue;
        stele_error(x->c, &e);
        go_wrong(x, "%s: %s", mine[i], e.message);
    }
    const int64_t least = x->reads ? 2 : WAYS;
    for (int64_t round = 0; !x->wrong && (round < least || !atomic_load(&x->all->stop)); round++) {
        if (x->reads) read_round(x, round);
        else call_round(x, round);
    }
    return NULL;
}
static void end_all(Beside *b) {
    atomic_store(&b->stop, true);
    for (int i = 0; i < b->n; i++) {
        if (b->connections[i].started) pthread_join(b->connections[i].thread, NULL);
        stele_disconnect(b->connections[i].c);
    }
}
Beside *beside_start(stele_db *db, const char *settings, const Workload *w, const Routine *const *routines,
                     const OltpOptions *o, char why[WHY_MAX]) {
    const int n = o->readers + o->callers;
    Beside *b = calloc(1, sizeof *b + (size_t)n * sizeof b->connections[0]);
    bool ok = b != NULL;
    if (ok) *b = (Beside){.db = db, .settings = settings, .w = w, .routines = routines, .o = o};
    for (int i = 0; i < n && ok; i++) {
        Connection *x = &b->connections[b->n++];
        x->all = b;
        x->reads = i < o->readers;
        x->k = x->reads ? i : i - o->readers;
        x->maker.fresh = (i + 1) * INT64_C(10000000);
        maker_init(&x->maker, o, w, 777u + (uint64_t)i);
        ok = stele_connect(db, &x->c) == STELE_OK && pthread_create(&x->thread, NULL, work, x) == 0;
        x->started = ok;
    }
    if (ok) return b;
    snprintf(why, WHY_MAX, "no memory or threads for connections beside the calls");
    if (b) end_all(b);
    free(b);
    return NULL;
}
bool beside_stop(Beside *b, BesideTotals *totals) {
    int64_t looks = 0, statements = 0, conflicts = 0;
    int wrong = 0;
    end_all(b);
    *totals = (BesideTotals){0};
    for (int i = 0; i < b->n; i++) {
        const Connection *x = &b->connections[i];
        wrong += x->wrong;
        looks += x->looks;
        if (!x->reads) statements += x->statements, conflicts += x->conflicts;
        for (int type = 0; type < TYPES_MAX; type++) {
            totals->succeeded[type] += x->totals.succeeded[type];
            for (int k = 0; k < OUTS_MAX; k++) totals->sums[type][k] += x->totals.sums[type][k];
        }
    }
    printf("  beside: %lld looks by readers; %lld statements of callers, %lld conflicts; %d connection%s went wrong\n",
           (long long)looks, (long long)statements, (long long)conflicts, wrong, wrong == 1 ? "" : "s");
    free(b);
    return wrong == 0;
}
