/* range_value.c - ranges and multiranges as bytes, and what is computed of them; see range.h.
 *
 * Bounds are compared by their keys alone, so that nothing here but the canonical forms of integers and dates depends
 * on the subtype. The rules are those of PostgreSQL's rangetypes.c and multirangetypes.c; there a range is taken for a
 * multirange of one range in functions of its own, here in all.
 */
#include <math.h>
#include <stdlib.h>

#include "types/dec.h"
#include "types/json.h"
#include "types/range.h"

enum { LOWER_INFINITE = 1, LOWER_FINITE = 2, UPPER_FINITE = 1, UPPER_INFINITE = 2, RANGE_BYTES_MAX = 1 << 30 };

/* ---- keys ---- */

static int64_t key_width(Phys p) {
    switch (p) {
    case PH_BOOL: return 1;
    case PH_I16: return 2;
    case PH_I32: return 4;
    case PH_I64:
    case PH_F32:
    case PH_F64: return 8;
    case PH_STR: return 0; /* as long as it is */
    default: return 16;
    }
}
static void put_big_endian(char *p, uint128_t v, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) p[i] = (char)(v >> (8 * (bytes - 1 - i)));
}
static uint128_t get_big_endian(const char *p, int64_t bytes) {
    uint128_t v = 0;
    for (int64_t i = 0; i < bytes; i++) v = v << 8 | (unsigned char)p[i];
    return v;
}
static uint64_t float_key(double d) {
    uint64_t u;
    if (isnan(d)) return UINT64_MAX;
    if (d == 0) d = 0;
    memcpy(&u, &d, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}
static int64_t put_fixed_key(char *p, Phys phys, const Value *v) {
    const int64_t w = key_width(phys);
    int128_t i = 0;
    switch (phys) {
    case PH_BOOL: p[0] = (char)v->u.b; return w;
    case PH_UUID: memcpy(p, &v->u, 16); return w;
    case PH_F32: put_big_endian(p, float_key((double)v->u.f32), w); return w;
    case PH_F64: put_big_endian(p, float_key(v->u.f64), w); return w;
    case PH_I16: i = v->u.i16; break;
    case PH_I32: i = v->u.i32; break;
    case PH_I64: i = v->u.i64; break;
    case PH_INTERVAL: i = interval_cmp_value(&v->u.interval); break;
    default: memcpy(&i, &v->u, sizeof i); break;
    }
    put_big_endian(p, (uint128_t)i ^ (uint128_t)1 << (8 * w - 1), w);
    return w;
}
static void get_fixed_key(const char *p, Phys phys, Value *v) {
    const int64_t w = key_width(phys);
    if (phys == PH_BOOL || phys == PH_UUID) {
        memcpy(&v->u, p, (size_t)w);
        return;
    }
    const uint128_t u = get_big_endian(p, w) ^ (uint128_t)1 << (8 * w - 1);
    switch (phys) {
    case PH_I16: v->u.i16 = (int16_t)(uint16_t)u; break;
    case PH_I32: v->u.i32 = (int32_t)(uint32_t)u; break;
    case PH_I64: v->u.i64 = (int64_t)(uint64_t)u; break;
    default: memcpy(&v->u, &u, sizeof u); break;
    }
}

static int64_t zero_bytes(Str s) {
    int64_t n = 0;
    for (uint32_t i = 0; i < s.len; i++) n += !s.ptr[i];
    return n;
}
static int64_t put_string_key(char *p, Str s) {
    int64_t n = 0;
    for (uint32_t i = 0; i < s.len; i++) {
        p[n++] = s.ptr[i];
        if (!s.ptr[i]) p[n++] = (char)0xff;
    }
    p[n++] = 0;
    p[n++] = 0;
    return n;
}
/* Bytes of the key at p, -1 when there is none. */
static int64_t key_bytes(const char *p, const char *end, Phys phys) {
    const int64_t w = key_width(phys);
    if (w) return w <= end - p ? w : -1;
    for (const char *q = p; end - q >= 2; q++) {
        if (q[0]) continue;
        if (!q[1]) return q + 2 - p;
        q++; /* 00 FF is a zero byte */
    }
    return -1;
}

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }
/* What the key is made of, where it is a string. */
static Status ordered_string(Type t, Str s, Arena *a, Str *out, Err *e) {
    *out = t.id == T_DECIMAL ? dec_key(s) : s;
    return t.id == T_JSONB ? jsonb_key(a, s, out, e) : ST_OK;
}

Status range_bound(const RangeType *x, const Value *v, bool inclusive, Arena *a, RangeBound *out, Err *e) {
    const Phys phys = type_phys(x->subtype);
    const bool keyed = range_type(x).precision & RANGE_KEYED;
    const Str cell = phys == PH_STR ? v->u.str : str_make((const char *)&v->u, phys_size(phys));
    Str s = cell;
    if (phys == PH_STR) TRY(ordered_string(x->subtype, cell, a, &s, e));
    const int64_t most = phys == PH_STR ? s.len + zero_bytes(s) + 2 : key_width(phys);
    char *p = arena_alloc(a, most + (keyed ? (int64_t)cell.len : 0));
    if (!p) return no_memory(e);
    const int64_t n = phys == PH_STR ? put_string_key(p, s) : put_fixed_key(p, phys, v);
    *out = (RangeBound){.key = {p, n}, .cell = {p + n, 0}, .inclusive = inclusive};
    if (!keyed) return ST_OK;
    memcpy(p + n, cell.ptr, cell.len);
    out->cell.len = cell.len;
    return ST_OK;
}

Status range_bound_value(const RangeType *x, const RangeBound *b, Arena *a, Value *out, Err *e) {
    const Phys phys = type_phys(x->subtype);
    *out = (Value){.type = x->subtype};
    if (range_type(x).precision & RANGE_KEYED) {
        if (phys == PH_STR) out->u.str = str_make(b->cell.ptr, b->cell.len);
        else memcpy(&out->u, b->cell.ptr, (size_t)phys_size(phys));
        return ST_OK;
    }
    if (phys != PH_STR) return get_fixed_key(b->key.ptr, phys, out), ST_OK;
    char *p = arena_alloc(a, b->key.len);
    if (!p) return no_memory(e);
    int64_t n = 0;
    for (int64_t i = 0; i < b->key.len - 2; i++) {
        p[n++] = b->key.ptr[i];
        i += !b->key.ptr[i];
    }
    out->u.str = str_make(p, n);
    return ST_OK;
}

/* ---- bytes ---- */

/* Reads a lower or an upper bound; false: there is none. */
static bool get_bound(const char **at, const char *end, Phys phys, bool lower, RangeBound *out) {
    const char *p = *at;
    const char infinite = lower ? LOWER_INFINITE : UPPER_INFINITE, finite = lower ? LOWER_FINITE : UPPER_FINITE;
    *out = (RangeBound){.infinite = p < end && *p == infinite};
    if (p == end || (*p != infinite && *p != finite)) return false;
    *at = ++p;
    if (out->infinite) return true;
    const int64_t n = key_bytes(p, end, phys);
    if (n < 0 || p + n == end || (unsigned char)p[n] > 1) return false;
    out->key = (Slice){p, n};
    out->inclusive = (p[n] == 1) == !lower;
    *at = p + n + 1;
    return true;
}
static bool get_tail(const char **at, const char *end, Phys phys, RangeBound *b) {
    uint32_t n;
    if (b->infinite) return true;
    if (end - *at < (int64_t)sizeof n) return false;
    memcpy(&n, *at, sizeof n);
    *at += sizeof n;
    if ((int64_t)n > end - *at || (phys != PH_STR && n != phys_size(phys))) return false;
    b->cell = (Slice){*at, n};
    *at += n;
    return true;
}
static Slice head_of(const char *p, const char *end, bool multi, Phys phys, int64_t *n) {
    const char *at = p;
    RangeBound b;
    *n = 0;
    if (!multi) {
        if (p < end && !*p) return (Slice){p, 1};
        if (!get_bound(&at, end, phys, true, &b) || !get_bound(&at, end, phys, false, &b)) return (Slice){p, -1};
        *n = 1;
        return (Slice){p, at - p};
    }
    while (at < end && *at == 1) {
        at++;
        if (!get_bound(&at, end, phys, true, &b) || !get_bound(&at, end, phys, false, &b)) return (Slice){p, -1};
        (*n)++;
    }
    if (at == end || *at) return (Slice){p, -1};
    return (Slice){p, at + 1 - p};
}

/* Fills the items of a value whose head has been seen to be one. */
static bool get_items(const RangeType *x, bool multi, Slice head, const char *end, RangeList *l) {
    const Phys phys = type_phys(x->subtype);
    const bool keyed = range_type(x).precision & RANGE_KEYED;
    const char *at = head.ptr, *tail = head.ptr + head.len;
    for (int64_t i = 0; i < l->n; i++) {
        RangeParts *r = &l->items[i];
        at += multi;
        if (!get_bound(&at, tail, phys, true, &r->lower) || !get_bound(&at, tail, phys, false, &r->upper)) return false;
    }
    for (int64_t i = 0; i < l->n && keyed; i++)
        if (!get_tail(&tail, end, phys, &l->items[i].lower) || !get_tail(&tail, end, phys, &l->items[i].upper))
            return false;
    return tail == end;
}

Status range_read(Type t, Str value, Arena *a, RangeParts *room, RangeList *out, Err *e) {
    const RangeType *x = range_of(t);
    const bool multi = t.id == T_MULTIRANGE;
    *out = (RangeList){0, room};
    if (!x) return err_internal(e, "a range of a type that is not known");
    if (value.len == 0) return ST_OK;
    const char *end = value.ptr + value.len;
    const Slice head = head_of(value.ptr, end, multi, type_phys(x->subtype), &out->n);
    if (head.len < 0) return err_internal(e, "bytes that are no value of type %s", type_plain_name(t));
    if (out->n > 1 && !(out->items = arena_array(a, RangeParts, out->n))) return no_memory(e);
    if (!get_items(x, multi, head, end, out))
        return err_internal(e, "bytes that are no value of type %s", type_plain_name(t));
    return ST_OK;
}

bool range_ok(Type t, Str value) {
    const RangeType *x = range_of(t);
    const char *end = value.ptr + value.len;
    int64_t n;
    if (!x || value.len == 0) return false;
    const Phys phys = type_phys(x->subtype);
    const Slice head = head_of(value.ptr, end, t.id == T_MULTIRANGE, phys, &n);
    if (head.len < 0) return false;
    if (!(t.precision & RANGE_KEYED)) return head.ptr + head.len == end;
    const char *at = head.ptr, *tail = head.ptr + head.len;
    for (int64_t i = 0; i < n; i++) {
        RangeBound lower, upper;
        at += t.id == T_MULTIRANGE;
        if (!get_bound(&at, end, phys, true, &lower) || !get_bound(&at, end, phys, false, &upper) ||
            !get_tail(&tail, end, phys, &lower) || !get_tail(&tail, end, phys, &upper))
            return false;
    }
    return tail == end;
}

Str range_key(Type t, Str value) {
    const RangeType *x = range_of(t);
    int64_t n;
    if (!x || !(t.precision & RANGE_KEYED)) return value;
    const Slice head = head_of(value.ptr, value.ptr + value.len, t.id == T_MULTIRANGE, type_phys(x->subtype), &n);
    return head.len < 0 ? value : str_make(head.ptr, head.len);
}

static char *put_bound(char *p, const RangeBound *b, bool lower) {
    if (b->infinite) return *p = lower ? LOWER_INFINITE : UPPER_INFINITE, p + 1;
    *p++ = lower ? LOWER_FINITE : UPPER_FINITE;
    memcpy(p, b->key.ptr, (size_t)b->key.len);
    p[b->key.len] = (char)(b->inclusive == !lower);
    return p + b->key.len + 1;
}
static char *put_tail(char *p, const RangeBound *b) {
    const uint32_t n = (uint32_t)b->cell.len;
    if (b->infinite) return p;
    memcpy(p, &n, sizeof n);
    if (n) memcpy(p + sizeof n, b->cell.ptr, n);
    return p + sizeof n + n;
}
static int64_t bound_bytes(const RangeBound *b) {
    return b->infinite ? 1 : 2 + b->key.len + b->cell.len + (int64_t)sizeof(uint32_t);
}
Status range_write(Type t, const RangeList *l, Arena *a, Str *out, Err *e) {
    const bool multi = t.id == T_MULTIRANGE;
    int64_t most = 1;
    for (int64_t i = 0; i < l->n; i++) most += 1 + bound_bytes(&l->items[i].lower) + bound_bytes(&l->items[i].upper);
    if (most > RANGE_BYTES_MAX) return err_set(e, ERR_PROGRAM_LIMIT, "a %s is too long", type_plain_name(t));
    char *first = arena_alloc(a, most), *p = first;
    if (!p) return no_memory(e);
    for (int64_t i = 0; i < l->n; i++) {
        if (multi) *p++ = 1;
        p = put_bound(put_bound(p, &l->items[i].lower, true), &l->items[i].upper, false);
    }
    if (multi || l->n == 0) *p++ = 0;
    for (int64_t i = 0; i < l->n && (t.precision & RANGE_KEYED); i++)
        p = put_tail(put_tail(p, &l->items[i].lower), &l->items[i].upper);
    *out = str_make(first, p - first);
    return ST_OK;
}

/* ---- bounds ---- */

static int key_cmp(Slice x, Slice y) {
    const int c = memcmp(x.ptr, y.ptr, (size_t)MIN_OF(x.len, y.len));
    return c ? c : (x.len > y.len) - (x.len < y.len);
}
/* A lower or upper bound against another one: by their values, then by what is on which side of the value. */
static int bound_cmp(const RangeBound *x, bool x_lower, const RangeBound *y, bool y_lower) {
    if (x->infinite && y->infinite) return x_lower == y_lower ? 0 : x_lower ? -1 : 1;
    if (x->infinite) return x_lower ? -1 : 1;
    if (y->infinite) return y_lower ? 1 : -1;
    const int c = key_cmp(x->key, y->key);
    if (c) return c;
    const int sx = x->inclusive ? 0 : x_lower ? 1 : -1, sy = y->inclusive ? 0 : y_lower ? 1 : -1;
    return sx - sy;
}
static int lower_cmp(const RangeParts *x, const RangeParts *y) { return bound_cmp(&x->lower, true, &y->lower, true); }
static int upper_cmp(const RangeParts *x, const RangeParts *y) { return bound_cmp(&x->upper, false, &y->upper, false); }
static bool is_before(const RangeParts *x, const RangeParts *y) {
    return bound_cmp(&x->upper, false, &y->lower, true) < 0;
}
static bool overlap(const RangeParts *x, const RangeParts *y) { return !is_before(x, y) && !is_before(y, x); }
/* y begins where x ends. */
static bool touches(const RangeParts *x, const RangeParts *y) {
    return !x->upper.infinite && !y->lower.infinite && key_cmp(x->upper.key, y->lower.key) == 0 &&
           x->upper.inclusive != y->lower.inclusive;
}

/* ---- canonical forms ---- */

/* The value behind a bound of a discrete type. False: it is infinity as a value, which has none. */
static Status next_value(const RangeType *x, RangeBound *b, Arena *a, bool *stays, Err *e) {
    Value v;
    *stays = false;
    TRY(range_bound_value(x, b, a, &v, e));
    switch (x->number) {
    case RANGE_INT4:
        if (v.u.i32 == INT32_MAX) return err_set(e, ERR_NUMERIC_RANGE, "integer out of range");
        v.u.i32++;
        break;
    case RANGE_INT8:
        if (v.u.i64 == INT64_MAX) return err_set(e, ERR_NUMERIC_RANGE, "bigint out of range");
        v.u.i64++;
        break;
    default: {
        int64_t year;
        int month, day;
        *stays = v.u.i32 == DATE_NEG_INF || v.u.i32 == DATE_POS_INF;
        if (*stays) return ST_OK;
        date_to_ymd(v.u.i32 + 1, &year, &month, &day);
        if (!date_valid_ymd(year, month, day)) return err_set(e, ERR_DATETIME_OVERFLOW, "date out of range");
        v.u.i32++;
    }
    }
    return range_bound(x, &v, b->inclusive, a, b, e);
}

Status range_canonical(const RangeType *x, const RangeParts *r, RangeParts *room, Arena *a, RangeList *out, Err *e) {
    const bool finite = !r->lower.infinite && !r->upper.infinite;
    const int c = finite ? key_cmp(r->lower.key, r->upper.key) : -1;
    bool stays = false;
    *room = *r;
    if (room->lower.infinite) room->lower.inclusive = false;
    if (room->upper.infinite) room->upper.inclusive = false;
    *out = (RangeList){0, room};
    if (c > 0)
        return err_set(e, ERR_DATA_EXCEPTION, "range lower bound must be less than or equal to range upper bound");
    if (c == 0 && !(r->lower.inclusive && r->upper.inclusive)) return ST_OK;
    out->n = 1;
    if (x->number != RANGE_INT4 && x->number != RANGE_INT8 && x->number != RANGE_DATE) return ST_OK;
    if (!r->lower.infinite && !r->lower.inclusive) {
        TRY(next_value(x, &room->lower, a, &stays, e));
        room->lower.inclusive = !stays;
    }
    if (!r->upper.infinite && r->upper.inclusive) {
        TRY(next_value(x, &room->upper, a, &stays, e));
        room->upper.inclusive = stays;
    }
    if (finite && key_cmp(room->lower.key, room->upper.key) >= 0 && !(room->lower.inclusive && room->upper.inclusive))
        out->n = 0;
    return ST_OK;
}

static int parts_cmp(const void *a, const void *b) {
    const int c = lower_cmp(a, b);
    return c ? c : upper_cmp(a, b);
}
/* Of bounds that are equal and look different the second's, as PostgreSQL has it. */
static RangeParts hull(const RangeParts *x, const RangeParts *y) {
    return (RangeParts){lower_cmp(x, y) < 0 ? x->lower : y->lower, upper_cmp(x, y) > 0 ? x->upper : y->upper};
}
void range_list_canonical(RangeList *l) {
    int64_t n = 0;
    if (l->n == 0) return;
    qsort(l->items, (size_t)l->n, sizeof *l->items, parts_cmp);
    for (int64_t i = 1; i < l->n; i++) {
        RangeParts *last = &l->items[n], *next = &l->items[i];
        if (is_before(last, next) && !touches(last, next)) l->items[++n] = *next;
        else *last = hull(last, next);
    }
    l->n = n + 1;
}

/* ---- lists ---- */

int range_list_cmp(const RangeList *x, const RangeList *y) {
    for (int64_t i = 0; i < x->n && i < y->n; i++) {
        const int c = parts_cmp(&x->items[i], &y->items[i]);
        if (c) return c;
    }
    return (x->n > y->n) - (x->n < y->n);
}

bool range_contains(const RangeList *x, const RangeList *y) {
    for (int64_t i = 0, k = 0; i < y->n; i++) {
        while (k < x->n && upper_cmp(&x->items[k], &y->items[i]) < 0) k++;
        if (k == x->n || lower_cmp(&x->items[k], &y->items[i]) > 0) return false;
    }
    return true;
}
bool range_contains_value(const RangeList *x, Slice key) {
    const RangeBound b = {.key = key, .inclusive = true};
    for (int64_t i = 0; i < x->n; i++)
        if (bound_cmp(&x->items[i].lower, true, &b, true) <= 0 && bound_cmp(&x->items[i].upper, false, &b, false) >= 0)
            return true;
    return false;
}
bool range_overlaps(const RangeList *x, const RangeList *y) {
    for (int64_t i = 0, k = 0; i < x->n && k < y->n;) {
        if (overlap(&x->items[i], &y->items[k])) return true;
        if (is_before(&x->items[i], &y->items[k])) i++;
        else k++;
    }
    return false;
}
bool range_before(const RangeList *x, const RangeList *y) {
    return x->n > 0 && y->n > 0 && is_before(&x->items[x->n - 1], &y->items[0]);
}
bool range_overleft(const RangeList *x, const RangeList *y) {
    return x->n > 0 && y->n > 0 && upper_cmp(&x->items[x->n - 1], &y->items[y->n - 1]) <= 0;
}
bool range_overright(const RangeList *x, const RangeList *y) {
    return x->n > 0 && y->n > 0 && lower_cmp(&x->items[0], &y->items[0]) >= 0;
}
bool range_adjacent(const RangeList *x, const RangeList *y) {
    return x->n > 0 && y->n > 0 &&
           (touches(&x->items[x->n - 1], &y->items[0]) || touches(&y->items[y->n - 1], &x->items[0]));
}

static Status list_room(Arena *a, int64_t most, RangeList *out, Err *e) {
    *out = (RangeList){0, arena_array(a, RangeParts, most + 1)};
    return out->items ? ST_OK : no_memory(e);
}
Status range_unite(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e) {
    TRY(list_room(a, x->n + y->n, out, e));
    for (int64_t i = 0; i < x->n; i++) out->items[out->n++] = x->items[i];
    for (int64_t i = 0; i < y->n; i++) out->items[out->n++] = y->items[i];
    range_list_canonical(out);
    return ST_OK;
}
Status range_intersect(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e) {
    TRY(list_room(a, x->n + y->n, out, e));
    for (int64_t i = 0, k = 0; i < x->n && k < y->n;) {
        const RangeParts *p = &x->items[i], *q = &y->items[k];
        if (overlap(p, q))
            out->items[out->n++] =
                (RangeParts){lower_cmp(p, q) >= 0 ? p->lower : q->lower, upper_cmp(p, q) <= 0 ? p->upper : q->upper};
        if (upper_cmp(p, q) < 0) i++;
        else k++;
    }
    return ST_OK;
}
/* A bound of one side as the bound of what is on the other. */
static RangeBound other_side(RangeBound b) {
    b.inclusive = !b.inclusive;
    return b;
}
Status range_subtract(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e) {
    TRY(list_room(a, x->n + y->n, out, e));
    int64_t first = 0;
    for (int64_t i = 0; i < x->n; i++) {
        RangeParts rest = x->items[i];
        bool left = true;
        while (first < y->n && is_before(&y->items[first], &rest)) first++;
        for (int64_t k = first; k < y->n && left && overlap(&rest, &y->items[k]); k++) {
            const RangeParts *q = &y->items[k];
            if (lower_cmp(&rest, q) < 0) out->items[out->n++] = (RangeParts){rest.lower, other_side(q->lower)};
            left = upper_cmp(&rest, q) > 0;
            if (left) rest.lower = other_side(q->upper);
        }
        if (left) out->items[out->n++] = rest;
    }
    return ST_OK;
}
RangeList range_hull(const RangeList *x, const RangeList *y, RangeParts *room) {
    if (x->n == 0 || y->n == 0) return x->n ? *x : *y;
    *room = hull(&x->items[0], &y->items[0]);
    return (RangeList){1, room};
}
RangeList range_span(const RangeList *x, RangeParts *room) {
    if (x->n > 0) *room = (RangeParts){x->items[0].lower, x->items[x->n - 1].upper};
    return (RangeList){x->n > 0, room};
}
