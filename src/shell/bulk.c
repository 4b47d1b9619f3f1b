/* bulk.c - \bulk PROCEDURE FILE [SETTING=VALUE ...]: a call for each line of a CSV file (no header; NULL is an empty
 * field without quotes), as one bulk, with these settings for its time. A line with a value that is none of its
 * parameter's type is a call that fails: it is reported with the others, in its place, and does not run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell.h"

enum { FIELDS_MAX = 128, ERRORS_SHOWN = 10, OPTIONS_MAX = 16 };

typedef struct Reader {
    FILE *f;
    char *text; /* fields of the record, each ended by NUL */
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
    if (c == EOF) {
        if (ferror(r->f)) r->why = strerror(errno);
        return false;
    }
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

/* Calls that did not become one. */
typedef struct BadCall {
    int64_t call;
    char sqlstate[6];
    char *message;
} BadCall; /* call: from 0, of the file */
typedef struct BadCalls {
    BadCall *items;
    int64_t n, cap;
} BadCalls;

static bool keep_bad(BadCalls *bad, int64_t call, const stele_error_info *e) {
    if (bad->n == bad->cap) {
        int64_t cap = bad->cap ? bad->cap * 2 : 16;
        BadCall *items = realloc(bad->items, (size_t)cap * sizeof *items);
        if (!items) return false;
        bad->items = items;
        bad->cap = cap;
    }
    BadCall *x = &bad->items[bad->n];
    *x = (BadCall){.call = call, .message = strdup(e->message)};
    memcpy(x->sqlstate, e->sqlstate, sizeof x->sqlstate);
    bad->n += x->message != NULL;
    return x->message != NULL;
}

/* waited_ns: for the redo log, behind the bulk. */
static void show(Shell *sh, stele_bulk *b, const BadCalls *bad, int64_t waited_ns) {
    stele_bulk_info info;
    stele_bulk_get_info(b, &info);
    int64_t outs = stele_bulk_out_count(b), n = stele_bulk_count(b) + bad->n, failed = info.failed + bad->n, shown = 0,
            n_bad = 0;
    if (outs > 0 || failed > 0) { /* without OUT values only failures are worth a line */
        fputs("call,sqlstate,message", sh->out);
        for (int64_t i = 0; i < outs; i++) fprintf(sh->out, ",%s", stele_bulk_out_name(b, i));
        putc('\n', sh->out);
    }
    for (int64_t c = 0; c < n && output_goes_on(sh); c++) {
        stele_error_info e = {.message = "", .context = ""};
        bool is_bad = n_bad < bad->n && bad->items[n_bad].call == c, ok = false;
        if (is_bad) {
            memcpy(e.sqlstate, bad->items[n_bad].sqlstate, sizeof e.sqlstate);
            e.message = bad->items[n_bad++].message;
        } else {
            ok = stele_bulk_status(b, c - n_bad, &e) == STELE_OK;
        }
        if (outs > 0 || !ok) {
            fprintf(sh->out, "%lld,%s,", (long long)c + 1, ok ? "" : e.sqlstate);
            if (!ok) field(sh->out, e.message, (int64_t)strlen(e.message));
            for (int64_t i = 0; i < outs; i++) {
                int64_t len;
                const char *v = is_bad ? NULL : stele_bulk_value(b, c - n_bad, i, &len);
                putc(',', sh->out);
                if (v) field(sh->out, v, len);
            }
            putc('\n', sh->out);
        }
        if (!ok && shown++ < ERRORS_SHOWN)
            fprintf(stderr, "call %lld: ERROR:  %s: %s%s%s\n", (long long)c + 1, e.sqlstate, e.message,
                    e.context[0] ? "\nCONTEXT:  " : "", e.context);
    }
    if (shown > ERRORS_SHOWN) fprintf(stderr, "... and %lld more calls failed\n", (long long)(shown - ERRORS_SHOWN));
    if (sh->set.quiet) return;
    fprintf(sh->out, "BULK %lld, %lld failed", (long long)n, (long long)failed);
    if (info.reason) {
        fprintf(sh->out, " (%s: %s)", info.executor, info.reason);
    } else { /* figures of the dependency graph: sets, calls in the first one, calls that wait for more than one thing
              */
        fprintf(sh->out, " (%s, %s, d ", info.executor, info.strategy);
        if (info.depth > 0) fprintf(sh->out, "%lld", (long long)info.depth);
        else fputs("unknown", sh->out);
        fprintf(sh->out, ", w0 %lld, c %lld)", (long long)info.width0, (long long)info.crossing);
    }
    putc('\n', sh->out);
    if (!sh->timing) return;
    fprintf(sh->out, "Time: %.3f ms (footprints %.3f, schedule %.3f, calls %.3f)", (double)info.total_ns / 1e6,
            (double)info.footprint_ns / 1e6, (double)info.schedule_ns / 1e6, (double)info.run_ns / 1e6);
    if (waited_ns > 0) fprintf(sh->out, ", and %.3f ms for the redo log", (double)waited_ns / 1e6);
    putc('\n', sh->out);
    if (info.why) fprintf(sh->out, "Strategy: %s: %s.\n", info.strategy, info.why);
}

/* ---- arguments ------------------------------------------------------------------------------------ */
/* The next word, ended by NUL; blanks in parentheses and quotes are its own. Single quotes around all of it go, double
 * ones too when `path`. */
static char *next_word(char **at, bool path) {
    char *s = *at + strspn(*at, " \t"), *p = s;
    if (*s == '\'' || (path && *s == '"')) {
        char quote = *s++, *to = p = s;
        for (; *p && (*p != quote || p[1] == quote); p++) {
            p += *p == quote;
            *to++ = *p;
        }
        *at = p + (*p != 0);
        *to = 0;
        return s;
    }
    bool quoted = false;
    int depth = 0;
    for (; *p && (quoted || depth > 0 || (*p != ' ' && *p != '\t')); p++) {
        quoted ^= *p == '"';
        depth += !quoted && *p == '(' ? 1 : !quoted && *p == ')' ? -1 : 0;
    }
    *at = p + (*p != 0);
    *p = 0;
    return s;
}

/* Settings for the time of a bulk, and what they were. */
typedef struct Option {
    char *name, *was;
} Option;
typedef struct Options {
    Option items[OPTIONS_MAX];
    int n;
} Options;

static bool take_text(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    if (n > 0 && values[0]) *(char **)ctx = strdup(values[0]);
    return false;
}
static bool set_to(Shell *sh, const char *name, const char *value) {
    size_t size = strlen(name) + 2 * strlen(value) + 16, at;
    char *sql = malloc(size);
    if (!sql) return false;
    at = (size_t)snprintf(sql, size, "SET %s = '", name);
    for (; *value; value++) {
        if (*value == '\'') sql[at++] = '\'';
        sql[at++] = *value;
    }
    sql[at++] = '\'';
    sql[at] = 0;
    bool ok = stele_exec(sh->conn, sql, NULL, NULL) == STELE_OK;
    free(sql);
    return ok;
}
static bool set_option(Shell *sh, Options *o, char *word) {
    char *value = strchr(word, '='), sql[96];
    if (!value || value == word || strspn(word, "abcdefghijklmnopqrstuvwxyz_") != (size_t)(value - word) ||
        o->n == OPTIONS_MAX) {
        say_error("\\bulk takes SETTING=VALUE behind the file, not \"%s\"\n", word);
        return false;
    }
    *value++ = 0;
    Option *x = &o->items[o->n];
    *x = (Option){.name = word};
    snprintf(sql, sizeof sql, "SHOW %.80s", word);
    if (stele_exec(sh->conn, sql, take_text, &x->was) == STELE_OK && x->was) {
        o->n++;
        if (set_to(sh, word, value)) return true;
    }
    print_error(sh, NULL);
    return false;
}
static void restore_options(Shell *sh, Options *o) {
    while (o->n > 0) {
        Option *x = &o->items[--o->n];
        (void)set_to(sh, x->name, x->was); /* a transaction that has failed forgets its settings by itself */
        free(x->was);
    }
}

/* ---- the command ----------------------------------------------------------------------------------- */
/* The file's lines as calls. */
static bool add_calls(Shell *sh, Reader *r, const char *file, stele_bulk *b, BadCalls *bad) {
    int64_t n_params = stele_bulk_param_count(b);
    for (int64_t call = 0; next_record(r); call++) {
        const char *values[FIELDS_MAX];
        stele_error_info e;
        if (r->n != n_params) {
            say_error("%s, line %lld: %d fields, but the procedure takes %lld\n", file, r->line, r->n,
                      (long long)n_params);
            return false;
        }
        for (int i = 0; i < r->n; i++) values[i] = r->null[i] ? NULL : r->text + r->at[i];
        if (stele_bulk_add(b, values) == STELE_OK) continue;
        stele_error(sh->conn, &e);
        if (strncmp(e.sqlstate, "22", 2) == 0 && keep_bad(bad, call, &e)) continue;
        say_error("%s, line %lld: ", file, r->line);
        print_error(sh, NULL);
        return false;
    }
    if (r->why) say_error("%s, line %lld: %s\n", file, r->line, r->why);
    return !r->why;
}

bool run_bulk(Shell *sh, char *arg) {
    char *name = next_word(&arg, false), *file = next_word(&arg, true);
    if (!*name || !*file) {
        say_error("\\bulk needs a procedure and a CSV file\n");
        return false;
    }
    Options options = {.n = 0};
    Reader r = {.f = fopen(file, "r")};
    BadCalls bad = {0};
    stele_bulk *b = NULL;
    bool ok = r.f != NULL;
    if (!ok) say_error("%s: %s\n", file, strerror(errno));
    for (char *word = next_word(&arg, false); ok && *word; word = next_word(&arg, false))
        ok = set_option(sh, &options, word);
    if (ok && stele_bulk_new(sh->conn, name, &b) != STELE_OK) {
        print_error(sh, NULL);
        ok = false;
    }
    if (ok) ok = add_calls(sh, &r, file, b, &bad);
    if (ok) {
        statement_begins();
        int64_t waited_ns = stele_log_wait_ns(sh->conn);
        ok = stele_bulk_run(b) == STELE_OK;
        waited_ns = stele_log_wait_ns(sh->conn) - waited_ns;
        statement_ends();
        bool stop = shell_stop;
        shell_stop = 0; /* calls that were canceled are shown */
        if (ok) show(sh, b, &bad, waited_ns);
        else print_error(sh, NULL);
        if (stop) shell_stop = 1;
    }
    restore_options(sh, &options);
    for (int64_t i = 0; i < bad.n; i++) free(bad.items[i].message);
    free(bad.items);
    stele_bulk_free(b);
    if (r.f) fclose(r.f);
    free(r.text);
    return ok;
}
