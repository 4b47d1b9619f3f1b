/* replay_bytes.c - inputs and outcome of a bulk as bytes of the redo log, and back. See replay.h.
 *
 * Numbers are short (base/bytes.h), names are bytes_put_name's:
 *
 *     inputs   engine; session; calls that are kept, groups; of each group id, i64 digest, calls, parameters; of each
 *              group its parameters as columns; then, of several groups, the number of its group for each call, in the
 *              calls' order: integers
 *     session  now, zone, 8 bytes of forms, user, session_user
 *     outcome  each group: calls that failed; where there are some, u8 form: the distance of each from the one before,
 *              or a bit for each call of the group
 *     column   u8 form; where some cells are NULL (NULLS) a bit for each, set: not NULL; then as the form says, of all
 *              calls or, CONST, of one that stands for all. Of cells that are NULL it has any value
 *     integers least value, u8 bits that the differences to it need, then these differences, bit by bit
 *     strings  lengths: integers; then their bytes
 *     arrays   of one dimension from 1, of integers that are not NULL: lengths, then all elements: integers
 *
 * So arguments take as many bits as their range needs, and what is the same in all calls takes none.
 */
#include "txn/run/replay_int.h"
#include "types/array.h"
#include "types/zone.h"

enum { FORM_PLAIN, FORM_INTS, FORM_STRINGS, FORM_ARRAYS, FORM_MASK = 15, FORM_CONST = 64, FORM_NULLS = 128 };
enum { FAILED_LIST, FAILED_BITS };
enum { CHUNK = 256 };

/* ---- integers ---- */
/* Cells as integers, a chunk at a time. */
typedef struct Ints {
    const void *cells;
    const uint8_t *valid; /* NULL: all have a value; those that have none are like the first that has one */
    Phys phys;
    int64_t n, fill;
} Ints;

static int64_t int_cell(const Ints *x, int64_t i) {
    switch (x->phys) {
    case PH_BOOL: return ((const uint8_t *)x->cells)[i];
    case PH_I16: return ((const int16_t *)x->cells)[i];
    case PH_I32: return ((const int32_t *)x->cells)[i];
    case PH_I64: return ((const int64_t *)x->cells)[i];
    case PH_I128: return (int64_t)((const int128_t *)x->cells)[i];
    case PH_STR: return (int64_t)((const Str *)x->cells)[i].len;
    default: return 0;
    }
}
static void load_chunk(const Ints *x, int64_t first, int64_t n, int64_t *out) {
    switch (x->phys) {
    case PH_I32:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int32_t *)x->cells)[first + i];
        break;
    case PH_I64: memcpy(out, (const int64_t *)x->cells + first, (size_t)n * 8); break;
    default:
        for (int64_t i = 0; i < n; i++) out[i] = int_cell(x, first + i);
    }
    for (int64_t i = 0; x->valid && i < n; i++)
        if (!x->valid[first + i]) out[i] = x->fill;
}
static void use_valid(Ints *x, const uint8_t *valid) {
    int64_t i = 0;
    while (i < x->n && valid && !valid[i]) i++;
    x->valid = valid;
    x->fill = i < x->n ? int_cell(x, i) : 0;
}
static int bits_of(uint64_t range) {
    int w = 0;
    while (range >> w != 0 && ++w < 64) {}
    return w;
}
/* Bits one behind the other, the lowest first. */
typedef struct Bits {
    char *at;
    uint64_t acc;
    int used;
} Bits;
static void put_bits(Bits *b, uint64_t v, int w) {
    b->acc |= v << b->used;
    if (b->used + w < 64) {
        b->used += w;
        return;
    }
    memcpy(b->at, &b->acc, 8);
    b->at += 8;
    const int left = 64 - b->used;
    b->acc = left < 64 ? v >> left : 0;
    b->used = w - left;
}
static int64_t packed_bytes(int64_t n, int w) { return (n * w + 7) / 8; }
static void put_ints(BytesOut *out, const Ints *x) {
    int64_t chunk[CHUNK], min = INT64_MAX, max = INT64_MIN;
    for (int64_t at = 0, n; at < x->n; at += n) {
        load_chunk(x, at, n = MIN_OF(x->n - at, (int64_t)CHUNK), chunk);
        for (int64_t i = 0; i < n; i++) {
            min = MIN_OF(min, chunk[i]);
            max = MAX_OF(max, chunk[i]);
        }
    }
    if (x->n == 0) min = max = 0;
    const int w = bits_of((uint64_t)max - (uint64_t)min);
    bytes_put_short(out, min);
    bytes_put(out, &(uint8_t){(uint8_t)w}, 1);
    const int64_t bytes = packed_bytes(x->n, w);
    Bits b = {.at = bytes_put_room(out, bytes)};
    if (!b.at || w == 0) return;
    for (int64_t at = 0, n; at < x->n; at += n) {
        load_chunk(x, at, n = MIN_OF(x->n - at, (int64_t)CHUNK), chunk);
        for (int64_t i = 0; i < n; i++) put_bits(&b, (uint64_t)chunk[i] - (uint64_t)min, w);
    }
    memcpy(b.at, &b.acc, (size_t)((b.used + 7) / 8));
}
static uint64_t bits_at(const char *p, int64_t bit, int w) {
    uint64_t lo = 0;
    const int64_t at = bit / 8, shift = bit % 8, bytes = (shift + w + 7) / 8;
    memcpy(&lo, p + at, (size_t)MIN_OF(bytes, INT64_C(8)));
    uint64_t v = lo >> shift;
    if (bytes > 8) v |= (uint64_t)(uint8_t)p[at + 8] << (64 - shift);
    return w < 64 ? v & ((UINT64_C(1) << w) - 1) : v;
}
/* NULL: in->failed, or no memory. */
static int64_t *get_ints(BytesIn *in, Arena *a, int64_t n) {
    uint8_t w;
    const int64_t min = bytes_get_short(in);
    bytes_get(in, &w, 1);
    if (w > 64 || (w > 0 && n > (in->len - in->at) * 8 / w)) in->failed = true;
    if (in->failed) return NULL;
    int64_t *out = arena_alloc(a, (n + 1) * 8);
    const char *p = in->p + in->at;
    for (int64_t i = 0; out && i < n; i++) out[i] = w > 0 ? (int64_t)((uint64_t)min + bits_at(p, i * w, w)) : min;
    in->at += packed_bytes(n, w);
    return out;
}
static void put_flags(BytesOut *out, int64_t n, const uint8_t *set) {
    char *p = bytes_put_room(out, (n + 7) / 8);
    for (int64_t i = 0; p && i < n; i += 8) {
        uint8_t bits = 0;
        for (int64_t k = i; k < MIN_OF(n, i + 8); k++) bits |= (uint8_t)((set[k] != 0) << (k - i));
        *p++ = (char)bits;
    }
}
/* NULL: likewise. */
static uint8_t *get_flags(BytesIn *in, Arena *a, int64_t n) {
    if ((n + 7) / 8 > in->len - in->at) in->failed = true;
    uint8_t *out = in->failed ? NULL : arena_alloc(a, n + 1);
    for (int64_t i = 0; out && i < n; i++) out[i] = (uint8_t)in->p[in->at + i / 8] >> (i & 7) & 1;
    if (out) in->at += (n + 7) / 8;
    return out;
}

/* ---- columns ---- */
static bool fits_64(const int128_t *cells, const uint8_t *valid, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if ((!valid || valid[i]) && cells[i] != (int64_t)cells[i]) return false;
    return true;
}
static bool is_int(Phys p) { return p == PH_I16 || p == PH_I32 || p == PH_I64; }
/* An array as FORM_ARRAYS has it. */
static bool is_plain_array(Str s, Phys *phys) {
    ArrayHead h;
    if (s.len < sizeof h) return false;
    memcpy(&h, s.ptr, sizeof h);
    if (h.phys >= PH_COUNT_ || !is_int((Phys)h.phys) || (*phys != PH_COUNT_ && *phys != (Phys)h.phys)) return false;
    *phys = (Phys)h.phys;
    return h.n > 0 && !h.has_nulls && h.n_dims == 0 && h.data == sizeof h && h.bytes == s.len &&
           s.len == sizeof h + (uint64_t)h.n * (uint64_t)phys_size(*phys);
}
static bool are_plain_arrays(const Str *s, const uint8_t *valid, int64_t n, Phys *phys) {
    *phys = PH_COUNT_;
    for (int64_t i = 0; i < n; i++)
        if ((!valid || valid[i]) && !is_plain_array(s[i], phys)) return false;
    return *phys != PH_COUNT_;
}
static void put_strings(BytesOut *out, int64_t n, const Str *s, const uint8_t *valid) {
    Ints lens = {.cells = s, .phys = PH_STR, .n = n};
    int64_t total = 0;
    use_valid(&lens, valid);
    lens.fill = 0;
    put_ints(out, &lens);
    for (int64_t i = 0; i < n; i++) total += !valid || valid[i] ? (int64_t)s[i].len : 0;
    char *p = bytes_put_room(out, total);
    for (int64_t i = 0; p && i < n; i++) {
        if ((valid && !valid[i]) || s[i].len == 0) continue;
        memcpy(p, s[i].ptr, s[i].len);
        p += s[i].len;
    }
}
static int64_t array_len(const Ints *x, int64_t i) {
    ArrayHead h = {0};
    if (!x->valid || x->valid[i]) memcpy(&h, ((const Str *)x->cells)[i].ptr, sizeof h);
    return h.n;
}
/* Lengths and elements go through memory of their own. */
static void put_arrays(BytesOut *out, int64_t n, const Str *s, const uint8_t *valid, Phys phys) {
    const Ints lens = {.cells = s, .valid = valid, .phys = PH_STR, .n = n};
    Arena *a = arena_new(out->acct, out->e);
    int64_t *len = a ? arena_alloc(a, (n + 1) * 8) : NULL, total = 0;
    for (int64_t i = 0; len && i < n; i++) total += len[i] = array_len(&lens, i);
    const int64_t size = phys_size(phys);
    char *all = len ? arena_alloc(a, (total + 1) * size) : NULL, *to = all;
    for (int64_t i = 0; all && i < n; to += len[i++] * size)
        if (len[i] > 0) memcpy(to, s[i].ptr + sizeof(ArrayHead), (size_t)(len[i] * size));
    if (all) {
        bytes_put(out, &(uint8_t){(uint8_t)phys}, 1);
        put_ints(out, &(Ints){.cells = len, .phys = PH_I64, .n = n});
        put_ints(out, &(Ints){.cells = all, .phys = phys, .n = total});
    } else {
        out->failed = true;
        if (out->e && !err_is_set(out->e)) (void)err_oom(out->e);
    }
    arena_free(a);
}
static void put_column(BytesOut *out, const Vec *v, int64_t n_calls) {
    const Phys phys = (Phys)v->phys;
    const int64_t n = v->is_const ? MIN_OF(n_calls, INT64_C(1)) : n_calls;
    const uint8_t *valid = v->valid && memchr(v->valid, 0, (size_t)n) ? v->valid : NULL;
    Phys of = PH_COUNT_;
    int form = FORM_PLAIN;
    if (phys == PH_STR)
        form = are_plain_arrays(v->data, valid, n, &of) && v->type.id == T_ARRAY ? FORM_ARRAYS : FORM_STRINGS;
    else if (is_int(phys) || phys == PH_BOOL || (phys == PH_I128 && fits_64(v->data, valid, n))) form = FORM_INTS;
    bytes_put(out, &(uint8_t){(uint8_t)(form | (v->is_const ? FORM_CONST : 0) | (valid ? FORM_NULLS : 0))}, 1);
    if (valid) put_flags(out, n, valid);
    Ints x = {.cells = v->data, .phys = phys, .n = n};
    if (form == FORM_INTS) use_valid(&x, valid), put_ints(out, &x);
    else if (form == FORM_STRINGS) put_strings(out, n, v->data, valid);
    else if (form == FORM_ARRAYS) put_arrays(out, n, v->data, valid, of);
    else bytes_put(out, v->data, n * phys_size(phys));
}
static void int_to_cell(Phys phys, int64_t v, void *cells, int64_t i) {
    switch (phys) {
    case PH_BOOL: ((uint8_t *)cells)[i] = v != 0; break;
    case PH_I16: ((int16_t *)cells)[i] = (int16_t)v; break;
    case PH_I32: ((int32_t *)cells)[i] = (int32_t)v; break;
    case PH_I64: ((int64_t *)cells)[i] = v; break;
    default: ((int128_t *)cells)[i] = v;
    }
}
/* False: in->failed, or no memory. */
static bool get_strings(BytesIn *in, Arena *a, int64_t n, Str *cells) {
    const int64_t *len = get_ints(in, a, n);
    int64_t total = 0;
    for (int64_t i = 0; len && i < n && !in->failed; i++) {
        if (len[i] < 0 || len[i] > in->len - in->at - total) in->failed = true;
        else total += len[i];
    }
    if (!len || in->failed) return false;
    char *p = arena_alloc(a, total + 1); /* the log's bytes may go before the bulk runs */
    if (!p) return false;
    memcpy(p, in->p + in->at, (size_t)total);
    in->at += total;
    for (int64_t i = 0; i < n; p += len[i++]) cells[i] = str_make(p, len[i]);
    return true;
}
static bool get_arrays(BytesIn *in, Arena *a, int64_t n, const uint8_t *valid, Str *cells) {
    uint8_t phys;
    int64_t total = 0, bytes = 0;
    bytes_get(in, &phys, 1);
    const int64_t *len = in->failed || phys >= PH_COUNT_ || !is_int((Phys)phys) ? NULL : get_ints(in, a, n);
    if (!len) return in->failed = in->failed || phys >= PH_COUNT_ || !is_int((Phys)phys), false;
    const int64_t size = phys_size((Phys)phys);
    for (int64_t i = 0; i < n && !in->failed; i++) {
        const bool there = !valid || valid[i];
        if (len[i] < there || (!there && len[i] != 0) || len[i] > ARRAY_MAX_ELEMENTS) in->failed = true;
        else total += len[i];
        bytes += there ? align_up((int64_t)sizeof(ArrayHead) + len[i] * size, 16) : 0;
    }
    const int64_t *all = in->failed ? NULL : get_ints(in, a, total);
    char *p = all ? arena_alloc(a, bytes + 16) : NULL;
    for (int64_t i = 0; p && i < n; i++) {
        const int64_t m = (int64_t)sizeof(ArrayHead) + len[i] * size;
        if (valid && !valid[i]) continue;
        const ArrayHead h = {
            .n = (int32_t)len[i], .phys = phys, .data = (uint32_t)sizeof(ArrayHead), .bytes = (uint32_t)m};
        memcpy(p, &h, sizeof h);
        for (int64_t k = 0; k < len[i]; k++) int_to_cell((Phys)phys, *all++, p + sizeof h, k);
        cells[i] = str_make(p, m);
        p += align_up(m, 16);
    }
    return p != NULL;
}
static bool get_column(BytesIn *in, Arena *a, const ProcVar *var, int64_t n_calls, Vec *v) {
    uint8_t form;
    const Phys phys = (Phys)var->phys;
    bytes_get(in, &form, 1);
    const int64_t n = form & FORM_CONST ? MIN_OF(n_calls, INT64_C(1)) : n_calls, size = phys_size(phys);
    *v = (Vec){.phys = var->phys, .type = var->type, .is_const = form & FORM_CONST};
    if (form & FORM_NULLS && !in->failed && !(v->valid = get_flags(in, a, n))) return false;
    if (in->failed || !(v->data = arena_calloc(a, (n + 1) * size))) return false;
    switch (form & FORM_MASK) {
    case FORM_INTS: {
        if (!is_int(phys) && phys != PH_BOOL && phys != PH_I128) return in->failed = true, false;
        const int64_t *x = get_ints(in, a, n);
        for (int64_t i = 0; x && i < n; i++) int_to_cell(phys, x[i], v->data, i);
        return x != NULL;
    }
    case FORM_STRINGS: return phys == PH_STR ? get_strings(in, a, n, v->data) : (in->failed = true, false);
    case FORM_ARRAYS: return phys == PH_STR ? get_arrays(in, a, n, v->valid, v->data) : (in->failed = true, false);
    default:
        if ((form & FORM_MASK) != FORM_PLAIN || phys == PH_STR) in->failed = true;
        bytes_get(in, v->data, n * size);
        return !in->failed;
    }
}

/* ---- the session ---- */
static void put_session(BytesOut *out, const SessionInfo *s) {
    static const SessionInfo none;
    if (!s) s = &none;
    bytes_put_short(out, s->now_micros);
    bytes_put_name(out, s->form.zone ? zone_name(s->form.zone) : NULL);
    bytes_put(out, (const char *)&s->form + sizeof s->form.zone, (int64_t)(sizeof s->form - sizeof s->form.zone));
    bytes_put_name(out, s->user);
    bytes_put_name(out, s->session_user);
}
static Status get_session(BytesIn *in, SessionInfo *s, Err *e) {
    *s = (SessionInfo){.now_micros = bytes_get_short(in)};
    const char *zone = bytes_get_name(in, true);
    bytes_get(in, (char *)&s->form + sizeof s->form.zone, (int64_t)(sizeof s->form - sizeof s->form.zone));
    s->user = bytes_get_name(in, true);
    s->session_user = bytes_get_name(in, true);
    return zone && !in->failed ? zone_find(slice_of(zone), &s->form.zone, e) : ST_OK;
}

/* ---- bulks ---- */
static bool is_kept(const CallGroup *g) { return g->proc->writes && g->n > 0; }
/* The number of its group for each call that is kept. */
static void put_order(BytesOut *out, int32_t n_groups, const CallGroup *groups, int32_t n_kept) {
    int64_t n_calls = 0, n = 0;
    for (int32_t k = 0; k < n_groups; k++) n_calls += groups[k].n;
    if (n_kept < 2) return;
    Arena *a = arena_new(out->acct, out->e);
    int32_t *group = a ? arena_calloc(a, (n_calls + 1) * 4) : NULL, number = 0;
    if (!group) {
        out->failed = true;
        arena_free(a);
        return;
    }
    for (int32_t k = 0; k < n_groups; k++) {
        if (!is_kept(&groups[k])) continue;
        number++;
        for (int64_t i = 0; i < groups[k].n; i++) group[groups[k].calls[i]] = number;
    }
    for (int64_t i = 0; i < n_calls; i++)
        if (group[i] > 0) group[n++] = group[i] - 1;
    put_ints(out, &(Ints){.cells = group, .phys = PH_I32, .n = n});
    arena_free(a);
}
void replay_put(int32_t n_groups, const CallGroup *groups, const ReplayProc *names, const QueryOptions *q,
                BytesOut *out) {
    int64_t n_calls = 0;
    int32_t n_kept = 0;
    for (int32_t k = 0; k < n_groups; k++) {
        if (!is_kept(&groups[k])) continue;
        n_calls += groups[k].n;
        n_kept++;
    }
    bytes_put_name(out, REPLAY_ENGINE);
    put_session(out, q->session);
    bytes_put_short(out, n_calls);
    bytes_put_short(out, n_kept);
    for (int32_t k = 0; k < n_groups; k++) {
        const CallGroup *g = &groups[k];
        if (!is_kept(g)) continue;
        bytes_put_short(out, names[k].id);
        bytes_put_i64(out, (int64_t)names[k].digest);
        bytes_put_short(out, g->n);
        bytes_put_short(out, g->proc->n_params);
    }
    for (int32_t k = 0; k < n_groups; k++)
        for (int32_t i = 0; is_kept(&groups[k]) && i < groups[k].proc->n_params; i++)
            put_column(out, &groups[k].params[i], groups[k].n);
    put_order(out, n_groups, groups, n_kept);
}
static void put_failed(BytesOut *out, int64_t n_calls, CallError *const *errors) {
    enum { LIST_BYTES = 2 /* about, for each */ };
    int64_t n = 0, last = -1;
    for (int64_t i = 0; i < n_calls; i++) n += errors[i] != NULL;
    bytes_put_short(out, n);
    if (n == 0) return;
    const int form = n * LIST_BYTES * 8 < n_calls ? FAILED_LIST : FAILED_BITS;
    bytes_put(out, &(uint8_t){(uint8_t)form}, 1);
    if (form == FAILED_LIST) {
        for (int64_t i = 0; i < n_calls; i++) {
            if (!errors[i]) continue;
            bytes_put_short(out, i - last - 1);
            last = i;
        }
        return;
    }
    char *p = bytes_put_room(out, (n_calls + 7) / 8);
    if (!p) return;
    memset(p, 0, (size_t)((n_calls + 7) / 8));
    for (int64_t i = 0; i < n_calls; i++)
        if (errors[i]) p[i / 8] = (char)((uint8_t)p[i / 8] | 1u << (i & 7));
}
void replay_put_outcome(int32_t n_groups, const CallGroup *groups, const BulkResult *b, BytesOut *out) {
    for (int32_t k = 0; k < n_groups; k++) {
        if (!is_kept(&groups[k])) continue;
        if (b->stats.n_failed > 0) put_failed(out, groups[k].n, b->errors[k]);
        else bytes_put_short(out, 0);
    }
}

const char *replay_get_engine(BytesIn *in) {
    const char *engine = bytes_get_name(in, false);
    return in->failed ? NULL : engine;
}
/* False: in->failed, or no memory. */
static bool get_failed(BytesIn *in, Arena *a, ReplayGroup *g) {
    uint8_t form, *set;
    int64_t last = -1, n = 0;
    g->n_failed = bytes_get_short_count(in, g->n);
    if (g->n_failed == 0) return !in->failed;
    bytes_get(in, &form, 1);
    if (form > FAILED_BITS || !(g->failed = arena_alloc(a, (g->n_failed + 1) * 4)))
        return in->failed |= form > FAILED_BITS, false;
    if (form == FAILED_BITS) {
        if (!(set = get_flags(in, a, g->n))) return false;
        for (int64_t i = 0; i < g->n; i++) {
            if (set[i] && n < g->n_failed) g->failed[n] = (uint32_t)i;
            n += set[i];
        }
        in->failed |= n != g->n_failed;
    }
    for (int64_t i = 0; form == FAILED_LIST && i < g->n_failed && !in->failed; i++) {
        last += 1 + bytes_get_short_count(in, g->n - 1);
        if (last >= g->n) in->failed = true;
        g->failed[i] = (uint32_t)last;
    }
    return !in->failed;
}
static bool get_order(BytesIn *in, ReplayBulk *x) {
    const int64_t *group = x->n_groups > 1 ? get_ints(in, x->arena, x->n_calls) : NULL;
    int64_t *n = arena_calloc(x->arena, (x->n_groups + 1) * 8);
    if (!n || (x->n_groups > 1 && !group)) return false;
    for (int32_t k = 0; k < x->n_groups; k++)
        if (!(x->groups[k].calls = arena_alloc(x->arena, (x->groups[k].n + 1) * 4))) return false;
    for (int64_t i = 0; i < x->n_calls && !in->failed; i++) {
        const int64_t k = group ? group[i] : 0;
        if (k < 0 || k >= x->n_groups || n[k] == x->groups[k].n) in->failed = true;
        else x->groups[k].calls[n[k]++] = (uint32_t)i;
    }
    return !in->failed;
}
static Status get_group(BytesIn *in, int64_t n_calls, ReplayGroup *g, const ReplayFind *find, Err *e) {
    const ReplayProc name = {.id = bytes_get_short(in), .digest = (uint64_t)bytes_get_i64(in)};
    if (in->failed) return ST_OK;
    if (!(g->proc = find->find(find->ctx, &name, e))) return ST_ERROR;
    g->n = bytes_get_short_count(in, n_calls);
    if (bytes_get_short(in) != g->proc->n_params || g->n == 0) in->failed = true;
    return ST_OK;
}
static Status get_params(BytesIn *in, Arena *a, ReplayGroup *g, Err *e) {
    if (!(g->params = arena_array(a, Vec, g->proc->n_params + 1))) return err_oom(e);
    for (int32_t i = 0; i < g->proc->n_params; i++)
        if (!get_column(in, a, &g->proc->vars[i], g->n, &g->params[i])) return in->failed ? ST_OK : err_oom(e);
    return ST_OK;
}
/* All before the columns. */
static Status get_head(BytesIn *in, ReplayBulk *x, const ReplayFind *find, Err *e) {
    const char *engine = replay_get_engine(in);
    int64_t n = 0;
    if (!engine || strcmp(engine, REPLAY_ENGINE) != 0) return in->failed = true, ST_OK;
    TRY(get_session(in, &x->session, e));
    x->n_calls = bytes_get_short_count(in, UINT32_MAX);
    x->n_groups = (int32_t)bytes_get_short_count(in, MIN_OF(x->n_calls, (int64_t)INT32_MAX));
    if (in->failed || x->n_groups > in->len - in->at) return in->failed = true, ST_OK;
    if (!(x->groups = arena_array(in->arena, ReplayGroup, x->n_groups + 1))) return err_oom(e);
    for (int32_t k = 0; k < x->n_groups && !in->failed; k++) {
        x->groups[k].number = k;
        TRY(get_group(in, x->n_calls, &x->groups[k], find, e));
        n += x->groups[k].n;
    }
    in->failed |= n != x->n_calls;
    return ST_OK;
}
Status replay_get_procs(BytesIn *in, const ReplayFind *find, bool *valid, Err *e) {
    ReplayBulk x = {.next = NULL};
    const Status st = get_head(in, &x, find, e);
    *valid = !in->failed;
    return st;
}
static Status get_bulk(BytesIn *in, BytesIn *outcome, ReplayBulk *x, const ReplayFind *find, Err *e) {
    TRY(get_head(in, x, find, e));
    for (int32_t k = 0; k < x->n_groups && !in->failed; k++) TRY(get_params(in, x->arena, &x->groups[k], e));
    if (in->failed) return ST_OK;
    if (!get_order(in, x)) return in->failed ? ST_OK : err_oom(e);
    for (int32_t k = 0; k < x->n_groups; k++)
        if (!get_failed(outcome, x->arena, &x->groups[k])) return outcome->failed ? ST_OK : err_oom(e);
    in->failed |= in->at != in->len || outcome->at != outcome->len;
    return ST_OK;
}
Status replay_get(Replay *r, BytesIn *in, BytesIn *outcome, const ReplayFind *find, bool *valid, Err *e) {
    Arena *a = arena_new(r->account, e);
    ReplayBulk *x = a ? arena_new_of(a, ReplayBulk) : NULL;
    *valid = false;
    if (!x) {
        arena_free(a);
        return err_oom(e);
    }
    x->arena = in->arena = outcome->arena = a;
    const Status st = get_bulk(in, outcome, x, find, e);
    *valid = st == ST_OK && !in->failed && !outcome->failed;
    if (*valid) replay_append(r, x);
    else arena_free(a);
    return st;
}
