/* restore.c - stele restore: a database from what stele dump has written, a file or a directory (dump_dir.c).
 *
 * The dump runs as a script that its first error ends. Nothing is saved before all of it has run and was found to be
 * complete, so that a database that was there stays as it was, and one that was not is gone again. Of a directory the
 * data of several tables is read and decompressed by threads, ahead of the COPY that takes it; COPYs come one after the
 * other, each with all worker threads, since they take the database lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell/dump_dir.h"
#include "shell/packed.h"
#include "shell/shell.h"
#include "shell/subcommand.h"
#include "shell/vars.h"

static const char program[] = "stele restore";
static const char usage[] =
    "usage: stele restore SOURCE DATABASE [options]\n"
    "Makes the database directory DATABASE of SOURCE, which stele dump has written: a file (also compressed by zstd),\n"
    "a directory, or - for standard input. What DATABASE has already stays. All of it is done, or nothing is saved.\n"
    "  -j, --jobs N               threads that read the files of a directory\n"
    "      --memory-limit BYTES   for the database\n"
    "      --help\n"
    "Exit status: 0 all of it is done, 1 an error, 2 wrong options, 128 + n ended by signal n.\n";

/* A table's data on its way, in blocks. */
enum { BLOCKS = 4, BLOCK_BYTES = 1 << 20 };
typedef struct Table {
    char *file, *target; /* of COPY */
    long long rows;
    /* under Restore.mutex */
    char *blocks[BLOCKS];
    size_t len[BLOCKS];
    int first, n;
    bool ended;
    int failed; /* errno */
    size_t at;  /* of the first block: what was taken */
} Table;
typedef struct Restore {
    Shell sh;
    const char *source, *path;
    bool is_dir, was_there, left; /* left: the shell's parts are freed */
    int64_t jobs;                 /* 0: as many as there are processors, up to 4 */
    Table *tables;
    size_t n, taken, done; /* taken by threads; restored */
    bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} Restore;

/* ---- options ---------------------------------------------------------------------------------------- */

static bool read_options(Restore *r, char **argv) {
    for (int i = 2; argv[i]; i++) {
        const char *arg = argv[i], *value;
        bool missing = false;
        if ((value = option_value(argv, &i, "-j", "--jobs", &missing))) {
            if (!option_number(program, "number of threads", value, &r->jobs)) return false;
        } else if (!missing && (value = option_value(argv, &i, NULL, "--memory-limit", &missing))) {
            if (!option_number(program, "number of bytes", value, &r->sh.open.memory_limit)) return false;
        } else if (missing) return bad_option(program, "option \"%s\" needs a value", arg);
        else if (arg[0] == '-' && arg[1]) return bad_option(program, "unrecognized option \"%s\"", arg);
        else if (!r->source) r->source = arg;
        else if (!r->path) r->path = arg;
        else return bad_option(program, "too many arguments (first is \"%s\")", arg);
    }
    if (!r->source) return bad_option(program, "which dump?%s", "");
    if (!r->path || !*r->path) return bad_option(program, "which database?%s", "");
    return strcmp(r->path, ":memory:") != 0 ? true : bad_option(program, "\"%s\" is no directory", r->path);
}

static bool fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fails(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}
static bool no_memory(void) { return fails("out of memory"); }
static char *path_in(const Restore *r, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", r->source, name) >= 0) return path;
    (void)no_memory();
    return NULL;
}

/* ---- SQL ---------------------------------------------------------------------------------------------- */

/* The last lines of a dump, its own or PostgreSQL's, which may have \unrestrict behind them. */
static bool is_complete(const PackedTail *t) {
    char text[sizeof t->bytes + 1];
    memcpy(text, t->bytes, t->n);
    text[t->n] = 0;
    const char *at = strstr(text, " database dump complete\n--\n");
    if (!at) return false;
    at = strstr(at, "--");
    at += strspn(at, "-\n\r ");
    if (strncmp(at, "\\unrestrict ", 12) == 0) at += strcspn(at, "\n");
    return at[strspn(at, "\n\r ")] == 0;
}
static bool run_script(Restore *r, const char *path, const char *name) {
    PackedTail tail = {.n = 0};
    FILE *f = packed_read(path, &tail);
    if (!f) return fails("cannot open \"%s\": %s", path, strerror(errno));
    const int status = run_stream(&r->sh, f, name);
    const bool ok = status == 0 && !r->sh.output.lost && !shell_signal;
    const bool whole = is_complete(&tail);
    fclose(f);
    if (ok && !whole) return fails("%s is no complete dump: its last line is missing", name);
    return ok;
}

/* ---- data: the threads that read ------------------------------------------------------------------------ */

/* A block that is empty: false, the restore has ended. */
static bool put_block(Restore *r, Table *t, char *block, size_t n) {
    pthread_mutex_lock(&r->mutex);
    while (t->n == BLOCKS && !r->stop) pthread_cond_wait(&r->changed, &r->mutex);
    const bool ok = !r->stop;
    if (ok) {
        const int last = (t->first + t->n++) % BLOCKS;
        t->blocks[last] = block;
        t->len[last] = n;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
    return ok;
}
static void end_table(Restore *r, Table *t, int why) {
    pthread_mutex_lock(&r->mutex);
    t->ended = true;
    t->failed = why;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
}
static void read_table(Restore *r, Table *t) {
    char *path = path_in(r, t->file);
    FILE *f = path ? packed_read(path, NULL) : NULL;
    int why = f ? 0 : errno;
    for (bool more = f != NULL; more;) {
        char *block = malloc(BLOCK_BYTES);
        const size_t n = block ? fread(block, 1, BLOCK_BYTES, f) : 0;
        if (!block) why = ENOMEM;
        else if (n < BLOCK_BYTES && ferror(f)) why = errno ? errno : EIO;
        more = !why && n == BLOCK_BYTES;
        if (why || n == 0 || !put_block(r, t, block, n)) {
            free(block);
            more = false;
        }
    }
    if (f) fclose(f);
    free(path);
    end_table(r, t, why);
}
static void *read_tables(void *arg) {
    Restore *r = arg;
    for (;;) {
        pthread_mutex_lock(&r->mutex);
        Table *t = r->stop || r->taken == r->n ? NULL : &r->tables[r->taken++];
        pthread_mutex_unlock(&r->mutex);
        if (!t) return NULL;
        read_table(r, t);
    }
}

/* ---- data: COPY, on the main thread ---------------------------------------------------------------------- */

typedef struct Source {
    Restore *r;
    Table *t;
} Source;
/* May come on another thread, one at a time. */
static int64_t take_data(void *ctx, char *buf, int64_t size) {
    const Source *s = ctx;
    Restore *r = s->r;
    Table *t = s->t;
    int64_t got = 0;
    pthread_mutex_lock(&r->mutex);
    while (t->n == 0 && !t->ended) pthread_cond_wait(&r->changed, &r->mutex);
    while (got < size && t->n > 0) {
        size_t n = t->len[t->first] - t->at;
        if (n > (size_t)(size - got)) n = (size_t)(size - got);
        memcpy(buf + got, t->blocks[t->first] + t->at, n);
        got += (int64_t)n;
        t->at += n;
        if (t->at < t->len[t->first]) break;
        free(t->blocks[t->first]);
        t->first = (t->first + 1) % BLOCKS;
        t->n--;
        t->at = 0;
        pthread_cond_broadcast(&r->changed);
    }
    const bool failed = got == 0 && t->failed;
    pthread_mutex_unlock(&r->mutex);
    return failed || shell_signal ? -1 : got;
}
static int read_failure(Restore *r, const Table *t) {
    pthread_mutex_lock(&r->mutex);
    const int why = t->failed;
    pthread_mutex_unlock(&r->mutex);
    return why;
}
static bool copy_table(Restore *r, Table *t) {
    Source s = {r, t};
    stele_stmt *st = NULL;
    char *sql = NULL;
    if (asprintf(&sql, "copy %s from stdin", t->target) < 0) return no_memory();
    stele_set_copy_streams(r->sh.conn, take_data, NULL, &s);
    statement_begins();
    bool ok = stele_prepare(r->sh.conn, sql, -1, &st, NULL) == STELE_OK && stele_run(st) == STELE_DONE;
    statement_ends();
    free(sql);
    const int why = read_failure(r, t);
    if (!ok && why) {
        (void)fails("cannot read \"%s/%s\": %s", r->source, t->file, strerror(why));
    } else if (!ok && !shell_signal) {
        (void)fails("%s/%s: COPY %s", r->source, t->file, t->target);
        print_error(&r->sh, NULL);
    }
    const long long rows = ok ? (long long)stele_row_count(st) : 0;
    stele_finalize(st);
    if (ok && rows != t->rows) ok = fails("\"%s/%s\" has %lld rows, not %lld", r->source, t->file, rows, t->rows);
    return ok;
}
static bool copy_tables(Restore *r) {
    enum { MOST = 64, USUAL = 4 };
    pthread_t ids[MOST];
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = 0, want = (size_t)(r->jobs > 0 ? r->jobs : cpus < USUAL ? cpus : USUAL);
    if (want > MOST) want = MOST;
    if (want > r->n) want = r->n;
    while (n < want && pthread_create(&ids[n], NULL, read_tables, r) == 0) n++;
    bool ok = n > 0 || r->n == 0 ? true : fails("no thread could be started");
    for (; ok && r->done < r->n; r->done++) ok = copy_table(r, &r->tables[r->done]);
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
    for (size_t i = 0; i < n; i++) pthread_join(ids[i], NULL);
    stele_set_copy_streams(r->sh.conn, read_copy, write_copy, &r->sh);
    return ok && !shell_signal;
}

/* ---- a directory ------------------------------------------------------------------------------------------ */

static bool bad_manifest(const Restore *r, const char *why) { return fails("\"%s/MANIFEST\" %s", r->source, why); }

static void unescape(char *s) {
    char *to = s;
    for (; *s; s++) {
        if (*s == '\\' && s[1]) s++, *to++ = *s == 'n' ? '\n' : *s;
        else *to++ = *s;
    }
    *to = 0;
}
/* The file is there, and as long as it was. */
static bool check_size(const Restore *r, const char *name, long long bytes) {
    struct stat st;
    char *path = path_in(r, name);
    bool ok = path != NULL;
    if (ok && stat(path, &st) != 0) ok = fails("cannot open \"%s\": %s", path, strerror(errno));
    else if (ok && (long long)st.st_size != bytes)
        ok = fails("\"%s\" has %lld bytes, not %lld", path, (long long)st.st_size, bytes);
    free(path);
    return ok;
}
static bool add_line(Restore *r, char *line) {
    char name[64];
    long long bytes, rows;
    int end = 0;
    if (sscanf(line, "file %63s %lld%n", name, &bytes, &end) == 2 && !line[end]) return check_size(r, name, bytes);
    if (sscanf(line, "table %63s %lld %lld %n", name, &bytes, &rows, &end) != 3 || !line[end])
        return bad_manifest(r, "has a line that is not known");
    Table *more = realloc(r->tables, (r->n + 1) * sizeof *more);
    if (!more) return no_memory();
    r->tables = more;
    more[r->n] = (Table){.file = strdup(name), .target = strdup(line + end), .rows = rows};
    const Table *t = &more[r->n++];
    if (!t->file || !t->target) return no_memory();
    unescape(t->target);
    return check_size(r, name, bytes);
}
static bool read_manifest(Restore *r, char *text, size_t n) {
    char *last = strstr(text, "\n" MANIFEST_LAST), *at = text, *end;
    if (strncmp(text, MANIFEST_FIRST, strlen(MANIFEST_FIRST)) != 0)
        return bad_manifest(r, "is of no dump that this version knows");
    if (!last || strlen(text) != n) return bad_manifest(r, "is not complete");
    if (strtoull(last + 1 + strlen(MANIFEST_LAST), NULL, 16) != manifest_checksum(text, (size_t)(last + 1 - text)))
        return bad_manifest(r, "is damaged: its checksum does not match");
    last[1] = 0;
    bool ok = true;
    for (int line = 0; ok && (end = strchr(at, '\n')); at = end + 1, line++) {
        *end = 0;
        if (line >= 2) ok = add_line(r, at);
    }
    return ok;
}
static bool open_manifest(Restore *r) {
    char *path = path_in(r, "MANIFEST"), *text = NULL;
    size_t cap = 0;
    FILE *f = path ? fopen(path, "r") : NULL;
    if (!f && path) (void)fails("\"%s\" is no complete dump: it has no MANIFEST", r->source);
    const ssize_t n = f ? getdelim(&text, &cap, 0, f) : -1;
    if (f) fclose(f);
    free(path);
    const bool ok = f && (n > 0 ? read_manifest(r, text, (size_t)n) : bad_manifest(r, "is not complete"));
    free(text);
    return ok;
}
static bool run_in(Restore *r, const char *name) {
    char *path = path_in(r, name);
    const bool ok = path && run_script(r, path, path);
    free(path);
    return ok;
}
static bool restore_directory(Restore *r) {
    return run_in(r, "before.sql.zst") && copy_tables(r) && run_in(r, "after.sql.zst");
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}
/* A database that the restore has made, of which nothing was saved. */
static void remove_new(const Restore *r) {
    static const char *const files[] = {"LOCK", "CURRENT", "CURRENT.tmp"};
    for (size_t i = 0; i < sizeof files / sizeof *files && !r->was_there; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s", r->path, files[i]) < 0) return;
        (void)unlink(path);
        free(path);
    }
    if (!r->was_there) (void)rmdir(r->path);
}
static bool open_database(Restore *r) {
    stele_error_info e;
    Shell *sh = &r->sh;
    if (stele_open(r->path, &sh->open, &sh->db, &e) != STELE_OK) {
        say_failure(program, "open", r->path, &e);
        return false;
    }
    if (stele_connect(sh->db, &sh->conn) == STELE_OK) return true;
    (void)stele_discard(sh->db);
    return no_memory();
}
static int restore(Restore *r) {
    Shell *sh = &r->sh;
    struct stat st;
    r->is_dir = strcmp(r->source, "-") != 0 && stat(r->source, &st) == 0 && S_ISDIR(st.st_mode);
    if (r->is_dir ? !open_manifest(r) : strcmp(r->source, "-") != 0 && !exists(r->source))
        return r->is_dir ? EXIT_ERROR : (fails("cannot open \"%s\": %s", r->source, strerror(errno)), EXIT_ERROR);
    r->was_there = exists(r->path);
    if (!open_database(r)) return EXIT_ERROR;
    stele_set_copy_streams(sh->conn, read_copy, write_copy, sh);
    stele_set_notice(sh->conn, show_notice, sh);
    catch_signals(sh);
    const bool ok = r->is_dir ? restore_directory(r)
                              : run_script(r, r->source, strcmp(r->source, "-") == 0 ? "standard input" : r->source);
    sh->discard = !ok;
    const int status = leave(sh, ok ? 0 : EXIT_ERROR);
    r->left = true;
    if (status == 0) return 0;
    remove_new(r);
    (void)fails("nothing was restored%s", r->was_there ? ", the database is as it was" : "");
    return status;
}
static void free_restore(Restore *r) {
    for (size_t i = 0; i < r->n; i++) {
        Table *t = &r->tables[i];
        for (int k = 0; k < t->n; k++) free(t->blocks[(t->first + k) % BLOCKS]);
        free(t->file);
        free(t->target);
    }
    free(r->tables);
    if (!r->left) {
        if (r->sh.out) fclose(r->sh.out);
        variables_free(&r->sh);
        conditions_free(r->sh.conditions);
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->mutex);
}
int restore_command(int argc, char **argv) {
    Restore r = {.sh = {.print = {.format = formats, .border = 1}}};
    if (wants_help(argc, argv)) return fputs(usage, stdout), printed(0);
    if (!read_options(&r, argv)) return EXIT_USAGE;
    pthread_mutex_init(&r.mutex, NULL);
    pthread_cond_init(&r.changed, NULL);
    r.sh.path = r.path;
    r.sh.out = fopen("/dev/null", "w"); /* what statements return */
    r.sh.conditions = conditions_new();
    int status = EXIT_ERROR;
    if (!r.sh.out || !r.sh.conditions || !variables_init(&r.sh)) (void)no_memory();
    else if (variable_set(&r.sh, "ON_ERROR_STOP", "on") && variable_set(&r.sh, "QUIET", "on")) status = restore(&r);
    free_restore(&r);
    return status;
}
