/* join_map.c - from staged build rows to the finished map (join_int.h draws the forms).
 *
 * Every form is made in passes over the staged pages, shared out page by page among workers:
 *   dense  1. set bits (a bit met twice: duplicates)  2. running counts, single-threaded  3. with duplicates: count per
 *   group
 *          and prefix sums  4. copy each row to its place
 *   hash   1. count per bucket and collect tags  2. prefix sums  3. copy each row to its place  4. look for equal keys
 * Workers meet in the counters only, by relaxed atomic operations; neighbouring rows that hit the same word
 * (tables are often stored in key order) are combined first. Placing uses the usual shift by one: starts[g+1] counts
 * up from the start of group g to its end, so that afterwards starts[g] is the start.
 */
#include <stdio.h>

#include "exec/join_int.h"

typedef enum Phase { PASS_BITS, PASS_COUNT, PASS_PLACE } Phase;

typedef struct Build {
    JoinTable *j;
    JoinMap *m;
    JoinSrc *src;
    int64_t n_src;
    _Atomic int64_t next;
    Phase phase;
    bool atomic, check_null;
    int bits_shift; /* values per word: 1 << shift */
    _Atomic bool dup;
    _Atomic int64_t orphan_at;
} Build;

/* ---- hashing ------------------------------------------------------------------- */

#define NULL_HASH 0x9ae16a3b2f90404fULL

static uint64_t float_bits(double d) {
    if (d != d) return 0x7ff8000000000000ULL;
    d += 0.0; /* -0 becomes 0 */
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

ALWAYS_INLINE uint64_t cell_word(uint8_t phys, const char *p) {
    switch (phys) {
    case PH_BOOL:
    case PH_I16:
    case PH_I32:
    case PH_I64: return (uint64_t)load_int(p, phys);
    case PH_F32: {
        float f;
        memcpy(&f, p, 4);
        return float_bits((double)f);
    }
    case PH_F64: {
        double d;
        memcpy(&d, p, 8);
        return float_bits(d);
    }
    case PH_STR: {
        Str s;
        memcpy(&s, p, sizeof s);
        return hash_bytes(s.ptr, s.len);
    }
    case PH_INTERVAL: {
        Interval iv;
        memcpy(&iv, p, sizeof iv);
        uint128_t v = (uint128_t)interval_cmp_value(&iv);
        return hash_combine((uint64_t)(v >> 64), (uint64_t)v);
    }
    default: { /* I128, UUID */
        uint64_t w[2];
        memcpy(w, p, 16);
        return hash_combine(w[1], w[0]);
    }
    }
}

ALWAYS_INLINE void hash_loop(uint8_t phys, int64_t from, int64_t n, const Vec *v, bool first, uint64_t *out) {
    int64_t step = v->is_const ? 0 : phys_size((Phys)phys);
    const char *p = (const char *)v->data + from * step;
    if (!v->valid) {
        if (first) {
            for (int64_t i = 0; i < n; i++, p += step) out[i] = hash_u64(cell_word(phys, p));
        } else {
            for (int64_t i = 0; i < n; i++, p += step) out[i] = hash_combine(out[i], cell_word(phys, p));
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, p += step) {
        uint64_t w = v->valid[v->is_const ? 0 : from + i] ? cell_word(phys, p) : NULL_HASH;
        out[i] = first ? hash_u64(w) : hash_combine(out[i], w);
    }
}

void join_hash_keys(const JoinTable *j, int64_t from, int64_t n, const Vec *keys, uint64_t *out) {
    if (UNLIKELY(hash_constant || j->n_keys == 0)) {
        memset(out, 0, (size_t)n * sizeof *out);
        return;
    }
    for (int32_t k = 0; k < j->n_keys; k++) {
#define CASE(P) \
    case P: hash_loop(P, from, n, &keys[k], k == 0, out); break;
        switch (j->l.cols[k].phys) {
            EACH_KEY_PHYS(CASE)
        default: break;
        }
#undef CASE
    }
}

bool join_float_eq(uint8_t phys, const void *a, const void *b) {
    if (phys == PH_F32) {
        float x = *(const float *)a, y = *(const float *)b;
        return x == y || (x != x && y != y);
    }
    double x = *(const double *)a, y = *(const double *)b;
    return x == y || (x != x && y != y);
}

bool join_rows_equal(const JoinTable *j, const char *a, const char *b) {
    for (int32_t k = 0; k < j->n_keys; k++) {
        int32_t off = j->l.offset[k], vo = j->l.valid_offset[k];
        uint8_t phys = j->l.cols[k].phys;
        if (vo >= 0 && (!a[vo] || !b[vo])) {
            if (a[vo] != b[vo]) return false;
            continue;
        }
        switch (phys) {
        case PH_F32:
        case PH_F64:
            if (!join_float_eq(phys, a + off, b + off)) return false;
            break;
        case PH_STR:
            if (!str_eq(*(const Str *)(const void *)(a + off), *(const Str *)(const void *)(b + off))) return false;
            break;
        case PH_INTERVAL:
            if (interval_cmp_value((const Interval *)(const void *)(a + off)) !=
                interval_cmp_value((const Interval *)(const void *)(b + off)))
                return false;
            break;
        default:
            if (memcmp(a + off, b + off, (size_t)phys_size((Phys)phys)) != 0) return false;
        }
    }
    return true;
}

/* ---- passes over the staged rows ------------------------------------------------------ */

ALWAYS_INLINE void copy_row(char *dst, const char *src, int64_t width) {
    switch (width) {
    case 8: memcpy(dst, src, 8); break;
    case 16: memcpy(dst, src, 16); break;
    case 24: memcpy(dst, src, 24); break;
    case 32: memcpy(dst, src, 32); break;
    case 40: memcpy(dst, src, 40); break;
    case 48: memcpy(dst, src, 48); break;
    case 64: memcpy(dst, src, 64); break;
    default: memcpy(dst, src, (size_t)width);
    }
}

ALWAYS_INLINE uint64_t rank_of(const uint64_t *words, uint64_t i) {
    uint64_t w = words[i >> 5];
    return (w >> 32) + (uint64_t)__builtin_popcount((uint32_t)w & ((1U << (i & 31)) - 1));
}

#define ORPHAN UINT64_MAX

/* NULL keys: the slot after the domain, or no slot. A row is an orphan if any key is NULL that does not match NULL. */
static uint64_t null_index(const Build *b, const char *row) {
    const JoinTable *j = b->j;
    for (int32_t k = 0; k < j->n_keys; k++)
        if (j->l.valid_offset[k] >= 0 && !row[j->l.valid_offset[k]] && !j->spec->keys[k].null_equal) return ORPHAN;
    return b->m->dom;
}
static bool row_has_null(const JoinTable *j, const char *row) {
    for (int32_t k = 0; k < j->n_keys; k++)
        if (j->l.valid_offset[k] >= 0 && !row[j->l.valid_offset[k]]) return true;
    return false;
}

ALWAYS_INLINE uint64_t dense_index(const Build *b, const char *row, int32_t off, uint8_t phys) {
    if (b->check_null && UNLIKELY(row_has_null(b->j, row))) return null_index(b, row);
    return (uint64_t)load_int(row + off, phys) - b->m->min;
}

static void flush_bits(Build *b, uint64_t *word, uint64_t acc, bool *dup) {
    uint64_t old;
    if (b->atomic) {
        old = __atomic_load_n(word, __ATOMIC_RELAXED);
        if ((old & acc) != acc) old = __atomic_fetch_or(word, acc, __ATOMIC_RELAXED);
    } else {
        old = *word;
        *word = old | acc;
    }
    if (old & acc) *dup = true;
}

ALWAYS_INLINE void bits_pass(Build *b, const JoinSrc *s, uint8_t phys) {
    const char *row = s->rows;
    int64_t width = b->j->l.width;
    int32_t off = b->j->l.offset[0];
    int shift = b->bits_shift;
    uint64_t *words = b->m->words, cur = UINT64_MAX, acc = 0;
    bool dup = false;
    for (int64_t i = 0; i < s->n; i++, row += width) {
        uint64_t at = dense_index(b, row, off, phys);
        if (UNLIKELY(at == ORPHAN)) continue;
        uint64_t bit = UINT64_C(1) << (at & ((1U << shift) - 1));
        if (at >> shift != cur) {
            if (acc) flush_bits(b, &words[cur], acc, &dup);
            cur = at >> shift;
            acc = 0;
        } else if (acc & bit) {
            dup = true;
        }
        acc |= bit;
    }
    if (acc) flush_bits(b, &words[cur], acc, &dup);
    if (dup) atomic_store_explicit(&b->dup, true, memory_order_relaxed);
}

ALWAYS_INLINE uint32_t bump32(Build *b, uint32_t *p) {
    return b->atomic ? __atomic_fetch_add(p, 1, __ATOMIC_RELAXED) : (*p)++;
}
ALWAYS_INLINE uint64_t bump_dir(Build *b, uint64_t *p) {
    if (b->atomic) return __atomic_fetch_add(p, 1U << 16, __ATOMIC_RELAXED);
    uint64_t old = *p;
    *p = old + (1U << 16);
    return old;
}

/* Rows per step of a pass. Within a step all counters are touched first, with a prefetch of what comes next, so that
 * cache misses of different rows overlap. */
enum { STEP = 64 };

static void place_orphan(Build *b, const char *row, int64_t width) {
    copy_row(b->m->rows + atomic_fetch_add(&b->orphan_at, 1) * width, row, width);
}

ALWAYS_INLINE void place_step(Build *b, const char *row, int64_t n, const uint64_t *to, int64_t width) {
    for (int64_t i = 0; i < n; i++, row += width) {
        if (UNLIKELY(to[i] == ORPHAN)) {
            place_orphan(b, row, width);
        } else {
            copy_row(b->m->rows + (int64_t)to[i] * width, row, width);
        }
    }
}

ALWAYS_INLINE void dense_pass(Build *b, const JoinSrc *s, uint8_t phys, Phase phase) {
    JoinMap *m = b->m;
    const char *row = s->rows;
    int64_t width = b->j->l.width;
    int32_t off = b->j->l.offset[0];
    bool rank = m->form == JF_RANK || m->form == JF_RANK_DUP, dups = !m->unique;
    uint64_t to[STEP];
    for (int64_t first = 0; first < s->n; first += STEP, row += STEP * width) {
        int64_t n = MIN_OF(s->n - first, (int64_t)STEP);
        for (int64_t i = 0; i < n; i++) {
            uint64_t at = dense_index(b, row + i * width, off, phys);
            to[i] = UNLIKELY(at == ORPHAN) ? ORPHAN : rank ? rank_of(m->words, at) : at;
            if (dups && to[i] != ORPHAN) __builtin_prefetch(&m->starts[to[i] + 1], 1);
        }
        if (phase == PASS_COUNT) {
            for (int64_t i = 0; i < n; i++)
                if (LIKELY(to[i] != ORPHAN)) bump32(b, &m->starts[to[i] + 2]);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (UNLIKELY(to[i] == ORPHAN)) continue;
            if (dups) to[i] = bump32(b, &m->starts[to[i] + 1]);
            __builtin_prefetch(m->rows + (int64_t)to[i] * width, 1);
        }
        place_step(b, row, n, to, width);
    }
}

ALWAYS_INLINE void hash_pass(Build *b, const JoinSrc *s, uint8_t phys, Phase phase) {
    JoinMap *m = b->m;
    const char *row = s->rows;
    const JoinTable *j = b->j;
    int64_t width = j->l.width;
    int32_t off = j->l.offset[j->hash_col >= 0 ? j->hash_col : 0];
    int shift = m->shift;
    uint64_t to[STEP], tag[STEP];
    for (int64_t first = 0; first < s->n; first += STEP, row += STEP * width) {
        int64_t n = MIN_OF(s->n - first, (int64_t)STEP);
        for (int64_t i = 0; i < n; i++) {
            const char *r = row + i * width;
            uint64_t h =
                phys == PH_COUNT_ ? *(const uint64_t *)(const void *)(r + off) : join_hash_int(load_int(r + off, phys));
            to[i] = h >> shift;
            tag[i] = UINT64_C(1) << (h & 15);
            __builtin_prefetch(&m->dir[to[i]], 1);
            if (b->check_null && UNLIKELY(row_has_null(j, r)) && null_index(b, r) == ORPHAN) to[i] = ORPHAN;
        }
        if (phase == PASS_COUNT) {
            for (int64_t i = 0; i < n; i++) {
                if (UNLIKELY(to[i] == ORPHAN)) continue;
                uint64_t *d = &m->dir[to[i]];
                bump_dir(b, d + 2);
                if (b->atomic) {
                    if (!(__atomic_load_n(d, __ATOMIC_RELAXED) & tag[i]))
                        __atomic_fetch_or(d, tag[i], __ATOMIC_RELAXED);
                } else {
                    *d |= tag[i];
                }
            }
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (UNLIKELY(to[i] == ORPHAN)) continue;
            to[i] = bump_dir(b, &m->dir[to[i] + 1]) >> 16;
            __builtin_prefetch(m->rows + (int64_t)to[i] * width, 1);
        }
        place_step(b, row, n, to, width);
    }
}

ALWAYS_INLINE void pass_of_phys(Build *b, const JoinSrc *s, uint8_t phys) {
    bool hash = b->m->form == JF_HASH1;
    if (b->phase == PASS_BITS) {
        bits_pass(b, s, phys);
    } else if (b->phase == PASS_COUNT) {
        if (hash) {
            hash_pass(b, s, phys, PASS_COUNT);
        } else {
            dense_pass(b, s, phys, PASS_COUNT);
        }
    } else {
        if (hash) {
            hash_pass(b, s, phys, PASS_PLACE);
        } else {
            dense_pass(b, s, phys, PASS_PLACE);
        }
    }
}

ALWAYS_INLINE void pass_body(Build *b, const JoinSrc *s) {
    if (b->m->form == JF_HASHN) {
        if (b->phase == PASS_COUNT) {
            hash_pass(b, s, PH_COUNT_, PASS_COUNT);
        } else {
            hash_pass(b, s, PH_COUNT_, PASS_PLACE);
        }
        return;
    }
    switch (b->j->l.cols[0].phys) {
    case PH_BOOL: pass_of_phys(b, s, PH_BOOL); break;
    case PH_I16: pass_of_phys(b, s, PH_I16); break;
    case PH_I32: pass_of_phys(b, s, PH_I32); break;
    default: pass_of_phys(b, s, PH_I64); break;
    }
}
static NOINLINE void pass_base(Build *b, const JoinSrc *s) { pass_body(b, s); }
TARGET_V3 static NOINLINE void pass_v3(Build *b, const JoinSrc *s) { pass_body(b, s); }

static void pass_worker(void *ctx, int worker) {
    Build *b = ctx;
    (void)worker;
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&b->next, 1, memory_order_relaxed);
        if (i >= b->n_src || query_stopped(b->j->stop)) return;
        JoinSrc *s = &b->src[i];
        if (b->j->v3) {
            pass_v3(b, s);
        } else {
            pass_base(b, s);
        }
    }
}

/* The rows have been copied: their memory is needed elsewhere. */
static void release_pages(Build *b, bool heap) {
    for (int64_t i = 0; i < b->n_src; i++)
        if (b->src[i].page) rows_release_page(b->src[i].store, b->src[i].page, heap);
}

static Status run_pass(Build *b, Phase phase, Err *e) {
    b->phase = phase;
    atomic_store(&b->next, 0);
    if (b->atomic) {
        pool_run(b->j->pool, b->j->threads, pass_worker, b);
    } else {
        pass_worker(b, 0);
    }
    TRY(query_stop_check(b->j->stop, e)); /* workers may have left sources out */
    if (phase == PASS_PLACE) release_pages(b, false);
    return ST_OK;
}

/* ---- forms ---------------------------------------------------------------------------------- */

static void free_map(JoinTable *j, JoinMap *m) {
    mem_free(j->acct, m->words, m->words_bytes);
    mem_free(j->acct, m->starts, m->starts_bytes);
    mem_free(j->acct, m->dir, m->dir_bytes);
    mem_free(j->acct, m->rows, m->rows_bytes);
    *m = (JoinMap){0};
}
void join_map_free(JoinTable *j) { free_map(j, &j->map); }

int64_t join_map_need(const JoinTable *j, int64_t n) { return n * (j->l.width + 16) + (128 << 10); }

/* Blocks of 4 MiB and more lie on huge pages: asking for a little more saves hundreds of page faults. Only touched
 * pages take memory; the charge is for all of it, so not where memory is limited. */
static int64_t block_bytes(const JoinTable *j, int64_t bytes) {
    bool round = bytes >= 1 << 20 && bytes < 4 << 20 && mem_headroom(j->acct) > INT64_C(512) << 20;
    return round ? 4 << 20 : bytes;
}

static bool want_bitmap(uint64_t dom, int64_t n, int64_t room) {
    uint64_t rows = (uint64_t)n, most = rows * (dom <= (16U << 20) ? 1024 : 128);
    return dom > 0 && (dom <= (1U << 19) || dom <= most) && dom / 8 <= (uint64_t)room / 2;
}
/* A quarter byte per value: up to 16 bytes per row, more where it stays within the second-level cache anyway. */
static bool want_rank(uint64_t dom, int64_t n, int64_t room) {
    uint64_t rows = (uint64_t)n, most = rows * (dom <= (4U << 20) ? 512 : 64);
    return dom > 0 && n < INT64_C(0xfffffff0) && (dom <= 65536 || dom <= most) && dom / 4 <= (uint64_t)room / 2;
}

static Status build_bitmap(Build *b, Err *e) {
    JoinMap *m = b->m;
    m->form = JF_BITMAP;
    m->unique = true;
    m->words_bytes = block_bytes(b->j, (int64_t)((m->dom + 1 + 63) / 64) * 8);
    m->words = mem_calloc(b->j->acct, m->words_bytes, e);
    if (!m->words) return ST_ERROR;
    b->bits_shift = 6;
    TRY(run_pass(b, PASS_BITS, e));
    m->null_slot = (m->words[m->dom >> 6] >> (m->dom & 63) & 1) != 0;
    m->n_rows = 0;
    return ST_OK;
}

TARGET_V3 static uint64_t count_ranks_v3(uint64_t *words, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t w = words[i];
        words[i] = w | sum << 32;
        sum += (uint64_t)__builtin_popcountll(w);
    }
    return sum;
}
static uint64_t count_ranks(uint64_t *words, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t w = words[i];
        words[i] = w | sum << 32;
        sum += (uint64_t)__builtin_popcountll(w);
    }
    return sum;
}

static Status alloc_rows(Build *b, Err *e) {
    JoinMap *m = b->m;
    m->rows_bytes = block_bytes(b->j, MAX_OF(m->n_rows * m->width, 64));
    m->rows = mem_alloc(b->j->acct, m->rows_bytes, e);
    return m->rows ? ST_OK : ST_ERROR;
}

static Status build_dense(Build *b, Err *e) {
    JoinMap *m = b->m;
    JoinTable *j = b->j;
    TRY(alloc_rows(b, e));
    uint64_t n_words = (m->dom + 1 + 31) / 32;
    m->words_bytes = block_bytes(j, (int64_t)n_words * 8);
    m->words = mem_calloc(j->acct, m->words_bytes, e);
    if (!m->words) return ST_ERROR;
    b->bits_shift = 5;
    TRY(run_pass(b, PASS_BITS, e));
    m->null_slot = (m->words[m->dom >> 5] >> (m->dom & 31) & 1) != 0;
    uint64_t groups = j->v3 ? count_ranks_v3(m->words, n_words) : count_ranks(m->words, n_words);
    bool full = groups == m->dom + (m->null_slot ? 1 : 0);
    m->unique = !atomic_load(&b->dup);
    m->form = m->unique ? (full ? JF_FULL : JF_RANK) : (full ? JF_FULL_DUP : JF_RANK_DUP);
    if (full) {
        mem_free(j->acct, m->words, m->words_bytes);
        m->words = NULL;
        m->words_bytes = 0;
    }
    if (!m->unique) {
        m->starts_bytes = block_bytes(j, (int64_t)(groups + 2) * (int64_t)sizeof *m->starts);
        m->starts = mem_calloc(j->acct, m->starts_bytes, e);
        if (!m->starts) return ST_ERROR;
        TRY(run_pass(b, PASS_COUNT, e));
        uint32_t sum = 0;
        for (uint64_t g = 0; g < groups + 2; g++) m->starts[g] = sum += m->starts[g];
    }
    TRY(run_pass(b, PASS_PLACE, e));
    return ST_OK;
}

typedef struct UniqueCheck {
    const JoinTable *j;
    _Atomic int64_t next;
    int64_t n_buckets;
    _Atomic bool dup;
} UniqueCheck;
enum { CHECK_CHUNK = 1 << 14, CHECK_BUCKET_MAX = 256 };

static bool hash_rows_equal(const JoinTable *j, const char *a, const char *b) {
    if (j->map.form == JF_HASH1)
        return load_int(a + j->l.offset[0], j->l.cols[0].phys) == load_int(b + j->l.offset[0], j->l.cols[0].phys);
    int32_t h = j->l.offset[j->hash_col];
    return memcmp(a + h, b + h, 8) == 0 && join_rows_equal(j, a, b);
}

static void check_unique(void *ctx, int worker) {
    UniqueCheck *c = ctx;
    const JoinMap *m = &c->j->map;
    int64_t width = m->width;
    (void)worker;
    while (!atomic_load_explicit(&c->dup, memory_order_relaxed)) {
        int64_t first = atomic_fetch_add(&c->next, CHECK_CHUNK);
        if (first >= c->n_buckets || query_stopped(c->j->stop)) return;
        int64_t end = MIN_OF(first + CHECK_CHUNK, c->n_buckets);
        for (int64_t b = first; b < end; b++) {
            int64_t lo = (int64_t)(m->dir[b] >> 16), hi = (int64_t)(m->dir[b + 1] >> 16);
            if (hi - lo < 2) continue;
            bool dup = hi - lo > CHECK_BUCKET_MAX; /* not worth knowing */
            for (int64_t x = lo; x < hi && !dup; x++)
                for (int64_t y = x + 1; y < hi && !dup; y++)
                    dup = hash_rows_equal(c->j, m->rows + x * width, m->rows + y * width);
            if (dup) {
                atomic_store(&c->dup, true);
                return;
            }
        }
    }
}

static Status build_hash(Build *b, Err *e) {
    JoinMap *m = b->m;
    JoinTable *j = b->j;
    TRY(alloc_rows(b, e));
    int bits = 6;
    while ((INT64_C(1) << bits) < m->n_keyed && bits < 40) bits++;
    int64_t n = INT64_C(1) << bits;
    m->shift = 64 - bits;
    m->form = j->hash_col < 0 ? JF_HASH1 : JF_HASHN;
    m->dir_bytes = block_bytes(j, (n + 2) * 8);
    m->dir = mem_calloc(j->acct, m->dir_bytes, e);
    if (!m->dir) return ST_ERROR;
    TRY(run_pass(b, PASS_COUNT, e));
    uint64_t sum = 0;
    for (int64_t i = 0; i < n + 2; i++) {
        uint64_t d = m->dir[i];
        sum += d >> 16;
        m->dir[i] = sum << 16 | (d & 0xffff);
    }
    TRY(run_pass(b, PASS_PLACE, e));
    m->unique = true;
    if (!j->exists) {
        UniqueCheck c = {.j = j, .n_buckets = n};
        if (b->atomic) {
            pool_run(j->pool, j->threads, check_unique, &c);
        } else {
            check_unique(&c, 0);
        }
        TRY(query_stop_check(j->stop, e));
        m->unique = !atomic_load(&c.dup);
    }
    return ST_OK;
}

Status join_map_build(JoinTable *j, JoinSrc *src, int64_t n_src, int64_t n, int64_t orphans, int64_t min, int64_t max,
                      Err *e) {
    JoinMap *m = &j->map;
    *m = (JoinMap){.form = JF_EMPTY, .unique = true, .width = j->l.width, .n_rows = n, .n_keyed = n - orphans};
    Build b = {.j = j, .m = m, .src = src, .n_src = n_src};
    b.atomic = j->pool && j->threads > 1 && n >= 16384 && n_src > 1;
    for (int32_t k = 0; k < j->n_keys; k++) b.check_null |= j->l.valid_offset[k] >= 0;
    atomic_store(&b.orphan_at, m->n_keyed);
    int64_t room = mem_headroom(j->acct);
    Status s;
    if (m->n_keyed == 0) {
        m->form = JF_HASHN; /* only orphans, if any: nothing to look up */
        s = alloc_rows(&b, e);
        char *to = m->rows;
        for (int64_t i = 0; s == ST_OK && i < n_src; i++) {
            memcpy(to, src[i].rows, (size_t)(src[i].n * m->width));
            to += src[i].n * m->width;
        }
        if (s == ST_OK) release_pages(&b, false);
        m->form = JF_EMPTY;
    } else {
        bool only_nulls = j->single_int && max < min; /* null_equal keys, all NULL */
        m->min = only_nulls ? 0 : (uint64_t)min;
        m->dom = only_nulls ? 1 : (uint64_t)max - (uint64_t)min + 1;
        if (j->single_int && j->exists && want_bitmap(m->dom, m->n_keyed, room)) {
            s = build_bitmap(&b, e);
            if (s == ST_OK) release_pages(&b, true);
        } else if (j->single_int && !j->exists && want_rank(m->dom, m->n_keyed, room)) {
            s = build_dense(&b, e);
        } else {
            s = build_hash(&b, e);
        }
    }
    if (s != ST_OK) free_map(j, m);
    return s;
}
