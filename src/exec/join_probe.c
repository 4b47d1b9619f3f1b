/* join_probe.c - looking up vectors of keys in a finished join map (join_int.h).
 *
 * Dense forms compute row numbers without branches: the loads of different rows do not depend on each other, so the
 * processor overlaps their cache misses by itself. The hash forms work in passes over the vector: hashes; directory
 * entries with prefetch; rows whose tag fits, compacted, with a prefetch of their first build row; key comparisons.
 *
 * After join_probe_begin the probe holds the `active` rows: those with candidates, and for each the range of build
 * rows still to be looked at. join_probe_next walks these ranges. Key comparison of the general form is done column by
 * column over the candidates it has put into the caller's buffers.
 *
 * Constant key vectors are spread out first; no loop below has a case for them. The keys' data must stay until the last
 * join_probe_next of a vector.
 */
#include "exec/join_int.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct JoinProbe {
    const JoinTable *j;
    MemAccount *acct;
    int64_t cap, bytes;
    Vec *keys;     /* of the current vector, spread out */
    char **spread; /* room for constants, per key */
    uint64_t *hash;
    int64_t *match;
    int32_t *active;
    const char **cur, **end; /* per active row */
    uint8_t *ok;
    int64_t *rows; /* candidates of join_probe_first */
    int64_t n_active, at;
};

Status join_probe_new(const JoinTable *j, int64_t vector_size, MemAccount *acct, JoinProbe **out, Err *e) {
    *out = NULL;
    int64_t cap = MAX_OF(vector_size, 1), nk = j->n_keys;
    int64_t spread = 0;
    for (int64_t k = 0; k < nk; k++)
        spread += align_up(cap * phys_size((Phys)j->l.cols[k].phys), 64) + align_up(cap, 64);
    int64_t head = align_up((int64_t)sizeof(JoinProbe) + nk * (int64_t)(sizeof(Vec) + sizeof(char *)), 64);
    int64_t eight = align_up(cap * 8, 64), four = align_up(cap * 4, 64), one = align_up(cap, 64);
    int64_t bytes = head + 5 * eight + four + one + spread;
    char *mem = mem_alloc(acct, bytes, e);
    if (!mem) return ST_ERROR;
    memset(mem, 0, (size_t)head);
    JoinProbe *p = (JoinProbe *)(void *)mem;
    p->j = j;
    p->acct = acct;
    p->cap = cap;
    p->bytes = bytes;
    p->keys = (Vec *)(void *)(mem + sizeof(JoinProbe));
    p->spread = (char **)(void *)(p->keys + nk);
    mem += head;
    p->hash = (uint64_t *)(void *)mem;
    p->match = (int64_t *)(void *)(mem + eight);
    p->cur = (const char **)(void *)(mem + 2 * eight);
    p->end = (const char **)(void *)(mem + 3 * eight);
    p->rows = (int64_t *)(void *)(mem + 4 * eight);
    mem += 5 * eight;
    p->active = (int32_t *)(void *)mem;
    mem += four;
    p->ok = (uint8_t *)mem;
    mem += one;
    for (int64_t k = 0; k < nk; k++) {
        p->spread[k] = mem;
        mem += align_up(cap * phys_size((Phys)j->l.cols[k].phys), 64) + align_up(cap, 64);
    }
    *out = p;
    return ST_OK;
}

void join_probe_free(JoinProbe *p) {
    if (p) mem_free(p->acct, p, p->bytes);
}

ALWAYS_INLINE void fill(char *to, const char *cell, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * size, cell, size);
}

/* Takes the keys over, constants spread out. */
static void take_keys(JoinProbe *p, int64_t n, const Vec *keys) {
    for (int32_t k = 0; k < p->j->n_keys; k++) {
        p->keys[k] = keys[k];
        if (!keys[k].is_const) continue;
        char *to = p->spread[k];
        int64_t size = phys_size((Phys)p->j->l.cols[k].phys);
        switch (size) {
        case 1: fill(to, keys[k].data, n, 1); break;
        case 2: fill(to, keys[k].data, n, 2); break;
        case 4: fill(to, keys[k].data, n, 4); break;
        case 8: fill(to, keys[k].data, n, 8); break;
        default: fill(to, keys[k].data, n, 16); break;
        }
        p->keys[k].data = to;
        p->keys[k].is_const = false;
        if (!keys[k].valid) continue;
        uint8_t *valid = (uint8_t *)to + align_up(p->cap * size, 64);
        memset(valid, keys[k].valid[0] != 0, (size_t)n);
        p->keys[k].valid = valid;
    }
}

/* ---- dense forms --------------------------------------------------------------------- */

/* All of a match or none of it, without a branch. */
ALWAYS_INLINE int64_t select_row(uint64_t hit, int64_t row) { return row | ((int64_t)hit - 1); }

ALWAYS_INLINE void first_bitmap(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    const uint64_t *words = m->words;
    uint64_t min = m->min, dom = m->dom;
    int64_t size = phys_size((Phys)phys);
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)load_int((const char *)data + i * size, phys) - min, in = at < dom;
        at = in ? at : 0;
        match[i] = (int64_t)(words[at >> 6] >> (at & 63) & in) - 1;
    }
}

ALWAYS_INLINE void first_full(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    uint64_t min = m->min, dom = m->dom;
    int64_t size = phys_size((Phys)phys), width = m->width, base = (int64_t)(intptr_t)m->rows;
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)load_int((const char *)data + i * size, phys) - min;
        match[i] = select_row(at < dom, base + (int64_t)at * width);
    }
}

/* The group of a key, hit or not. */
ALWAYS_INLINE uint64_t group_of(const uint64_t *words, uint64_t at, uint64_t *hit) {
    uint64_t w = words[at >> 5], below = (UINT64_C(1) << (at & 31)) - 1;
    *hit &= w >> (at & 31);
    return (w >> 32) + (uint64_t)__builtin_popcountll(w & below);
}

ALWAYS_INLINE void first_rank(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    const uint64_t *words = m->words;
    uint64_t min = m->min, dom = m->dom;
    int64_t size = phys_size((Phys)phys), width = m->width, base = (int64_t)(intptr_t)m->rows;
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)load_int((const char *)data + i * size, phys) - min, hit = at < dom;
        at = hit ? at : 0;
        uint64_t g = group_of(words, at, &hit);
        match[i] = select_row(hit, base + (int64_t)g * width);
    }
}

/* Group numbers, or -1: for maps with duplicates. */
ALWAYS_INLINE void groups_dense(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *group) {
    const uint64_t *words = m->words;
    uint64_t min = m->min, dom = m->dom;
    int64_t size = phys_size((Phys)phys);
    bool full = m->form == JF_FULL_DUP;
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)load_int((const char *)data + i * size, phys) - min, hit = at < dom;
        at = hit ? at : 0;
        uint64_t g = full ? at : group_of(words, at, &hit);
        group[i] = select_row(hit, (int64_t)g);
    }
}

ALWAYS_INLINE void dense_of_phys(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    switch (m->form) {
    case JF_BITMAP: first_bitmap(m, n, data, phys, match); break;
    case JF_FULL: first_full(m, n, data, phys, match); break;
    case JF_RANK: first_rank(m, n, data, phys, match); break;
    default: groups_dense(m, n, data, phys, match); break;
    }
}
ALWAYS_INLINE void dense_body(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    switch (phys) {
    case PH_BOOL: dense_of_phys(m, n, data, PH_BOOL, match); break;
    case PH_I16: dense_of_phys(m, n, data, PH_I16, match); break;
    case PH_I32: dense_of_phys(m, n, data, PH_I32, match); break;
    default: dense_of_phys(m, n, data, PH_I64, match); break;
    }
}
static NOINLINE void dense_base(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    dense_body(m, n, data, phys, match);
}
TARGET_V3 static NOINLINE void dense_v3(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    dense_body(m, n, data, phys, match);
}

#if defined(__x86_64__)
#define TARGET_V4 \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vpopcntdq,avx2,bmi,bmi2,popcnt,lzcnt")))

/* Eight keys at once: gather their words, count with vpopcntq. Keys I32 or I64; forms FULL, RANK and, giving groups,
 * RANK_DUP. */
TARGET_V4 static NOINLINE void dense_v4(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    const __m512i min = _mm512_set1_epi64((int64_t)m->min), dom = _mm512_set1_epi64((int64_t)m->dom);
    const __m512i one = _mm512_set1_epi64(1), low5 = _mm512_set1_epi64(31), none = _mm512_set1_epi64(-1);
    bool rows = m->form != JF_RANK_DUP, full = m->form == JF_FULL;
    const __m512i width = _mm512_set1_epi64(rows ? m->width : 1),
                  base = _mm512_set1_epi64(rows ? (int64_t)(intptr_t)m->rows : 0);
    const long long *words = (const long long *)m->words;
    for (int64_t i = 0; i < n; i += 8) {
        __mmask8 in = (__mmask8)(n - i >= 8 ? 0xffU : (1U << (n - i)) - 1);
        __m512i key = phys == PH_I32 ? _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(in, (const int32_t *)data + i))
                                     : _mm512_maskz_loadu_epi64(in, (const int64_t *)data + i);
        __m512i at = _mm512_sub_epi64(key, min);
        __mmask8 hit = _mm512_mask_cmplt_epu64_mask(in, at, dom);
        __m512i group = at;
        if (!full) {
            __m512i w = _mm512_mask_i64gather_epi64(none, hit, _mm512_srli_epi64(at, 5), words, 8);
            __m512i bit = _mm512_sllv_epi64(one, _mm512_and_si512(at, low5));
            hit = _mm512_mask_test_epi64_mask(hit, w, bit);
            __m512i below = _mm512_popcnt_epi64(_mm512_and_si512(w, _mm512_sub_epi64(bit, one)));
            group = _mm512_add_epi64(_mm512_srli_epi64(w, 32), below);
        }
        __m512i row = _mm512_add_epi64(base, _mm512_mullo_epi64(group, width));
        _mm512_mask_storeu_epi64(match + i, in, _mm512_mask_mov_epi64(none, hit, row));
    }
}
TARGET_V4 static NOINLINE void bitmap_v4(const JoinMap *m, int64_t n, const void *data, uint8_t phys, int64_t *match) {
    const __m512i min = _mm512_set1_epi64((int64_t)m->min), dom = _mm512_set1_epi64((int64_t)m->dom);
    const __m512i one = _mm512_set1_epi64(1), low6 = _mm512_set1_epi64(63), none = _mm512_set1_epi64(-1);
    const long long *words = (const long long *)m->words;
    for (int64_t i = 0; i < n; i += 8) {
        __mmask8 in = (__mmask8)(n - i >= 8 ? 0xffU : (1U << (n - i)) - 1);
        __m512i key = phys == PH_I32 ? _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(in, (const int32_t *)data + i))
                                     : _mm512_maskz_loadu_epi64(in, (const int64_t *)data + i);
        __m512i at = _mm512_sub_epi64(key, min);
        __mmask8 hit = _mm512_mask_cmplt_epu64_mask(in, at, dom);
        __m512i w = _mm512_mask_i64gather_epi64(none, hit, _mm512_srli_epi64(at, 6), words, 8);
        hit = _mm512_mask_test_epi64_mask(hit, w, _mm512_sllv_epi64(one, _mm512_and_si512(at, low6)));
        _mm512_mask_storeu_epi64(match + i, in, _mm512_mask_mov_epi64(none, hit, _mm512_setzero_si512()));
    }
}
/* True when done. */
static bool dense_wide(const JoinTable *j, int64_t n, const void *data, int64_t *match) {
    const JoinMap *m = &j->map;
    uint8_t phys = j->l.cols[0].phys;
    if (!j->v4 || (phys != PH_I32 && phys != PH_I64) || m->form == JF_FULL_DUP) return false;
    if (m->form == JF_BITMAP) {
        bitmap_v4(m, n, data, phys, match);
    } else {
        dense_v4(m, n, data, phys, match);
    }
    return true;
}
#else
static bool dense_wide(const JoinTable *j, int64_t n, const void *data, int64_t *match) {
    (void)j, (void)n, (void)data, (void)match;
    return false;
}
#endif

/* What NULL finds: a row, a group or (bitmap) 0; -1 = nothing. */
static int64_t null_match(const JoinTable *j) {
    const JoinMap *m = &j->map;
    if (!j->null_equal_any || !m->null_slot) return -1;
    uint64_t hit = 1, g = m->form == JF_FULL || m->form == JF_FULL_DUP ? m->dom : 0;
    if (m->form == JF_BITMAP) return 0;
    if (m->form == JF_RANK || m->form == JF_RANK_DUP) g = group_of(m->words, m->dom, &hit);
    return m->unique ? (int64_t)(intptr_t)m->rows + (int64_t)g * m->width : (int64_t)g;
}

/* match[] of a dense form: rows (unique), groups (duplicates), 0 (bitmap) or -1. */
static void dense_first(const JoinProbe *p, int64_t n, int64_t *match) {
    const JoinTable *j = p->j;
    const Vec *v = &p->keys[0];
    if (dense_wide(j, n, v->data, match)) {
        /* done */
    } else if (j->v3) {
        dense_v3(&j->map, n, v->data, j->l.cols[0].phys, match);
    } else {
        dense_base(&j->map, n, v->data, j->l.cols[0].phys, match);
    }
    if (!v->valid) return;
    int64_t null = null_match(j);
    for (int64_t i = 0; i < n; i++) match[i] = v->valid[i] ? match[i] : null;
}

/* ---- hash forms -------------------------------------------------------------------------- */

ALWAYS_INLINE void hash_ints(const JoinProbe *p, int64_t n, uint8_t phys) {
    const char *data = p->keys[0].data;
    int64_t size = phys_size((Phys)phys);
    for (int64_t i = 0; i < n; i++) p->hash[i] = hash_u64((uint64_t)load_int(data + i * size, phys));
}
ALWAYS_INLINE void hash_ints_body(const JoinProbe *p, int64_t n) {
    switch (p->j->l.cols[0].phys) {
    case PH_BOOL: hash_ints(p, n, PH_BOOL); break;
    case PH_I16: hash_ints(p, n, PH_I16); break;
    case PH_I32: hash_ints(p, n, PH_I32); break;
    default: hash_ints(p, n, PH_I64); break;
    }
}

/* Active rows: those whose bucket has their tag. */
static void begin_hash(JoinProbe *p, int64_t n) {
    const JoinTable *j = p->j;
    const JoinMap *m = &j->map;
    if (m->form == JF_HASH1 && !hash_constant) {
        hash_ints_body(p, n);
    } else {
        join_hash_keys(j, 0, n, p->keys, p->hash);
    }
    const uint64_t *dir = m->dir;
    const uint64_t *hash = p->hash;
    int shift = m->shift;
    int64_t na = 0;
    if (m->dir_bytes > 256 << 10)
        for (int64_t i = 0; i < n; i++) __builtin_prefetch(&dir[hash[i] >> shift]);
    int32_t *active = p->active;
    for (int64_t i = 0; i < n; i++) {
        active[na] = (int32_t)i;
        na += (int64_t)(dir[hash[i] >> shift] >> (hash[i] & 15) & 1);
    }
    for (int32_t k = 0; k < j->n_keys; k++) {
        const uint8_t *valid = p->keys[k].valid;
        if (!valid || j->spec->keys[k].null_equal) continue;
        int64_t left = 0;
        for (int64_t a = 0; a < na; a++) {
            active[left] = active[a];
            left += valid[active[a]] != 0;
        }
        na = left;
    }
    for (int64_t a = 0; a < na; a++) {
        const uint64_t *d = &dir[hash[active[a]] >> shift];
        p->cur[a] = m->rows + (int64_t)(d[0] >> 16) * m->width;
        p->end[a] = m->rows + (int64_t)(d[1] >> 16) * m->width;
        __builtin_prefetch(p->cur[a]);
    }
    p->n_active = na;
    p->at = 0;
}

/* Short ranges are walked to their end: leaving at the match would cost a mispredicted branch. */
ALWAYS_INLINE void first_hash1(JoinProbe *p, int64_t *match, uint8_t phys) {
    const JoinMap *m = &p->j->map;
    const char *data = p->keys[0].data;
    int64_t width = m->width, size = phys_size((Phys)phys), off = p->j->l.offset[0];
    for (int64_t a = 0; a < p->n_active; a++) {
        int32_t i = p->active[a];
        int64_t key = load_int(data + i * size, phys), found = -1;
        const char *row = p->cur[a], *end = p->end[a];
        if (UNLIKELY(end - row > 8 * width)) {
            while (row < end && load_int(row + off, phys) != key) row += width;
            if (row < end) found = (int64_t)(intptr_t)row;
        } else {
            for (; row < end; row += width) found = load_int(row + off, phys) == key ? (int64_t)(intptr_t)row : found;
        }
        match[i] = found;
    }
}

ALWAYS_INLINE int64_t next_hash1(JoinProbe *p, int64_t cap, int32_t *idx, int64_t *rows, uint8_t phys) {
    const JoinMap *m = &p->j->map;
    const char *data = p->keys[0].data;
    int64_t width = m->width, size = phys_size((Phys)phys), off = p->j->l.offset[0], out = 0;
    int64_t a = p->at;
    for (; a < p->n_active; a++) {
        int32_t i = p->active[a];
        int64_t key = load_int(data + i * size, phys);
        const char *row = p->cur[a], *end = p->end[a];
        for (; row < end; row += width) {
            if (out == cap) {
                p->cur[a] = row;
                p->at = a;
                return out;
            }
            idx[out] = i;
            rows[out] = (int64_t)(intptr_t)row;
            out += load_int(row + off, phys) == key;
        }
    }
    p->at = a;
    return out;
}

/* ok[c] &= column k of build row rows[c] equals the key of probe row idx[c]. */
ALWAYS_INLINE bool cells_equal(uint8_t phys, const char *a, const char *b) {
    switch (phys) {
    case PH_BOOL:
    case PH_I16:
    case PH_I32:
    case PH_I64: return load_int(a, phys) == load_int(b, phys);
    case PH_F32:
    case PH_F64: return join_float_eq(phys, a, b);
    case PH_STR: return str_eq(*(const Str *)(const void *)a, *(const Str *)(const void *)b);
    case PH_INTERVAL:
        return interval_cmp_value((const Interval *)(const void *)a) ==
               interval_cmp_value((const Interval *)(const void *)b);
    default: return memcmp(a, b, 16) == 0;
    }
}
ALWAYS_INLINE void verify_loop(const JoinProbe *p, int32_t k, uint8_t phys, int64_t n, const int32_t *idx,
                               const int64_t *rows) {
    const Vec *v = &p->keys[k];
    const char *data = v->data;
    int64_t size = phys_size((Phys)phys), off = p->j->l.offset[k], vo = p->j->l.valid_offset[k];
    uint8_t *ok = p->ok;
    if (!v->valid && vo < 0) {
        for (int64_t c = 0; c < n; c++)
            ok[c] &= cells_equal(phys, data + idx[c] * size, (const char *)(intptr_t)(rows[c] + off));
        return;
    }
    for (int64_t c = 0; c < n; c++) {
        bool a = !v->valid || v->valid[idx[c]], b = vo < 0 || *(const uint8_t *)(intptr_t)(rows[c] + vo);
        if (a && b) {
            ok[c] &= cells_equal(phys, data + idx[c] * size, (const char *)(intptr_t)(rows[c] + off));
        } else {
            ok[c] &= a == b; /* both NULL: only null_equal keys get here */
        }
    }
}
static void verify(const JoinProbe *p, int64_t n, const int32_t *idx, const int64_t *rows) {
    memset(p->ok, 1, (size_t)n);
    for (int32_t k = 0; k < p->j->n_keys; k++) {
#define CASE(P) \
    case P: verify_loop(p, k, P, n, idx, rows); break;
        switch (p->j->l.cols[k].phys) {
            EACH_KEY_PHYS(CASE)
        default: break;
        }
#undef CASE
    }
}

/* Candidates are the rows with the probe row's hash. Returns their number; resumes where it stopped. */
static int64_t candidates(JoinProbe *p, int64_t cap, int32_t *idx, int64_t *rows) {
    const JoinMap *m = &p->j->map;
    int64_t width = m->width, off = p->j->l.offset[p->j->hash_col], out = 0, a = p->at;
    for (; a < p->n_active; a++) {
        int32_t i = p->active[a];
        uint64_t h = p->hash[i];
        const char *row = p->cur[a], *end = p->end[a];
        for (; row < end; row += width) {
            if (out == cap) {
                p->cur[a] = row;
                p->at = a;
                return out;
            }
            idx[out] = i;
            rows[out] = (int64_t)(intptr_t)row;
            out += *(const uint64_t *)(const void *)(row + off) == h;
        }
    }
    p->at = a;
    return out;
}

static int64_t next_hashn(JoinProbe *p, int64_t cap, int32_t *idx, int64_t *rows) {
    if (cap > p->cap) cap = p->cap; /* room in p->ok */
    for (;;) {
        int64_t n = candidates(p, cap, idx, rows), out = 0;
        if (n == 0) return 0;
        verify(p, n, idx, rows);
        for (int64_t c = 0; c < n; c++) {
            idx[out] = idx[c];
            rows[out] = rows[c];
            out += p->ok[c];
        }
        if (out) return out;
    }
}

/* One candidate per undecided row and round; nearly always the first round decides. */
static void first_hashn(JoinProbe *p, int64_t *match) {
    const JoinMap *m = &p->j->map;
    int64_t width = m->width, off = p->j->l.offset[p->j->hash_col], left = p->n_active;
    int64_t *rows = p->rows;
    while (left > 0) {
        int64_t n = 0;
        for (int64_t a = 0; a < left; a++) {
            int32_t i = p->active[a];
            uint64_t h = p->hash[i];
            const char *row = p->cur[a], *end = p->end[a];
            while (row < end && *(const uint64_t *)(const void *)(row + off) != h) row += width;
            if (row == end) continue;
            p->active[n] = i;
            p->cur[n] = row;
            p->end[n] = end;
            rows[n] = (int64_t)(intptr_t)row;
            n++;
        }
        verify(p, n, p->active, rows);
        left = 0;
        for (int64_t a = 0; a < n; a++) {
            if (p->ok[a]) {
                match[p->active[a]] = rows[a];
            } else {
                p->active[left] = p->active[a];
                p->cur[left] = p->cur[a] + width;
                p->end[left] = p->end[a];
                left++;
            }
        }
    }
}

/* ---- entry points -------------------------------------------------------------------------------- */

static bool is_hash(const JoinTable *j) { return j->map.form == JF_HASH1 || j->map.form == JF_HASHN; }

void join_probe_first(JoinProbe *p, int64_t n, const Vec *keys, int64_t *match) {
    const JoinTable *j = p->j;
    const JoinMap *m = &j->map;
    p->n_active = p->at = 0;
    if (n <= 0) return;
    if (m->form == JF_EMPTY) {
        memset(match, 0xff, (size_t)n * sizeof *match);
        return;
    }
    take_keys(p, n, keys);
    if (!is_hash(j)) {
        dense_first(p, n, match);
        if (m->form == JF_FULL_DUP || m->form == JF_RANK_DUP) {
            int64_t base = (int64_t)(intptr_t)m->rows;
            for (int64_t i = 0; i < n; i++)
                match[i] = match[i] < 0 ? -1 : base + (int64_t)m->starts[match[i]] * m->width;
        }
        return;
    }
    begin_hash(p, n);
    memset(match, 0xff, (size_t)n * sizeof *match);
    if (m->form == JF_HASHN) {
        first_hashn(p, match);
    } else {
        switch (j->l.cols[0].phys) {
        case PH_BOOL: first_hash1(p, match, PH_BOOL); break;
        case PH_I16: first_hash1(p, match, PH_I16); break;
        case PH_I32: first_hash1(p, match, PH_I32); break;
        default: first_hash1(p, match, PH_I64); break;
        }
    }
    p->n_active = 0;
    if (j->exists)
        for (int64_t i = 0; i < n; i++) match[i] = match[i] < 0 ? -1 : 0;
}

void join_probe_begin(JoinProbe *p, int64_t n, const Vec *keys) {
    const JoinTable *j = p->j;
    const JoinMap *m = &j->map;
    p->n_active = p->at = 0;
    if (n <= 0 || m->form == JF_EMPTY) return;
    if (is_hash(j) && !j->exists) {
        take_keys(p, n, keys);
        begin_hash(p, n);
        return;
    }
    int64_t na = 0;
    if (m->unique || j->exists) { /* at most one match: the answer is known at once */
        join_probe_first(p, n, keys, p->match);
        for (int64_t i = 0; i < n; i++) {
            p->active[na] = (int32_t)i;
            p->cur[na] = (const char *)(intptr_t)p->match[i];
            na += p->match[i] >= 0;
        }
    } else {
        take_keys(p, n, keys);
        dense_first(p, n, p->match);
        for (int64_t i = 0; i < n; i++) {
            p->active[na] = (int32_t)i;
            p->match[na] = p->match[i];
            na += p->match[i] >= 0;
        }
        for (int64_t a = 0; a < na; a++) {
            const uint32_t *s = &m->starts[p->match[a]];
            p->cur[a] = m->rows + (int64_t)s[0] * m->width;
            p->end[a] = m->rows + (int64_t)s[1] * m->width;
        }
    }
    p->n_active = na;
}

/* All rows of the active ranges. Four are written at once where there is room: short ranges then cost no
 * mispredicted branch per row. */
static int64_t next_ranges(JoinProbe *p, int64_t cap, int32_t *idx, int64_t *rows) {
    int64_t width = p->j->map.width, out = 0, a = p->at;
    for (; a < p->n_active; a++) {
        int32_t i = p->active[a];
        const char *row = p->cur[a], *end = p->end[a];
        int64_t left = cap - out, at = (int64_t)(intptr_t)row;
        if (LIKELY(left >= 4 && end - row <= 4 * width)) {
            for (int k = 0; k < 4; k++) {
                idx[out + k] = i;
                rows[out + k] = at + k * width;
            }
            out += end - row == width ? 1 : end - row == 2 * width ? 2 : end - row == 3 * width ? 3 : 4;
            continue;
        }
        for (; row < end && left > 0; row += width, left--) {
            idx[out] = i;
            rows[out++] = (int64_t)(intptr_t)row;
        }
        if (row < end) {
            p->cur[a] = row;
            break;
        }
    }
    p->at = a;
    return out;
}

int64_t join_probe_next(JoinProbe *p, int64_t cap, int32_t *idx, int64_t *rows) {
    const JoinTable *j = p->j;
    const JoinMap *m = &j->map;
    if (p->at >= p->n_active || cap <= 0) return 0;
    if (!is_hash(j) || j->exists) {
        if (!m->unique && !j->exists) return next_ranges(p, cap, idx, rows);
        int64_t n = MIN_OF(cap, p->n_active - p->at);
        memcpy(idx, p->active + p->at, (size_t)n * sizeof *idx);
        for (int64_t i = 0; i < n; i++) rows[i] = (int64_t)(intptr_t)p->cur[p->at + i];
        p->at += n;
        return n;
    }
    if (m->form == JF_HASHN) return next_hashn(p, cap, idx, rows);
    switch (j->l.cols[0].phys) {
    case PH_BOOL: return next_hash1(p, cap, idx, rows, PH_BOOL);
    case PH_I16: return next_hash1(p, cap, idx, rows, PH_I16);
    case PH_I32: return next_hash1(p, cap, idx, rows, PH_I32);
    default: return next_hash1(p, cap, idx, rows, PH_I64);
    }
}
