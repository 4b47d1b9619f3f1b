/* emit_sort.c - sort sinks and the kernels that sort.
 *
 * Rows are appended as columns; what moves while sorting is pairs of {key, row}. The key's 64 bits are an
 * order-preserving prefix of the first sort key, NULL placement and direction included; where they tie, the comparison
 * reads the key columns of both rows, and in the end the sequence numbers, so that the order is total and the sort
 * stable.
 *
 *   sort_init    one pair per row
 *   sort_tile    SORT_TILE pairs at a time by a bitonic network in local memory
 *   sort_merge   runs of WIDTH to runs of 2 * WIDTH: every item finds its place on the merge path by binary search and
 * writes MERGE_PIECE pairs sort_gather  the wanted slice of rows into the row store's columns
 */
#include "codegen/emit_int.h"
#include "codegen/prelude.h"

enum { MERGE_PIECE = 16 };

void em_sink_sort(Em *m) {
    const Sink *s = &m->prog->sink;
    int32_t sort = m->plan->rows[s->id].sort;
    const DevSort *d = &m->ep->sorts[sort];
    w(m, "{\nconst u64 slot = append(P(%d));\nif (slot < P(%d)) {\n", P1(m, KP_OUT_COUNT, s->id),
      P1(m, KP_OUT_CAP, s->id));
    for (int32_t i = 0; i < d->seq_col; i++) {
        if (!d->stored[i]) continue;
        const DevCol *c = &d->cols[i];
        em_store(m, i < s->n_regs ? s->regs[i] : s->keys[i - s->n_regs], c, P2(m, KP_SORT_DATA, sort, i),
                 c->nullable ? P2(m, KP_SORT_VALID, sort, i) : -1, "slot");
    }
    w(m, "G(u64, P(%d))[slot] = P(%d) | %s;\n}\n}\n", P2(m, KP_SORT_DATA, sort, d->seq_col), P1(m, KP_SEQ_BASE, 0),
      em_position(m));
}

/* ---- comparison ------------------------------------------------------------------------------- */
typedef struct Key {
    const DevCol *c;
    bool desc, nulls_first, codes; /* codes: of an ordered dictionary, or plain integers */
    int32_t data, valid, off, bytes;
} Key;

static Key key_of(Em *m, int32_t sort, int32_t i) {
    const SortSpec *s = &m->plan->sorts[sort];
    const DevSort *d = &m->ep->sorts[sort];
    int32_t col = d->key_col[i];
    Key k = {.c = &d->cols[col],
             .desc = s->keys[i].desc,
             .nulls_first = s->keys[i].nulls_first,
             .valid = -1,
             .off = -1,
             .bytes = -1};
    k.data = P2(m, KP_SORT_DATA, sort, col);
    if (k.c->nullable) k.valid = P2(m, KP_SORT_VALID, sort, col);
    /* A key of the specification that is plain integers orders as integers, whatever dictionary they come from. */
    k.codes =
        k.c->phys == PH_I32 && (!k.c->dict || s->keys[i].key.phys != PH_STR || k.c->dict->n_sorted == k.c->dict->n);
    if (k.c->phys == PH_I32 && !k.codes) {
        k.off = em_param(m, KP_DICT_OFFSETS, 0, 0, k.c->dict);
        k.bytes = em_param(m, KP_DICT_BYTES, 0, 0, k.c->dict);
    }
    return k;
}
/* A key's value at `row`; parameters are written with `p`: "P(%d)" in kernels, "p%d" in the function. */
static void key_value(Em *m, const Key *k, const char *row, bool in_fn, char *buf, size_t n) {
    const char *o = in_fn ? "p" : "P(", *c = in_fn ? "" : ")";
    if (k->c->phys == PH_I128) snprintf(buf, n, "ld_i128(%s%d%s + %s * 16)", o, (int)k->data, c, row);
    else if (k->c->phys == PH_I32 && !k->codes)
        snprintf(buf, n, "dict_str(%s%d%s, %s%d%s, G(i32, %s%d%s)[%s])", o, (int)k->off, c, o, (int)k->bytes, c, o,
                 (int)k->data, c, row);
    else snprintf(buf, n, "G(%s, %s%d%s)[%s]", m_type[k->c->phys], o, (int)k->data, c, row);
    (void)m;
}
static uint8_t key_phys(const Key *k) { return k->c->phys == PH_I32 && !k->codes ? PH_STR : k->c->phys; }

/* Do equal prefixes mean equal keys? */
static bool prefix_is_exact(const Key *k) {
    uint8_t p = key_phys(k);
    return p <= PH_I32 || p == PH_F32 || ((p == PH_I64 || p == PH_F64) && k->valid < 0);
}

static void put_prefix(Em *m, Out *o, const Key *k) {
    char v[192];
    key_value(m, k, "i", false, v, sizeof v);
    uint8_t p = key_phys(k);
    bool narrow = p <= PH_I32;
    out_w(m, o, "u64 key = ");
    switch (p) {
    case PH_BOOL:
    case PH_I16:
    case PH_I32: out_w(m, o, "(u64)((u32)(i32)%s ^ 0x80000000u)", v); break;
    case PH_I64: out_w(m, o, "key_i64(%s)", v); break;
    case PH_I128: out_w(m, o, "key_i128(%s)", v); break;
    case PH_F32:
    case PH_F64: out_w(m, o, "key_f64((f64)%s)", v); break;
    case PH_STR: out_w(m, o, "str_prefix(%s)", v); break;
    case PH_INTERVAL: out_w(m, o, "key_iv(%s)", v); break;
    default: out_w(m, o, "bswap_u64(%s.a)", v);
    }
    out_w(m, o, ";\n");
    if (k->desc) out_w(m, o, narrow ? "key ^= 0xffffffffu;\n" : "key = ~key;\n");
    if (k->valid < 0) return;
    const char *value = k->nulls_first ? "1" : "0", *null = k->nulls_first ? "0" : "1";
    if (narrow)
        out_w(m, o, "key = G(u8, P(%d))[i] != 0 ? key | (u64)%s << 32 : (u64)%s << 32;\n", k->valid, value, null);
    else if (p == PH_F32)
        out_w(m, o, "key = G(u8, P(%d))[i] != 0 ? key >> 1 | (u64)%s << 63 : (u64)%s << 63;\n", k->valid, value, null);
    else out_w(m, o, "key = G(u8, P(%d))[i] != 0 ? key >> 1 | (u64)%s << 63 : (u64)%s << 63;\n", k->valid, value, null);
}

/* sort_less and the macro that gives it its parameters. */
static void put_less(Em *m, Out *o, int32_t sort) {
    const SortSpec *s = &m->plan->sorts[sort];
    int32_t seq = P2(m, KP_SORT_DATA, sort, m->ep->sorts[sort].seq_col);
    Out args = {0}, call = {0};
    Out body = {0};
    uint8_t *listed = arena_calloc(m->arena, DEV_PARAMS_MAX * 4);
    if (!listed) {
        o->failed = true;
        return;
    }
    for (int32_t i = 0; i <= s->n_keys; i++) {
        int32_t used[4] = {seq, -1, -1, -1};
        if (i < s->n_keys) {
            Key k = key_of(m, sort, i);
            int32_t of_key[4] = {k.data, k.valid, k.off, k.bytes};
            memcpy(used, of_key, sizeof used);
            if (i > 0 || !prefix_is_exact(&k)) {
                char a[192], b[192];
                key_value(m, &k, "ra", true, a, sizeof a);
                key_value(m, &k, "rb", true, b, sizeof b);
                if (k.valid >= 0) {
                    out_w(m, &body, "{ const bool va = G(u8, p%d)[ra] != 0, vb = G(u8, p%d)[rb] != 0;\n", k.valid,
                          k.valid);
                    out_w(m, &body, "if (va != vb) return %s;\nif (va) ", k.nulls_first ? "vb" : "va");
                }
                out_w(m, &body, "{ const i32 c = ");
                em_cmp3(m, &body, key_phys(&k), a, b);
                out_w(m, &body, k.desc ? "; if (c != 0) return c > 0; }\n" : "; if (c != 0) return c < 0; }\n");
                if (k.valid >= 0) out_w(m, &body, "}\n");
            }
        }
        for (int32_t u = 0; u < 4; u++) {
            if (used[u] < 0 || listed[used[u]]) continue;
            listed[used[u]] = 1;
            out_w(m, &args, ", u64 p%d", used[u]);
            out_w(m, &call, ", P(%d)", used[u]);
        }
    }
    out_w(m, o, "\nFN_BIG bool sort_less(u64 ka, u64 ra, u64 kb, u64 rb");
    out_put(m, o, args.p, args.n);
    out_w(m, o, ") {\nif (ka != kb) return ka < kb;\nif (ra == ~(u64)0 || rb == ~(u64)0) return ra < rb;\n");
    if (body.n) out_put(m, o, body.p, body.n);
    out_w(
        m, o,
        "{ const u64 sa = G(u64, p%d)[ra], sb = G(u64, p%d)[rb]; if (sa != sb) return sa < sb; }\nreturn ra < rb;\n}\n",
        seq, seq);
    out_w(m, o, "#define SORT_LESS(ka, ra, kb, rb) sort_less(ka, ra, kb, rb");
    out_put(m, o, call.p, call.n);
    out_w(m, o, ")\n");
    o->failed |= args.failed || call.failed || body.failed;
}

void em_sort_kernels(Em *m, int32_t sort, int32_t rows) {
    Out *o = &m->text.extra;
    int32_t n = P1(m, KP_SORT_N, sort), a = P1(m, KP_SORT_A, sort), b = P1(m, KP_SORT_B, sort),
            width = P1(m, KP_SORT_WIDTH, sort);
    int32_t first = P1(m, KP_SORT_FIRST, sort), take = P1(m, KP_SORT_TAKE, sort);
    const SortSpec *s = &m->plan->sorts[sort];
    put_less(m, o, sort);
    out_w(m, o,
          "\nKERNEL(sort_init) {\nconst u64 n = P(%d);\nu32 polls = 0;\nfor (u64 i = GID * LSIZE + LID; i < n && "
          "GOES_ON(polls, 64u); i += NGROUPS * LSIZE) {\n",
          n);
    if (s->n_keys > 0) {
        Key k = key_of(m, sort, 0);
        put_prefix(m, o, &k);
    } else {
        out_w(m, o, "const u64 key = 0;\n");
    }
    out_w(m, o, "G(u64, P(%d))[2 * i] = key;\nG(u64, P(%d))[2 * i + 1] = i;\n}\n}\n", a, a);

    out_w(m, o, "#define SORT_TILE %d\n#define MERGE_PIECE %d\n", (int32_t)SORT_TILE, (int32_t)MERGE_PIECE);
    out_w(m, o, "#define SORT_N P(%d)\n#define SORT_A P(%d)\n#define SORT_B P(%d)\n", n, a, b);
    out_w(m, o, "#define SORT_WIDTH P(%d)\n", width);
    out_put(m, o, KERNEL_PART(kc_sort), (int64_t)sizeof KERNEL_PART(kc_sort) - 1);

    out_w(m, o,
          "\nKERNEL(sort_gather) {\nconst u64 n = P(%d);\nu32 polls = 0;\nfor (u64 i = GID * LSIZE + LID; i < n && "
          "GOES_ON(polls, 64u); i += NGROUPS * LSIZE) {\nconst u64 row = G(u64, P(%d))[2 * (P(%d) + i) + 1];\n",
          take, a, first);
    for (int32_t i = 0; i < s->n_cols; i++) {
        const DevCol *c = &m->ep->sorts[sort].cols[i];
        int32_t from = P2(m, KP_SORT_DATA, sort, i), to = P2(m, KP_ROWS_DATA, rows, i);
        if (c->phys == PH_I128) out_w(m, o, "st_i128(P(%d) + i * 16, ld_i128(P(%d) + row * 16));\n", to, from);
        else out_w(m, o, "G(%s, P(%d))[i] = G(%s, P(%d))[row];\n", m_type[c->phys], to, m_type[c->phys], from);
        if (c->nullable)
            out_w(m, o, "G(u8, P(%d))[i] = G(u8, P(%d))[row];\n", P2(m, KP_ROWS_VALID, rows, i),
                  P2(m, KP_SORT_VALID, sort, i));
    }
    out_w(m, o, "}\n}\n");
}
