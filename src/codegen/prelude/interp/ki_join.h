/* ki_join.h - probes and build sides of the device interpreter.
 *
 * A probe that may have several candidates is an iterator: its state register holds the candidate (row + 1, 0 = none)
 * and flags in the low limb and the row found in the high limb. BC_PROBE finds the first candidate, BC_PROBE_NEXT the
 * next; whatever fails behind it goes to BC_PROBE_NEXT. Functions return the place where the row goes on.
 */
#ifndef KI_JOIN_H
#define KI_JOIN_H
#include "codegen/prelude/interp/ki_value.h"

#define IT_HIT U64C(0x100000000)
#define IT_UNKNOWN U64C(0x200000000)

/* The place of the first key in the domain of a BITMAP or DIRECT join. */
FN bool join_place(PRIV Frame *f, u32 keys, u64 min, u64 dom, PRIV u64 *x) {
    u32 r = WORD(keys + BK_REG);
    *x = f->r[r].lo - min;
    if (is_ok(f, r)) return *x < dom;
    *x = dom;
    return WORD(keys + BK_NULL_EQUAL) != 0;
}
FN bool join_keys_able(PRIV Frame *f, u32 keys, u32 n) {
    for (u32 i = 0; i < n; i++, keys += BK_WORDS)
        if (WORD(keys + BK_NULL_EQUAL) == 0 && !is_ok(f, WORD(keys + BK_REG))) return false;
    return true;
}
FN bool join_keys_ok(PRIV Frame *f, u32 keys, u32 n) {
    for (u32 i = 0; i < n; i++, keys += BK_WORDS)
        if (!is_ok(f, WORD(keys + BK_REG))) return false;
    return true;
}
FN u64 join_hash(PRIV Frame *f, u32 keys, u32 n) {
    u64 h = 0;
    for (u32 i = 0; i < n; i++, keys += BK_WORDS) {
        u32 r = WORD(keys + BK_REG);
        h = hash_combine(h, is_ok(f, r) ? val_hash(WORD(keys + BK_PHYS), f->r[r]) : 1);
    }
    return KEY_HASH(h);
}
FN bool join_same_keys(KARGS, PRIV Frame *f, u32 keys, u32 n, u64 row) {
    for (u32 i = 0; i < n; i++, keys += BK_WORDS) {
        u32 r = WORD(keys + BK_REG), phys = WORD(keys + BK_PHYS), valid = WORD(keys + BK_VALID);
        bool there = valid == BC_NO || G(u8, P(valid))[row] != 0;
        if (there != is_ok(f, r)) return false;
        if (there && !val_eq(phys, load_cell(phys, P(WORD(keys + BK_DATA)), row), f->r[r])) return false;
    }
    return true;
}

FN u32 probe_first(KARGS, PRIV Frame *f, u32 p) {
    u32 n = WORD(p + BP_N_KEYS), keys = WORD(p + BP_KEYS);
    u64 x;
    if (n == 0) return P(WORD(p + BP_ROWS)) != 0 ? 1u : 0u;
    if (WORD(p + BP_FORM) == KI_DIRECT) {
        if (!join_place(f, keys, P(WORD(p + BP_MIN)), P(WORD(p + BP_DOM)), &x)) return 0;
        return G(u32, P(WORD(p + BP_HEAD)))[x];
    }
    if (!join_keys_able(f, keys, n)) return 0;
    return G(u32, P(WORD(p + BP_HEAD)))[join_hash(f, keys, n) & P(WORD(p + BP_MASK))];
}
/* The candidate itself or the next one with the same keys. */
FN u32 probe_seek(KARGS, PRIV Frame *f, u32 p, u32 c, bool advance) {
    u32 n = WORD(p + BP_N_KEYS);
    while (c != 0) {
        if (!advance &&
            (n == 0 || WORD(p + BP_FORM) == KI_DIRECT || join_same_keys(kp, f, WORD(p + BP_KEYS), n, (u64)c - 1)))
            return c;
        if ((++f->spin & 8191u) == 0 && STOPPED()) {
            f->spin--; /* the next row looks at once */
            return 0;
        }
        advance = false;
        if (n != 0) c = G(u32, P(WORD(p + BP_NEXT)))[c - 1];
        else c = (u64)c < P(WORD(p + BP_ROWS)) ? c + 1 : 0;
    }
    return 0;
}
FN void probe_mark(KARGS, PRIV Frame *f, u32 p, u64 row) {
    if ((WORD(p + BP_FLAGS) & BPF_TRACK) == 0) return;
    u64 at = P(WORD(p + BP_MATCHED)) + row;
    if (G(u8, at)[0] == 0) G(u8, at)[0] = 1;
}

FN_BIG u32 probe_result(KARGS, PRIV Frame *f, u32 p) {
    u32 kind = WORD(p + BP_KIND), flags = WORD(p + BP_FLAGS);
    u64 it = f->r[WORD(p + BP_STATE)].lo;
    bool hit = (it & IT_HIT) != 0;
    if (kind != KI_MARK) return hit == (kind == KI_SEMI) ? WORD(p + BP_FINISH) : WORD(p + BP_FAIL);
    bool known = (it & IT_UNKNOWN) == 0;
    if (known && (flags & BPF_NULL_MARK) != 0) {
        u64 j = P(WORD(p + BP_JOIN_FLAGS));
        known = G(u32, j)[1] == 0 && (G(u32, j)[2] == 0 || join_keys_ok(f, WORD(p + BP_KEYS), WORD(p + BP_N_KEYS)));
    }
    set_reg(f, WORD(p + BP_MARK), val_make((u64)hit, 0), hit || known);
    return WORD(p + BP_FINISH);
}

/* The next candidate: where it goes on, or what follows when there is none. */
FN_BIG u32 probe_step(KARGS, PRIV Frame *f, u32 p, bool next) {
    u32 kind = WORD(p + BP_KIND), state = WORD(p + BP_STATE), dst = WORD(p + BP_DST), c;
    val it = val_make(0, ~(u64)0);
    if (next) {
        it = f->r[state];
        c = (u32)it.lo;
        if (c == 0) return WORD(p + BP_FAIL); /* LEFT without a match has gone on once */
        c = probe_seek(kp, f, p, c, true);
    } else {
        c = probe_seek(kp, f, p, probe_first(kp, f, p), false);
    }
    it.lo = (it.lo >> 32 << 32) | c;
    if (c != 0) {
        if (kind <= KI_LEFT && (WORD(p + BP_FLAGS) & BPF_BODY) == 0) {
            it.lo |= IT_HIT;
            probe_mark(kp, f, p, (u64)c - 1);
        }
        f->r[state] = it;
        if (dst != BC_NOREG) set_reg(f, dst, val_i64((i64)c - 1), true);
        return WORD(p + BP_BODY);
    }
    f->r[state] = it;
    if (kind == KI_SINGLE || (kind == KI_LEFT && (it.lo & IT_HIT) == 0)) {
        if (dst != BC_NOREG) set_reg(f, dst, val_i64((i64)it.hi), true);
        return WORD(p + BP_FINISH);
    }
    if (kind == KI_SEMI || kind == KI_ANTI || kind == KI_MARK) return probe_result(kp, f, p);
    return WORD(p + BP_FAIL);
}

/* After the residual condition: pass, or the next candidate. */
FN_BIG u32 probe_end(KARGS, PRIV Frame *f, u32 p, u32 a, u32 behind) {
    u32 kind = WORD(p + BP_KIND), state = WORD(p + BP_STATE), dst = WORD(p + BP_DST);
    u64 c = f->r[state].lo & 0xffffffffu;
    if (a != BC_NOREG && !is_true(f, a)) {
        if (!is_ok(f, a)) f->r[state].lo |= IT_UNKNOWN;
        return WORD(p + BP_AGAIN);
    }
    bool again = (f->r[state].lo & IT_HIT) != 0;
    f->r[state].lo |= IT_HIT;
    if (kind == KI_SEMI || kind == KI_ANTI || kind == KI_MARK) return probe_result(kp, f, p);
    if (kind == KI_SINGLE && again) {
        RAISE(WORD(p + BP_ERROR));
        if (dst != BC_NOREG) set_reg(f, dst, val_i64((i64)f->r[state].hi), true);
        return WORD(p + BP_FINISH);
    }
    probe_mark(kp, f, p, c - 1);
    f->r[state].hi = c - 1;
    return kind <= KI_LEFT ? behind : WORD(p + BP_AGAIN);
}

/* SEMI, ANTI and MARK without a residual condition. */
FN_BIG u32 probe_exists(KARGS, PRIV Frame *f, u32 p) {
    u32 form = WORD(p + BP_FORM);
    u64 x, head = P(WORD(p + BP_HEAD));
    bool hit;
    if (form != KI_HASH) {
        hit = join_place(f, WORD(p + BP_KEYS), P(WORD(p + BP_MIN)), P(WORD(p + BP_DOM)), &x);
        if (hit) hit = form == KI_BITMAP ? (G(u32, head)[x >> 5] >> (x & 31) & 1) != 0 : G(u32, head)[x] != 0;
    } else {
        hit = probe_seek(kp, f, p, probe_first(kp, f, p), false) != 0;
    }
    f->r[WORD(p + BP_STATE)].lo = hit ? IT_HIT : 0;
    return probe_result(kp, f, p);
}

/* ---- the build side ------------------------------------------------------------------------------------ */
FN void store_columns(KARGS, PRIV Frame *f, u32 s, u64 slot) {
    u32 c = WORD(s + BS_COLS);
    for (u32 n = WORD(s + BS_N_COLS); n > 0; n--, c += BO_WORDS) {
        u32 r = WORD(c + BO_REG), to = WORD(c + BO_TO), valid = WORD(c + BO_VALID);
        bool ok = is_ok(f, r);
        store_cell(to, P(WORD(c + BO_DATA)), slot, ok ? val_convert(WORD(c + BO_FROM), to, f->r[r]) : val_make(0, 0));
        if (valid != BC_NO) G(u8, P(valid))[slot] = (u8)ok;
    }
}

FN_BIG void sink_join(KARGS, PRIV Frame *f, u32 s) {
    u32 j = WORD(s + BS_EXTRA), form = WORD(j + BJ_FORM), n = WORD(j + BJ_N_KEYS), keys = WORD(j + BJ_KEYS);
    u64 flags = P(WORD(j + BJ_FLAGS)), x = 0;
    if (WORD(j + BJ_NULL_MARK) != 0 && !join_keys_ok(f, keys, n)) G(u32, flags)[1] = 1;
    bool able = join_keys_able(f, keys, n);
    if (!able && WORD(j + BJ_TRACK) == 0) return;
    if (WORD(j + BJ_NULL_MARK) != 0 && GVOL(u32, flags)[2] == 0) G(u32, flags)[2] = 1;
    bool inside = form != KI_HASH && join_place(f, keys, P(WORD(j + BJ_MIN)), P(WORD(j + BJ_DOM)), &x);
    if (form == KI_BITMAP) {
        u32 bit = 1u << (x & 31);
        u64 word = P(WORD(j + BJ_HEAD)) + (x >> 5) * 4;
        if (!inside) RAISE(WORD(j + BJ_ERROR));
        else if ((GVOL(u32, word)[0] & bit) == 0) ga_or_u32(word, bit);
        return;
    }
    u64 slot = append(P(WORD(s + BS_COUNT)));
    if (slot >= P(WORD(s + BS_CAP))) return;
    if (WORD(j + BJ_MATCHED) != BC_NO) G(u8, P(WORD(j + BJ_MATCHED)))[slot] = 0;
    store_columns(kp, f, s, slot);
    if (form == KI_HASH && n > 0) G(u32, P(WORD(j + BJ_NEXT)))[slot] = 0; /* filled, not linked yet */
    if (form != KI_DIRECT) return;
    if (inside) {
        u32 old = ga_xchg_u32(P(WORD(j + BJ_HEAD)) + x * 4, (u32)slot + 1);
        G(u32, P(WORD(j + BJ_NEXT)))[slot] = old;
        if (old != 0 && GVOL(u32, flags)[0] == 0) G(u32, flags)[0] = 1;
    } else if (able) {
        RAISE(WORD(j + BJ_ERROR));
    }
}

KERNEL(join_build) {
    const u64 code = P(BC_CODE_PARAM);
    const u32 j = CODE(CODE(BH_BUILD) + BS_EXTRA), n_keys = CODE(j + BJ_N_KEYS);
    const u64 rows = P(CODE(j + BJ_ROWS)), head = P(CODE(j + BJ_HEAD)), mask = P(CODE(j + BJ_MASK)),
              next = P(CODE(j + BJ_NEXT));
    u32 polls = 0;
    for (u64 row = GID * LSIZE + LID; row < rows && GOES_ON(polls, 64u); row += NGROUPS * LSIZE) {
        u64 h = 0;
        bool linked = G(u32, next)[row] != ~0u;
        u32 k = CODE(j + BJ_KEYS);
        for (u32 i = 0; i < n_keys; i++, k += BK_WORDS) {
            u32 phys = CODE(k + BK_PHYS), valid = CODE(k + BK_VALID);
            bool ok = valid == BC_NO || G(u8, P(valid))[row] != 0;
            linked = linked && (ok || CODE(k + BK_NULL_EQUAL) != 0);
            h = hash_combine(h, ok ? val_hash(phys, load_cell(phys, P(CODE(k + BK_DATA)), row)) : 1);
        }
        if (linked) G(u32, next)[row] = ga_xchg_u32(head + (KEY_HASH(h) & mask) * 4, (u32)row + 1);
    }
}

#endif
