/* test_stop.c - kernels that start with their stop flag set do nothing: every kernel of every executor, told by device
 * memory that stays as it is.
 *
 * The device's launch is replaced by one that raises the flag, and cancels the statement, before the n-th launch, and
 * from then on compares all device memory before and after each kernel. So a kernel that does not look at the flag
 * before its first step is found however fast it is; those with more steps look again every so many (emit_seg.c,
 * emit_sort.c, dev_order.c, ki_*.h). The statement must end with 57014.
 *
 * On the virtual machine vectors look at cancellation; what is done between segments (sorting, merging, building maps)
 * is called here with it.
 */
#include "exec/agg.h"
#include "exec/join.h"
#include "exec/sort.h"
#include "unit_device.h"

enum { BLOCKS = 4096, KERNELS = 4096 };
static struct {
    DevPtr p;
    int64_t bytes;
    uint8_t *before;
} blocks[BLOCKS];
static int n_blocks;
static struct {
    const DevKernel *k;
    char name[32];
} kernels[KERNELS];
static int n_kernels;
static const DeviceOps *real;
static DeviceOps spy;
static int64_t launches, stop_at; /* 0: never */
static char worked[256];          /* kernels that changed something in spite of the flag */

static Status spy_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    TRY(real->alloc(d, bytes, out, e));
    assert_true(n_blocks < BLOCKS);
    blocks[n_blocks].p = *out;
    blocks[n_blocks++].bytes = bytes;
    return ST_OK;
}
static void spy_free(Device *d, DevPtr p, int64_t bytes) {
    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].p == p && p) blocks[i] = blocks[--n_blocks];
    real->free(d, p, bytes);
}
static Status spy_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    TRY(real->kernel(m, name, out, e));
    assert_true(n_kernels < KERNELS);
    kernels[n_kernels].k = *out;
    snprintf(kernels[n_kernels++].name, sizeof kernels[0].name, "%s", name);
    return ST_OK;
}
static const char *name_of(const DevKernel *k) {
    for (int i = n_kernels; i-- > 0;)
        if (kernels[i].k == k) return kernels[i].name;
    return "?";
}

static Status spy_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                         const uint64_t *params, int32_t n_params, Err *e) {
    if (++launches == stop_at) atomic_store(&session->cancel, true);
    if (!stop_at || launches < stop_at) return real->launch(q, k, groups, group_size, local_bytes, params, n_params, e);
    TRY(real->sync(q, NULL, NULL, e));
    uint64_t *flag = (uint64_t *)(uintptr_t)params[0] + 1; /* the host's memory is the device's */
    *(volatile uint64_t *)flag = 1;
    bool hands_over = strcmp(session->settings.exec.executor, "pipelined") == 0 &&
                      strcmp(name_of(k), "seg_main") == 0; /* tells the others by its channel */
    if (hands_over) return real->launch(q, k, groups, group_size, local_bytes, params, n_params, e);
    for (int i = 0; i < n_blocks; i++) {
        blocks[i].before = malloc((size_t)blocks[i].bytes);
        assert_non_null(blocks[i].before);
        memcpy(blocks[i].before, (const void *)(uintptr_t)blocks[i].p, (size_t)blocks[i].bytes);
    }
    Status st = real->launch(q, k, groups, group_size, local_bytes, params, n_params, e);
    if (st == ST_OK) st = real->sync(q, NULL, NULL, e);
    bool changed = false;
    for (int i = 0; i < n_blocks; i++) {
        changed |= memcmp(blocks[i].before, (const void *)(uintptr_t)blocks[i].p, (size_t)blocks[i].bytes) != 0;
        free(blocks[i].before);
    }
    if (changed && !strstr(worked, name_of(k)))
        snprintf(worked + strlen(worked), sizeof worked - strlen(worked), " %s", name_of(k));
    return st;
}

/* Kernels may be over before anybody asks: whoever waits looks at cancellation at least once. */
static Status spy_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    if (stop_at && launches >= stop_at && poll) (void)poll(ctx);
    return real->sync(q, poll, ctx, e);
}

static int setup(void **state) {
    (void)state;
    device_session_open();
    real = device->ops;
    spy = *real;
    spy.alloc = spy_alloc;
    spy.free = spy_free;
    spy.kernel = spy_kernel;
    spy.launch = spy_launch;
    spy.sync = spy_sync;
    device->ops = &spy;
    set("executor", "vm");
    run("create table t(a int, b numeric(10,2), s text, f double precision)");
    run("insert into t select g * 7919 % 5003, (g % 500) * 1.5, case when g % 11 <> 0 then 'name' || g * 31 % 4999 "
        "end, g / 7.0 from generate_series(1, 5000) g");
    run("create table u(k int, n text)");
    run("insert into u select g % 1200, 'n' || g from generate_series(1, 4000) g");
    set("device_wait", "on");
    set("device_strict", "on");
    set("device_memory_limit", "64MB"); /* so that little is kept for later, and compared */
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device->ops = real;
    device_session_close();
    return 0;
}

static const char *const queries[] = {
    "select a, s from t order by s desc, a",
    "select a, s from t order by f, a limit 100 offset 50",
    "select s from t order by a",
    "select a, s from t where b > 3 offset 10", /* rows in the order of their source (dev_order.c) */
    "select s, count(*), sum(b), min(f) from t group by s",
    "select a % 10, count(*), sum(b) from t group by 1 order by 1",
    "select count(*), sum(b), max(f) from t",
    "select t.a, u.n from t join u on t.a = u.k where t.b > 10",
    "select t.a, u.n from t full join u on t.a = u.k and u.n > 'n3'",
    "select t.a from t where not exists (select 1 from u where u.k = t.a and u.n > t.s)",
    "select x.a from t x, t y where x.a < 40 and x.a < y.a and x.b + y.b < 9",
    "select distinct n from u",
};

static void stops(const char *executor) {
    set("executor", executor);
    for (int i = 0; i < (int)ARRAY_LEN(queries); i++) {
        stop_at = 0;
        run(queries[i]); /* sinks learn their sizes */
        launches = 0;
        run(queries[i]);
        int64_t all = launches;
        assert_true(all > 0);
        for (int64_t n = 1; n <= all; n++) {
            stop_at = n;
            launches = 0;
            worked[0] = 0;
            if (try_run(queries[i]) == ST_OK)
                fail_msg("%s, %s: launch %lld of %lld was stopped without an error", executor, queries[i], (long long)n,
                         (long long)all);
            atomic_store(&session->cancel, false);
            assert_string_equal(session->err.sqlstate, ERR_QUERY_CANCELED);
            if (worked[0])
                fail_msg("%s, %s, stopped at launch %lld of %lld: kernels that went on:%s", executor, queries[i],
                         (long long)n, (long long)all, worked);
        }
        stop_at = 0;
    }
}
static void test_compiled(void **state) {
    (void)state;
    stops("compiled");
}
static void test_interpreted(void **state) {
    (void)state;
    stops("interpreted");
}
static void test_kernel(void **state) {
    (void)state;
    stops("kernel");
}
static void test_pipelined(void **state) {
    (void)state;
    set("pipelined_concurrency", "off"); /* one kernel after the other, so that each is looked at alone */
    stops("pipelined");
}

/* ---- the virtual machine: between segments ---- */
enum { ROWS = 40000, VECTOR = 1000 };
static int64_t numbers[ROWS];
static Str texts[ROWS];
static char text_bytes[ROWS][24];

static void fill_numbers(void) {
    for (int64_t i = 0; i < ROWS; i++) {
        numbers[i] = i * 7919 % 39989;
        int n = snprintf(text_bytes[i], sizeof text_bytes[i], "one prefix of all %05d", (int)numbers[i]);
        texts[i] = str_make(text_bytes[i], n);
    }
}
static Vec vector_at(bool text, int64_t i) {
    return (Vec){.data = text ? (void *)&texts[i] : (void *)&numbers[i], .phys = text ? PH_STR : PH_I64};
}
static void is_stopped(Status st, Err *e, bool stopped) {
    if (!stopped && st != ST_OK) fail_msg("%s %s", e->sqlstate, e->message);
    if (!stopped) return;
    assert_int_equal(st, ST_ERROR);
    assert_string_equal(e->sqlstate, ERR_QUERY_CANCELED);
    assert_string_equal(e->message, "canceling statement due to user request");
}

static void sort_stops(bool text, int64_t memory, bool stopped) {
    MemAccount acct;
    Err e = {0};
    mem_account_init(&acct, &root, "query", memory, "memory_limit");
    __typeof__(*(((SortSpec *)0)->keys)) key = {.key = {.phys = text ? PH_STR : PH_I64}};
    CellSpec col = {.phys = PH_I64};
    SortSpec spec = {.n_keys = 1, .keys = (void *)&key, .n_cols = 1, .cols = &col, .limit = -1};
    _Atomic bool cancel = false;
    QueryStop stop = {.cancel = &cancel};
    Sorter *s;
    RowStore *out = NULL;
    assert_int_equal(sort_new(&spec, 1, NULL, 1, &acct, vfs_posix(), NULL, &s, &e), ST_OK);
    sort_set_stop(s, &stop);
    for (int64_t i = 0; i < ROWS; i += VECTOR) {
        Vec k = vector_at(text, i), v = vector_at(false, i);
        if (sort_add(s, 0, i / VECTOR, VECTOR, &k, &v, &e) != ST_OK) fail_msg("%s", e.message);
    }
    atomic_store(&cancel, stopped);
    is_stopped(sort_finish(s, &out, &e), &e, stopped);
    sort_free(s);
    rows_free(out);
    assert_int_equal(atomic_load(&acct.used), 0);
}
static void join_stops(bool text, int64_t memory, bool stopped) {
    MemAccount acct;
    Err e = {0};
    mem_account_init(&acct, &root, "query", memory, "memory_limit");
    KeySpec key = {.phys = text ? PH_STR : PH_I64};
    CellSpec payload = {.phys = PH_I64};
    JoinSpec spec = {.n_keys = 1, .keys = &key, .n_payload = 1, .payload = &payload};
    _Atomic bool cancel = false;
    QueryStop stop = {.cancel = &cancel};
    JoinTable *j;
    assert_int_equal(join_new(&spec, 1, NULL, 1, &acct, vfs_posix(), NULL, &j, &e), ST_OK);
    join_set_stop(j, &stop);
    for (int64_t i = 0; i < ROWS; i += VECTOR) {
        Vec k = vector_at(text, i), v = vector_at(false, i);
        if (join_build(j, 0, VECTOR, &k, &v, &e) != ST_OK) fail_msg("%s", e.message);
    }
    atomic_store(&cancel, stopped);
    is_stopped(join_finish(j, &e), &e, stopped);
    join_free(j);
    assert_int_equal(atomic_load(&acct.used), 0);
}
static void agg_stops(bool text, int64_t memory, bool stopped) {
    MemAccount acct;
    Err e = {0};
    mem_account_init(&acct, &root, "query", memory, "memory_limit");
    KeySpec key = {.phys = text ? PH_STR : PH_I64};
    AggCell count = {.op = AO_COUNT_STAR, .out_phys = PH_I64};
    AggSpec spec = {.n_keys = 1, .keys = &key, .n_aggs = 1, .aggs = &count};
    _Atomic bool cancel = false;
    QueryStop stop = {.cancel = &cancel};
    AggTable *t;
    assert_int_equal(agg_new(&spec, 2, NULL, 1, VECTOR, &acct, vfs_posix(), NULL, &t, &e), ST_OK);
    agg_set_stop(t, &stop);
    for (int64_t i = 0; i < ROWS; i += VECTOR) {
        Vec k = vector_at(text, i), in = {0};
        if (agg_add(t, (int)(i / VECTOR % 2), VECTOR, &k, &in, NULL, &e) != ST_OK) fail_msg("%s", e.message);
    }
    atomic_store(&cancel, stopped);
    is_stopped(agg_finish(t, &e), &e, stopped);
    agg_free(t);
    assert_int_equal(atomic_load(&acct.used), 0);
}
/* With memory for everything, and with so little that files are needed. */
static void test_between_segments(void **state) {
    (void)state;
    fill_numbers();
    for (int i = 0; i < 8; i++) {
        bool text = i & 1, stopped = i & 4;
        int64_t memory = i & 2 ? 3 << 20 : 0;
        sort_stops(text, memory, stopped);
        join_stops(text, memory, stopped);
        agg_stops(text, memory, stopped);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled),  cmocka_unit_test(test_interpreted),      cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_pipelined), cmocka_unit_test(test_between_segments),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
