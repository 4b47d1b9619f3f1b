/* bits.c - see bits.h. Strings are moved a group of seven bits at a time. */
#include "types/bits.h"

#include "types/chars.h"

enum { GROUP_MASK = 127 };

static inline int64_t groups(Str s) { return s.len ? (int64_t)s.len - 1 : 0; }
static inline unsigned group(Str s, int64_t g) {
    return g >= 0 && g < groups(s) ? (unsigned)(unsigned char)s.ptr[g] >> 1 : 0;
}
/* Seven bits from bit `from` on. */
static inline unsigned bits_at(Str s, int64_t from) {
    const int64_t g = from / BITS_GROUP;
    const int r = (int)(from % BITS_GROUP);
    return r ? (group(s, g) << r | group(s, g + 1) >> (BITS_GROUP - r)) & GROUP_MASK : group(s, g);
}
/* The upper n of seven bits; 1 <= n <= 7. */
static inline unsigned upper(int64_t n) { return GROUP_MASK & ~(GROUP_MASK >> n); }
static inline void add(char *byte, unsigned bits) { *byte = (char)((unsigned char)*byte | bits << 1); }

void bits_put(char *out, int64_t at, Str s, int64_t from, int64_t n) {
    for (int64_t i = 0; i < n; i += BITS_GROUP) {
        const int64_t g = (at + i) / BITS_GROUP;
        const int r = (int)((at + i) % BITS_GROUP);
        unsigned v = bits_at(s, from + i);
        if (n - i < BITS_GROUP) v &= upper(n - i);
        add(&out[g], v >> r);
        const unsigned rest = v << (BITS_GROUP - r) & GROUP_MASK;
        if (r && rest) add(&out[g + 1], rest);
    }
}

Str bits_end(char *out, int64_t n) {
    if (n <= 0) return str_make("", 0);
    const int64_t last = (n - 1) / BITS_GROUP;
    for (int64_t g = 0; g < last; g++) out[g] = (char)((unsigned char)out[g] | 1U);
    out[last + 1] = (char)(n - last * BITS_GROUP);
    return str_make(out, last + 2);
}

void bits_combine(BitsOp op, Str a, Str b, char *out) {
    const int64_t n = groups(a);
    /* The lowest bits and the number behind the groups are those of both. */
    for (int64_t g = 0; g < n; g++) {
        const unsigned x = (unsigned char)a.ptr[g], y = (unsigned char)b.ptr[g];
        out[g] = (char)(op == BITS_AND ? x & y : op == BITS_OR ? x | y : (x ^ y) | (x & 1));
    }
    if (n) out[n] = a.ptr[n];
}

Status bits_check_lengths(BitsOp op, Str a, Str b, Err *e) {
    if (bits_length(a) == bits_length(b)) return ST_OK;
    return err_set(e, ERR_STRING_LENGTH_MISMATCH, "cannot %s bit strings of different sizes",
                   op == BITS_AND  ? "AND"
                   : op == BITS_OR ? "OR"
                                   : "XOR");
}

int64_t bits_position(Str s, Str part) {
    const int64_t n = bits_length(s), m = bits_length(part);
    if (n == 0 || m > n) return 0;
    for (int64_t p = 0; p <= n - m; p++) {
        int64_t i = 0;
        while (i < m && !((bits_at(s, p + i) ^ bits_at(part, i)) & (m - i < BITS_GROUP ? upper(m - i) : GROUP_MASK)))
            i += BITS_GROUP;
        if (i >= m) return p + 1;
    }
    return 0;
}

int64_t bits_count(Str s) {
    int64_t z = 0;
    for (int64_t g = 0; g < groups(s); g++) z += __builtin_popcount(group(s, g));
    return z;
}

void bits_to_text(Str s, char *out) {
    const int64_t n = bits_length(s);
    for (int64_t i = 0; i < n; i++) out[i] = (char)('0' + bits_get(s, i));
}

Status bits_check_fit(Type t, int64_t n, Err *e) {
    if (t.length <= 0 || n == t.length) return ST_OK;
    if (t.id == T_BIT)
        return err_set(e, ERR_STRING_LENGTH_MISMATCH, "bit string length %lld does not match type bit(%d)",
                       (long long)n, t.length);
    if (n < t.length) return ST_OK;
    return err_set(e, ERR_STRING_TRUNCATION, "bit string too long for type bit varying(%d)", t.length);
}

Status bits_parse(Type t, Slice text, Arena *a, Str *out, Err *e) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    const bool hex = p < end && (*p == 'x' || *p == 'X');
    if (hex || (p < end && (*p == 'b' || *p == 'B'))) p++;
    if (end - p > BITS_MAX / (hex ? 4 : 1))
        return err_set(e, ERR_PROGRAM_LIMIT, "bit string length exceeds the maximum allowed (%lld)",
                       (long long)BITS_MAX);
    const int64_t n = (end - p) * (hex ? 4 : 1);
    TRY(bits_check_fit(t, n, e));
    char *b = arena_calloc(a, bits_bytes(n) + 1);
    if (!b) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int64_t i = 0; p < end; p++, i += hex ? 4 : 1) {
        const int v = hex ? hex_digit(*p) : *p == '0' || *p == '1' ? *p - '0' : -1;
        if (v < 0)
            return err_set(e, ERR_INVALID_TEXT, "\"%.*s\" is not a valid %s digit",
                           (int)utf8_prefix_bytes(p, end - p, 1), p, hex ? "hexadecimal" : "binary");
        for (int k = 0; hex && k < 4; k++)
            if (v >> (3 - k) & 1) bits_set(b, i + k);
        if (!hex && v) bits_set(b, i);
    }
    *out = bits_end(b, n);
    return ST_OK;
}
