/* ki_sort.h - the kernels that sort, for any keys: as those that codegen/emit_sort.c writes, with the keys in a table.
 */
#ifndef KI_SORT_H
#define KI_SORT_H
#include "codegen/prelude/interp/ki_agg.h"

#define KI_SORT_TILE 1024u
#define KI_MERGE_PIECE 16u

FN val sort_cell(KARGS, u64 code, u32 k, u64 row) {
    u32 offsets = CODE(k + BY_OFFSETS);
    if (offsets == BC_NO) return load_cell(CODE(k + BY_PHYS), P(CODE(k + BY_DATA)), row);
    return val_str(dict_str(P(offsets), P(CODE(k + BY_BYTES)), G(i32, P(CODE(k + BY_DATA)))[row]));
}
FN bool sort_there(KARGS, u64 code, u32 k, u64 row) {
    u32 valid = CODE(k + BY_VALID);
    return valid == BC_NO || G(u8, P(valid))[row] != 0;
}

/* 64 bits in the order of the first key. Nullable keys give their last bit for the place of NULL. */
FN_BIG u64 sort_prefix(KARGS, u64 code, u32 sort, u64 row) {
    u32 k = CODE(sort + BSO_KEYS);
    if (CODE(sort + BSO_N_KEYS) == 0) return G(u64, P(CODE(sort + BSO_SEQ)))[row];
    bool nulls_first = CODE(k + BY_NULLS_FIRST) != 0, nullable = CODE(k + BY_VALID) != BC_NO;
    u32 phys = CODE(k + BY_PHYS);
    if (!sort_there(kp, code, k, row)) return nulls_first ? 0 : phys <= KI_I32 ? U64C(1) << 32 : U64C(1) << 63;
    val v = sort_cell(kp, code, k, row);
    u64 key;
    switch (phys) {
    case KI_BOOL:
    case KI_I16:
    case KI_I32: key = (u64)((u32)v.lo ^ 0x80000000u); break;
    case KI_I64: key = key_i64((i64)v.lo); break;
    case KI_I128: key = key_i128(as_i128(v)); break;
    case KI_F32:
    case KI_F64: key = key_f64(as_f64(v)); break;
    case KI_STR: key = str_prefix(as_str(v)); break;
    case KI_INTERVAL: key = key_iv(as_iv(v)); break;
    default: key = bswap_u64(v.lo);
    }
    if (CODE(k + BY_DESC) != 0) key = phys <= KI_I32 ? key ^ 0xffffffffu : ~key;
    if (!nullable) return key;
    if (phys <= KI_I32) return key | (u64)nulls_first << 32;
    return key >> 1 | (u64)nulls_first << 63;
}

/* A total order of pairs; padding (row ~0) comes last. */
FN_BIG bool sort_less(KARGS, u64 code, u32 sort, u64 ka, u64 ra, u64 kb, u64 rb) {
    if (ka != kb) return ka < kb;
    if (ra == ~(u64)0 || rb == ~(u64)0) return ra < rb;
    u32 k = CODE(sort + BSO_KEYS);
    for (u32 n = CODE(sort + BSO_N_KEYS); n > 0; n--, k += BY_WORDS) {
        if (CODE(k + BY_EXACT) != 0) continue;
        bool va = sort_there(kp, code, k, ra), vb = sort_there(kp, code, k, rb);
        if (va != vb) return CODE(k + BY_NULLS_FIRST) != 0 ? vb : va;
        if (!va) continue;
        i32 c = val_cmp(CODE(k + BY_PHYS), sort_cell(kp, code, k, ra), sort_cell(kp, code, k, rb));
        if (c != 0) return CODE(k + BY_DESC) != 0 ? c > 0 : c < 0;
    }
    u64 seq = P(CODE(sort + BSO_SEQ)), sa = G(u64, seq)[ra], sb = G(u64, seq)[rb];
    return sa != sb ? sa < sb : ra < rb;
}

KERNEL(sort_init) {
    const u64 code = P(BC_CODE_PARAM);
    const u32 sort = CODE(BH_SORT);
    const u64 n = P(CODE(sort + BSO_N)), a = P(CODE(sort + BSO_A));
    u32 polls = 0;
    for (u64 i = GID * LSIZE + LID; i < n && GOES_ON(polls, 64u); i += NGROUPS * LSIZE) {
        G(u64, a)[2 * i] = sort_prefix(kp, code, sort, i);
        G(u64, a)[2 * i + 1] = i;
    }
}

KERNEL(sort_tile) {
    const u64 code = P(BC_CODE_PARAM);
    const u32 sort = CODE(BH_SORT);
    const u64 n = P(CODE(sort + BSO_N)), a = P(CODE(sort + BSO_A));
    LOCAL u64 *const ks = LM(u64, 0), *const rs = LM(u64, KI_SORT_TILE * 8);
    for (u64 base = GID * KI_SORT_TILE; base < n; base += NGROUPS * KI_SORT_TILE) {
        if (LID == 0) ks[0] = STOPPED();
        BARRIER();
        const bool halt = ks[0] != 0;
        BARRIER();
        if (halt) break;
        const u32 m = n - base < KI_SORT_TILE ? (u32)(n - base) : KI_SORT_TILE;
        u32 size = 1;
        while (size < m) size *= 2;
        for (u32 i = LID; i < size; i += LSIZE) {
            ks[i] = i < m ? G(u64, a)[2 * (base + i)] : ~(u64)0;
            rs[i] = i < m ? G(u64, a)[2 * (base + i) + 1] : ~(u64)0;
        }
        BARRIER();
        for (u32 k = 2; k <= size; k <<= 1)
            for (u32 j = k >> 1; j > 0; j >>= 1) {
                for (u32 i = LID; i < size / 2; i += LSIZE) {
                    const u32 x = 2 * i - (i & (j - 1)), y = x + j;
                    const bool up = (x & k) == 0;
                    if (sort_less(kp, code, sort, ks[y], rs[y], ks[x], rs[x]) == up) {
                        const u64 tk = ks[x], tr = rs[x];
                        ks[x] = ks[y];
                        rs[x] = rs[y];
                        ks[y] = tk;
                        rs[y] = tr;
                    }
                }
                BARRIER();
            }
        for (u32 i = LID; i < m; i += LSIZE) {
            G(u64, a)[2 * (base + i)] = ks[i];
            G(u64, a)[2 * (base + i) + 1] = rs[i];
        }
        BARRIER();
    }
}

KERNEL(sort_merge) {
    const u64 code = P(BC_CODE_PARAM);
    const u32 sort = CODE(BH_SORT);
    const u64 n = P(CODE(sort + BSO_N)), width = P(CODE(sort + BSO_WIDTH)), a = P(CODE(sort + BSO_A)),
              b = P(CODE(sort + BSO_B));
    u32 polls = 0;
    for (u64 d = (GID * LSIZE + LID) * KI_MERGE_PIECE; d < n && GOES_ON(polls, 8u);
         d += NGROUPS * LSIZE * KI_MERGE_PIECE) {
        const u64 start = d / (2 * width) * (2 * width), mid = start + width < n ? start + width : n,
                  stop = start + 2 * width < n ? start + 2 * width : n;
        const u64 na = mid - start, nb = stop - mid, diag = d - start, pa = a + start * 16, pb = a + mid * 16;
        u64 lo = diag > nb ? diag - nb : 0, hi = diag < na ? diag : na;
        while (lo < hi) {
            const u64 x = (lo + hi) / 2, y = diag - 1 - x;
            if (sort_less(kp, code, sort, G(u64, pa)[2 * x], G(u64, pa)[2 * x + 1], G(u64, pb)[2 * y],
                          G(u64, pb)[2 * y + 1]))
                lo = x + 1;
            else hi = x;
        }
        u64 i = lo, j = diag - lo;
        for (u32 q = 0; q < KI_MERGE_PIECE && i + j < na + nb; q++) {
            const bool left = j >= nb || (i < na && sort_less(kp, code, sort, G(u64, pa)[2 * i], G(u64, pa)[2 * i + 1],
                                                              G(u64, pb)[2 * j], G(u64, pb)[2 * j + 1]));
            const u64 from = left ? pa + i * 16 : pb + j * 16;
            G(u64, b)[2 * (d + q)] = G(u64, from)[0];
            G(u64, b)[2 * (d + q) + 1] = G(u64, from)[1];
            if (left) i++;
            else j++;
        }
    }
}

KERNEL(sort_gather) {
    const u64 code = P(BC_CODE_PARAM);
    const u32 sort = CODE(BH_SORT), n_cols = CODE(sort + BSO_N_COLS);
    const u64 n = P(CODE(sort + BSO_TAKE)), first = P(CODE(sort + BSO_FIRST)), a = P(CODE(sort + BSO_A));
    u32 polls = 0;
    for (u64 i = GID * LSIZE + LID; i < n && GOES_ON(polls, 64u); i += NGROUPS * LSIZE) {
        const u64 row = G(u64, a)[2 * (first + i) + 1];
        u32 c = CODE(sort + BSO_COLS);
        for (u32 k = 0; k < n_cols; k++, c += BM_WORDS) {
            u32 phys = CODE(c + BM_PHYS);
            store_cell(phys, P(CODE(c + BM_TO)), i, load_cell(phys, P(CODE(c + BM_FROM)), row));
            if (CODE(c + BM_FROM_VALID) != BC_NO)
                G(u8, P(CODE(c + BM_TO_VALID)))[i] = G(u8, P(CODE(c + BM_FROM_VALID)))[row];
        }
    }
}

#endif
