/* ki_sort.h - the kernels that sort, for any keys: as those that codegen/emit_sort.c writes, with the keys in a table.
 * sort_tile and sort_merge are kc_sort.h, which cmake/kernels.cmake puts behind this file.
 */
#ifndef KI_SORT_H
#define KI_SORT_H
#include "codegen/prelude/interp/ki_agg.h"

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

#define SORT_TILE 1024u
#define MERGE_PIECE 16u
#define SORT_BEGIN                     \
    const u64 code = P(BC_CODE_PARAM); \
    const u32 sort = CODE(BH_SORT);
#define SORT_N P(CODE(sort + BSO_N))
#define SORT_A P(CODE(sort + BSO_A))
#define SORT_B P(CODE(sort + BSO_B))
#define SORT_WIDTH P(CODE(sort + BSO_WIDTH))
#define SORT_LESS(ka, ra, kb, rb) sort_less(kp, code, sort, ka, ra, kb, rb)
#include "codegen/prelude/kc_sort.h"

#endif
