/* json.h - JSON text: PostgreSQL's grammar and errors, the text that jsonb is kept as, and parts of both in place.
 *
 * A json value is the text it was given, checked. A jsonb value is a canonical text, the one that PostgreSQL shows:
 * members ordered by the length of their keys, then by bytes, of equal keys the last one; one blank behind each comma
 * and colon; no other escapes than needed; numbers as numeric shows them. So both are plain strings in tablets,
 * dictionaries, files and for clients, a part of a value is a part of its bytes, which -> borrows, and one reader
 * serves both types. The price: a key is found by walking the members before it (jsonb: until keys are longer), where
 * a table of offsets would have it at once; for documents of some hundred bytes the walk is the cheaper one.
 *
 * Equal jsonb values may have different text, as 1.0 and 1.00 do: they are compared by jsonb_key, whose bytes compare
 * with memcmp as PostgreSQL orders jsonb.
 *
 * Nothing here makes a tree. Recursion asks for the stack (base/stack.h; 54001). Thread-safe; results live in the arena
 * that is passed, or borrow from the argument.
 */
#ifndef STELE_TYPES_JSON_H
#define STELE_TYPES_JSON_H

#include "types/type.h"

typedef enum JsonType { JT_NULL, JT_STRING, JT_NUMBER, JT_BOOL, JT_ARRAY, JT_OBJECT } JsonType; /* in jsonb's order */

/* ---- whole values ---------------------------------------------------------------------------- */
/* Whether the text is JSON. 22P02 with what was expected, and where. */
Status json_check(Slice text, Err *e);
/* Whether the escapes of a JSON text are characters that a text can have: json takes all, what reads it does not. */
Status json_check_escapes(Arena *a, Slice text, Err *e);
/* The canonical text. Besides 22P02: 22P05 for \u0000, 22003 for numbers that numeric cannot hold. */
Status jsonb_from_text(Arena *a, Slice text, Str *out, Err *e);
/* Bytes that compare as jsonb values do; none is the beginning of another. */
Status jsonb_key(Arena *a, Str value, Str *out, Err *e);
/* The value with its numbers as short as they are exact, so that equal values have equal bytes. */
Status jsonb_least_scale(Arena *a, Str value, Str *out, Err *e);

/* ---- parts of what json_check() or jsonb_from_text() has let pass ------------------------------- */
Slice json_trim(Slice value);    /* without blanks around */
JsonType json_type(Slice value); /* of a trimmed one */
static inline bool json_is_container(JsonType t) { return t >= JT_ARRAY; }

/* Over the elements of an array or the members of an object. */
typedef struct JsonIter {
    const char *p, *end;
    bool object;
} JsonIter;
JsonIter json_iter(Slice container);
/* The next one: false at the end. key: with its quotes; of an array's elements empty. Both trimmed. */
bool json_next(JsonIter *it, Slice *key, Slice *value);
int64_t json_count(Slice container);
/* Whether a string (with its quotes) is this text. */
bool json_string_is(Slice string, Slice text);
/* The member of that key, the last one if several have it; sorted: the keys are in jsonb's order. */
bool json_find(Slice object, Slice key, bool sorted, Slice *value);
/* Element i of an array; from its end where i < 0. */
bool json_element(Slice array, int64_t i, Slice *value);
/* A string without its quotes and escapes, borrowed where it has none. 22P05, 22P02 for what no text can have; not
 * behind json_check_escapes(). */
Status json_unescape(Arena *a, Slice string, Str *out, Err *e);
/* The value as text: strings without quotes. */
Status json_as_text(Arena *a, Slice value, Str *out, Err *e);
/* An order of keys, both without quotes: by length, then by bytes. */
int json_key_cmp(Slice a, Slice b);

/* ---- text under construction -------------------------------------------------------------------- */
#define JSON_BYTES_MAX (UINT32_MAX / 4)
/* Starts as {.a = arena}. Out of memory is remembered: json_done() tells it. */
typedef struct JsonOut {
    Arena *a;
    char *p;
    int64_t len, cap;
    bool failed;
} JsonOut;
void json_put(JsonOut *o, const char *p, int64_t n);
static inline void json_put_slice(JsonOut *o, Slice s) { json_put(o, s.ptr, s.len); }
#define json_put_text(o, literal) json_put((o), (literal), (int64_t)sizeof(literal) - 1)
void json_put_string(JsonOut *o, Slice text); /* quoted, with the escapes that it needs */
/* A cell of any type as to_json() has it with default settings and time zone UTC (func_json_make.c). */
Status json_put_value(JsonOut *o, Type t, const void *cell, Err *e);
Status json_done(const JsonOut *o, Str *out, Err *e);
/* Nothing more need be put: json_done will fail. */
static inline bool json_is_over(const JsonOut *o) { return o->failed || o->len > JSON_BYTES_MAX; }

/* Members that come in any order, to be put in jsonb's: begin with {0} and the object's brace in `o`. */
typedef struct JsonPair {
    Slice key;        /* without quotes */
    int64_t from, to; /* of the member's text in `o` */
    int64_t order;
} JsonPair;
typedef struct JsonPairs {
    JsonPair *items;
    int64_t len, cap;
} JsonPairs;
/* Members [first, len) of the pairs, which are the text behind `from` with ", " between, in order and each key once;
 * the pairs are taken off. */
Status json_sort_members(JsonOut *o, JsonPairs *pairs, int64_t first, int64_t from, Err *e);

#endif
