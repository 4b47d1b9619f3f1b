/* test_codecache.c - the code cache over a device that only pretends: its code is a copy of the source, and it counts,
 * sleeps and fails as told. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "codegen/cache.h"

/* ---- the device ---------------------------------------------------------------------------------- */

struct DevModule {
    char *code;
    int64_t n;
};

typedef struct Fake {
    Device base;
    _Atomic int compiles, loads, unloads, refuse_loads; /* the next so many loads fail */
    _Atomic bool hold;                                  /* compile waits until it is false */
    const char *sqlstate;                               /* of failing compilations */
} Fake;

static Status fake_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    Fake *f = (Fake *)d;
    atomic_fetch_add(&f->compiles, 1);
    while (atomic_load(&f->hold)) usleep(200);
    if (strstr(source, "FAIL")) {
        err_set(e, f->sqlstate, "fake:0: could not compile");
        err_detail(e, "line 1: FAIL");
        return ST_ERROR;
    }
    out->n = (int64_t)(strlen(source) + strlen(options));
    out->bytes = malloc((size_t)out->n + 1);
    if (!out->bytes) return err_oom(e);
    snprintf(out->bytes, (size_t)out->n + 1, "%s%s", source, options);
    return ST_OK;
}

static Status fake_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    Fake *f = (Fake *)d;
    if (atomic_load(&f->refuse_loads) > 0) {
        atomic_fetch_sub(&f->refuse_loads, 1);
        return err_set(e, ERR_SYSTEM, "fake:0: code of another driver");
    }
    atomic_fetch_add(&f->loads, 1);
    DevModule *m = malloc(sizeof *m);
    m->code = malloc((size_t)n + 1);
    memcpy(m->code, code, (size_t)n);
    m->code[n] = 0;
    m->n = n;
    *out = m;
    return ST_OK;
}

static void fake_unload(Device *d, DevModule *m) {
    atomic_fetch_add(&((Fake *)d)->unloads, 1);
    free(m->code);
    free(m);
}

static const DeviceOps fake_ops = {
    .version = DEVICE_VERSION, .compile = fake_compile, .load = fake_load, .unload = fake_unload};

static void fake_init(Fake *f) {
    memset(f, 0, sizeof *f);
    f->base.ops = &fake_ops;
    f->sqlstate = ERR_SYSTEM;
    snprintf(f->base.info.id, sizeof f->base.info.id, "fake:0");
    snprintf(f->base.info.arch, sizeof f->base.info.arch, "sm_0");
    snprintf(f->base.info.compiler, sizeof f->base.info.compiler, "fake 1.0");
}

/* ---- directories --------------------------------------------------------------------------------- */

static char dir[256];

static void remove_tree(const char *path) {
    DIR *d = opendir(path);
    if (d) {
        for (struct dirent *x; (x = readdir(d));) {
            if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0) continue;
            char sub[600];
            snprintf(sub, sizeof sub, "%s/%s", path, x->d_name);
            if (unlink(sub) != 0) remove_tree(sub);
        }
        closedir(d);
    }
    rmdir(path);
}

static int setup(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/stele-codecache-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    log_set(NULL, NULL);
    chmod(dir, 0700);
    remove_tree(dir);
    return 0;
}

/* Counts files whose names end in `tail`; the last one's path goes to `path`. */
static int count_files(const char *tail, char path[600], int64_t *bytes) {
    int n = 0;
    int64_t sum = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        size_t len = strlen(x->d_name);
        if (x->d_name[0] == '.' || len < strlen(tail) || strcmp(x->d_name + len - strlen(tail), tail) != 0) continue;
        char p[600];
        struct stat s;
        snprintf(p, sizeof p, "%s/%s", dir, x->d_name);
        if (stat(p, &s) == 0) sum += (int64_t)s.st_size;
        if (path) memcpy(path, p, sizeof p);
        n++;
    }
    closedir(d);
    if (bytes) *bytes = sum;
    return n;
}

static _Atomic int log_lines;
static char log_last[1024];
static void log_count(void *ctx, LogLevel level, const char *message) {
    (void)ctx;
    if (level < LOG_WARNING) return;
    atomic_fetch_add(&log_lines, 1);
    snprintf(log_last, sizeof log_last, "%s", message);
}

static CodeCache *cache_new(const char *where, int64_t max_bytes) {
    Err e = {0};
    CodeCache *c = NULL;
    assert_int_equal(code_cache_new(where, max_bytes, &c, &e), ST_OK);
    assert_non_null(c);
    return c;
}

static CodeRef get_ready(CodeCache *c, Fake *f, const char *source) {
    Err e = {0};
    CodeRef ref;
    assert_int_equal(code_get(c, &f->base, source, "", true, &ref, &e), CODE_READY);
    assert_string_equal(ref.module->code, source);
    return ref;
}

static CodeStats stats_of(CodeCache *c) {
    CodeStats s;
    code_cache_stats(c, &s);
    return s;
}

/* ---- hits ------------------------------------------------------------------------------------------ */

static void test_hits(void **state) {
    (void)state;
    Fake f, other;
    fake_init(&f);
    CodeCache *c = cache_new(dir, 1 << 20);
    CodeRef a = get_ready(c, &f, "kernel one");
    assert_false(a.from_memory || a.from_disk);
    assert_true(a.compile_ns > 0);
    CodeRef b = get_ready(c, &f, "kernel one");
    assert_true(b.from_memory && !b.from_disk);
    assert_ptr_equal(a.module, b.module);
    assert_int_equal(b.compile_ns, a.compile_ns);
    code_release(c, &a);
    code_release(c, &a); /* a released reference is empty */
    assert_null(a.module);
    code_release(c, &b);
    assert_int_equal(atomic_load(&f.compiles), 1);
    CodeStats s = stats_of(c);
    assert_int_equal(s.memory_hits, 1);
    assert_int_equal(s.compiled, 1);
    assert_int_equal(s.failed + s.disk_hits + s.pending, 0);
    assert_int_equal(s.disk_bytes, 48 + (int64_t)strlen("kernel one"));
    /* Options, architecture, compiler are part of the key, and parts do not run into each other. */
    Err e = {0};
    assert_int_equal(code_get(c, &f.base, "kernel one", " -O3", true, &a, &e), CODE_READY);
    code_release(c, &a);
    assert_int_equal(code_get(c, &f.base, "kernel one -O3", NULL, true, &a, &e), CODE_READY);
    code_release(c, &a);
    fake_init(&other);
    snprintf(other.base.info.arch, sizeof other.base.info.arch, "sm_1");
    b = get_ready(c, &other, "kernel one");
    code_release(c, &b);
    assert_int_equal(atomic_load(&other.compiles), 1);
    snprintf(other.base.info.compiler, sizeof other.base.info.compiler, "fake 1.1");
    b = get_ready(c, &other, "kernel one");
    code_release(c, &b);
    assert_int_equal(atomic_load(&other.compiles), 2);
    assert_int_equal(atomic_load(&f.compiles), 3);
    assert_int_equal(count_files(".bin", NULL, NULL), 5);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
    assert_int_equal(atomic_load(&other.loads), atomic_load(&other.unloads));
}

static void test_disk(void **state) {
    (void)state;
    char deep[300];
    snprintf(deep, sizeof deep, "%s/a/b/c", dir);
    Fake f, twin;
    fake_init(&f);
    fake_init(&twin);
    CodeCache *c = cache_new(deep, -1);
    CodeRef r = get_ready(c, &f, "kernel");
    code_release(c, &r);
    struct stat s;
    assert_int_equal(stat(deep, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    /* Another device of the kind, and then another cache: from the file, also without waiting. */
    r = get_ready(c, &twin, "kernel");
    assert_true(r.from_disk && !r.from_memory);
    code_release(c, &r);
    code_cache_free(c);
    c = cache_new(deep, -1);
    Err e = {0};
    assert_int_equal(code_get(c, &f.base, "kernel", "", false, &r, &e), CODE_READY);
    assert_true(r.from_disk);
    assert_int_equal(r.compile_ns, 0);
    code_release(c, &r);
    assert_int_equal(stats_of(c).disk_hits, 1);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f.compiles) + atomic_load(&twin.compiles), 1);
}

/* A file that was used gets a new time, so that it outlives others. */
static void test_touch(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new(dir, -1);
    CodeRef r = get_ready(c, &f, "kernel");
    code_release(c, &r);
    code_cache_free(c);
    char path[600];
    assert_int_equal(count_files(".bin", path, NULL), 1);
    struct timespec old[2] = {{.tv_sec = time(NULL) - 1000}, {.tv_sec = time(NULL) - 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    c = cache_new(dir, -1);
    r = get_ready(c, &f, "kernel");
    assert_true(r.from_disk);
    code_release(c, &r);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_true(s.st_mtime > old[0].tv_sec + 900);
    code_cache_free(c);
}

/* ---- files that are not what they should be ------------------------------------------------------ */

static void write_file(const char *path, const void *p, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t read_file(const char *path, char *buf, size_t cap) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(buf, 1, cap, f);
    fclose(f);
    return n;
}

/* Looks the kernel up in a new cache: it must be compiled, and the file be as good as new after that. */
static void expect_replaced(Fake *f, const char *path, const char *good, size_t n) {
    int before = atomic_load(&f->compiles);
    CodeCache *c = cache_new(dir, -1);
    CodeRef r = get_ready(c, f, "kernel of some length");
    assert_false(r.from_disk);
    code_release(c, &r);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f->compiles), before + 1);
    char now[1024];
    assert_int_equal(read_file(path, now, sizeof now), n);
    assert_memory_equal(now, good, n);
}

static void test_damage(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new(dir, -1);
    CodeRef r = get_ready(c, &f, "kernel of some length");
    code_release(c, &r);
    char path[600], good[1024], bad[1024];
    assert_int_equal(count_files(".bin", path, NULL), 1);
    size_t n = read_file(path, good, sizeof good);
    assert_int_equal(n, 48 + strlen("kernel of some length"));
    for (size_t i = 0; i < n; i++) { /* every byte counts */
        memcpy(bad, good, n);
        bad[i] ^= 0x10;
        write_file(path, bad, n);
        expect_replaced(&f, path, good, n);
    }
    for (size_t cut = 0; cut < n; cut += 5) {
        write_file(path, good, cut);
        expect_replaced(&f, path, good, n);
    }
    memcpy(bad, good, n);
    bad[n] = 'x';
    write_file(path, bad, n + 1);
    expect_replaced(&f, path, good, n);
    write_file(path, "#!/bin/sh\necho something else entirely, and longer than a header\n", 66);
    expect_replaced(&f, path, good, n);
    /* A good file under another key's name. */
    r = get_ready(c, &f, "kernel of other length");
    code_release(c, &r);
    char names[2][600];
    memcpy(names[0], path, sizeof path);
    DIR *d = opendir(dir);
    for (struct dirent *x; (x = readdir(d));) {
        char p[600];
        snprintf(p, sizeof p, "%s/%s", dir, x->d_name);
        if (x->d_name[0] != '.' && strcmp(p, path) != 0) memcpy(names[1], p, sizeof p);
    }
    closedir(d);
    assert_int_equal(rename(names[1], names[0]), 0);
    expect_replaced(&f, path, good, n);
    /* Right bytes, but others may have written them; then a link, a pipe (must not hang). */
    assert_int_equal(chmod(path, 0666), 0);
    expect_replaced(&f, path, good, n);
    char aside[600];
    snprintf(aside, sizeof aside, "%s/aside", dir);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    expect_replaced(&f, path, good, n);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_replaced(&f, path, good, n);
    code_cache_free(c);
    /* Something that cannot be replaced: not stored, and no temporary file stays. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    c = cache_new(dir, -1);
    r = get_ready(c, &f, "kernel of some length");
    code_release(c, &r);
    code_cache_free(c);
    assert_int_equal(count_files("", NULL, NULL), 2); /* it, and "aside" */
}

/* Code that another driver wrote. */
static void test_refused(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new(dir, -1);
    CodeRef r = get_ready(c, &f, "kernel");
    code_release(c, &r);
    code_cache_free(c);
    c = cache_new(dir, -1);
    atomic_store(&f.refuse_loads, 1);
    r = get_ready(c, &f, "kernel");
    assert_false(r.from_disk || r.from_memory);
    assert_int_equal(atomic_load(&f.compiles), 2);
    code_release(c, &r);
    code_cache_free(c);
    /* Refused when it is fresh, too: an error, and nothing stored. */
    c = cache_new(dir, -1);
    atomic_store(&f.refuse_loads, 1);
    Err e = {0};
    assert_int_equal(code_get(c, &f.base, "other", "", true, &r, &e), CODE_FAILED);
    assert_string_equal(e.sqlstate, ERR_SYSTEM);
    assert_int_equal(count_files(".bin", NULL, NULL), 1);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
}

/* ---- failures ------------------------------------------------------------------------------------- */

static void test_failures(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new(dir, -1);
    CodeRef r;
    for (int i = 0; i < 3; i++) {
        Err e = {0};
        assert_int_equal(code_get(c, &f.base, "FAIL here", "", i != 1, &r, &e), CODE_FAILED);
        assert_null(r.module);
        assert_string_equal(e.sqlstate, ERR_SYSTEM);
        assert_string_equal(e.detail, "line 1: FAIL");
    }
    assert_int_equal(atomic_load(&f.compiles), 1);
    /* The same through the thread. */
    Err e = {0};
    assert_int_equal(code_get(c, &f.base, "FAIL there", "", false, &r, &e), CODE_PENDING);
    assert_false(err_is_set(&e));
    code_cache_drain(c);
    assert_int_equal(code_get(c, &f.base, "FAIL there", "", false, &r, &e), CODE_FAILED);
    assert_string_equal(e.message, "fake:0: could not compile");
    assert_int_equal(atomic_load(&f.compiles), 2);
    /* Want of memory is told once, then tried again. */
    f.sqlstate = ERR_OUT_OF_MEMORY;
    for (int i = 0; i < 2; i++) {
        err_clear(&e);
        assert_int_equal(code_get(c, &f.base, "FAIL for memory", "", true, &r, &e), CODE_FAILED);
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        assert_int_equal(atomic_load(&f.compiles), 3 + i);
    }
    err_clear(&e);
    assert_int_equal(code_get(c, &f.base, "FAIL for memory, beside", "", false, &r, &e), CODE_PENDING);
    code_cache_drain(c);
    assert_int_equal(code_get(c, &f.base, "FAIL for memory, beside", "", false, &r, &e), CODE_FAILED);
    assert_int_equal(code_get(c, &f.base, "FAIL for memory, beside", "", false, &r, &e), CODE_PENDING);
    code_cache_drain(c);
    CodeStats s = stats_of(c);
    assert_int_equal(s.failed, 6);
    assert_int_equal(s.compiled, 0);
    assert_int_equal(count_files("", NULL, NULL), 0);
    /* Remembered failures are bounded: the first is tried again after many others. */
    f.sqlstate = ERR_SYSTEM;
    for (int i = 0; i < 300; i++) {
        char source[32];
        snprintf(source, sizeof source, "FAIL %d", i);
        assert_int_equal(code_get(c, &f.base, source, "", true, &r, &e), CODE_FAILED);
    }
    int before = atomic_load(&f.compiles);
    assert_int_equal(code_get(c, &f.base, "FAIL 299", "", true, &r, &e), CODE_FAILED);
    assert_int_equal(atomic_load(&f.compiles), before);
    assert_int_equal(code_get(c, &f.base, "FAIL 0", "", true, &r, &e), CODE_FAILED);
    assert_int_equal(atomic_load(&f.compiles), before + 1);
    code_cache_free(c);
}

/* Every allocation fails once: an error or a success, never a crash or a leak. */
static void test_no_memory(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    int64_t left = 0;
    for (int64_t n = 1; left == 0; n++) {
        Err e = {0};
        CodeCache *c = NULL;
        char source[32];
        snprintf(source, sizeof source, "kernel %d", (int)n);
        mem_fail_at(n);
        if (code_cache_new(dir, -1, &c, &e) == ST_OK) {
            CodeRef r;
            CodeState s = code_get(c, &f.base, source, "", false, &r, &e);
            if (s == CODE_FAILED) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
            if (s == CODE_READY) code_release(c, &r);
            code_cache_drain(c);
            err_clear(&e);
            s = code_get(c, &f.base, "FAIL", "", true, &r, &e);
            assert_int_equal(s, CODE_FAILED);
        }
        left = mem_fail_at(0);
        if (c) {
            CodeRef r = get_ready(c, &f, source);
            code_release(c, &r);
        }
        code_cache_free(c);
        assert_true(n < 100);
    }
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
}

/* ---- compiling beside execution ------------------------------------------------------------------- */

static void wait_for(_Atomic int *what, int value) {
    for (int i = 0; i < 1200000 && atomic_load(what) < value; i++) usleep(500); /* ten minutes: it hangs */
    assert_true(atomic_load(what) >= value);
}

static void test_pending(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    atomic_store(&f.hold, true);
    CodeCache *c = cache_new(dir, -1);
    Err e = {0};
    CodeRef r;
    assert_int_equal(code_get(c, &f.base, "one", "", false, &r, &e), CODE_PENDING);
    wait_for(&f.compiles, 1);
    assert_int_equal(code_get(c, &f.base, "one", "", false, &r, &e), CODE_PENDING);
    assert_int_equal(code_get(c, &f.base, "two", "", false, &r, &e), CODE_PENDING);
    assert_int_equal(stats_of(c).pending, 2);
    assert_int_equal(atomic_load(&f.compiles), 1); /* one at a time */
    atomic_store(&f.hold, false);
    code_cache_drain(c);
    assert_int_equal(stats_of(c).pending, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(code_get(c, &f.base, i ? "two" : "one", "", false, &r, &e), CODE_READY);
        assert_true(r.from_memory);
        assert_true(r.compile_ns > 0);
        code_release(c, &r);
    }
    assert_int_equal(atomic_load(&f.compiles), 2);
    /* What is queued when the cache is freed is dropped; what is under way is finished. */
    atomic_store(&f.hold, true);
    assert_int_equal(code_get(c, &f.base, "three", "", false, &r, &e), CODE_PENDING);
    wait_for(&f.compiles, 3);
    assert_int_equal(code_get(c, &f.base, "four", "", false, &r, &e), CODE_PENDING);
    atomic_store(&f.hold, false);
    code_cache_free(c);
    assert_true(atomic_load(&f.compiles) <= 4); /* the thread may have been quick enough for "four" */
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
}

/* The queue is bounded: what does not fit is pending and not remembered. */
static void test_queue_full(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    atomic_store(&f.hold, true);
    CodeCache *c = cache_new("", -1);
    Err e = {0};
    CodeRef r;
    for (int i = 0; i < 400; i++) {
        char source[32];
        snprintf(source, sizeof source, "kernel %d", i);
        assert_int_equal(code_get(c, &f.base, source, "", false, &r, &e), CODE_PENDING);
        if (i == 0) wait_for(&f.compiles, 1);
    }
    assert_int_equal(stats_of(c).pending, 257);
    atomic_store(&f.hold, false);
    code_cache_drain(c);
    assert_int_equal(atomic_load(&f.compiles), 257);
    assert_int_equal(code_get(c, &f.base, "kernel 399", "", false, &r, &e), CODE_PENDING);
    code_cache_drain(c);
    assert_int_equal(code_get(c, &f.base, "kernel 399", "", false, &r, &e), CODE_READY);
    code_release(c, &r);
    code_cache_free(c);
}

typedef struct Asker {
    CodeCache *c;
    Fake *f;
    const char *source;
    bool memory;
    DevModule *module;
    CodeState state;
} Asker;

static void *ask(void *arg) {
    Asker *a = arg;
    Err e = {0};
    CodeRef r;
    a->state = code_get(a->c, &a->f->base, a->source, "", true, &r, &e);
    a->module = r.module;
    a->memory = r.from_memory;
    if (a->state == CODE_READY) code_release(a->c, &r);
    return NULL;
}

/* A caller that waits shares what is under way, and takes what is only queued. */
static void test_waiting(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    atomic_store(&f.hold, true);
    CodeCache *c = cache_new(dir, -1);
    Err e = {0};
    CodeRef r;
    assert_int_equal(code_get(c, &f.base, "one", "", false, &r, &e), CODE_PENDING);
    wait_for(&f.compiles, 1);
    assert_int_equal(code_get(c, &f.base, "two", "", false, &r, &e), CODE_PENDING);
    Asker one = {.c = c, .f = &f, .source = "one"}, two = {.c = c, .f = &f, .source = "two"};
    pthread_t t[2];
    pthread_create(&t[0], NULL, ask, &one);
    pthread_create(&t[1], NULL, ask, &two);
    wait_for(&f.compiles, 2); /* "two" is compiled by its caller, while "one" keeps the thread */
    atomic_store(&f.hold, false);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert_int_equal(one.state, CODE_READY);
    assert_int_equal(two.state, CODE_READY);
    assert_int_equal(atomic_load(&f.compiles), 2);
    code_cache_free(c);
    /* The same with a failure that is told once: to everybody who waited. */
    fake_init(&f);
    f.sqlstate = ERR_OUT_OF_MEMORY;
    atomic_store(&f.hold, true);
    c = cache_new("", -1);
    Asker fail[4];
    pthread_t ts[4];
    for (int i = 0; i < 4; i++) {
        fail[i] = (Asker){.c = c, .f = &f, .source = "FAIL"};
        pthread_create(&ts[i], NULL, ask, &fail[i]);
    }
    wait_for(&f.compiles, 1);
    usleep(20000);
    atomic_store(&f.hold, false);
    for (int i = 0; i < 4; i++) {
        pthread_join(ts[i], NULL);
        assert_int_equal(fail[i].state, CODE_FAILED);
    }
    code_cache_free(c);
}

static void test_shared(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    atomic_store(&f.hold, true);
    CodeCache *c = cache_new(dir, -1);
    enum { N = 8 };
    Asker askers[N];
    pthread_t t[N];
    for (int i = 0; i < N; i++) {
        askers[i] = (Asker){.c = c, .f = &f, .source = "kernel"};
        pthread_create(&t[i], NULL, ask, &askers[i]);
    }
    wait_for(&f.compiles, 1);
    usleep(20000);
    atomic_store(&f.hold, false);
    for (int i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(askers[i].state, CODE_READY);
        assert_ptr_equal(askers[i].module, askers[0].module);
    }
    assert_int_equal(atomic_load(&f.compiles), 1);
    assert_int_equal(atomic_load(&f.loads), 1);
    code_cache_free(c);
}

typedef struct Hammer {
    CodeCache *c;
    Fake *f;
    int seed, rounds, kernels;
    bool ok;
} Hammer;

static void *hammer(void *arg) {
    Hammer *h = arg;
    unsigned x = (unsigned)h->seed;
    h->ok = true;
    for (int i = 0; i < h->rounds; i++) {
        x = x * 1103515245u + 12345u;
        char source[300];
        memset(source, 'k', sizeof source);
        snprintf(source + 200, 40, "%s %u", (x >> 8) % 16 == 0 ? "FAIL" : "good", (x >> 16) % (unsigned)h->kernels);
        source[240] = 0;
        bool fails = strstr(source, "FAIL") != NULL;
        size_t used = strlen(source);
        Err e = {0};
        CodeRef r;
        CodeState s = code_get(h->c, &h->f->base, source, "", (x >> 4) % 2, &r, &e);
        if (s == CODE_READY) {
            if (fails || (size_t)r.module->n != used || memcmp(r.module->code, source, used) != 0) h->ok = false;
            code_release(h->c, &r);
        } else if (s == CODE_FAILED && !fails) {
            h->ok = false;
        }
        if (i % 50 == 0) {
            CodeStats st;
            code_cache_stats(h->c, &st);
            code_cache_set_limit(h->c, (int64_t)(x % 4096));
        }
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new(dir, 2048);
    Hammer h[6];
    pthread_t t[6];
    for (int i = 0; i < 6; i++) {
        h[i] = (Hammer){.c = c, .f = &f, .seed = i, .rounds = 500, .kernels = 100};
        pthread_create(&t[i], NULL, hammer, &h[i]);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(t[i], NULL);
        assert_true(h[i].ok);
    }
    code_cache_drain(c);
    CodeStats s = stats_of(c);
    assert_int_equal(s.pending, 0);
    assert_int_equal(s.compiled + s.disk_hits, atomic_load(&f.loads));
    code_cache_drop_device(c, &f.base);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
    code_cache_free(c);
}

/* Several processes with one small directory, reading, writing and deleting the same files. */
static void test_processes(void **state) {
    (void)state;
    enum { N = 3 };
    pid_t child[N];
    for (int p = 0; p < N; p++) {
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p] != 0) continue;
        bool ok = true;
        for (int round = 0; round < 12 && ok; round++) {
            Fake f;
            fake_init(&f);
            CodeCache *c = NULL;
            if (code_cache_new(dir, 3000, &c, NULL) != ST_OK) _exit(2);
            Hammer h = {.c = c, .f = &f, .seed = p * 100 + round, .rounds = 60, .kernels = 20};
            hammer(&h);
            ok = h.ok;
            code_cache_free(c);
            ok = ok && atomic_load(&f.loads) == atomic_load(&f.unloads);
        }
        _exit(ok ? 0 : 1);
    }
    for (int p = 0; p < N; p++) {
        int status = -1;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(count_files("", NULL, NULL), count_files(".bin", NULL, NULL)); /* nothing half-written stays */
}

/* ---- limits ---------------------------------------------------------------------------------------- */

static void set_age(const char *path, int seconds) {
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void test_eviction(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    char foreign[600], temp[600], fresh[600], source[64], first[600];
    snprintf(foreign, sizeof foreign, "%s/somebody.else", dir);
    snprintf(temp, sizeof temp, "%s/tmp-1-2-3", dir);
    snprintf(fresh, sizeof fresh, "%s/tmp-1-2-4", dir);
    write_file(foreign, "mine", 4);
    write_file(temp, "abandoned", 9);
    write_file(fresh, "being written", 13);
    set_age(foreign, 100000);
    set_age(temp, 100000);
    const int64_t each = 48 + 8;
    CodeCache *c = cache_new(dir, each * 4);
    snprintf(source, sizeof source, "kernel %d", 0);
    CodeRef r = get_ready(c, &f, source);
    code_release(c, &r);
    assert_int_equal(count_files(".bin", first, NULL), 1);
    set_age(first, 1000);
    for (int i = 1; i < 10; i++) {
        snprintf(source, sizeof source, "kernel %d", i);
        r = get_ready(c, &f, source);
        code_release(c, &r);
        int64_t bytes;
        assert_int_equal(count_files(".bin", NULL, &bytes), MIN_OF(i + 1, 4));
        assert_int_equal(stats_of(c).disk_bytes, bytes);
        assert_true(bytes <= each * 4);
        assert_int_equal(access(first, F_OK), i < 4 ? 0 : -1); /* the oldest goes first */
    }
    assert_int_equal(access(foreign, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
    assert_int_equal(access(temp, F_OK), -1);
    /* What was just written stays even when the clock of the others runs ahead. */
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        char p[600];
        snprintf(p, sizeof p, "%s/%s", dir, x->d_name);
        if (strstr(x->d_name, ".bin")) set_age(p, -1000);
    }
    closedir(d);
    r = get_ready(c, &f, "kernel A");
    code_release(c, &r);
    CodeCache *other = cache_new(dir, -1);
    r = get_ready(other, &f, "kernel A");
    assert_true(r.from_disk);
    code_release(other, &r);
    code_cache_free(other);
    /* What is bigger than the whole limit is not written at all, and nothing makes room for it. */
    code_cache_set_limit(c, each * 2);
    assert_int_equal(count_files(".bin", NULL, NULL), 2);
    char big[400];
    memset(big, 'b', sizeof big - 1);
    big[sizeof big - 1] = 0;
    r = get_ready(c, &f, big);
    code_release(c, &r);
    assert_int_equal(count_files(".bin", NULL, NULL), 2);
    code_cache_set_limit(c, 0);
    assert_int_equal(count_files(".bin", NULL, NULL), 0);
    assert_int_equal(stats_of(c).disk_bytes, 0);
    /* In memory everything is still there. */
    r = get_ready(c, &f, big);
    assert_true(r.from_memory);
    code_release(c, &r);
    code_cache_free(c);
}

static void test_modules_max(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new("", -1);
    char source[32];
    CodeRef held[3], r;
    for (int i = 0; i < 3; i++) {
        snprintf(source, sizeof source, "held %d", i);
        held[i] = get_ready(c, &f, source);
    }
    for (int i = 0; i < 1021; i++) {
        snprintf(source, sizeof source, "kernel %d", i);
        r = get_ready(c, &f, source);
        code_release(c, &r);
    }
    assert_int_equal(atomic_load(&f.unloads), 0);
    r = get_ready(c, &f, "kernel 0"); /* used: no longer the oldest */
    assert_true(r.from_memory);
    code_release(c, &r);
    for (int i = 0; i < 2; i++) {
        snprintf(source, sizeof source, "more %d", i);
        r = get_ready(c, &f, source);
        code_release(c, &r);
        assert_int_equal(atomic_load(&f.unloads), i + 1);
    }
    for (int i = 0; i < 3; i++) assert_memory_equal(held[i].module->code, "held ", 5);
    r = get_ready(c, &f, "kernel 0");
    assert_true(r.from_memory);
    code_release(c, &r);
    r = get_ready(c, &f, "kernel 3");
    assert_true(r.from_memory);
    code_release(c, &r);
    r = get_ready(c, &f, "kernel 1"); /* had gone */
    assert_false(r.from_memory);
    code_release(c, &r);
    for (int i = 0; i < 3; i++) code_release(c, &held[i]);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
}

/* Everything held: more than the limit stays loaded, until it is released. */
static void test_all_held(void **state) {
    (void)state;
    Fake f;
    fake_init(&f);
    CodeCache *c = cache_new("", -1);
    enum { N = 1100 };
    static CodeRef held[N];
    for (int i = 0; i < N; i++) {
        char source[32];
        snprintf(source, sizeof source, "kernel %d", i);
        held[i] = get_ready(c, &f, source);
    }
    assert_int_equal(atomic_load(&f.unloads), 0);
    for (int i = 0; i < N; i++) code_release(c, &held[i]);
    assert_int_equal(atomic_load(&f.unloads), N - 1024);
    code_cache_free(c);
    assert_int_equal(atomic_load(&f.unloads), N);
}

static void test_drop_device(void **state) {
    (void)state;
    Fake f, other;
    fake_init(&f);
    fake_init(&other);
    CodeCache *c = cache_new("", -1);
    Err e = {0};
    CodeRef r = get_ready(c, &f, "one"), kept = get_ready(c, &other, "one"), held = get_ready(c, &f, "held");
    code_release(c, &r);
    assert_int_equal(code_get(c, &f.base, "FAIL", "", true, &r, &e), CODE_FAILED);
    atomic_store(&f.hold, true);
    assert_int_equal(code_get(c, &f.base, "under way", "", false, &r, &e), CODE_PENDING);
    wait_for(&f.compiles, 4);
    assert_int_equal(code_get(c, &f.base, "queued", "", false, &r, &e), CODE_PENDING);
    assert_int_equal(code_get(c, &other.base, "queued", "", false, &r, &e), CODE_PENDING);
    atomic_store(&f.hold, false);
    code_cache_drop_device(c, &f.base);
    code_cache_drain(c);
    assert_true(atomic_load(&f.compiles) <= 5);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads) + 1); /* the held one */
    assert_string_equal(held.module->code, "held");
    code_release(c, &held);
    assert_int_equal(atomic_load(&f.loads), atomic_load(&f.unloads));
    assert_int_equal(atomic_load(&other.unloads), 0);
    assert_string_equal(kept.module->code, "one");
    code_release(c, &kept);
    assert_int_equal(code_get(c, &other.base, "queued", "", false, &r, &e), CODE_READY);
    code_release(c, &r);
    /* A new device at the same address starts from nothing. */
    fake_init(&f);
    r = get_ready(c, &f, "one");
    assert_false(r.from_memory);
    code_release(c, &r);
    code_cache_free(c);
}

/* ---- the directory --------------------------------------------------------------------------------- */

/* Memory only, said once, and everything else works. */
static void expect_memory_only(const char *where, const char *why) {
    Fake f;
    fake_init(&f);
    atomic_store(&log_lines, 0);
    log_set(log_count, NULL);
    CodeCache *c = cache_new(where, -1);
    assert_int_equal(atomic_load(&log_lines), 1);
    if (!strstr(log_last, why)) fail_msg("\"%s\" does not say \"%s\"", log_last, why);
    CodeRef r = get_ready(c, &f, "kernel");
    code_release(c, &r);
    r = get_ready(c, &f, "kernel");
    assert_true(r.from_memory);
    code_release(c, &r);
    assert_int_equal(stats_of(c).disk_bytes, 0);
    code_cache_set_limit(c, 1);
    code_cache_free(c);
    assert_int_equal(atomic_load(&log_lines), 1);
    log_set(NULL, NULL);
}

static void test_directory(void **state) {
    (void)state;
    char path[600];
    expect_memory_only("", "no directory was given");
    snprintf(path, sizeof path, "%s/open", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    expect_memory_only(path, "can be written by everybody");
    snprintf(path, sizeof path, "%s/file", dir);
    write_file(path, "x", 1);
    expect_memory_only(path, "could not open");
    snprintf(path, sizeof path, "%s/file/below", dir);
    expect_memory_only(path, "could not create");
    char longer[5000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    expect_memory_only(longer, "too long");
    if (geteuid() != 0) { /* nothing is closed to root */
        expect_memory_only("/", "belongs to another user");
        snprintf(path, sizeof path, "%s/closed", dir);
        assert_int_equal(mkdir(path, 0500), 0);
        expect_memory_only(path, "could not write to");
    } else {
        snprintf(path, sizeof path, "%s/others", dir);
        assert_int_equal(mkdir(path, 0700), 0);
        if (chown(path, 65534, 65534) == 0) expect_memory_only(path, "belongs to another user");
    }
    /* A directory that goes away: said once, work goes on. */
    Fake f;
    fake_init(&f);
    snprintf(path, sizeof path, "%s/gone", dir);
    CodeCache *c = cache_new(path, -1);
    assert_int_equal(rmdir(path), 0);
    atomic_store(&log_lines, 0);
    log_set(log_count, NULL);
    CodeRef r = get_ready(c, &f, "one");
    code_release(c, &r);
    r = get_ready(c, &f, "two");
    code_release(c, &r);
    assert_int_equal(atomic_load(&log_lines), 1);
    log_set(NULL, NULL);
    code_cache_free(c);
}

static void test_environment(void **state) {
    (void)state;
    char own[300], xdg[300], home[300], below[400];
    snprintf(own, sizeof own, "%s/own", dir);
    snprintf(xdg, sizeof xdg, "%s/xdg", dir);
    snprintf(home, sizeof home, "%s/home", dir);
    setenv("STELE_CACHE_DIR", own, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    code_cache_free(cache_new(NULL, -1));
    assert_int_equal(access(own, F_OK), 0);
    assert_int_equal(access(xdg, F_OK), -1);
    unsetenv("STELE_CACHE_DIR");
    code_cache_free(cache_new(NULL, -1));
    snprintf(below, sizeof below, "%s/stele", xdg);
    assert_int_equal(access(below, F_OK), 0);
    assert_int_equal(access(home, F_OK), -1);
    setenv("XDG_CACHE_HOME", "relative", 1); /* invalid */
    code_cache_free(cache_new(NULL, -1));
    snprintf(below, sizeof below, "%s/.cache/stele", home);
    assert_int_equal(access(below, F_OK), 0);
    setenv("STELE_CACHE_DIR", "", 1);
    expect_memory_only(NULL, "STELE_CACHE_DIR is empty");
    unsetenv("STELE_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    expect_memory_only(NULL, "HOME");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_processes, setup, teardown), /* first: forks before there are threads */
        cmocka_unit_test_setup_teardown(test_hits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_touch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_eviction, setup, teardown),
        cmocka_unit_test_setup_teardown(test_modules_max, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drop_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
