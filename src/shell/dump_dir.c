/* dump_dir.c - stele dump --directory: a dump as a directory, whose tables several threads write.
 *
 *     MANIFEST              text, written last, under another name first: what there is (put_manifest)
 *     before.sql.zst        settings, and all definitions that come before data
 *     data/<n>.copy.zst     rows of a table, as COPY has them
 *     after.sql.zst         numbers of sequences, all other definitions, rows of materialized views
 *
 * All but MANIFEST are compressed by zstd, with checksums. The database is open read-only, so that all connections see
 * the same. The largest tables come first.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell/dump_dir.h"
#include "shell/dump_int.h"
#include "shell/packed.h"

typedef struct DataFile {
    const Object *table;
    int64_t size; /* of the table, in memory */
    long long rows, bytes;
    char name[40];
} DataFile;
/* What the threads share. */
typedef struct DirDump {
    Dump *d;
    DataFile *files, **order; /* as the dump has them; the largest first */
    size_t n, next;           /* next: of the order, that no thread has taken */
    bool failed;
    char problem[600]; /* of the first that has failed */
    pthread_mutex_t mutex;
} DirDump;
typedef struct Writer {
    DirDump *x;
    FILE *f; /* of the table that it writes */
    int write_errno;
} Writer;

static char *path_in(const Dump *d, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", d->directory, name) >= 0) return path;
    (void)dump_failed_memory();
    return NULL;
}
static long long size_of(const Dump *d, const char *name) {
    struct stat st;
    char *path = path_in(d, name);
    const bool there = path && stat(path, &st) == 0;
    free(path);
    return there ? (long long)st.st_size : -1;
}

/* ---- tables, by threads ---- */
static void note_problem(DirDump *x, const char *what, const char *why) {
    pthread_mutex_lock(&x->mutex);
    if (!x->failed) snprintf(x->problem, sizeof x->problem, "%s: %s", what, why);
    x->failed = true;
    pthread_mutex_unlock(&x->mutex);
}
static void note_error(DirDump *x, stele_conn *c, const char *what) {
    stele_error_info e;
    stele_error(c, &e);
    char why[500];
    snprintf(why, sizeof why, "%s: %s", e.sqlstate, e.message);
    note_problem(x, what, why);
}
static bool write_rows(void *ctx, const char *data, int64_t size) {
    Writer *w = ctx;
    if (!shell_signal && fwrite(data, 1, (size_t)size, w->f) == (size_t)size) return true;
    w->write_errno = shell_signal ? EINTR : errno;
    return false;
}
static bool copy_to(Writer *w, stele_conn *c, DataFile *t) {
    char *sql = NULL;
    if (asprintf(&sql, "copy %s to stdout", t->table->target) < 0)
        return note_problem(w->x, t->name, "out of memory"), false;
    stele_stmt *s = NULL;
    const bool ok = stele_prepare(c, sql, -1, &s, NULL) == STELE_OK && stele_run(s) == STELE_DONE;
    if (ok) t->rows = stele_row_count(s);
    else if (w->write_errno) note_problem(w->x, t->name, strerror(w->write_errno));
    else note_error(w->x, c, t->table->name);
    stele_finalize(s);
    free(sql);
    return ok;
}
static bool write_table(Writer *w, stele_conn *c, DataFile *t) {
    char *path = path_in(w->x->d, t->name);
    w->f = path ? packed_write(path) : NULL;
    w->write_errno = 0;
    if (!w->f) note_problem(w->x, t->name, strerror(errno));
    bool ok = w->f && copy_to(w, c, t);
    if (w->f && fclose(w->f) != 0 && ok) {
        note_problem(w->x, t->name, strerror(errno));
        ok = false;
    }
    free(path);
    t->bytes = size_of(w->x->d, t->name);
    return ok;
}
static DataFile *take_file(DirDump *x) {
    pthread_mutex_lock(&x->mutex);
    DataFile *t = x->failed || x->next == x->n ? NULL : x->order[x->next++];
    pthread_mutex_unlock(&x->mutex);
    return t;
}
static bool begin_reading(DirDump *x, stele_conn *c) {
    bool ok = stele_exec(c, "begin transaction read only", NULL, NULL) == STELE_OK;
    for (const char *const *s = dump_settings; *s && ok; s++) ok = stele_exec(c, *s, NULL, NULL) == STELE_OK;
    if (!ok) note_error(x, c, "begin");
    return ok;
}
static void *write_tables(void *arg) {
    DirDump *x = arg;
    Writer w = {.x = x};
    stele_conn *c = NULL;
    if (stele_connect(x->d->sh.db, &c) != STELE_OK) return note_problem(x, "connection", "out of memory"), NULL;
    stele_set_copy_streams(c, NULL, write_rows, &w);
    bool ok = begin_reading(x, c);
    for (DataFile *t; ok && (t = take_file(x));) ok = write_table(&w, c, t);
    stele_disconnect(c);
    return NULL;
}
static bool run_writers(DirDump *x) {
    enum { MOST = 64, USUAL = 8 };
    pthread_t ids[MOST];
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t want = x->d->jobs > 0 ? x->d->jobs : cpus < USUAL ? cpus : USUAL;
    size_t n = 0;
    if (want > MOST) want = MOST;
    if (want > (int64_t)x->n) want = (int64_t)x->n;
    while (n < (size_t)want && pthread_create(&ids[n], NULL, write_tables, x) == 0) n++;
    if (n == 0 && x->n > 0) (void)write_tables(x);
    for (size_t i = 0; i < n; i++) pthread_join(ids[i], NULL);
    if (x->failed && !shell_signal) fprintf(stderr, "stele dump: %s\n", x->problem);
    return !x->failed && dump_goes_on(x->d);
}

/* ---- which tables ---- */
static bool first_number(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    *(int64_t *)ctx = n > 0 && values[0] ? atoll(values[0]) : 0;
    return true;
}
/* Of a table; its name may be what regclass has. 0: not known. */
static int64_t table_size(Dump *d, const Object *t) {
    int64_t size = 0;
    char *sql = NULL;
    const size_t n = strcspn(t->target, " ");
    if (asprintf(&sql, "select pg_table_size('%.*s')", (int)n, t->target) < 0) return 0;
    if (!strchr(t->target, '\'') && !strchr(t->target, '"')) (void)stele_exec(d->sh.conn, sql, first_number, &size);
    free(sql);
    return size;
}
static int larger_first(const void *a, const void *b) {
    const DataFile *x = *(DataFile *const *)a, *y = *(DataFile *const *)b;
    return (x->size < y->size) - (x->size > y->size);
}
static bool list_tables(DirDump *x) {
    Dump *d = x->d;
    x->files = calloc(d->n + 1, sizeof *x->files);
    x->order = calloc(d->n + 1, sizeof *x->order);
    if (!x->files || !x->order) return dump_failed_memory();
    for (size_t i = 0; i < d->n && !d->schema_only; i++)
        if (*d->objects[i].target)
            x->files[x->n++] = (DataFile){.table = &d->objects[i], .size = table_size(d, &d->objects[i])};
    for (size_t i = 0; i < x->n; i++) {
        snprintf(x->files[i].name, sizeof x->files[i].name, "data/%zu.copy.zst", i + 1);
        x->order[i] = &x->files[i];
    }
    DataFile **order = x->order;
    qsort(order, x->n, sizeof *order, larger_first);
    return true;
}

/* ---- the whole ---- */
static bool end_file(Dump *d) {
    const bool ok = check_output(&d->sh), closed = fclose(d->sh.out) == 0;
    if (ok && !closed) fprintf(stderr, "stele dump: cannot write to %s: %s\n", d->sh.output.name, strerror(errno));
    free(d->sh.output.name);
    d->sh.out = stdout;
    d->sh.output.name = NULL;
    return ok && closed;
}
static bool put_file(Dump *d, const char *name, bool (*put)(Dump *d)) {
    d->sh.output.name = path_in(d, name);
    FILE *f = d->sh.output.name ? packed_write(d->sh.output.name) : NULL;
    if (!f) {
        if (d->sh.output.name) fprintf(stderr, "stele dump: cannot open %s: %s\n", d->sh.output.name, strerror(errno));
        free(d->sh.output.name);
        d->sh.output.name = NULL;
        return false;
    }
    d->sh.out = f;
    dump_put_settings(d);
    bool ok = put(d);
    if (ok) dump_put_end(d);
    return end_file(d) && ok;
}
/* Lines, the last with a checksum of all before it: `file NAME BYTES`, `table NAME BYTES ROWS TARGET OF COPY`. */
static bool put_manifest(const DirDump *x) {
    static const char *const sql[] = {"before.sql.zst", "after.sql.zst"};
    char *text = NULL, *tmp = path_in(x->d, "MANIFEST.tmp"), *path = path_in(x->d, "MANIFEST");
    size_t size = 0;
    FILE *f = tmp && path ? open_memstream(&text, &size) : NULL;
    if (!f) return free(tmp), free(path), dump_failed_memory();
    fprintf(f, MANIFEST_FIRST "stele %s\n", stele_version());
    for (size_t i = 0; i < 2; i++) fprintf(f, "file %s %lld\n", sql[i], size_of(x->d, sql[i]));
    for (size_t i = 0; i < x->n; i++) {
        const DataFile *t = &x->files[i];
        fprintf(f, "table %s %lld %lld ", t->name, t->bytes, t->rows);
        for (const char *p = t->table->target; *p; p++)
            fputs(*p == '\n' ? "\\n" : *p == '\\' ? "\\\\" : (char[]){*p, 0}, f);
        fputc('\n', f);
    }
    bool ok = fclose(f) == 0;
    f = ok ? fopen(tmp, "w") : NULL;
    ok = f && fprintf(f, "%s" MANIFEST_LAST "%016llx\n", text, (unsigned long long)manifest_checksum(text, size)) > 0 &&
         fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f && fclose(f) != 0) ok = false;
    ok = ok && rename(tmp, path) == 0;
    if (!ok) fprintf(stderr, "stele dump: cannot write to %s: %s\n", path, strerror(errno));
    free(text);
    free(tmp);
    free(path);
    return ok;
}
uint64_t manifest_checksum(const char *text, size_t n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return h;
}
/* New, or empty. */
static bool make_directory(const Dump *d) {
    char *data = path_in(d, "data");
    bool ok = data != NULL;
    if (ok && mkdir(d->directory, 0777) != 0 &&
        (errno != EEXIST || rmdir(d->directory) != 0 || mkdir(d->directory, 0777) != 0))
        ok = false;
    if (ok) ok = mkdir(data, 0777) == 0;
    if (!ok && data) fprintf(stderr, "stele dump: cannot make directory \"%s\": %s\n", d->directory, strerror(errno));
    free(data);
    return ok;
}
static bool put_all(DirDump *x) {
    Dump *d = x->d;
    if (!dump_list(d) || !list_tables(x)) return false;
    if (!put_file(d, "before.sql.zst", dump_put_before)) return false;
    if (!run_writers(x)) return false;
    if (!put_file(d, "after.sql.zst", dump_put_after)) return false;
    return dump_run(d, "commit") && dump_goes_on(d) && put_manifest(x);
}
bool dump_to_directory(Dump *d) {
    DirDump x = {.d = d};
    if (!make_directory(d)) return false;
    pthread_mutex_init(&x.mutex, NULL);
    const bool ok = put_all(&x);
    pthread_mutex_destroy(&x.mutex);
    free(x.files);
    free(x.order);
    return ok;
}
