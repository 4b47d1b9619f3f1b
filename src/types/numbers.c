/* numbers.c - see numbers.h. */
#include "types/numbers.h"

#include <stdatomic.h>

#include "base/mem.h"

enum { CHUNK = 1024, CHUNKS = 4096 }; /* numbers below 2^22: an array's Type has 26 bits for them */
typedef struct Slots {
    _Atomic(const void *) at[CHUNK];
} Slots;
static _Atomic(Slots *) chunks[CHUNKS]; /* made when first needed, and kept */
static _Atomic int32_t last_number = TYPE_NUMBER_FIRST - 1;

static _Atomic(const void *) *slot_of(int32_t number) {
    Slots *s = number > 0 && number < CHUNK * CHUNKS ? atomic_load(&chunks[number / CHUNK]) : NULL;
    return s ? &s->at[number % CHUNK] : NULL;
}

Status type_number_new(int32_t *out, Err *e) {
    const int32_t number = atomic_fetch_add(&last_number, 1) + 1;
    if (number <= 0 || number >= CHUNK * CHUNKS) {
        atomic_fetch_sub(&last_number, 1);
        return err_set(e, ERR_PROGRAM_LIMIT, "there are too many types");
    }
    *out = number;
    if (atomic_load(&chunks[number / CHUNK])) return ST_OK;
    Slots *fresh = mem_calloc(NULL, (int64_t)sizeof *fresh, e), *none = NULL;
    if (!fresh) return ST_ERROR;
    if (!atomic_compare_exchange_strong(&chunks[number / CHUNK], &none, fresh))
        mem_free(NULL, fresh, (int64_t)sizeof *fresh);
    return ST_OK;
}

void type_number_put(int32_t number, const void *definition) { atomic_store(slot_of(number), definition); }

const void *type_number_get(int32_t number) {
    _Atomic(const void *) *slot = slot_of(number);
    return slot ? atomic_load(slot) : NULL;
}
