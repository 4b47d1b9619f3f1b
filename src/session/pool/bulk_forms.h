/* bulk_forms.h - arguments and results of bulks in the forms that programs have.
 *
 * A parameter or result of numeric without (p,s) may be a numeric(38,s) in the program of a procedure
 * (sql/pl/compile_decimal.c). Callers give and get values of the declared type; arguments may be exact numbers of any
 * type, which saves making strings of them.
 */
#ifndef STELE_SESSION_POOL_BULK_FORMS_H
#define STELE_SESSION_POOL_BULK_FORMS_H

#include "session/pool/bulk.h"

bool bulk_params_formed(const CallGroup *g); /* its arguments are those of its program already */
/* The group's arguments become those of its program; new columns are in `a`. *fit false: the program cannot hold one of
 * them as it is, and the calls have to run one at a time. */
Status bulk_form_params(Arena *a, CallGroup *g, bool *fit, Err *e);
/* An exact number as one of the declared type. */
Status bulk_value_as(Arena *a, Type declared, Value *v, Err *e);
/* Results become those of the declared types. Calls whose results find no memory have been executed, and say so. */
void bulk_declared_outs(int32_t n_groups, const BulkCalls *groups, BulkResult *r);

#endif
