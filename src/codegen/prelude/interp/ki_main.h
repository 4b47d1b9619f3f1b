/* ki_main.h - the device interpreter's kernel: every item takes rows of its group's tile and runs the bytecode on them.
 *
 * A row ends when it fails, or behind the sink, with no iterator around it. Several build rows of one probe, and
 * REPEAT, are iterators (ki_join.h): "the row fails" is a jump to the innermost one, known when the code is written.
 * There is no barrier in here, so items may part as they like.
 */
#ifndef KI_MAIN_H
#define KI_MAIN_H
#include "codegen/prelude/interp/ki_expr.h"
#include "codegen/prelude/interp/ki_sort.h"

#if !defined(TILE_ROWS) /* the text sets them; this is for compiling the header alone */
#define TILE_ROWS 1024
#define TABLET_ROWS 65536
#endif

FN void sink(KARGS, PRIV Frame *f) {
    u32 s = WORD(BH_SINK), kind = WORD(s + BS_KIND), base = WORD(s + BS_BASE), seq = WORD(s + BS_SEQ);
    if (kind == KI_SINK_NONE) return;
    if (kind == KI_SINK_AGG) {
        sink_agg(kp, f, s);
        return;
    }
    if (kind == KI_SINK_JOIN) {
        sink_join(kp, f, s);
        return;
    }
    u64 slot = base != BC_NO ? P(base) + (f->row - P(WORD(BH_FIRST))) : append(P(WORD(s + BS_COUNT)));
    if (slot >= P(WORD(s + BS_CAP))) return;
    store_columns(kp, f, s, slot);
    u64 place = WORD(BH_SOURCE) == KI_SRC_TABLE ? f->tno * TABLET_ROWS + f->row : f->row;
    if (seq != BC_NO) G(u64, P(seq))[slot] = P(WORD(s + BS_SEQ_BASE)) | place;
}

/* Loads of the source. */
FN_BIG void load(KARGS, PRIV Frame *f, u32 in, u32 op, u32 phys, u32 to, u32 d, u32 a) {
    u32 x = WORD(in + 2), y = WORD(in + 3), z = WORD(in + 4);
    val v = val_make(0, 0);
    bool ok = true;
    switch (op) {
    case BC_LOAD_TABLE: {
        u64 col = P(x);
        ok = column_ok(col, (u32)f->tno, f->row);
        if (ok) v = column_value(col, (u32)f->tno, f->row, &phys);
        break;
    }
    case BC_LOAD_COLUMN: {
        u64 row = a == BC_NOREG ? f->row : f->r[a].lo;
        ok = (i64)row >= 0 && (y == BC_NO || G(u8, P(y))[row] != 0);
        if (ok) v = load_cell(phys, P(x), row);
        break;
    }
    case BC_LOAD_ROWID:
        v = val_i64((i64)(WORD(BH_SOURCE) == KI_SRC_TABLE
                              ? tablet_number(P(WORD(BH_TABLETS)), (u32)f->tno) << 32 | f->row
                              : f->row));
        break;
    case BC_LOAD_SERIES: v = val_i64((i64)(P(x) + f->row * P(y))); break;
    case BC_LOAD_KEY: {
        u64 i = f->row / x, extent = WORD(in + 6);
        if (y != 0) i %= extent;
        ok = (WORD(in) >> 24 & 1u) == 0 || i != extent - 1;
        v = val_i64((i64)(i + P(z)));
        break;
    }
    case BC_LOAD_RECORD:
        ok = y == BC_NO || G(u8, f->rec + y)[0] != 0;
        if (ok) v = load_cell(phys, f->rec + x, 0);
        break;
    default: ok = load_aggregate(kp, f, in, phys, &v);
    }
    set_reg(f, d, val_convert(phys, to, v), ok);
}

FN bool filter_range(KARGS, PRIV Frame *f, u32 in) {
    u64 col = P(WORD(in + 2));
    i64 lo = PI(WORD(in + 3)), hi = PI(WORD(in + 4));
    u32 phys;
    if (!column_ok(col, (u32)f->tno, f->row)) return false;
    val v = column_value(col, (u32)f->tno, f->row, &phys);
    bool inside;
    if (phys == KI_I128) inside = i128_ge(as_i128(v), i128_from_i64(lo)) && i128_le(as_i128(v), i128_from_i64(hi));
    else inside = (i64)v.lo >= lo && (i64)v.lo <= hi;
    return inside != ((WORD(in) >> 24 & 1u) != 0);
}
FN bool filter_codes(KARGS, PRIV Frame *f, u32 in) {
    u64 col = P(WORD(in + 2)), mask = P(WORD(in + 3));
    u32 flags = WORD(in) >> 24, phys;
    if (!column_ok(col, (u32)f->tno, f->row)) return (flags & 2u) != 0;
    u64 code = column_value(col, (u32)f->tno, f->row, &phys).lo;
    return flags & 1u ? (mask >> (code & 63) & 1) != 0 : GRO(u8, mask)[code] != 0;
}

/* dst += (a - base) << shift; NULL in the middle of a key or outside of its bits makes the whole NULL. */
FN void key_pack(PRIV Frame *f, u32 in, u32 flags, u32 d, u32 a) {
    u32 shift = WORD(in + 2), bits = WORD(in + 3);
    u64 x = f->r[a].lo - ((u64)WORD(in + 6) | (u64)WORD(in + 7) << 32),
        mask = bits >= 64 ? ~(u64)0 : ((u64)1 << bits) - 1;
    bool coded = (flags & 1u) != 0, ok = is_ok(f, a);
    if (!ok && coded) x = mask;
    bool fits = ok ? (flags & 2u) == 0 || x <= mask - (u64)coded : coded;
    set_reg(f, d, val_i64((i64)(f->r[d].lo + (x << shift))), fits && is_ok(f, d));
}

/* Runs the program on the row that the frame names.
 * lint: long because it is the interpreter's switch, a few lines for each opcode: they share the operands' registers,
 * and what an opcode did not use would be passed and kept if they were functions. */
FN void run_row(KARGS, PRIV Frame *f) {
    u32 pc = WORD(BH_START);
    while (pc != BC_ROW_DONE) {
        const u32 in = pc, w = WORD(in), regs = WORD(in + 1);
        const u32 op = w & 255u, phys = w >> 8 & 255u, to = w >> 16 & 255u, flags = w >> 24;
        const u32 d = regs & 255u, a = regs >> 8 & 255u, b = regs >> 16 & 255u, c = regs >> 24;
        const u32 x = WORD(in + 2), y = WORD(in + 3), t = WORD(in + 5);
        /* Operands; registers that an operation does not have read as some register. */
        const val va = f->r[a & (BC_REGS - 1)], vb = f->r[b & (BC_REGS - 1)];
        const bool oka = a == BC_NOREG || is_ok(f, a & (BC_REGS - 1)),
                   okb = b == BC_NOREG || is_ok(f, b & (BC_REGS - 1));
        val v = val_make(0, 0);
        bool ok = oka && okb;
        u32 bad = 0;
        pc += BC_WORDS;
        switch (op) {
        case BC_SINK:
            sink(kp, f);
            pc = t;
            continue;
        case BC_MOVE: v = va; break;
        case BC_CONST:
            if (phys == KI_F32) v = val_f64((f64)(f32)bits_f64(P(x)));
            else if (phys == KI_F64) v = val_make(P(x), 0);
            else if (phys <= KI_I64) v = val_cut(phys, PI(x));
            else v = val_make(P(x), P(y));
            ok = true;
            break;
        case BC_NULL: ok = false; break;
        case BC_TEXT:
            if (oka) v = val_str(dict_str(P(x), P(y), (i32)va.lo));
            break;
        case BC_JUMP: pc = x; continue;
        case BC_IF:
            if (!(oka && va.lo != 0)) pc = x;
            continue;
        case BC_FILTER:
            if (!(oka && va.lo != 0)) pc = t;
            continue;
        case BC_RANGE:
            if (!filter_range(kp, f, in)) pc = t;
            continue;
        case BC_CODES:
            if (!filter_codes(kp, f, in)) pc = t;
            continue;
        case BC_LOAD_TABLE:
        case BC_LOAD_COLUMN:
        case BC_LOAD_ROWID:
        case BC_LOAD_SERIES:
        case BC_LOAD_KEY:
        case BC_LOAD_RECORD:
        case BC_LOAD_CELL: load(kp, f, in, op, phys, to, d, a); continue;
        case BC_ADD:
        case BC_SUB:
        case BC_MUL:
        case BC_DIV:
        case BC_MOD:
        case BC_NEG:
        case BC_ABS:
        case BC_ADD_N:
        case BC_SUB_N:
        case BC_MUL_N:
        case BC_MUL_WIDE:
        case BC_BIT_AND:
        case BC_BIT_OR:
        case BC_BIT_XOR:
        case BC_BIT_NOT:
        case BC_SHL:
        case BC_SHR: bad = arith(op, phys, va, vb, &v); break;
        case BC_RESCALE:
        case BC_NUM_DIV:
        case BC_NUM_MUL:
        case BC_NUM_TO_F64:
        case BC_F64_TO_NUM: bad = numeric_op(op, phys, to, va, vb, (i32)x, (i32)y, (i32)WORD(in + 4), &v); break;
        case BC_CHECK_DIGITS:
            v = va;
            if (phys == KI_I64 ? numeric_exceeds_i64((i64)va.lo, (i32)x) : numeric_exceeds_i128(as_i128(va), (i32)x))
                bad = y;
            break;
        case BC_CVT: bad = checked_convert(phys, to, va, &v); break;
        case BC_EQ:
        case BC_NE:
        case BC_LT:
        case BC_LE:
        case BC_GT:
        case BC_GE:
            if (ok) v.lo = (u64)compare(op, phys, va, vb);
            break;
        case BC_DISTINCT:
            v.lo = (u64)(oka != okb || (oka && compare(op, phys, va, vb)));
            ok = true;
            break;
        case BC_AND:
            v.lo = (u64)(oka && okb && va.lo != 0 && vb.lo != 0);
            ok = ok || (oka && va.lo == 0) || (okb && vb.lo == 0);
            break;
        case BC_OR:
            v.lo = (u64)((oka && va.lo != 0) || (okb && vb.lo != 0));
            ok = ok || v.lo != 0;
            break;
        case BC_NOT: v.lo = (u64)(va.lo == 0); break;
        case BC_IS_NULL:
        case BC_IS_NOT_NULL:
            v.lo = (u64)(oka == (op == BC_IS_NOT_NULL));
            ok = true;
            break;
        case BC_IS_TRUE:
        case BC_IS_FALSE:
            v.lo = (u64)(oka && (va.lo != 0) == (op == BC_IS_TRUE));
            ok = true;
            break;
        case BC_SELECT: {
            const u32 take = oka && va.lo != 0 ? b : c;
            v = f->r[take];
            ok = is_ok(f, take);
            break;
        }
        case BC_COALESCE:
            v = oka ? va : vb;
            ok = oka || okb;
            break;
        case BC_NULLIF:
            v = va;
            ok = oka && !(okb && vb.lo != 0);
            break;
        case BC_IN_SET:
            if (oka) v.lo = (u64)in_set(phys, P(x), PI(y), va);
            ok = oka && (v.lo != 0 || (flags & 1u) == 0);
            break;
        case BC_CODE_TEST:
            if (oka && (flags & 2u) == 0)
                v.lo = flags & 1u ? P(x) >> (va.lo & 63) & 1 : (u64)(GRO(u8, P(x))[va.lo] != 0);
            break;
        case BC_CODE_MAP:
            ok = oka && (flags & 1u) == 0 && (y == BC_NO || G(u8, P(y))[va.lo] != 0);
            if (ok) v = load_cell(to, P(x), va.lo);
            break;
        case BC_LIKE:
            if (oka) v.lo = (u64)like_match(P(x), as_str(va));
            break;
        case BC_DATE_PART:
            v = val_i64((i64)(phys == KI_I64 ? date_part_ts((i32)x, (i64)va.lo) : date_part((i32)x, (i32)va.lo)));
            break;
        case BC_PACK_BEGIN: break;
        case BC_PACK: key_pack(f, in, flags, d, a); continue;
        case BC_CALL:
            ok = ok && (c == BC_NOREG || is_ok(f, c));
            if (ok) bad = call_text(x, va, vb, f->r[c & (BC_REGS - 1)], &v);
            break;
        case BC_REPEAT:
            f->r[d].lo = ~(u64)0;
            f->r[d].hi = oka ? va.lo : 0;
            continue;
        case BC_AGAIN:
            if ((i64)++f->r[d].lo >= (i64)f->r[d].hi || ((++f->spin & 4095u) == 0 && STOPPED())) pc = t;
            continue;
        case BC_PROBE:
        case BC_PROBE_NEXT: pc = probe_step(kp, f, x, op == BC_PROBE_NEXT); continue;
        case BC_PROBE_END: pc = probe_end(kp, f, x, a, pc); continue;
        case BC_PROBE_RESULT: pc = probe_result(kp, f, x); continue;
        default: pc = probe_exists(kp, f, x); continue;
        }
        if (bad != 0 && ok) RAISE(t | bad);
        set_reg(f, d, v, ok);
    }
}

KERNEL(seg_main) {
    Frame frame;
    PRIV Frame *const f = &frame;
    f->ok = 0;
    f->code = P(BC_CODE_PARAM);
    f->spin = 0;
    f->tno = 0;
    f->rec = 0;
    for (u32 i = 0; i < BC_REGS; i++) f->r[i] = val_make(0, 0);
    const u32 source = WORD(BH_SOURCE), limit = WORD(BH_LIMIT);
    const bool table = source == KI_SRC_TABLE;
    const u64 n_tiles = P(WORD(BH_TILES));
    const u64 from = source == KI_SRC_AGG || source == KI_SRC_JOIN ? P(WORD(BH_SOURCE_BASE)) : 0,
              arg = WORD(BH_SOURCE_ARG);
    for (u64 tile = GID; tile < n_tiles && !STOPPED(); tile += NGROUPS) {
        if (limit != BC_NO && GVOL(u64, P(WORD(BH_COUNT)))[0] >= P(limit)) break;
        u64 first, last, deleted = 0;
        if (table) {
            f->tno = GRO(u32, P(WORD(BH_LIST)))[tile / (TABLET_ROWS / TILE_ROWS)];
            first = tile % (TABLET_ROWS / TILE_ROWS) * TILE_ROWS;
            last = (u64)tablet_rows(P(WORD(BH_TABLETS)), (u32)f->tno);
            deleted = tablet_deleted(P(WORD(BH_TABLETS)), (u32)f->tno);
        } else {
            first = P(WORD(BH_FIRST)) + tile * TILE_ROWS;
            last = P(WORD(BH_FIRST)) + P(WORD(BH_ROWS));
        }
        const u64 end = first + TILE_ROWS < last ? first + TILE_ROWS : last;
        for (u64 row = first + LID; row < end; row += LSIZE) {
            f->row = row;
            if (deleted != 0 && bit_at(deleted, (i64)row)) continue;
            if (source == KI_SRC_JOIN && (u64)G(u8, from)[row] != arg) continue;
            if (source == KI_SRC_AGG) {
                f->rec = from + row * arg;
                if (WORD(BH_SKIP_DEAD) != 0 && G(u32, f->rec)[0] == 0) continue;
            }
            run_row(kp, f);
        }
    }
}

#endif
