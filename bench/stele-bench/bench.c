/* bench.c - settings, timing, reading EXPLAIN ANALYZE, tables, JSON. */
#include "../numbers.h"
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUM_ROWS_MAX = 1000000 }; /* results up to here are compared row by row */
static const double statement_limit_s =
    120; /* most that one run may take; with a budget, a few shares of it, but not less than: */
static const double statement_least_s = 8; /* a first run compiles */
static const double long_run_ms = 100;     /* a run on the virtual machine that takes longer is its own warm-up */

double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
double process_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool over_budget(const Bench *b) { return b->budget_s > 0 && now_s() - b->started_s > b->budget_s; }

void out_of_time(const Bench *b, char why[WHY_MAX]) {
    snprintf(why, WHY_MAX, "left out: no time left for it in the budget of %.0f s", b->budget_s);
}

/* Seconds for the measurement that begins: its share of the time left. */
static double share_s(Bench *b) {
    double left = b->budget_s > 0 ? b->started_s + b->budget_s - now_s() : 1e9;
    int n = b->left-- > 1 ? b->left + 1 : 1;
    return left > 0 ? left / n : 0;
}

double memory_total(void) { return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE); }

void append(char *buf, size_t size, const char *fmt, ...) {
    size_t n = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + n, size - n, fmt, ap);
    va_end(ap);
}

/* ---- SQL ------------------------------------------------------------------------------------------ */
static bool explain_error(Bench *b, char why[WHY_MAX]) {
    stele_error_info e;
    stele_error(b->conn, &e);
    snprintf(why, WHY_MAX, "%s: %s%s%s", e.sqlstate, e.message, *e.detail ? ": " : "", e.detail);
    for (char *p = why; *p; p++)
        if (*p == '\n') *p = ' ';
    return false;
}

bool run_sql(Bench *b, const char *sql, char why[WHY_MAX]) {
    return stele_exec(b->conn, sql, NULL, NULL) == STELE_OK || explain_error(b, why);
}

bool apply_variant(Bench *b, const Variant *v, char why[WHY_MAX]) {
    char text[512], sql[640], *save = NULL;
    snprintf(text, sizeof text, "reset all");
    if (!run_sql(b, text, why)) return false;
    snprintf(text, sizeof text, "%s", v->settings);
    for (char *item = strtok_r(text, " ", &save); item; item = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(item, '='), count[16];
        if (!eq) return snprintf(why, WHY_MAX, "\"%s\" is not name=value", item), false;
        *eq = 0;
        const char *value = eq + 1;
        snprintf(count, sizeof count, "%d", b->threads);
        if (strcmp(value, "$THREADS") == 0) value = count;
        if (strcmp(value, "$DEVICE") == 0) value = b->device;
        if (!value) return snprintf(why, WHY_MAX, "no --device given"), false;
        snprintf(sql, sizeof sql, "set %s = '%s'", item, value);
        if (!run_sql(b, sql, why)) return false;
    }
    return true;
}

/* ---- EXPLAIN ANALYZE ------------------------------------------------------------------------------- */
/* Number and unit (ms; bytes) at the start of an item. */
static bool figure_value(const char *p, const char *end, double *out) {
    static const struct {
        const char *unit;
        double f;
    } units[] = {{"ms", 1}, {"us", 1e-3}, {"s", 1e3}, {"B", 1}, {"kB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};
    char *unit;
    double x = strtod(p, &unit);
    if (unit == p || unit > end) return false;
    while (*unit == ' ') unit++;
    size_t n = strcspn(unit, " ,");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n && strncmp(unit, units[i].unit, n) == 0) return *out = x * units[i].f, true;
    return false;
}

/* Adds the figures called `name` among the items of a line, "NUMBER UNIT NAME" or "NAME NUMBER UNIT" between commas. */
static void figure(const char *line, const char *name, double *sum, bool *found) {
    size_t n = strlen(name);
    for (const char *item = line; *item;) {
        while (*item == ' ') item++;
        const char *end = strstr(item, ", ");
        if (!end) end = item + strlen(item);
        double x;
        bool before = (size_t)(end - item) > n && strncmp(item, name, n) == 0 && item[n] == ' ';
        bool after = (size_t)(end - item) > n && strncmp(end - n, name, n) == 0 && end[-(ptrdiff_t)n - 1] == ' ';
        if ((before || after) && figure_value(before ? item + n : item, end, &x)) {
            *sum += x;
            *found = true;
        }
        item = *end ? end + 2 : end;
    }
}

static void add_word(char *list, size_t size, const char *word) {
    size_t have = strlen(list);
    if (!strstr(list, word)) snprintf(list + have, size - have, "%s%s", have ? ", " : "", word);
}

/* A device's line starts with how it got at a table's columns. */
static void explain_residence(Explain *x, const char *line) {
    static const char *const modes[] = {"cached", "serial", "streamed", "mapped"};
    while (*line == ' ') line++;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strncmp(line, modes[i], strlen(modes[i])) == 0 && line[strlen(modes[i])] == ',')
            add_word(x->residence, sizeof x->residence, modes[i]);
}

/* A pipeline's line: how it ran, model NUMBER ms, measured NUMBER ms, ... */
static void explain_model(Explain *x, const char *line) {
    double model = 0, measured = 0;
    bool found = false;
    figure(line, "model", &model, &found);
    figure(line, "measured", &measured, &found);
    if (model <= 0 || measured <= 0) return;
    x->has_model = true;
    x->model_ms += model;
    x->measured_ms += measured;
    const char *end = strstr(line, ", model ");
    if (!end || measured <= x->choice_ms) return;
    x->choice_ms = measured;
    while (*line == ' ') line++;
    snprintf(x->choice, sizeof x->choice, "%.*s", (int)(end - line), line);
}

/* "  0: label  [executor, device, ...]  rows in ...", and further lines with what a device did. */
static void explain_line(Explain *x, const char *line, const char *expect) {
    static const char refused[] = "not on the device: ";
    int number, used = 0;
    const char *open = NULL, *end = strstr(line, "]  rows in "), *reason = strstr(line, refused);
    if (sscanf(line, " %d:%n", &number, &used) != 1 || !used) {
        if (reason && !*x->reason) snprintf(x->reason, sizeof x->reason, "%s", reason + sizeof refused - 1);
        explain_residence(x, line);
        figure(line, "kernels", &x->kernel_ms, &x->has_kernel);
        figure(line, "read", &x->read_bytes, &x->has_read);
        figure(line, "in", &x->in_bytes, &x->has_moved);
        figure(line, "out", &x->out_bytes, &x->has_moved);
        figure(line, "materialized", &x->materialized_bytes, &x->has_materialized);
        explain_model(x, line);
        return;
    }
    for (const char *p = line; end && p < end; p++)
        if (*p == '[') open = p;
    if (!open) return;
    char executor[32];
    snprintf(executor, sizeof executor, "%.*s", (int)strcspn(open + 1, ",]"), open + 1);
    x->segments++;
    x->matched += !expect || strcmp(executor, expect) == 0;
    add_word(x->ran, sizeof x->ran, executor);
}

typedef struct Reader {
    Explain *x;
    const char *expect;
    FILE *text;
    bool segments;
} Reader;

static bool explain_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)n, (void)names;
    Reader *r = ctx;
    const char *line = values[0] ? values[0] : "";
    if (strcmp(line, "Segments:") == 0) r->segments = true;
    else if (r->segments) {
        if (r->text) fprintf(r->text, "%s\n", line);
        explain_line(r->x, line, r->expect);
    }
    return false;
}

bool explain_analyze(Bench *b, const Variant *v, const char *sql, Explain *x, char why[WHY_MAX]) {
    free(x->text);
    *x = (Explain){0};
    size_t len = 0, size = strlen(sql) + 32;
    char *full = malloc(size);
    Reader r = {x, v->expect, open_memstream(&x->text, &len), false};
    bool ok = false;
    if (full && r.text) {
        snprintf(full, size, "explain analyze %s", sql);
        ok = stele_exec(b->conn, full, explain_row, &r) == STELE_OK || explain_error(b, why);
    } else snprintf(why, WHY_MAX, "out of memory");
    if (r.text) fclose(r.text);
    free(full);
    return ok;
}

/* ---- timing ----------------------------------------------------------------------------------------- */

uint64_t row_hash(stele_stmt *st) {
    const int64_t cols = stele_column_count(st);
    uint64_t h = 14695981039346656037u;
    for (int64_t c = 0; c < cols; c++) {
        const char *text = stele_column_text(st, c, NULL);
        for (const char *p = text ? text : "\1"; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
        h = (h ^ 0xff) * 1099511628211u;
    }
    return h;
}

/* Sum over rows of their hashes: the same for the same rows in any order. */
static bool sum_rows(stele_stmt *st, Measure *m) {
    stele_status s;
    while ((s = stele_step(st)) == STELE_ROW) m->sum += row_hash(st);
    m->summed = s == STELE_DONE;
    return m->summed;
}

/* Once: parse to result, in ms; -1 on error. */
static double run_once(Bench *b, const char *sql, Measure *m, bool sum) {
    stele_stmt *st = NULL;
    double t0 = now_s(), ms = -1;
    if (stele_prepare(b->conn, sql, -1, &st, NULL) != STELE_OK || stele_run(st) == STELE_ERROR)
        explain_error(b, m->why);
    else {
        ms = (now_s() - t0) * 1e3;
        m->rows = stele_row_count(st);
        if (sum && m->rows <= SUM_ROWS_MAX && !sum_rows(st, m)) ms = -1, explain_error(b, m->why);
    }
    stele_finalize(st);
    return ms;
}

void measure(Bench *b, const Variant *v, const char *sql, const char *missing, Measure *m) {
    *m = (Measure){.done = true};
    double times[64], share = share_s(b), limit = 4 * share;
    if (missing) {
        snprintf(m->why, WHY_MAX, "%s", missing);
        return;
    }
    if (over_budget(b)) {
        out_of_time(b, m->why);
        return;
    }
    limit = limit < statement_least_s ? statement_least_s : limit > statement_limit_s ? statement_limit_s : limit;
    char set[64];
    snprintf(set, sizeof set, "set statement_timeout = '%.0fms'", limit * 1e3);
    if (!run_sql(b, set, m->why)) return;
    const double until = now_s() + share;
    if ((m->first_ms = run_once(b, sql, m, true)) < 0 || !explain_analyze(b, v, sql, &m->where, m->why)) {
        m->timed_out = strncmp(m->why, "57014", 5) == 0;
        if (m->timed_out) snprintf(m->why, WHY_MAX, "left out: a run takes more than %.1f s", limit);
        return;
    }
    const char *asked = strstr(v->settings, "device_residence=");
    size_t asked_len = asked ? strcspn(asked += sizeof "device_residence=" - 1, " ") : 0;
    if (asked && *m->where.residence &&
        (strlen(m->where.residence) != asked_len || strncmp(m->where.residence, asked, asked_len) != 0)) {
        snprintf(m->why, WHY_MAX, "columns were %s", m->where.residence);
        return;
    }
    if (m->where.segments && !m->where.matched) {
        snprintf(m->why, WHY_MAX, "ran on %s%s%s", m->where.ran, *m->where.reason ? ": " : "", m->where.reason);
        return;
    }
    double spent = 0;
    if (v->expect && strcmp(v->expect, "vm") == 0 && m->first_ms > long_run_ms) {
        times[m->runs++] = m->first_ms;
        spent = m->first_ms / 1e3;
    }
    while (m->runs < b->runs && m->runs < 64 && (m->runs < 3 || spent < b->query_s) &&
           (m->runs < 1 || (spent < 4 * b->query_s && now_s() < until))) {
        if ((times[m->runs] = run_once(b, sql, m, false)) < 0) return;
        spent += times[m->runs++] / 1e3;
    }
    qsort(times, (size_t)m->runs, sizeof *times, by_value);
    m->min_ms = times[0];
    m->max_ms = times[m->runs - 1];
    m->median_ms = m->runs % 2 ? times[m->runs / 2] : (times[m->runs / 2 - 1] + times[m->runs / 2]) / 2;
    m->ok = true;
    if (b->verbose)
        fprintf(stderr, "  %-24s %10.3f ms  %lld rows  %.60s\n", v->label, m->median_ms, (long long)m->rows, sql);
}

/* Sets m->wrong unless m has the rows of `reference`. Both must be ok. */
static void measure_compare(Bench *b, const Measure *reference, Measure *m) {
    bool same = m->rows == reference->rows && (!m->summed || !reference->summed || m->sum == reference->sum);
    if (same) return;
    m->wrong = b->failed = true;
    snprintf(m->why, WHY_MAX, "WRONG ROWS: %lld, sum %016llx instead of %lld, sum %016llx", (long long)m->rows,
             (unsigned long long)m->sum, (long long)reference->rows, (unsigned long long)reference->sum);
}

static void measure_free(Measure *m) {
    free(m->where.text);
    m->where.text = NULL;
}

/* ---- grids ------------------------------------------------------------------------------------------ */
Grid *grid_new(const char *row_title, int n_cols, const Variant *v) {
    Grid *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->row_title = row_title;
    g->n_cols = n_cols < GRID_COLS_MAX ? n_cols : GRID_COLS_MAX;
    for (int c = 0; c < g->n_cols; c++) g->col[c] = v[c].label;
    return g;
}

int grid_row(Grid *g, const char *fmt, ...) {
    if (g->n_rows == GRID_ROWS_MAX) return -1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(g->row[g->n_rows], sizeof g->row[0], fmt, ap);
    va_end(ap);
    return g->n_rows++;
}

void grid_free(Grid *g) {
    for (int r = 0; g && r < g->n_rows; r++)
        for (int c = 0; c < g->n_cols; c++) measure_free(&g->cell[r][c]);
    free(g);
}

void grid_check(Bench *b, Grid *g, int row, int col) {
    Measure *m = &g->cell[row][col];
    for (int c = 0; c < col && m->ok; c++)
        if (g->cell[row][c].ok && !g->cell[row][c].wrong) {
            measure_compare(b, &g->cell[row][c], m);
            return;
        }
}

double cell_ms(const Grid *g, int row, int col, void *ctx) { return (void)ctx, g->cell[row][col].median_ms; }

bool grid_any(const Grid *g, int col, CellFn f, void *ctx) {
    for (int r = 0; r < g->n_rows; r++)
        for (int c = col < 0 ? 0 : col; c < g->n_cols && (col < 0 || c == col); c++)
            if (g->cell[r][c].wrong || (g->cell[r][c].ok && !isnan(f(g, r, c, ctx)))) return true;
    return false;
}

void grid_print(const Grid *g, const char *title, int decimals, CellFn f, void *ctx) {
    int first = (int)strlen(g->row_title), width[GRID_COLS_MAX];
    if (!grid_any(g, -1, f, ctx)) {
        if (*title != ' ') printf("\n%s: none\n", title);
        return;
    }
    for (int r = 0; r < g->n_rows; r++)
        if ((int)strlen(g->row[r]) > first) first = (int)strlen(g->row[r]);
    printf("\n%s\n  %-*s", title, first, g->row_title);
    for (int c = 0; c < g->n_cols; c++) {
        width[c] = !grid_any(g, c, f, ctx) ? 0 : (int)strlen(g->col[c]) < 9 ? 9 : (int)strlen(g->col[c]);
        if (width[c]) printf("  %*s", width[c], g->col[c]);
    }
    printf("\n");
    for (int r = 0; r < g->n_rows; r++) {
        printf("  %-*s", first, g->row[r]);
        for (int c = 0; c < g->n_cols; c++) {
            const Measure *m = &g->cell[r][c];
            if (!width[c]) continue;
            double x = m->ok && !m->wrong ? f(g, r, c, ctx) : NAN;
            if (m->wrong) printf("  %*s", width[c], "WRONG");
            else if (isnan(x)) printf("  %*s", width[c], "-");
            else if (m->where.matched < m->where.segments) printf(" *%*.*f", width[c], decimals, x);
            else printf("  %*.*f", width[c], decimals, x);
        }
        printf("\n");
    }
    fflush(stdout);
}

/* Whether a column has no good cell, and all for one reason. */
static bool column_missing(const Grid *g, int c) {
    for (int r = 0; r < g->n_rows; r++) {
        const Measure *m = &g->cell[r][c];
        if (!m->done || m->ok || strcmp(m->why, g->cell[0][c].why) != 0) return false;
    }
    return true;
}

/* The reason of a column, and in front of it all columns that share it; told at the first of them. */
static void column_note(const Grid *g, int c) {
    const char *why = g->cell[0][c].why;
    for (int k = 0; k < c; k++)
        if (column_missing(g, k) && strcmp(g->cell[0][k].why, why) == 0) return;
    printf("  %s", g->col[c]);
    for (int k = c + 1; k < g->n_cols; k++)
        if (column_missing(g, k) && strcmp(g->cell[0][k].why, why) == 0) printf("; %s", g->col[k]);
    printf(": not available: %s\n", why);
}

/* Whether all cells of a row are missing for one reason. */
static bool row_missing(const Grid *g, int r) {
    for (int c = 0; c < g->n_cols; c++) {
        const Measure *m = &g->cell[r][c];
        if (!m->done || m->ok || strcmp(m->why, g->cell[r][0].why) != 0) return false;
    }
    return g->n_cols > 1;
}

/* The reason of a cell and how many more of its column share it; told at the first of them. */
static void cell_note(const Grid *g, int r, int c) {
    const Measure *m = &g->cell[r][c];
    int more = 0;
    if (row_missing(g, r)) {
        if (c == 0) printf("  %s: %s\n", g->row[r], m->why);
        return;
    }
    for (int k = 0; k < g->n_rows; k++) {
        const Measure *x = &g->cell[k][c];
        if (!x->done || strcmp(x->why, m->why) != 0) continue;
        if (k < r) return;
        more += k > r;
    }
    if (more) printf("  %s, %s and %d more: %s\n", g->col[c], g->row[r], more, m->why);
    else printf("  %s, %s: %s\n", g->col[c], g->row[r], m->why);
}

void grid_notes(const Grid *g) {
    bool partly = false;
    for (int c = 0; c < g->n_cols && g->n_rows; c++) {
        if (column_missing(g, c)) {
            column_note(g, c);
            continue;
        }
        for (int r = 0; r < g->n_rows; r++) {
            const Measure *m = &g->cell[r][c];
            partly |= m->ok && m->where.matched < m->where.segments;
            if (m->done && (!m->ok || m->wrong)) cell_note(g, r, c);
        }
    }
    if (partly) printf("  * some segments ran elsewhere\n");
    fflush(stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */
static void put_string(FILE *f, const char *s) {
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", *s);
        else fputc(*s, f);
    }
    fputc('"', f);
}

static void cpu_model(char *out, size_t size) {
    char line[512];
    snprintf(out, size, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f) fclose(f);
}

typedef struct DeviceRows {
    FILE *f;
    int n;
} DeviceRows;

static bool device_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    DeviceRows *d = ctx;
    fprintf(d->f, "%s\n  {", d->n++ ? "," : "");
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", d->f);
        put_string(d->f, names[i]);
        fputs(": ", d->f);
        put_string(d->f, values[i] ? values[i] : "");
    }
    fputc('}', d->f);
    return false;
}

void json_open(Bench *b, int argc, char **argv, const char *commit) {
    size_t len;
    char cpu[256], date[32];
    time_t t = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    cpu_model(cpu, sizeof cpu);
    b->records = open_memstream(&b->records_text, &b->records_len);
    FILE *f = open_memstream(&b->json_head, &len);
    if (!f) return;
    fputs("{\n \"benchmark\": ", f);
    put_string(f, b->name);
    fprintf(f, ",\n \"date\": \"%s\",\n \"commit\": ", date);
    put_string(f, commit);
    fprintf(f, ",\n \"version\": \"%s\",\n \"arguments\": [", stele_version());
    for (int i = 1; i < argc; i++) {
        fputs(i > 1 ? ", " : "", f);
        put_string(f, argv[i]);
    }
    fputs("],\n \"hardware\": {\"cpu\": ", f);
    put_string(f, cpu);
    fprintf(f, ", \"processors\": %ld, \"memory_bytes\": %.0f},\n \"threads\": %d,\n \"device\": ",
            sysconf(_SC_NPROCESSORS_ONLN), memory_total(), b->threads);
    put_string(f, b->device ? b->device : "none");
    fputs(",\n \"devices\": [", f);
    DeviceRows d = {f, 0};
    if (stele_exec(b->conn, "show devices", device_row, &d) != STELE_OK) d.n = 0;
    fprintf(f, "],\n \"limits\": {\"cpu_read_gbps_thread\": %.3f, \"cpu_read_gbps_all\": %.3f",
            b->profile.cpu.read_gbps_thread, b->profile.cpu.read_gbps_all);
    const DeviceProfile *p = b->device ? profile_device(&b->profile, b->device, NULL) : NULL;
    if (p) {
        fprintf(f,
                ", \"read_gbps\": %.3f, \"to_device_gbps\": %.3f, \"to_host_gbps\": %.3f, \"mapped_gbps\": %.3f, "
                "\"name\": ",
                p->read_gbps, p->to_device_gbps, p->to_host_gbps, p->mapped_gbps);
        put_string(f, p->name);
        fputs(", \"driver\": ", f);
        put_string(f, p->driver);
    }
    fputs("},\n \"results\": [", f);
    fclose(f);
}

static bool json_flush(Bench *b) {
    if (!b->json_path || !b->json_head || !b->records) return true;
    char tmp[4096];
    snprintf(tmp, sizeof tmp, "%s.tmp", b->json_path);
    fflush(b->records);
    FILE *f = fopen(tmp, "w");
    bool ok = f && fprintf(f, "%s%s\n ]\n}\n", b->json_head, b->records_text ? b->records_text : "") > 0;
    if (f && fclose(f) != 0) ok = false;
    return ok && rename(tmp, b->json_path) == 0;
}

static void key(Bench *b, const char *k) {
    fputs(", ", b->records);
    put_string(b->records, k);
    fputs(": ", b->records);
}

void json_begin(Bench *b) {
    if (b->records) fprintf(b->records, "%s\n  {\"n\": %d", b->n_records ? "," : "", b->n_records);
    b->n_records++;
}

void json_text(Bench *b, const char *k, const char *value) {
    if (!b->records) return;
    key(b, k);
    put_string(b->records, value);
}

void json_num(Bench *b, const char *k, double value) {
    if (!b->records || !isfinite(value)) return;
    key(b, k);
    fprintf(b->records, "%.6g", value);
}

void json_int(Bench *b, const char *k, int64_t value) {
    if (!b->records) return;
    key(b, k);
    fprintf(b->records, "%lld", (long long)value);
}

void json_measure(Bench *b, const Variant *v, const Measure *m) {
    json_text(b, "variant", v->label);
    json_text(b, "settings", v->settings);
    json_text(b, "status", m->wrong ? "wrong" : m->ok ? "ok" : "not available");
    if (!m->ok || m->wrong) json_text(b, "why", m->why);
    if (m->ok) {
        json_num(b, "ms", m->median_ms);
        json_num(b, "min_ms", m->min_ms);
        json_num(b, "max_ms", m->max_ms);
        json_num(b, "first_ms", m->first_ms);
        json_int(b, "runs", m->runs);
        json_int(b, "result_rows", m->rows);
        json_int(b, "segments", m->where.segments);
        json_int(b, "segments_as_asked", m->where.matched);
        if (*m->where.residence) json_text(b, "residence", m->where.residence);
        if (m->where.has_kernel) json_num(b, "kernel_ms", m->where.kernel_ms);
        if (m->where.has_read) json_num(b, "read_bytes", m->where.read_bytes);
        if (m->where.has_moved) json_num(b, "to_device_bytes", m->where.in_bytes);
        if (m->where.has_moved) json_num(b, "to_host_bytes", m->where.out_bytes);
        if (m->where.has_materialized) json_num(b, "materialized_bytes", m->where.materialized_bytes);
        if (m->where.has_model) {
            json_num(b, "model_ms", m->where.model_ms);
            json_num(b, "model_measured_ms", m->where.measured_ms);
            json_text(b, "pipeline", m->where.choice);
        }
    }
    if (m->where.text) json_text(b, "explain", m->where.text);
}

void json_end(Bench *b) {
    if (b->records) fputc('}', b->records);
    if (!json_flush(b) && b->json_path) {
        fprintf(stderr, "stele-bench: cannot write %s\n", b->json_path);
        b->json_path = NULL;
        b->failed = true;
    }
}

bool json_close(Bench *b) {
    bool ok = json_flush(b);
    if (b->records) fclose(b->records);
    free(b->records_text);
    free(b->json_head);
    return ok;
}

/* ---- limits ------------------------------------------------------------------------------------------ */
Limit variant_limit(const Bench *b, const Variant *v) {
    const CpuProfile *cpu = &b->profile.cpu;
    if (!strstr(v->settings, "$DEVICE") || (b->device && strcmp(b->device, "cpu") == 0))
        return (Limit){"memory", strstr(v->settings, "threads=1 ") ? cpu->read_gbps_thread : cpu->read_gbps_all};
    const DeviceProfile *p = b->device ? profile_device(&b->profile, b->device, NULL) : NULL;
    if (strstr(v->settings, "=mapped")) return (Limit){"bus", p ? p->mapped_gbps : 0};
    if (strstr(v->settings, "=serial") || strstr(v->settings, "=streamed"))
        return (Limit){"bus", p ? p->to_device_gbps : 0};
    return (Limit){"memory", p ? p->read_gbps : 0};
}
