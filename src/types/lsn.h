/* lsn.h - places in a log: values of type pg_lsn.
 *
 * A place is an unsigned number of 64 bits, a distance in bytes from where the log began. Its cell is the number with
 * the highest bit turned over, so that cells compare, as signed ones, as the numbers do.
 */
#ifndef STELE_TYPES_LSN_H
#define STELE_TYPES_LSN_H

#include "base/base.h"

static inline int64_t lsn_cell(uint64_t number) { return (int64_t)(number ^ UINT64_C(1) << 63); }
static inline uint64_t lsn_number(int64_t cell) { return (uint64_t)cell ^ UINT64_C(1) << 63; }

enum { LSN_TEXT_MAX = 17 };
/* "16/B374D848": both halves in hexadecimal digits; at most LSN_TEXT_MAX bytes, returns how many. */
int64_t lsn_format(int64_t cell, char *out);
/* Exactly that, of up to eight digits each. False: it is none. */
bool lsn_parse(Slice text, int64_t *cell);

#endif
