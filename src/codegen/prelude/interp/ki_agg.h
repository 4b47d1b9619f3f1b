/* ki_agg.h - aggregation sinks and their results in the device interpreter. Records and tables are those of the emitter
 * (codegen/emit_agg.c); every row updates its record by atomics, whatever the form. */
#ifndef KI_AGG_H
#define KI_AGG_H
#include "codegen/prelude/interp/ki_join.h"

FN void store_first(PRIV Frame *f, u32 x, u64 rec) {
    u32 r = WORD(x + BX_REG), flag = WORD(x + BX_FLAG_OFF);
    if (!is_ok(f, r)) return;
    store_cell(WORD(x + BX_PHYS), rec + WORD(x + BX_OFF), 0, f->r[r]);
    if (flag != BC_NO) G(u32, rec + flag)[0] = 1;
}
/* All FIRST of a record that this item has made. */
FN void creator_writes(PRIV Frame *f, u32 a, u64 rec) {
    u32 x = WORD(a + BA_CELLS);
    for (u32 n = WORD(a + BA_N_CELLS); n > 0; n--, x += BX_WORDS)
        if (WORD(x + BX_KIND) == KI_FIRST) store_first(f, x, rec);
}

FN_BIG void update_record(KARGS, PRIV Frame *f, u32 a, u64 rec) {
    u32 x = WORD(a + BA_CELLS);
    for (u32 n = WORD(a + BA_N_CELLS); n > 0; n--, x += BX_WORDS) {
        u32 r = WORD(x + BX_REG), kind = WORD(x + BX_KIND), flags = WORD(x + BX_FLAGS), seen = WORD(x + BX_SEEN),
            bit = 1u << (seen & 31);
        u64 at = rec + WORD(x + BX_OFF), seen_at = rec + 4 + 4 * (seen >> 5), e;
        if (kind == KI_FIRST) {
            u64 claim = rec + WORD(x + BX_FLAG_OFF) + 4;
            if (WORD(a + BA_FORM) == KI_AGG_ONE && GVOL(u32, claim)[0] == 0 && ga_xchg_u32(claim, 1) == 0)
                store_first(f, x, rec);
            continue;
        }
        if (kind == KI_CELL_SINGLE) {
            if ((ga_or_u32(seen_at, bit) & bit) != 0) RAISE(WORD(a + BA_CARDINALITY));
            else store_first(f, x, rec);
            continue;
        }
        if (r != BC_NOREG && !is_ok(f, r)) continue;
        val v = r != BC_NOREG ? f->r[r] : val_make(0, 0);
        bool flip = (flags & BL_FLIP) != 0, flt = (flags & BL_FLOAT) != 0;
        switch (kind) {
        case KI_ADD64: ga_add_u64(at, flags & BXF_ONE ? 1 : v.lo); break;
        case KI_ADDF: ga_add_f64(at, flt ? as_f64(v) : (f64)(i64)v.lo); break;
        case KI_MAX64:
            if (flt) e = flip ? enc_min_f64(as_f64(v)) : enc_max_f64(as_f64(v));
            else e = flip ? enc_min_i64((i64)v.lo) : enc_max_i64((i64)v.lo);
            if (GVOL(u64, at)[0] < e) ga_max_u64(at, e);
            break;
        case KI_OR64:
            e = !flip ? v.lo : flags & BL_BOOL ? v.lo ^ 1 : ~v.lo;
            if ((e & ~GVOL(u64, at)[0]) != 0) ga_or_u64(at, e);
            break;
        case KI_WIDE2: ga_add_i128(at, as_i128(v)); break;
        default: ga_add_sum192(at, sum192_add(sum192_zero(), as_i128(v)));
        }
        if (seen != BC_NO && (GVOL(u32, seen_at)[0] & bit) == 0) ga_or_u32(seen_at, bit);
    }
}

FN bool has_first(PRIV Frame *f, u32 a) {
    u32 x = WORD(a + BA_CELLS);
    for (u32 n = WORD(a + BA_N_CELLS); n > 0; n--, x += BX_WORDS)
        if (WORD(x + BX_KIND) == KI_FIRST) return true;
    return false;
}

/* The record number that the keys say; false: a key is where none may be. */
FN bool direct_record(KARGS, PRIV Frame *f, u32 a, PRIV u64 *out) {
    u64 g = 0, radix = 1;
    u32 k = WORD(a + BA_KEYS);
    bool inside = true;
    for (u32 n = WORD(a + BA_N_KEYS); n > 0; n--, k += BG_WORDS) {
        u32 r = WORD(k + BG_REG), values = WORD(k + BG_VALUES);
        u64 x = f->r[r].lo - P(WORD(k + BG_MIN));
        bool ok = is_ok(f, r);
        inside = inside && (!ok || x < values);
        g += (ok ? x : values) * radix;
        radix *= WORD(k + BG_EXTENT);
    }
    *out = g;
    return inside;
}

FN bool same_group(PRIV Frame *f, u32 a, u64 rec) {
    u32 k = WORD(a + BA_KEYS);
    for (u32 n = WORD(a + BA_N_KEYS); n > 0; n--, k += BG_WORDS) {
        u32 r = WORD(k + BG_REG), phys = WORD(k + BG_PHYS), valid = WORD(k + BG_VALID_OFF);
        bool ok = is_ok(f, r), there = valid == BC_NO || GVOL(u8, rec + valid)[0] != 0;
        if (ok != there) return false;
        if (ok && !val_eq(phys, load_cell_now(phys, rec + WORD(k + BG_OFF), 0), f->r[r])) return false;
    }
    return true;
}
/* The keys' record in the hash table: found or made. 0: no room. */
FN_BIG u64 hash_record(KARGS, PRIV Frame *f, u32 a) {
    const u64 slots = P(WORD(a + BA_SLOTS)), mask = P(WORD(a + BA_MASK)), records = P(WORD(a + BA_RECORDS)),
              stride = WORD(a + BA_STRIDE);
    u64 h = 0, mine = 0, rec = 0;
    u32 k = WORD(a + BA_KEYS), n_keys = WORD(a + BA_N_KEYS);
    for (u32 i = 0; i < n_keys; i++, k += BG_WORDS) {
        u32 r = WORD(k + BG_REG);
        bool ok = is_ok(f, r);
        u64 one = ok ? val_hash(WORD(k + BG_PHYS), f->r[r]) : 1;
        h = i == 0 && ok ? one : hash_combine(h, one);
    }
    h = KEY_HASH(h);
    const u64 tag = h >> 32 << 32;
    for (u64 at = h & mask;; at = (at + 1) & mask) {
        u64 x = GVOL(u64, slots)[at];
        if (x == 0) {
            if (mine == 0) {
                const u64 n = append(P(WORD(a + BA_COUNT)));
                if (n >= P(WORD(a + BA_CAP))) break;
                mine = n + 1;
                const u64 fresh = records + n * stride;
                k = WORD(a + BA_KEYS);
                for (u32 i = 0; i < n_keys; i++, k += BG_WORDS) {
                    u32 r = WORD(k + BG_REG), valid = WORD(k + BG_VALID_OFF);
                    store_cell(WORD(k + BG_PHYS), fresh + WORD(k + BG_OFF), 0, is_ok(f, r) ? f->r[r] : val_make(0, 0));
                    if (valid != BC_NO) G(u8, fresh + valid)[0] = (u8)is_ok(f, r);
                }
                G(u32, fresh)[0] = 1;
                creator_writes(f, a, fresh);
                FENCE();
            }
            x = ga_cas_u64(slots + at * 8, 0, tag | mine);
            if (x == 0) {
                rec = records + (mine - 1) * stride;
                mine = 0;
                break;
            }
        }
        if ((x >> 32 << 32) == tag) {
            const u64 other = records + ((x & 0xffffffffu) - 1) * stride;
            if (same_group(f, a, other)) {
                rec = other;
                break;
            }
        }
    }
    if (mine != 0) G(u32, records + (mine - 1) * stride)[0] = 0;
    return rec;
}

FN_BIG void sink_agg(KARGS, PRIV Frame *f, u32 s) {
    u32 a = WORD(s + BS_EXTRA), form = WORD(a + BA_FORM);
    u64 rec, g = 0;
    if (form == KI_AGG_HASH) {
        rec = hash_record(kp, f, a);
    } else {
        if (form != KI_AGG_ONE && !direct_record(kp, f, a, &g)) {
            RAISE(WORD(a + BA_ERROR));
            return;
        }
        rec = P(WORD(a + BA_RECORDS)) + g * WORD(a + BA_STRIDE);
        if (form != KI_AGG_ONE && has_first(f, a)) {
            if (GVOL(u32, rec)[0] == 0 && ga_xchg_u32(rec, 1) == 0) creator_writes(f, a, rec);
        } else if (GVOL(u32, rec)[0] == 0) {
            G(u32, rec)[0] = 1;
        }
    }
    if (rec != 0) update_record(kp, f, a, rec);
}

/* ---- results -------------------------------------------------------------------------------------------- */
/* An aggregate's value as `phys`. */
FN_BIG bool load_aggregate(KARGS, PRIV Frame *f, u32 in, u32 phys, PRIV val *out) {
    u32 w = WORD(in + 1), kind = w >> 16 & 255u, flags = w >> 24, at = WORD(in + 3);
    u64 cell = f->rec + WORD(in + 2);
    bool flip = (flags & BL_FLIP) != 0, flt = (flags & BL_FLOAT) != 0, ok = true;
    if (flags & BL_FLAG) ok = G(u32, f->rec + at)[0] == 1;
    else if (flags & BL_SEEN) ok = (G(u32, f->rec + at)[0] >> WORD(in + 4) & 1) != 0;
    else if (flags & BL_LIVE) ok = G(u32, f->rec)[0] != 0;
    u64 x = kind != KI_FIRST && kind != KI_CELL_SINGLE ? G(u64, cell)[0] : 0;
    i64 n;
    switch (kind) {
    case KI_ADD64: *out = val_i64((i64)x); break;
    case KI_ADDF: *out = val_make(x, 0); break;
    case KI_MAX64:
        if (flt) {
            *out = val_f64(flip ? dec_min_f64(x) : dec_max_f64(x));
        } else {
            n = flip ? dec_min_i64(x) : dec_max_i64(x);
            *out = val_i64(flags & BL_BOOL ? n & 1 : n);
        }
        break;
    case KI_OR64:
        if (flags & BL_BOOL) *out = val_make((u64)((x != 0) != flip), 0);
        else *out = val_i64((i64)(flip ? ~x : x));
        break;
    case KI_WIDE2:
    case KI_WIDE3: {
        i128 sum;
        bool bad = false;
        if (kind == KI_WIDE3) {
            bad = sum192_ovf(sum192_load(cell), &sum);
        } else {
            sum = ld_i128(cell);
            if ((flags & BL_CHECKED) == 0) bad = numeric_exceeds_i128(sum, 38);
        }
        if ((flags & (BL_NARROW | BL_CHECKED)) != 0) bad = bad || !i128_fits_i64(sum);
        if (bad && ok) RAISE(WORD(in + 5));
        *out = val_i128(sum);
        break;
    }
    default: *out = load_cell(phys, cell, 0);
    }
    return ok;
}

#endif
