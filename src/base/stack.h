/* stack.h - the end of recursive walks: the stack that is left, and interrupts.
 *
 * Statements may be nested as deeply as the caller's stack allows, so every recursive function asks on entry whether
 * there is enough stack for one level more, and for what it calls that does not ask. STACK_RESERVE is at least the
 * longest chain of such calls (tools/recursion.py --frames measures it; tools/recursion.py finds recursive functions
 * that do not ask).
 *
 * The same call looks at the statement's interrupts, so that planning ends within milliseconds when it is canceled.
 * Loops that may be long and do not recurse ask too.
 *
 * A walk that returns a Status uses stack_check(). One that returns something else uses stack_stop(), and returns at
 * once whatever is cheap and does no harm. That it was cut short is remembered for the thread, and the next
 * stack_check() fails: it has to be called before the results of such walks have an effect (the phases of planning do,
 * and statements when they end).
 *
 * Whose stack it is: the thread's own, by pthread_getattr_np, once per thread. Where the caller is on another one (a
 * coroutine's), nothing tells its size: STACK_FOREIGN bytes below the call of the library are used then.
 */
#ifndef STELE_BASE_STACK_H
#define STELE_BASE_STACK_H

#include <stdatomic.h>

#include "base/err.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_FACTOR = 4 }; /* frames are larger */
#else
enum { STACK_FACTOR = 1 };
#endif
enum { STACK_RESERVE = STACK_FACTOR * (96 << 10), STACK_FOREIGN = STACK_FACTOR * (192 << 10) };

/* True: the walk must end. The thread remembers why until stack_check(). */
bool stack_stop(void);
/* 54001 when little stack is left or was when stack_stop() was called, 57014 when the statement is canceled or its time
 * is up. */
Status stack_check(Err *e);
/* As stack_check, with a position in the statement for 54001. */
Status stack_check_at(Err *e, int64_t position);
/* After a failure that may have left no error: that of a walk that was cut short, or out of memory. The walk's takes
 * the place of another one, which may have come of what the walk did not see. ST_ERROR. */
Status stack_failed(Err *e);
/* 54001 only, and only for now: what may not be interrupted here. */
Status stack_check_depth(Err *e);

/* A call of the library: what interrupts it, and on which stack. NULL and 0: nothing does. Calls nest. */
typedef struct StackWatch {
    const _Atomic bool *cancel;
    int64_t deadline_ns; /* on clock_ns(); 0 = none */
} StackWatch;
StackWatch stack_watch_begin(const _Atomic bool *cancel,
                             int64_t deadline_ns); /* returns the one before, for stack_watch_end() */
void stack_watch_end(StackWatch before);

#endif
