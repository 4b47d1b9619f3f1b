/* recode.c - see recode.h. */
#include "io/recode.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>

enum { PIECE = 65536 };

struct Recode {
    const char *name;
    CopyRead read;
    CopyWrite write;
    void *ctx;
    MemAccount *account;
    iconv_t cd;
    char in[PIECE]; /* bytes that are not converted yet */
    size_t n_in;
    bool at_end, failed;
    Err err;
};

Status recode_new(const TextEncoding *encoding, CopyRead read, CopyWrite write, void *ctx, MemAccount *account,
                  Recode **out, Err *e) {
    Recode *r = mem_calloc(account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    *r = (Recode){.name = encoding->name, .read = read, .write = write, .ctx = ctx, .account = account};
    r->cd = read ? iconv_open("UTF-8", encoding->iconv) : iconv_open(encoding->iconv, "UTF-8");
    if (r->cd != (iconv_t)-1) {
        *out = r;
        return ST_OK;
    }
    err_set(e, ERR_FEATURE_NOT_SUPPORTED, "encoding \"%s\" is not known to the system's iconv", r->name);
    mem_free(account, r, (int64_t)sizeof *r);
    return ST_ERROR;
}

/* The character at the first byte that could not be converted. */
static void cannot_convert(Recode *r, const char *at, size_t n) {
    char bytes[ENCODING_SHOWN_MAX];
    encoding_show(at, (int64_t)n, r->write != NULL, bytes);
    r->failed = true;
    if (r->write)
        err_set(&r->err, ERR_UNTRANSLATABLE,
                "character with byte sequence %s in encoding \"UTF8\" has no equivalent in encoding \"%s\"", bytes,
                r->name);
    else err_set(&r->err, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"%s\": %s", r->name, bytes);
}

/* Converts what is in r->in as far as there is room; false: it cannot be. */
static bool convert(Recode *r, char *out, size_t room, size_t *made) {
    char *from = r->in, *to = out;
    size_t left = r->n_in, space = room;
    const size_t st = iconv(r->cd, &from, &left, &to, &space);
    const int why = errno;
    *made = room - space;
    memmove(r->in, from, left);
    r->n_in = left;
    if (st != (size_t)-1 || why == E2BIG || (why == EINVAL && !r->at_end)) return true;
    if (*made > 0) return true; /* first what comes before it */
    cannot_convert(r, r->in, left);
    return false;
}

int64_t recode_read(void *ctx, char *buf, int64_t size) {
    Recode *r = ctx;
    for (;;) {
        if (!r->at_end && r->n_in < PIECE / 2) {
            const int64_t n = r->read(r->ctx, r->in + r->n_in, (int64_t)(PIECE - r->n_in));
            if (n < 0) return -1;
            r->n_in += (size_t)n;
            r->at_end = n == 0;
        }
        if (r->n_in == 0 && r->at_end) return 0;
        size_t made;
        if (!convert(r, buf, (size_t)size, &made)) return -1;
        if (made > 0) return (int64_t)made;
    }
}

static bool write_out(Recode *r) {
    char out[4096];
    size_t made;
    do {
        const size_t before = r->n_in;
        if (!convert(r, out, sizeof out, &made)) return false;
        if (made > 0 && !r->write(r->ctx, out, (int64_t)made)) return false;
        if (made == 0 && before == r->n_in) break; /* a character whose rest is to come */
    } while (r->n_in > 0);
    return true;
}
bool recode_write(void *ctx, const char *data, int64_t size) {
    Recode *r = ctx;
    while (size > 0) {
        const int64_t n = MIN_OF(size, (int64_t)(PIECE - r->n_in));
        memcpy(r->in + r->n_in, data, (size_t)n);
        r->n_in += (size_t)n;
        data += n;
        size -= n;
        if (!write_out(r)) return false;
    }
    return true;
}

Status recode_end(Recode *r, Status st, Err *e) {
    if (!r) return st;
    if (r->failed) {
        err_clear(e);
        err_copy(e, &r->err);
        st = ST_ERROR;
    }
    (void)iconv_close(r->cd);
    mem_free(r->account, r, (int64_t)sizeof *r);
    return st;
}
