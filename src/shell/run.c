/* run.c - collecting statements from lines, running them, showing errors and progress. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shell/shell.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- where statements end ------------------------------------------------------------------- */

static bool in_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c & 0x80);
}

/* A quote or $ at s[i]: what it begins. */
static ScanState opens(const char *s, size_t i, size_t n, Scan *x) {
    if (s[i] == '"') return SCAN_NAME;
    bool name_before = i > 0 && in_name(s[i - 1]);
    if (s[i] == '\'') {
        bool escapes = name_before && (s[i - 1] | 32) == 'e' && (i == 1 || !in_name(s[i - 2]));
        return escapes ? SCAN_ESCAPED : SCAN_QUOTED;
    }
    if (name_before) return SCAN_BETWEEN; /* a$b is a name */
    size_t j = i + 1;
    while (j < n && in_name(s[j])) j++;
    if (j == n || s[j] != '$' || (s[i + 1] >= '0' && s[i + 1] <= '9')) return SCAN_BETWEEN;
    x->tag = i;
    x->tag_len = j - i + 1;
    return SCAN_DOLLAR;
}

/* Outside of quotes and comments: one step. True: behind a semicolon. */
static bool scan_between(Scan *x, const char *s, size_t n) {
    char c = s[x->at], next = x->at + 1 < n ? s[x->at + 1] : 0;
    size_t step = 1;
    if (c == '-' && next == '-') {
        x->state = SCAN_LINE_COMMENT;
    } else if (c == '/' && next == '*') {
        x->state = SCAN_BLOCK_COMMENT;
        x->depth = 1;
        step = 2;
    } else if (c == '\'' || c == '"' || c == '$') {
        x->state = opens(s, x->at, n, x);
        if (x->state == SCAN_DOLLAR) step = x->tag_len;
    }
    x->at += step;
    return c == ';';
}

/* Inside of a comment, quotes or a dollar quote: one step. */
static void scan_inside(Scan *x, const char *s, size_t n) {
    char c = s[x->at], next = x->at + 1 < n ? s[x->at + 1] : 0;
    size_t step = 1;
    switch (x->state) {
    case SCAN_LINE_COMMENT:
        if (c == '\n') x->state = SCAN_BETWEEN;
        break;
    case SCAN_BLOCK_COMMENT:
        if (c == '*' && next == '/') x->depth--, step = 2;
        else if (c == '/' && next == '*') x->depth++, step = 2;
        if (x->depth == 0) x->state = SCAN_BETWEEN;
        break;
    case SCAN_DOLLAR:
        if (c != '$' || n - x->at < x->tag_len || memcmp(s + x->at, s + x->tag, x->tag_len) != 0) break;
        step = x->tag_len;
        x->state = SCAN_BETWEEN;
        break;
    default: /* a doubled quote ends and begins again */
        if (x->state == SCAN_ESCAPED && c == '\\') step = 2;
        else if (c == (x->state == SCAN_NAME ? '"' : '\'')) x->state = SCAN_BETWEEN;
    }
    x->at += step;
}

/* Goes on to behind the next semicolon outside of quotes and comments; false: there is none yet. `s` holds whole lines,
 * so that no token is cut. */
static bool scan_statement(Scan *x, const char *s, size_t n) {
    while (x->at < n) {
        if (x->state != SCAN_BETWEEN) scan_inside(x, s, n);
        else if (scan_between(x, s, n)) return true;
    }
    return false;
}

/* ---- messages --------------------------------------------------------------------------------- */

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

/* ---- COPY through the standard streams ---------------------------------------------------------- */

/* The next line of COPY's data into copy_line; false at the end: a line `\.`, the end of the file, a signal, a failed
 * read. */
static bool next_copy_line(Shell *sh) {
    FILE *f = sh->in ? sh->in : stdin;
    read_begins();
    ssize_t n = getline(&sh->copy_line, &sh->copy_cap, f);
    read_ends();
    sh->copy_failed = n < 0 && !feof(f);
    if (n < 0) clearerr(f); /* Ctrl-D ends the data, not the session */
    const char *l = sh->copy_line;
    sh->copy_at = 0;
    sh->copy_len = n < 0 ? 0 : (size_t)n;
    sh->copy_ended =
        n < 0 || (n >= 2 && l[0] == '\\' && l[1] == '.' && (n == 2 || l[2] == '\n' || (n == 4 && l[2] == '\r')));
    return !sh->copy_ended;
}

/* At a prompt nothing else tells that what is typed next is data. */
static void show_copy_help(const Shell *sh) {
    if (!sh->interactive || sh->in || sh->quiet) return;
    fputs("Enter data to be copied followed by a newline.\n"
          "End with a backslash and a period on a line by itself, or an EOF signal.\n",
          stdout);
    fflush(stdout);
}

int64_t read_copy(void *ctx, char *buf, int64_t size) {
    Shell *sh = ctx;
    int64_t got = 0;
    if (!sh->copying) show_copy_help(sh);
    sh->copying = true;
    while (got < size && !sh->copy_ended) {
        if (sh->copy_at == sh->copy_len && !next_copy_line(sh)) break;
        size_t n = sh->copy_len - sh->copy_at;
        if (n > (size_t)(size - got)) n = (size_t)(size - got);
        memcpy(buf + got, sh->copy_line + sh->copy_at, n);
        sh->copy_at += n;
        got += (int64_t)n;
    }
    return sh->copy_failed || shell_signal ? -1 : got; /* half of the data is no data */
}

bool write_copy(void *ctx, const char *data, int64_t size) {
    Shell *sh = ctx;
    if (fwrite(data, 1, (size_t)size, sh->out) == (size_t)size) return true;
    if (!sh->write_errno) sh->write_errno = errno;
    return false;
}

/* After a COPY: what it did not read of its data is no SQL. */
static void end_copy(Shell *sh) {
    while (sh->copying && !sh->copy_ended && !shell_signal) (void)next_copy_line(sh);
    sh->copying = sh->copy_ended = sh->copy_failed = false;
    sh->copy_at = sh->copy_len = 0;
}

/* ---- statements ----------------------------------------------------------------------------------- */

static bool show_results(Shell *sh, stele_stmt *s, double ms) {
    int64_t rows = 0;
    bool ok = true;
    if (stele_column_count(s) > 0) ok = print_result(sh, s, &rows);
    else if (!sh->quiet) fprintf(sh->out, "%s\n", stele_command_tag(s));
    if (sh->timing) fprintf(sh->out, "Time: %.3f ms\n", ms);
    return check_output(sh) && ok;
}

/* The first statement of `sql`; *tail: behind it, the end after an error of its text. */
static bool run_statement(Shell *sh, const char *sql, const char *end, const char **tail) {
    stele_stmt *s = NULL;
    Progress pr = {.start = now_ms()};
    *tail = end;
    if (sh->interactive && isatty(STDERR_FILENO)) stele_set_progress(sh->conn, show_progress, &pr);
    statement_begins();
    stele_status r = stele_prepare(sh->conn, sql, end - sql, &s, tail);
    if (r == STELE_OK && s) r = stele_run(s);
    double ms = now_ms() - pr.start;
    statement_ends();
    end_copy(sh);
    stele_set_progress(sh->conn, NULL, NULL);
    if (pr.visible) fprintf(stderr, "\r%60s\r", "");
    bool ok = true;
    if (r == STELE_ERROR) {
        ok = false;
        if (check_output(sh) || !sh->closed_pipe)
            print_error(sh, sql); /* else COPY has failed because its reader has gone */
    } else if (s) {
        ok = show_results(sh, s, ms);
    }
    stele_finalize(s);
    return ok;
}

bool run_sql(Shell *sh, const char *sql, size_t len) {
    const char *p = sql, *end = sql + len;
    bool ok = true;
    while (ok && p < end && !sh->quit && !shell_stop && !shell_ends(sh)) ok = run_statement(sh, p, end, &p);
    return ok;
}

/* ---- lines ------------------------------------------------------------------------------------------ */

static void remember(Shell *sh, const char *sql, size_t n) {
    free(sh->last);
    sh->last = strndup(sql, n);
}

void forget_buffer(Shell *sh) {
    sh->len = 0;
    sh->scan = (Scan){0};
}

/* Removes the first n bytes, and blanks and comments of one line behind them: the next statement begins with its text.
 */
static void drop_front(Shell *sh, size_t n) {
    const char *b = sh->buffer;
    for (; n < sh->len; n++) {
        if (b[n] == '-' && b[n + 1] == '-') n += strcspn(b + n, "\n");
        else if (!strchr(" \t\r\n\f\v", b[n])) break;
    }
    if (n > sh->len) n = sh->len;
    memmove(sh->buffer, b + n, sh->len - n + 1);
    sh->len -= n;
    sh->scan = (Scan){0};
}

static bool append_line(Shell *sh, const char *line, size_t n) {
    if (sh->len + n + 2 > sh->cap) {
        size_t cap = (sh->len + n + 2) * 2;
        char *g = realloc(sh->buffer, cap);
        if (!g) {
            fprintf(stderr, "stele: out of memory\n");
            return false;
        }
        sh->buffer = g;
        sh->cap = cap;
    }
    memcpy(sh->buffer + sh->len, line, n);
    sh->len += n;
    sh->buffer[sh->len++] = '\n';
    sh->buffer[sh->len] = 0;
    return true;
}

/* Runs the first n bytes of the buffer, which are taken from it before, since COPY and \e read more. */
static bool run_front(Shell *sh, size_t n) {
    char *sql = strndup(sh->buffer, n);
    if (!sql) {
        fprintf(stderr, "stele: out of memory\n");
        return false;
    }
    drop_front(sh, n);
    remember(sh, sql, strlen(sql));
    bool ok = run_sql(sh, sql, strlen(sql));
    free(sql);
    return ok;
}

/* A command takes the rest of its line. */
static bool run_command_in_buffer(Shell *sh) {
    size_t n = strcspn(sh->buffer, "\n");
    char *line = strndup(sh->buffer, n);
    if (!line) {
        fprintf(stderr, "stele: out of memory\n");
        return false;
    }
    drop_front(sh, n);
    bool ok = run_command(sh, line);
    free(line);
    return ok;
}

/* In a script that an error is to end. */
static bool error_ends(const Shell *sh) { return sh->on_error_stop && (!sh->interactive || sh->depth > 0); }

bool feed_line(Shell *sh, const char *line, size_t n) {
    bool ok = true;
    if (sh->len > 0 && sh->interactive && line[0] == '\\' && sh->scan.state == SCAN_BETWEEN)
        return run_command(sh, line); /* \r, \p, \e on the statement being typed */
    bool first = sh->len == 0;
    if (!append_line(sh, line, n)) return false;
    if (first) drop_front(sh, 0);
    if (first && (strcmp(sh->buffer, "quit\n") == 0 || strcmp(sh->buffer, "exit\n") == 0)) {
        forget_buffer(sh);
        sh->quit = true;
        return true;
    }
    while (sh->len > 0 && !sh->quit && !shell_stop && !shell_ends(sh) && (ok || !error_ends(sh))) {
        if (sh->buffer[0] == '\\') ok &= run_command_in_buffer(sh);
        else if (scan_statement(&sh->scan, sh->buffer, sh->len)) ok &= run_front(sh, sh->scan.at);
        else break;
    }
    if (shell_stop) forget_buffer(sh); /* the rest of the line too */
    return ok;
}

bool flush_buffer(Shell *sh) {
    bool ok = sh->len == 0 || run_front(sh, sh->len);
    forget_buffer(sh);
    return ok;
}

/* All lines of f. What has been collected before stays outside of it. */
static int run_lines(Shell *sh, FILE *f, const char *path) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int status = 0;
    while (status == 0 && !sh->quit && !shell_stop && !shell_ends(sh) && (n = getline(&line, &cap, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        if (!feed_line(sh, line, (size_t)n) && error_ends(sh)) status = EXIT_SCRIPT;
    }
    free(line);
    if (ferror(f) && !shell_ends(sh)) {
        fprintf(stderr, "stele: cannot read %s: %s\n", f == stdin ? "standard input" : path, strerror(errno));
        return EXIT_ERROR;
    }
    if (status == 0 && !sh->quit && !shell_stop && !shell_ends(sh) && !flush_buffer(sh) && error_ends(sh))
        status = EXIT_SCRIPT;
    forget_buffer(sh);
    return status;
}

int run_file(Shell *sh, const char *path) {
    if (sh->depth >= 32) {
        fprintf(stderr, "files include each other too deeply: %s\n", path);
        return EXIT_ERROR;
    }
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return EXIT_ERROR;
    }
    FILE *outer = sh->in;
    char *buffer = sh->buffer; /* the rest of the line that includes the file waits */
    size_t len = sh->len, buffer_cap = sh->cap;
    Scan scan = sh->scan;
    sh->buffer = NULL;
    sh->len = sh->cap = 0;
    sh->scan = (Scan){0};
    sh->in = f;
    sh->depth++;
    int status = run_lines(sh, f, path);
    sh->depth--;
    sh->in = outer;
    sh->quit = sh->discard; /* \q ends its file only */
    free(sh->buffer);
    sh->buffer = buffer;
    sh->len = len;
    sh->cap = buffer_cap;
    sh->scan = scan;
    if (f != stdin) fclose(f);
    return status;
}
