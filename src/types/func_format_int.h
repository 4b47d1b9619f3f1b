/* func_format_int.h - what templates of dates and of numbers share. Included by func_format*.c only. */
#ifndef STELE_TYPES_FUNC_FORMAT_INT_H
#define STELE_TYPES_FUNC_FORMAT_INT_H

#include "types/func_int.h"
#include "types/type_int.h"

enum { FMT_MAX = 4096, FMT_FIELD = 16 };

typedef struct FmtOut {
    char *p;
    int64_t len, cap;
} FmtOut;
static inline void fmt_char(FmtOut *o, char c) {
    if (o->len < o->cap) o->p[o->len++] = c;
}
static inline void fmt_text(FmtOut *o, const char *s) {
    while (*s) fmt_char(o, *s++);
}
static inline char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }
static inline char ascii_lower(char c) { return to_lower(c); }

#endif
