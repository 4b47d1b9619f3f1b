/* numbers.c - see numbers.h. */
#include "types/numbers.h"

#include <stdatomic.h>

#include "base/search_path.h"
#include "types/func.h"

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

/* ---- what such types are called ---- */
static const char public_dot[] = KEY_PUBLIC ".";

/* Each byte may be doubled, each of both parts be in quotes. */
int64_t named_bytes(const char *key) { return 2 * (2 * (int64_t)strlen(key) + (int64_t)sizeof public_dot + 8); }
static void put_name(char **at, const char *key) {
    if (!key_has_schema(key)) {
        memcpy(*at, public_dot, sizeof public_dot - 1);
        *at += sizeof public_dot - 1;
    }
    *at += name_put_quoted(key, *at);
}
void named_put(char **at, const char *key, const char **shown, const char **array_shown) {
    *shown = *at;
    put_name(at, key);
    *array_shown = *at;
    put_name(at, key);
    memcpy(*at - 1, "[]", 3);
    *at += 2;
}
const char *named_shown(const char *key, const char *shown) {
    const char *p = shown;
    if (!search_path_has(schema_of_key(key))) return shown;
    if (*p == '"')
        for (p++; *p != '"' || p[1] == '"'; p++) p += *p == '"';
    return strchr(p, '.') + 1;
}
char *named_text(Arena *a, const char *key) {
    char *text = arena_alloc(a, named_bytes(key)), *at = text;
    if (!text) return NULL;
    put_name(&at, key);
    return (char *)(uintptr_t)named_shown(key, text);
}
