/* test_gpl_model.c - the model of pipelines [GPL §4]: its equations on small numbers, limits kept, choices that move
 * the way they should. */
#include "unit.h"

#include <math.h>
#include <time.h>

#include "base/base.h"
#include "base/log.h"
#include "cost/gpl.h"

static bool near(double a, double b, double by) { return a - b <= by && b - a <= by; }

static GplMachine machine(void) {
    GplMachine m = {.units = 10,
                    .concurrency = 2,
                    .instruction_ns = 0.001,
                    .latency_ns = 500,
                    .read_gbps = 1000,
                    .launch_ns = 1000,
                    .fixed_ns = 5000};
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

/* Two kernels by hand. K_1: 1000 * 12 * 0.001 / 0.5 = 24 to issue, but one turn of its groups takes (1 + 2) * 500; 8000
 * / 1000 to read; 1000 * 0.001 random. K_2: 500 * 6 * 0.001 / 0.25 = 12, one turn 500; 8000 / (80 * 0.25 / 0.4) through
 * the channel. */
static void equations(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[2] = {{.share = 1,
                      .row_bytes = 8,
                      .compute = 12,
                      .chain = 2,
                      .random_ns = 0.001,
                      .group_rows = 256,
                      .max_groups = 100},
                     {.share = 0.5, .row_bytes = 16, .compute = 6, .group_rows = 256, .max_groups = 80}};
    GplChoice c = {.tile_rows = 1000, .channels = 4, .packet_rows = 512, .groups = {50, 20}};
    gpl_estimate(&m, s, 2, 10000, &c);
    assert_true(near(c.stage_ns[0], 1500 + 8 + 1, 1e-9));
    assert_true(near(c.stage_ns[1], 500 + 160, 1e-9));
    assert_true(near(c.delay_ns, 0, 0));
    assert_true(near(c.ns, 5000 + 10 * (2169.0 / 2 + 2000), 1e-6)); /* processors that take turns */
    gpl_estimate(&m, s, 2, 10500, &c);                              /* the last tile counts as one */
    assert_true(near(c.ns, 5000 + 11 * (2169.0 / 2 + 2000), 1e-6));
    m.concurrency = 0; /* so small that K_2's first packet comes when K_1 is done */
    gpl_estimate(&m, s, 2, 10000, &c);
    assert_true(near(c.delay_ns, 2169.0 / 2, 1e-9));
    assert_true(near(c.ns, 5000 + 10 * (2169 + 2000), 1e-6));
    m.group_ns = 100;
    gpl_estimate(&m, s, 2, 10000, &c);
    assert_true(near(c.stage_ns[0], 1609, 1e-9));
    c.tile_rows = 10000000; /* the slowest, and the first packets of both */
    gpl_estimate(&m, s, 2, 10000000, &c);
    double slow = fmax(c.stage_ns[0], c.stage_ns[1]),
           fill = c.stage_ns[0] * 512 * 50 / 1e7 + c.stage_ns[1] * 512 * 20 / 5e6;
    assert_true(near(c.ns, 5000 + slow + fill + 2000, 1));
    s[1].busy_ns = 2; /* profiled: 5e6 rows * 2 / 20 groups, whatever is guessed; for fewer rows than a turn has, those
                         of the turn */
    gpl_estimate(&m, s, 2, 10000000, &c);
    assert_true(near(c.stage_ns[1], 100 + 5e6 * 2 / 20, 1e-6));
    c.tile_rows = 100;
    gpl_estimate(&m, s, 2, 100, &c);
    assert_true(near(c.stage_ns[1], 100 + 50 * 2, 1e-6));
}

static double used(const GplStage *s, int n, const GplChoice *c) {
    double u = 0;
    for (int i = 0; i < n; i++) u += (double)c->groups[i] / (double)s[i].max_groups;
    return u;
}

static void choice_fits_and_is_best(void **state) {
    (void)state;
    GplMachine m = machine();
    GplStage s[3] = {{1, 8, 12, 2, 0, 256, 160}, {0.3, 16, 70, 3, 0, 256, 120}, {0.1, 12, 7, 1, 0, 256, 80}};
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
    GplStage s[3] = {{1, 8, 1000, 2, 0, 256, 160}, {0.3, 16, 10, 1, 0, 256, 10}, {0.1, 12, 6, 1, 0, 256, 40}};
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

/* Units that take groups of several kernels: every group finds room, wherever those before it were put. Tried with
 * placings that leave as little as they can. */
static bool placed(const GplStage *s, int n, const int64_t *groups, int units, int how, int first) {
    double room[132];
    for (int u = 0; u < units; u++) room[u] = 1;
    for (int nth = 0; nth < n; nth++) {
        int i = (first + nth) % n;
        double each = (double)units / (double)s[i].max_groups;
        for (int64_t k = 0; k < groups[i]; k++) {
            int best = -1;
            for (int u = 0; u < units; u++) /* the fullest, the emptiest, the first, in turn by kernel */
                if (room[u] >= each - 1e-9 &&
                    (best < 0 || (how == 0 && room[u] < room[best]) || (how == 1 && room[u] > room[best]) ||
                     (how == 3 && (i % 2 ? room[u] < room[best] : room[u] > room[best]))))
                    best = u;
            if (best < 0) return false;
            room[best] -= each;
        }
    }
    return true;
}
static void shared_units(void **state) {
    (void)state;
    GplMachine m = machine();
    m.shares_units = true;
    m.units = 132;
    m.concurrency = 0;
    const GplStage s[3] = {
        {1, 8, 1000, 2, 0, 256, 132 * 8}, {0.3, 16, 300, 3, 0, 256, 132 * 4}, {0.1, 12, 600, 1, 0, 256, 132 * 3}};
    for (int64_t groups = 0; groups <= 1024; groups += 64) {
        const GplFixed fixed = {.groups = groups};
        GplChoice c;
        gpl_choose(&m, s, 3, 6e7, 2048, 1024, &fixed, &c);
        assert_true(gpl_all_start(&m, s, 3, c.groups));
        if (groups == 0)
            assert_true(c.groups[0] + c.groups[1] + c.groups[2] > 132); /* more than units of their own would allow */
        for (int how = 0; how < 12; how++) assert_true(placed(s, 3, c.groups, 132, how % 4, how / 4));
    }
    const int64_t full[1] = {132 * 8}, too_many[3] = {132 * 6, 66, 66}, fits[3] = {264, 132, 1}, least[3] = {1, 1, 1};
    assert_true(gpl_all_start(&m, s, 1, full)); /* alone */
    assert_false(gpl_all_start(&m, s, 3, too_many));
    assert_true(gpl_all_start(&m, s, 3, fits));
    assert_true(gpl_all_start(&m, s, 3, least));
}

/* This thread's processor time: other programs do not count. */
static int64_t used_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The search is made for every run of a pipeline. */
static void choosing_is_quick(void **state) {
    (void)state;
    GplMachine m = machine();
    m.shares_units = true;
    m.concurrency = 0;
    m.units = 132;
    for (int64_t i = 12; i < PROFILE_CHANNELS_MAX; i++) m.channels.at[i] = m.channels.at[i - 12];
    m.channels.n = PROFILE_CHANNELS_MAX;
    GplStage s[6];
    for (int i = 0; i < 6; i++) s[i] = (GplStage){1.0 / (1 + i), 16, 50 + 10 * i, 2, 0.001, 256, 528};
    const GplFixed none = {0};
    GplChoice c;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        int64_t start = used_ns();
        gpl_choose(&m, s, 6, 6e7, 2048, 1024, &none, &c);
        best = MIN_OF(best, used_ns() - start);
    }
    if (best > 10000000) fail_msg("%lld us", (long long)best / 1000);
}

/* The kernel with most to do gets most of the device. */
static void groups_follow_work(void **state) {
    (void)state;
    GplMachine m = machine();
    m.concurrency = 0;
    m.shares_units = true;
    GplStage s[2] = {{1, 1, 6, 0, 0, 256, 320}, {1, 1, 110, 0, 0, 256, 320}};
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
    GplStage s[2] = {{1, 8, 6, 1, 0, 256, 64}, {0.5, 8, 6, 1, 0, 256, 64}};
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
        cmocka_unit_test(gamma_takes_the_nearest),
        cmocka_unit_test(equations),
        cmocka_unit_test(choice_fits_and_is_best),
        cmocka_unit_test(groups_follow_work),
        cmocka_unit_test(what_is_fixed_stays),
        cmocka_unit_test(all_find_room),
        cmocka_unit_test(shared_units),
        cmocka_unit_test(choosing_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
