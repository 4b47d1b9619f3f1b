/* emit_chan.c - channels between kernels that run at the same time [GPL §3.3]: what the executor `pipelined` reads and
 * writes instead of row stores.
 *
 * A channel hands over packets. A packet is packet_rows rows of the columns; they lie in arrays like those of a row
 * store, packet k being rows [k * packet_rows, ..). A writing group takes a packet that nobody uses, fills it, and puts
 * its number into one of the channel's queues of full packets (sub-channels: several, so that not all groups meet at
 * one counter); a reading group takes a number from there, reads, and gives the packet back to the free ones. So groups
 * that are slow to fill a packet do not hold up others. The control block, in 64-bit words:
 *
 *   0 queues of full packets  1 packets in all  2 rows in a packet  3 groups that write  4 those that are done  5 rows
 * of the source between two looks at the room left  6 broken  7 the writer must not wait  9 room that a packet must
 * have at such a look  10 address of: rows of each packet, then the free packets, then the queues of full ones  11
 * address of a count of all rows handed over  12 address of four sums over groups, in nanoseconds: waits for room,
 * writers' lives, waits for input, readers' lives (where the device has a clock) free packets and queues: head, 16
 * words on: tail, from word 32 on as many entries as there are packets
 *
 * A queue cannot overflow, since it has an entry for every packet there is: who puts one in takes the next number from
 * tail and writes the entry, (number + 1) << 24 | packet. Who takes one out reads the entry at head, which must bear
 * its number, and then moves head on. Free packets are asked for by all writers: each takes a number from head and
 * waits for what is given back under it; the first numbers stand for packets that nobody has used yet. An entry is
 * cleared when it has been read and only then written again.
 *
 * There are at least as many packets as groups that write, and no group has two unpublished ones. So one that waits for
 * room waits for readers only, and one that waits for input, though it may keep a packet with a few rows, for writers
 * only: of a chain of kernels the last never waits for room, and all go on. Waits look at the stop flag and at
 * `broken`, by which a group that gives up tells its neighbours.
 *
 * Where a group has several items they agree on packets through local memory; all barriers are in uniform control flow,
 * so such a group looks at the room left in its packet only between batches of rows. Rows that do not fit (a probe
 * found very many matches) raise CHANNEL_FULL; the executor runs the pipeline again with bigger packets. A group of one
 * item just goes on with the next packet.
 *
 * Fences. Item 0 publishes and takes for its group. On CUDA its fence next to the barrier orders what all items of the
 * group have written or will read; OpenCL promises less for global memory, so that there every item fences.
 */
#include "codegen/emit_int.h"

static const char writing[] =
    "#if defined(KC_HOST)\n"
    "extern int sched_yield(void);\n"
    "#define RELAX() ((void)sched_yield())\n"
    "#elif defined(KC_CUDA)\n"
    "#define RELAX() __nanosleep(64)\n"
    "#else\n"
    "#define RELAX() ((void)0)\n"
    "#endif\n"
    "#if defined(KC_CUDA)\n"
    "#define CH_FENCE() ((void)0)\n"
    "#else\n"
    "#define CH_FENCE() FENCE()\n"
    "#endif\n"
    "#define CH_WORD(ch, i) (GVOL(u64, ch)[i])\n"
    "#define CH_NONE (~U64C(0))\n"
    /* The group's own: packet being read (first row, rows, packet + 1), packet being written (first row, rows, packet +
     * 1: 0 none), gave up; what the control blocks say, read once; looks at the stop flag; when it began, waits */
    "enum { IN_FIRST, IN_ROWS, IN_PACKET, OUT_FIRST, OUT_ROWS, OUT_PACKET, GAVE_UP, IN_QUEUES, IN_PACKETS, IN_CAP, "
    "IN_AT, OUT_QUEUES, OUT_PACKETS, OUT_CAP, OUT_AT,\n"
    "       OUT_BATCH, OUT_ROOM, OUT_COUNT, LOOKS, T_START, T_ROOM, T_INPUT, N_WORDS };\n"
    "typedef char chan_local_fits[N_WORDS <= CHANNEL_WORDS ? 1 : -1];\n"
    "#define CH (LM(u64, CHANNEL_LOCAL))\n"
    "#if defined(KC_CUDA)\n"
    "FN u64 chan_now(void) {\n"
    "    u64 t;\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
    "    return t;\n"
    "}\n"
    "#else\n"
    "#define chan_now() U64C(0)\n"
    "#endif\n"
    "FN bool chan_dead(u64 ch, u64 err) { return (KC_PEEK(err) | KC_PEEK(err + 8) | KC_PEEK(ch + 48)) != 0; }\n"
    "FN_BIG void chan_start(u64 in, u64 out, LOCAL u64 *l) {\n"
    "    for (u32 i = 0; i < N_WORDS; i++) l[i] = 0;\n"
    "    l[T_START] = chan_now();\n"
    "    if (in != 0) {\n"
    "        l[IN_QUEUES] = CH_WORD(in, 0);\n"
    "        l[IN_PACKETS] = CH_WORD(in, 1);\n"
    "        l[IN_CAP] = CH_WORD(in, 2);\n"
    "        l[IN_AT] = CH_WORD(in, 10);\n"
    "    }\n"
    "    if (out == 0) return;\n"
    "    l[OUT_QUEUES] = CH_WORD(out, 0);\n"
    "    l[OUT_PACKETS] = CH_WORD(out, 1);\n"
    "    l[OUT_CAP] = CH_WORD(out, 2);\n"
    "    l[OUT_BATCH] = CH_WORD(out, 5);\n"
    "    l[OUT_ROOM] = CH_WORD(out, 9);\n"
    "    l[OUT_AT] = CH_WORD(out, 10);\n"
    "    l[OUT_COUNT] = CH_WORD(out, 11);\n"
    "}\n"
    /* 0: the free packets */
    "FN u64 chan_queue(u64 at, u64 packets, u64 i) { return at + packets * 8 + i * (packets * 8 + 256); }\n"
    "FN_BIG void chan_put(u64 queue, u64 packets, u64 k) {\n"
    "    const u64 pos = ga_add_u64(queue + 128, 1);\n"
    "    ga_xchg_u64(queue + 256 + pos % packets * 8, (pos + 1) << 24 | k);\n"
    "}\n"
    "FN_BIG u64 chan_get(u64 queue, u64 packets) {\n"
    "    for (;;) {\n"
    "        const u64 pos = KC_PEEK(queue), entry = KC_PEEK(queue + 256 + pos % packets * 8);\n"
    "        if (entry >> 24 != pos + 1) {\n"
    "            if (KC_PEEK(queue) == pos) return CH_NONE;\n"
    "            continue;\n"
    "        }\n"
    "        if (ga_cas_u64(queue, pos, pos + 1) == pos) return entry & 0xffffff;\n"
    "    }\n"
    "}\n"
    "FN_BIG void chan_give(u64 ch, u64 err, u64 at, u64 packets, u64 k) {\n"
    "    const u64 unused = at + packets * 8, pos = ga_add_u64(unused + 128, 1), slot = unused + 256 + pos % packets * "
    "8;\n"
    "    while (ga_cas_u64(slot, 0, (pos + 1) << 24 | k) != 0 && !chan_dead(ch, err)) RELAX();\n"
    "}\n"
    "FN_BIG void chan_open(u64 ch, u64 err, LOCAL u64 *l) {\n"
    "    const u64 packets = l[OUT_PACKETS], unused = chan_queue(l[OUT_AT], packets, 0);\n"
    "    u64 k = ga_add_u64(unused, 1);\n"
    "    if (k >= packets) {\n"
    "        const u64 pos = k - packets, slot = unused + 256 + pos % packets * 8, t0 = chan_now();\n"
    "        u64 entry;\n"
    "        while (entry = KC_PEEK(slot), entry >> 24 != pos + 1) {\n"
    "            if (CH_WORD(ch, 7) != 0) kc_raise(err, CHANNEL_FULL);\n"
    "            if (chan_dead(ch, err)) {\n"
    "                l[GAVE_UP] = 1;\n"
    "                return;\n"
    "            }\n"
    "            RELAX();\n"
    "        }\n"
    "        ga_xchg_u64(slot, 0);\n"
    "        l[T_ROOM] += chan_now() - t0;\n"
    "        k = entry & 0xffffff;\n"
    "    }\n"
    "    FENCE();\n"
    "    l[OUT_FIRST] = k * l[OUT_CAP];\n"
    "    l[OUT_ROWS] = 0;\n"
    "    l[OUT_PACKET] = k + 1;\n"
    "}\n"
    /* Nothing of the group's rows may be missing: after a barrier. An empty packet is given back. */
    "FN_BIG void chan_publish(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    const u64 cap = l[OUT_CAP], rows = l[OUT_ROWS] < cap ? l[OUT_ROWS] : cap, k = l[OUT_PACKET] - 1, packets = "
    "l[OUT_PACKETS];\n"
    "    if (l[OUT_PACKET] == 0) return;\n"
    "    l[OUT_PACKET] = 0;\n"
    "    if (l[GAVE_UP] != 0) return;\n"
    "    if (rows == 0) {\n"
    "        chan_give(ch, err, l[OUT_AT], packets, k);\n"
    "        return;\n"
    "    }\n"
    "    GVOL(u64, l[OUT_AT])[k] = rows;\n"
    "    ga_add_u64(l[OUT_COUNT], rows);\n"
    "    FENCE();\n"
    "    chan_put(chan_queue(l[OUT_AT], packets, 1 + gid % l[OUT_QUEUES]), packets, k);\n"
    "}\n";
static const char reading[] =
    "FN_BIG bool chan_try(LOCAL u64 *l, u64 gid) {\n"
    "    const u64 n = l[IN_QUEUES], packets = l[IN_PACKETS];\n"
    "    for (u64 i = 0; i < n; i++) {\n"
    "        const u64 k = chan_get(chan_queue(l[IN_AT], packets, 1 + (gid + i) % n), packets);\n"
    "        if (k == CH_NONE) continue;\n"
    "        FENCE();\n"
    "        l[IN_FIRST] = k * l[IN_CAP];\n"
    "        l[IN_ROWS] = GVOL(u64, l[IN_AT])[k];\n"
    "        l[IN_PACKET] = k + 1;\n"
    "        return true;\n"
    "    }\n"
    "    return false;\n"
    "}\n"
    /* `out` 0: none. */
    "FN_BIG void chan_take(u64 ch, u64 out, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (l[IN_PACKET] != 0) {\n"
    "        FENCE();\n"
    "        chan_give(ch, err, l[IN_AT], l[IN_PACKETS], l[IN_PACKET] - 1);\n"
    "    }\n"
    "    l[IN_PACKET] = 0;\n"
    "    if (chan_dead(ch, err)) l[GAVE_UP] = 1;\n"
    "    if (l[GAVE_UP] != 0 || chan_try(l, gid)) return;\n"
    "    if (out != 0 && l[OUT_ROWS] * 4 >= l[OUT_CAP]) chan_publish(out, err, l, gid);\n" /* others may have nothing to
                                                                                              do */
    "    const u64 t0 = chan_now();\n"
    "    for (;;) {\n"
    "        const bool done = KC_PEEK(ch + 32) == CH_WORD(ch, 3);\n"
    "        FENCE();\n"
    "        if (chan_try(l, gid) || done) {\n"
    "            l[T_INPUT] += chan_now() - t0;\n"
    "            return;\n"
    "        }\n"
    "        if (chan_dead(ch, err)) {\n"
    "            l[GAVE_UP] = 1;\n"
    "            return;\n"
    "        }\n"
    "        RELAX();\n"
    "    }\n"
    "}\n"
    "FN_BIG void chan_end(u64 ch, u64 out, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (out != 0) chan_publish(out, err, l, gid);\n"
    "    if (l[GAVE_UP] != 0 || kc_stopped(err)) {\n"
    "        if (ch != 0) GVOL(u64, ch)[6] = 1;\n"
    "        if (out != 0) GVOL(u64, out)[6] = 1;\n"
    "    }\n"
    "    FENCE();\n"
    "    if (l[T_START] != 0) {\n"
    "        const u64 life = chan_now() - l[T_START];\n"
    "        if (out != 0) {\n"
    "            ga_add_u64(CH_WORD(out, 12), l[T_ROOM]);\n"
    "            ga_add_u64(CH_WORD(out, 12) + 8, life);\n"
    "        }\n"
    "        if (ch != 0) {\n"
    "            ga_add_u64(CH_WORD(ch, 12) + 16, l[T_INPUT]);\n"
    "            ga_add_u64(CH_WORD(ch, 12) + 24, life);\n"
    "        }\n"
    "    }\n"
    "    if (out != 0) ga_add_u64(out + 32, 1);\n"
    "}\n"
    "#define CHAN_START(in, out) if (LID == 0) chan_start(in, out, CH); BARRIER()\n"
    "#define CHAN_TAKE(in, out) CH_FENCE(); BARRIER(); if (LID == 0) chan_take(in, out, P(ERR_PARAM), CH, GID); "
    "BARRIER(); CH_FENCE()\n"
    "#define CHAN_END(in, out) CH_FENCE(); BARRIER(); if (LID == 0) chan_end(in, out, P(ERR_PARAM), CH, GID)\n"
    "#if defined(KC_HOST)\n"
    "#define CHAN_ROOM(out) if (CH[GAVE_UP] == 0 && kc_stopped(P(ERR_PARAM))) CH[GAVE_UP] = 1\n"
    "FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (l[OUT_PACKET] != 0 && l[OUT_ROWS] == l[OUT_CAP]) chan_publish(ch, err, l, gid);\n"
    "    if (l[OUT_PACKET] == 0) {\n"
    "        if (l[GAVE_UP] == 0) chan_open(ch, err, l);\n"
    "        if (l[OUT_PACKET] == 0) return CH_NONE;\n"
    "    }\n"
    "    return l[OUT_FIRST] + l[OUT_ROWS]++;\n"
    "}\n"
    "#else\n"
    /* The stop flag is looked at when a packet changes, and now and then when none does. */
    "FN_BIG void chan_room(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (l[OUT_PACKET] != 0 && l[OUT_ROWS] + l[OUT_ROOM] > l[OUT_CAP]) chan_publish(ch, err, l, gid);\n"
    "    if ((l[OUT_PACKET] == 0 || (++l[LOOKS] & 7) == 0) && chan_dead(ch, err)) l[GAVE_UP] = 1;\n"
    "    if (l[OUT_PACKET] == 0 && l[GAVE_UP] == 0) chan_open(ch, err, l);\n"
    "}\n"
    "#define CHAN_ROOM(out) CH_FENCE(); BARRIER(); if (LID == 0) chan_room(out, P(ERR_PARAM), CH, GID); BARRIER()\n"
    /* Its lower half counts: it stays below 2^32. */
    "FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    const u64 i = append_local((LOCAL u32 *)(l + OUT_ROWS));\n"
    "    (void)ch;\n"
    "    (void)gid;\n"
    "    if (i < l[OUT_CAP]) return l[OUT_FIRST] + i;\n"
    "    kc_raise(err, CHANNEL_FULL);\n"
    "    return CH_NONE;\n"
    "}\n"
    "#endif\n";

const char *chan_text_writing(void) { return writing; }
const char *chan_text_reading(void) { return reading; }

bool chan_reads(const EmitPlan *ep, const Program *p) {
    return p->source.kind == SRC_ROWS && ep->rows[p->source.id].channel;
}
bool chan_writes(const EmitPlan *ep, const Program *p) {
    return p->sink.kind == SINK_ROWS && ep->rows[p->sink.id].channel;
}

void em_chan_text(Em *m, Out *o) {
    m->local_bytes = align_up(m->local_bytes, 16);
    out_w(m, o, "#define CHANNEL_LOCAL %l\n#define CHANNEL_WORDS %d\n#define CHANNEL_FULL %d\n", m->local_bytes,
          (int32_t)EMIT_CHANNEL_LOCAL / 8, (int32_t)EMIT_CHANNEL_FULL);
    m->local_bytes += EMIT_CHANNEL_LOCAL;
    out_put(m, o, writing, (int64_t)sizeof writing - 1);
    out_put(m, o, reading, (int64_t)sizeof reading - 1);
}

void em_chan_append(Em *m, int32_t rows) {
    w(m, "{\nconst u64 slot = chan_append(P(%d), P(ERR_PARAM), CH, GID);\nif (slot != CH_NONE) {\n",
      P1(m, KP_CHAN_OUT, rows));
}
