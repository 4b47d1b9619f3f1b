/* gpl.c - the analytical model of pipelines: see gpl.h. */
#include "cost/gpl.h"

#include <math.h>

enum { ROUNDS_MAX = 4 };
static const double random_share = 0.5; /* of the device's groups that reach the rate of random accesses; */
static const double stream_share = 0.25,
                    channel_share = 0.4; /* of reading in order; and that Gamma was measured with */

/* ---- Gamma (Eq. 1, 11) ---------------------------------------------------------------------------- */
/* Counts, packets and sizes span orders of magnitude: near is what differs by a small factor. */
static double scale(double v) { return log2(fmax(v, 1)); }

typedef struct Gamma {
    int64_t n;
    double channels[PROFILE_CHANNELS_MAX], packet[PROFILE_CHANNELS_MAX], bytes[PROFILE_CHANNELS_MAX],
        gbps[PROFILE_CHANNELS_MAX];
} Gamma;

static void gamma_init(const ProfileChannels *c, Gamma *g) {
    g->n = c->n;
    for (int64_t i = 0; i < c->n; i++) {
        g->channels[i] = scale((double)c->at[i].channels);
        g->packet[i] = scale((double)c->at[i].packet_bytes);
        g->bytes[i] = scale((double)c->at[i].bytes);
        g->gbps[i] = c->at[i].gbps;
    }
}

/* By logarithms of channels, bytes of a packet, bytes in all. */
static double gamma_at(const Gamma *g, double channels, double packet, double bytes) {
    double best = 0, nearest = 0;
    for (int64_t i = 0; i < g->n; i++) {
        double d = 4 * fabs(g->channels[i] - channels) + 2 * fabs(g->packet[i] - packet) + fabs(g->bytes[i] - bytes);
        if (i > 0 && d >= nearest) continue;
        nearest = d;
        best = g->gbps[i];
    }
    return best;
}

double gpl_channel_rate(const ProfileChannels *c, int64_t channels, double packet_bytes, double bytes) {
    Gamma g;
    gamma_init(c, &g);
    return gamma_at(&g, scale((double)channels), scale(packet_bytes), scale(bytes));
}

/* ---- one choice -------------------------------------------------------------------------------------- */
/* What `share` of a device's groups reaches of a rate for which `enough` of them would do. */
static double reached(double share, double enough) { return fmin(1, share / enough); }

static double stage_ns(const GplMachine *m, const GplStage *s, const Gamma *g, const GplChoice *c, int32_t i,
                       double rows) {
    double share = (double)c->groups[i] / (double)MAX_OF(s->max_groups, INT64_C(1)),
           groups = (double)MAX_OF(c->groups[i], INT64_C(1));
    share = fmin(1, fmax(share, 1e-6));
    double turns = ceil(rows / (groups * fmax(s->group_rows, 1))), bytes = rows * s->row_bytes,
           rate = m->read_gbps * reached(share, stream_share);
    if (s->busy_ns > 0)
        return m->group_ns +
               fmax(s->busy_ns * fmax(rows / groups, fmin(rows, s->group_rows)), bytes / fmax(rate, 1e-3));
    double compute =
        fmax(rows * s->compute * m->instruction_ns / share, turns * (1 + s->chain) * m->latency_ns); /* Eq. 3, 4 */
    if (i > 0) { /* Eq. 6, 12; of the first: Eq. 5 */
        rate = gamma_at(g, scale((double)c->channels), scale((double)c->packet_rows * s->row_bytes), scale(bytes)) *
               reached(share, channel_share);
        if (rate <= 0) rate = m->read_gbps / 4 * reached(share, stream_share);
    }
    return m->group_ns + compute + bytes / fmax(rate, 1e-3) +
           rows * s->random_ns / reached(share, random_share); /* Eq. 7 */
}

static void estimate(const GplMachine *m, const GplStage *stages, int32_t n, double rows, const Gamma *g,
                     GplChoice *c) {
    double tile = fmax(1, fmin((double)c->tile_rows, rows)), sum = 0, most = 0, fill = 0;
    for (int32_t i = 0; i < n; i++) {
        double here = tile * stages[i].share, t = stage_ns(m, &stages[i], g, c, i, here);
        c->stage_ns[i] = t;
        sum += t;
        most = fmax(most, t);
        fill += t * fmin(1, (double)c->packet_rows * (double)c->groups[i] /
                                fmax(here, 1)); /* until its first packet is full */
    }
    double together = sum / fmax(m->concurrency, 1);
    c->delay_ns = 0;
    if (m->concurrency <= 0) {
        together = sum / n;
        c->delay_ns = fmin(sum, most + fill) - together; /* Eq. 8 */
    }
    c->ns = m->fixed_ns + (together + c->delay_ns + m->launch_ns * n) * ceil(fmax(rows, 1) / tile); /* Eq. 9 */
}

void gpl_estimate(const GplMachine *m, const GplStage *stages, int32_t n, double rows, GplChoice *c) {
    Gamma g;
    gamma_init(&m->channels, &g);
    estimate(m, stages, n, rows, &g, c);
}

/* ---- work-groups --------------------------------------------------------------------------------------- */
static int64_t round_up(int64_t v, int64_t unit) { return unit > 1 ? (v + unit - 1) / unit * unit : v; }

/* A group of K_i takes at most 1 / (groups of K_i that fit on a unit) of whatever a unit has least of. To keep it out
 * of a unit those that are there must leave less than that; so it is kept out of fewer units than there are as long as
 * all that they take is less than units * (1 - what it needs). Devices start kernels in any order but their groups in
 * turn: one that finds no room keeps out the kernels behind, which others may be waiting for. So this must hold for
 * every group of every kernel as the last one. */
bool gpl_all_start(const GplMachine *m, const GplStage *s, int32_t n, const int64_t *groups) {
    double units = (double)MAX_OF(m->units, INT64_C(1)), all = 0;
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        all += (double)groups[i] / (double)MAX_OF(s[i].max_groups, INT64_C(1));
        count += groups[i];
    }
    for (int32_t i = 0; i < n && n > 1; i++) {
        double max = (double)MAX_OF(s[i].max_groups, INT64_C(1)), needs = fmin(1, units / max);
        if (!m->shares_units && count - groups[i] >= MAX_OF(m->units, (int64_t)n))
            return false; /* one unit is free of the others */
        if (m->shares_units && all - 1 / max >= 1 - needs && count > n) return false;
    }
    return all <= 1;
}

/* Groups in proportion to `weight`, no more than there are packets for; every kernel has one at least. */
static void give_groups(const GplMachine *m, const GplStage *s, int32_t n, double rows, const double *weight,
                        const GplFixed *fixed, GplChoice *c) {
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += weight[i];
    for (int32_t i = 0; i < n; i++) {
        int64_t max = MAX_OF(s[i].max_groups, INT64_C(1));
        double parts = ceil(fmin(rows, (double)c->tile_rows) * s[i].share / fmax(s[i].group_rows, 1));
        double part = m->concurrency == 1 && !m->waits_are_yields ? 1
                      : total > 0                                 ? weight[i] / total
                                  : 1.0 / n; /* kernels in turn: each has all of the device */
        int64_t want = fixed->groups > 0 ? fixed->groups : (int64_t)fmin((double)max * part, parts);
        c->groups[i] = MIN_OF(MAX_OF(want, INT64_C(1)), max);
    }
    if (m->waits_are_yields || m->concurrency == 1) return; /* groups take turns, or kernels do */
    for (int64_t more = 1; more > 0 && !gpl_all_start(m, s, n, c->groups);) {
        more = 0;
        for (int32_t i = 0; i < n; i++) {
            c->groups[i] = MAX_OF(c->groups[i] * 15 / 16, INT64_C(1));
            more = MAX_OF(more, c->groups[i] - 1);
        }
    }
}

/* Work-groups after the times that equal shares give, a few times over: kernels that take as long as each other do not
 * wait. */
static void balance(const GplMachine *m, const GplStage *s, int32_t n, double rows, const Gamma *g,
                    const GplFixed *fixed, GplChoice *c) {
    double weight[GPL_STAGES_MAX];
    for (int32_t i = 0; i < n; i++) weight[i] = 1;
    give_groups(m, s, n, rows, weight, fixed, c);
    estimate(m, s, n, rows, g, c);
    GplChoice best = *c;
    for (int round = 0; round < ROUNDS_MAX && fixed->groups == 0; round++) {
        double total = 0;
        for (int32_t i = 0; i < n; i++) {
            weight[i] = fmax(weight[i] * 0.02, weight[i] * c->stage_ns[i]);
            total += weight[i];
        }
        for (int32_t i = 0; i < n; i++) weight[i] = fmax(weight[i] / fmax(total, 1e-9), 0.01);
        give_groups(m, s, n, rows, weight, fixed, c);
        estimate(m, s, n, rows, g, c);
        if (c->ns < best.ns) best = *c;
    }
    *c = best;
}

/* ---- the best ------------------------------------------------------------------------------------------ */
/* The channels through which a tile's rows go fastest (n_max, p_max), of those that the cache holds: two packets for
 * each of a unit's groups. */
static void give_channels(const GplMachine *m, const GplStage *s, int32_t n, double tile, int64_t unit, const Gamma *g,
                          const GplFixed *fixed, GplChoice *c) {
    static const int64_t packets[] = {256, 1024, 2048, 4096, 8192, 16384};
    double least = INFINITY, bytes[GPL_STAGES_MAX], log_bytes[GPL_STAGES_MAX], log_row[GPL_STAGES_MAX], row = 0;
    int64_t last = 0;
    for (int32_t i = 1; i < n; i++) {
        bytes[i] = tile * s[i].share * s[i].row_bytes;
        log_bytes[i] = scale(bytes[i]);
        log_row[i] = scale(s[i].row_bytes);
        row += s[i].row_bytes;
    }
    for (int p = 0; p < (int)ARRAY_LEN(packets); p++) {
        int64_t packet = round_up(fixed->packet_rows > 0 ? fixed->packet_rows : packets[p], unit);
        if (packet == last) continue;
        if (last > 0 && m->cache_bytes > 0 && 2 * (double)m->units * (double)packet * row > m->cache_bytes) break;
        last = packet;
        double log_packet = scale((double)packet);
        for (int64_t channels = 1; channels <= 16; channels *= 4) {
            int64_t count = fixed->channels > 0 ? fixed->channels : channels;
            double ns = 0, log_count = scale((double)count);
            for (int32_t i = 1; i < n; i++)
                ns += bytes[i] / fmax(gamma_at(g, log_count, log_packet + log_row[i], log_bytes[i]), 1e-3);
            if (ns < least * 0.999) {
                least = ns;
                c->channels = count;
                c->packet_rows = packet;
            }
            if (fixed->channels > 0) break;
        }
        if (fixed->packet_rows > 0) break;
    }
}

void gpl_choose(const GplMachine *m, const GplStage *stages, int32_t n, double rows, int64_t tile_unit,
                int64_t packet_unit, const GplFixed *fixed, GplChoice *out) {
    static const int64_t tiles[] = {1 << 26, 1 << 24, 1 << 22, 1 << 20, 1 << 18, 1 << 16, 1 << 14};
    Gamma g;
    gamma_init(&m->channels, &g);
    *out = (GplChoice){0};
    for (int t = 0; t < (int)ARRAY_LEN(tiles); t++) { /* of choices that take as long, the one with fewer launches */
        if (fixed->tile_rows <= 0 && t + 1 < (int)ARRAY_LEN(tiles) && (double)tiles[t + 1] >= rows)
            continue; /* all rows in one */
        GplChoice c = {.tile_rows = round_up(fixed->tile_rows > 0 ? fixed->tile_rows : tiles[t], tile_unit)};
        give_channels(m, stages, n, fmin((double)c.tile_rows, fmax(rows, 1)), packet_unit, &g, fixed, &c);
        balance(m, stages, n, rows, &g, fixed, &c);
        if (out->tile_rows == 0 || c.ns < out->ns * 0.999) *out = c;
        if (fixed->tile_rows > 0) break;
    }
}
