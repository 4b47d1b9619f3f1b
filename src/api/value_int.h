/* value_int.h - values of the interface (stele_value) as values of SQL, and back. Included by src/api only. */
#ifndef STELE_API_VALUE_INT_H
#define STELE_API_VALUE_INT_H

#include "base/mem.h"
#include "stele/stele.h"
#include "types/type.h"

/* Texts, bytea and arrays become texts of type T_UNKNOWN in the arena or of the client; the others have their type. */
Status value_of_client(const stele_value *x, Arena *a, Value *out, Err *e);
/* Texts are borrowed, items lie in the arena. */
Status value_to_client(const Value *v, Arena *a, stele_value *out);

#endif
