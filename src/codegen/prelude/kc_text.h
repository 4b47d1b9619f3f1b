/* kc_text.h - strings in kernels: order, equality, hashing, LIKE.
 *
 * A str is an address and a length; the bytes may lie at any alignment. Eight bytes are read at a time; only words that
 * hold a byte of the string are touched. Order is that of memcmp, then the shorter first, as str_cmp of types/type.h.
 * LIKE works on a pattern encoded by like_encode (codegen/like_code.h; the format is in kc_codes.h). The algorithm is
 * that of types/like.c: the runs between % are found from left to right.
 */
#ifndef KC_TEXT_H
#define KC_TEXT_H
#include "codegen/prelude/kc_scalar.h"

FN str str_make(u64 ptr, i64 len) {
    str s;
    s.ptr = ptr;
    s.len = len;
    return s;
}

/* Eight bytes at any address. */
FN u64 ld_u64_any(u64 addr) {
#if defined(KC_HOST)
    u64 v;
    __builtin_memcpy(&v, (const void *)addr, 8);
    return v;
#elif defined(KC_OPENCL)
    return as_ulong(vload8(0, (__global const uchar *)addr));
#else
    /* both words hold bytes of the eight */
    u32 shift = ((u32)addr & 7u) * 8u;
    u64 word = addr & ~U64C(7), lo = G(const u64, word)[0];
    return shift == 0 ? lo : lo >> shift | G(const u64, word)[1] << (64u - shift);
#endif
}
FN u32 kc_byte(u64 addr) { return (u32)G(const u8, addr)[0]; }
#if defined(KC_CUDA)
/* n bytes, 1 to 8, as the low ones of a word. */
FN u64 ld_part(u64 addr, i64 n) {
    const u32 at = (u32)addr & 7u;
    const u64 word = addr & ~U64C(7), lo = G(const u64, word)[0] >> (8 * at);
    const u64 v = at + (u32)n > 8u ? lo | G(const u64, word)[1] << (64u - 8 * at) : lo;
    return n == 8 ? v : v & ((U64C(1) << (8 * n)) - 1);
}
FN u32 ld_u32_any(u64 addr) { /* both words hold bytes of the four */
    return __funnelshift_r(G(const u32, addr & ~U64C(3))[0], G(const u32, (addr + 3) & ~U64C(3))[0],
                           ((u32)addr & 3u) * 8u);
}
#else
FN u32 ld_u32_any(u64 addr) {
#if defined(KC_HOST)
    u32 v;
    __builtin_memcpy(&v, (const void *)addr, 4);
    return v;
#else
    return as_uint(vload4(0, (__global const uchar *)addr));
#endif
}
FN u64 ld_part(u64 addr, i64 n) {
    if (n == 8) return ld_u64_any(addr);
    if (n >= 4) return (u64)ld_u32_any(addr) | (u64)ld_u32_any(addr + (u64)n - 4) << (8 * (n - 4));
    return (u64)kc_byte(addr) | (u64)kc_byte(addr + (u64)(n >> 1)) << (8 * (n >> 1)) |
           (u64)kc_byte(addr + (u64)n - 1) << (8 * (n - 1));
}
#endif
/* The word behind i bytes of n; 0 behind the end. */
FN u64 ld_word(u64 from, i64 i, i64 n) {
    return i + 8 <= n ? ld_u64_any(from + (u64)i) : i < n ? ld_part(from + (u64)i, n - i) : 0;
}
#if defined(KC_HOST)
FN void copy_bytes(u64 to, u64 from, i64 n) { __builtin_memcpy((void *)to, (const void *)from, (__SIZE_TYPE__)n); }
FN void copy_words(u64 to, u64 from, i64 n) { copy_bytes(to, from, n); }
#else
FN void put_part(u64 to, u64 v, i64 n) { /* fewer than 8 bytes */
    ROLLED for (i64 i = 0; i < n; i++) G(u8, to)[i] = (u8)(v >> (8 * i));
}
/* Words where they go are whole ones: the bytes in front of the first and behind the last are put one by one. Four
 * words are read before the first is written: a load that comes behind a store waits for nothing, but nothing overtakes
 * it. */
FN_BIG void copy_bytes(u64 to, u64 from, i64 n) {
    i64 i = (i64)((0 - to) & 7);
    if (i > n) i = n;
    if (i > 0) put_part(to, ld_part(from, i), i);
    ROLLED for (; i + 32 <= n; i += 32) {
        const u64 p = from + (u64)i, a = ld_u64_any(p), b = ld_u64_any(p + 8), c = ld_u64_any(p + 16),
                  d = ld_u64_any(p + 24), at = to + (u64)i;
        G(u64, at)[0] = a;
        G(u64, at)[1] = b;
        G(u64, at)[2] = c;
        G(u64, at)[3] = d;
    }
    ROLLED for (; i + 8 <= n; i += 8) G(u64, to + (u64)i)[0] = ld_u64_any(from + (u64)i);
    if (i < n) put_part(to + (u64)i, ld_part(from + (u64)i, n - i), n - i);
}
/* To a multiple of 8, with room up to the next one. */
FN_BIG void copy_words(u64 to, u64 from, i64 n) {
    i64 i = 0;
    ROLLED for (; i + 32 <= n; i += 32) {
        const u64 p = from + (u64)i, a = ld_u64_any(p), b = ld_u64_any(p + 8), c = ld_u64_any(p + 16),
                  d = ld_u64_any(p + 24), at = to + (u64)i;
        G(u64, at)[0] = a;
        G(u64, at)[1] = b;
        G(u64, at)[2] = c;
        G(u64, at)[3] = d;
    }
    ROLLED for (; i < n; i += 8) G(u64, to + (u64)i)[0] = ld_word(from, i, n);
}
#endif

FN_LONG bool kc_bytes_eq(u64 p, u64 q, i64 n) {
    if (n >= 8) {
        ROLLED for (i64 i = 0; i + 8 <= n; i += 8) if (ld_u64_any(p + (u64)i) != ld_u64_any(q + (u64)i)) return false;
        return ld_u64_any(p + (u64)n - 8) == ld_u64_any(q + (u64)n - 8);
    }
    return n <= 0 || ld_part(p, n) == ld_part(q, n);
}
FN bool str_eq(str a, str b) { return a.len == b.len && (a.ptr == b.ptr || kc_bytes_eq(a.ptr, b.ptr, a.len)); }
FN bool str_ne(str a, str b) { return !str_eq(a, b); }
/* -1, 0, 1 */
FN_BIG i32 str_cmp(str a, str b) {
    i64 n = a.len < b.len ? a.len : b.len, i = 0;
    ROLLED for (; i + 8 <= n; i += 8) {
        u64 x = ld_u64_any(a.ptr + (u64)i), y = ld_u64_any(b.ptr + (u64)i);
        if (x != y) return bswap_u64(x) < bswap_u64(y) ? -1 : 1;
    }
    if (i < n) {
        u64 x = ld_part(a.ptr + (u64)i, n - i), y = ld_part(b.ptr + (u64)i, n - i);
        if (x != y) return bswap_u64(x) < bswap_u64(y) ? -1 : 1;
    }
    return (i32)(a.len > b.len) - (i32)(a.len < b.len);
}
FN bool str_lt(str a, str b) { return str_cmp(a, b) < 0; }
FN bool str_le(str a, str b) { return str_cmp(a, b) <= 0; }
FN bool str_gt(str a, str b) { return str_cmp(a, b) > 0; }
FN bool str_ge(str a, str b) { return str_cmp(a, b) >= 0; }
/* The first eight bytes as a big-endian number, zero-padded: orders as the strings do until equal. */
FN u64 str_prefix(str s) {
    if (s.len >= 8) return bswap_u64(ld_u64_any(s.ptr));
    return s.len > 0 ? bswap_u64(ld_part(s.ptr, s.len)) : 0;
}
/* Not the host's hash_bytes: for tables built and probed by kernels. */
FN_LONG u64 hash_str(str s) {
    u64 h = hash_u64((u64)s.len + U64C(0x9e3779b97f4a7c15));
    i64 i = 0;
    ROLLED for (; i + 8 <= s.len; i += 8) h = hash_combine(h, ld_u64_any(s.ptr + (u64)i));
    return i < s.len ? hash_combine(h, ld_part(s.ptr + (u64)i, s.len - i)) : h;
}

/* ---- LIKE ------------------------------------------------------------------------------------------- */
/* Bytes of the character at p; stray continuation bytes count as part of the character before. */
FN i64 kc_char_bytes(u64 p, u64 end) {
    u64 q = p + 1;
    ROLLED while (q < end && (kc_byte(q) & 0xc0u) == 0x80u) q++;
    return (i64)(q - p);
}
/* Where `needle` (n > 0 bytes) first occurs in [p, end); 0 when it does not. Candidates have the right first byte and
 * the right last one, or second one where memory is read by aligned words. */
#if defined(KC_CUDA)
#define KC_ZERO_BYTES(x) (((x)-ones) & ~(x)&tops) /* the lowest is right; ones above it are compared anyway */
FN_BIG u64 kc_find_bytes(u64 p, u64 end, u64 needle, i64 n) {
    if ((i64)(end - p) < n) return 0;
    const u64 ones = U64C(0x0101010101010101), tops = U64C(0x8080808080808080);
    const u64 last = end - (u64)n, first8 = kc_byte(needle) * ones, second8 = n > 1 ? kc_byte(needle + 1) * ones : 0;
    const u32 at = (u32)p & 7u, more = n > 1 ? 1u : 0u, shift = at * 8u;
    u64 word = p & ~U64C(7), lo = G(const u64, word)[0], hi = 0;
    ROLLED for (; p <= last;
                p += 8, word += 8, lo = hi) { /* candidates p .. p + r - 1; each word of the string is read once */
        const u32 r = last - p < 7 ? (u32)(last - p) + 1u : 8u;
        hi = at + r + more > 8u || last - p > 7 ? G(const u64, word)[1] : 0;
        u64 hits = (shift == 0 ? lo : lo >> shift | hi << (64u - shift)) ^ first8;
        hits = KC_ZERO_BYTES(hits);
        if (n > 1) {
            u64 x = (shift == 56u ? hi : lo >> (shift + 8u) | hi << (56u - shift)) ^ second8;
            hits &= KC_ZERO_BYTES(x);
        }
        if (r < 8u) hits &= ((u64)1 << 8u * r) - 1;
        ROLLED for (; hits; hits &= hits - 1) {
            u64 found = p + (u64)(ctz_u64(hits) >> 3);
            if (kc_bytes_eq(found, needle, n)) return found;
        }
    }
    return 0;
}
#else
FN_BIG u64 kc_find_bytes(u64 p, u64 end, u64 needle, i64 n) {
    if ((i64)(end - p) < n) return 0;
    u64 last = end - (u64)n, first = kc_byte(needle), tail = kc_byte(needle + (u64)n - 1);
#if defined(KC_HOST) && defined(__SSE2__)
    typedef char v16 __attribute__((vector_size(16)));
    v16 va, vb, first16, tail16;
    __builtin_memset(&first16, (i32)first, 16);
    __builtin_memset(&tail16, (i32)tail, 16);
    ROLLED for (; p + 15 <= last; p += 16) {
        __builtin_memcpy(&va, (const void *)p, 16);
        __builtin_memcpy(&vb, (const void *)(p + (u64)n - 1), 16);
        u32 hits = (u32)__builtin_ia32_pmovmskb128((v16)((va == first16) & (vb == tail16)));
        ROLLED for (; hits; hits &= hits - 1) {
            u64 at = p + (u64)__builtin_ctz(hits);
            if (kc_bytes_eq(at, needle, n)) return at;
        }
    }
#else
    u64 ones = U64C(0x0101010101010101), tops = U64C(0x8080808080808080), first8 = first * ones, tail8 = tail * ones;
    ROLLED for (; p + 7 <= last;
                p +=
                8) { /* a zero byte of x ^ pattern is marked; bytes above it may be, wrongly, and are compared below */
        u64 x = ld_u64_any(p) ^ first8;
        u64 hits = (x - ones) & ~x & tops;
        if (hits == 0) continue;
        x = ld_u64_any(p + (u64)n - 1) ^ tail8;
        hits &= (x - ones) & ~x;
        ROLLED for (; hits; hits &= hits - 1) {
            u64 at = p + (u64)(ctz_u64(hits) >> 3);
            if (kc_bytes_eq(at, needle, n)) return at;
        }
    }
#endif
    ROLLED for (; p <= last; p++) if (kc_byte(p) == (u32)first && kc_bytes_eq(p, needle, n)) return p;
    return 0;
}
#endif
/* A run with '_' at p: the end of the match, or 0. */
FN u64 kc_like_here(u64 bytes, u64 marks, i64 n, u64 p, u64 end) {
    ROLLED for (i64 i = 0; i < n; i++) {
        if (p >= end) return 0;
        if (kc_byte(marks + (u64)i)) p += (u64)kc_char_bytes(p, end);
        else if (kc_byte(p) == kc_byte(bytes + (u64)i)) p++;
        else return 0;
    }
    return p;
}
FN_BIG bool like_match(u64 pattern, str s) {
    GLOBAL const u32 *head = G(const u32, pattern);
    u64 p = s.ptr, end = s.ptr + (u64)s.len;
    u32 n_runs = head[0], flags = head[1], i = 0, stop = n_runs - (flags & LIKE_OPEN_END ? 0u : 1u);
    if (s.len < (i64)head[2]) return false;
    ROLLED for (; i < n_runs; i++) {
        GLOBAL const u32 *run = head + LIKE_HEAD_WORDS + (u64)i * LIKE_RUN_WORDS;
        u64 bytes = pattern + run[0], marks = run[1] ? pattern + run[1] : 0;
        i64 n = (i64)run[2];
        if (i == 0 && !(flags & LIKE_OPEN_START)) { /* at the start */
            if (marks) {
                p = kc_like_here(bytes, marks, n, p, end);
                if (p == 0) return false;
            } else {
                if ((i64)(end - p) < n || !kc_bytes_eq(p, bytes, n)) return false;
                p += (u64)n;
            }
            if (n_runs == 1 && !(flags & LIKE_OPEN_END)) return p == end;
        } else if (i < stop) { /* anywhere */
            if (marks) {
                u64 hit = 0;
                ROLLED for (; (i64)(end - p) >= (i64)run[4];
                            p +=
                            (u64)kc_char_bytes(p, end)) if ((hit = kc_like_here(bytes, marks, n, p, end)) != 0) break;
                if (hit == 0) return false;
                p = hit;
            } else {
                p = kc_find_bytes(p, end, bytes, n);
                if (p == 0) return false;
                p += (u64)n;
            }
        } else { /* at the end: step back over as many characters as the run has */
            u64 q = end;
            if (!marks) return (i64)(end - p) >= n && kc_bytes_eq(end - (u64)n, bytes, n);
            ROLLED for (u32 k = 0; k < run[3]; k++) {
                if (q <= p) return false;
                q--;
                ROLLED while (q > p && (kc_byte(q) & 0xc0u) == 0x80u) q--;
            }
            return kc_like_here(bytes, marks, n, q, end) == end;
        }
    }
    return true;
}

#endif
