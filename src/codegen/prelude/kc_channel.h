/* kc_channel.h - channels between kernels that run at the same time [GPL 3.3]: the executor `pipelined` reads and
 * writes them instead of row stores.
 *
 * A channel passes packets. Packet k is the rows [k * packet_rows, (k + 1) * packet_rows) of arrays like those of a row
 * store. A writing group takes a free packet, fills it, and puts its number into one of the channel's queues of full
 * packets (several sub-channels, so that the groups do not all meet at one counter). A reading group takes a number
 * from a queue, reads the packet and returns it to the free ones. A group that is slow to fill its packet holds up no
 * other.
 *
 * The control block, in 64-bit words:
 *
 *    0  number of queues of full packets        6  broken: a neighbour gave up
 *    1  number of packets                       7  the writer must not wait
 *    2  rows of a packet                        9  rows that a packet must have room for at such a look
 *    3  groups that write                      10  address of the lengths, the free packets and the queues
 *    4  groups that have finished writing      11  address of a count of all rows passed
 *    5  rows of the source between two looks   12  address of four sums over groups, in nanoseconds, where the
 *       at the room left                           device has a clock: waits for room, writers' lives, waits for
 *                                                  input, readers' lives
 *
 * Word 10 points at the rows of each packet, then the free packets, then the queues of full ones. Each of these queues
 * is: head; 16 words on, tail; from word 32 on as many entries as there are packets.
 *
 * A queue cannot overflow, because it has an entry for every packet. Putting a packet in: take the next number from
 * tail and write the entry, (number + 1) << 24 | packet. Taking one out: read the entry at head, which must bear its
 * number, then advance head. All writers ask for free packets: each takes a number from head and waits for the packet
 * that is returned under this number; the first numbers stand for packets that have not been used yet. An entry is
 * cleared when it has been read, and only then written again.
 *
 * No deadlock: there are at least as many packets as groups that write, and a group has at most one unpublished packet.
 * So a group that waits for room waits for readers only, and a group that waits for input, although it may keep a
 * partly filled packet, waits for writers only; the last kernel of a chain never waits for room. Waits look at the stop
 * flag and at `broken`.
 *
 * A group of several items agrees on packets through local memory. All barriers are in uniform control flow, so such a
 * group looks at the room left in its packet only between batches of rows. Rows that do not fit (a probe with very many
 * matches) raise CHANNEL_FULL, and the executor runs the pipeline again with larger packets. A group of one item takes
 * the next packet instead.
 *
 * Fences: item 0 publishes and takes for its group. On CUDA its fence next to the barrier orders what all items of the
 * group have written or will read. OpenCL promises less for global memory, so there every item fences.
 *
 * Defined by the emitter (emit_chan.c): CHANNEL_LOCAL, where the group has CHANNEL_WORDS words of local memory;
 * CHANNEL_FULL, the error. A kernel that reads no channel has `in` 0, one that writes none has `out` 0.
 */
#ifndef KC_CHANNEL_H
#define KC_CHANNEL_H
#include "codegen/prelude/kc_gen.h"

#if !defined(CHANNEL_LOCAL) /* alone */
#define CHANNEL_LOCAL 0
#define CHANNEL_WORDS 32
#define CHANNEL_FULL 1
#endif
#if defined(KC_HOST)
extern int sched_yield(void);
#define RELAX() ((void)sched_yield())
#elif defined(KC_CUDA)
#define RELAX() __nanosleep(64)
#else
#define RELAX() ((void)0)
#endif
#if defined(KC_CUDA)
#define CH_FENCE() ((void)0)
#else
#define CH_FENCE() FENCE()
#endif
#define CH_WORD(ch, i) (GVOL(u64, ch)[i])
#define CH_NONE (~U64C(0))
/* The group's own: packet being read (first row, rows, packet + 1), packet being written (first row, rows, packet +
 * 1: 0 none), gave up; what the control blocks say, read once; looks at the stop flag; when it began, waits */
enum {
    IN_FIRST,
    IN_ROWS,
    IN_PACKET,
    OUT_FIRST,
    OUT_ROWS,
    OUT_PACKET,
    GAVE_UP,
    IN_QUEUES,
    IN_PACKETS,
    IN_CAP,
    IN_AT,
    OUT_QUEUES,
    OUT_PACKETS,
    OUT_CAP,
    OUT_AT,
    OUT_BATCH,
    OUT_ROOM,
    OUT_COUNT,
    LOOKS,
    T_START,
    T_ROOM,
    T_INPUT,
    N_WORDS
};
typedef char chan_local_fits[N_WORDS <= CHANNEL_WORDS ? 1 : -1];
#define CH (LM(u64, CHANNEL_LOCAL))
#if defined(KC_CUDA)
FN u64 chan_now(void) {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
#else
#define chan_now() U64C(0)
#endif
FN bool chan_dead(u64 ch, u64 err) { return (KC_PEEK(err) | KC_PEEK(err + 8) | KC_PEEK(ch + 48)) != 0; }
FN_BIG void chan_start(u64 in, u64 out, LOCAL u64 *l) {
    for (u32 i = 0; i < N_WORDS; i++) l[i] = 0;
    l[T_START] = chan_now();
    if (in != 0) {
        l[IN_QUEUES] = CH_WORD(in, 0);
        l[IN_PACKETS] = CH_WORD(in, 1);
        l[IN_CAP] = CH_WORD(in, 2);
        l[IN_AT] = CH_WORD(in, 10);
    }
    if (out == 0) return;
    l[OUT_QUEUES] = CH_WORD(out, 0);
    l[OUT_PACKETS] = CH_WORD(out, 1);
    l[OUT_CAP] = CH_WORD(out, 2);
    l[OUT_BATCH] = CH_WORD(out, 5);
    l[OUT_ROOM] = CH_WORD(out, 9);
    l[OUT_AT] = CH_WORD(out, 10);
    l[OUT_COUNT] = CH_WORD(out, 11);
}
/* 0: the free packets */
FN u64 chan_queue(u64 at, u64 packets, u64 i) { return at + packets * 8 + i * (packets * 8 + 256); }
FN_BIG void chan_put(u64 queue, u64 packets, u64 k) {
    const u64 pos = ga_add_u64(queue + 128, 1);
    ga_xchg_u64(queue + 256 + pos % packets * 8, (pos + 1) << 24 | k);
}
FN_BIG u64 chan_get(u64 queue, u64 packets) {
    for (;;) {
        const u64 pos = KC_PEEK(queue), entry = KC_PEEK(queue + 256 + pos % packets * 8);
        if (entry >> 24 != pos + 1) {
            if (KC_PEEK(queue) == pos) return CH_NONE;
            continue;
        }
        if (ga_cas_u64(queue, pos, pos + 1) == pos) return entry & 0xffffff;
    }
}
FN_BIG void chan_give(u64 ch, u64 err, u64 at, u64 packets, u64 k) {
    const u64 unused = at + packets * 8, pos = ga_add_u64(unused + 128, 1), slot = unused + 256 + pos % packets * 8;
    while (ga_cas_u64(slot, 0, (pos + 1) << 24 | k) != 0 && !chan_dead(ch, err)) RELAX();
}
FN_BIG void chan_open(u64 ch, u64 err, LOCAL u64 *l) {
    const u64 packets = l[OUT_PACKETS], unused = chan_queue(l[OUT_AT], packets, 0);
    u64 k = ga_add_u64(unused, 1);
    if (k >= packets) {
        const u64 pos = k - packets, slot = unused + 256 + pos % packets * 8, t0 = chan_now();
        u64 entry;
        while (entry = KC_PEEK(slot), entry >> 24 != pos + 1) {
            if (CH_WORD(ch, 7) != 0) kc_raise(err, CHANNEL_FULL);
            if (chan_dead(ch, err)) {
                l[GAVE_UP] = 1;
                return;
            }
            RELAX();
        }
        ga_xchg_u64(slot, 0);
        l[T_ROOM] += chan_now() - t0;
        k = entry & 0xffffff;
    }
    FENCE();
    l[OUT_FIRST] = k * l[OUT_CAP];
    l[OUT_ROWS] = 0;
    l[OUT_PACKET] = k + 1;
}
/* Nothing of the group's rows may be missing: after a barrier. An empty packet is given back. */
FN_BIG void chan_publish(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {
    const u64 cap = l[OUT_CAP], rows = l[OUT_ROWS] < cap ? l[OUT_ROWS] : cap, k = l[OUT_PACKET] - 1,
              packets = l[OUT_PACKETS];
    if (l[OUT_PACKET] == 0) return;
    l[OUT_PACKET] = 0;
    if (l[GAVE_UP] != 0) return;
    if (rows == 0) {
        chan_give(ch, err, l[OUT_AT], packets, k);
        return;
    }
    GVOL(u64, l[OUT_AT])[k] = rows;
    ga_add_u64(l[OUT_COUNT], rows);
    FENCE();
    chan_put(chan_queue(l[OUT_AT], packets, 1 + gid % l[OUT_QUEUES]), packets, k);
}
FN_BIG bool chan_try(LOCAL u64 *l, u64 gid) {
    const u64 n = l[IN_QUEUES], packets = l[IN_PACKETS];
    for (u64 i = 0; i < n; i++) {
        const u64 k = chan_get(chan_queue(l[IN_AT], packets, 1 + (gid + i) % n), packets);
        if (k == CH_NONE) continue;
        FENCE();
        l[IN_FIRST] = k * l[IN_CAP];
        l[IN_ROWS] = GVOL(u64, l[IN_AT])[k];
        l[IN_PACKET] = k + 1;
        return true;
    }
    return false;
}
/* `out` 0: none. */
FN_BIG void chan_take(u64 ch, u64 out, u64 err, LOCAL u64 *l, u64 gid) {
    if (l[IN_PACKET] != 0) {
        FENCE();
        chan_give(ch, err, l[IN_AT], l[IN_PACKETS], l[IN_PACKET] - 1);
    }
    l[IN_PACKET] = 0;
    if (chan_dead(ch, err)) l[GAVE_UP] = 1;
    if (l[GAVE_UP] != 0 || chan_try(l, gid)) return;
    if (out != 0 && l[OUT_ROWS] * 4 >= l[OUT_CAP]) chan_publish(out, err, l, gid); /* others may have nothing to do */
    const u64 t0 = chan_now();
    for (;;) {
        const bool done = KC_PEEK(ch + 32) == CH_WORD(ch, 3);
        FENCE();
        if (chan_try(l, gid) || done) {
            l[T_INPUT] += chan_now() - t0;
            return;
        }
        if (chan_dead(ch, err)) {
            l[GAVE_UP] = 1;
            return;
        }
        RELAX();
    }
}
FN_BIG void chan_end(u64 ch, u64 out, u64 err, LOCAL u64 *l, u64 gid) {
    if (out != 0) chan_publish(out, err, l, gid);
    if (l[GAVE_UP] != 0 || kc_stopped(err)) {
        if (ch != 0) GVOL(u64, ch)[6] = 1;
        if (out != 0) GVOL(u64, out)[6] = 1;
    }
    FENCE();
    if (l[T_START] != 0) {
        const u64 life = chan_now() - l[T_START];
        if (out != 0) {
            ga_add_u64(CH_WORD(out, 12), l[T_ROOM]);
            ga_add_u64(CH_WORD(out, 12) + 8, life);
        }
        if (ch != 0) {
            ga_add_u64(CH_WORD(ch, 12) + 16, l[T_INPUT]);
            ga_add_u64(CH_WORD(ch, 12) + 24, life);
        }
    }
    if (out != 0) ga_add_u64(out + 32, 1);
}
#define CHAN_START(in, out)                \
    if (LID == 0) chan_start(in, out, CH); \
    BARRIER()
#define CHAN_TAKE(in, out)                                   \
    CH_FENCE();                                              \
    BARRIER();                                               \
    if (LID == 0) chan_take(in, out, P(ERR_PARAM), CH, GID); \
    BARRIER();                                               \
    CH_FENCE()
#define CHAN_END(in, out) \
    CH_FENCE();           \
    BARRIER();            \
    if (LID == 0) chan_end(in, out, P(ERR_PARAM), CH, GID)
#if defined(KC_HOST)
#define CHAN_ROOM(out) \
    if (CH[GAVE_UP] == 0 && kc_stopped(P(ERR_PARAM))) CH[GAVE_UP] = 1
FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {
    if (l[OUT_PACKET] != 0 && l[OUT_ROWS] == l[OUT_CAP]) chan_publish(ch, err, l, gid);
    if (l[OUT_PACKET] == 0) {
        if (l[GAVE_UP] == 0) chan_open(ch, err, l);
        if (l[OUT_PACKET] == 0) return CH_NONE;
    }
    return l[OUT_FIRST] + l[OUT_ROWS]++;
}
#else
/* The stop flag is looked at when a packet changes, and now and then when none does. */
FN_BIG void chan_room(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {
    if (l[OUT_PACKET] != 0 && l[OUT_ROWS] + l[OUT_ROOM] > l[OUT_CAP]) chan_publish(ch, err, l, gid);
    if ((l[OUT_PACKET] == 0 || (++l[LOOKS] & 7) == 0) && chan_dead(ch, err)) l[GAVE_UP] = 1;
    if (l[OUT_PACKET] == 0 && l[GAVE_UP] == 0) chan_open(ch, err, l);
}
#define CHAN_ROOM(out)                                   \
    CH_FENCE();                                          \
    BARRIER();                                           \
    if (LID == 0) chan_room(out, P(ERR_PARAM), CH, GID); \
    BARRIER()
/* Its lower half counts: it stays below 2^32. */
FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {
    const u64 i = append_local((LOCAL u32 *)(l + OUT_ROWS));
    (void)ch;
    (void)gid;
    if (i < l[OUT_CAP]) return l[OUT_FIRST] + i;
    kc_raise(err, CHANNEL_FULL);
    return CH_NONE;
}
#endif

#endif
