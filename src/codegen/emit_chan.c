/* emit_chan.c - channels between kernels that run at the same time [GPL §3.3]: what the executor `pipelined` reads and writes instead of row stores.
 *
 * A channel is a number of sub-channels, each a ring of packets. A packet is packet_rows rows of the columns; they lie in arrays like those of a row
 * store, packet k of the channel being rows [k * packet_rows, ..). The control block, in 64-bit words:
 *
 *   0 sub-channels  1 packets in a ring  2 rows in a packet  3 groups that write  4 those that are done  5 rows written between two looks at the
 *   room left  6 broken  7 the writer must not wait; from word 16 on per sub-channel: head, 16 words on: tail (32 words in all); then per packet: state, rows
 *
 * State of a packet in lap n: 2n free, 2n + 1 published. A writing group takes the next number from tail, waits until that packet is free, fills
 * it and publishes it. A reading group takes the packet at head when it is published. No group keeps an unpublished packet while it waits
 * for input, so that a writer waits for readers only and a reader for writers only: of a chain of kernels the last never waits for room, and one running
 * group of each kernel is enough for all to go on. Waits look at the stop flag and at `broken`, by which a group that gives up tells its neighbours.
 *
 * Where a group has several items they agree on packets through local memory; all barriers are in uniform control flow, so such a group looks at the room
 * left in its packet only between batches of rows. Rows that do not fit (a probe found very many matches) raise CHANNEL_FULL; the executor runs
 * the pipeline again with bigger packets. A group of one item just goes on with the next packet.
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
    "#define CH_WORD(ch, i) (GVOL(u64, ch)[i])\n"
    "#define CH_HEAD(ch, sub) ((ch) + 128 + (sub) * 256)\n"
    "#define CH_TAIL(ch, sub) (CH_HEAD(ch, sub) + 128)\n"
    "#define CH_SLOT(ch, n, k) ((ch) + 128 + (n) * 256 + (k) * 16)\n"
    /* The group's own: packet being read (first row, rows, slot, state when read), packet being written (first row, rows, slot, state when full; 0 none), gave up */
    "enum { IN_FIRST, IN_ROWS, IN_SLOT, IN_FREE, OUT_FIRST, OUT_ROWS, OUT_SLOT, OUT_FULL, GAVE_UP };\n"
    "#define CH (LM(u64, CHANNEL_LOCAL))\n"
    "FN bool chan_dead(u64 ch, u64 err) { return kc_stopped(err) || KC_PEEK(ch + 48) != 0; }\n"
    "FN_BIG void chan_open(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    const u64 n = CH_WORD(ch, 0), ring = CH_WORD(ch, 1), sub = gid % n, pos = ga_add_u64(CH_TAIL(ch, sub), 1), k = sub * ring + pos % ring, lap = pos / ring;\n"
    "    const u64 slot = CH_SLOT(ch, n, k);\n"
    "    while (KC_PEEK(slot) != 2 * lap) {\n"
    "        if (CH_WORD(ch, 7) != 0) kc_raise(err, CHANNEL_FULL);\n"
    "        if (chan_dead(ch, err)) {\n"
    "            l[GAVE_UP] = 1;\n"
    "            break;\n"
    "        }\n"
    "        RELAX();\n"
    "    }\n"
    "    FENCE();\n"
    "    l[OUT_FIRST] = k * CH_WORD(ch, 2);\n"
    "    l[OUT_ROWS] = 0;\n"
    "    l[OUT_SLOT] = slot;\n"
    "    l[OUT_FULL] = 2 * lap + 1;\n"
    "}\n"
    /* Every item has fenced its rows before. */
    "FN void chan_publish(u64 ch, LOCAL u64 *l) {\n"
    "    const u64 cap = CH_WORD(ch, 2);\n"
    "    if (l[OUT_FULL] == 0) return;\n"
    "    GVOL(u64, l[OUT_SLOT])[1] = l[OUT_ROWS] < cap ? l[OUT_ROWS] : cap;\n"
    "    FENCE();\n"
    "    if (l[GAVE_UP] == 0) ga_xchg_u64(l[OUT_SLOT], l[OUT_FULL]);\n"
    "    l[OUT_FULL] = 0;\n"
    "}\n";
static const char reading[] =
    "FN_BIG bool chan_try(u64 ch, LOCAL u64 *l, u64 gid) {\n"
    "    const u64 n = CH_WORD(ch, 0), ring = CH_WORD(ch, 1);\n"
    "    for (u64 i = 0; i < n; i++) {\n"
    "        const u64 sub = (gid + i) % n;\n"
    "        for (;;) {\n"
    "            const u64 pos = KC_PEEK(CH_HEAD(ch, sub)), k = sub * ring + pos % ring, full = pos / ring * 2 + 1, slot = CH_SLOT(ch, n, k);\n"
    "            if (KC_PEEK(slot) != full) break;\n"
    "            if (ga_cas_u64(CH_HEAD(ch, sub), pos, pos + 1) != pos) continue;\n"
    "            FENCE();\n"
    "            l[IN_FIRST] = k * CH_WORD(ch, 2);\n"
    "            l[IN_ROWS] = GVOL(u64, slot)[1];\n"
    "            l[IN_SLOT] = slot;\n"
    "            l[IN_FREE] = full + 1;\n"
    "            return true;\n"
    "        }\n"
    "    }\n"
    "    return false;\n"
    "}\n"
    /* `out` 0: none. */
    "FN_BIG void chan_take(u64 ch, u64 out, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (l[IN_SLOT] != 0) ga_xchg_u64(l[IN_SLOT], l[IN_FREE]);\n"
    "    l[IN_SLOT] = 0;\n"
    "    if (chan_dead(ch, err)) l[GAVE_UP] = 1;\n"
    "    if (l[GAVE_UP] != 0 || chan_try(ch, l, gid)) return;\n"
    "    if (out != 0) chan_publish(out, l);\n"
    "    for (;;) {\n"
    "        const bool done = KC_PEEK(ch + 32) == CH_WORD(ch, 3);\n"
    "        FENCE();\n"
    "        if (chan_try(ch, l, gid) || done) return;\n"
    "        if (chan_dead(ch, err)) {\n"
    "            l[GAVE_UP] = 1;\n"
    "            return;\n"
    "        }\n"
    "        RELAX();\n"
    "    }\n"
    "}\n"
    "FN void chan_end(u64 ch, u64 out, u64 err, LOCAL u64 *l) {\n"
    "    if (out != 0) chan_publish(out, l);\n"
    "    if (l[GAVE_UP] != 0 || kc_stopped(err)) {\n"
    "        if (ch != 0) GVOL(u64, ch)[6] = 1;\n"
    "        if (out != 0) GVOL(u64, out)[6] = 1;\n"
    "    }\n"
    "    FENCE();\n"
    "    if (out != 0) ga_add_u64(out + 32, 1);\n"
    "}\n"
    "#define CHAN_START() if (LID == 0) for (u32 i = 0; i <= GAVE_UP; i++) CH[i] = 0; BARRIER()\n"
    "#define CHAN_TAKE(in, out) FENCE(); BARRIER(); if (LID == 0) chan_take(in, out, P(ERR_PARAM), CH, GID); BARRIER(); FENCE()\n"
    "#define CHAN_END(in, out) FENCE(); BARRIER(); if (LID == 0) chan_end(in, out, P(ERR_PARAM), CH)\n"
    "#define CHAN_NONE (~U64C(0))\n"
    "#if defined(KC_HOST)\n"
    "#define CHAN_ROOM(out) if (CH[GAVE_UP] == 0 && kc_stopped(P(ERR_PARAM))) CH[GAVE_UP] = 1\n"
    "FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (l[OUT_FULL] != 0 && l[OUT_ROWS] == CH_WORD(ch, 2)) chan_publish(ch, l);\n"
    "    if (l[OUT_FULL] == 0) {\n"
    "        if (l[GAVE_UP] != 0) return CHAN_NONE;\n"
    "        chan_open(ch, err, l, gid);\n"
    "    }\n"
    "    return l[OUT_FIRST] + l[OUT_ROWS]++;\n"
    "}\n"
    "#else\n"
    "FN_BIG void chan_room(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    if (chan_dead(ch, err)) l[GAVE_UP] = 1;\n"
    "    if (l[OUT_FULL] != 0 && l[OUT_ROWS] + CH_WORD(ch, 5) > CH_WORD(ch, 2)) chan_publish(ch, l);\n"
    "    if (l[OUT_FULL] == 0 && l[GAVE_UP] == 0) chan_open(ch, err, l, gid);\n"
    "}\n"
    "#define CHAN_ROOM(out) FENCE(); BARRIER(); if (LID == 0) chan_room(out, P(ERR_PARAM), CH, GID); BARRIER()\n"
    "FN u64 chan_append(u64 ch, u64 err, LOCAL u64 *l, u64 gid) {\n"
    "    const u64 i = la_add_u64(l + OUT_ROWS, 1);\n"
    "    (void)gid;\n"
    "    if (i < CH_WORD(ch, 2)) return l[OUT_FIRST] + i;\n"
    "    kc_raise(err, CHANNEL_FULL);\n"
    "    return CHAN_NONE;\n"
    "}\n"
    "#endif\n";

const char *chan_text_writing(void) { return writing; }
const char *chan_text_reading(void) { return reading; }

bool chan_reads(const EmitPlan *ep, const Program *p) { return p->source.kind == SRC_ROWS && ep->rows[p->source.id].channel; }
bool chan_writes(const EmitPlan *ep, const Program *p) { return p->sink.kind == SINK_ROWS && ep->rows[p->sink.id].channel; }

void em_chan_text(Em *m, Out *o) {
    enum { LOCAL_WORDS = 16 };
    m->local_bytes = align_up(m->local_bytes, 16);
    out_w(m, o, "#define CHANNEL_LOCAL %l\n#define CHANNEL_FULL %d\n", m->local_bytes, (int32_t)EMIT_CHANNEL_FULL);
    m->local_bytes += LOCAL_WORDS * 8;
    out_put(m, o, writing, (int64_t)sizeof writing - 1);
    out_put(m, o, reading, (int64_t)sizeof reading - 1);
}

void em_chan_append(Em *m, int32_t rows) {
    w(m, "{\nconst u64 slot = chan_append(P(%d), P(ERR_PARAM), CH, GID);\nif (slot != CHAN_NONE) {\n", P1(m, KP_CHAN_OUT, rows));
}
