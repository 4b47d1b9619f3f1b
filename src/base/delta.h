/* delta.h - the difference of two runs of bytes that have most of them in common.
 *
 * It is a list of steps, numbers being short (bytes.h): how far behind the bytes that were copied last, in the old run,
 * the next ones are (negative: before); how many of them are copied; how many new ones follow; these. In front of it
 * the length of the new run. Common bytes of at least 48 are found wherever they lie; others if they are in the same
 * order.
 */
#ifndef STELE_BASE_DELTA_H
#define STELE_BASE_DELTA_H

#include "base/bytes.h"

/* What makes `to` of `from`, appended to o, which reports a lack of memory. */
void delta_put(BytesOut *o, const char *from, int64_t n_from, const char *to, int64_t n_to);
/* The new run, appended to `out`. False: `in` is no difference from such a run. */
bool delta_apply(BytesIn *in, const char *from, int64_t n_from, BytesOut *out);

#endif
