/* like.c - LIKE and ILIKE.
 *
 * A pattern is split at its % into runs. The first run is anchored at the start unless the pattern
 * starts with %, the last one at the end; those between are searched from left to right, each at its
 * first occurrence, which is enough because % takes anything. A run without '_' is bytes: compared
 * or searched with find_bytes(). A run with '_' is a list of pieces, matched byte for byte
 * with '_' stepping over one UTF-8 character.
 *
 * ILIKE folds with simple Unicode folding. The pattern is folded once. An ASCII string up to FOLD_MAX
 * bytes is folded into a buffer on the stack and matched as above; any other is matched by code
 * points, folding as it goes, so that matching never allocates.
 */
#include <utf8proc.h>

#include "base/stack.h"
#include "types/like_parts.h"
#include "types/type.h"
#include "types/type_int.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { FOLD_MAX = 2048, ANY_CHAR = -1 };

typedef struct Run {
    const char *bytes;  /* literal bytes; where any[i] is set, one character is skipped instead */
    const uint8_t *any; /* NULL when the run has no '_' */
    int64_t len;
    int64_t min_bytes;   /* a subject part that matches has at least as many */
    int64_t chars;       /* characters of a match */
    const int32_t *code; /* ILIKE: folded code points, ANY_CHAR for '_' */
} Run;

struct LikePattern {
    Run *runs;
    int64_t n_runs;
    bool open_start, open_end; /* starts or ends with % */
    bool fold;
    bool ascii; /* all literals are ASCII after folding */
    int64_t min_bytes;
};

/* ---- bytes --------------------------------------------------------------------- */

#if defined(__SSE2__)
/* Positions where the first and the last byte fit, 16 at a time (W. Mula, "SIMD-friendly algorithms for
 * substring searching"). After too many false hits memmem, which is linear, takes over. */
static const char *find_bytes(const char *s, int64_t len, const char *needle, int64_t n) {
    if (n == 0) return s;
    if (n > len) return NULL;
    if (n == 1) return memchr(s, *needle, (size_t)len);
    int64_t last = len - n, at = 0, budget = 64 + len / 4;
    const __m128i first = _mm_set1_epi8(needle[0]), tail = _mm_set1_epi8(needle[n - 1]);
    while (at + 15 <= last) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(s + at));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(s + at + n - 1));
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, tail)));
        while (hits) {
            const char *p = s + at + __builtin_ctz(hits);
            if (memcmp(p + 1, needle + 1, (size_t)(n - 1)) == 0) return p;
            hits &= hits - 1;
            if (--budget == 0) return memmem(p, (size_t)(s + len - p), needle, (size_t)n);
        }
        at += 16;
    }
    for (; at <= last; at++) {
        if (s[at] == needle[0] && memcmp(s + at + 1, needle + 1, (size_t)(n - 1)) == 0) return s + at;
    }
    return NULL;
}
#else
static const char *find_bytes(const char *s, int64_t len, const char *needle, int64_t n) {
    return memmem(s, (size_t)len, needle, (size_t)n);
}
#endif

/* Bytes of the character at s; stray continuation bytes count as part of the character before. */
static inline int64_t char_bytes(const char *s, const char *end) {
    const char *p = s + 1;
    while (p < end && ((unsigned char)*p & 0xC0) == 0x80) p++;
    return p - s;
}

/* Matches a run with '_' at s; the end of the match or NULL. */
static const char *match_here(const Run *r, const char *s, const char *end) {
    for (int64_t i = 0; i < r->len; i++) {
        if (s >= end) return NULL;
        if (r->any[i]) {
            s += char_bytes(s, end);
        } else {
            if (*s != r->bytes[i]) return NULL;
            s++;
        }
    }
    return s;
}

/* The run anywhere from s on; the end of its first match or NULL. */
static const char *search_run(const Run *r, const char *s, const char *end) {
    if (!r->any) {
        const char *p = find_bytes(s, end - s, r->bytes, r->len);
        return p ? p + r->len : NULL;
    }
    while (end - s >= r->min_bytes) {
        const char *p = match_here(r, s, end);
        if (p) return p;
        s += char_bytes(s, end);
    }
    return NULL;
}

static const char *match_prefix(const Run *r, const char *s, const char *end) {
    if (r->any) return match_here(r, s, end);
    if (end - s < r->len || memcmp(s, r->bytes, (size_t)r->len) != 0) return NULL;
    return s + r->len;
}

static bool match_suffix(const Run *r, const char *s, const char *end) {
    if (!r->any) return end - s >= r->len && memcmp(end - r->len, r->bytes, (size_t)r->len) == 0;
    /* Step back over as many characters as the run has. */
    const char *p = end;
    for (int64_t i = 0; i < r->chars; i++) {
        if (p <= s) return false;
        p--;
        while (p > s && ((unsigned char)*p & 0xC0) == 0x80) p--;
    }
    return match_here(r, p, end) == end;
}

static bool match_bytes(const LikePattern *p, const char *s, int64_t len) {
    const char *end = s + len;
    int64_t first = 0, last = p->n_runs;
    if (len < p->min_bytes) return false;
    if (!p->open_start) {
        s = match_prefix(&p->runs[0], s, end);
        if (!s) return false;
        first = 1;
        if (p->n_runs == 1 && !p->open_end) return s == end;
    }
    if (!p->open_end) last--;
    for (int64_t i = first; i < last; i++) {
        s = search_run(&p->runs[i], s, end);
        if (!s) return false;
    }
    return p->open_end || match_suffix(&p->runs[last], s, end);
}

/* ---- code points (ILIKE) ---------------------------------------------------------- */

/* Simple case folding: by way of the upper case, so that variants of one letter (final sigma, long s)
 * meet. Dotless i keeps its own. */
static int32_t fold_char(int32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (c == 0x131) return c;
    return utf8proc_tolower(utf8proc_toupper(c));
}

/* The next code point, folded; an invalid byte is taken as it is. */
static int32_t next_folded(const char **s, const char *end) {
    unsigned char b = (unsigned char)**s;
    if (b < 0x80) {
        (*s)++;
        return fold_char(b);
    }
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)*s, end - *s, &c);
    if (n <= 0) {
        (*s)++;
        return 0x110000 + b;
    }
    *s += n;
    return fold_char(c);
}

static const char *match_folded(const Run *r, const char *s, const char *end) {
    for (int64_t i = 0; i < r->chars; i++) {
        if (s >= end) return NULL;
        int32_t c = next_folded(&s, end);
        if (r->code[i] != ANY_CHAR && r->code[i] != c) return NULL;
    }
    return s;
}

static bool match_points(const LikePattern *p, const char *s, int64_t len) {
    const char *end = s + len;
    int64_t first = 0, last = p->n_runs;
    if (!p->open_start) {
        s = match_folded(&p->runs[0], s, end);
        if (!s) return false;
        first = 1;
        if (p->n_runs == 1 && !p->open_end) return s == end;
    }
    if (!p->open_end) last--;
    for (int64_t i = first; i < last; i++) {
        const char *hit = NULL;
        while (!(hit = match_folded(&p->runs[i], s, end))) {
            if (s >= end) return false;
            next_folded(&s, end);
        }
        s = hit;
    }
    if (p->open_end) return true;
    /* The last run stands at the end: drop characters until as many are left as it has. */
    const Run *r = &p->runs[last];
    const char *probe = s;
    int64_t left = 0;
    while (probe < end) {
        next_folded(&probe, end);
        left++;
    }
    if (left < r->chars) return false;
    for (; left > r->chars; left--) next_folded(&s, end);
    return match_folded(r, s, end) == end;
}

bool like_match(const LikePattern *p, const char *s, int64_t len) {
    if (!p->fold) return match_bytes(p, s, len);
    if (len > FOLD_MAX) return match_points(p, s, len);
    char buf[FOLD_MAX];
    unsigned char seen = 0;
    for (int64_t i = 0; i < len; i++) {
        char c = s[i];
        seen |= (unsigned char)c;
        buf[i] = (char)(c + (((unsigned char)(c - 'A') < 26) << 5));
    }
    if (seen & 0x80) return match_points(p, s, len);
    /* An ASCII string cannot hold what is not ASCII. */
    return p->ascii && match_bytes(p, buf, len);
}

bool like_prefix(const LikePattern *p, Slice *out) {
    if (p->fold || p->open_start || !p->open_end || p->n_runs != 1 || p->runs[0].any || p->runs[0].len == 0)
        return false;
    *out = (Slice){p->runs[0].bytes, p->runs[0].len};
    return true;
}

LikeParts like_parts(const LikePattern *p) {
    return (LikeParts){.fold = p->fold,
                       .open_start = p->open_start,
                       .open_end = p->open_end,
                       .min_bytes = p->min_bytes,
                       .n_runs = p->n_runs};
}
LikeRun like_run(const LikePattern *p, int64_t i) {
    const Run *r = &p->runs[i];
    return (LikeRun){.bytes = r->bytes, .any = r->any, .len = r->len, .chars = r->chars, .min_bytes = r->min_bytes};
}

/* ---- compilation --------------------------------------------------------------------- */

/* Folded copy of a run's bytes and its code points; `out` and `any_out` have room for 4 bytes a character. */
static void fold_run(Run *r, char *out, uint8_t *any_out, int32_t *code, bool *ascii) {
    const char *s = r->bytes, *end = r->bytes + r->len;
    int64_t n = 0, chars = 0;
    while (s < end) {
        if (r->any && r->any[s - r->bytes]) {
            s++;
            out[n] = 0;
            any_out[n++] = 1;
            code[chars++] = ANY_CHAR;
            continue;
        }
        int32_t c = next_folded(&s, end);
        code[chars++] = c;
        if (c < 0x80) {
            any_out[n] = 0;
            out[n++] = (char)c;
        } else {
            *ascii = false; /* such a pattern is matched by code points only */
        }
    }
    r->bytes = out;
    r->any = r->any ? any_out : NULL;
    r->len = n;
    r->code = code;
    r->chars = chars;
}

static void count_run(Run *r) {
    r->chars = 0;
    r->min_bytes = r->len; /* '_' takes at least one byte */
    for (int64_t i = 0; i < r->len; i++) {
        if ((r->any && r->any[i]) || ((unsigned char)r->bytes[i] & 0xC0) != 0x80) r->chars++;
    }
}

LikePattern *like_compile(Arena *a, Slice pattern, char escape, bool case_insensitive, Err *e) {
    int64_t percents = 0;
    for (int64_t i = 0; i < pattern.len; i++) percents += pattern.ptr[i] == '%';
    LikePattern *p = arena_new_of(a, LikePattern);
    Run *runs = arena_array(a, Run, percents + 1);
    char *bytes = arena_alloc(a, pattern.len + 1);
    uint8_t *any = arena_alloc(a, pattern.len + 1);
    if (!p || !runs || !bytes || !any) {
        err_oom(e);
        return NULL;
    }
    p->runs = runs;
    p->fold = case_insensitive;
    p->ascii = true;

    /* 1. Split at %. Two runs never touch: %% gives none between. */
    int64_t at = 0, start = 0;
    bool has_any = false, after_percent = false;
    for (int64_t i = 0; i <= pattern.len; i++) {
        char c = i < pattern.len ? pattern.ptr[i] : '%';
        if (c == '%' && !(i < pattern.len && escape == '%')) {
            bool at_end = i == pattern.len;
            /* The end of a pattern without a final % closes an anchored run, even an empty one. */
            if (at > start || (at_end && !after_percent && p->n_runs == 0 && !p->open_start)) {
                runs[p->n_runs++] =
                    (Run){.bytes = bytes + start, .any = has_any ? any + start : NULL, .len = at - start};
            } else if (!at_end && p->n_runs == 0) {
                p->open_start = true;
            }
            if (at_end) {
                p->open_end = after_percent && at == start;
                break;
            }
            after_percent = true;
            start = at;
            has_any = false;
            continue;
        }
        bool literal = false;
        if (escape && c == escape) {
            if (++i == pattern.len) {
                err_set(e, ERR_INVALID_ESCAPE, "LIKE pattern must not end with escape character");
                return NULL;
            }
            c = pattern.ptr[i];
            literal = true;
        }
        any[at] = c == '_' && !literal;
        has_any |= any[at];
        bytes[at++] = c;
    }

    /* 2. Fold and count. */
    for (int64_t i = 0; i < p->n_runs; i++) {
        Run *r = &runs[i];
        if (case_insensitive) {
            char *folded = arena_alloc(a, r->len + 1);
            uint8_t *folded_any = arena_alloc(a, r->len + 1);
            int32_t *code = arena_alloc(a, (r->len + 1) * (int64_t)sizeof *code);
            if (!folded || !folded_any || !code) {
                err_oom(e);
                return NULL;
            }
            fold_run(r, folded, folded_any, code, &p->ascii);
            r->min_bytes = r->len;
        } else {
            count_run(r);
        }
        p->min_bytes += r->min_bytes;
    }
    return p;
}

/* ---- step by step --------------------------------------------------------------- */

bool like_ends_in_escape(Slice pattern, char escape) {
    if (!escape) return false;
    for (int64_t i = 0; i < pattern.len; i++)
        if (pattern.ptr[i] == escape && ++i == pattern.len) return true;
    return false;
}

typedef enum Step {
    STEP_MATCH,
    STEP_NO,
    STEP_ABORT /* nor with any more of the subject skipped */,
    STEP_ERROR,
    STEP_DEEP
} Step;

static Step step_match(Slice s, Slice p, char escape, bool bytewise);
/* Behind a %: at each place of the subject. */
static Step step_anywhere(Slice s, Slice p, char escape, bool bytewise) {
    while (p.len > 0 && (*p.ptr == '%' || *p.ptr == '_')) {
        if (*p.ptr == '_') {
            if (s.len == 0) return STEP_ABORT;
            const int64_t n = bytewise ? 1 : char_bytes(s.ptr, s.ptr + s.len);
            s = (Slice){s.ptr + n, s.len - n};
        }
        p = (Slice){p.ptr + 1, p.len - 1};
    }
    if (p.len == 0) return STEP_MATCH;
    if (*p.ptr == escape && escape && p.len < 2) return STEP_ERROR;
    while (s.len > 0) {
        const Step st = step_match(s, p, escape, bytewise);
        if (st != STEP_NO) return st;
        const int64_t n = bytewise ? 1 : char_bytes(s.ptr, s.ptr + s.len);
        s = (Slice){s.ptr + n, s.len - n};
    }
    return STEP_ABORT;
}
static Step step_match(Slice s, Slice p, char escape, bool bytewise) {
    if (stack_check_depth(&(Err){0}) != ST_OK) return STEP_DEEP;
    while (s.len > 0 && p.len > 0) {
        int64_t n = 1;
        if (*p.ptr == escape && escape) {
            if (p.len < 2) return STEP_ERROR;
            p = (Slice){p.ptr + 1, p.len - 1};
            if (*p.ptr != *s.ptr) return STEP_NO;
        } else if (*p.ptr == '%') {
            return step_anywhere(s, (Slice){p.ptr + 1, p.len - 1}, escape, bytewise);
        } else if (*p.ptr == '_') {
            n = bytewise ? 1 : char_bytes(s.ptr, s.ptr + s.len);
        } else if (*p.ptr != *s.ptr) {
            return STEP_NO;
        }
        s = (Slice){s.ptr + n, s.len - n};
        p = (Slice){p.ptr + 1, p.len - 1};
    }
    if (s.len > 0) return STEP_NO;
    while (p.len > 0 && *p.ptr == '%') p = (Slice){p.ptr + 1, p.len - 1};
    return p.len == 0 ? STEP_MATCH : STEP_ABORT;
}
Status like_stepwise(Slice s, Slice pattern, char escape, bool bytewise, bool *match, Err *e) {
    const Step st = step_match(s, pattern, escape, bytewise);
    if (st == STEP_DEEP) return stack_check_depth(e);
    if (st == STEP_ERROR) return err_set(e, ERR_INVALID_ESCAPE, "LIKE pattern must not end with escape character");
    return *match = st == STEP_MATCH, ST_OK;
}
