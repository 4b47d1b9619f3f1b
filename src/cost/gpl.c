/* gpl.c - the analytical model of pipelines: see gpl.h. */
#include "cost/gpl.h"

#include <math.h>

/* ---- Gamma (Eq. 1, 11) ---------------------------------------------------------------------------- */
/* Counts, packets and sizes span orders of magnitude: near is what differs by a small factor. */
static double distance(double a, double b) { return fabs(log2(fmax(a, 1)) - log2(fmax(b, 1))); }

double gpl_channel_rate(const ProfileChannels *c, int64_t channels, double packet_bytes, double bytes) {
    double best = 0, nearest = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double d = 4 * distance((double)c->at[i].channels, (double)channels) + 2 * distance((double)c->at[i].packet_bytes, packet_bytes) +
                   distance((double)c->at[i].bytes, bytes);
        if (i > 0 && d >= nearest) continue;
        nearest = d;
        best = c->at[i].gbps;
    }
    return best;
}

/* ---- one choice -------------------------------------------------------------------------------------- */
/* A memory rate needs only a part of the device's groups to be reached. */
static double reached(double share) { return fmin(1, 4 * share); }

void gpl_estimate(const GplMachine *m, const GplStage *stages, int32_t n, double rows, GplChoice *c) {
    double tile = fmax(1, fmin((double)c->tile_rows, rows)), sum = 0;
    c->delay_ns = 0;
    for (int32_t i = 0; i < n; i++) {
        const GplStage *s = &stages[i];
        double here = tile * s->share, share = (double)c->groups[i] / (double)MAX_OF(s->max_groups, INT64_C(1));
        share = fmin(1, fmax(share, 1e-6));
        double compute = here * (s->compute + s->memory) * m->instruction_ns / share; /* Eq. 3, 4 */
        double bytes = here * s->row_bytes, rate = m->read_gbps * reached(share);     /* Eq. 5 */
        if (i > 0) {                                                                  /* Eq. 6, 12 */
            rate = gpl_channel_rate(&m->channels, c->channels, (double)c->packet_rows * s->row_bytes, bytes);
            if (rate <= 0) rate = m->read_gbps / 4;
        }
        c->stage_ns[i] = compute + bytes / fmax(rate, 1e-3);                          /* Eq. 7 */
        sum += c->stage_ns[i];
        if (i > 0) c->delay_ns += fabs(c->stage_ns[i] - c->stage_ns[i - 1]);          /* Eq. 8 */
    }
    if (m->waits_are_yields) c->delay_ns = 0;
    double per_tile = sum / fmax(m->concurrency, 1) + c->delay_ns + m->launch_ns * n; /* Eq. 9 */
    c->ns = per_tile * ceil(fmax(rows, 1) / tile);
}

/* ---- the best ------------------------------------------------------------------------------------------ */
static int64_t round_up(int64_t v, int64_t unit) { return unit > 1 ? (v + unit - 1) / unit * unit : v; }

/* Eq. 2, stricter: wherever the groups of the others are, one unit is free of them. Less would do if a unit took groups of different kernels whenever
 * registers and local memory suffice; but a unit divides its memory into cache and local memory after the first kernel that it gets, and a kernel that wants
 * another division waits until the unit is empty. */
static bool all_start(const GplMachine *m, const GplStage *s, int32_t n, const GplChoice *c) {
    double share = 0;
    int64_t groups = 0;
    for (int32_t i = 0; i < n; i++) {
        share += (double)c->groups[i] / (double)MAX_OF(s[i].max_groups, INT64_C(1));
        groups += c->groups[i];
    }
    for (int32_t i = 0; i < n; i++)
        if (groups - c->groups[i] >= MAX_OF(m->units, (int64_t)n)) return false;
    return share <= 1;
}

/* Groups in proportion to `weight`, no more than there are packets for; every kernel has one at least. */
static void give_groups(const GplMachine *m, const GplStage *s, int32_t n, double rows, const double *weight, const GplFixed *fixed, GplChoice *c) {
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += weight[i];
    for (int32_t i = 0; i < n; i++) {
        int64_t max = MAX_OF(s[i].max_groups, INT64_C(1)), most = m->waits_are_yields ? max : MIN_OF(max, m->units);
        double packets = fmin(rows, (double)c->tile_rows) * s[i].share / (double)MAX_OF(c->packet_rows, INT64_C(1));
        int64_t want = fixed->groups > 0 ? fixed->groups : (int64_t)fmin((double)most * (total > 0 ? weight[i] / total : 1.0 / n), packets + 1);
        c->groups[i] = MIN_OF(MAX_OF(want, INT64_C(1)), max);
    }
    if (m->waits_are_yields) return; /* groups take turns */
    for (int64_t more = 1; more > 0 && !all_start(m, s, n, c);) {
        more = 0;
        for (int32_t i = 0; i < n; i++) {
            c->groups[i] = MAX_OF(c->groups[i] * 15 / 16, INT64_C(1));
            more = MAX_OF(more, c->groups[i] - 1);
        }
    }
}

/* Work-groups after the times that equal shares give, a few times over: kernels that take as long as each other do not wait. */
static void balance(const GplMachine *m, const GplStage *s, int32_t n, double rows, const GplFixed *fixed, GplChoice *c) {
    double weight[GPL_STAGES_MAX];
    for (int32_t i = 0; i < n; i++) weight[i] = 1;
    give_groups(m, s, n, rows, weight, fixed, c);
    gpl_estimate(m, s, n, rows, c);
    GplChoice best = *c;
    for (int round = 0; round < 4 && fixed->groups == 0; round++) {
        for (int32_t i = 0; i < n; i++) weight[i] = fmax(weight[i] * 0.02, weight[i] * c->stage_ns[i]);
        double total = 0;
        for (int32_t i = 0; i < n; i++) total += weight[i];
        for (int32_t i = 0; i < n; i++) weight[i] = fmax(weight[i] / fmax(total, 1e-9), 0.01);
        give_groups(m, s, n, rows, weight, fixed, c);
        gpl_estimate(m, s, n, rows, c);
        if (c->ns < best.ns) best = *c;
    }
    *c = best;
}

void gpl_choose(const GplMachine *m, const GplStage *stages, int32_t n, double rows, int64_t tile_unit, int64_t packet_unit, const GplFixed *fixed, GplChoice *out) {
    static const int64_t tiles[] = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26}, packets[] = {256, 1024, 4096, 16384};
    *out = (GplChoice){0};
    for (int t = (int)ARRAY_LEN(tiles) - 1; t >= 0; t--) /* of choices that take as long, the one with fewer launches */
        for (int64_t channels = 1; channels <= 16; channels *= 2)
            for (int p = 0; p < (int)ARRAY_LEN(packets); p++) {
                GplChoice c = {.tile_rows = round_up(fixed->tile_rows > 0 ? fixed->tile_rows : tiles[t], tile_unit),
                               .channels = fixed->channels > 0 ? fixed->channels : channels,
                               .packet_rows = round_up(fixed->packet_rows > 0 ? fixed->packet_rows : packets[p], packet_unit)};
                balance(m, stages, n, rows, fixed, &c);
                if (out->tile_rows == 0 || c.ns < out->ns * 0.999) *out = c;
                if (fixed->packet_rows > 0) break;
                if (fixed->channels > 0 && p + 1 == (int)ARRAY_LEN(packets)) channels = 16;
            }
}
