/* kc_order.h - ordered groups of an image's index in kernels: txn/store/image_order.c says what they are, and these
 * functions leave what those do. Not part of the prelude: codegen/emit_proc.c puts it behind it where a table has such
 * an index.
 *
 * `next` is the address of the index's cells, `cells` that of the column it is in order of, `kind` the bytes of its
 * values, plus ORD_DESC, plus 256 times the bytes from row to row.
 */
#ifndef KC_ORDER_H
#define KC_ORDER_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/txn/kp_codes.h"

#define ORD_LEVELS 40
#define ORD_AT_ONCE 8
#define ORD_DEAD_MANY 8
#define ORD_DESC 16u
#define ORD_FINGER 3 /* height of a finger, or more */

FN i64 ord_value(u64 cells, u32 kind, i64 row) {
    const u64 cell = cells + (u64)row * (kind >> 8);
    if ((kind & 15u) == 2u) return (i64)GVOL(i16, cell)[0];
    if ((kind & 15u) == 4u) return (i64)GVOL(i32, cell)[0];
    return GVOL(i64, cell)[0];
}
FN bool ord_before(u32 kind, i64 av, i64 a, i64 bv, i64 b) {
    return av != bv ? (av < bv) != ((kind & ORD_DESC) != 0) : a < b;
}

FN i32 ord_height(i64 row) {
    const u64 r = (u64)row + 1;
    i32 h = 0;
    ROLLED for (; h < ORD_LEVELS - 1 && (r >> (h + 1)) != 0; h++) {
        u64 m = ((r >> (h + 1)) * 64 + (u64)h) * U64C(0x9e3779b97f4a7c15);
        m = (m ^ m >> 32) * U64C(0xd6e8feb86659fd93);
        if (((r >> h) & 1) != m >> 63) break;
    }
    return h;
}
FN u64 ord_link(i64 row, i32 level) { return 2 * (((2 * ((u64)(row + 1) >> level) - 1) << level) - 1); }
FN i64 ord_follow(u64 next, i64 row, i32 level) {
    const i64 n = GVOL(i64, next)[ord_link(row, level)];
    return (n < 0 ? -n : n) - 1;
}

/* From row c forward to the last one before (v, row); *after: the one that follows. */
FN i64 ord_walk(u64 next, u64 cells, u32 kind, i64 c, i64 v, i64 row, i32 level, PRIV i64 *after) {
    i64 cv = ord_value(cells, kind, c);
    bool beyond = !ord_before(kind, cv, c, v, row);
    ROLLED for (;;) {
        const i64 n = ord_follow(next, c, level), nv = ord_value(cells, kind, n);
        const bool ahead = ord_before(kind, cv, c, nv, n), short_of = ord_before(kind, nv, n, v, row);
        if (!(beyond ? ahead || short_of : ahead && short_of)) {
            *after = n;
            return c;
        }
        beyond = beyond && ahead;
        c = n;
        cv = nv;
    }
}

/* ---- entering ---- */
FN_LONG void ord_begin(u64 next, i64 row) {
    ROLLED for (i32 l = ord_height(row); l >= 0; l--) GVOL(i64, next)[ord_link(row, l)] = row + 1;
    GVOL(i64, next)[4 * row + 1] = row + 1;
    GVOL(i64, next)[4 * row + 3] = row + 1;
}
/* Levels first .. last, no more than ORD_AT_ONCE, from `entry` on, looking from level `top` on. */
FN_BIG void ord_link_row(u64 next, u64 cells, u32 kind, i64 entry, i32 top, i64 v, i64 row, i32 first, i32 last) {
    i64 prev[ORD_AT_ONCE], after[ORD_AT_ONCE], c = entry, n = 0;
    ROLLED for (i32 l = top; l >= first; l--) {
        c = ord_walk(next, cells, kind, c, v, row, l, &n);
        if (l > last) continue;
        prev[l - first] = c;
        after[l - first] = n;
    }
    ROLLED for (i32 l = first; l <= last; l++) {
        const u64 at = ord_link(row, l);
        c = prev[l - first];
        n = after[l - first];
        ROLLED for (;;) {
            GVOL(i64, next)[at] = n + 1;
            FENCE_GIVE();
            if (ga_cas_u64(next + ord_link(c, l) * 8, (u64)n + 1, (u64)row + 1) == (u64)n + 1) break;
            c = ord_walk(next, cells, kind, c, v, row, l, &n);
        }
    }
}
FN void ord_lower_front(u64 next, u64 cells, u32 kind, i64 anchor, i64 v, i64 row) {
    ROLLED for (;;) {
        const i64 f = GVOL(i64, next)[4 * anchor + 3];
        if (!ord_before(kind, v, row, ord_value(cells, kind, f - 1), f - 1)) return;
        if (ga_cas_u64(next + (u64)(4 * anchor + 3) * 8, (u64)f, (u64)row + 1) == (u64)f) return;
    }
}
/* Whether the search for a new row's place may begin at row f (-1: none) instead of the entry. */
FN bool ord_finger_fits(u64 next, u64 cells, u32 kind, i64 f, i64 v, i64 row) {
    return f >= 0 && f != row && GVOL(i64, next)[4 * f] > 0 && ord_before(kind, ord_value(cells, kind, f), f, v, row);
}
FN_BIG void ord_enter(u64 next, u64 cells, u32 kind, i64 anchor, i64 row) {
    const i64 v = ord_value(cells, kind, row);
    const i32 height = ord_height(row);
    i64 entry = GVOL(i64, next)[4 * anchor + 1] - 1;
    const i64 finger = entry != anchor ? GVOL(i64, next)[4 * entry + 3] - 1 : -1;
    const bool after = ord_finger_fits(next, cells, kind, finger, v, row);
    i32 done = -1;
    if (row != anchor && row != entry) GVOL(i64, next)[4 * row + 3] = 0;
    if (after && height <= ORD_FINGER) {
        ord_link_row(next, cells, kind, finger, ORD_FINGER, v, row, 0, height);
        done = height;
    }
    ROLLED while (done < height) {
        entry = GVOL(i64, next)[4 * anchor + 1] - 1;
        const i32 top = ord_height(entry), last = height < top ? height : top;
        ROLLED for (i32 first = done + 1; first <= last; first += ORD_AT_ONCE)
            ord_link_row(next, cells, kind, entry, top, v, row, first,
                         last < first + ORD_AT_ONCE - 1 ? last : first + ORD_AT_ONCE - 1);
        done = last;
        if (done == height) break;
        ROLLED for (i32 l = done + 1; l <= height; l++) GVOL(i64, next)[ord_link(row, l)] = row + 1;
        FENCE_GIVE();
        if (ga_cas_u64(next + (u64)(4 * anchor + 1) * 8, (u64)entry + 1, (u64)row + 1) == (u64)entry + 1) {
            entry = row;
            break;
        }
    }
    if (height >= ORD_FINGER && entry != anchor && (after || finger < 0 || GVOL(i64, next)[4 * finger] <= 0)) {
        FENCE_GIVE();
        GVOL(i64, next)[4 * entry + 3] = row + 1;
    }
    ord_lower_front(next, cells, kind, anchor, v, row);
}
FN void ord_again(u64 next, u64 cells, u32 kind, i64 anchor, i64 row) {
    if (anchor < 0) return;
    if (GVOL(i64, next)[4 * row] < 0) ord_enter(next, cells, kind, anchor, row);
    else ord_lower_front(next, cells, kind, anchor, ord_value(cells, kind, row), row);
}

/* ---- looking ---- */
/* hi -1: the end. */
FN bool ord_between(u64 cells, u32 kind, i64 lo, i64 hi, i64 row) {
    const i64 v = ord_value(cells, kind, row);
    return ord_before(kind, ord_value(cells, kind, lo), lo, v, row) &&
           (hi < 0 || ord_before(kind, v, row, ord_value(cells, kind, hi), hi));
}
FN_BIG void ord_take_out(u64 next, u64 cells, u32 kind, i64 entry, i64 lo, i64 hi) {
    const i64 v = ord_value(cells, kind, lo);
    i64 c = entry, after = entry;
    ROLLED for (i32 l = ord_height(entry); l >= 0; l--) {
        c = ord_walk(next, cells, kind, c, v, lo + 1, l, &after);
        i64 to = after;
        ROLLED while (ord_between(cells, kind, lo, hi, to)) to = ord_follow(next, to, l);
        if (to != after) GVOL(i64, next)[ord_link(c, l)] = to + 1;
    }
    FENCE_GIVE();
    ROLLED while (ord_between(cells, kind, lo, hi, after)) {
        const i64 to = ord_follow(next, after, 0);
        GVOL(i64, next)[4 * after] = -(to + 1);
        after = to;
    }
}
FN_BIG i64 ord_first(u64 next, u64 cells, u32 kind, u64 live, i64 anchor) {
    if (anchor < 0) return -1;
    const i64 front = GVOL(i64, next)[4 * anchor + 3] - 1;
    i64 c = front, dead = 0;
    ROLLED for (; c >= 0 && GVOL(u8, live)[c] != ROW_LIVE; dead++) {
        const i64 n = ord_follow(next, c, 0);
        c = ord_before(kind, ord_value(cells, kind, c), c, ord_value(cells, kind, n), n) ? n : -1;
    }
    if (dead > ORD_DEAD_MANY) {
        const i64 entry = GVOL(i64, next)[4 * anchor + 1] - 1;
        const bool halves = ord_between(cells, kind, front, c, entry);
        ord_take_out(next, cells, kind, entry, front, halves ? entry : c);
        if (halves) ord_take_out(next, cells, kind, entry, entry, c);
    }
    if (dead > 0 && c >= 0) GVOL(i64, next)[4 * anchor + 3] = c + 1;
    return c;
}

/* The first live one after (at: or at) a value. */
FN_BIG i64 ord_after(u64 next, u64 cells, u32 kind, u64 live, i64 anchor, i64 v, bool at) {
    if (anchor < 0) return -1;
    const i64 row = at ? -1 : (i64)(~U64C(0) >> 1);
    i64 c = GVOL(i64, next)[4 * anchor + 1] - 1, after = c;
    ROLLED for (i32 l = ord_height(c); l >= 0; l--) c = ord_walk(next, cells, kind, c, v, row, l, &after);
    if (!ord_before(kind, v, row, ord_value(cells, kind, after), after)) return -1;
    ROLLED while (GVOL(u8, live)[after] != ROW_LIVE) {
        const i64 n = ord_follow(next, after, 0);
        if (!ord_before(kind, ord_value(cells, kind, after), after, ord_value(cells, kind, n), n)) return -1;
        after = n;
    }
    return after;
}

/* ---- groups in no order ---- */
/* The row that comes first by a column, of a list from `row` on. */
FN i64 ord_best(u64 next, u64 cells, u32 kind, u64 live, i64 row) {
    i64 best = row;
    ROLLED while (row >= 0) {
        if (ord_before(kind, ord_value(cells, kind, row), row, ord_value(cells, kind, best), best)) best = row;
        row = GVOL(i64, next)[row] - 1;
        ROLLED while (row >= 0 && GVOL(u8, live)[row] != ROW_LIVE) row = GVOL(i64, next)[row] - 1;
    }
    return best;
}

#endif
