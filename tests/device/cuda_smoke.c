/* cuda_smoke.c - the cuda backend on a real device: every operation once, with what it takes. Prints a table of
 * measurements and checks; the exit status is the number of checks that failed. `cuda_smoke [device number]`. The last
 * check makes a kernel crash on purpose.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "device/device.h"

static const char source[] =
    "typedef unsigned long long u64;\n"
    "struct P1 { u64 p[1]; }; struct P2 { u64 p[2]; }; struct P3 { u64 p[3]; };\n"
    "extern \"C\" __global__ void nothing(P1 a) { if (a.p[0] == 1) __nanosleep(1); }\n"
    /* out, in, n: the sum of n 64-bit numbers */
    "extern \"C\" __global__ void sum(P3 a) {\n"
    "    const ulonglong2 *in = (const ulonglong2 *)a.p[1];\n"
    "    u64 s = 0, n = a.p[2] / 2;\n"
    "    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) { "
    "ulonglong2 v = in[i]; s += v.x + v.y; }\n"
    "    for (int o = 16; o; o /= 2) s += __shfl_down_sync(0xffffffffu, s, o);\n"
    "    if (threadIdx.x % 32 == 0) atomicAdd((u64 *)a.p[0], s);\n"
    "}\n"
    /* out: fills all of 100000 bytes of local memory and adds them up */
    "extern \"C\" __global__ void local(P1 a) {\n"
    "    extern __shared__ unsigned char l[];\n"
    "    for (int i = threadIdx.x; i < 100000; i += blockDim.x) l[i] = 1;\n"
    "    __syncthreads();\n"
    "    u64 s = 0;\n"
    "    for (int i = threadIdx.x; i < 100000; i += blockDim.x) s += l[i];\n"
    "    atomicAdd((u64 *)a.p[0], s);\n"
    "}\n"
    /* flag, told: waits (at most some seconds) until *flag is not 0 and tells whether it saw it; the other sets it */
    "extern \"C\" __global__ void wait_flag(P2 a) {\n"
    "    long long start = clock64();\n"
    "    while (*(volatile u64 *)a.p[0] == 0) if (clock64() - start > 6000000000ll) return;\n"
    "    *(volatile u64 *)a.p[1] = 1;\n"
    "}\n"
    "extern \"C\" __global__ void set_flag(P1 a) { *(volatile u64 *)a.p[0] = 1; __threadfence_system(); }\n"
    "extern \"C\" __global__ void fma_bits(P2 a) { double *d = (double *)a.p[1]; *(double *)a.p[0] = d[0] * d[1] + "
    "d[2]; }\n"
    "extern \"C\" __global__ void crash(P1 a) { *(volatile u64 *)a.p[0] = 1; }\n";

static Device *d;
static const DeviceOps *o;
static int failures;

static void row(const char *what, double value, const char *unit) { printf("%-58s %14.2f %s\n", what, value, unit); }
static void check(const char *what, bool good) {
    printf("%-58s %14s\n", what, good ? "ok" : "FAILED");
    if (!good) failures++;
}
static void need(Status st, const Err *e, const char *what) {
    if (st == ST_OK) return;
    printf("%s: %s %s (%s)\n", what, e->sqlstate, e->message, e->detail);
    exit(100);
}
#define NEED(call)              \
    do {                        \
        Err e_ = {0}, *e = &e_; \
        need((call), e, #call); \
    } while (0)

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static double median_us(int64_t *ns, int n) {
    qsort(ns, (size_t)n, sizeof *ns, compare);
    return (double)ns[n / 2] / 1e3;
}
static bool go_on(void *ctx) {
    (void)ctx;
    return true;
}
static bool until(void *deadline) { return clock_ns() < *(int64_t *)deadline; }
static void print_log(void *ctx, LogLevel level, const char *text) {
    (void)ctx;
    printf("log %d: %s\n", (int)level, text);
}
static void print_entry(void *ctx, const DeviceEntry *e) {
    (void)ctx;
    printf("probe: %s \"%s\" %s | %s | %s | %lld bytes\n", e->id, e->name, e->usable ? "usable" : "unusable", e->state,
           e->detail, (long long)e->memory_bytes);
}

static void latencies(DevQueue *q, DevModule *m) {
    enum { N = 2000 };
    static int64_t ns[N];
    DevKernel *k;
    NEED(o->kernel(m, "nothing", &k, e));
    uint64_t p = 0;
    for (int polling = 0; polling < 2; polling++) {
        for (int i = 0; i < N; i++) {
            int64_t start = clock_ns();
            NEED(o->launch(q, k, 1, 32, 0, &p, 1, e));
            NEED(o->sync(q, polling ? go_on : NULL, NULL, e));
            ns[i] = clock_ns() - start;
        }
        row(polling ? "launch + sync with poll, median" : "launch + sync, median", median_us(ns, N), "us");
    }
    int64_t start = clock_ns();
    for (int i = 0; i < N; i++) NEED(o->launch(q, k, 1, 32, 0, &p, 1, e));
    row("launch without waiting", (double)(clock_ns() - start) / N / 1e3, "us");
    NEED(o->sync(q, NULL, NULL, e));
    start = clock_ns();
    for (int i = 0; i < N; i++) NEED(o->fill(q, 0, 0, 0, e));
    row("making the context current (an empty operation)", (double)(clock_ns() - start) / N / 1e3, "us");
    DevEvent *a, *b;
    NEED(o->event_new(d, &a, e));
    NEED(o->event_new(d, &b, e));
    NEED(o->event_record(q, a, e));
    for (int i = 0; i < 100; i++) NEED(o->launch(q, k, 1, 32, 0, &p, 1, e));
    NEED(o->event_record(q, b, e));
    NEED(o->event_sync(d, b, NULL, NULL, e));
    int64_t between = 0;
    NEED(o->event_ns(d, a, b, &between, e));
    row("empty kernel on the device, by events", (double)between / 100 / 1e3, "us");
    check("event time is positive", between > 0);
    o->event_free(d, a);
    o->event_free(d, b);
}

static void allocations(void) {
    enum { N = 1000 };
    static int64_t ns[N];
    const int64_t sizes[] = {4096, 1 << 20, 100 << 20, INT64_C(4) << 30};
    for (int s = 0; s < 4; s++) {
        DevPtr p;
        char what[64];
        int64_t start = clock_ns();
        NEED(o->alloc(d, sizes[s], &p, e));
        snprintf(what, sizeof what, "alloc of %lld bytes, first", (long long)sizes[s]);
        row(what, (double)(clock_ns() - start) / 1e3, "us");
        check("  256-byte aligned", p % 256 == 0);
        o->free(d, p, sizes[s]);
        for (int i = 0; i < N; i++) {
            start = clock_ns();
            NEED(o->alloc(d, sizes[s], &p, e));
            o->free(d, p, sizes[s]);
            ns[i] = clock_ns() - start;
        }
        snprintf(what, sizeof what, "alloc and free of %lld bytes again, median", (long long)sizes[s]);
        row(what, median_us(ns, N), "us");
    }
    DevPtr p;
    Err oom = {0};
    bool refused = o->alloc(d, d->info.memory_bytes * 2, &p, &oom) == ST_ERROR;
    check("more than there is: 53200", refused && strcmp(oom.sqlstate, ERR_OUT_OF_MEMORY) == 0);
    printf("  %s (%s)\n", oom.message, oom.detail);
    void *h;
    int64_t start = clock_ns();
    NEED(o->alloc_pinned(d, 64 << 20, &h, &p, e));
    row("alloc_pinned of 64 MiB, first", (double)(clock_ns() - start) / 1e3, "us");
    o->free_pinned(d, h, 64 << 20);
    start = clock_ns();
    NEED(o->alloc_pinned(d, 64 << 20, &h, &p, e));
    row("alloc_pinned of 64 MiB, again", (double)(clock_ns() - start) / 1e3, "us");
    o->free_pinned(d, h, 64 << 20);
}

static void rate(const char *what, int64_t bytes, int64_t ns) { row(what, (double)bytes / (double)ns, "GB/s"); }

static int64_t timed_in(DevQueue *q, DevPtr to, const void *from, int64_t n) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t start = clock_ns();
        NEED(o->copy_in(q, to, from, n, e));
        NEED(o->sync(q, NULL, NULL, e));
        best = MIN_OF(best, clock_ns() - start);
    }
    return best;
}
static int64_t timed_out(DevQueue *q, void *to, DevPtr from, int64_t n) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t start = clock_ns();
        NEED(o->copy_out(q, to, from, n, e));
        NEED(o->sync(q, NULL, NULL, e));
        best = MIN_OF(best, clock_ns() - start);
    }
    return best;
}
static uint64_t device_sum(DevQueue *q, DevKernel *k, DevPtr out, DevPtr in, int64_t n, int64_t *ns) {
    uint64_t result = 0;
    *ns = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        NEED(o->fill(q, out, 0, 8, e));
        NEED(o->sync(q, NULL, NULL, e));
        int64_t start = clock_ns();
        NEED(o->launch(q, k, o->resident_groups(k, 256, 0), 256, 0, (uint64_t[]){out, in, (uint64_t)n}, 3, e));
        NEED(o->sync(q, NULL, NULL, e));
        *ns = MIN_OF(*ns, clock_ns() - start);
        NEED(o->copy_out(q, &result, out, 8, e));
        NEED(o->sync(q, NULL, NULL, e));
    }
    return result;
}

/* Memory that grows where it is: the time that takes, and that kernels and copies see it as one, also while it grows.
 */
static void spans(DevQueue *q, DevModule *m) {
    const int64_t GB = INT64_C(1) << 30, sizes[] = {GB, GB + GB / 2, 3 * GB, 3 * GB + (2 << 20), 6 * GB};
    int64_t most = d->info.memory_bytes, ns;
    DevPtr p, out;
    DevKernel *sum;
    char what[80];
    printf("span_unit %lld\n", (long long)d->info.span_unit);
    if (d->info.span_unit == 0) return;
    NEED(o->kernel(m, "sum", &sum, e));
    NEED(o->alloc(d, 8, &out, e));
    int64_t start = clock_ns();
    NEED(o->span_new(d, sizes[0], &most, &p, e));
    row("span of 1 GiB", (double)(clock_ns() - start) / 1e3, "us");
    NEED(o->fill(q, p, 1, sizes[0], e));
    for (int i = 1; i < 5; i++) {
        int64_t had = sizes[i - 1], n = sizes[i];
        NEED(o->fill(q, out, 0, 8, e));
        for (int k = 0; k < 8; k++)
            NEED(o->launch(q, sum, o->resident_groups(sum, 256, 0), 256, 0, (uint64_t[]){out, p, (uint64_t)had / 8}, 3,
                           e));
        start = clock_ns();
        NEED(o->span_grow(d, p, had, n, e));
        snprintf(what, sizeof what, "  to %.3f GiB, while kernels read it", (double)n / (double)GB);
        row(what, (double)(clock_ns() - start) / 1e3, "us");
        uint64_t got = 0, ones = UINT64_C(0x0101010101010101);
        NEED(o->copy_out(q, &got, out, 8, e));
        NEED(o->sync(q, NULL, NULL, e));
        bool good = got == 8 * ones * ((uint64_t)had / 8);
        NEED(o->fill(q, p + (uint64_t)had, 1, n - had, e));
        good = good && device_sum(q, sum, out, p, n / 8, &ns) == ones * ((uint64_t)n / 8);
        char bytes[8192], back[8192];
        for (size_t b = 0; b < sizeof bytes; b++) bytes[b] = (char)(b * 31 >> 4);
        NEED(o->copy_in(q, p + (uint64_t)had - 4096, bytes, sizeof bytes, e)); /* over the border */
        NEED(o->copy(q, p, p + (uint64_t)had - 4096, sizeof bytes, e));
        NEED(o->copy_out(q, back, p, sizeof back, e));
        NEED(o->fill(q, p + (uint64_t)had - 4096, 1, sizeof bytes, e));
        NEED(o->fill(q, p, 1, sizeof bytes, e));
        NEED(o->sync(q, NULL, NULL, e));
        check("  one piece to kernels and copies", good && memcmp(bytes, back, sizeof back) == 0);
    }
    row("sum of 6 GiB in a span", (double)sizes[4] / (double)ns, "GB/s");
    start = clock_ns();
    o->span_free(d, p, sizes[4], most);
    row("span_free", (double)(clock_ns() - start) / 1e3, "us");
    DevPtr from, to;
    NEED(o->alloc(d, 3 * GB, &from, e));
    NEED(o->fill(q, from, 1, 3 * GB, e));
    NEED(o->sync(q, NULL, NULL, e));
    start = clock_ns();
    NEED(o->alloc(d, 6 * GB, &to, e));
    row("for comparison: alloc of 6 GiB, first", (double)(clock_ns() - start) / 1e3, "us");
    NEED(o->copy(q, to, from, 3 * GB, e));
    NEED(o->sync(q, NULL, NULL, e));
    row("  with a copy of 3 GiB", (double)(clock_ns() - start) / 1e3, "us");
    row("sum of 6 GiB in a block", (device_sum(q, sum, out, to, 6 * GB / 8, &ns), (double)(6 * GB) / (double)ns),
        "GB/s");
    o->free(d, to, 6 * GB);
    o->free(d, from, 3 * GB);
    o->free(d, out, 8);
}

static void transfers(DevQueue *q, DevModule *m) {
    const int64_t n = 256 << 20;
    void *pinned;
    DevPtr pinned_dev, a, b, out;
    DevKernel *sum;
    int64_t ns;
    NEED(o->kernel(m, "sum", &sum, e));
    NEED(o->alloc_pinned(d, n, &pinned, &pinned_dev, e));
    NEED(o->alloc(d, n, &a, e));
    NEED(o->alloc(d, n, &b, e));
    NEED(o->alloc(d, 8, &out, e));
    uint64_t *words = pinned, expected = 0;
    for (int64_t i = 0; i < n / 8; i++) expected += words[i] = (uint64_t)i * 0x9E3779B97F4A7C15u;
    rate("copy_in from pinned memory, 256 MiB", n, timed_in(q, a, pinned, n));
    check("  sum on the device", device_sum(q, sum, out, a, n / 8, &ns) == expected);
    rate("  read by the kernel", n, ns);
    int64_t start = clock_ns();
    for (int i = 0; i < 10; i++) NEED(o->copy(q, b, a, n, e));
    NEED(o->sync(q, NULL, NULL, e));
    rate("copy on the device (read + write)", n * 20, clock_ns() - start);
    memset(pinned, 0, (size_t)n);
    rate("copy_out to pinned memory, 256 MiB", n, timed_out(q, pinned, b, n));
    uint64_t got = 0;
    for (int64_t i = 0; i < n / 8; i++) got += words[i];
    check("  sum on the host", got == expected);
    check("pinned memory read in place", device_sum(q, sum, out, pinned_dev, n / 8, &ns) == expected);
    rate("  read by the kernel", n, ns);

    char *own = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(own, pinned, (size_t)n);
    rate("copy_in from pageable memory, 256 MiB", n, timed_in(q, a, own, n));
    DevPtr mapped;
    start = clock_ns();
    NEED(o->map_host(d, own, n, &mapped, e));
    row("map_host of 256 MiB", (double)(clock_ns() - start) / 1e6, "ms");
    check("mapped memory read in place", device_sum(q, sum, out, mapped, n / 8, &ns) == expected);
    rate("  read by the kernel", n, ns);
    rate("copy_in from mapped memory", n, timed_in(q, a, own, n));
    start = clock_ns();
    o->unmap_host(d, own, n);
    row("unmap_host of 256 MiB", (double)(clock_ns() - start) / 1e6, "ms");

    /* blocks that share pages; a kernel and copies across the borders */
    uint64_t *w = (uint64_t *)own;
    int64_t from = 16, cut = 100002, end = 300004;
    DevPtr first, second;
    NEED(o->map_host(d, w + from, (cut - from) * 8, &first, e));
    NEED(o->map_host(d, w + cut, (end - cut) * 8, &second, e));
    uint64_t part = 0;
    for (int64_t i = from; i < end; i++) part += w[i];
    check("two mapped blocks that share a page are neighbours", second == first + (uint64_t)(cut - from) * 8);
    check("  and are read across the border", device_sum(q, sum, out, first, end - from, &ns) == part);
    NEED(o->fill(q, a, 0, n, e));
    NEED(o->copy_in(q, a, own, 1 << 22, e));
    NEED(o->sync(q, NULL, NULL, e));
    uint64_t whole = 0;
    for (int64_t i = 0; i < (1 << 22) / 8; i++) whole += words[i];
    check("  copied in across the borders", device_sum(q, sum, out, a, (1 << 22) / 8, &ns) == whole);
    memset(own, 0, 1 << 22);
    NEED(o->copy_out(q, own, a, 1 << 22, e));
    NEED(o->sync(q, NULL, NULL, e));
    check("  copied out across the borders", memcmp(own, pinned, 1 << 22) == 0);
    o->unmap_host(d, w + from, (cut - from) * 8);
    check("  the second block stays when the first goes",
          device_sum(q, sum, out, second, (end - cut) / 2 * 2, &ns) != 0);
    o->unmap_host(d, w + cut, (end - cut) * 8);
    munmap(own, (size_t)n);
    o->free(d, out, 8);
    o->free(d, a, n);
    o->free(d, b, n);
    o->free_pinned(d, pinned, n);
}

static void kernels(DevQueue *q, DevModule *m) {
    DevKernel *local, *wait_flag, *set_flag, *fma_bits;
    DevPtr out;
    uint64_t got[2] = {0};
    NEED(o->kernel(m, "local", &local, e));
    NEED(o->kernel(m, "wait_flag", &wait_flag, e));
    NEED(o->kernel(m, "set_flag", &set_flag, e));
    NEED(o->kernel(m, "fma_bits", &fma_bits, e));
    NEED(o->alloc(d, 64, &out, e));
    NEED(o->fill(q, out, 0, 64, e));
    row("groups of 256 with 100000 bytes that fit at once", (double)o->resident_groups(local, 256, 100000), "");
    NEED(o->launch(q, local, 3, 256, 100000, &out, 1, e));
    NEED(o->copy_out(q, got, out, 8, e));
    NEED(o->sync(q, NULL, NULL, e));
    check("100000 bytes of local memory", got[0] == 300000);

    double v[3] = {1.0 + 0x1p-30, 1.0 - 0x1p-30, -1.0}, product;
    volatile double step = v[0] * v[1];
    NEED(o->copy_in(q, out, v, sizeof v, e));
    NEED(o->launch(q, fma_bits, 1, 1, 0, (uint64_t[]){out + 32, out}, 2, e));
    NEED(o->copy_out(q, &product, out + 32, 8, e));
    NEED(o->sync(q, NULL, NULL, e));
    check("a*b+c rounds twice, as on the CPU", product == step + v[2]);

    DevQueue *other;
    NEED(o->queue_new(d, &other, e));
    NEED(o->fill(q, out, 0, 64, e));
    NEED(o->sync(q, NULL, NULL, e));
    NEED(o->launch(q, wait_flag, 1, 1, 0, (uint64_t[]){out, out + 8}, 2, e));
    NEED(o->launch(other, set_flag, 1, 1, 0, &out, 1, e));
    NEED(o->sync(q, go_on, NULL, e));
    NEED(o->copy_out(q, got, out, 16, e));
    NEED(o->sync(q, NULL, NULL, e));
    check("kernels of two queues run at the same time", got[1] == 1);

    /* giving up waiting, then telling the kernel to stop through pinned memory */
    void *flag;
    DevPtr flag_dev;
    NEED(o->alloc_pinned(d, 64, &flag, &flag_dev, e));
    *(volatile uint64_t *)flag = 0;
    NEED(o->launch(q, wait_flag, 1, 1, 0, (uint64_t[]){flag_dev, out + 8}, 2, e));
    int64_t start = clock_ns(), deadline = start + 50 * 1000000;
    Err none = {0};
    bool gave_up = o->sync(q, until, &deadline, &none) == ST_ERROR && !err_is_set(&none);
    row("sync given up after 50 ms", (double)(clock_ns() - start) / 1e6, "ms");
    check("giving up sets no error", gave_up);
    start = clock_ns();
    *(volatile uint64_t *)flag = 1;
    NEED(o->sync(q, go_on, NULL, e));
    row("kernel stopped by a flag in pinned memory after", (double)(clock_ns() - start) / 1e3, "us");

    DevEvent *ev;
    NEED(o->event_new(d, &ev, e));
    NEED(o->fill(q, out, 0, 16, e));
    *(volatile uint64_t *)flag = 0;
    NEED(o->launch(q, wait_flag, 1, 1, 0, (uint64_t[]){flag_dev, out + 8}, 2, e));
    NEED(o->event_record(q, ev, e));
    NEED(o->event_wait(other, ev, e));
    volatile uint64_t *late =
        (volatile uint64_t *)flag + 1; /* pinned: a copy to pageable memory would wait here for the kernel */
    NEED(o->copy_out(other, (void *)(uintptr_t)late, out, 16, e));
    *(volatile uint64_t *)flag = 1;
    NEED(o->sync(other, NULL, NULL, e));
    check("a queue waits for another's event", late[1] == 1);
    NEED(o->sync(q, NULL, NULL, e));
    o->event_free(d, ev);
    o->free_pinned(d, flag, 64);
    o->queue_free(d, other);
    o->free(d, out, 64);
}

static DevModule *build(void) {
    DevCode code;
    DevModule *m;
    int64_t start = clock_ns();
    NEED(o->compile(d, source, "", &code, e));
    row("compile", (double)(clock_ns() - start) / 1e6, "ms");
    start = clock_ns();
    NEED(o->load(d, code.bytes, code.n, &m, e));
    row("load", (double)(clock_ns() - start) / 1e6, "ms");
    Err e = {0};
    DevModule *none;
    check("cut code is refused", o->load(d, code.bytes, code.n / 2, &none, &e) == ST_ERROR);
    dev_code_free(&code);
    err_clear(&e);
    bool refused = o->compile(d, "int f() { return nonsense; }", "", &code, &e) == ST_ERROR;
    check("a compiler error fails with its log", refused && strstr(e.detail, "nonsense"));
    return m;
}

static void lose(int index, MemAccount *account) {
    DevModule *m = build();
    DevKernel *k, *nothing;
    DevQueue *q;
    NEED(o->kernel(m, "crash", &k, e));
    NEED(o->kernel(m, "nothing", &nothing, e));
    NEED(o->queue_new(d, &q, e));
    Err e = {0};
    uint64_t wild = 0x10;
    bool failed = o->launch(q, k, 1, 1, 0, &wild, 1, &e) != ST_OK || o->sync(q, go_on, NULL, &e) != ST_OK;
    check("a crashing kernel is an error and loses the device", failed && d->info.lost);
    printf("  %s: %s\n", e.sqlstate, e.message);
    err_clear(&e);
    check("later calls name the first cause",
          o->launch(q, nothing, 1, 1, 0, &wild, 1, &e) == ST_ERROR && strstr(e.message, "was lost"));
    printf("  %s: %s\n", e.sqlstate, e.message);
    o->queue_free(d, q);
    o->unload(d, m);
    o->close(d);
    check("nothing of the host is left", atomic_load(&account->used) == 0);
    err_clear(&e);
    bool again = device_driver_cuda.open(index, NULL, account, &d, &e) == ST_OK;
    printf("opened again after that: %s\n", again ? "yes" : e.message);
    if (!again) return;
    DevPtr p;
    err_clear(&e);
    check("  and allocates", o->alloc(d, 1 << 20, &p, &e) == ST_OK);
    if (err_is_set(&e)) printf("  %s\n", e.message);
    else o->free(d, p, 1 << 20);
    o->close(d);
}

int main(int argc, char **argv) {
    int index = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    MemAccount account;
    mem_account_init(&account, NULL, "host", 0, NULL);
    log_set(print_log, NULL);
    int64_t start = clock_ns();
    device_driver_cuda.probe(print_entry, NULL);
    row("probe", (double)(clock_ns() - start) / 1e6, "ms");
    start = clock_ns();
    NEED(device_driver_cuda.open(index, NULL, &account, &d, e));
    row("open", (double)(clock_ns() - start) / 1e6, "ms");
    o = d->ops;
    const DeviceInfo *i = &d->info;
    printf("%s: %s, %s, %s, %s; %lld bytes, %d units, warp %d, groups of %d, %d items a unit\n", i->id, i->name,
           i->arch, i->compiler, i->driver, (long long)i->memory_bytes, i->units, i->warp, i->group_max,
           i->items_per_unit);
    printf("local memory %lld, cache %lld, peak %.0f GB/s, can_map %d, concurrent %d\n", (long long)i->local_bytes,
           (long long)i->cache_bytes, i->peak_gbps, i->can_map, i->concurrent);
    int64_t free_bytes, total;
    NEED(o->memory_used(d, &free_bytes, &total, e));
    row("memory free, as the driver sees it", (double)free_bytes / 1e9, "GB");
    DevModule *m = build();
    DevQueue *q;
    NEED(o->queue_new(d, &q, e));
    latencies(q, m);
    allocations();
    spans(q, m);
    transfers(q, m);
    kernels(q, m);
    o->queue_free(d, q);
    o->unload(d, m);
    check("no device memory in use", atomic_load(&d->memory.used) == 0);
    o->close(d);
    check("no host memory in use", atomic_load(&account.used) == 0);
    NEED(device_driver_cuda.open(index, NULL, &account, &d, e));
    lose(index, &account);
    printf("%d checks failed\n", failures);
    return failures;
}
