/* kp_undo.h - the kernel that undoes a bulk: after a failure under statement locks (kp_statement_locks.h), what all
 * calls changed is taken back.
 *
 * One item does it, the last call's changes first, each call's log from its end (undo_K). It is launched alone, so it
 * needs neither locks nor atomics.
 */
#include "codegen/prelude/txn/kp_alone.h"

KERNEL(bulk_undo) {
    if (GID != 0 || LID != 0) return;
    for (u64 nth = PP_CALLS; nth-- > 0;) {
        const u32 n = G(u32, PP_LOG_N)[nth];
        if (n == 0) continue;
        const u64 call = call_at(kp, nth);
        const u32 kind = kind_of(kp, call);
        (void)kind;
        const u64 at = G(u64, PP_LOG_AT)[call];
#define UNDO(label, k)   \
    label:               \
    undo_##k(kp, at, n); \
    break;
        switch (kind) { EACH_PROC(UNDO) }
#undef UNDO
    }
}
