/* range_errors.h - errors of values that a type cannot hold: one wording for casts, operators, executors and bulks. */
#ifndef STELE_TYPES_RANGE_ERRORS_H
#define STELE_TYPES_RANGE_ERRORS_H

#include "base/err.h"

/* 22003: a value of too many digits for numeric(precision, scale). precision 0: of no declared type, without a detail.
 * Returns ST_ERROR. */
Status numeric_range_error(Err *e, int precision, int scale);
/* 22003: infinity for numeric(precision, scale). Returns ST_ERROR. */
Status numeric_infinite_error(Err *e, int precision, int scale);
/* Of 38 digits at most, whose values are integers; whether that is what e says. */
Status numeric_nan_error(Err *e, int precision, int scale);
bool numeric_is_nan_error(const Err *e);
bool numeric_is_special(Slice text, bool *infinite); /* NaN, or an infinity */

#endif
