/* agg_state.c - the states of aggregates: update, reduce, merge and final values, a vector at a time.
 *
 * One function per aggregate and physical type, made by macros, so that no loop decides anything per row but validity.
 * Rules: floats order NaN last; SUM and the like are NULL without a value, which the `seen` byte records; overflow is
 * an error of the row that causes it, never wraps.
 */
#include "exec/agg_int.h"

#include <float.h>
#include <math.h>

#include "types/wide.h"

#define FAST __attribute__((optimize("O3")))

/* ---- heap ----------------------------------------------------------------------- */

enum { HEAP_FIRST = 1 << 10, HEAP_MAX = 256 << 10 };

void *agg_heap_alloc(AggHeap *h, int64_t bytes, Err *e) {
    bytes = align_up(MAX_OF(bytes, 1), 8);
    if (h->left < bytes) {
        int64_t size = MIN_OF(MAX_OF(h->total, (int64_t)HEAP_FIRST), (int64_t)HEAP_MAX);
        int64_t head = (int64_t)sizeof(AggChunk);
        size = MAX_OF(size, bytes + head);
        AggChunk *c = mem_alloc(h->acct, size, e);
        if (!c) return NULL;
        *c = (AggChunk){h->chunks, size};
        h->chunks = c;
        h->total += size;
        h->free = (char *)c + head;
        h->left = size - head;
    }
    void *p = h->free;
    h->free += bytes;
    h->left -= bytes;
    return p;
}

void agg_heap_free(AggHeap *h) {
    for (AggChunk *c = h->chunks; c;) {
        AggChunk *next = c->next;
        mem_free(h->acct, c, c->size);
        c = next;
    }
    *h = (AggHeap){.acct = h->acct};
}

/* ---- cell access -------------------------------------------------------------------- */

#define AT(T, p) (*(T *)(void *)(p))
#define AT_CONST(T, p) (*(const T *)(const void *)(p))

ALWAYS_INLINE int128_t get_i128(const char *p) {
    int128_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS_INLINE void put_i128(char *p, int128_t v) { memcpy(p, &v, sizeof v); }

static Status sum_overflow(Err *e, bool bigint) {
    return bigint ? err_set(e, ERR_NUMERIC_RANGE, "bigint out of range")
                  : err_set(e, ERR_NUMERIC_RANGE, "numeric field overflow");
}
static Status second_row(Err *e) {
    return err_set(e, ERR_CARDINALITY, "more than one row returned by a subquery used as an expression");
}

/* Orders as the types do. */
#define LESS_INT(a, b) ((a) < (b))
ALWAYS_INLINE bool less_float(double a, double b) { return a < b || (isnan(b) && !isnan(a)); }
ALWAYS_INLINE bool less_interval(Interval a, Interval b) { return interval_cmp_value(&a) < interval_cmp_value(&b); }
ALWAYS_INLINE bool less_uuid(Uuid a, Uuid b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) < 0; }

/* ---- updates -------------------------------------------------------------------------- */

#define UNUSED_ARGS (void)h, (void)in2, (void)e
#define UPDATE(NAME, T, STMT)                                                                                    \
    static Status NAME(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2, \
                       Err *e) {                                                                                 \
        UNUSED_ARGS;                                                                                             \
        const T *x = in->data;                                                                                   \
        const uint8_t *valid = in->valid;                                                                        \
        int64_t off = c->off, seen = c->seen;                                                                    \
        if (!valid && seen < 0) {                                                                                \
            for (int64_t i = 0; i < n; i++) {                                                                    \
                char *p = rows[i] + off;                                                                         \
                T v = x[i];                                                                                      \
                STMT;                                                                                            \
            }                                                                                                    \
        } else if (!valid) {                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                                    \
                char *p = rows[i] + off;                                                                         \
                T v = x[i];                                                                                      \
                STMT;                                                                                            \
                rows[i][seen] = 1;                                                                               \
            }                                                                                                    \
        } else {                                                                                                 \
            for (int64_t i = 0; i < n; i++) {                                                                    \
                if (!valid[i]) continue;                                                                         \
                char *p = rows[i] + off;                                                                         \
                T v = x[i];                                                                                      \
                STMT;                                                                                            \
                if (seen >= 0) rows[i][seen] = 1;                                                                \
            }                                                                                                    \
        }                                                                                                        \
        return ST_OK;                                                                                            \
    }

/* A 64-bit value into a 128-bit sum: add with carry. */
ALWAYS_INLINE void add_wide(char *p, int64_t v) {
    uint64_t *w = (uint64_t *)(void *)p;
    uint64_t lo = w[0] + (uint64_t)v;
    w[1] += (uint64_t)(v >> 63) + (lo < (uint64_t)v);
    w[0] = lo;
}

UPDATE(sum_i64_i16, int16_t, AT(int64_t, p) += v)
UPDATE(sum_i64_i32, int32_t, AT(int64_t, p) += v)
UPDATE(sum_i64_i64, int64_t, AT(uint64_t, p) += (uint64_t)v)
UPDATE(sum_wide_i16, int16_t, add_wide(p, v))
UPDATE(sum_wide_i32, int32_t, add_wide(p, v))
UPDATE(sum_wide_i64, int64_t, add_wide(p, v))
UPDATE(sum_wide_i128, int128_t, int128_t s = get_i128(p);
       if (__builtin_add_overflow(s, v, &s)) return sum_overflow(e, false); put_i128(p, s))
UPDATE(sum_chk_i16, int16_t,
       if (__builtin_add_overflow(AT(int64_t, p), (int64_t)v, &AT(int64_t, p))) return sum_overflow(e, true))
UPDATE(sum_chk_i32, int32_t,
       if (__builtin_add_overflow(AT(int64_t, p), (int64_t)v, &AT(int64_t, p))) return sum_overflow(e, true))
UPDATE(sum_chk_i64, int64_t,
       if (__builtin_add_overflow(AT(int64_t, p), v, &AT(int64_t, p))) return sum_overflow(e, true))
UPDATE(sum_f32, float, AT(double, p) += (double)v)
UPDATE(sum_f64, double, AT(double, p) += v)
UPDATE(and_u8, uint8_t, AT(uint8_t, p) &= v)
UPDATE(or_u8, uint8_t, AT(uint8_t, p) |= v)
UPDATE(and_i16, uint16_t, AT(uint16_t, p) &= v)
UPDATE(or_i16, uint16_t, AT(uint16_t, p) |= v)
UPDATE(and_i32, uint32_t, AT(uint32_t, p) &= v)
UPDATE(or_i32, uint32_t, AT(uint32_t, p) |= v)
UPDATE(and_i64, uint64_t, AT(uint64_t, p) &= v)
UPDATE(or_i64, uint64_t, AT(uint64_t, p) |= v)
UPDATE(xor_i16, uint16_t, AT(uint16_t, p) ^= v)
UPDATE(xor_i32, uint32_t, AT(uint32_t, p) ^= v)
UPDATE(xor_i64, uint64_t, AT(uint64_t, p) ^= v)

/* Cells with a neutral start value need no look at `seen`. */
#define MIN_MAX(NAME, T, LESS)                                 \
    UPDATE(min_##NAME, T, if (LESS(v, AT(T, p))) AT(T, p) = v) \
    UPDATE(max_##NAME, T, if (LESS(AT(T, p), v)) AT(T, p) = v)
MIN_MAX(u8, uint8_t, LESS_INT)
MIN_MAX(i16, int16_t, LESS_INT)
MIN_MAX(i32, int32_t, LESS_INT)
MIN_MAX(i64, int64_t, LESS_INT)
MIN_MAX(f32, float, less_float)
MIN_MAX(f64, double, less_float)
/* The others do. */
#define MIN_MAX_SEEN(NAME, T, LESS)                                                                                \
    UPDATE(min_##NAME, T, T o; memcpy(&o, p, sizeof o); if (!rows[i][seen] || LESS(v, o)) memcpy(p, &v, sizeof v); \
           rows[i][seen] = 1)                                                                                      \
    UPDATE(max_##NAME, T, T o; memcpy(&o, p, sizeof o); if (!rows[i][seen] || LESS(o, v)) memcpy(p, &v, sizeof v); \
           rows[i][seen] = 1)
MIN_MAX_SEEN(i128, int128_t, LESS_INT)
MIN_MAX_SEEN(interval, Interval, less_interval)
MIN_MAX_SEEN(uuid, Uuid, less_uuid)

Status agg_put_str(const AggCol *c, AggHeap *h, char *p, Str v, Err *e) {
    if (!c->copy) {
        AT(Str, p) = v;
        return ST_OK;
    }
    StrCell *s = (StrCell *)(void *)p;
    if (s->cap < (int64_t)v.len) {
        int64_t cap = align_up(v.len, 16);
        char *b = agg_heap_alloc(h, cap, e);
        if (!b) return ST_ERROR;
        s->s.ptr = b;
        s->cap = cap;
    }
    char *to = (char *)(uintptr_t)s->s.ptr; /* our own copy */
    if (v.len) memcpy(to, v.ptr, v.len);
    s->s = (Str){v.len ? to : s->s.ptr, v.len, v.prefix};
    return ST_OK;
}
UPDATE(min_str, Str, if (!rows[i][seen] || str_cmp(v, AT(Str, p)) < 0) TRY(agg_put_str(c, h, p, v, e));
       rows[i][seen] = 1)
UPDATE(max_str, Str, if (!rows[i][seen] || str_cmp(v, AT(Str, p)) > 0) TRY(agg_put_str(c, h, p, v, e));
       rows[i][seen] = 1)

static Status float_overflow(Err *e) { return err_set(e, ERR_NUMERIC_RANGE, "value out of range: overflow"); }

/* An infinite or NaN value makes the result NaN; finite ones whose sums are not finite are an error. */
static Status var_not_finite(VarCell *s, double old_sum, double v, Err *e) {
    if (isfinite(old_sum) && isfinite(v)) return float_overflow(e);
    s->squares = (double)NAN;
    return ST_OK;
}
ALWAYS_INLINE Status var_add(VarCell *s, double v, Err *e) {
    double n = (double)s->n, old = s->sum;
    s->n++;
    s->sum += v;
    if (n > 0) {
        double d = v * (n + 1) - s->sum;
        s->squares += d * d / (n * (n + 1));
    }
    if (UNLIKELY(!isfinite(s->sum) || !isfinite(s->squares))) return var_not_finite(s, old, v, e);
    return ST_OK;
}
UPDATE(var_f32, float, TRY(var_add((VarCell *)(void *)p, (double)v, e)))
UPDATE(var_f64, double, TRY(var_add((VarCell *)(void *)p, v, e)))

/* a += b of na and nb words, nb <= na. */
ALWAYS_INLINE void add_words(uint64_t *a, int na, const uint64_t *b, int nb) {
    uint64_t carry = 0;
    for (int i = 0; i < na && (i < nb || carry); i++) {
        uint128_t t = (uint128_t)a[i] + (i < nb ? b[i] : 0) + carry;
        a[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
}
ALWAYS_INLINE void var_exact_add(VarExactCell *s, int128_t v) {
    uint64_t sign = (uint64_t)(v >> 127), sum[3] = {(uint64_t)v, (uint64_t)(v >> 64), sign};
    uint128_t m = v < 0 ? 0 - (uint128_t)v : (uint128_t)v;
    s->n++;
    add_words(s->sum, 3, sum, 3);
    if (LIKELY(m >> 64 == 0)) {
        uint128_t p = m * m;
        uint64_t words[2] = {(uint64_t)p, (uint64_t)(p >> 64)};
        add_words(s->squares, 5, words, 2);
    } else {
        Wide w = wide_of(m);
        wide_mul(&w, &w, &w);
        add_words(s->squares, 5, w.w, 5);
    }
}
UPDATE(var_exact_i16, int16_t, var_exact_add((VarExactCell *)(void *)p, v))
UPDATE(var_exact_i32, int32_t, var_exact_add((VarExactCell *)(void *)p, v))
UPDATE(var_exact_i64, int64_t, var_exact_add((VarExactCell *)(void *)p, v))
UPDATE(var_exact_i128, int128_t, var_exact_add((VarExactCell *)(void *)p, v))

static Status count_star(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                         Err *e) {
    UNUSED_ARGS;
    (void)in;
    int64_t off = c->off;
    for (int64_t i = 0; i < n; i++) AT(int64_t, rows[i] + off)++;
    return ST_OK;
}
static Status count_valid(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                          Err *e) {
    if (!in || !in->data || !in->valid) return count_star(c, h, n, rows, in, in2, e);
    int64_t off = c->off;
    for (int64_t i = 0; i < n; i++) AT(int64_t, rows[i] + off) += in->valid[i];
    return ST_OK;
}

/* ANY and SINGLE: the first one stays. */
static Status first_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                           Err *e) {
    (void)in2;
    const char *x = in->data;
    size_t size = (size_t)phys_size((Phys)c->in);
    bool single = c->op == AO_SINGLE;
    for (int64_t i = 0; i < n; i++) {
        char *seen = rows[i] + c->seen;
        if (*seen) {
            if (single) return second_row(e);
            continue;
        }
        if (in->valid && !in->valid[i]) {
            *seen = 2;
            continue;
        }
        if (c->in == PH_STR) TRY(agg_put_str(c, h, rows[i] + c->off, ((const Str *)in->data)[i], e));
        else memcpy(rows[i] + c->off, x + (size_t)i * size, size);
        *seen = 1;
    }
    return ST_OK;
}

static Status join_put(AggHeap *h, JoinCell *j, const char *p, int64_t len, Err *e) {
    if (j->len + len > j->cap) {
        int64_t cap = MAX_OF(j->cap * 2, align_up(j->len + len, 32));
        if (j->len + len > 0x3fffffff)
            return err_set(e, ERR_PROGRAM_LIMIT, "string buffer exceeds maximum allowed length (%d bytes)", 0x3fffffff);
        char *b = agg_heap_alloc(h, cap, e);
        if (!b) return ST_ERROR;
        if (j->len) memcpy(b, j->buf, (size_t)j->len);
        j->buf = b;
        j->cap = cap;
    }
    if (len) memcpy(j->buf + j->len, p, (size_t)len);
    j->len += len;
    return ST_OK;
}
static Status join_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                          Err *e) {
    const Str *x = in->data;
    for (int64_t i = 0; i < n; i++) {
        if (in->valid && !in->valid[i]) continue;
        JoinCell *j = (JoinCell *)(void *)(rows[i] + c->off);
        Str d = {0};
        if (in2 && in2->data) {
            int64_t k = in2->is_const ? 0 : i;
            if (!in2->valid || in2->valid[k]) d = ((const Str *)in2->data)[k];
        }
        if (!rows[i][c->seen]) j->skip = d.len;
        rows[i][c->seen] = 1;
        TRY(join_put(h, j, d.ptr, d.len, e));
        TRY(join_put(h, j, x[i].ptr, x[i].len, e));
    }
    return ST_OK;
}

/* ---- reduce: everything into one group -------------------------------------------------- */

#define SEEN_ALL(row, n) \
    if (c->seen >= 0 && (n) > 0) (row)[c->seen] = 1

FAST static int64_t count_bytes(const uint8_t *valid, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n;) {
        int64_t end = MIN_OF(n, i + 255 * 16);
        uint32_t s = 0;
        for (; i < end; i++) s += valid[i];
        total += s;
    }
    return total;
}

#define REDUCE_SUM(NAME, T, A)                                                 \
    FAST static A sum_of_##NAME(const T *x, const uint8_t *valid, int64_t n) { \
        A s = 0;                                                               \
        if (!valid)                                                            \
            for (int64_t i = 0; i < n; i++) s += (A)x[i];                      \
        else                                                                   \
            for (int64_t i = 0; i < n; i++) s += (A)x[i] & (A) - (A)valid[i];  \
        return s;                                                              \
    }
REDUCE_SUM(i16, int16_t, uint64_t)
REDUCE_SUM(i32, int32_t, uint64_t)
REDUCE_SUM(i64, int64_t, uint64_t)
FAST static uint64_t sum_high(const int64_t *x, const uint8_t *valid, int64_t n) {
    uint64_t s = 0;
    if (!valid)
        for (int64_t i = 0; i < n; i++) s += (uint64_t)(x[i] >> 32);
    else
        for (int64_t i = 0; i < n; i++) s += (uint64_t)(x[i] >> 32) & (uint64_t) - (uint64_t)valid[i];
    return s;
}
FAST static uint64_t sum_low(const int64_t *x, const uint8_t *valid, int64_t n) {
    uint64_t s = 0;
    if (!valid)
        for (int64_t i = 0; i < n; i++) s += (uint64_t)(uint32_t)x[i];
    else
        for (int64_t i = 0; i < n; i++) s += (uint64_t)(uint32_t)x[i] & (uint64_t) - (uint64_t)valid[i];
    return s;
}

/* Bits that magnitudes need: sums of n such values fit 64 bits when bits + log2 n < 64. */
FAST static bool fits_i64_sum(const int64_t *x, int64_t n) {
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= (uint64_t)(x[i] ^ (x[i] >> 63));
    int bits = all ? 64 - __builtin_clzll(all) : 0, rows = 64 - __builtin_clzll((uint64_t)MAX_OF(n, 1));
    return bits + rows < 63;
}

static int128_t sum_vector(uint8_t phys, const Vec *in, int64_t n) {
    switch (phys) {
    case PH_I16: return (int64_t)sum_of_i16(in->data, in->valid, n);
    case PH_I32: return (int64_t)sum_of_i32(in->data, in->valid, n);
    default:
        if (fits_i64_sum(in->data, n)) return (int64_t)sum_of_i64(in->data, in->valid, n);
        return (((int128_t)(int64_t)sum_high(in->data, in->valid, n)) * ((int128_t)1 << 32)) +
               (int128_t)sum_low(in->data, in->valid, n);
    }
}

static int64_t valid_count(const Vec *in, int64_t n) { return in->valid ? count_bytes(in->valid, n) : n; }

/* A vector's sum into the state of a sum: 128 bits, 64 bits that are known to suffice, or 64 bits checked. */
static inline Status add_sum(uint8_t op, char *state, int128_t sum, Err *e) {
    if (op == AO_SUM_I64) {
        AT(uint64_t, state) += (uint64_t)sum;
        return ST_OK;
    }
    if (op == AO_SUM_I128) {
        int128_t t = get_i128(state);
        if (__builtin_add_overflow(t, sum, &t)) return sum_overflow(e, false);
        put_i128(state, t);
        return ST_OK;
    }
    sum += AT(int64_t, state);
    if (sum != (int64_t)sum) return sum_overflow(e, true);
    AT(int64_t, state) = (int64_t)sum;
    return ST_OK;
}

static Status reduce_count(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e) {
    (void)e;
    AT(int64_t, row + c->off) += c->op == AO_COUNT && in && in->data ? valid_count(in, n) : n;
    return ST_OK;
}
static Status reduce_sum(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e) {
    int64_t k = valid_count(in, n);
    SEEN_ALL(row, k);
    char *p = row + c->off;
    return add_sum(c->op, p, sum_vector(c->in, in, n), e);
}
#define REDUCE_F(NAME, T)                                                                \
    static double sum_of_##NAME(const T *x, const uint8_t *valid, int64_t n) {           \
        double s[8] = {0};                                                               \
        int64_t i = 0;                                                                   \
        if (!valid) {                                                                    \
            for (; i + 8 <= n; i += 8)                                                   \
                for (int k = 0; k < 8; k++) s[k] += (double)x[i + k];                    \
            for (; i < n; i++) s[0] += (double)x[i];                                     \
        } else {                                                                         \
            for (; i + 8 <= n; i += 8)                                                   \
                for (int k = 0; k < 8; k++) s[k] += valid[i + k] ? (double)x[i + k] : 0; \
            for (; i < n; i++) s[0] += valid[i] ? (double)x[i] : 0;                      \
        }                                                                                \
        return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));        \
    }
REDUCE_F(f32, float)
REDUCE_F(f64, double)
static Status reduce_sum_f(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e) {
    (void)e;
    SEEN_ALL(row, valid_count(in, n));
    AT(double, row + c->off) +=
        c->in == PH_F32 ? sum_of_f32(in->data, in->valid, n) : sum_of_f64(in->data, in->valid, n);
    return ST_OK;
}
#define REDUCE_MIN_MAX(NAME, T, LO, HI)                                                                  \
    FAST static Status reduce_min_##NAME(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e) { \
        (void)e;                                                                                         \
        SEEN_ALL(row, valid_count(in, n));                                                               \
        const T *x = in->data;                                                                           \
        T m = AT(T, row + c->off);                                                                       \
        if (!in->valid)                                                                                  \
            for (int64_t i = 0; i < n; i++) m = x[i] < m ? x[i] : m;                                     \
        else                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                            \
                T v = in->valid[i] ? x[i] : (T)HI;                                                       \
                m = v < m ? v : m;                                                                       \
            }                                                                                            \
        AT(T, row + c->off) = m;                                                                         \
        return ST_OK;                                                                                    \
    }                                                                                                    \
    FAST static Status reduce_max_##NAME(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e) { \
        (void)e;                                                                                         \
        SEEN_ALL(row, valid_count(in, n));                                                               \
        const T *x = in->data;                                                                           \
        T m = AT(T, row + c->off);                                                                       \
        if (!in->valid)                                                                                  \
            for (int64_t i = 0; i < n; i++) m = x[i] > m ? x[i] : m;                                     \
        else                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                            \
                T v = in->valid[i] ? x[i] : (T)LO;                                                       \
                m = v > m ? v : m;                                                                       \
            }                                                                                            \
        AT(T, row + c->off) = m;                                                                         \
        return ST_OK;                                                                                    \
    }
REDUCE_MIN_MAX(i16, int16_t, INT16_MIN, INT16_MAX)
REDUCE_MIN_MAX(i32, int32_t, INT32_MIN, INT32_MAX)
REDUCE_MIN_MAX(i64, int64_t, INT64_MIN, INT64_MAX)

/* ---- few groups ------------------------------------------------------------------------------ */

#define FEW_LOOP(ACC, VALUE)                             \
    do {                                                 \
        int64_t i = 0;                                   \
        for (; i + FEW_COPIES <= n; i += FEW_COPIES) {   \
            ACC[0][group[i]] += VALUE(i);                \
            ACC[1][group[i + 1]] += VALUE(i + 1);        \
            ACC[2][group[i + 2]] += VALUE(i + 2);        \
            ACC[3][group[i + 3]] += VALUE(i + 3);        \
            ACC[4][group[i + 4]] += VALUE(i + 4);        \
            ACC[5][group[i + 5]] += VALUE(i + 5);        \
            ACC[6][group[i + 6]] += VALUE(i + 6);        \
            ACC[7][group[i + 7]] += VALUE(i + 7);        \
        }                                                \
        for (; i < n; i++) ACC[0][group[i]] += VALUE(i); \
    } while (0)

static void clear_acc(void *acc, int64_t slots) {
    char *p = acc;
    for (int k = 0; k < FEW_COPIES; k++) memset(p + k * FEW_SLOTS * 8, 0, (size_t)slots * 8);
}
static int64_t fold(const FewAcc *a, int64_t g) {
    uint64_t s = 0;
    for (int k = 0; k < FEW_COPIES; k++) s += (uint64_t)a->i[k][g];
    return (int64_t)s;
}

void agg_few_count(int64_t n, const uint64_t *group, const uint8_t *valid, int64_t slots, int64_t *out) {
    FewAcc a;
    clear_acc(&a, slots);
#define ONE(i) 1
#define VALID(i) valid[i]
    if (!valid) FEW_LOOP(a.i, ONE);
    else FEW_LOOP(a.i, VALID);
    for (int64_t g = 0; g < slots; g++) out[g] = fold(&a, g);
}

#define X_VALUE(i) x[i]
#define X_MASKED(i) ((int64_t)x[i] & -(int64_t)valid[i])
#define X_HIGH(i) (x[i] >> 32)
#define X_HIGH_MASKED(i) ((x[i] >> 32) & -(int64_t)valid[i])
#define X_LOW(i) ((int64_t)(uint32_t)x[i])
#define X_LOW_MASKED(i) ((int64_t)(uint32_t)x[i] & -(int64_t)valid[i])
#define X_DOUBLE(i) (double)x[i]
#define X_DOUBLE_MASKED(i) (valid[i] ? (double)x[i] : 0.0)

#define FEW_SUM(NAME, T, ACC, FIELD, PLAIN, MASKED)                                                \
    static void NAME(int64_t n, const uint64_t *group, const T *x, const uint8_t *valid, ACC *a) { \
        if (!valid) FEW_LOOP(a->FIELD, PLAIN);                                                     \
        else FEW_LOOP(a->FIELD, MASKED);                                                           \
    }
FEW_SUM(few_i16, int16_t, FewAcc, i, X_VALUE, X_MASKED)
FEW_SUM(few_i32, int32_t, FewAcc, i, X_VALUE, X_MASKED)
FEW_SUM(few_i64, int64_t, FewAcc, i, X_VALUE, X_MASKED)
FEW_SUM(few_high, int64_t, FewAcc, i, X_HIGH, X_HIGH_MASKED)
FEW_SUM(few_low, int64_t, FewAcc, i, X_LOW, X_LOW_MASKED)
FEW_SUM(few_f32, float, FewAccF, f, X_DOUBLE, X_DOUBLE_MASKED)
FEW_SUM(few_f64, double, FewAccF, f, X_DOUBLE, X_DOUBLE_MASKED)

/* rows_in_group: of this vector, for those without NULLs. */
Status agg_few_update(const AggCol *c, int64_t n, const uint64_t *group, int64_t slots, const Vec *in,
                      const int64_t *rows_in_group, char *base, int64_t width, Err *e) {
    int64_t counted[FEW_SLOTS];
    const int64_t *count = rows_in_group;
    if (in && in->data && in->valid && c->op != AO_COUNT_STAR) {
        agg_few_count(n, group, in->valid, slots, counted);
        count = counted;
    }
    char *row = base;
    if (c->few == FEW_COUNT) {
        for (int64_t g = 0; g < slots; g++, row += width) AT(int64_t, row + c->off) += count[g];
        return ST_OK;
    }
    if (c->seen >= 0)
        for (int64_t g = 0; g < slots; g++)
            if (count[g]) base[g * width + c->seen] = 1;
    if (c->few == FEW_F64) {
        FewAccF f;
        clear_acc(&f, slots);
        if (c->in == PH_F32) few_f32(n, group, in->data, in->valid, &f);
        else few_f64(n, group, in->data, in->valid, &f);
        for (int64_t g = 0; g < slots; g++, row += width) {
            double s = ((f.f[0][g] + f.f[4][g]) + (f.f[1][g] + f.f[5][g])) +
                       ((f.f[2][g] + f.f[6][g]) + (f.f[3][g] + f.f[7][g]));
            AT(double, row + c->off) += s;
        }
        return ST_OK;
    }
    FewAcc a;
    clear_acc(&a, slots);
    bool wide = c->in == PH_I64 && c->op != AO_SUM_I64 && !fits_i64_sum(in->data, n);
    if (wide) few_low(n, group, in->data, in->valid, &a);
    else if (c->in == PH_I16) few_i16(n, group, in->data, in->valid, &a);
    else if (c->in == PH_I32) few_i32(n, group, in->data, in->valid, &a);
    else few_i64(n, group, in->data, in->valid, &a);
    FewAcc high;
    if (wide) {
        clear_acc(&high, slots);
        few_high(n, group, in->data, in->valid, &high);
    }
    for (int64_t g = 0; g < slots; g++, row += width) {
        int128_t s = fold(&a, g);
        char *p = row + c->off;
        if (wide) s += (int128_t)fold(&high, g) * ((int128_t)1 << 32);
        TRY(add_sum(c->op, p, s, e));
    }
    return ST_OK;
}

/* ---- merging states of the same group --------------------------------------------------------- */

#define MERGE(NAME, STMT)                                                                                          \
    static Status NAME(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) { \
        (void)h, (void)e;                                                                                          \
        int64_t off = c->off, seen = c->seen;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                          \
            if (seen >= 0) {                                                                                       \
                if (!src[i][seen]) continue;                                                                       \
            }                                                                                                      \
            char *p = dst[i] + off;                                                                                \
            const char *q = src[i] + off;                                                                          \
            STMT;                                                                                                  \
            if (seen >= 0) dst[i][seen] = 1;                                                                       \
        }                                                                                                          \
        return ST_OK;                                                                                              \
    }
MERGE(merge_add, AT(uint64_t, p) += AT_CONST(uint64_t, q))
MERGE(merge_chk,
      if (__builtin_add_overflow(AT(int64_t, p), AT_CONST(int64_t, q), &AT(int64_t, p))) return sum_overflow(e, true))
MERGE(merge_wide, int128_t s; if (__builtin_add_overflow(get_i128(p), get_i128(q), &s)) return sum_overflow(e, false);
      put_i128(p, s))
MERGE(merge_f64, AT(double, p) += AT_CONST(double, q))
MERGE(merge_and8, AT(uint8_t, p) &= AT_CONST(uint8_t, q))
MERGE(merge_or8, AT(uint8_t, p) |= AT_CONST(uint8_t, q))
MERGE(merge_and16, AT(uint16_t, p) &= AT_CONST(uint16_t, q))
MERGE(merge_or16, AT(uint16_t, p) |= AT_CONST(uint16_t, q))
MERGE(merge_and32, AT(uint32_t, p) &= AT_CONST(uint32_t, q))
MERGE(merge_or32, AT(uint32_t, p) |= AT_CONST(uint32_t, q))
MERGE(merge_and64, AT(uint64_t, p) &= AT_CONST(uint64_t, q))
MERGE(merge_or64, AT(uint64_t, p) |= AT_CONST(uint64_t, q))
MERGE(merge_xor16, AT(uint16_t, p) ^= AT_CONST(uint16_t, q))
MERGE(merge_xor32, AT(uint32_t, p) ^= AT_CONST(uint32_t, q))
MERGE(merge_xor64, AT(uint64_t, p) ^= AT_CONST(uint64_t, q))

/* MIN, MAX, ANY, SINGLE: a merge is an update with the other's value. */
static Status merge_value(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) {
    for (int64_t i = 0; i < n; i++) {
        uint8_t state = c->seen >= 0 ? (uint8_t)src[i][c->seen] : 1;
        if (!state) continue;
        alignas(16) char cell[16];
        memcpy(cell, src[i] + c->off, (size_t)phys_size((Phys)c->in));
        uint8_t valid = state == 1;
        Vec v = {.data = cell, .valid = valid ? NULL : &valid, .phys = c->in};
        TRY(c->update(c, h, 1, &dst[i], &v, NULL, e));
    }
    return ST_OK;
}

static Status merge_var(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) {
    (void)h;
    for (int64_t i = 0; i < n; i++) {
        VarCell *a = (VarCell *)(void *)(dst[i] + c->off);
        VarCell b, old = *a;
        memcpy(&b, src[i] + c->off, sizeof b);
        if (b.n == 0) continue;
        if (a->n == 0) {
            *a = b;
            continue;
        }
        double n1 = (double)a->n, n2 = (double)b.n, d = a->sum / n1 - b.sum / n2;
        a->n += b.n;
        a->sum += b.sum;
        a->squares += b.squares + n1 * n2 * d * d / (n1 + n2);
        if (isinf(a->sum) && isfinite(old.sum) && isfinite(b.sum)) return float_overflow(e);
        if (isinf(a->squares) && isfinite(old.squares) && isfinite(b.squares)) return float_overflow(e);
    }
    return ST_OK;
}

static Status merge_var_exact(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src,
                              Err *e) {
    (void)h, (void)e;
    for (int64_t i = 0; i < n; i++) {
        VarExactCell *a = (VarExactCell *)(void *)(dst[i] + c->off), b;
        memcpy(&b, src[i] + c->off, sizeof b);
        a->n += b.n;
        add_words(a->sum, 3, b.sum, 3);
        add_words(a->squares, 5, b.squares, 5);
    }
    return ST_OK;
}

static Status merge_join(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) {
    for (int64_t i = 0; i < n; i++) {
        if (!src[i][c->seen]) continue;
        JoinCell *a = (JoinCell *)(void *)(dst[i] + c->off), b;
        memcpy(&b, src[i] + c->off, sizeof b);
        if (!dst[i][c->seen]) a->skip = b.skip;
        dst[i][c->seen] = 1;
        TRY(join_put(h, a, b.buf, b.len, e));
    }
    return ST_OK;
}

/* ---- choosing ------------------------------------------------------------------------------------ */

static AggUpdate min_update(uint8_t phys) {
    static const AggUpdate f[PH_COUNT_] = {min_u8,  min_i16, min_i32, min_i64,      min_i128,
                                           min_f32, min_f64, min_str, min_interval, min_uuid};
    return f[phys];
}
static AggUpdate max_update(uint8_t phys) {
    static const AggUpdate f[PH_COUNT_] = {max_u8,  max_i16, max_i32, max_i64,      max_i128,
                                           max_f32, max_f64, max_str, max_interval, max_uuid};
    return f[phys];
}
/* and, or by width */
#define BY_WIDTH(phys, a, b, c, d) \
    ((phys) == PH_BOOL ? (a) : (phys) == PH_I16 ? (b) : (phys) == PH_I32 ? (c) : (phys) == PH_I64 ? (d) : NULL)

/* BIT_AND, BIT_OR, BIT_XOR of bit strings. */
static Status bits_init(AggCol *c, const AggCell *cell) {
    c->update = agg_bits_update;
    c->merge = merge_value;
    c->copy = !cell->stable_str;
    c->seen = 0;
    return ST_OK;
}

Status agg_col_init(AggCol *c, const AggCell *cell, bool always_seen, Err *e) {
    *c = (AggCol){.op = cell->op, .in = cell->in_phys, .out = cell->out_phys, .arg = cell->arg, .seen = -1};
    uint8_t in = cell->in_phys;
    bool counts = cell->op == AO_COUNT || cell->op == AO_COUNT_STAR;
    if (!counts && in >= PH_COUNT_) goto bad;
    bool seen = cell->in_nullable || always_seen;
    if (in == PH_STR && (cell->op == AO_BIT_AND || cell->op == AO_BIT_OR || cell->op == AO_BIT_XOR))
        return bits_init(c, cell);
    switch ((AggOp)cell->op) {
    case AO_COUNT_STAR:
    case AO_COUNT:
        c->update = cell->op == AO_COUNT ? count_valid : count_star;
        c->reduce = reduce_count;
        c->merge = merge_add;
        c->few = FEW_COUNT;
        seen = false;
        break;
    case AO_SUM_I64:
        c->update = in == PH_I16 ? sum_i64_i16 : in == PH_I32 ? sum_i64_i32 : in == PH_I64 ? sum_i64_i64 : NULL;
        c->reduce = reduce_sum;
        c->merge = merge_add;
        c->few = FEW_I64;
        break;
    case AO_SUM_I64_CHECKED:
        c->update = in == PH_I16 ? sum_chk_i16 : in == PH_I32 ? sum_chk_i32 : in == PH_I64 ? sum_chk_i64 : NULL;
        c->reduce = reduce_sum;
        c->merge = merge_chk;
        c->few = FEW_I64;
        break;
    case AO_SUM_I128:
        c->update = in == PH_I16    ? sum_wide_i16
                    : in == PH_I32  ? sum_wide_i32
                    : in == PH_I64  ? sum_wide_i64
                    : in == PH_I128 ? sum_wide_i128
                                    : NULL;
        c->reduce = in == PH_I128 ? NULL : reduce_sum;
        c->merge = merge_wide;
        c->few = in == PH_I128 ? FEW_NONE : FEW_I128;
        break;
    case AO_SUM_F64:
        c->update = in == PH_F32 ? sum_f32 : in == PH_F64 ? sum_f64 : NULL;
        c->reduce = reduce_sum_f;
        c->merge = merge_f64;
        c->few = FEW_F64;
        break;
    case AO_SUM_DEC:
        c->update = in == PH_STR ? agg_dec_update : NULL;
        c->merge = merge_value;
        c->copy = !cell->stable_str;
        seen = true;
        break;
    case AO_MIN:
    case AO_MAX:
        c->update = cell->op == AO_MIN ? min_update(in) : max_update(in);
        if (in == PH_I16) c->reduce = cell->op == AO_MIN ? reduce_min_i16 : reduce_max_i16;
        if (in == PH_I32) c->reduce = cell->op == AO_MIN ? reduce_min_i32 : reduce_max_i32;
        if (in == PH_I64) c->reduce = cell->op == AO_MIN ? reduce_min_i64 : reduce_max_i64;
        c->merge = merge_value;
        c->copy = in == PH_STR && !cell->stable_str;
        seen |= in == PH_STR || in == PH_I128 || in == PH_INTERVAL || in == PH_UUID;
        break;
    case AO_ANY:
    case AO_SINGLE:
        c->update = first_update;
        c->merge = merge_value;
        c->copy = in == PH_STR && !cell->stable_str;
        seen = true;
        break;
    case AO_BOOL_AND:
    case AO_BIT_AND:
        c->update = BY_WIDTH(in, and_u8, and_i16, and_i32, and_i64);
        c->merge = BY_WIDTH(in, merge_and8, merge_and16, merge_and32, merge_and64);
        break;
    case AO_BOOL_OR:
    case AO_BIT_OR:
        c->update = BY_WIDTH(in, or_u8, or_i16, or_i32, or_i64);
        c->merge = BY_WIDTH(in, merge_or8, merge_or16, merge_or32, merge_or64);
        break;
    case AO_BIT_XOR:
        c->update = BY_WIDTH(in, NULL, xor_i16, xor_i32, xor_i64);
        c->merge = BY_WIDTH(in, NULL, merge_xor16, merge_xor32, merge_xor64);
        break;
    case AO_REGR:
        c->update = in == PH_F64 ? agg_regr_update : NULL;
        c->merge = agg_regr_merge;
        seen = false;
        break;
    case AO_CLIENT:
        c->func = cell->func;
        c->update = agg_client_update;
        c->merge = agg_client_merge;
        seen = false;
        break;
    case AO_VAR:
        c->update = in == PH_F32 ? var_f32 : in == PH_F64 ? var_f64 : NULL;
        c->merge = merge_var;
        seen = false;
        break;
    case AO_VAR_EXACT:
        c->update = in == PH_I16    ? var_exact_i16
                    : in == PH_I32  ? var_exact_i32
                    : in == PH_I64  ? var_exact_i64
                    : in == PH_I128 ? var_exact_i128
                                    : NULL;
        c->merge = merge_var_exact;
        c->in_scale = cell->in_scale;
        c->out_scale = cell->type.scale;
        seen = false;
        break;
    case AO_STRING_AGG:
        c->update = in == PH_STR ? join_update : NULL;
        c->merge = merge_join;
        seen = true;
        break;
    }
    if (!c->update) goto bad;
    c->seen = seen ? 0 : -1;
    return ST_OK;
bad:
    return err_internal(e, "aggregate %d over physical type %d", cell->op, in);
}

int32_t agg_cell_bytes(const AggCol *c) {
    switch ((AggOp)c->op) {
    case AO_COUNT_STAR:
    case AO_COUNT:
    case AO_SUM_I64:
    case AO_SUM_I64_CHECKED:
    case AO_SUM_F64: return 8;
    case AO_SUM_I128: return 16;
    case AO_VAR: return (int32_t)sizeof(VarCell);
    case AO_REGR: return agg_regr_bytes();
    case AO_CLIENT: return c->func->agg_ops->state_bytes;
    case AO_VAR_EXACT: return (int32_t)sizeof(VarExactCell);
    case AO_STRING_AGG: return (int32_t)sizeof(JoinCell);
    default: return c->copy ? (int32_t)sizeof(StrCell) : (int32_t)phys_size((Phys)c->in);
    }
}

void agg_cell_template(const AggCol *c, char *row) {
    char *p = row + c->off;
    if (c->op == AO_BIT_AND && c->in != PH_STR) memset(p, 0xff, (size_t)phys_size((Phys)c->in));
    if (c->op == AO_BOOL_AND) *p = 1;
    if (c->op == AO_CLIENT) memcpy(p, c->func->agg_ops->fresh, (size_t)c->func->agg_ops->state_bytes);
    if (c->op != AO_MIN && c->op != AO_MAX) return;
    bool min = c->op == AO_MIN;
    switch (c->in) {
    case PH_BOOL: AT(uint8_t, p) = min; break;
    case PH_I16: AT(int16_t, p) = min ? INT16_MAX : INT16_MIN; break;
    case PH_I32: AT(int32_t, p) = min ? INT32_MAX : INT32_MIN; break;
    case PH_I64: AT(int64_t, p) = min ? INT64_MAX : INT64_MIN; break;
    case PH_F32: AT(float, p) = min ? NAN : -HUGE_VALF; break; /* NaN is the greatest */
    case PH_F64: AT(double, p) = min ? (double)NAN : -HUGE_VAL; break;
    default: break;
    }
}

bool agg_cell_has_bytes(const AggCol *c) { return c->copy || c->op == AO_STRING_AGG; }
char **agg_cell_bytes_of(const AggCol *c, char *row, int64_t *len) {
    char *p = row + c->off;
    if (c->op == AO_STRING_AGG) {
        JoinCell *j = (JoinCell *)(void *)p;
        *len = j->cap = j->len;
        return &j->buf;
    }
    StrCell *s = (StrCell *)(void *)p;
    *len = s->cap = s->s.len;
    return (char **)(void *)&s->s.ptr;
}

/* ---- final values ------------------------------------------------------------------------------------ */

#define ROW(i) rows[pos ? (int64_t)pos[i] : first + (i)]
#define COPY_CELLS(T)                                                           \
    do {                                                                        \
        T *d = out->data;                                                       \
        for (int64_t i = 0; i < n; i++) memcpy(&d[i], ROW(i) + off, sizeof(T)); \
    } while (0)

static bool var_is_samp(const AggCol *c) { return c->arg == AGG_VAR_SAMP || c->arg == AGG_STDDEV_SAMP; }
static bool var_is_root(const AggCol *c) { return c->arg == AGG_STDDEV_POP || c->arg == AGG_STDDEV_SAMP; }

static Status load_var(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n,
                       Vec *out) {
    double *d = out->data;
    bool all = true, samp = var_is_samp(c), root = var_is_root(c);
    for (int64_t i = 0; i < n; i++) {
        const VarCell *s = (const VarCell *)(const void *)(ROW(i) + c->off);
        bool ok = s->n > (samp ? 1 : 0);
        double v = ok ? s->squares / (double)(samp ? s->n - 1 : s->n) : 0;
        d[i] = root ? sqrt(v) : v;
        out->valid[i] = ok;
        all &= ok;
    }
    if (all) out->valid = NULL;
    return ST_OK;
}

/* The root as var_exact() has it, of few values or small ones. */
static bool var_root_short(const AggCol *c, const VarExactCell *s, int128_t *out) {
    const uint64_t sign = s->sum[0] >> 63 ? UINT64_MAX : 0;
    const int up = 2 * (c->out_scale - c->in_scale);
    if (s->n > UINT32_MAX || s->sum[1] != sign || s->sum[2] != sign || up < 0 || up > NUMERIC_MAX_PRECISION)
        return false;
    if (s->squares[1] || s->squares[2] || s->squares[3] || s->squares[4]) return false;
    const uint64_t n = (uint64_t)s->n, sum = sign ? 0 - s->sum[0] : s->sum[0];
    const uint128_t a = (uint128_t)n * s->squares[0] - (uint128_t)sum * sum;
    return wide_short_root(a, up, n * (var_is_samp(c) ? n - 1 : n), out);
}
/* (n * squares - sum^2) / (n * (n or n - 1)), and its root. Cells are integers * 10^-in_scale. */
static bool var_exact(const AggCol *c, const VarExactCell *s, int128_t *out) {
    bool root = var_is_root(c);
    if (root && var_root_short(c, s, out)) return false;
    Wide sum = {{s->sum[0], s->sum[1], s->sum[2]}}, squares = {{0}}, n = wide_of((uint128_t)s->n), num, zero = {{0}};
    memcpy(squares.w, s->squares, sizeof s->squares);
    if (s->sum[2] >> 63) { /* negative: its magnitude */
        wide_sub(&zero, &sum, &sum);
        for (int i = 3; i < WIDE_WORDS; i++) sum.w[i] = 0;
    }
    if (wide_mul(&n, &squares, &num) || wide_mul(&sum, &sum, &sum) || wide_sub(&num, &sum, &num)) return true;
    Wide den = wide_of((uint128_t)s->n * (uint128_t)(var_is_samp(c) ? s->n - 1 : s->n));
    int up = (root ? 2 * c->out_scale : c->out_scale) - 2 * c->in_scale;
    if (wide_mul_pow10(up > 0 ? &num : &den, up > 0 ? up : -up)) return true;
    return root ? wide_root(&num, &den, out) : wide_quotient(&num, &den, out);
}
static Status load_var_exact(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n,
                             Vec *out, Err *e) {
    int128_t *d = out->data;
    bool all = true, samp = var_is_samp(c);
    for (int64_t i = 0; i < n; i++) {
        const VarExactCell *s = (const VarExactCell *)(const void *)(ROW(i) + c->off);
        bool ok = s->n > (samp ? 1 : 0);
        d[i] = 0;
        if (ok && var_exact(c, s, &d[i])) return sum_overflow(e, false);
        out->valid[i] = ok;
        all &= ok;
    }
    if (all) out->valid = NULL;
    return ST_OK;
}

Status agg_cell_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out,
                     Arena *a, Err *e) {
    int64_t off = c->off;
    out->is_const = false;
    if (c->op == AO_VAR) return load_var(c, rows, first, pos, n, out);
    if (c->op == AO_VAR_EXACT) return load_var_exact(c, rows, first, pos, n, out, e);
    if (c->op == AO_CLIENT) return agg_client_load(c, rows, first, pos, n, out, a, e);
    if (c->op == AO_REGR) {
        agg_regr_load(c, rows, first, pos, n, out);
        return ST_OK;
    }
    if (c->seen >= 0) {
        uint8_t all = 1;
        for (int64_t i = 0; i < n; i++) {
            uint8_t ok = ROW(i)[c->seen] == 1;
            out->valid[i] = ok;
            all &= ok;
        }
        if (all) out->valid = NULL;
    } else {
        out->valid = NULL;
    }
    const uint8_t *valid = out->valid;
    if (c->op == AO_SUM_I128) {
        if (c->out != PH_I128 && c->out != PH_I64)
            return err_internal(e, "sum of numeric as %s", phys_name((Phys)c->out));
        for (int64_t i = 0; i < n; i++) {
            int128_t v = get_i128(ROW(i) + off);
            if (numeric_exceeds(v, NUMERIC_MAX_PRECISION)) return sum_overflow(e, false);
            if (c->out == PH_I128) {
                ((int128_t *)out->data)[i] = v;
            } else {
                if (v != (int64_t)v) return sum_overflow(e, false);
                ((int64_t *)out->data)[i] = (int64_t)v;
            }
        }
        return ST_OK;
    }
    if (c->op == AO_STRING_AGG) {
        Str *d = out->data;
        for (int64_t i = 0; i < n; i++) {
            const JoinCell *j = (const JoinCell *)(const void *)(ROW(i) + off);
            d[i] = j->buf ? str_make(j->buf + j->skip, j->len - j->skip) : str_make("", 0);
        }
        return ST_OK;
    }
    if ((c->op == AO_SUM_I64 || c->op == AO_SUM_I64_CHECKED) && c->out == PH_I128) {
        for (int64_t i = 0; i < n; i++) ((int128_t *)out->data)[i] = AT_CONST(int64_t, ROW(i) + off);
        return ST_OK;
    }
    uint8_t phys = c->out;
    if (c->op == AO_COUNT || c->op == AO_COUNT_STAR || c->op == AO_SUM_I64 || c->op == AO_SUM_I64_CHECKED)
        phys = PH_I64;
    else if (c->op == AO_SUM_F64) phys = PH_F64;
    else phys = c->in;
    if (phys != c->out) return err_internal(e, "aggregate %d as %s", c->op, phys_name((Phys)c->out));
    switch (phys_size((Phys)phys)) {
    case 1: COPY_CELLS(uint8_t); break;
    case 2: COPY_CELLS(uint16_t); break;
    case 4: COPY_CELLS(uint32_t); break;
    case 8: COPY_CELLS(uint64_t); break;
    default: COPY_CELLS(Str); break;
    }
    if (valid) { /* NULL cells must be harmless */
        size_t size = (size_t)phys_size((Phys)phys);
        for (int64_t i = 0; i < n; i++)
            if (!valid[i]) memset((char *)out->data + (size_t)i * size, 0, size);
        if (phys == PH_STR)
            for (int64_t i = 0; i < n; i++)
                if (!valid[i]) ((Str *)out->data)[i].ptr = "";
    }
    return ST_OK;
}
