/* slt.c - a sqllogictest runner over the public interface.
 *
 * usage: slt [--set NAME=VALUE]... [--threads N] [--again N] [--vacuum N|changes] [--recover] [--verbose] FILE...
 *
 * Records:
 *   statement ok
 *   statement error [SQLSTATE] [text that the message must contain]
 *   statement count N
 *   query TYPES [nosort|rowsort|valuesort] [label]     TYPES: I integer, R real (compared to 1e-9), T text
 *   hash-threshold N        results with more values are given as "N values hashing to H"
 *   skipif stele, onlyif stele, halt
 * Expected rows follow "----", one value per line or one row per line with tabs between values. NULL is
 * NULL, the empty string (empty), an end of line in a value \n. Every file runs in a database of its own; --set options
 * are applied first. With --again, every SELECT and VALUES has been prepared and run N times before the run whose rows
 * count. With --vacuum, VACUUM comes before every Nth record, outside of transactions: tables are packed. With
 * --vacuum changes it comes before each UPDATE, DELETE and MERGE: what follows reads tables whose rows are packed,
 * patched (storage/patches.h), and since then inserted. With --recover the database is a directory with a redo log. At
 * the end of each file it is left without being saved and opened again, and must have the same definitions and rows.
 *
 * "/tmp/" in a file stands for a directory of this process, which is removed at the end: several may run at a time.
 *
 * Prints a line per failed record and one per file; exit status 1 when something failed.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../definitions.h"
#include "stele/stele.h"
#include "../remove_tree.h"

typedef struct Lines {
    char *text, **line;
    long n;
} Lines;

static bool verbose;
static long passed, failed;
static const char *sets[64];
static int n_sets;
static int threads, again, vacuum;
static bool vacuum_changes, recover;
static char own_dir[] = "/tmp/slt-XXXXXX"; /* made by main */

static void *allocate(size_t n) {
    void *p = malloc(n);
    if (!p) {
        fprintf(stderr, "slt: out of memory\n");
        exit(3);
    }
    return p;
}

/* A copy of `text` with own_dir in place of "/tmp". Frees `text`. */
static char *with_own_dir(char *text) {
    static const char tmp[] = "/tmp/";
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, tmp)); p++) n++;
    char *copy = allocate(strlen(text) + n * sizeof own_dir + 2);
    char *to = copy;
    const char *from = text;
    for (const char *p; (p = strstr(from, tmp)); from = p + strlen("/tmp")) {
        memcpy(to, from, (size_t)(p - from));
        to += p - from;
        to = stpcpy(to, own_dir);
    }
    memcpy(to, from, strlen(from) + 1);
    free(text);
    return copy;
}

static void remove_own_dir(void) {
    DIR *d = opendir(own_dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[sizeof own_dir + sizeof e->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", own_dir, e->d_name);
        if (e->d_type == DT_REG) unlink(path);
    }
    if (d) closedir(d);
    rmdir(own_dir);
}

static bool read_lines(const char *path, Lines *out) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fseek(f, 0, SEEK_SET);
    out->text = allocate((size_t)size + 1);
    bool whole = (long)fread(out->text, 1, (size_t)size, f) == size;
    fclose(f);
    if (!whole) return false;
    out->text[size] = 0;
    out->text = with_own_dir(out->text);
    out->line = allocate(sizeof(char *) * (strlen(out->text) + 2));
    out->n = 0;
    for (char *p = out->text; *p;) {
        out->line[out->n++] = p;
        char *nl = strchr(p, '\n');
        if (!nl) break;
        *nl = 0;
        if (nl > p && nl[-1] == '\r') nl[-1] = 0;
        p = nl + 1;
    }
    return true;
}

typedef struct Values {
    char **v;
    long n, cap;
} Values;
static void push(Values *s, const char *v) {
    if (s->n == s->cap) s->v = realloc(s->v, sizeof(char *) * (size_t)(s->cap = s->cap ? s->cap * 2 : 64));
    s->v[s->n++] = strdup(v);
}
/* A value as expected rows show it. */
static void push_value(Values *s, const char *v) {
    char *text = malloc(2 * (v ? strlen(v) : 0) + 10), *to = text;
    if (!text) exit(3);
    snprintf(text, 10, "%s", v ? "(empty)" : "NULL");
    for (; v && *v; v++) {
        if (*v == '\n') *to++ = '\\';
        *to++ = *v == '\n' ? 'n' : *v;
        *to = 0;
    }
    push(s, text);
    free(text);
}
static void clear(Values *s) {
    for (long i = 0; i < s->n; i++) free(s->v[i]);
    free(s->v);
    *s = (Values){0};
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static long row_width;
static int by_row(const void *a, const void *b) {
    char *const *x = a, *const *y = b;
    for (long i = 0; i < row_width; i++) {
        int c = strcmp(x[i], y[i]);
        if (c) return c;
    }
    return 0;
}

static bool same(const char *got, const char *want, char type) {
    if (strcmp(got, want) == 0) return true;
    if (type != 'R') return false;
    char *e1, *e2;
    double a = strtod(got, &e1), b = strtod(want, &e2);
    if (e1 == got || *e1 || e2 == want || *e2) return false;
    return fabs(a - b) <= 1e-9 * fmax(fmax(fabs(a), fabs(b)), 1e-3);
}

/* FNV-1a over the values, each followed by a newline: stands for long results. */
static unsigned long long hash_values(const Values *v) {
    unsigned long long h = 14695981039346656037ULL;
    for (long i = 0; i < v->n; i++)
        for (const char *p = v->v[i];; p++) {
            h = (h ^ (unsigned char)(*p ? *p : '\n')) * 1099511628211ULL;
            if (!*p) break;
        }
    return h;
}

static void fail(const char *file, long line, const char *sql, const char *fmt, const char *a, const char *b) {
    failed++;
    printf("%s:%ld: ", file, line + 1);
    printf(fmt, a, b);
    printf("\n    %s\n", sql);
}

static char *message(stele_conn *c) {
    stele_error_info e;
    static char buf[4096];
    stele_error(c, &e);
    snprintf(buf, sizeof buf, "%s: %s%s%s", e.sqlstate, e.message, *e.detail ? " / " : "", e.detail);
    return buf;
}

/* Joins lines [from, to) with newlines. */
static char *join(const Lines *l, long from, long to) {
    size_t n = 1;
    for (long i = from; i < to; i++) n += strlen(l->line[i]) + 1;
    char *s = malloc(n), *p = s;
    for (long i = from; i < to; i++) p += sprintf(p, "%s%s", i > from ? "\n" : "", l->line[i]);
    *p = 0;
    return s;
}

static bool blank(const char *s) {
    while (isspace((unsigned char)*s)) s++;
    return !*s;
}

static void run_statement(stele_conn *c, const char *file, const Lines *l, long at, long end, const char *kind,
                          const char *arg) {
    char *sql = join(l, at + 1, end);
    stele_status r = stele_exec(c, sql, NULL, NULL);
    if (strcmp(kind, "ok") == 0) {
        if (r != STELE_OK) fail(file, at, sql, "statement failed: %s%s", message(c), "");
        else passed++;
    } else {
        char state[16] = "", text[512] = "";
        sscanf(arg, "%15s %511[^\n]", state, text);
        stele_error_info e;
        stele_error(c, &e);
        if (r == STELE_OK) fail(file, at, sql, "statement succeeded, error %s expected%s", arg, "");
        else if (strlen(state) == 5 && strcmp(state, e.sqlstate) != 0)
            fail(file, at, sql, "wrong error: %s, expected %s", message(c), arg);
        else if (*text && !strstr(e.message, text))
            fail(file, at, sql, "wrong message: %s, expected %s", message(c), text);
        else passed++;
    }
    free(sql);
}

static void run_query(stele_conn *c, const char *file, const Lines *l, long at, long end, const char *types,
                      const char *sort, long threshold) {
    long sep = at + 1;
    while (sep < end && strcmp(l->line[sep], "----") != 0) sep++;
    char *sql = join(l, at + 1, sep);
    Values got = {0}, want = {0};
    stele_stmt *s = NULL;
    bool reads = strncasecmp(sql, "select", 6) == 0 || strncasecmp(sql, "values", 6) == 0;
    for (int i = 0; reads && i < again; i++) {
        if (stele_prepare(c, sql, -1, &s, NULL) == STELE_OK && s) {
            while (stele_step(s) == STELE_ROW) continue;
            stele_reset(s);
            (void)stele_step(s);
        }
        stele_finalize(s);
        s = NULL;
    }
    stele_status r = stele_prepare(c, sql, -1, &s, NULL);
    long width = (long)strlen(types);
    if (r == STELE_OK && s) {
        while ((r = stele_step(s)) == STELE_ROW) {
            long n = (long)stele_column_count(s);
            for (long i = 0; i < n; i++) {
                const char *v = stele_column_text(s, i, NULL);
                push_value(&got, v);
            }
        }
        if (r == STELE_DONE && stele_column_count(s) != width) {
            char a[32];
            snprintf(a, sizeof a, "%lld", (long long)stele_column_count(s));
            fail(file, at, sql, "query has %s columns, types say %s", a, types);
            goto done;
        }
    }
    if (r != STELE_DONE) {
        fail(file, at, sql, "query failed: %s%s", message(c), "");
        goto done;
    }
    for (long i = sep + 1; i < end; i++) {
        char *p = l->line[i];
        if (width > 1 && strchr(p, '\t')) {
            for (char *t = p;;) {
                char *tab = strchr(t, '\t');
                if (tab) *tab = 0;
                push(&want, t);
                if (!tab) break;
                *tab = '\t';
                t = tab + 1;
            }
        } else {
            push(&want, p);
        }
    }
    if (width > 0 && strcmp(sort, "rowsort") == 0) {
        row_width = width;
        qsort(got.v, (size_t)(got.n / width), sizeof(char *) * (size_t)width, by_row);
        qsort(want.v, (size_t)(want.n / width), sizeof(char *) * (size_t)width, by_row);
    } else if (strcmp(sort, "valuesort") == 0) {
        qsort(got.v, (size_t)got.n, sizeof(char *), by_text);
        qsort(want.v, (size_t)want.n, sizeof(char *), by_text);
    }
    if (threshold > 0 && got.n > threshold && want.n == 1) {
        char h[96];
        snprintf(h, sizeof h, "%ld values hashing to %016llx", got.n, hash_values(&got));
        if (strcmp(h, want.v[0]) == 0) passed++;
        else fail(file, at, sql, "got %s, expected %s", h, want.v[0]);
        goto done;
    }
    if (got.n != want.n) {
        char a[32], b[32];
        snprintf(a, sizeof a, "%ld", got.n);
        snprintf(b, sizeof b, "%ld", want.n);
        fail(file, at, sql, "%s values, expected %s", a, b);
        if (verbose)
            for (long i = 0; i < got.n; i++) printf("    %s\n", got.v[i]);
        goto done;
    }
    for (long i = 0; i < got.n; i++)
        if (!same(got.v[i], want.v[i], types[i % width])) {
            fail(file, at, sql, "got '%s', expected '%s'", got.v[i], want.v[i]);
            goto done;
        }
    passed++;
done:
    stele_finalize(s);
    clear(&got);
    clear(&want);
    free(sql);
}

/* Before a record, the nth of its file, whose statement begins with `sql`. Where it is refused (a statement_timeout, a
 * read-only session) tables stay. */
static void pack(stele_conn *c, long n, const char *sql) {
    static const char *const changes[] = {"update ", "delete ", "merge "};
    bool due = vacuum > 0 && n % vacuum == 0;
    for (int i = 0; vacuum_changes && i < 3; i++) due |= strncasecmp(sql, changes[i], strlen(changes[i])) == 0;
    if (due && stele_transaction_state(c) == 'I') (void)stele_exec(c, "vacuum", NULL, NULL);
}

/* ---- --recover ---- */
static void put_rows(stele_conn *c, Definitions *s, const char *table) {
    static const char query[] = "select count(*)::text || ' rows ' || coalesce(md5(string_agg(x::text, ',' order by "
                                "x::text)), '') from ";
    char *sql = allocate(strlen(query) + strlen(table) + 3);
    sprintf(sql, "%s%s x", query, table);
    stele_stmt *st = NULL;
    put(&s->text, table);
    put(&s->text, ": ");
    if (stele_prepare(c, sql, -1, &st, NULL) == STELE_OK && stele_step(st) == STELE_ROW)
        put(&s->text, stele_column_text(st, 0, NULL));
    else put(&s->text, message(c));
    put(&s->text, "\n");
    stele_finalize(st);
    free(sql);
}
/* All that the database has, as a text. */
static char *state_of(stele_db *db) {
    Definitions s = {{0}};
    stele_conn *c = NULL;
    put(&s.text, "");
    put(&s.tables, "");
    if (stele_connect(db, &c) != STELE_OK) return s.text.p;
    if (stele_list_definitions(c, each_definition, &s) != STELE_OK) put(&s.text, message(c));
    for (char *name = strtok(s.tables.p, "\n"); name; name = strtok(NULL, "\n")) put_rows(c, &s, name);
    stele_disconnect(c);
    free(s.tables.p);
    return s.text.p;
}
/* Prints the first line that differs. */
static void compare_states(const char *file, const char *before, const char *after) {
    long line = 1;
    const char *a = before, *b = after;
    if (strcmp(before, after) == 0) {
        passed++;
        return;
    }
    for (; *a && *a == *b; a++, b++) {
        if (*a != '\n') continue;
        before = a + 1;
        after = b + 1;
        line++;
    }
    failed++;
    printf("%s: opened again, it differs in line %ld: %.*s\n    it was %.*s\n", file, line, (int)strcspn(after, "\n"),
           after, (int)strcspn(before, "\n"), before);
}
/* Leaves the database as a crash does. */
static stele_db *reopen(const char *file, const char *path, stele_db *db, const stele_options *o) {
    stele_error_info e;
    char *before = state_of(db);
    if (stele_discard(db) != STELE_OK) printf("%s: the database is in use\n", file);
    if (stele_open(path, o, &db, &e) != STELE_OK) {
        printf("%s: cannot be opened again: %s\n", file, e.message);
        failed++;
        db = NULL;
    } else {
        char *after = state_of(db);
        compare_states(file, before, after);
        free(after);
    }
    free(before);
    return db;
}

static void run_file(const char *file) {
    Lines l;
    if (!read_lines(file, &l)) {
        failed++;
        return;
    }
    stele_db *db = NULL;
    stele_conn *c = NULL;
    stele_error_info e;
    char path[sizeof own_dir + 4];
    snprintf(path, sizeof path, "%s/db", own_dir);
    stele_options o = {.threads = threads, .durable = recover};
    long before_ok = passed, before_bad = failed, threshold = 0;
    if (stele_open(recover ? path : ":memory:", &o, &db, &e) != STELE_OK || stele_connect(db, &c) != STELE_OK) {
        printf("%s: cannot open a database\n", file);
        failed++;
        goto done;
    }
    for (int i = 0; i < n_sets; i++) {
        char sql[512], name[128];
        const char *eq = strchr(sets[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(eq ? eq - sets[i] : 0), sets[i]);
        snprintf(sql, sizeof sql, "set %s = '%s'", name, eq ? eq + 1 : "");
        if (stele_exec(c, sql, NULL, NULL) != STELE_OK) {
            printf("%s: %s: %s\n", file, sql, message(c));
            failed++;
            goto done;
        }
    }
    bool skip = false;
    for (long i = 0, n = 0; i < l.n; i++) {
        char *line = l.line[i];
        if (blank(line) || line[0] == '#') continue;
        long end = i + 1;
        while (end < l.n && !blank(l.line[end])) end++;
        char word[64] = "", a[64] = "", b[64] = "";
        int used = 0;
        sscanf(line, "%63s %63s %n", word, a, &used);
        if (strcmp(word, "halt") == 0) break;
        if (strcmp(word, "skipif") == 0 || strcmp(word, "onlyif") == 0) {
            skip = (strcmp(word, "skipif") == 0) == (strcmp(a, "stele") == 0);
            continue;
        }
        if (strcmp(word, "hash-threshold") == 0) {
            threshold = strtol(a, NULL, 10);
            continue;
        }
        if (skip) {
            skip = false;
            i = end;
            continue;
        }
        pack(c, n++, i + 1 < l.n ? l.line[i + 1] : "");
        if (strcmp(word, "statement") == 0) {
            run_statement(c, file, &l, i, end, a, used > 0 && used <= (int)strlen(line) ? line + used : "");
        } else if (strcmp(word, "query") == 0) {
            sscanf(line, "%*s %*s %63s", b);
            run_query(c, file, &l, i, end, a, *b ? b : "nosort", threshold);
        } else {
            printf("%s:%ld: unknown record: %s\n", file, i + 1, line);
            failed++;
        }
        i = end;
    }
done:
    stele_disconnect(c);
    if (db && recover) db = reopen(file, path, db, &o);
    if (db && stele_close(db, &e) != STELE_OK) {
        printf("%s: close: %s\n", file, e.message);
        failed++;
    }
    if (recover) remove_tree(path);
    free(l.text);
    free(l.line);
    if (verbose || failed > before_bad)
        printf("%s: %ld passed, %ld failed\n", file, passed - before_ok, failed - before_bad);
}

int main(int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--verbose") == 0) verbose = true;
        else if (strcmp(argv[i], "--recover") == 0) recover = true;
        else if (strcmp(argv[i], "--set") == 0 && i + 1 < argc && n_sets < 64) sets[n_sets++] = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--again") == 0 && i + 1 < argc) again = atoi(argv[++i]);
        else if (strcmp(argv[i], "--vacuum") == 0 && i + 1 < argc && strcmp(argv[i + 1], "changes") == 0)
            vacuum_changes = ++i > 0;
        else if (strcmp(argv[i], "--vacuum") == 0 && i + 1 < argc) vacuum = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: slt [--set NAME=VALUE]... [--threads N] [--again N] [--vacuum N|changes] "
                            "[--recover] [--verbose] FILE...\n");
            return 2;
        }
    }
    if (!mkdtemp(own_dir)) {
        fprintf(stderr, "slt: %s: %s\n", own_dir, strerror(errno));
        return 2;
    }
    for (; i < argc; i++) run_file(argv[i]);
    remove_own_dir();
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0;
}
