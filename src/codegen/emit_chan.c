/* emit_chan.c - channels between kernels that run at the same time, what the executor `pipelined` reads and writes
 * instead of row stores: prelude/kc_channel.h says what they are, and has all but the places where kernels use them. */
#include "codegen/emit_int.h"
#include "codegen/prelude.h"

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
    out_put(m, o, KERNEL_PART(kc_channel), (int64_t)sizeof KERNEL_PART(kc_channel) - 1);
}

void em_chan_append(Em *m, int32_t rows) {
    w(m, "{\nconst u64 slot = chan_append(P(%d), P(ERR_PARAM), CH, GID);\nif (slot != CH_NONE) {\n",
      P1(m, KP_CHAN_OUT, rows));
}
