/* interp.h - the executor "interpreted": segments as bytecode for one prebuilt kernel.
 *
 * interp_segment gives what emit_segment gives, but `source` is the same text for every segment of a device kind, group
 * size and tile size, so that it is compiled once and a query can start at once. What the segment does is in
 * EmitSegment.code: bytes that the executor puts on the device (16-byte aligned), their address being parameter
 * KP_CODE. Memory layouts are those of the emitter: a query may mix segments of both kinds.
 *
 * The bytecode and its limits are in prelude/interp/ki_codes.h. As with emit_segment, hold the tables' locks;
 * everything lives in the arena.
 */
#ifndef STELE_CODEGEN_INTERP_H
#define STELE_CODEGEN_INTERP_H

#include "codegen/emit.h"

/* XX000 for a segment that has a reason against it (interp_reason, or EmitPlan.reasons). */
Status interp_segment(const EmitPlan *ep, int32_t segment, bool last, Arena *a, EmitSegment *out, Err *e);

/* Why the interpreter cannot run a segment that the emitter can ("too many registers for the interpreter"); NULL: it
 * can. */
const char *interp_reason(const EmitPlan *ep, int32_t segment, Arena *a);

/* The interpreter's text without the prelude (embedded at build time from prelude/interp). */
extern const char kernel_interp_text[];

#endif
