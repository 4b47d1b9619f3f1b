/* delta.c - see delta.h. */
#include "base/delta.h"

#include "base/hash.h"

enum { WINDOW = 32, STEP = 16 }; /* bytes that are looked up; how far apart those are that are found */

typedef struct Deltas {
    BytesOut *o;
    const char *from, *to;
    int64_t n_from, n_to;
    int64_t after;   /* in `from`, behind what was copied last */
    uint32_t *slots; /* windows of `from` by hash: number + 1. NULL: not made yet */
    int64_t n_slots;
} Deltas;

static int64_t common(const Deltas *d, int64_t i, int64_t j) {
    const int64_t most = MIN_OF(d->n_to - i, d->n_from - j);
    int64_t n = 0;
    while (n + WINDOW <= most && memcmp(d->to + i + n, d->from + j + n, WINDOW) == 0) n += WINDOW;
    while (n < most && d->to[i + n] == d->from[j + n]) n++;
    return n;
}
static uint64_t slot_of(const Deltas *d, const char *p) { return hash_bytes(p, WINDOW) & (uint64_t)(d->n_slots - 1); }
static bool make_slots(Deltas *d) {
    if (d->slots) return true;
    d->n_slots = 64;
    while (d->n_slots < d->n_from / STEP * 2) d->n_slots *= 2;
    d->slots = mem_calloc(d->o->acct, d->n_slots * (int64_t)sizeof *d->slots, d->o->e);
    if (!d->slots) d->o->failed = true;
    for (int64_t at = 0; d->slots && at + WINDOW <= d->n_from; at += STEP) {
        uint32_t *s = &d->slots[slot_of(d, d->from + at)];
        if (*s == 0) *s = (uint32_t)(at / STEP) + 1;
    }
    return d->slots != NULL;
}
static bool is_window(const Deltas *d, int64_t k, int64_t at) {
    return at + WINDOW <= d->n_from && memcmp(d->to + k, d->from + at, WINDOW) == 0;
}
/* Where in `from` the window of `to` at k is; -1: it is not found. */
static int64_t find_window(const Deltas *d, int64_t k) {
    const uint32_t s = d->slots[slot_of(d, d->to + k)];
    const int64_t at = ((int64_t)s - 1) * STEP;
    return s > 0 && is_window(d, k, at) ? at : -1;
}
/* Behind bytes that differ, at i of `to` and j of `from`: where they go on alike. False: nowhere. */
static bool find_next(Deltas *d, int64_t i, int64_t j, int64_t *to_i, int64_t *to_j) {
    for (int64_t k = i; k + WINDOW <= d->n_to; k++) {
        int64_t at = -1;
        if (is_window(d, k, j + k - i)) at = j + k - i; /* bytes in place of others */
        else if (is_window(d, k, j)) at = j;            /* new ones */
        else if (!make_slots(d)) return false;
        else at = find_window(d, k);
        if (at < 0) continue;
        while (k > i && at > 0 && d->to[k - 1] == d->from[at - 1]) k--, at--;
        *to_i = k;
        *to_j = at;
        return true;
    }
    return false;
}
static void put_step(Deltas *d, int64_t j, int64_t copied, int64_t i, int64_t added) {
    bytes_put_short(d->o, j - d->after);
    bytes_put_short(d->o, copied);
    bytes_put_short(d->o, added);
    bytes_put(d->o, d->to + i, added);
    d->after = j + copied;
}
void delta_put(BytesOut *o, const char *from, int64_t n_from, const char *to, int64_t n_to) {
    Deltas d = {.o = o, .from = from, .to = to, .n_from = n_from, .n_to = n_to};
    bytes_put_short(o, n_to);
    for (int64_t i = 0, j = 0; i < n_to && !o->failed;) {
        const int64_t copied = common(&d, i, j), at = i + copied;
        int64_t next = n_to, next_j = 0;
        if (at < n_to && !find_next(&d, at, j + copied, &next, &next_j)) next = n_to;
        put_step(&d, j, copied, at, next - at);
        i = next;
        j = next_j;
    }
    if (d.slots) mem_free(o->acct, d.slots, d.n_slots * (int64_t)sizeof *d.slots);
}
bool delta_apply(BytesIn *in, const char *from, int64_t n_from, BytesOut *out) {
    const int64_t n = bytes_get_short(in), begin = out->len;
    int64_t j = 0;
    while (!in->failed && in->at < in->len) {
        const int64_t moved = bytes_get_short(in);
        in->failed |= moved < -j || moved > n_from - j;
        if (in->failed) return false;
        j += moved;
        const int64_t copied = bytes_get_short_count(in, n_from - j),
                      added = bytes_get_short_count(in, in->len - in->at);
        if (in->failed || added > in->len - in->at || copied + added > n - (out->len - begin)) return false;
        bytes_put(out, from + j, copied);
        bytes_put(out, in->p + in->at, added);
        j += copied;
        in->at += added;
    }
    return !in->failed && out->len - begin == n;
}
