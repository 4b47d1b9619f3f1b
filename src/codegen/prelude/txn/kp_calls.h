/* kp_calls.h - the calls of a launch: which one is the nth, and which procedure it is of.
 *
 * Of the module: EACH_PROC(M): M(label, k) for each procedure k, the last one's label being `default`, so that
 *     #define RUN(label, k) label: run_##k(...); break;
 *     switch (kind) { EACH_PROC(RUN) }
 * calls the procedure's function.
 */
#ifndef KP_CALLS_H
#define KP_CALLS_H
#include "codegen/prelude/txn/kp_base.h"
#include "codegen/prelude/txn/kp_params.h"

/* The number of the call that comes nth. */
FN u64 call_at(KP_ARG, const u64 nth) { return PP_ORDER != 0 ? (u64)G(u32, PP_ORDER)[nth] : nth; }
/* Its place among the calls that have their arguments in one piece. */
FN u64 pos_of(KP_ARG, const u64 call) { return PP_POS != 0 ? (u64)G(u32, PP_POS)[call] : call; }
/* Its procedure. */
FN u32 kind_of(KP_ARG, const u64 call) {
    return PP_TYPES != 0 ? G(u16, PP_KINDS)[G(u16, PP_TYPES)[call]] : G(u16, PP_KINDS)[0];
}

#endif
