/* bits.h - bit strings: the stored form of bit(n) and bit varying(n), and what is done with it.
 *
 * The stored form has seven bits of the string in each byte, from the left, above a bit that is 1 when more bits
 * follow; a last byte behind them is the number of bits (1 to 7) that the group before it has, whose other bits are 0.
 * The empty string has no bytes:
 *
 *     ''         (no bytes)
 *     101        101.... 0   00000011
 *     11111111   1111111 1   1...... 0   00000001
 *
 * Why not eight bits a byte, with the number of unused ones behind them: PostgreSQL orders bit strings as text, by the
 * first bit that differs, and a string that begins another is less. memcmp has to say the same (cells of strings,
 * dictionaries, zone maps, sort keys and kernels compare so), and a number in a place where another string has bits of
 * its own would be compared with them. Here what follows a group is decided by the group's lowest bit: an end is less
 * than a continuation, and two ends differ in the number behind them. Equal strings have equal bytes, so that they are
 * hashed, grouped and joined as any string. It takes 8/7 of the bytes of the bits, and one more.
 *
 * Functions are pure. Bits are counted from 0 from the left; lengths are in bits, at most BITS_MAX.
 */
#ifndef STELE_TYPES_BITS_H
#define STELE_TYPES_BITS_H

#include "types/type.h"

enum { BITS_GROUP = 7 };
#define BITS_MAX INT64_C(2147483640) /* PostgreSQL's VARBITMAXLEN */
enum { BITS_TYPE_MAX = 83886080 };   /* of bit(n) and bit varying(n): PostgreSQL's MaxAttrSize in bits */

static inline int64_t bits_length(Str s) { return s.len ? ((int64_t)s.len - 2) * BITS_GROUP + s.ptr[s.len - 1] : 0; }
/* Bytes of the stored form of a string of n bits. */
static inline int64_t bits_bytes(int64_t n) { return n > 0 ? (n + BITS_GROUP - 1) / BITS_GROUP + 1 : 0; }
/* 0 <= i < bits_length(s) */
static inline int bits_get(Str s, int64_t i) {
    return (unsigned char)s.ptr[i / BITS_GROUP] >> (BITS_GROUP - i % BITS_GROUP) & 1;
}

/* Strings are made in bits_bytes(n) bytes that the caller has zeroed: bits by these two, at last bits_end(). */
static inline void bits_set(char *out, int64_t i) {
    out[i / BITS_GROUP] = (char)((unsigned char)out[i / BITS_GROUP] | 1U << (BITS_GROUP - i % BITS_GROUP));
}
/* n bits of s from bit `from` on as bits at, at + 1, ..; none of these is set yet. Bits behind the end of s are 0. */
void bits_put(char *out, int64_t at, Str s, int64_t from, int64_t n);
Str bits_end(char *out, int64_t n);

/* The operators in place: of equal lengths, out has the bytes of a and may be a's own. */
typedef enum BitsOp { BITS_AND, BITS_OR, BITS_XOR } BitsOp;
void bits_combine(BitsOp op, Str a, Str b, char *out);
/* 22026: of different lengths. */
Status bits_check_lengths(BitsOp op, Str a, Str b, Err *e);
/* The first place, from 1, at which `part` is in s; 0: nowhere. */
int64_t bits_position(Str s, Str part);
int64_t bits_count(Str s); /* that are 1 */

/* Text: '0' and '1'; bits_to_text writes bits_length(s) bytes. */
void bits_to_text(Str s, char *out);
/* PostgreSQL's input: digits, 'b' and digits, 'x' and hexadecimal digits. `t` has a length or none. 22P02 for another
 * character, 54000 above BITS_MAX, and bits_check_fit(). Bytes are in the arena. */
Status bits_parse(Type t, Slice text, Arena *a, Str *out, Err *e);
/* A string of n bits is one of type t: 22026 of bit(n), 22001 of bit varying(n). */
Status bits_check_fit(Type t, int64_t n, Err *e);

#endif
