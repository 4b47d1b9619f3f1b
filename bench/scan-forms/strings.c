/* strings.c - open strings (cells of 16 bytes) mapped to codes, or compared as they are, against packed codes.
 *
 * A cell is length, the first four bytes, and the offset of the string in the piece's heap; up to 12 bytes are in the
 * cell. Every row has its own copy in the heap, in the order of rows, as rows that were inserted one by one have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_forms.h"

#pragma GCC optimize("O3")

typedef struct Cell {
    uint32_t len;
    char bytes[12]; /* the string; or its first four bytes and the offset in the heap */
} Cell;
static_assert(sizeof(Cell) == 16, "a cell of an open piece");
enum { INLINE_MAX = 12, HEAP_ENTRY = 24, LONG = 20, SHORT = 10 };

enum { SETS = STRING_SETS, NEW_SHARES = 2 };
typedef struct StringSet {
    int64_t distinct;
    int len;
    Cell *cells;
    char *heap;             /* of all tablets, an entry per row; NULL: all are inline */
    Dict *dict[NEW_SHARES]; /* with all strings, and with nine tenths of them */
    Tablet **packed;        /* codes of dict[0] */
} StringSet;
static StringSet sets[SETS] = {{.distinct = 10, .len = SHORT},
                               {.distinct = 10, .len = LONG},
                               {.distinct = 1000000, .len = SHORT},
                               {.distinct = 1000000, .len = LONG}};

/* ---- data ---- */
static void *xmalloc(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)align_up(bytes, 64));
    if (p) return p;
    printf("out of memory (%lld bytes)\n", (long long)bytes);
    exit(2);
}
static int64_t string_id(const StringSet *s, int64_t row) {
    return (int64_t)(mix((uint64_t)row + 123456789) % (uint64_t)s->distinct);
}
/* "abcdefg..." by number: the first four bytes differ little, as those of names and keys do. */
static void string_text(int64_t id, int len, char *out) {
    memset(out, 'a', (size_t)len);
    for (int i = len - 1; i >= len - 7; i--, id /= 10) out[i] = (char)('0' + id % 10);
}
static void fill_rows(StringSet *s, int64_t tablet, int32_t *codes) {
    char text[LONG];
    for (int64_t i = tablet * TABLET_ROWS; i < (tablet + 1) * TABLET_ROWS; i++) {
        int64_t id = string_id(s, i);
        string_text(id, s->len, text);
        codes[i - tablet * TABLET_ROWS] = (int32_t)id;
        Cell *c = &s->cells[i];
        *c = (Cell){.len = (uint32_t)s->len};
        if (s->len <= INLINE_MAX) {
            memcpy(c->bytes, text, (size_t)s->len);
        } else {
            uint64_t at = (uint64_t)i * HEAP_ENTRY;
            memcpy(c->bytes, text, 4);
            memcpy(c->bytes + 4, &at, 8);
            memcpy(s->heap + at, text, (size_t)s->len);
        }
    }
}
typedef struct Fill {
    StringSet *s;
    _Atomic int64_t next;
} Fill;
static void fill_worker(void *ctx, int worker) {
    (void)worker;
    Fill *f = ctx;
    int32_t *codes = xmalloc(TABLET_ROWS * 4);
    for (int64_t t; (t = f->next++) < bench.tablets;) {
        Err err = {0};
        EncCol col;
        fill_rows(f->s, t, codes);
        ColSeg seg = {.cells = codes, .n = TABLET_ROWS};
        need(enc_codes(&bench.account, NULL, &seg, 1, TABLET_ROWS, &col, &err), &err, "enc_codes");
        need(tablet_build(&bench.account, 1, TABLET_ROWS, 1, &col, &f->s->packed[t], &err), &err, "tablet_build");
        enc_release(&bench.account, &col);
    }
    free(codes);
}
void data_strings(void) {
    Err err = {0};
    bench.tablets = MIN_OF(bench.tablets, 160);
    for (int i = 0; i < SETS; i++) {
        StringSet *s = &sets[i];
        int64_t rows = bench.tablets * TABLET_ROWS;
        s->cells = xmalloc(rows * (int64_t)sizeof(Cell));
        if (s->len > INLINE_MAX) memset(s->heap = xmalloc(rows * HEAP_ENTRY), 0, (size_t)(rows * HEAP_ENTRY));
        s->packed = xmalloc(bench.tablets * (int64_t)sizeof(Tablet *));
        for (int part = 0; part < NEW_SHARES; part++) {
            Dict *d = s->dict[part] = dict_new(&bench.account, &err);
            int64_t n = part ? s->distinct / 10 * 9 : s->distinct;
            if (!d) need(ST_ERROR, &err, "dict_new");
            need(dict_reserve(d, n, &err), &err, "dict_reserve");
            for (int64_t id = 0; id < n; id++) {
                char text[LONG];
                string_text(id, s->len, text);
                if (dict_add(d, str_make(text, s->len), &err) < 0) need(ST_ERROR, &err, "dict_add");
            }
            d->n_sorted = d->n;
        }
        Fill f = {.s = s};
        pool_run(bench.pool, pool_threads(bench.pool), fill_worker, &f);
    }
}

/* ---- mapping to codes ---- */
static inline const char *cell_text(const StringSet *s, const Cell *c) {
    if (c->len <= INLINE_MAX) return c->bytes;
    uint64_t at;
    memcpy(&at, c->bytes + 4, 8);
    return s->heap + at;
}
/* Codes of the frozen dictionary, behind them those of the scan's own. */
typedef struct Mapping {
    const StringSet *s;
    const Dict *frozen;
    Dict *own;
} Mapping;
static int32_t own_code(Mapping *m, const Cell *c) {
    Err err = {0};
    if (!m->own && !(m->own = dict_new(&bench.account, &err))) need(ST_ERROR, &err, "dict_new");
    int32_t code = dict_add(m->own, str_make(cell_text(m->s, c), c->len), &err);
    if (code < 0) need(ST_ERROR, &err, "dict_add");
    return m->frozen->n + code;
}
static void map_simple(Mapping *m, const Cell *c, int64_t n, int32_t *codes) {
    for (int64_t i = 0; i < n; i++) {
        int32_t code = dict_find(m->frozen, str_make(cell_text(m->s, &c[i]), c[i].len));
        codes[i] = code >= 0 ? code : own_code(m, &c[i]);
    }
}
/* The same with the cache misses of a vector overlapped: hashes, slots and entries each in a loop of their own. */
static void map_batched(Mapping *m, const Cell *c, int64_t n, int32_t *codes) {
    uint32_t hash[VECTOR];
    const struct DictImpl *x = m->frozen->impl;
    const Str *entries = m->frozen->entries;
    const int64_t mask = x->n_slots - 1;
    for (int64_t i = 0; i < n; i++) {
        hash[i] = (uint32_t)(hash_bytes(cell_text(m->s, &c[i]), c[i].len) >> 32);
        __builtin_prefetch(&x->slots[hash[i] & mask]);
    }
    for (int64_t i = 0; i < n; i++) { /* the first slot whose hash is right, which is nearly always the one */
        int64_t at = hash[i] & mask;
        uint64_t v = x->slots[at];
        while (v && v >> 32 != hash[i]) v = x->slots[at = (at + 1) & mask];
        codes[i] = (int32_t)((uint32_t)v - 1);
        if (v) __builtin_prefetch(&entries[codes[i]]);
    }
    for (int64_t i = 0; i < n; i++)
        if (codes[i] >= 0) __builtin_prefetch(entries[codes[i]].ptr);
    for (int64_t i = 0; i < n; i++) {
        Str s = str_make(cell_text(m->s, &c[i]), c[i].len);
        if (codes[i] >= 0 && str_eq(entries[codes[i]], s)) continue;
        int32_t code = codes[i] < 0 ? -1 : dict_find(m->frozen, s);
        codes[i] = code >= 0 ? code : own_code(m, &c[i]);
    }
}
/* Strings that are in the cell: equal cells are equal strings, so a small table of cells seen answers most where few
 * are distinct. */
enum { MEMO = 1024 };
typedef struct Memo {
    Cell cell[MEMO];
    int32_t code[MEMO];
} Memo;
static void map_memo(Mapping *m, Memo *memo, const Cell *c, int64_t n, int32_t *codes) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t w[2];
        memcpy(w, &c[i], 16);
        const uint64_t at = (w[0] ^ w[1] ^ w[1] >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 54;
        uint64_t have[2];
        memcpy(have, &memo->cell[at], 16);
        if (UNLIKELY((have[0] ^ w[0]) | (have[1] ^ w[1]))) {
            map_simple(m, &c[i], 1, &memo->code[at]);
            memo->cell[at] = c[i];
        }
        codes[i] = memo->code[at];
    }
}
enum { MAP_SIMPLE, MAP_BATCHED, MAP_MEMO };
/* Counts rows by code (the last bits of it, so that the sink costs the same for all): what grouping by a string pays.
 */
static uint64_t acc_result(const uint64_t *acc) {
    uint64_t r = 0;
    for (int64_t i = 0; i < CODES; i++) r += acc[i] * (uint64_t)(2 * i + 1);
    return r;
}
static uint64_t strings_group(const Case *c, int64_t tablet) {
    const StringSet *s = &sets[c->set];
    static _Thread_local Memo memo;
    int32_t codes[VECTOR];
    uint64_t acc[CODES] = {0};
    Mapping m = {.s = s, .frozen = s->dict[c->k]};
    if (c->way == MAP_MEMO) memset(&memo, 0, sizeof memo);
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        const Cell *cells = s->cells + tablet * TABLET_ROWS + first;
        if (c->way == MAP_SIMPLE) map_simple(&m, cells, VECTOR, codes);
        else if (c->way == MAP_BATCHED) map_batched(&m, cells, VECTOR, codes);
        else map_memo(&m, &memo, cells, VECTOR, codes);
        for (int64_t i = 0; i < VECTOR; i++) acc[codes[i] & (CODES - 1)]++;
    }
    /* own codes are numbered in the order of rows: only their number of rows is certain */
    uint64_t r = 0;
    if (c->k == 0) r = acc_result(acc);
    else
        for (int64_t i = 0; i < CODES; i++) r += acc[i];
    if (m.own) {
        r += (uint64_t)m.own->n << 32;
        dict_free(m.own);
    }
    return r;
}
static uint64_t strings_group_plain(const Case *c, int64_t tablet) {
    const StringSet *s = &sets[c->set];
    uint64_t acc[CODES] = {0}, own = 0;
    const int64_t known = s->dict[c->k]->n;
    uint8_t *seen = calloc((size_t)s->distinct, 1);
    if (!seen) exit(2);
    for (int64_t i = tablet * TABLET_ROWS; i < (tablet + 1) * TABLET_ROWS; i++) {
        int64_t id = string_id(s, i);
        acc[id & (CODES - 1)]++;
        if (id >= known && !seen[id]) {
            seen[id] = 1;
            own++;
        }
    }
    free(seen);
    return c->k == 0 ? acc_result(acc) : (uint64_t)TABLET_ROWS + (own << 32);
}
/* Rows whose string is that one, by comparing cells. */
static uint64_t strings_equal(const Case *c, int64_t tablet) {
    const StringSet *s = &sets[c->set];
    char text[LONG];
    string_text(3, s->len, text);
    Cell want = {.len = (uint32_t)s->len};
    memcpy(want.bytes, text, (size_t)MIN_OF(s->len, INLINE_MAX));
    uint64_t w[2], r = 0;
    memcpy(w, &want, 16);
    const Cell *cells = s->cells + tablet * TABLET_ROWS;
    if (s->len <= INLINE_MAX) {
        for (int64_t i = 0; i < TABLET_ROWS; i++) {
            uint64_t x[2];
            memcpy(x, &cells[i], 16);
            r += !((x[0] ^ w[0]) | (x[1] ^ w[1]));
        }
        return r;
    }
    for (int64_t i = 0; i < TABLET_ROWS; i++) {
        uint64_t x;
        memcpy(&x, &cells[i], 8);
        if (x == w[0]) r += memcmp(cell_text(s, &cells[i]), text, (size_t)s->len) == 0;
    }
    return r;
}
static uint64_t strings_equal_plain(const Case *c, int64_t tablet) {
    uint64_t r = 0;
    for (int64_t i = tablet * TABLET_ROWS; i < (tablet + 1) * TABLET_ROWS; i++) r += string_id(&sets[c->set], i) == 3;
    return r;
}
static uint64_t codes_group(const Case *c, int64_t tablet) {
    alignas(64) int32_t codes[VECTOR + 16];
    uint64_t acc[CODES] = {0};
    bool nulls;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        tablet_decode(NULL, sets[c->set].packed[tablet], 0, first, NULL, VECTOR, PH_I32, codes, NULL, &nulls);
        for (int64_t i = 0; i < VECTOR; i++) acc[codes[i] & (CODES - 1)]++;
    }
    return acc_result(acc);
}
static uint64_t codes_equal(const Case *c, int64_t tablet) {
    int32_t pos[VECTOR + 16];
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR)
        r += (uint64_t)tablet_filter_range(sets[c->set].packed[tablet], 0, first, NULL, VECTOR, 3, 3, false, pos);
    return r;
}
/* Packing a column of open strings whose dictionary knows them all: mapping, then the codes. */
static uint64_t strings_pack(const Case *c, int64_t tablet) {
    const StringSet *s = &sets[c->set];
    Err err = {0};
    EncCol col;
    Tablet *t;
    int32_t *codes = xmalloc(TABLET_ROWS * 4);
    Mapping m = {.s = s, .frozen = s->dict[0]};
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR)
        map_batched(&m, s->cells + tablet * TABLET_ROWS + first, VECTOR, codes + first);
    ColSeg seg = {.cells = codes, .n = TABLET_ROWS};
    need(enc_codes(&bench.account, NULL, &seg, 1, TABLET_ROWS, &col, &err), &err, "enc_codes");
    need(tablet_build(&bench.account, 1, TABLET_ROWS, 1, &col, &t, &err), &err, "tablet_build");
    uint64_t r = (uint64_t)column_i64(&t->cols[0], 4711);
    enc_release(&bench.account, &col);
    tablet_free(t);
    free(codes);
    return r;
}
static uint64_t strings_pack_plain(const Case *c, int64_t tablet) {
    return (uint64_t)string_id(&sets[c->set], tablet * TABLET_ROWS + 4711);
}

static void add(int set, const char *what, Op op, int way, int share, uint64_t (*run)(const Case *, int64_t),
                uint64_t (*plain)(const Case *, int64_t)) {
    char label[64];
    snprintf(label, sizeof label, "%s of %s, %s", sets[set].len == SHORT ? "10 B" : "20 B",
             sets[set].distinct == 10 ? "10" : "1 M", what);
    Case *c = case_add(label, op, run, plain);
    c->set = set;
    c->way = way;
    c->k = share;
}
void add_string_cases(void) {
    for (int i = 0; i < SETS; i++) {
        add(i, "packed group", OP_GROUP_, 0, 0, codes_group, strings_group_plain);
        add(i, "group, one by one", OP_GROUP_, MAP_SIMPLE, 0, strings_group, strings_group_plain);
        add(i, "group, by vector", OP_GROUP_, MAP_BATCHED, 0, strings_group, strings_group_plain);
        if (sets[i].len == SHORT) add(i, "group, memo", OP_GROUP_, MAP_MEMO, 0, strings_group, strings_group_plain);
        add(i, "group, 10 % new", OP_GROUP_, MAP_BATCHED, 1, strings_group, strings_group_plain);
        add(i, "packed equal", OP_FILTER_, 0, 0, codes_equal, strings_equal_plain);
        add(i, "equal by cells", OP_FILTER_, 0, 0, strings_equal, strings_equal_plain);
        add(i, "pack", OP_PACK_, 0, 0, strings_pack, strings_pack_plain);
    }
}
StringView strings_view(int set) {
    const StringSet *s = &sets[set];
    return (StringView){.cells = s->cells, .heap = s->heap, .dict = s->dict[0], .packed = s->packed, .len = s->len};
}
const Case *strings_plain(int set, Op op) {
    for (int i = 0; i < bench.n_cases; i++)
        if (bench.cases[i].set == set && bench.cases[i].op == op && bench.cases[i].k == 0) return &bench.cases[i];
    return NULL;
}
