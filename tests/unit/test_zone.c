/* test_zone.c - time zones: files that are right, and ones that are not; rules; names. Expected times are those of
 * PostgreSQL 15 and of zdump. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "types/type.h"
#include "types/zone_int.h"

static int64_t at(int64_t y, int m, int d, int64_t secs) {
    return ((int64_t)date_from_ymd(y, m, d) + 10957) * 86400 + secs;
}
static const Zone *zone(const char *name) {
    Err e = {0};
    const Zone *z = NULL;
    if (zone_find(slice_of(name), &z, &e) != ST_OK) fail_msg("%s: %s %s", name, e.message, e.detail);
    return z;
}
static void refused(const char *name, const char *detail) {
    Err e = {0};
    const Zone *z;
    assert_int_equal(zone_find(slice_of(name), &z, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "22023");
    if (detail && !strstr(e.detail, detail)) fail_msg("'%s': %s", name, e.detail);
}

/* ---- files ---- */

typedef struct Bytes {
    char p[4096];
    int64_t n;
} Bytes;
static void put(Bytes *b, const void *p, int64_t n) {
    memcpy(b->p + b->n, p, (size_t)n);
    b->n += n;
}
static void put_be(Bytes *b, int64_t v, int bytes) {
    for (int i = bytes - 1; i >= 0; i--) b->p[b->n++] = (char)((uint64_t)v >> (8 * i));
}
/* Two changes, two parts: "LMT" +3600, "SUM" +7200. */
static void put_block(Bytes *b, char version, int time_bytes, int64_t leaps) {
    put(b, "TZif", 4);
    b->p[b->n++] = version;
    memset(b->p + b->n, 0, 15);
    b->n += 15;
    const int64_t counts[] = {0, 2, leaps, 2, 2, 8};
    for (int i = 0; i < 6; i++) put_be(b, counts[i], 4);
    put_be(b, 1000, time_bytes);
    put_be(b, 2000, time_bytes);
    put(b, "\1\0", 2);
    put_be(b, 3600, 4);
    put(b, "\0\0", 2);
    put_be(b, 7200, 4);
    put(b, "\1\4", 2);
    put(b, "LMT\0SUM", 8);
    for (int64_t i = 0; i < leaps; i++) put_be(b, 0, time_bytes + 4);
    put(b, "\0\0", 2);
}
static const char *decode(const Bytes *b, Zone **z) {
    Err e = {0};
    const char *fault;
    *z = NULL;
    const Status st = zone_decode("X", "x", (Slice){b->p, b->n}, z, &fault, &e);
    assert_int_equal(st == ST_OK, fault == NULL);
    assert_int_equal(st == ST_OK, *z != NULL);
    return fault;
}

static void test_versions(void **state) {
    (void)state;
    for (int version = 1; version <= 4; version++) {
        Bytes b = {.n = 0};
        Zone *z;
        put_block(&b, version == 1 ? 0 : (char)('0' + version), 4, 0);
        if (version > 1) {
            put_block(&b, (char)('0' + version), 8, 0);
            put(&b, "\n<+05>-5\n", 9);
        }
        assert_null(decode(&b, &z));
        assert_int_equal(zone_at(z, 999).offset, 3600);
        assert_int_equal(zone_at(z, 1000).offset, 7200);
        assert_true(zone_at(z, 1999).summer);
        assert_string_equal(zone_at(z, 1999).abbrev, "SUM");
        assert_int_equal(zone_at(z, 2000).offset, version == 1 ? 3600 : 18000);
        zone_free(z);
        const int64_t whole = b.n;
        for (b.n = 0; b.n < whole; b.n++) { /* cut off anywhere */
            assert_non_null(decode(&b, &z));
            assert_null(z);
        }
    }
}

static void test_damage(void **state) {
    (void)state;
    Bytes good = {.n = 0}, b;
    Zone *z;
    put_block(&good, '2', 4, 0);
    const int64_t second = good.n;
    put_block(&good, '2', 8, 0);
    put(&good, "\nAAA3\n", 6);
    static const struct {
        int64_t at; /* behind the second header's beginning */
        char to;
        const char *fault;
    } cases[] = {
        {0, 'x', "second header"}, {20, 1, "too early"},    {23, 1, "impossible"},    {39, 0, "impossible"},
        {35, 0, "types"},          {44, 1, "in order"},     {60, 2, "does not have"}, {62, 1, "out of range"},
        {66, 2, "neither"},        {67, 8, "has no end"},   {81, 'x', "has no end"},  {84, 'x', "last line"},
        {85, ',', "not a rule"},   {89, 'x', "has no end"},
    };
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        b = good;
        b.p[second + cases[i].at] = cases[i].to;
        const char *fault = decode(&b, &z);
        if (cases[i].at == 35) { /* fewer changes: everything is elsewhere */
            assert_non_null(fault);
            continue;
        }
        if (!fault || !strstr(fault, cases[i].fault))
            fail_msg("byte %d: %s, not %s", (int)cases[i].at, fault ? fault : "fine", cases[i].fault);
    }
    b.n = 0;
    put_block(&b, 0, 4, 1);
    assert_non_null(strstr(decode(&b, &z), "leap seconds"));
    for (int64_t i = 0; i < good.n; i++) { /* any byte: an error or a zone that can be used */
        b = good;
        for (int k = 0; k < 4; k++) {
            b.p[i] = (char)(k == 0 ? 0 : k == 1 ? 0x7f : k == 2 ? 0x80 : 0xff);
            if (decode(&b, &z)) continue;
            for (int64_t t = -3000; t < 3000; t += 500) (void)zone_at(z, t);
            zone_free(z);
        }
    }
}

static void write_file(const char *dir, const char *name, const void *p, int64_t n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal((int64_t)fwrite(p, 1, (size_t)n, f), n);
    fclose(f);
}
static void test_directory(void **state) {
    (void)state;
    char dir[] = "/tmp/stele_zones_XXXXXX", path[512];
    Bytes b = {.n = 0};
    assert_non_null(mkdtemp(dir));
    put_block(&b, 0, 4, 0);
    write_file(dir, "Town", b.p, b.n);
    write_file(dir, ".hidden", b.p, b.n);
    write_file(dir, "Cut", b.p, b.n - 1);
    write_file(dir, "Notes", "text", 4);
    snprintf(path, sizeof path, "%s/Land", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "Village", b.p, b.n);
    setenv("TZDIR", dir, 1);
    assert_string_equal(zone_name(zone("tOWN")), "Town");
    assert_ptr_equal(zone("TOWN"), zone("Town"));
    assert_string_equal(zone_name(zone("land/village")), "Land/Village");
    assert_int_equal(zone_at(zone("Land/Village"), 1500).offset, 7200);
    refused("Cut", "It ends too early.");
    refused("Notes", "It does not begin as such a file does.");
    refused(".hidden", NULL);
    refused("../tmp", NULL);
    refused("Land", NULL);
    refused("Land/", NULL);
    refused("/Town", NULL);
    refused("Town/x", NULL);
    refused("", NULL);
    setenv("TZDIR", "/nonexistent", 1);
    refused("Elsewhere", NULL);
    assert_null(zone("utc"));
    assert_string_equal(zone_name(zone("Gmt")), "GMT");
    unsetenv("TZDIR");
    static const char *const made[] = {"Town", ".hidden", "Cut", "Notes", "Land/Village"};
    for (int64_t i = 0; i < ARRAY_LEN(made); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, made[i]);
        (void)unlink(path);
    }
    snprintf(path, sizeof path, "%s/Land", dir);
    (void)rmdir(path);
    (void)rmdir(dir);
}

/* ---- rules ---- */

static void test_rules(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "A",
                                        "A168",
                                        "A1:60",
                                        "A3B,M13.1.0,M1.1.0",
                                        "A3B,J0,J1",
                                        "A3B,366,1",
                                        "A3B,M3.2.0",
                                        "A3B,M3.2.0,M1.1",
                                        "A3B,M3.6.0,M1.1.0",
                                        "<A3",
                                        "A3B4x",
                                        "A3B,1,2,3",
                                        "A3<>",
                                        "A3B,J1/168,J2"};
    ZoneRule r;
    for (int64_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (zone_rule_parse(slice_of(wrong[i]), &r)) fail_msg("%s is taken", wrong[i]);
    assert_true(zone_rule_parse(slice_of("CET-1CEST,M3.5.0,M10.5.0/3"), &r));
    assert_int_equal(zone_rule_span(&r, at(2026, 3, 29, 3599)).part.offset, 3600);
    assert_int_equal(zone_rule_span(&r, at(2026, 3, 29, 3600)).part.offset, 7200);
    assert_int_equal(zone_rule_span(&r, at(2026, 10, 25, 3599)).part.offset, 7200);
    assert_int_equal(zone_rule_span(&r, at(2026, 10, 25, 3600)).part.offset, 3600);
    const ZoneSpan winter = zone_rule_span(&r, at(2026, 12, 31, 0));
    assert_true(winter.from == at(2026, 10, 25, 3600) && winter.to == at(2027, 3, 28, 3600) && !winter.part.summer);
    (void)zone_rule_span(&r, INT64_MIN); /* far beyond timestamps */
    (void)zone_rule_span(&r, INT64_MAX);
    assert_true(zone_rule_parse(slice_of("IST-1GMT0,M10.5.0,M3.5.0/1"), &r)); /* the winter is its summer time */
    assert_int_equal(zone_rule_span(&r, at(2026, 1, 1, 0)).part.offset, 0);
    assert_int_equal(zone_rule_span(&r, at(2026, 7, 1, 0)).part.offset, 3600);
    assert_true(zone_rule_parse(slice_of("<-02>2<-01>,M3.5.0/-1,M10.5.0/0"), &r)); /* the evening before */
    assert_int_equal(zone_rule_span(&r, at(2026, 3, 29, 3599)).part.offset, -7200);
    assert_int_equal(zone_rule_span(&r, at(2026, 3, 29, 3600)).part.offset, -3600);
    assert_true(zone_rule_parse(slice_of("A3B4,0/0,J365/23"), &r)); /* all the year */
    assert_int_equal(zone_rule_span(&r, at(2026, 1, 1, 0)).part.offset, -14400);
    assert_true(zone_rule_span(&r, 0).from == INT64_MIN && zone_rule_span(&r, 0).to == INT64_MAX);
}

static void test_local(void **state) {
    (void)state;
    const Zone *berlin = zone("Europe/Berlin");
    const int64_t day = (int64_t)date_from_ymd(2026, 3, 29) * USECS_PER_DAY, hour = 3600 * USECS_PER_SEC;
    assert_int_equal(zone_offset_of_local(berlin, day + 2 * hour - 1), 3600);
    assert_int_equal(zone_offset_of_local(berlin, day + 2 * hour), 3600); /* skipped */
    assert_int_equal(zone_offset_of_local(berlin, day + 3 * hour), 7200);
    const int64_t back = (int64_t)date_from_ymd(2026, 10, 25) * USECS_PER_DAY;
    assert_int_equal(zone_offset_of_local(berlin, back + 2 * hour - 1), 7200);
    assert_int_equal(zone_offset_of_local(berlin, back + 2 * hour), 3600); /* twice */
    ZoneRef ref;
    Err e = {0};
    assert_int_equal(zone_ref_find(slice_of("MSK"), &ref, &e), ST_OK);
    assert_int_equal(zone_ref_offset_at(&ref, (int64_t)date_from_ymd(2012, 1, 1) * USECS_PER_DAY), 4 * 3600);
    assert_int_equal(zone_ref_offset_at(&ref, (int64_t)date_from_ymd(2020, 1, 1) * USECS_PER_DAY), 3 * 3600);
    for (int64_t i = 0; zone_abbrev_nth(i); i++) { /* in order, and each found */
        bool found;
        if (i) assert_true(strcmp(zone_abbrev_nth(i - 1), zone_abbrev_nth(i)) < 0);
        assert_int_equal(zone_abbrev(slice_of(zone_abbrev_nth(i)), &found, &ref, &e), ST_OK);
        assert_true(found);
    }
    for (int i = 0; i < 2; i++) { /* fails without memory, and then works */
        const Zone *z;
        mem_fail_at(i == 0 ? 1 : 0);
        const Status st = zone_find(slice_of("<+01:23>-1:23"), &z, &e);
        mem_fail_at(0);
        assert_int_equal(st, i == 0 ? ST_ERROR : ST_OK);
        if (i == 0) assert_string_equal(e.sqlstate, "53200");
        err_clear(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions), cmocka_unit_test(test_damage), cmocka_unit_test(test_directory),
        cmocka_unit_test(test_rules),    cmocka_unit_test(test_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
