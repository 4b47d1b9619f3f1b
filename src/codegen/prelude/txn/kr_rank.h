/* kr_rank.h - ranks and depths of a bulk's operations by sort and segmented scan (txn/order/rank_device.c launches
 * these).
 *
 *   rank_mark, rank_filter        drop operations on items without conflicts; what is left becomes records
 *   rank_hist, _scan, _scatter    one pass of a stable radix sort
 *   rank_sums, rank_uses          the records by (item, call): which rank each use of an item has
 *   rank_count, _call_sums, _call_starts, _locks    locks by call
 *   rank_relax, _figures          depths of calls
 *   rank_keys, _order, _starts    calls by (depth, type)
 *
 * A record is (name of the item << 32 | call << RK_KIND_BITS | kind). A group works on one chunk of neighbouring
 * records, tile by tile, so that the order of groups is the order of records; what a group must know of the groups
 * before it, it adds up from what they left in an earlier kernel. No group waits for another. Tiles and barriers are
 * the same for all items of a group.
 */
#ifndef KR_RANK_H
#define KR_RANK_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/txn/kr_codes.h"

#if !defined(RANK_ITEMS) /* records per item and tile: the text sets it */
#define RANK_ITEMS 8
#endif
#if !defined(RELAX_ITEMS) /* the same for rank_relax; its passes over a chunk in a round */
#define RELAX_ITEMS 8
#define RELAX_PASSES 1
#endif
#define RANK_TILE ((u64)RANK_ITEMS * LSIZE)
#define KIND_NONE ((u32)RK_NONE)
#define KIND_MASK ((1u << RK_KIND_BITS) - 1)
#define MANY_CALLS (~KIND_MASK)

FN u32 name_of(u64 item) { return ((u32)(hash_u64(item) >> 32) & ~1u) | ((u32)item & 1u); }
FN u32 kinds_of(u64 use) { return ((u32)use & (RK_AGAIN - 1)) + 1; } /* 1 read, 2 add, 3 write = both, 4 own */
FN u32 ops_of(u64 use) { return ((u32)use & RK_AGAIN) ? RK_OPS_AGAIN : 1; }
FN bool kinds_commute(u32 kinds) { return (kinds & (kinds - 1)) == 0; } /* with the same ones */
FN u64 use_of(u64 record) { return record >> RK_KIND_BITS; }
FN u32 call_of(u64 record) { return (u32)record >> RK_KIND_BITS; }
FN u64 op_count(u64 n_ops, u64 most) {
    u64 n = n_ops ? (u64)GRO(u32, n_ops)[0] : most;
    return n < most ? n : most;
}
FN u64 least(u64 a, u64 b) { return a < b ? a : b; }
/* Words that others change atomically meanwhile; OLD32: a value of some time ago will do. */
#if defined(KC_CHECK)
#define PEEK32(addr) ga_max_u32(addr, 0)
#define PEEK64(addr) ga_max_u64(addr, 0)
#elif defined(KC_HOST)
#define PEEK32(addr) __atomic_load_n((u32 *)(addr), __ATOMIC_RELAXED)
#define PEEK64(addr) __atomic_load_n((u64 *)(addr), __ATOMIC_RELAXED)
#else
#define PEEK32(addr) (GVOL(u32, addr)[0])
#define PEEK64(addr) (GVOL(u64, addr)[0])
#endif
#if defined(KC_CUDA)
#define OLD32(addr) (G(u32, addr)[0])
#else
#define OLD32(addr) PEEK32(addr)
#endif

/* ---- the filter ------------------------------------------------------------------------------------------ */
/* A place of the filter: kinds seen (the lower bits), and 1 + the only call, or MANY_CALLS. Bits only ever come, so an
 * old value tells no lie. */
FN void mark_place(u64 place, u32 seen, u32 owner, u32 kinds) {
    u32 want;
    if (seen == 0) {
        seen = ga_cas_u32(place, 0, owner | kinds);
        if (seen == 0) return;
    }
    want = (seen & MANY_CALLS) == owner ? kinds : MANY_CALLS | kinds;
    if ((seen | want) != seen) ga_or_u32(place, want);
}
/* Lanes of a warp that mean one place send one of them: a hot item would otherwise get an atomic from every item at
 * once. */
FN void mark_op(u64 table, bool real, u32 bucket, u32 seen, u32 owner, u32 kinds) {
    u32 want = seen == 0 || (seen & MANY_CALLS) == owner ? owner | kinds : MANY_CALLS | kinds;
    bool need = real && (seen | want) != seen;
#if defined(HAVE_WARP)
    if (!__any_sync(0xffffffffu, need)) return;
    u32 peers = __match_any_sync(0xffffffffu, need ? bucket : 0xffffffffu);
    u32 leader = (u32)__ffs((i32)peers) - 1;
    u32 reads = ballot((kinds & 1u) != 0) & peers, adds = ballot((kinds & 2u) != 0) & peers,
        owns = ballot((kinds & 4u) != 0) & peers;
    u32 others = ballot(owner != __shfl_sync(0xffffffffu, owner, (i32)leader)) & peers;
    kinds = (reads ? 1u : 0u) | (adds ? 2u : 0u) | (owns ? 4u : 0u);
    if (others) owner = MANY_CALLS;
    need = need && LANE == leader;
    if (need) seen = PEEK32(table + (u64)bucket * 4);
#endif
    if (need) mark_place(table + (u64)bucket * 4, seen, owner, kinds);
}

/* N: how many of the operations, from the first on. */
KERNEL(rank_mark) {
    const u64 items = P(RK_ITEMS), uses = P(RK_USES), table = P(RK_TABLE),
              n = least(P(RK_N), op_count(P(RK_N_OPS), P(RK_MAX_OPS))), calls = P(RK_N_CALLS);
    const u32 shift = (u32)P(RK_SHIFT);
    const bool in_order = P(RK_IN_ORDER) != 0;
    for (u64 tile = GID * LSIZE * 4; tile < n; tile += NGROUPS * LSIZE * 4) {
        u32 use[4], bucket[4], seen[4];
        for (u32 k = 0; k < 4; k++) {
            const u64 i = tile + k * LSIZE + LID;
            use[k] = i < n ? GRO(u32, uses)[i] : KIND_NONE;
            bucket[k] = i < n ? name_of(GRO(u64, items)[i]) >> shift : 0;
            if (in_order && i < n && i > 0 && call_of(GRO(u32, uses)[i - 1]) > call_of(use[k])) RAISE(RK_UNORDERED);
            if ((use[k] & KIND_MASK) != KIND_NONE && call_of(use[k]) >= calls) {
                RAISE(RK_NO_CALL);
                use[k] = KIND_NONE;
            }
        }
        for (u32 k = 0; k < 4; k++) seen[k] = (use[k] & KIND_MASK) != KIND_NONE ? OLD32(table + (u64)bucket[k] * 4) : 0;
        for (u32 k = 0; k < 4; k++)
            mark_op(table, (use[k] & KIND_MASK) != KIND_NONE, bucket[k], seen[k], (call_of(use[k]) + 1) << RK_KIND_BITS,
                    kinds_of(use[k]));
    }
}

/* Places of what is kept in a tile, in order: the caller asks for RANK_ITEMS rows of LSIZE each. */
#if defined(HAVE_WARP)
/* bits: row k is kept. at: where the rows of this warp begin, in `counts` (RANK_ITEMS * warps <= LSIZE words), behind a
 * barrier. Returns all. */
FN u32 tile_places(u32 bits, LOCAL u32 *counts, LOCAL u64 *tmp) {
    const u32 warps = LSIZE / WARP;
    u32 all;
    for (u32 k = 0; k < RANK_ITEMS; k++) {
        u32 b = ballot((bits >> k & 1u) != 0);
        if (LANE == 0) counts[k * warps + LID / WARP] = (u32)__popc(b);
    }
    BARRIER();
    u32 v = LID < RANK_ITEMS * warps ? counts[LID] : 0;
    u32 before = group_scan_u32(v, tmp, &all);
    if (LID < RANK_ITEMS * warps) counts[LID] = before;
    BARRIER();
    return all;
}
#endif

KERNEL(rank_filter) {
    const u64 items = P(RK_ITEMS), uses = P(RK_USES), table = P(RK_TABLE), to = P(RK_TO),
              n = op_count(P(RK_N_OPS), P(RK_MAX_OPS)), calls = P(RK_N_CALLS);
    const u32 shift = (u32)P(RK_SHIFT);
    const u64 begin = GID * P(RK_CHUNK), end = least(n, begin + P(RK_CHUNK));
    u64 out = begin;
    for (u64 tile = begin; tile < end; tile += RANK_TILE) {
        u32 bits = 0, use[RANK_ITEMS], name[RANK_ITEMS];
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + k * LSIZE + LID;
            use[k] = i < end ? GRO(u32, uses)[i] : KIND_NONE;
            name[k] = i < end ? name_of(GRO(u64, items)[i]) : 0;
            if (call_of(use[k]) >= calls) use[k] = KIND_NONE;
        }
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u32 seen = (use[k] & KIND_MASK) != KIND_NONE ? GRO(u32, table)[name[k] >> shift] : 0;
            if (seen >= MANY_CALLS && !kinds_commute(seen & KIND_MASK)) bits |= 1u << k;
        }
#if defined(HAVE_WARP)
        LOCAL u32 *const counts = LM(u32, 0);
        u32 all = tile_places(bits, counts, LM(u64, RANK_ITEMS * LSIZE / WARP * 4));
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            u32 b = ballot((bits >> k & 1u) != 0);
            if (bits >> k & 1u) G(u64, to)
            [out + counts[k * (LSIZE / WARP) + LID / WARP] + (u32)__popc(b & ((1u << LANE) - 1))] =
                (u64)name[k] << 32 | use[k];
        }
        out += all;
        BARRIER();
#else
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            u32 all, before = group_scan_u32(bits >> k & 1u, LM(u64, 0), &all);
            if (bits >> k & 1u) G(u64, to)[out + before] = (u64)name[k] << 32 | use[k];
            out += all;
        }
#endif
    }
    if (LID == 0) G(u32, P(RK_COUNTS))[GID] = (u32)(out - begin);
}

/* ---- radix sort ------------------------------------------------------------------------------------------ */
FN u32 digit_of(u64 record, u32 shift, u32 mask) { return (u32)(record >> shift) & mask; }
/* End of the group's chunk. */
#define CHUNK_BEGIN (GID * P(RK_CHUNK))
#define CHUNK_END \
    (P(RK_COUNTS) ? GID * P(RK_CHUNK) + GRO(u32, P(RK_COUNTS))[GID] : least(P(RK_N), (GID + 1) * P(RK_CHUNK)))

KERNEL(rank_hist) {
    LOCAL u32 *const count = LM(u32, 0);
    const u64 from = P(RK_FROM), end = CHUNK_END;
    const u32 shift = (u32)P(RK_SHIFT), mask = (1u << P(RK_BITS)) - 1;
    for (u32 d = LID; d < RK_DIGITS; d += LSIZE) count[d] = 0;
    BARRIER();
    for (u64 i = CHUNK_BEGIN + LID; i < end; i += LSIZE)
        la_add_u32(&count[digit_of(GRO(u64, from)[i], shift, mask)], 1);
    BARRIER();
    for (u32 d = LID; d < RK_DIGITS; d += LSIZE) {
        G(u32, P(RK_HIST))[d * NGROUPS + GID] = count[d];
        if (count[d]) ga_add_u32(P(RK_TOTALS) + d * 4, count[d]);
    }
}

/* A group per digit: where each chunk's records with this digit go. N = number of chunks. */
KERNEL(rank_scan) {
    LOCAL u64 *const tmp = LM(u64, 0);
    const u64 hist = P(RK_HIST) + GID * P(RK_N) * 4, n = P(RK_N);
    u32 base = 0, all;
    for (u64 d = 0; d < GID; d += LSIZE) {
        group_scan_u32(d + LID < GID ? GRO(u32, P(RK_TOTALS))[d + LID] : 0, tmp, &all);
        base += all;
    }
    for (u64 c = 0; c < n; c += LSIZE) {
        u32 before = group_scan_u32(c + LID < n ? G(u32, hist)[c + LID] : 0, tmp, &all);
        if (c + LID < n) G(u32, hist)[c + LID] = base + before;
        base += all;
    }
}

#if defined(HAVE_WARP)
/* Each warp has neighbouring records, row by row; lanes with the same digit in a row are found by one instruction. The
 * tile is put in order in local memory, so that records with one digit leave together. Local memory: counts per warp
 * and digit, place in the tile per digit, difference to the place in memory, tile. */
KERNEL(rank_scatter) {
    const u32 warps = LSIZE / WARP, w = LID / WARP;
    LOCAL u32 *const count = LM(u32, 0), *const mine = count + w * RK_DIGITS, *const first = count + warps * RK_DIGITS,
                     *const delta = first + RK_DIGITS;
    LOCAL u64 *const sorted = (LOCAL u64 *)(delta + RK_DIGITS), *const tmp = sorted;
    const u64 from = P(RK_FROM), to = P(RK_TO), begin = CHUNK_BEGIN, end = CHUNK_END;
    const u32 shift = (u32)P(RK_SHIFT), mask = (1u << P(RK_BITS)) - 1;
    const u32 below = (1u << LANE) - 1;
    u32 at = LID < RK_DIGITS ? G(u32, P(RK_HIST))[LID * NGROUPS + GID] : 0; /* of digit LID */
    for (u64 tile = begin; tile < end; tile += RANK_TILE) {
        u64 record[RANK_ITEMS];
        u32 rank[RANK_ITEMS];
        for (u32 d = LID; d < warps * RK_DIGITS; d += LSIZE) count[d] = 0;
#pragma unroll
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + (w * RANK_ITEMS + k) * WARP + LANE;
            record[k] = i < end ? GRO(u64, from)[i] : 0;
        }
        BARRIER();
#pragma unroll
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + (w * RANK_ITEMS + k) * WARP + LANE;
            const u32 d = i < end ? digit_of(record[k], shift, mask) : RK_DIGITS;
            const u32 peers = __match_any_sync(0xffffffffu, d), leader = (u32)__ffs((i32)peers) - 1;
            u32 before = 0;
            if (LANE == leader && i < end) {
                before = mine[d];
                mine[d] = before + (u32)__popc(peers);
            }
            rank[k] = __shfl_sync(0xffffffffu, before, (i32)leader) + (u32)__popc(peers & below);
            __syncwarp();
        }
        BARRIER();
        u32 sum = 0, all;
        if (LID < RK_DIGITS)
            for (u32 v = 0; v < warps; v++) {
                const u32 c = count[v * RK_DIGITS + LID];
                count[v * RK_DIGITS + LID] = sum;
                sum += c;
            }
        const u32 start = group_scan_u32(sum, tmp, &all);
        if (LID < RK_DIGITS) {
            first[LID] = start;
            delta[LID] = at - start;
            at += sum;
        }
        BARRIER();
#pragma unroll
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + (w * RANK_ITEMS + k) * WARP + LANE;
            const u32 d = digit_of(record[k], shift, mask);
            if (i < end) sorted[first[d] + mine[d] + rank[k]] = record[k];
        }
        BARRIER();
        for (u32 p = LID; p < all; p += LSIZE) {
            const u64 r = sorted[p];
            G(u64, to)[delta[digit_of(r, shift, mask)] + p] = r;
        }
        BARRIER();
    }
}
#else
/* Row by row; a record's place is that of its digit, and those with the same digit before it in the row. */
KERNEL(rank_scatter) {
    LOCAL u32 *const at = LM(u32, 0), *const digits = at + RK_DIGITS;
    const u64 from = P(RK_FROM), to = P(RK_TO), end = CHUNK_END;
    const u32 shift = (u32)P(RK_SHIFT), mask = (1u << P(RK_BITS)) - 1;
    for (u32 d = LID; d < RK_DIGITS; d += LSIZE) at[d] = G(u32, P(RK_HIST))[d * NGROUPS + GID];
    for (u64 row = CHUNK_BEGIN; row < end; row += LSIZE) {
        const bool real = row + LID < end;
        const u64 r = real ? GRO(u64, from)[row + LID] : 0;
        const u32 d = real ? digit_of(r, shift, mask) : RK_DIGITS;
        u32 before = 0;
        digits[LID] = d;
        BARRIER();
        for (u32 k = LID; k-- > 0;) before += digits[k] == d;
        if (real) G(u64, to)[at[d] + before] = r;
        BARRIER();
        if (real) la_add_u32(&at[d], 1);
    }
}
#endif

/* ---- ranks ----------------------------------------------------------------------------------------------- */
/* Of a stretch of records: uses (an item by a call) and ranks in it; 1 + the uses before the last rank began, before
 * the last item began (0: none did). */
typedef struct Runs {
    u32 uses, ranks, rank, item;
} Runs;
FN Runs runs_make(u32 uses, u32 ranks, u32 rank, u32 item) {
    Runs r;
    r.uses = uses;
    r.ranks = ranks;
    r.rank = rank;
    r.item = item;
    return r;
}
FN Runs runs_join(Runs a, Runs b) {
    return runs_make(a.uses + b.uses, a.ranks + b.ranks, b.rank ? a.uses + b.rank : a.rank,
                     b.item ? a.uses + b.item : a.item);
}
FN Runs runs_get(LOCAL u32 *m, u32 i) { return runs_make(m[i], m[LSIZE + i], m[2 * LSIZE + i], m[3 * LSIZE + i]); }
FN void runs_put(LOCAL u32 *m, u32 i, Runs r) {
    m[i] = r.uses;
    m[LSIZE + i] = r.ranks;
    m[2 * LSIZE + i] = r.rank;
    m[3 * LSIZE + i] = r.item;
}
/* What the lanes before have, joined; all = of the group. m: 4 * LSIZE words. */
FN Runs runs_scan(Runs v, LOCAL u32 *m, PRIV Runs *all) {
    runs_put(m, LID, v);
    BARRIER();
    for (u32 d = 1; d < LSIZE; d <<= 1) {
        Runs before = LID >= d ? runs_get(m, LID - d) : runs_make(0, 0, 0, 0);
        BARRIER();
        v = runs_join(before, v);
        runs_put(m, LID, v);
        BARRIER();
    }
    *all = runs_get(m, LSIZE - 1);
    Runs before = LID > 0 ? runs_get(m, LID - 1) : runs_make(0, 0, 0, 0);
    BARRIER();
    return before;
}
/* Several operations of a call on an item lie next to each other and are one use, of all their kinds: kinds of the use
 * that begins, or ends, at i. */
FN u32 kinds_from(u64 records, u64 i, u64 n) {
    const u64 use = use_of(GRO(u64, records)[i]);
    u32 kinds = 0;
    for (; i < n && use_of(GRO(u64, records)[i]) == use; i++) kinds |= kinds_of(GRO(u64, records)[i]);
    return kinds;
}
FN u32 kinds_to(u64 records, u64 i) {
    const u64 use = use_of(GRO(u64, records)[i]);
    u32 kinds = 0;
    for (;; i--) {
        if (use_of(GRO(u64, records)[i]) != use) return kinds;
        kinds |= kinds_of(GRO(u64, records)[i]);
        if (i == 0) return kinds;
    }
}
/* Whether a use (1), a rank (2), an item (4) begins at record i. */
FN u32 begins_at(u64 records, u64 i, u64 n) {
    const u64 r = GRO(u64, records)[i], before = i > 0 ? GRO(u64, records)[i - 1] : 0;
    u32 kinds;
    if (i == 0 || before >> 32 != r >> 32) return 7;
    if (use_of(before) == use_of(r)) return 0;
    kinds = kinds_from(records, i, n);
    return !kinds_commute(kinds) || kinds != kinds_to(records, i - 1) ? 3 : 1;
}
FN Runs runs_of(u32 begins) { return runs_make(begins & 1u, begins >> 1 & 1u, begins >> 1 & 1u, begins >> 2); }

FN void sum_put(u64 at, Runs sum) {
    G(u32, at)[0] = sum.uses;
    G(u32, at)[1] = sum.ranks;
    G(u32, at)[2] = sum.rank;
    G(u32, at)[3] = sum.item;
}
FN Runs sum_get(u64 at) { return runs_make(GRO(u32, at)[0], GRO(u32, at)[1], GRO(u32, at)[2], GRO(u32, at)[3]); }
#if defined(HAVE_WARP)
/* Each warp has a portion of the chunk for itself and goes through it row by row: what begins in a row are three words,
 * of which a lane counts the bits below its own. What the warps have lies behind what the groups have. */
#define WARP_CHUNK (P(RK_CHUNK) / (LSIZE / WARP))
#define WARP_BEGIN (CHUNK_BEGIN + LID / WARP * WARP_CHUNK)
#define WARP_SUMS (P(RK_SUMS) + (NGROUPS + GID * (LSIZE / WARP)) * 16)
FN u32 bits_before_last(u32 bits, u32 of) {
    return of ? (u32)__popc(bits & ((0x80000000u >> (u32)__clz((i32)of)) - 1)) + 1 : 0;
}
FN Runs row_runs(u32 use, u32 rank, u32 item) {
    return runs_make((u32)__popc(use), (u32)__popc(rank), bits_before_last(use, rank), bits_before_last(use, item));
}
FN u32 bits_from(u32 lane) { return ~0u << lane; }
/* Of a row, a bit for each lane: where there are records, uses and items begin, and kinds of operations are. */
typedef struct Row {
    u32 real, use, item, reads, adds, owns;
} Row;
FN Row row_look(u64 i, u64 end, u64 r, PRIV u64 *last) { /* *last: the record before the row, then its own last one */
    const bool real = i < end;
    const u32 kinds = real ? kinds_of(r) : 0;
    u64 before = __shfl_up_sync(0xffffffffu, r, 1);
    Row row;
    if (LANE == 0) before = *last;
    *last = __shfl_sync(0xffffffffu, r, WARP - 1);
    row.real = ballot(real);
    row.item = ballot(real && (i == 0 || before >> 32 != r >> 32));
    row.use = ballot(real && use_of(before) != use_of(r)) | row.item;
    row.reads = ballot((kinds & 1u) != 0);
    row.adds = ballot((kinds & 2u) != 0);
    row.owns = ballot((kinds & 4u) != 0);
    return row;
}
FN u32 row_kinds(Row row, u32 lanes) {
    return ((row.reads & lanes) ? 1u : 0u) | ((row.adds & lanes) ? 2u : 0u) | ((row.owns & lanes) ? 4u : 0u);
}
FN u32 kinds_on(u64 records, u64 i, u64 n, u64 use) {
    u32 kinds = 0;
    for (; i < n && use_of(GRO(u64, records)[i]) == use; i++) kinds |= kinds_of(GRO(u64, records)[i]);
    return kinds;
}
/* begins_at for the lane's record r, number i. next: the row behind, if it is known. *open: kinds of the use that the
 * row begins with, in the rows before; then of the one that it ends with. */
FN u32 row_begins(u64 records, u64 i, u64 n, u64 r, Row row, bool known, Row next, PRIV u32 *open) {
    const u64 behind = i - LANE + WARP;
    const u32 before = row.use & ~bits_from(LANE), after = LANE == WARP - 1 ? 0 : row.use & bits_from(LANE + 1);
    const u32 last = 31 - (u32)__clz((i32)(row.use | 1u)),
              from = before ? bits_from(31 - (u32)__clz((i32)before)) : ~0u;
    u32 begins = 0;
    if ((row.item >> LANE & 1u) != 0) {
        begins = 7;
    } else if ((row.use >> LANE & 1u) != 0) {
        const u32 others = row_kinds(row, from & ~bits_from(LANE)) | (before ? 0 : *open);
        u32 kinds = row_kinds(row, bits_from(LANE) & (after ? (after & (0u - after)) - 1 : ~0u));
        if (!after && known) kinds |= row_kinds(next, next.use ? (next.use & (0u - next.use)) - 1 : ~0u);
        if (!after && (!known || (next.use == 0 && next.real == ~0u)))
            kinds |= kinds_on(records, known ? behind + WARP : behind, n, use_of(r));
        begins = !kinds_commute(kinds) || kinds != others ? 3 : 1;
    }
    *open = row.use ? row_kinds(row, bits_from(last)) : *open | row_kinds(row, ~0u);
    return begins;
}
/* A portion of a chunk, by rows: load_rows, then for each of them next_row. */
typedef struct Rows {
    u64 records, begin, end, n, first, last;
    u64 record[RANK_ITEMS];
    Row row;
    u32 open;
} Rows;
FN void rows_init(PRIV Rows *x, u64 records, u64 begin, u64 end, u64 n) {
    x->records = records;
    x->begin = begin;
    x->end = end;
    x->n = n;
    x->last = begin > 0 && begin < end ? GRO(u64, records)[begin - 1] : 0;
    x->open = begin > 0 && begin < end ? kinds_to(records, begin - 1) : 0;
}
FN void rows_load(PRIV Rows *x, u64 first) {
    x->first = first;
#pragma unroll
    for (u32 k = 0; k < RANK_ITEMS; k++)
        x->record[k] = first + k * WARP + LANE < x->end ? GRO(u64, x->records)[first + k * WARP + LANE] : 0;
    x->row = row_look(first + LANE, x->end, x->record[0], &x->last);
}
FN u32 rows_next(PRIV Rows *x, u32 k) {
    const u64 i = x->first + k * WARP + LANE;
    const bool known = k + 1 < RANK_ITEMS;
    const Row next = known ? row_look(i + WARP, x->end, x->record[known ? k + 1 : k], &x->last) : x->row;
    const u32 begins =
        row_begins(x->records, i, x->n, x->record[k], x->row, known && i - LANE + WARP < x->end, next, &x->open);
    x->row = next;
    return begins;
}
KERNEL(rank_sums) {
    const u64 records = P(RK_FROM), n = P(RK_N), begin = WARP_BEGIN, end = least(CHUNK_END, begin + WARP_CHUNK);
    Runs sum = runs_make(0, 0, 0, 0), all = sum;
    Rows rows;
    rows_init(&rows, records, begin, end, n);
    for (u64 first = begin; first < end; first += RANK_ITEMS * WARP) {
        rows_load(&rows, first);
#pragma unroll
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u32 begins = rows_next(&rows, k);
            sum = runs_join(
                sum, row_runs(ballot((begins & 1u) != 0), ballot((begins & 2u) != 0), ballot((begins & 4u) != 0)));
        }
    }
    if (LANE == 0) sum_put(WARP_SUMS + LID / WARP * 16, sum);
    BARRIER();
    if (LID != 0) return;
    for (u32 w = 0; w < LSIZE / WARP; w++)
        all = runs_join(all, runs_make(G(u32, WARP_SUMS + w * 16)[0], G(u32, WARP_SUMS + w * 16)[1],
                                       G(u32, WARP_SUMS + w * 16)[2], G(u32, WARP_SUMS + w * 16)[3]));
    sum_put(P(RK_SUMS) + GID * 16, all);
}
#else
KERNEL(rank_sums) {
    const u64 records = P(RK_FROM), n = P(RK_N), end = CHUNK_END;
    Runs sum = runs_make(0, 0, 0, 0);
    for (u64 tile = CHUNK_BEGIN; tile < end; tile += RANK_TILE) {
        Runs mine = runs_make(0, 0, 0, 0), all;
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + LID * RANK_ITEMS + k;
            if (i < end) mine = runs_join(mine, runs_of(begins_at(records, i, n)));
        }
        runs_scan(mine, LM(u32, 0), &all);
        sum = runs_join(sum, all);
    }
    if (LID == 0) sum_put(P(RK_SUMS) + GID * 16, sum);
}
#endif
/* Of the chunks before this one. */
FN Runs runs_before(u64 sums, u64 chunk, LOCAL u32 *m) {
    Runs sum = runs_make(0, 0, 0, 0);
    for (u64 c = 0; c < chunk; c += LSIZE) {
        Runs mine = runs_make(0, 0, 0, 0), all;
        if (c + LID < chunk) mine = sum_get(sums + (c + LID) * 16);
        runs_scan(mine, m, &all);
        sum = runs_join(sum, all);
    }
    return sum;
}

/* A place in memory for every record. For locks (FLAGS given): the LockUse, lock being the number of the item's first
 * use, ~0 where no use begins; and a flag for items with more than one rank, which the second one sets. For depths:
 * call, what begins, number of the rank. */
#define PLACE_NONE (~(u64)0)
#define PLACE_CALL 0x3fffffffu
#define PLACE_RANK 0x40000000u
#define PLACE_ITEM 0x80000000u
/* `before`: what comes before record i; gives that with it. */
FN Runs use_put(u64 i, u64 record, u32 begins, Runs before, u64 places, u64 flags, u64 waits) {
    const bool second = (begins & 6u) == 2u && before.rank == before.item;
    const Runs with = runs_join(before, runs_of(begins));
    const u32 call = call_of(record);
    u64 place = PLACE_NONE;
    if (begins && flags) {
        place = (u64)(with.rank - with.item) << 32 | (with.item - 1);
        if (second) G(u8, flags)[with.item - 1] = 1;
    } else if (begins) {
        place = (u64)with.ranks << 32 | (begins & 4u ? PLACE_ITEM : 0) | (begins & 2u ? PLACE_RANK : 0) | call;
    }
    G(u64, places)[i] = place;
    if (begins && waits && with.rank != with.item) ga_add_u32(waits + (u64)call * 4, 1);
    return with;
}
#if defined(HAVE_WARP)
KERNEL(rank_uses) {
    const u64 records = P(RK_FROM), n = P(RK_N), places = P(RK_PLACES), flags = P(RK_FLAGS), waits = P(RK_WAITS);
    const u64 begin = WARP_BEGIN, end = least(CHUNK_END, begin + WARP_CHUNK);
    Runs before = runs_before(P(RK_SUMS), GID, LM(u32, 0));
    Rows rows;
    rows_init(&rows, records, begin, end, n);
    for (u32 w = 0; w < LID / WARP; w++) before = runs_join(before, sum_get(WARP_SUMS + w * 16));
    for (u64 first = begin; first < end; first += RANK_ITEMS * WARP) {
        rows_load(&rows, first);
#pragma unroll
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = first + k * WARP + LANE;
            const u32 begins = rows_next(&rows, k);
            const u32 use = ballot((begins & 1u) != 0), rank = ballot((begins & 2u) != 0),
                      item = ballot((begins & 4u) != 0), below = (1u << LANE) - 1;
            if (i < end)
                use_put(i, rows.record[k], begins, runs_join(before, row_runs(use & below, rank & below, item & below)),
                        places, flags, waits);
            before = runs_join(before, row_runs(use, rank, item));
        }
    }
}
#else
KERNEL(rank_uses) {
    const u64 records = P(RK_FROM), n = P(RK_N), end = CHUNK_END, places = P(RK_PLACES), flags = P(RK_FLAGS),
              waits = P(RK_WAITS);
    Runs before = runs_before(P(RK_SUMS), GID, LM(u32, 0));
    for (u64 tile = CHUNK_BEGIN; tile < end; tile += RANK_TILE) {
        Runs mine = runs_make(0, 0, 0, 0), all;
        u32 begins[RANK_ITEMS];
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + LID * RANK_ITEMS + k;
            begins[k] = i < end ? begins_at(records, i, n) : 0;
            mine = runs_join(mine, runs_of(begins[k]));
        }
        mine = runs_join(before, runs_scan(mine, LM(u32, 0), &all));
        for (u32 k = 0; k < RANK_ITEMS; k++) {
            const u64 i = tile + LID * RANK_ITEMS + k;
            if (i < end) mine = use_put(i, GRO(u64, records)[i], begins[k], mine, places, flags, waits);
        }
        before = runs_join(before, all);
    }
}
#endif

/* ---- locks by call --------------------------------------------------------------------------------------- */
KERNEL(rank_count) {
    const u64 n = P(RK_N), records = P(RK_FROM), places = P(RK_PLACES), flags = P(RK_FLAGS), uses = P(RK_CALL_USES);
    for (u64 i = GID * LSIZE + LID; i < n; i += NGROUPS * LSIZE) {
        const u64 place = G(u64, places)[i];
        if (place == PLACE_NONE) continue;
        if (GRO(u8, flags)[(u32)place])
            G(u32, P(RK_SLOTS))[i] = ga_add_u32(uses + (u64)call_of(GRO(u64, records)[i]) * 4, 1);
        else G(u64, places)[i] = PLACE_NONE;
    }
}
KERNEL(rank_call_sums) {
    LOCAL u64 *const tmp = LM(u64, 0);
    const u64 end = CHUNK_END, uses = P(RK_CALL_USES), waits = P(RK_WAITS);
    u64 sum = 0, free = 0, crossing = 0;
    for (u64 c = CHUNK_BEGIN + LID; c < end; c += LSIZE) {
        sum += GRO(u32, uses)[c];
        if (!waits) continue;
        free += GRO(u32, waits)[c] == 0;
        crossing += GRO(u32, waits)[c] > 1;
    }
    sum = group_sum_u64(sum, tmp);
    free = group_sum_u64(free, tmp);
    crossing = group_sum_u64(crossing, tmp);
    if (LID == 0) {
        G(u32, P(RK_SUMS))[GID] = (u32)sum;
        if (free) ga_add_u32(P(RK_FIGURES), (u32)free);
        if (crossing) ga_add_u32(P(RK_FIGURES) + 4, (u32)crossing);
    }
}
KERNEL(rank_call_starts) {
    LOCAL u64 *const tmp = LM(u64, 0);
    const u64 end = CHUNK_END, uses = P(RK_CALL_USES), starts = P(RK_STARTS), sums = P(RK_SUMS);
    u32 base = 0, all;
    for (u64 c = 0; c < GID; c += LSIZE) {
        group_scan_u32(c + LID < GID ? GRO(u32, sums)[c + LID] : 0, tmp, &all);
        base += all;
    }
    for (u64 tile = CHUNK_BEGIN; tile < end; tile += LSIZE) {
        u32 before = group_scan_u32(tile + LID < end ? GRO(u32, uses)[tile + LID] : 0, tmp, &all);
        if (tile + LID < end) G(u32, starts)[tile + LID] = base + before;
        base += all;
    }
    if (LID == 0 && end == P(RK_N)) G(u32, starts)[end] = base;
}
FN void st_pair(u64 at, u64 a, u64 b) { /* 16-byte aligned; its places are all over memory */
#if defined(KC_CUDA)
    ulonglong2 v;
    v.x = a;
    v.y = b;
    *(ulonglong2 *)at = v;
#else
    G(u64, at)[0] = a;
    G(u64, at)[1] = b;
#endif
}
KERNEL(rank_locks) {
    const u64 n = P(RK_N), records = P(RK_FROM), places = P(RK_PLACES), starts = P(RK_STARTS), locks = P(RK_LOCKS),
              named = P(RK_NAMED_LOCKS);
    for (u64 i = GID * LSIZE + LID; i < n; i += NGROUPS * LSIZE) {
        const u64 place = GRO(u64, places)[i], record = GRO(u64, records)[i];
        if (place == PLACE_NONE) continue;
        const u64 at = (u64)GRO(u32, starts)[call_of(record)] + GRO(u32, P(RK_SLOTS))[i];
        u32 ops = ops_of(record);
        if (named == 0) {
            G(u64, locks)[at] = place;
            continue;
        }
        for (u64 k = i + 1; k < n && use_of(GRO(u64, records)[k]) == use_of(record); k++) {
            const u32 more = ops_of(GRO(u64, records)[k]);
            ops = more == 1 ? ops + 1 : more;
        }
        st_pair(named + at * 16, record >> 32 | (u64)ops << 32, place);
        if (P(RK_DEQUEUE_COUNTS) != 0 && (record >> 32 & 1) != 0 &&
            (P(RK_TYPES) == 0 || GRO(u16, P(RK_TYPES))[call_of(record)] == P(RK_DEQUEUE_TYPE)))
            ga_max_u32(P(RK_DEQUEUE_COUNTS) + (u64)(u32)place * 4, (u32)(place >> 32) + 1);
    }
}

/* Calls with locks come first, by time; the others by the upper bits of their types. */
KERNEL(rank_group) {
    LOCAL u64 *const tmp = LM(u64, 0);
    const u64 n = P(RK_N), uses = P(RK_CALL_USES), types = P(RK_TYPES), last = P(RK_N_TYPES) - 1;
    u64 locked = 0;
    for (u64 c = GID * LSIZE + LID; c < n; c += NGROUPS * LSIZE) {
        u64 key = 0;
        if (uses != 0 && GRO(u32, uses)[c] != 0) {
            locked++;
        } else {
            const u64 type = types ? (u64)GRO(u16, types)[c] : 0;
            key = ((type < last ? type : last) >> P(RK_DROP)) + 1;
        }
        G(u64, P(RK_TO))[c] = key << 32 | c;
    }
    locked = group_sum_u64(locked, tmp);
    if (LID == 0 && locked) ga_add_u32(P(RK_FIGURES) + 12, (u32)locked);
}

/* ---- depths ----------------------------------------------------------------------------------------------
 * All calls of a rank are deeper than the deepest of the rank before. With y = depth - number of the rank that is a
 * maximum: along an item, an operation of rank w has a depth of at least w + the greatest y of earlier ranks. A round
 * takes that from a scan over all records; depths are then the greatest of what the items ask for, and rounds go on
 * until nothing changes. An item's whole chain takes one round, so there are about as many as the longest path changes
 * items.
 *
 * Seen as a step: (P, Q) = greatest y before the last rank, and with it. What a stretch of records does to it, in one
 * word:
 *   0   Q = max(Q, b)
 *   1   a rank began: P = max(Q, a), Q = max(Q, b)
 *   2   an item began: P = a, Q = b
 * bits 62-63 which, 31-61 a, 0-30 b, both + 2^30; 0 is less than any.
 *
 * Depths only rise and never above what is right, so it does no harm to see those of other groups early or late, nor to
 * take the summary of an earlier chunk from the round before. A round that changed no depth and no summary was the
 * last: everybody had seen everything. */
#define Y_BIAS 0x40000000u
#define STEP_NONE ((u64)0)
FN u64 step_make(u32 which, u32 a, u32 b) { return (u64)which << 62 | (u64)a << 31 | b; }
FN u32 step_a(u64 s) { return (u32)(s >> 31) & 0x7fffffffu; }
FN u32 step_b(u64 s) { return (u32)s & 0x7fffffffu; }
FN u64 step_join(u64 x, u64 y) {
    const u32 q = step_b(x), a = step_a(y), b = step_b(y), kx = (u32)(x >> 62), ky = (u32)(y >> 62);
    if (ky == 2) return y;
    if (ky == 0) return step_make(kx, step_a(x), q > b ? q : b);
    return step_make(kx > 1 ? kx : 1, q > a ? q : a, q > b ? q : b);
}
FN u64 step_of(u64 place, u32 depth) {
    const u32 y = depth + Y_BIAS - (u32)(place >> 32);
    return step_make((u32)place & PLACE_ITEM ? 2 : (u32)place & PLACE_RANK ? 1 : 0, 0, y);
}
/* What the lanes before have, joined; all = of the group. m: LSIZE words. */
#if defined(HAVE_WARP)
FN u64 step_scan(u64 v, LOCAL u64 *m, PRIV u64 *all) {
    u64 before = STEP_NONE, o;
    for (u32 d = 1; d < WARP; d <<= 1) {
        o = __shfl_up_sync(0xffffffffu, v, d);
        if (LANE >= d) v = step_join(o, v);
    }
    o = __shfl_up_sync(0xffffffffu, v, 1);
    if (LANE == WARP - 1) m[LID / WARP] = v;
    BARRIER();
    *all = STEP_NONE;
    for (u32 w = 0; w < LSIZE / WARP; w++) {
        if (w == LID / WARP) before = *all;
        *all = step_join(*all, m[w]);
    }
    BARRIER();
    return LANE > 0 ? step_join(before, o) : before;
}
#else
FN u64 step_scan(u64 v, LOCAL u64 *m, PRIV u64 *all) {
    m[LID] = v;
    BARRIER();
    for (u32 d = 1; d < LSIZE; d <<= 1) {
        u64 before = LID >= d ? m[LID - d] : STEP_NONE;
        BARRIER();
        v = step_join(before, v);
        m[LID] = v;
        BARRIER();
    }
    *all = m[LSIZE - 1];
    u64 before = LID > 0 ? m[LID - 1] : STEP_NONE;
    BARRIER();
    return before;
}
#endif
KERNEL(rank_relax) {
    LOCAL u64 *const m = LM(u64, 0);
    LOCAL u32 *const raised = (LOCAL u32 *)(m + LSIZE);
    const u64 end = CHUNK_END, places = P(RK_PLACES), depths = P(RK_DEPTH), sums = P(RK_SUMS), round = P(RK_ROUND);
    const bool first = round == RK_FIRST_ROUND;
    bool again = true;
    if (!first && round > 0 && GRO(u32, P(RK_CHANGED))[round - 1] == 0) return;
    for (u32 pass = 0; again && pass < RELAX_PASSES; pass++) { /* a group sees what others find meanwhile */
        u64 before = STEP_NONE, chunk = STEP_NONE, all;
        for (u64 c = 0; !first && c < GID; c += LSIZE) {
            step_scan(c + LID < GID ? PEEK64(sums + (c + LID) * 8) : STEP_NONE, m, &all);
            before = step_join(before, all);
        }
        if (LID == 0) raised[0] = 0;
        BARRIER();
        for (u64 tile = CHUNK_BEGIN; tile < end; tile += (u64)RELAX_ITEMS * LSIZE) {
            u64 place[RELAX_ITEMS], state, mine = STEP_NONE;
            u32 depth[RELAX_ITEMS];
            for (u32 k = 0; k < RELAX_ITEMS; k++) {
                const u64 i = tile + LID * RELAX_ITEMS + k;
                place[k] = i < end ? GRO(u64, places)[i] : PLACE_NONE;
            }
            for (u32 k = 0; k < RELAX_ITEMS; k++)
                depth[k] = place[k] != PLACE_NONE ? PEEK32(depths + ((u32)place[k] & PLACE_CALL) * (u64)4) : 0;
            for (u32 k = 0; k < RELAX_ITEMS; k++)
                if (place[k] != PLACE_NONE) mine = step_join(mine, step_of(place[k], depth[k]));
            state = step_join(step_join(before, chunk), step_scan(mine, m, &all));
            chunk = step_join(chunk, all);
            for (u32 k = 0; k < RELAX_ITEMS; k++) {
                if (place[k] == PLACE_NONE) continue;
                state = step_join(state, step_of(place[k], depth[k]));
                if (first || step_a(state) == 0) continue;
                const u32 wanted = step_a(state) + (u32)(place[k] >> 32) - Y_BIAS;
                if (wanted <= depth[k]) continue;
                ga_max_u32(depths + ((u32)place[k] & PLACE_CALL) * (u64)4, wanted);
                la_or_u32(raised, 1);
            }
        }
        BARRIER();
        again = raised[0] != 0;
        if (LID == 0 && (ga_xchg_u64(sums + GID * 8, chunk) != chunk || again) && !first)
            ga_or_u32(P(RK_CHANGED) + round * 4, 1);
        BARRIER();
    }
}
KERNEL(rank_figures) {
    LOCAL u64 *const tmp = LM(u64, 0);
    const u64 n = P(RK_N), depths = P(RK_DEPTH), waits = P(RK_WAITS);
    u64 deepest = 0, free = 0, crossing = 0;
    for (u64 c = GID * LSIZE + LID; c < n; c += NGROUPS * LSIZE) {
        const u64 d = GRO(u32, depths)[c];
        deepest = d > deepest ? d : deepest;
        free += d == 0;
        crossing += GRO(u32, waits)[c] > 1;
    }
    free = group_sum_u64(free, tmp);
    crossing = group_sum_u64(crossing, tmp);
    deepest = group_max_u64(deepest, tmp);
    if (LID != 0) return;
    ga_add_u32(P(RK_FIGURES), (u32)free);
    ga_add_u32(P(RK_FIGURES) + 4, (u32)crossing);
    ga_max_u32(P(RK_FIGURES) + 8, (u32)deepest);
}

/* ---- calls by (depth, type) ------------------------------------------------------------------------------ */
KERNEL(rank_keys) {
    const u64 n = P(RK_N), depths = P(RK_DEPTH), types = P(RK_TYPES), n_types = P(RK_N_TYPES);
    for (u64 c = GID * LSIZE + LID; c < n; c += NGROUPS * LSIZE) {
        u64 type = types ? (u64)GRO(u16, types)[c] : 0, key;
        if (type >= n_types) {
            RAISE(RK_NO_TYPE);
            type = 0;
        }
        key = (depths ? (u64)GRO(u32, depths)[c] : 0) * n_types + type;
        G(u64, P(RK_TO))[c] = key << 32 | c;
    }
}
KERNEL(rank_order) {
    const u64 n = P(RK_N);
    for (u64 c = GID * LSIZE + LID; c < n; c += NGROUPS * LSIZE) G(u32, P(RK_ORDER))[c] = (u32)GRO(u64, P(RK_FROM))[c];
}
/* Where keys begin: MAX_OPS of them, and the end. */
KERNEL(rank_starts) {
    const u64 n = P(RK_N), keys = P(RK_MAX_OPS), records = P(RK_FROM);
    for (u64 k = GID * LSIZE + LID; k <= keys; k += NGROUPS * LSIZE) {
        u64 lo = 0, hi = n;
        while (lo < hi) {
            const u64 mid = (lo + hi) / 2;
            if (GRO(u64, records)[mid] >> 32 < k) lo = mid + 1;
            else hi = mid;
        }
        G(u32, P(RK_STARTS))[k] = (u32)lo;
    }
}

#endif
