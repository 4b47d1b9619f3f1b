/* flatbuf.h - reading flatbuffers that are not trusted (https://flatbuffers.dev/internals/): every position is checked
 * before it is looked at, and what is not there is a default. */
#ifndef STELE_IO_FLATBUF_H
#define STELE_IO_FLATBUF_H

#include "base/base.h"

typedef struct Flatbuf {
    const uint8_t *p;
    int64_t n;
    bool bad; /* a position was outside */
} Flatbuf;

/* A number of `size` bytes at a position; 0 and bad where it is outside. */
static inline uint64_t fb_number(Flatbuf *f, int64_t at, int size) {
    uint64_t v = 0;
    if (at < 0 || at > f->n - size) {
        f->bad = true;
        return 0;
    }
    memcpy(&v, f->p + at, (size_t)size);
    return v;
}
static inline int64_t fb_follow(Flatbuf *f, int64_t at) { return at + (int64_t)fb_number(f, at, 4); }
static inline int64_t fb_root(Flatbuf *f) { return fb_follow(f, 0); }

/* Position of a table's field; 0: it has none. */
static inline int64_t fb_field(Flatbuf *f, int64_t table, int id) {
    if (table <= 0) return 0;
    int64_t vtable = table - (int32_t)fb_number(f, table, 4);
    int64_t size = (int64_t)fb_number(f, vtable, 2), at = 4 + 2 * (int64_t)id;
    int64_t off = at + 2 <= size ? (int64_t)fb_number(f, vtable + at, 2) : 0;
    return off && !f->bad ? table + off : 0;
}
static inline uint64_t fb_scalar(Flatbuf *f, int64_t table, int id, int size, uint64_t none) {
    int64_t at = fb_field(f, table, id);
    return at ? fb_number(f, at, size) : none;
}
static inline int32_t fb_i16(Flatbuf *f, int64_t table, int id, int32_t none) {
    return (int16_t)fb_scalar(f, table, id, 2, (uint64_t)none);
}
static inline int32_t fb_i32(Flatbuf *f, int64_t table, int id, int32_t none) {
    return (int32_t)fb_scalar(f, table, id, 4, (uint64_t)none);
}
static inline int64_t fb_i64(Flatbuf *f, int64_t table, int id, int64_t none) {
    return (int64_t)fb_scalar(f, table, id, 8, (uint64_t)none);
}
/* Position of a table within; 0: there is none. */
static inline int64_t fb_table(Flatbuf *f, int64_t table, int id) {
    int64_t at = fb_field(f, table, id);
    return at ? fb_follow(f, at) : 0;
}
/* Position of the elements, all of which are there; *n of them, 0 where there are none. */
static inline int64_t fb_vector(Flatbuf *f, int64_t table, int id, int64_t size, int64_t *n) {
    int64_t at = fb_table(f, table, id);
    *n = at ? (int64_t)fb_number(f, at, 4) : 0;
    if (*n > 0 && (f->bad || *n > (f->n - at - 4) / size)) {
        f->bad = true;
        *n = 0;
    }
    return at + 4;
}

#endif
