/* test_decode.c - decoding and filtering of every width, cell type and instruction set against a naive reading. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "storage/decode.h"
#include "storage/storage_int.h"

enum { ROWS = 3000 };
static MemAccount root;
static uint64_t rng_state = 88172645463325252ULL;
static uint64_t rnd(void) {
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state;
}

typedef struct Col {
    int64_t v[ROWS];
    uint8_t valid[ROWS];
    bool nulls;
    Tablet *tab;
} Col;

static Table *table_of(TypeId id, int precision) {
    Type ty;
    memset(&ty, 0, sizeof ty);
    ty.id = (uint8_t)id;
    ty.precision = (uint8_t)precision;
    ColumnDef d = {.name = "x", .type = ty};
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&root, "t", 1, &d, 0, NULL, 0, NULL, &t, &e), ST_OK);
    return t;
}

static void *cells_of(const Col *c, Phys p) {
    char *m = calloc(ROWS, 16);
    for (int i = 0; i < ROWS; i++) {
        int128_t x = c->v[i];
        memcpy(m + i * phys_size(p), &x, (size_t)phys_size(p));
    }
    return m;
}

static int64_t read_cell(Phys p, const void *m, int64_t i) {
    switch (p) {
    case PH_BOOL: return ((const uint8_t *)m)[i];
    case PH_I16: return ((const int16_t *)m)[i];
    case PH_I32: return ((const int32_t *)m)[i];
    case PH_I64: return ((const int64_t *)m)[i];
    default: return (int64_t)((const int128_t *)m)[i];
    }
}

static void check_decode(const Table *t, const Col *c, Phys out, int64_t first, const int32_t *pos, int64_t n) {
    static char buf[ROWS * 16 + 64];
    static uint8_t valid[ROWS + 64];
    bool nulls;
    memset(buf, 0x5a, sizeof buf);
    memset(valid, 7, sizeof valid);
    tablet_decode(t, c->tab, 0, first, pos, n, (uint8_t)out, buf, valid, &nulls);
    assert_int_equal(nulls, n >= 0 && c->nulls);
    for (int64_t i = 0; i < n; i++) {
        int64_t r = pos ? pos[i] : first + i;
        if (c->nulls) assert_int_equal(valid[i], c->valid[r]);
        else assert_int_equal(valid[i], 7);
        assert_true(read_cell(out, buf, i) == (c->valid[r] ? c->v[r] : 0));
    }
    for (int64_t i = n * phys_size(out); i < n * phys_size(out) + 32; i++) assert_int_equal(buf[i], 0x5a);
}

static void check_range(const Col *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo, int64_t hi, bool neg) {
    static int32_t out[ROWS + 64], want[ROWS];
    memset(out, 0x5a, sizeof out);
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t r = pos ? pos[i] : first + i;
        if (c->valid[r] && (c->v[r] >= lo && c->v[r] <= hi) != neg) want[k++] = (int32_t)r;
    }
    assert_int_equal(tablet_filter_range(c->tab, 0, first, pos, n, lo, hi, neg, out), k);
    for (int64_t i = 0; i < k; i++) assert_int_equal(out[i], want[i]);
    assert_int_equal(out[n], 0x5a5a5a5a);
    if (pos) { /* in place */
        memcpy(out, pos, (size_t)n * 4);
        assert_int_equal(tablet_filter_range(c->tab, 0, first, out, n, lo, hi, neg, out), k);
        for (int64_t i = 0; i < k; i++) assert_int_equal(out[i], want[i]);
    }
}

static int64_t make_positions(int32_t *pos) {
    int64_t n = 0;
    for (int32_t i = 0; i < ROWS; i++)
        if (rnd() % 3) pos[n++] = i;
    return n;
}

static void check_column(const Table *t, Col *c, int64_t base, int width, Phys stored) {
    static int32_t pos[ROWS];
    int64_t np = make_positions(pos);
    static const int64_t cuts[][2] = {{0, ROWS}, {1, 100}, {7, 1000},    {64, 1024}, {63, 65},
                                      {2999, 1}, {13, 0},  {1000, 2000}, {5, 2995}};
    uint64_t range = width >= 64 ? ~0ULL : width == 0 ? 0 : (1ULL << width) - 1;
    for (int p = PH_BOOL; p <= PH_I128; p++) {
        int bits = p == PH_BOOL ? 8 : p == PH_I16 ? 16 : p == PH_I32 ? 32 : 64;
        bool fits = true;
        for (int i = 0; i < ROWS; i++) {
            if (!c->valid[i] || bits == 64) continue;
            int64_t v = c->v[i];
            fits = fits && (p == PH_BOOL ? v >= 0 && v <= 255 : v >= -(1LL << (bits - 1)) && v < 1LL << (bits - 1));
        }
        if (!fits) continue;
        for (int k = 0; k < ARRAY_LEN(cuts); k++) check_decode(t, c, (Phys)p, cuts[k][0], NULL, cuts[k][1]);
        check_decode(t, c, (Phys)p, 0, pos, np);
        check_decode(t, c, (Phys)p, 0, pos + 5, 1);
    }
    (void)stored;
    for (int k = 0; k < 24; k++) {
        int64_t a = (int64_t)((uint64_t)base + rnd() % (range ? range : 1)),
                b = (int64_t)((uint64_t)base + rnd() % (range ? range : 1));
        if (width == 64) a = (int64_t)rnd(), b = (int64_t)rnd();
        int64_t lo = MIN_OF(a, b), hi = MAX_OF(a, b);
        if (k == 0) lo = INT64_MIN, hi = INT64_MAX;
        if (k == 1) lo = c->v[17], hi = c->v[17];
        if (k == 2) lo = 5, hi = 4;
        if (k == 3) lo = INT64_MIN;
        if (k == 4) hi = INT64_MAX;
        if (k == 5) lo = INT64_MIN, hi = base;
        const int64_t *cut = cuts[k % ARRAY_LEN(cuts)];
        for (int neg = 0; neg < 2; neg++) {
            check_range(c, cut[0], NULL, cut[1], lo, hi, neg);
            check_range(c, 0, pos, np, lo, hi, neg);
        }
    }
}

static void check_codes(const Col *c, int64_t n_codes) {
    uint8_t *mask = malloc((size_t)n_codes + 1);
    static int32_t out[ROWS], pos[ROWS];
    int64_t np = make_positions(pos);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i <= n_codes; i++) mask[i] = rnd() & 1;
        for (int by_pos = 0; by_pos < 2; by_pos++) {
            int64_t n = by_pos ? np : ROWS - 3;
            int64_t got = tablet_filter_codes(c->tab, 0, 3, by_pos ? pos : NULL, n, mask, n_codes, out), k = 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t r = by_pos ? pos[i] : 3 + i;
                if (!mask[c->valid[r] ? c->v[r] : n_codes]) continue;
                assert_int_equal(out[k], r);
                k++;
            }
            assert_int_equal(got, k);
        }
    }
    free(mask);
}

/* Codes 0 .. mask in other order stay as wide; three times as far apart they do not. */
static void check_remap(const EncCol *enc, const Col *c, int64_t mask) {
    static uint8_t data[ROWS + TABLET_GUARD];
    int32_t other[256], wide[256];
    for (int i = 0; i < 256; i++) {
        other[i] = 300 - i;
        wide[i] = 3 * i;
    }
    EncCol now = *enc;
    if (enc->data) memcpy(data, enc->data, (size_t)enc->data_bytes);
    now.data = data;
    if (mask > 0) assert_false(enc_remap_bytes(&now, ROWS, wide));
    if (enc->data) assert_memory_equal(data, enc->data, enc->data_bytes);
    assert_int_equal(enc_remap_bytes(&now, ROWS, other), !c->nulls && enc->width <= 8);
    if (c->nulls || enc->width > 8) return;
    assert_int_equal(now.width, enc->width);
    assert_int_equal(now.min, 300 - mask);
    assert_int_equal(now.max, 300);
    TabletColumn v = {.encoding = ENC_FOR, .width = now.width, .base = now.base, .data = data};
    for (int i = 0; i < ROWS; i++) assert_int_equal(now.base + (int64_t)for_code(&v, i), 300 - c->v[i]);
}

static void run_widths(bool nulls) {
    static const int widths[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
    static Col c;
    Err e = {0};
    for (int w = 0; w < ARRAY_LEN(widths); w++) {
        static const int64_t bases[] = {0, 1, -100, 1000000007, -1000000000000};
        for (int b = 0; b < ARRAY_LEN(bases); b++) {
            int width = widths[w];
            Phys stored = b == 4 || width == 64 ? PH_I64 : PH_I64;
            uint64_t mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
            for (int i = 0; i < ROWS; i++) {
                uint64_t code = i == 17 ? mask : i == 18 ? 0 : rnd() & mask;
                c.v[i] = width == 64 ? (int64_t)code : bases[b] + (int64_t)code;
                c.valid[i] = nulls && i != 17 && i != 18 ? rnd() % 4 != 0 : 1;
            }
            c.nulls = nulls;
            void *cells = cells_of(&c, stored);
            ColSeg segs[2] = {{cells, nulls ? c.valid : NULL, 1001},
                              {(char *)cells + 1001 * phys_size(stored), nulls ? c.valid + 1001 : NULL, ROWS - 1001}};
            EncCol enc;
            Table *t = table_of(T_INT8, 0);
            assert_int_equal(enc_fixed(&root, (uint8_t)stored, segs, 2, ROWS, &enc, &e), ST_OK);
            assert_int_equal(enc.width, width);
            if (b == 0 && width <= 8) check_remap(&enc, &c, (int64_t)mask);
            assert_int_equal(tablet_build(&root, 1, ROWS, 1, &enc, &c.tab, &e), ST_OK);
            enc_release(&root, &enc);
            check_column(t, &c, bases[b], width, stored);
            if (b == 0 && width <= 24) check_codes(&c, (int64_t)mask + 1);
            tablet_free(c.tab);
            table_free(t);
            free(cells);
        }
    }
}
/* column_copy_cells gives what decoding to the stored type gives, with validity for all rows. */
static void check_copy(const Table *t, const Col *c, Phys stored, int64_t first, int64_t n) {
    static char want[ROWS * 16], got[ROWS * 16 + 32];
    static uint8_t want_valid[ROWS], valid[ROWS + 8];
    int64_t bytes = n * phys_size(stored);
    bool nulls;
    memset(got, 0x5a, sizeof got);
    memset(valid, 7, sizeof valid);
    tablet_decode(t, c->tab, 0, first, NULL, n, (uint8_t)stored, want, want_valid, &nulls);
    column_copy_cells(&c->tab->cols[0], first, n, got, NULL);
    if (n > 0) assert_memory_equal(got, want, bytes);
    assert_int_equal(got[bytes], 0x5a);
    assert_int_equal(valid[0], 7);
    column_copy_cells(&c->tab->cols[0], first, n, NULL, valid);
    for (int64_t i = 0; i < n; i++) assert_int_equal(valid[i], c->valid[first + i]);
    assert_int_equal(valid[n], 7);
}
/* The same cells as a home has them: each in a row of other columns. */
static void check_in_rows(const Table *t, Col *c, int64_t base, int width, Phys stored) {
    enum { STRIDE = 40, AT = 16 };
    TabletColumn *tc = &c->tab->cols[0], was = *tc;
    int64_t size = phys_size(stored);
    char *rows = calloc(ROWS, STRIDE);
    for (int64_t i = 0; i < ROWS; i++) memcpy(rows + i * STRIDE + AT, (const char *)was.data + i * size, (size_t)size);
    for (int home = 0; home < 2; home++) {
        if (home) tc->data = rows + AT;
        if (home) tc->stride = STRIDE;
        check_column(t, c, base, width, stored);
        check_copy(t, c, stored, 0, ROWS);
        check_copy(t, c, stored, 63, 1000);
        check_copy(t, c, stored, 7, 0);
    }
    *tc = was;
    free(rows);
}
/* Plain cells of a delta, every stored type. */
static void run_plain(bool nulls) {
    static const struct {
        TypeId id;
        int prec;
        Phys p;
        int64_t range;
    } kinds[] = {{T_BOOL, 0, PH_BOOL, 2},
                 {T_INT2, 0, PH_I16, 30000},
                 {T_INT4, 0, PH_I32, 2000000000},
                 {T_INT8, 0, PH_I64, INT64_MAX},
                 {T_NUMERIC, 38, PH_I128, INT64_MAX}};
    static Col c;
    Err e = {0};
    for (int k = 0; k < ARRAY_LEN(kinds); k++) {
        Table *t = table_of(kinds[k].id, kinds[k].prec);
        for (int i = 0; i < ROWS; i++) {
            c.v[i] = (int64_t)(rnd() % (uint64_t)kinds[k].range);
            c.valid[i] = nulls && i != 17 ? rnd() % 4 != 0 : 1;
        }
        c.nulls = nulls;
        void *cells = cells_of(&c, kinds[k].p);
        Vec v = {.data = cells, .valid = nulls ? c.valid : NULL, .phys = (uint8_t)kinds[k].p, .type = t->cols[0].type};
        assert_int_equal(table_append(t, ROWS, &v, NULL, NULL, &e), ST_OK);
        c.tab = t->tablets[0];
        check_in_rows(t, &c, 0, k == 0 ? 1 : k == 1 ? 14 : k == 2 ? 30 : 62, kinds[k].p);
        if (k == 0) check_codes(&c, 2);
        free(cells);
        table_free(t);
    }
}
static void test_all(void **state) {
    (void)state;
    mem_account_init(&root, NULL, "test", 0, NULL);
    for (int i = 0; i < decode_isa_count(); i++) {
        print_message("instruction set: %s\n", decode_isa_name(i));
        decode_isa_force(i);
        for (int nulls = 0; nulls < 2; nulls++) {
            run_widths(nulls);
            run_plain(nulls);
        }
    }
    decode_isa_force(0);
    assert_int_equal(atomic_load(&root.used), 0);
}

static void test_live_rows(void **state) {
    (void)state;
    uint64_t bits[(ROWS + 63) / 64] = {0};
    static int32_t out[ROWS];
    Tablet tab = {.rows = ROWS, .deleted = bits};
    bool ident;
    assert_int_equal(tablet_live_rows(&tab, 5, 70, out, &ident), 70);
    assert_true(ident);
    tab.n_deleted = 1;
    bits[1] = 1ULL << 3; /* row 67 */
    assert_int_equal(tablet_live_rows(&tab, 0, 67, out, &ident), 67);
    assert_true(ident);
    assert_int_equal(tablet_live_rows(&tab, 68, 1000, out, &ident), 1000);
    assert_true(ident);
    assert_int_equal(tablet_live_rows(&tab, 60, 10, out, &ident), 9);
    assert_false(ident);
    assert_int_equal(out[6], 66);
    assert_int_equal(out[7], 68);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_live_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
