/* emit_cache.c - the result cache: rows of a row store are staged in local memory [GPU join §4, "Result Cache"].
 *
 * A join with many matches writes more rows than one counter in global memory can number. So a group of items collects
 * its rows in local memory, where only its own items compete for places; when enough are there it takes as many slots
 * of the row store by one addition, and all its items copy the rows out side by side. The group looks at the cache at
 * the end of each tile, where all of its items are; what does not fit until then (a probe with very many matches) is
 * appended directly. Slots beyond the capacity are not written, the counter goes on counting, as without the cache.
 *
 * Local memory: [0] u32 rows that were given a place (may exceed the cache), [8] u64 first slot of a flush, then the
 * columns, each CACHE rows of cells, then validity.
 *
 * Not for: identity sinks and LIMIT (they have no counter, or watch it), channels (they are one), rows too wide for a
 * few hundred of them to fit, 128-bit cells, and the host, where a group is one item.
 */
#include "codegen/emit_int.h"

enum { CACHE_BYTES = 32 << 10, CACHE_ROWS_MIN = 256, HEAD_BYTES = 16 };

static bool cell_fits(const DevCol *c) {
    return c->phys <= PH_I64 || c->phys == PH_F32 || c->phys == PH_F64 || c->phys == PH_STR;
}

static int64_t row_bytes(const DevRows *d) {
    int64_t n = d->has_seq ? 8 : 0;
    for (int32_t i = 0; i < d->n_cols; i++) n += phys_size((Phys)d->cols[i].phys) + d->cols[i].nullable;
    return n;
}

static int64_t cache_rows(const Em *m) {
    int64_t width = MAX_OF(row_bytes(&m->ep->rows[m->prog->sink.id]), INT64_C(1)),
            bytes = MIN_OF((int64_t)CACHE_BYTES, m->ep->target.local_bytes * 2 / 3);
    return MIN_OF((int64_t)m->tile_rows, bytes / width / 32 * 32);
}

bool cache_fits(const Em *m) {
    const Sink *s = &m->prog->sink;
    const DevRows *d = &m->ep->rows[s->id];
    if (!m->ep->target.result_cache || m->ep->target.native_threads || s->limit >= 0 || d->channel ||
        chan_reads(m->ep, m->prog))
        return false;
    for (int32_t i = 0; i < d->n_cols; i++)
        if (!cell_fits(&d->cols[i])) return false;
    return cache_rows(m) >= CACHE_ROWS_MIN;
}

/* Where a column's cells and its validity are. The widest first: every part starts aligned because CACHE is a multiple
 * of 32. */
static int64_t place(const DevRows *d, int64_t at, int64_t rows, int32_t col, bool valid) {
    at += HEAD_BYTES + (d->has_seq ? rows * 8 : 0);
    for (int32_t i = 0; i < d->n_cols && !valid; i++) {
        if (i == col) return at;
        at += rows * phys_size((Phys)d->cols[i].phys);
    }
    for (int32_t i = 0; i < d->n_cols && valid; i++) at += rows * phys_size((Phys)d->cols[i].phys);
    for (int32_t i = 0; i < col && valid; i++) at += d->cols[i].nullable ? rows : 0;
    return at;
}

/* Copies the cached rows out if there are more than `more`. For all items of the group, after a barrier. */
static void put_flush(Em *m, Out *o, int64_t at, int64_t rows, int64_t more) {
    const Sink *s = &m->prog->sink;
    const DevRows *d = &m->ep->rows[s->id];
    out_w(m, o, "BARRIER();\n{\nconst u32 cached = LM(u32, %l)[0] < %l ? LM(u32, %l)[0] : %l;\nif (cached > %l) {\n",
          at, rows, at, rows, more);
    out_w(m, o, "if (LID == 0) LM(u64, %l)[0] = ga_add_u64(P(%d), (u64)cached);\nBARRIER();\n", at + 8,
          P1(m, KP_OUT_COUNT, s->id));
    out_w(m, o,
          "for (u32 i = LID; i < cached; i += LSIZE) {\nconst u64 slot = LM(u64, %l)[0] + i;\nif (slot < P(%d)) {\n",
          at + 8, P1(m, KP_OUT_CAP, s->id));
    for (int32_t i = 0; i < s->n_regs; i++) {
        const DevCol *c = &d->cols[i];
        const char *t = m_type[c->phys];
        if (!s->regs[i]) continue;
        out_w(m, o, "G(%s, P(%d))[slot] = LM(%s, %l)[i];\n", t, P2(m, KP_ROWS_DATA, s->id, i), t,
              place(d, at, rows, i, false));
        if (c->nullable)
            out_w(m, o, "G(u8, P(%d))[slot] = LM(u8, %l)[i];\n", P2(m, KP_ROWS_VALID, s->id, i),
                  place(d, at, rows, i, true));
    }
    if (d->has_seq)
        out_w(m, o, "G(u64, P(%d))[slot] = LM(u64, %l)[i];\n", P2(m, KP_ROWS_DATA, s->id, d->n_cols), at + HEAD_BYTES);
    out_w(m, o, "}\n}\nBARRIER();\nif (LID == 0) LM(u32, %l)[0] = 0;\n}\n}\nBARRIER();\n", at);
}

void cache_begin(Em *m) {
    const Sink *s = &m->prog->sink;
    const DevRows *d = &m->ep->rows[s->id];
    int64_t at = align_up(m->local_bytes, 16), rows = cache_rows(m);
    m->local_bytes = at + HEAD_BYTES + rows * row_bytes(d);
    out_w(m, &m->text.top, "    if (LID == 0) LM(u32, %l)[0] = 0;\n    BARRIER();\n", at);
    w(m, "{\nconst u32 place = append_local(LM(u32, %l));\nif (place < %l) {\n", at, rows);
    for (int32_t i = 0; i < s->n_regs; i++) {
        const DevCol *c = &d->cols[i];
        if (!s->regs[i]) continue;
        w(m, "LM(%s, %l)[place] = ", m_type[c->phys], place(d, at, rows, i, false));
        em_store_value(m, s->regs[i], c);
        w(m, ";\n");
        if (c->nullable) w(m, "LM(u8, %l)[place] = %v;\n", place(d, at, rows, i, true), s->regs[i]);
    }
    if (d->has_seq) w(m, "LM(u64, %l)[place] = P(%d) | %s;\n", at + HEAD_BYTES, P1(m, KP_SEQ_BASE, 0), em_position(m));
    w(m, "} else {\n");
    put_flush(m, &m->text.tile_end, at, rows, rows / 4);
    put_flush(m, &m->text.tail, at, rows, 0);
}
