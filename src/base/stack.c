/* stack.c - the stack that is left, and interrupts. See stack.h.
 *
 * Stacks grow downwards on every processor that Stele runs on. */
#include <pthread.h>

#include "base/log.h"
#include "base/stack.h"

typedef enum Stop { STOP_NONE, STOP_DEPTH, STOP_CANCEL, STOP_TIMEOUT } Stop;

enum { CALLS_PER_CLOCK = 64 };

static _Thread_local struct {
    uintptr_t own_low, own_high; /* the thread's own stack; 0: not looked up yet */
    uintptr_t low, high;         /* what may be used of the stack in use, without the reserve */
    StackWatch watch;
    int32_t calls; /* until the clock is read */
    Stop stop;
} here;

/* The address of this frame, which is near enough to the caller's. */
#define ADDRESS() ((uintptr_t)__builtin_frame_address(0))

static void look_up_own(uintptr_t at) {
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    here.own_low = here.own_high = at; /* when nothing is known, every stack is foreign */
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
    if (pthread_attr_getstack(&attr, &low, &size) == 0 && low && size > 0) {
        here.own_low = (uintptr_t)low;
        here.own_high = here.own_low + size;
    }
    (void)pthread_attr_destroy(&attr);
}

/* Finds the stack that `at` is on. */
static void look_up(uintptr_t at) {
    if (here.own_high == 0) look_up_own(at);
    bool own = at >= here.own_low && at < here.own_high;
    here.low = own ? here.own_low + STACK_RESERVE : at - (STACK_FOREIGN - STACK_RESERVE);
    here.high = own ? here.own_high : at + 1;
}

static bool is_deep(uintptr_t at) {
    if (LIKELY(at >= here.low && at < here.high)) return false;
    if (at < here.low && at >= here.low - STACK_RESERVE) return true;
    look_up(at); /* the first call of this thread, or another stack */
    return at < here.low;
}

static Stop interrupted(void) {
    const StackWatch *w = &here.watch;
    if (w->cancel && atomic_load_explicit(w->cancel, memory_order_relaxed)) return STOP_CANCEL;
    if (w->deadline_ns == 0 || --here.calls > 0) return STOP_NONE;
    here.calls = CALLS_PER_CLOCK;
    return clock_ns() > w->deadline_ns ? STOP_TIMEOUT : STOP_NONE;
}

bool stack_stop(void) {
    if (UNLIKELY(here.stop != STOP_NONE)) return true;
    here.stop = is_deep(ADDRESS()) ? STOP_DEPTH : interrupted();
    return here.stop != STOP_NONE;
}

static Status too_deep(Err *e, int64_t position) {
    err_at(e, position, ERR_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    err_hint(e, "Run the statement in a thread with a larger stack; for a program's main thread, ensure that the "
                "platform's stack depth limit is adequate.");
    return ST_ERROR;
}
Status stack_check_at(Err *e, int64_t position) {
    if (LIKELY(!stack_stop())) return ST_OK;
    Stop why = here.stop;
    here.stop = STOP_NONE;
    switch (why) {
    case STOP_CANCEL: return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    case STOP_TIMEOUT: return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    default: return too_deep(e, position);
    }
}
Status stack_check(Err *e) { return stack_check_at(e, 0); }
Status stack_failed(Err *e) {
    if (here.stop != STOP_NONE) err_clear(e);
    return err_is_set(e) || stack_check(e) != ST_OK ? ST_ERROR : err_oom(e);
}
Status stack_check_depth(Err *e) { return LIKELY(!is_deep(ADDRESS())) ? ST_OK : too_deep(e, 0); }

StackWatch stack_watch_begin(const _Atomic bool *cancel, int64_t deadline_ns) {
    StackWatch before = here.watch;
    here.watch = (StackWatch){cancel, deadline_ns};
    here.calls = 0;
    here.stop = STOP_NONE;
    if (!before.cancel) look_up(ADDRESS()); /* not inside of another call: the stack may be another coroutine's */
    return before;
}
void stack_watch_end(StackWatch before) {
    here.watch = before;
    here.stop = STOP_NONE;
}
