/* lanes.c - runs a CUDA kernel's lanes as coroutines of one thread: see lanes.h, README.md.
 *
 * Groups run one after the other, the lanes of a group in turns, whoever is picked at random. Nobody may wait for a
 * later group. When no lane can go on, or for too long none ends, it says where all of them are, and the process is
 * ended: a kernel that hangs is a test that fails.
 */
#include "lanes.h"
#include "lanes_run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LANES_MAX = 1024, STACK = 256 << 10, SECONDS = 100 };
typedef struct Lane {
    void *sp;
    bool exited, waits, at_barrier;
    enum LanesOp op;
    uint32_t mask, arg;
    uint64_t value;
    void *where; /* who waits */
} Lane;

LanesIndex threadIdx, blockIdx, blockDim, gridDim;
static Lane lanes[LANES_MAX];
static Lane *me;
static unsigned ready[LANES_MAX], n_ready; /* lanes that can go on */
static void *main_sp;
static char *stacks;
static uint64_t randoms = 1;
static long long ticks;
static void (*kernel)(const void *);
static const void *kernel_params;

#if !defined(__x86_64__)
#error "lanes.c: how lanes are switched is written for x86-64"
#endif
void lanes_switch(void **from, void *to);
__asm__(".text\n.globl lanes_switch\n.hidden lanes_switch\nlanes_switch:\npushq %rbp\npushq %rbx\npushq %r12\npushq "
        "%r13\npushq %r14\npushq %r15\nmovq %rsp, (%rdi)\nmovq %rsi, %rsp\npopq %r15\npopq %r14\npopq %r13\npopq "
        "%r12\npopq %rbx\npopq %rbp\nret\n");

static uint32_t random_u32(void) {
    randoms = randoms * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(randoms >> 33);
}
void lanes_seed(uint64_t seed) { randoms = seed * 2 + 1; }
static void wake(Lane *l) { ready[n_ready++] = (unsigned)(l - lanes); }
static void leave(void) {
    Lane *l = me;
    ticks += 64;
    lanes_switch(&l->sp, main_sp);
}
void lanes_yield(void) {
    ticks += 200;
    leave();
}
void lanes_chance(void) {
    if ((random_u32() & 7) == 0) leave();
}
long long lanes_clock(void) { return ticks += 20; }
int lanes_is_shared(const volatile void *p) {
    return (const char *)p < stacks || (const char *)p >= stacks + (size_t)LANES_MAX * STACK;
}

/* All lanes of the mask are there: what each one gets, and they go on. */
static bool all_there(const Lane *warp, const Lane *l) {
    for (int i = 0; i < 32; i++)
        if ((l->mask >> i & 1) != 0 && warp - lanes + i < blockDim.x && !warp[i].exited &&
            !(warp[i].waits && warp[i].mask == l->mask && warp[i].op == l->op))
            return false;
    return true;
}
static void give_results(Lane *warp, const Lane *l) {
    const uint32_t mask = l->mask;
    const enum LanesOp op = l->op;
    uint64_t values[32], votes = 0, least = ~UINT64_C(0);
    uint32_t there = 0;
    for (int i = 0; i < 32; i++) {
        if ((mask >> i & 1) == 0 || warp - lanes + i >= blockDim.x || warp[i].exited) continue;
        there |= 1u << i;
        values[i] = warp[i].value;
        if (values[i]) votes |= UINT64_C(1) << i;
        if (values[i] < least) least = values[i];
    }
    for (int i = 0; i < 32; i++) {
        if ((there >> i & 1) == 0) continue;
        uint64_t v = op == LANES_BALLOT || op == LANES_ANY || op == LANES_ALL ? votes : op == LANES_LEAST ? least : 0;
        if (op == LANES_SHUFFLE)
            v = (there >> warp[i].arg & 1) != 0 ? values[warp[i].arg]
                                                : random_u32() * UINT64_C(0x9e3779b97f4a7c15); /* undefined */
        for (int k = 0; op == LANES_MATCH && k < 32; k++)
            if ((there >> k & 1) != 0 && values[k] == values[i]) v |= UINT64_C(1) << k;
        warp[i].value = v;
        warp[i].waits = false;
        if (&warp[i] != me) wake(&warp[i]);
    }
}
uint64_t lanes_meet(enum LanesOp op, uint32_t mask, uint64_t v, uint32_t arg) {
    Lane *l = me, *warp = lanes + (l - lanes) / 32 * 32;
    if ((mask >> ((l - lanes) & 31) & 1) == 0) lanes_stuck("a lane that is not in its mask");
    l->waits = true;
    l->op = op;
    l->mask = mask;
    l->arg = arg;
    l->value = v;
    l->where = __builtin_return_address(0);
    if (!all_there(warp, l)) {
        leave();
    } else {
        give_results(warp, l);
        lanes_chance();
    }
    return l->value;
}
static void open_barrier(void) {
    for (unsigned i = 0; i < blockDim.x; i++)
        if (!lanes[i].exited && !lanes[i].at_barrier) return;
    for (unsigned i = 0; i < blockDim.x; i++) {
        if (lanes[i].at_barrier && &lanes[i] != me) wake(&lanes[i]);
        lanes[i].at_barrier = false;
    }
}
void lanes_barrier(void) {
    Lane *l = me;
    l->at_barrier = true;
    l->where = __builtin_return_address(0);
    open_barrier();
    if (l->at_barrier) leave();
}
void lanes_stuck(const char *why) {
    static const char *const ops[] = {"meets",    "votes",   "votes (any)",    "votes (all)",
                                      "shuffles", "matches", "seeks the least"};
    fprintf(stderr, "lanes: group %u: %s\n", blockIdx.x, why);
    for (unsigned i = 0; i < blockDim.x; i++) {
        const Lane *l = &lanes[i];
        if (l->waits) fprintf(stderr, "  %u.%u %s with %08x at %p\n", i / 32, i % 32, ops[l->op], l->mask, l->where);
        else if (l->at_barrier) fprintf(stderr, "  %u.%u at a barrier\n", i / 32, i % 32);
        else if (!l->exited) fprintf(stderr, "  %u.%u runs\n", i / 32, i % 32);
    }
    fflush(stderr);
    abort();
}
static void enter(void) {
    kernel(kernel_params);
    me->exited = true;
    open_barrier();
    Lane *warp = lanes + (me - lanes) / 32 * 32;
    for (int i = 0; i < 32; i++) /* those that wait for it */
        if (warp[i].waits && !warp[i].exited && all_there(warp, &warp[i])) give_results(warp, &warp[i]);
    leave();
}
static void run_group(void) {
    unsigned left = blockDim.x;
    time_t since = time(NULL);
    n_ready = 0;
    for (unsigned i = 0; i < blockDim.x; i++) {
        void **sp = (void **)(void *)(stacks + (size_t)(i + 1) * STACK) - 1; /* as a call leaves it */
        lanes[i] = (Lane){0};
        *--sp = (void *)(uintptr_t)enter;
        sp -= 6; /* registers */
        memset(sp, 0, 6 * sizeof *sp);
        lanes[i].sp = sp;
        wake(&lanes[i]);
    }
    for (uint64_t turns = 0; left > 0; turns++) {
        if (n_ready == 0) lanes_stuck("no lane can go on");
        const unsigned at = random_u32() % n_ready;
        me = &lanes[ready[at]];
        threadIdx.x = ready[at];
        ready[at] = ready[--n_ready];
        lanes_switch(&main_sp, me->sp);
        if (me->exited) left--;
        else if (!me->waits && !me->at_barrier) wake(me);
        if ((turns & 0xfffff) == 0xfffff && time(NULL) - since > SECONDS) lanes_stuck("it takes too long");
    }
}
void lanes_run(void (*run)(const void *), const void *params, unsigned groups, unsigned size) {
    const char *seed = getenv("LANES_SEED");
    if (!stacks && seed) lanes_seed(strtoull(seed, NULL, 10));
    if (!stacks)
        stacks = mmap(NULL, (size_t)LANES_MAX * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED || size > LANES_MAX) abort();
    kernel = run;
    kernel_params = params;
    gridDim.x = groups;
    blockDim.x = size;
    for (blockIdx.x = 0; blockIdx.x < groups; blockIdx.x++) run_group();
}
