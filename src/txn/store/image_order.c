/* image_order.c - the groups of an ordered group index: circular skip lists [Pugh 1990] in one array addressed by row
 * numbers, the same on hosts and devices.
 *
 * A row has the levels 0 .. height. Of each pair of neighbours among the numbers (row + 1) >> level that reach a level,
 * one goes one further, which one says a hash: so about half of any rows do, and a level's cells fit between those of
 * the levels below. next[] has four cells a row:
 *
 *     4 * row       level 0: the row that follows, plus 1; negative: the row was taken out of the lists
 *     4 * k + 2     a level above (link_at)
 *     4 * row + 1   of an anchor: the group's entry, plus 1: a row of the greatest height
 *     4 * row + 3   of an anchor: the group's front, plus 1: no live row comes before it. Of the entry, unless it is
 * the anchor: the group's finger, plus 1, or 0: the last row of some height that was entered behind all such rows
 * before
 *
 * After the last row of a level comes its first one. So any row of the greatest height is a way in, and a group of one
 * row takes no more than that row.
 *
 * Entering a row: bottom up, one compare-and-swap a level. While rows come and go at the same time none is taken out,
 * so a place that was found stays in the list. A row higher than the entry is alone in the levels above it and becomes
 * the entry, by compare-and-swap, or finds another row that has become it.
 *
 * Looking for the first row: from the front over dead rows. When there were many, those between are taken out, all but
 * the entry and the front itself: so no row is walked over again and again, whatever order rows come in and die.
 * Readers run beside readers only, never beside calls that enter or delete (image.h): several that take out the same
 * rows store the same numbers.
 */
#include "txn/store/store_int.h"

enum { ORDER_LEVELS = 40, DEAD_MANY = 8, FINGER = 3 /* height of a finger, or more */ };

typedef struct Pos {
    int64_t v, row;
} Pos;
typedef struct Order {
    int64_t *next;
    const char *cells;
    int64_t stride;
    bool desc;
    uint8_t phys;
} Order;

static Order order_of(const Image *im, const ImageIndex *x) {
    const ImageColumn *c = &im->cols[x->order - 1];
    return (Order){x->next, (const char *)c->cells, c->stride, x->desc, c->phys};
}
ALWAYS_INLINE Pos pos_of(const Order *o, int64_t row) {
    int16_t s;
    int32_t w;
    Pos p = {0, row};
    switch (o->phys) {
    case PH_I16:
        memcpy(&s, o->cells + row * o->stride, 2);
        p.v = s;
        break;
    case PH_I32:
        memcpy(&w, o->cells + row * o->stride, 4);
        p.v = w;
        break;
    default: memcpy(&p.v, o->cells + row * o->stride, 8);
    }
    return p;
}
ALWAYS_INLINE bool before(const Order *o, Pos a, Pos b) { return a.v != b.v ? (a.v < b.v) != o->desc : a.row < b.row; }

/* The height of a row, and where its link at a level is. */
static int height_of(int64_t row) {
    uint64_t r = (uint64_t)row + 1;
    int h = 0;
    for (; h < ORDER_LEVELS - 1 && r >> (h + 1); h++) {
        uint64_t m = ((r >> (h + 1)) * 64 + (uint64_t)h) * UINT64_C(0x9e3779b97f4a7c15);
        m = (m ^ m >> 32) * UINT64_C(0xd6e8feb86659fd93);
        if ((r >> h & 1) != m >> 63) break;
    }
    return h;
}
ALWAYS_INLINE int64_t link_at(int64_t row, int level) {
    int64_t i = (row + 1) >> level;
    return 2 * (((2 * i - 1) << level) - 1);
}
ALWAYS_INLINE int64_t load(const Order *o, int64_t at) { return __atomic_load_n(&o->next[at], __ATOMIC_ACQUIRE); }
ALWAYS_INLINE void store(const Order *o, int64_t at, int64_t v) { __atomic_store_n(&o->next[at], v, __ATOMIC_RELEASE); }
ALWAYS_INLINE bool swap(const Order *o, int64_t at, int64_t old, int64_t v) {
    return __atomic_compare_exchange_n(&o->next[at], &old, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
ALWAYS_INLINE Pos follow(const Order *o, int64_t row, int level) {
    int64_t n = load(o, link_at(row, level));
    return pos_of(o, (n < 0 ? -n : n) - 1);
}

/* From c forward to the last row before t, which is not in the list; *after: the one that follows. */
static Pos walk(const Order *o, Pos c, Pos t, int level, Pos *after) {
    bool beyond = !before(o, c, t); /* t comes when the list has begun again */
    for (;; c = *after) {
        *after = follow(o, c.row, level);
        bool ahead = before(o, c, *after);
        if (!(beyond ? ahead || before(o, *after, t) : ahead && before(o, *after, t))) return c;
        beyond &= ahead;
    }
}

/* ---- entering ---- */
void order_begin(const ImageIndex *x, int64_t row) {
    Order o = {.next = x->next};
    for (int l = height_of(row); l >= 0; l--) store(&o, link_at(row, l), row + 1);
    store(&o, 4 * row + 1, row + 1);
    store(&o, 4 * row + 3, row + 1);
}
/* Into levels first .. last, from `entry` on, which is at least as high as `top`, looking from that level on. */
static void link_row(const Order *o, Pos entry, int top, Pos t, int first, int last) {
    Pos prev[ORDER_LEVELS], after[ORDER_LEVELS], c = entry;
    for (int l = top; l >= first; l--) {
        c = walk(o, c, t, l, &after[l]);
        prev[l] = c;
    }
    for (int l = first; l <= last; l++) {
        int64_t at = link_at(t.row, l);
        store(o, at, after[l].row + 1);
        while (!swap(o, link_at(prev[l].row, l), after[l].row + 1, t.row + 1)) {
            prev[l] = walk(o, prev[l], t, l, &after[l]);
            store(o, at, after[l].row + 1);
        }
    }
}
static void lower_front(const Order *o, int64_t anchor, Pos t) {
    for (int64_t f; before(o, t, pos_of(o, (f = load(o, 4 * anchor + 3)) - 1));)
        if (swap(o, 4 * anchor + 3, f, t.row + 1)) return;
}
void order_enter(const Image *im, const ImageIndex *x, int64_t anchor, int64_t row) {
    Order o = order_of(im, x);
    Pos t = pos_of(&o, row);
    int height = height_of(row), done = -1;
    int64_t entry = load(&o, 4 * anchor + 1) - 1, finger = entry != anchor ? load(&o, 4 * entry + 3) - 1 : -1;
    bool after = finger >= 0 && finger != row && load(&o, 4 * finger) > 0 && before(&o, pos_of(&o, finger), t);
    if (row != anchor && row != entry) store(&o, 4 * row + 3, 0);
    if (after && height <= FINGER) {
        link_row(&o, pos_of(&o, finger), FINGER, t, 0, height);
        done = height;
    }
    while (done < height) {
        entry = load(&o, 4 * anchor + 1) - 1;
        int top = height_of(entry), last = MIN_OF(height, top);
        if (done < last) link_row(&o, pos_of(&o, entry), top, t, done + 1, last);
        done = last;
        if (done == height) break;
        for (int l = done + 1; l <= height; l++) store(&o, link_at(row, l), row + 1);
        if (swap(&o, 4 * anchor + 1, entry + 1, row + 1)) {
            entry = row;
            break;
        }
    }
    if (height >= FINGER && entry != anchor && (after || finger < 0 || load(&o, 4 * finger) <= 0))
        store(&o, 4 * entry + 3, row + 1);
    lower_front(&o, anchor, t);
}
void order_again(const Image *im, const ImageIndex *x, int64_t anchor, int64_t row) {
    Order o = order_of(im, x);
    if (load(&o, 4 * row) < 0) order_enter(im, x, anchor, row);
    else lower_front(&o, anchor, pos_of(&o, row));
}

/* ---- looking ---- */
ALWAYS_INLINE bool between(const Order *o, Pos lo, Pos hi, Pos p) {
    return before(o, lo, p) && (hi.row < 0 || before(o, p, hi));
}
/* Takes the rows after lo and before hi (row -1: the end) out of all levels. All are dead, and the entry is none of
 * them. */
static void take_out(const Order *o, Pos entry, Pos lo, Pos hi) {
    Pos c = entry, t = {lo.v, lo.row + 1} /* the last row before it is lo */, after, to;
    for (int l = height_of(entry.row); l >= 0; l--) {
        c = walk(o, c, t, l, &after);
        for (to = after; between(o, lo, hi, to);) to = follow(o, to.row, l);
        if (to.row != after.row) store(o, link_at(c.row, l), to.row + 1);
    }
    for (Pos p = after; between(o, lo, hi, p); p = to) {
        to = follow(o, p.row, 0);
        store(o, 4 * p.row, -(to.row + 1));
    }
}
int64_t order_first(const Image *im, const ImageIndex *x, int64_t anchor) {
    Order o = order_of(im, x);
    Pos front = pos_of(&o, load(&o, 4 * anchor + 3) - 1), c = front;
    int64_t dead = 0;
    for (; row_state(im, c.row) != ROW_LIVE; dead++) {
        Pos n = follow(&o, c.row, 0);
        if (!before(&o, c, n)) {
            c.row = -1;
            break;
        }
        c = n;
    }
    if (dead > DEAD_MANY) {
        Pos entry = pos_of(&o, load(&o, 4 * anchor + 1) - 1);
        if (between(&o, front, c, entry)) {
            take_out(&o, entry, front, entry);
            take_out(&o, entry, entry, c);
        } else {
            take_out(&o, entry, front, c);
        }
    }
    if (dead > 0 && c.row >= 0) store(&o, 4 * anchor + 3, c.row + 1);
    return c.row;
}
int64_t order_next(const Image *im, const ImageIndex *x, int64_t row) {
    Order o = order_of(im, x);
    for (Pos c = pos_of(&o, row);;) {
        Pos n = follow(&o, c.row, 0);
        if (!before(&o, c, n)) return -1;
        if (row_state(im, n.row) == ROW_LIVE) return n.row;
        c = n;
    }
}

int64_t order_after(const Image *im, const ImageIndex *x, int64_t anchor, int64_t value, bool at) {
    Order o = order_of(im, x);
    Pos t = {value, at ? -1 : INT64_MAX}, c = pos_of(&o, load(&o, 4 * anchor + 1) - 1), after;
    for (int l = height_of(c.row); l >= 0; l--) c = walk(&o, c, t, l, &after);
    if (!before(&o, t, after)) return -1;
    return row_state(im, after.row) == ROW_LIVE ? after.row : order_next(im, x, after.row);
}

/* ---- verification ---- */
Status order_verify(const Image *im, const ImageIndex *x, int64_t anchor, int64_t *live, Err *e) {
    Order o = order_of(im, x);
    const char *name = im->table->name;
    int64_t rows = atomic_load(&im->rows), entry = x->next[4 * anchor + 1] - 1, front = x->next[4 * anchor + 3] - 1,
            reach[ORDER_LEVELS] = {0};
    if (entry < 0 || entry >= rows || front < 0 || front >= rows || height_of(anchor) > height_of(entry))
        return err_internal(e, "a group of table \"%s\" has no way in at row %lld", name, (long long)anchor);
    for (int l = 0; l <= height_of(entry); l++) {
        int64_t n = 0, falls = 0;
        bool has_front = false;
        Pos c = pos_of(&o, entry);
        do {
            Pos to = pos_of(&o, x->next[link_at(c.row, l)] - 1);
            if (to.row < 0 || to.row >= rows || ++n > rows)
                return err_internal(e, "a group of table \"%s\" has a wrong list at row %lld", name, (long long)c.row);
            for (int32_t k = 0; k < x->n_cols; k++) {
                const ImageColumn *col = &im->cols[x->cols[k]];
                if (cell_cmp((Phys)col->phys, image_cell(col, c.row), image_cell(col, anchor)) != 0)
                    return err_internal(e, "a group of table \"%s\" has row %lld of another", name, (long long)c.row);
            }
            falls += !before(&o, c, to);
            has_front |= c.row == front;
            int h = height_of(c.row);
            if (h < l || h > height_of(entry))
                return err_internal(e, "a group of table \"%s\" has row %lld at a wrong level", name, (long long)c.row);
            for (int k = 0; l == 0 && k <= h; k++) reach[k]++;
            if (l == 0 && im->live[c.row] == ROW_LIVE) {
                ++*live;
                if (before(&o, c, pos_of(&o, front)))
                    return err_internal(e, "a group of table \"%s\" has live row %lld before its front", name,
                                        (long long)c.row);
            }
            c = to;
        } while (c.row != entry);
        if (falls != 1 || n != reach[l] || (l == 0 && !has_front))
            return err_internal(e, "a group of table \"%s\" is out of order at level %d of row %lld", name, l,
                                (long long)entry);
    }
    return ST_OK;
}
