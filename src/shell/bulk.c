/* bulk.c - \bulk PROCEDURE FILE: a call for each line of a CSV file (no header; NULL is an empty field without quotes), as one bulk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell.h"

enum { FIELDS_MAX = 128, ERRORS_SHOWN = 10 };

typedef struct Reader {
    FILE *f;
    char *text;      /* fields of the record, each ended by NUL */
    size_t len, cap;
    size_t at[FIELDS_MAX];
    bool null[FIELDS_MAX];
    int n;
    long long line;
    const char *why;
} Reader;

static bool put(Reader *r, int c) {
    if (r->len == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 4096;
        char *p = realloc(r->text, cap);
        if (!p) return r->why = "out of memory", false;
        r->text = p;
        r->cap = cap;
    }
    r->text[r->len++] = (char)c;
    return true;
}

/* One record; false at the end of the file or with `why`. */
static bool next_record(Reader *r) {
    int c = getc(r->f);
    if (c == EOF) return false;
    r->len = 0;
    r->n = 0;
    r->line++;
    for (;;) {
        if (r->n == FIELDS_MAX) return r->why = "too many fields", false;
        r->at[r->n] = r->len;
        bool quoted = c == '"', empty = true;
        if (quoted) {
            for (c = getc(r->f);; c = getc(r->f)) {
                if (c == EOF) return r->why = "a quoted field does not end", false;
                if (c == '"' && (c = getc(r->f)) != '"') break;
                r->line += c == '\n';
                if (!put(r, c)) return false;
            }
        }
        for (; c != ',' && c != '\n' && c != EOF; c = getc(r->f)) {
            if (c == '\r') continue;
            if (quoted) return r->why = "text behind a quoted field", false;
            empty = false;
            if (!put(r, c)) return false;
        }
        r->null[r->n++] = !quoted && empty;
        if (!put(r, 0)) return false;
        if (c != ',') return true;
        c = getc(r->f);
    }
}

static void field(FILE *out, const char *s, int64_t len) {
    bool quote = len == 0 || memchr(s, ',', (size_t)len) || memchr(s, '"', (size_t)len) || memchr(s, '\n', (size_t)len);
    if (!quote) {
        fwrite(s, 1, (size_t)len, out);
        return;
    }
    putc('"', out);
    for (int64_t i = 0; i < len; i++) {
        if (s[i] == '"') putc('"', out);
        putc(s[i], out);
    }
    putc('"', out);
}

static void show(Shell *sh, stele_bulk *b) {
    stele_bulk_info info;
    stele_bulk_get_info(b, &info);
    int64_t outs = stele_bulk_out_count(b), shown = 0;
    if (outs > 0) {
        fputs("call,sqlstate", sh->out);
        for (int64_t i = 0; i < outs; i++) fprintf(sh->out, ",%s", stele_bulk_out_name(b, i));
        putc('\n', sh->out);
    }
    for (int64_t c = 0; c < stele_bulk_count(b) && !shell_stop; c++) {
        stele_error_info e;
        bool ok = stele_bulk_status(b, c, &e) == STELE_OK;
        if (outs > 0) {
            fprintf(sh->out, "%lld,%s", (long long)c + 1, ok ? "" : e.sqlstate);
            for (int64_t i = 0; i < outs; i++) {
                int64_t len;
                const char *v = stele_bulk_value(b, c, i, &len);
                putc(',', sh->out);
                if (v) field(sh->out, v, len);
            }
            putc('\n', sh->out);
        }
        if (!ok && shown++ < ERRORS_SHOWN) fprintf(stderr, "call %lld: ERROR:  %s: %s%s%s\n", (long long)c + 1, e.sqlstate, e.message, e.context[0] ? "\nCONTEXT:  " : "", e.context);
    }
    if (shown > ERRORS_SHOWN) fprintf(stderr, "... and %lld more calls failed\n", (long long)(shown - ERRORS_SHOWN));
    if (sh->quiet) return;
    fprintf(sh->out, "BULK %lld, %lld failed", (long long)info.calls, (long long)info.failed);
    if (info.reason) fprintf(sh->out, " (%s: %s)", info.executor, info.reason);
    else if (info.depth == 0) fprintf(sh->out, " (%s, %s)", info.executor, info.strategy);
    else fprintf(sh->out, " (%s, %s, depth %lld)", info.executor, info.strategy, (long long)info.depth);
    putc('\n', sh->out);
    if (!sh->timing) return;
    fprintf(sh->out, "Time: %.3f ms (footprints %.3f, schedule %.3f, calls %.3f)\n", (double)info.total_ns / 1e6, (double)info.footprint_ns / 1e6, (double)info.schedule_ns / 1e6, (double)info.run_ns / 1e6);
    if (info.why) fprintf(sh->out, "Strategy: %s: %s.\n", info.strategy, info.why);
}

void run_bulk(Shell *sh, char *arg) {
    char *file = arg + strcspn(arg, " \t");
    if (*file) *file++ = 0;
    file += strspn(file, " \t'\"");
    for (size_t n = strlen(file); n > 0 && strchr("'\" \t", file[n - 1]); n--) file[n - 1] = 0;
    if (!*arg || !*file) {
        fprintf(stderr, "\\bulk needs a procedure and a CSV file\n");
        sh->failed = true;
        return;
    }
    Reader r = {.f = fopen(file, "r")};
    stele_bulk *b = NULL;
    bool ok = r.f != NULL;
    if (!ok) fprintf(stderr, "%s: %s\n", file, strerror(errno));
    if (ok && stele_bulk_new(sh->conn, arg, &b) != STELE_OK) {
        print_error(sh, NULL);
        ok = false;
    }
    while (ok && next_record(&r)) {
        const char *values[FIELDS_MAX];
        if (r.n != stele_bulk_param_count(b)) {
            fprintf(stderr, "%s, line %lld: %d fields, but the procedure takes %lld\n", file, r.line, r.n, (long long)stele_bulk_param_count(b));
            ok = false;
            break;
        }
        for (int i = 0; i < r.n; i++) values[i] = r.null[i] ? NULL : r.text + r.at[i];
        if (stele_bulk_add(b, values) == STELE_OK) continue;
        fprintf(stderr, "%s, line %lld: ", file, r.line);
        print_error(sh, NULL);
        ok = false;
    }
    if (ok && r.why) {
        fprintf(stderr, "%s, line %lld: %s\n", file, r.line, r.why);
        ok = false;
    }
    if (ok) {
        shell_stop = 0;
        shell_running = 1;
        ok = stele_bulk_run(b) == STELE_OK;
        shell_running = 0;
        if (ok) show(sh, b);
        else print_error(sh, NULL);
    }
    if (!ok) sh->failed = true;
    stele_bulk_free(b);
    if (r.f) fclose(r.f);
    free(r.text);
}
