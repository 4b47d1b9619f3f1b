/* test_gpl_model.c - the model of pipelines [GPL §4]: its equations on small numbers, limits kept, choices that move the way they should. */
#include "unit.h"

#include "cost/gpl.h"

static bool near(double a, double b, double by) { return a - b <= by && b - a <= by; }

static GplMachine machine(void) {
    GplMachine m = {.units = 10, .concurrency = 2, .instruction_ns = 0.001, .read_gbps = 1000, .launch_ns = 1000};
    static const int64_t counts[] = {1, 4, 16};
    static const double rates[] = {20, 80, 50};
    for (int i = 0; i < 12; i++) { /* more for big packets and much data */
        m.channels.at[i].channels = counts[i % 3];
        m.channels.at[i].packet_bytes = i / 3 % 2 ? 65536 : 8192;
        m.channels.at[i].bytes = i / 6 ? 1 << 24 : 1 << 20;
        m.channels.at[i].gbps = rates[i % 3] * (i / 3 % 2 ? 2 : 1) * (i / 6 ? 1.5 : 1);
    }
    m.channels.n = 12;
    return m;
}

static void gamma_takes_the_nearest(void **state) {
    (void)state;
    GplMachine m = machine();
    assert_true(gpl_channel_rate(&m.channels, 4, 8192, 1 << 20) == 80);
    assert_true(gpl_channel_rate(&m.channels, 1, 8192, 1 << 20) == 20);
    assert_true(gpl_channel_rate(&m.channels, 32, 10000, 1 << 19) == 50);
    assert_true(gpl_channel_rate(&m.channels, 4, 60000, 1 << 25) == 240);
    ProfileChannels none = {0};
    assert_true(gpl_channel_rate(&none, 4, 8192, 1 << 20) == 0);
}

/* Two kernels by hand: c_1 = 1000 * 12 * 0.001 / 0.5, m_1 = 8000 / 1000; c_2 = 500 * 6 * 0.001 / 0.25, m_2 = 500 * 16 / 80. */
static void equations(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[2] = {{.share = 1, .row_bytes = 8, .compute = 10, .memory = 2, .max_groups = 100}, {.share = 0.5, .row_bytes = 16, .compute = 5, .memory = 1, .max_groups = 80}};
    GplChoice c = {.tile_rows = 1000, .channels = 4, .packet_rows = 512, .groups = {50, 20}};
    gpl_estimate(&m, s, 2, 10000, &c);
    assert_true(near(c.stage_ns[0], 24 + 8, 1e-9));
    assert_true(near(c.stage_ns[1], 12 + 100, 1e-9));
    assert_true(near(c.delay_ns, 80, 1e-9));
    assert_true(near(c.ns, 10 * ((32.0 + 112) / 2 + 80 + 2000), 1e-6));
    m.concurrency = 1;
    m.waits_are_yields = true;
    gpl_estimate(&m, s, 2, 10500, &c); /* the last tile counts as one */
    assert_true(near(c.delay_ns, 0, 0));
    assert_true(near(c.ns, 11 * (32.0 + 112 + 2000), 1e-6));
}

static double used(const GplStage *s, int n, const GplChoice *c) {
    double u = 0;
    for (int i = 0; i < n; i++) u += (double)c->groups[i] / (double)s[i].max_groups;
    return u;
}

static void choice_fits_and_is_best(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[3] = {{1, 8, 10, 2, 160}, {0.3, 16, 60, 10, 120}, {0.1, 12, 6, 1, 80}};
    GplChoice best, c;
    const GplFixed none = {0};
    gpl_choose(&m, s, 3, 6e7, 2048, 1024, &none, &best);
    assert_true(best.ns > 0);
    assert_true(used(s, 3, &best) <= 1); /* Eq. 2 */
    for (int i = 0; i < 3; i++) assert_true(best.groups[i] >= 1);
    assert_int_equal(best.tile_rows % 2048, 0);
    assert_int_equal(best.packet_rows % 1024, 0);
    assert_int_equal(best.channels, 4); /* where Gamma is highest */
    for (int64_t tile = 1 << 14; tile <= 1 << 24; tile *= 4)
        for (int64_t n = 1; n <= 16; n *= 2) {
            const GplFixed fixed = {.tile_rows = tile, .channels = n};
            gpl_choose(&m, s, 3, 6e7, 2048, 1024, &fixed, &c);
            assert_int_equal(c.tile_rows, tile);
            assert_int_equal(c.channels, n);
            assert_true(best.ns <= c.ns * 1.001);
        }
}

/* No kernel is kept out by the others having groups in every unit. */
static void all_find_room(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[3] = {{1, 8, 1000, 2, 160}, {0.3, 16, 10, 1, 10}, {0.1, 12, 6, 1, 40}};
    for (int64_t groups = 0; groups <= 64; groups += 16) {
        const GplFixed fixed = {.groups = groups};
        GplChoice c;
        gpl_choose(&m, s, 3, 6e7, 2048, 1024, &fixed, &c);
        int64_t all = c.groups[0] + c.groups[1] + c.groups[2];
        for (int i = 0; i < 3; i++) assert_true(c.groups[i] >= 1 && all - c.groups[i] < m.units);
    }
    const GplFixed none = {0};
    GplChoice c;
    gpl_choose(&m, s, 3, 100, 2048, 1024, &none, &c); /* one packet */
    for (int i = 0; i < 3; i++) assert_int_equal(c.groups[i], 1);
}

/* The kernel with most to do gets most of the device. */
static void groups_follow_work(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[2] = {{1, 1, 5, 1, 320}, {1, 1, 100, 10, 320}};
    const GplFixed none = {0};
    GplChoice c;
    gpl_choose(&m, s, 2, 1e7, 2048, 1024, &none, &c);
    assert_true(c.groups[1] > 2 * c.groups[0]);
    s[0].compute = 500;
    gpl_choose(&m, s, 2, 1e7, 2048, 1024, &none, &c);
    assert_true(c.groups[0] > 2 * c.groups[1]);
}

static void what_is_fixed_stays(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[2] = {{1, 8, 5, 1, 64}, {0.5, 8, 5, 1, 64}};
    const GplFixed fixed = {.tile_rows = 5000, .channels = 3, .packet_rows = 3, .groups = 8};
    GplChoice c;
    gpl_choose(&m, s, 2, 1e6, 1, 1, &fixed, &c);
    assert_int_equal(c.tile_rows, 5000);
    assert_int_equal(c.channels, 3);
    assert_int_equal(c.packet_rows, 3);
    assert_int_equal(c.groups[0], 8);
    assert_int_equal(c.groups[1], 8);
    const GplFixed many = {.groups = 1000}; /* too many: cut to what fits */
    gpl_choose(&m, s, 2, 1e6, 2048, 1024, &many, &c);
    assert_true(used(s, 2, &c) <= 1);
    gpl_choose(&m, s, 2, 0, 2048, 1024, &many, &c); /* no rows at all */
    assert_true(c.ns > 0 && c.tile_rows > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_takes_the_nearest), cmocka_unit_test(equations),           cmocka_unit_test(choice_fits_and_is_best),
        cmocka_unit_test(groups_follow_work),      cmocka_unit_test(what_is_fixed_stays),
        cmocka_unit_test(all_find_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
