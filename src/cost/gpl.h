/* gpl.h - what a pipeline of kernels takes, and how to set it up: the analytical model of GPL [GPL §4, Eq. 1 to 12].
 *
 * A segment is cut into kernels K_1 .. K_n that run at the same time and pass rows on through channels. The model
 * estimates the time of one tile of the source in every kernel, T = c + m (Eq. 7), and of the segment,
 *
 *   T_S = fixed + tiles * (launches + 1 / C * sum(T_i) + delay)      (Eq. 8, 9; times are per tile, so that r_i = 1)
 *
 * and takes the tile size, number of channels, packet size and work-groups of each kernel for which the whole source
 * takes least:
 *
 *   Eq. 2   work-groups of all kernels together fit the device, wherever each of them ends up (gpl_all_start)
 *   Eq. 3,4 c_i = the longer of: rows * instructions * time of an instruction / share of the device that K_i's groups
 *           are; and the turns that its groups take over their rows * loads that wait for each other * latency. With
 *           few groups it is latency that counts. Where an earlier run was profiled, c_i and m_i are its: time that a
 *           group was busy per row * rows / groups. Every group takes a while to begin and to end
 *   Eq. 5   m_i of the first kernel, which reads tables or materialised rows: bytes / rate of memory reached with its
 *           share
 *   Eq. 6,12 m_i of the others: bytes of rows handed over / Gamma(channels, packet, bytes); Eq. 1, 11: Gamma is
 *           measured (profile.h), between the points the nearest counts. Both: and random accesses (hash tables,
 *           groups) at the rate measured for them
 *   Eq. 8   delay: the paper adds up the differences of neighbours. Where all kernels have groups of their own to run,
 *           C is n and what they wait for each other is the slowest one's time beyond the mean, so that T_S is that of
 *           the slowest; and the others' first packet must get through
 *
 * Depends on no devices and no programs: callers pass counts and rates. Pure functions; any thread.
 */
#ifndef STELE_COST_GPL_H
#define STELE_COST_GPL_H

#include "cost/profile.h"

enum { GPL_STAGES_MAX = 16 };

typedef struct GplStage {
    double share;       /* lambda: rows that reach it, per row of the source */
    double row_bytes;   /* read per row that reaches it: of tables, or of the channel */
    double compute;     /* instructions per row that reaches it */
    double chain;       /* loads per row that each wait for the one before */
    double random_ns;   /* its random accesses per row, all of the device at them */
    double group_rows;  /* rows that a group has under way at the same time */
    int64_t max_groups; /* that fit on the device when it is alone */
    double busy_ns;     /* profiled: time that a group took per row, without waits for others; 0: not profiled */
} GplStage;

typedef struct GplMachine {
    int64_t units;         /* multiprocessors */
    double concurrency;    /* processors that take turns; 0: every kernel has groups of its own (C = n); 1: one kernel
                              after the other */
    double instruction_ns; /* all units busy */
    double latency_ns;     /* of a load from memory */
    double group_ns;       /* a group's beginning and end */
    double read_gbps;
    double fixed_ns;    /* a pipeline: channels, start, wait */
    double launch_ns;   /* one kernel of a round */
    double cache_bytes; /* channels should fit; 0: not known */
    bool shares_units;  /* a unit that has groups of one kernel takes those of another if they fit; else it may have to
                           be empty first */
    bool waits_are_yields;    /* host: a kernel that waits gives its processor to the others */
    ProfileChannels channels; /* Gamma; n = 0: not measured, read_gbps / 4 stands for it */
} GplMachine;

typedef struct GplFixed {
    int64_t tile_rows, channels, packet_rows, groups;
} GplFixed; /* 0 = free */

typedef struct GplChoice {
    int64_t tile_rows, channels, packet_rows;
    int64_t groups[GPL_STAGES_MAX];
    double stage_ns[GPL_STAGES_MAX]; /* T_i of one tile */
    double delay_ns;                 /* of one tile */
    double ns;                       /* all tiles */
} GplChoice;

/* What this choice takes for `rows` rows of the source: fills stage_ns, delay_ns and ns. */
void gpl_estimate(const GplMachine *m, const GplStage *stages, int32_t n, double rows, GplChoice *c);
/* The best. 1 <= n <= GPL_STAGES_MAX. `tile_unit`, `packet_unit`: what tiles and packets are multiples of. Takes some
 * microseconds. */
void gpl_choose(const GplMachine *m, const GplStage *stages, int32_t n, double rows, int64_t tile_unit,
                int64_t packet_unit, const GplFixed *fixed, GplChoice *out);
/* Eq. 2: whether all groups start, in whatever order and wherever the others are. */
bool gpl_all_start(const GplMachine *m, const GplStage *stages, int32_t n, const int64_t *groups);
/* Gamma: GB/s through that many channels. 0: not measured. */
double gpl_channel_rate(const ProfileChannels *c, int64_t channels, double packet_bytes, double bytes);

#endif
