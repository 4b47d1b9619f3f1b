/* run.c - collecting statements from lines, running them, showing errors and progress. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shell/shell.h"

volatile sig_atomic_t shell_running, shell_stop;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* True when `sql` ends with a semicolon outside quotes, comments and dollar quotes. */
bool statement_complete(const char *s, size_t n) {
    bool end = false;
    for (size_t i = 0; i < n;) {
        char c = s[i];
        if (c == '-' && i + 1 < n && s[i + 1] == '-') {
            while (i < n && s[i] != '\n') i++;
        } else if (c == '/' && i + 1 < n && s[i + 1] == '*') {
            int depth = 1;
            for (i += 2; i < n && depth > 0; i++) {
                if (s[i] == '*' && i + 1 < n && s[i + 1] == '/') depth--, i++;
                else if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') depth++, i++;
            }
            if (depth > 0) return false;
        } else if (c == '\'' || c == '"') {
            bool esc = c == '\'' && i > 0 && (s[i - 1] == 'e' || s[i - 1] == 'E') && (i == 1 || !((s[i - 2] | 32) >= 'a' && (s[i - 2] | 32) <= 'z'));
            for (i++; i < n; i++) {
                if (esc && s[i] == '\\') i++;
                else if (s[i] == c) break;
            }
            if (i >= n) return false;
            i++;
            end = false;
        } else if (c == '$') {
            size_t j = i + 1;
            while (j < n && (s[j] == '_' || (s[j] >= '0' && s[j] <= '9') || ((s[j] | 32) >= 'a' && (s[j] | 32) <= 'z'))) j++;
            if (j < n && s[j] == '$' && !(s[i + 1] >= '0' && s[i + 1] <= '9')) {
                size_t len = j - i + 1, k = j + 1;
                while (k + len <= n && memcmp(s + k, s + i, len) != 0) k++;
                if (k + len > n) return false;
                i = k + len;
            } else {
                i++;
            }
            end = false;
        } else {
            if (c == ';') end = true;
            else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') end = false;
            i++;
        }
    }
    return end;
}

/* The error, the line of the statement it points at, and a caret under the place. */
void print_error(Shell *sh, const char *sql) {
    stele_error_info e;
    stele_error(sh->conn, &e);
    fflush(sh->out);
    fprintf(stderr, "ERROR:  %s: %s\n", e.sqlstate, e.message);
    if (e.position > 0 && sql) {
        const char *p = sql;
        for (int64_t k = 1; k < e.position && *p; k++) { /* position counts characters */
            p++;
            while ((*p & 0xc0) == 0x80) p++;
        }
        const char *b = p, *x = p;
        while (b > sql && b[-1] != '\n') b--;
        while (*x && *x != '\n') x++;
        int line = 1;
        for (const char *q = sql; q < b; q++) line += *q == '\n';
        /* Long lines: a window around the place. */
        const char *from = b, *to = x;
        bool cut_left = false, cut_right = false;
        if (x - b > 100) {
            if (p - b > 60) from = p - 50, cut_left = true;
            while (from < p && (*from & 0xc0) == 0x80) from++;
            if (x - p > 40) to = p + 40, cut_right = true;
            while (to > p && (*to & 0xc0) == 0x80) to--;
        }
        char head[32];
        int k = snprintf(head, sizeof head, "LINE %d: ", line);
        fprintf(stderr, "%s%s%.*s%s\n", head, cut_left ? "..." : "", (int)(to - from), from, cut_right ? "..." : "");
        fprintf(stderr, "%*s^\n", k + (cut_left ? 3 : 0) + text_width(from, (size_t)(p - from)), "");
    }
    if (*e.detail) fprintf(stderr, "DETAIL:  %s\n", e.detail);
    if (*e.hint) fprintf(stderr, "HINT:  %s\n", e.hint);
    if (*e.context) fprintf(stderr, "CONTEXT:  %s\n", e.context);
    fflush(stderr);
}

void show_notice(void *ctx, const stele_notice *n) {
    Shell *sh = ctx;
    fflush(sh->out);
    fprintf(stderr, "%s:  %s\n", n->severity, n->message);
    if (*n->detail) fprintf(stderr, "DETAIL:  %s\n", n->detail);
    if (*n->hint) fprintf(stderr, "HINT:  %s\n", n->hint);
    fflush(stderr);
}

typedef struct Progress {
    double start, shown;
    bool visible;
} Progress;

static bool show_progress(void *ctx, double fraction) {
    Progress *p = ctx;
    double t = now_ms();
    if (t - p->start < 1000 || t - p->shown < 100) return false;
    p->shown = t;
    p->visible = true;
    int w = 40, full = (int)(fraction * w);
    if (full < 0) full = 0;
    if (full > w) full = w;
    fprintf(stderr, "\r[");
    for (int i = 0; i < w; i++) fputs(i < full ? "#" : ".", stderr);
    fprintf(stderr, "] %3d %% ", (int)(fraction * 100));
    fflush(stderr);
    return false;
}

/* The next line of COPY's data into copy_line; false at the end: a line `\.`, the end of the file, Ctrl-C. */
static bool next_copy_line(Shell *sh) {
    FILE *f = sh->in ? sh->in : stdin;
    ssize_t n = getline(&sh->copy_line, &sh->copy_cap, f);
    if (n < 0) clearerr(f); /* Ctrl-D ends the data, not the session */
    const char *l = sh->copy_line;
    sh->copy_at = 0;
    sh->copy_len = n < 0 ? 0 : (size_t)n;
    sh->copy_ended = n < 0 || (n >= 2 && l[0] == '\\' && l[1] == '.' && (n == 2 || l[2] == '\n' || (n == 4 && l[2] == '\r')));
    return !sh->copy_ended;
}

int64_t read_copy(void *ctx, char *buf, int64_t size) {
    Shell *sh = ctx;
    int64_t got = 0;
    sh->copying = true;
    while (got < size && !sh->copy_ended) {
        if (sh->copy_at == sh->copy_len && !next_copy_line(sh)) break;
        size_t n = sh->copy_len - sh->copy_at;
        if (n > (size_t)(size - got)) n = (size_t)(size - got);
        memcpy(buf + got, sh->copy_line + sh->copy_at, n);
        sh->copy_at += n;
        got += (int64_t)n;
    }
    return got;
}

/* After a COPY: what it did not read of its data is no SQL. */
static void end_copy(Shell *sh) {
    while (sh->copying && !sh->copy_ended) (void)next_copy_line(sh);
    sh->copying = sh->copy_ended = false;
    sh->copy_at = sh->copy_len = 0;
}

bool run_sql(Shell *sh, const char *sql, size_t len) {
    const char *p = sql, *end = sql + len;
    while (p < end && !sh->quit) {
        stele_stmt *s;
        const char *tail;
        Progress pr = {.start = now_ms()};
        if (sh->interactive && isatty(STDERR_FILENO)) stele_set_progress(sh->conn, show_progress, &pr);
        shell_running = 1;
        stele_status r = stele_prepare(sh->conn, p, end - p, &s, &tail);
        if (r == STELE_OK && !s) {
            shell_running = 0;
            break;
        }
        if (r == STELE_OK) r = stele_run(s);
        double ms = now_ms() - pr.start;
        shell_running = 0;
        end_copy(sh);
        shell_stop = 0;
        stele_set_progress(sh->conn, NULL, NULL);
        if (pr.visible) fprintf(stderr, "\r%60s\r", "");
        if (r == STELE_ERROR) {
            print_error(sh, p);
            stele_finalize(s);
            sh->failed = true;
            return false;
        }
        int64_t rows = 0;
        bool has_rows = stele_column_count(s) > 0 && (strncmp(stele_command_tag(s), "INSERT", 6) != 0 || stele_column_count(s) > 0);
        if (has_rows) print_result(sh, s, &rows);
        else if (!sh->quiet) fprintf(sh->out, "%s\n", stele_command_tag(s));
        if (sh->timing) fprintf(sh->out, "Time: %.3f ms\n", ms);
        fflush(sh->out);
        stele_finalize(s);
        p = tail;
    }
    return true;
}

static void remember(Shell *sh, const char *sql, size_t n) {
    free(sh->last);
    sh->last = strndup(sql, n);
}

/* True when the statement being collected is outside of quotes and comments: a semicolon would end it. */
static bool between_tokens(const Shell *sh) {
    char *s = malloc(sh->len + 1);
    if (!s) return false;
    memcpy(s, sh->buffer, sh->len);
    s[sh->len] = ';';
    bool r = statement_complete(s, sh->len + 1);
    free(s);
    return r;
}

void feed_line(Shell *sh, const char *line) {
    size_t n = strlen(line);
    if (sh->len > 0 && sh->interactive && line[0] == '\\' && between_tokens(sh)) { /* \r, \p, \e on the statement being typed */
        run_command(sh, line);
        return;
    }
    if (sh->len == 0) {
        const char *p = line;
        while (*p == ' ' || *p == '\t') p++;
        if (*p == '\\') {
            run_command(sh, p);
            return;
        }
        if (!*p) return;
        if (strcmp(p, "quit") == 0 || strcmp(p, "exit") == 0) {
            sh->quit = true;
            return;
        }
    }
    if (sh->len + n + 2 > sh->cap) {
        size_t cap = (sh->len + n + 2) * 2;
        char *g = realloc(sh->buffer, cap);
        if (!g) {
            fprintf(stderr, "out of memory\n");
            return;
        }
        sh->buffer = g;
        sh->cap = cap;
    }
    memcpy(sh->buffer + sh->len, line, n);
    sh->len += n;
    sh->buffer[sh->len++] = '\n';
    sh->buffer[sh->len] = 0;
    /* Only a line with a semicolon can complete a statement: keeps long scripts linear. */
    if (strchr(line, ';') && statement_complete(sh->buffer, sh->len)) flush_buffer(sh);
}

void flush_buffer(Shell *sh) {
    if (sh->len == 0) return;
    size_t n = sh->len;
    sh->len = 0;
    char *sql = strndup(sh->buffer, n);
    if (!sql) return;
    remember(sh, sql, n);
    bool ok = run_sql(sh, sql, n);
    free(sql);
    if (!ok && sh->stop_on_error) sh->quit = true;
}

bool run_file(Shell *sh, const char *path) {
    if (sh->depth >= 32) {
        fprintf(stderr, "files include each other too deeply: %s\n", path);
        sh->failed = true;
        return false;
    }
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        sh->failed = true;
        return false;
    }
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    FILE *outer = sh->in;
    sh->in = f;
    sh->depth++;
    while (!sh->quit && (n = getline(&line, &cap, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        feed_line(sh, line);
    }
    if (!sh->quit) flush_buffer(sh);
    sh->depth--;
    sh->in = outer;
    free(line);
    if (f != stdin) fclose(f);
    return !sh->failed;
}
