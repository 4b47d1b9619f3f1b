/* text.c - UTF-8 checks and counts, and small helpers of text input.
 *
 * Most text is ASCII: the checks take 16 bytes at a time until a byte is not, and counting works on
 * 64-bit words. Counting and cutting do not fail on invalid UTF-8; they treat every byte
 * that is not a continuation byte as the start of a character.
 */
#include "types/type.h"
#include "types/type_int.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

Slice text_trim(Slice s) {
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

Status text_syntax_error(const char *sqlstate, const char *type, Slice text, Err *e) {
    int n = (int)MIN_OF(text.len, 512);
    return err_set(e, sqlstate, "invalid input syntax for type %s: \"%.*s\"", type, n, n ? text.ptr : "");
}

/* Bytes from `s` on that are certainly ASCII without NUL, in steps of 16 (or 8). */
static int64_t ascii_run(const char *s, int64_t len) {
    int64_t i = 0;
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    /* As signed bytes, ASCII without NUL is 1..127. */
    for (; i + 32 <= len; i += 32) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(s + i + 16));
        __m128i ok = _mm_and_si128(_mm_cmpgt_epi8(a, zero), _mm_cmpgt_epi8(b, zero));
        if (_mm_movemask_epi8(ok) != 0xFFFF) return i;
    }
#endif
    for (; i + 8 <= len; i += 8) {
        uint64_t w;
        memcpy(&w, s + i, 8);
        /* High bit of a byte set, or the byte is zero (a borrow from it sets the bit). */
        if ((w | (w - 0x0101010101010101ULL)) & 0x8080808080808080ULL) break;
    }
    return i;
}

/* Length of the valid sequence at s, 0 when invalid (Unicode table 3-7). */
static int sequence(const unsigned char *s, int64_t left) {
    unsigned char c = s[0];
    if (c < 0x80) return c ? 1 : 0;
    if (c < 0xC2) return 0;
    if (c < 0xE0) return left >= 2 && (s[1] & 0xC0) == 0x80 ? 2 : 0;
    if (c < 0xF0) {
        if (left < 3 || (s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80) return 0;
        if (c == 0xE0 && s[1] < 0xA0) return 0; /* overlong */
        if (c == 0xED && s[1] > 0x9F) return 0; /* surrogate */
        return 3;
    }
    if (c > 0xF4 || left < 4) return 0;
    if ((s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 || (s[3] & 0xC0) != 0x80) return 0;
    if (c == 0xF0 && s[1] < 0x90) return 0;
    if (c == 0xF4 && s[1] > 0x8F) return 0;
    return 4;
}

int64_t utf8_check(const char *s, int64_t len) {
    int64_t i = 0;
    while (i < len) {
        i += ascii_run(s + i, len - i);
        /* Then characters one by one, through the block that stopped the run. */
        int64_t stop = MIN_OF(i + 32, len);
        while (i < stop) {
            int n = sequence((const unsigned char *)s + i, len - i);
            if (n == 0) return i;
            i += n;
        }
    }
    return -1;
}

static inline bool is_continuation(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Continuation bytes (10xxxxxx) in a word. */
static inline int continuations(uint64_t w) {
    return __builtin_popcountll((w >> 7) & ~(w >> 6) & 0x0101010101010101ULL);
}

int64_t utf8_length(const char *s, int64_t len) {
    int64_t i = 0, n = len;
    for (; i + 8 <= len; i += 8) {
        uint64_t w;
        memcpy(&w, s + i, 8);
        if (w & 0x8080808080808080ULL) n -= continuations(w);
    }
    for (; i < len; i++) n -= is_continuation(s[i]);
    return n;
}

int64_t utf8_prefix_bytes(const char *s, int64_t len, int64_t n_chars) {
    if (n_chars <= 0) return 0;
    if (n_chars >= len) return len;
    int64_t i = 0, n = 0;
    /* Words while they cannot hold the character after the last one of the result. */
    for (; i + 8 <= len && n + 8 <= n_chars; i += 8) {
        uint64_t w;
        memcpy(&w, s + i, 8);
        n += 8 - continuations(w);
    }
    for (; i < len; i++) {
        if (is_continuation(s[i])) continue;
        if (n == n_chars) return i;
        n++;
    }
    return len;
}
