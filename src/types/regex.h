/* regex.h - one compiled regular expression: PostgreSQL's advanced ones, run by PCRE2.
 *
 * An expression has memory of PCRE2's own, which is released with the arena that it was made in. What it matches with
 * is part of it: one thread at a time. Backtracking is bounded; a match that takes more is an error.
 */
#ifndef STELE_TYPES_REGEX_H
#define STELE_TYPES_REGEX_H

#include "types/type.h"

typedef struct Regex Regex;

/* Without an expression yet. NULL: out of memory, which e has. */
Regex *regex_new(Arena *a, Err *e);
/* Has it stand for a pattern, with PCRE2's options (regex_flag); scratch: for the time of the call. 2201B; then it
 * stands for none. */
Status regex_compile(Regex *r, Arena *scratch, Str pattern, uint32_t options, Err *e);
/* 1: there is a match at or behind `from`, 0: there is none, -1: an error. */
int regex_search(const Regex *r, Str s, int64_t from, Err *e);

/* XQuery's flags as SQL/JSON's like_regex has them, bits of what may be combined. */
enum { LIKE_REGEX_I = 1, LIKE_REGEX_S = 2, LIKE_REGEX_M = 4, LIKE_REGEX_X = 8, LIKE_REGEX_Q = 16 };
/* An expression of like_regex. 2201B; 0A000 for x, unless q is there, too. */
Status regex_like(Arena *a, Str pattern, int flags, Regex **out, Err *e);

#endif
