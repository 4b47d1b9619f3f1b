/* recode.c - see recode.h. */
#include "io/recode.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <string.h>

enum { PIECE = 65536 };

static const struct {
    const char *name, *iconv; /* iconv NULL: as it is */
} encodings[] = {{"BIG5", "BIG5"},
                 {"EUC_CN", "EUC-CN"},
                 {"EUC_JIS_2004", "EUC-JISX0213"},
                 {"EUC_JP", "EUC-JP"},
                 {"EUC_KR", "EUC-KR"},
                 {"EUC_TW", "EUC-TW"},
                 {"GB18030", "GB18030"},
                 {"GBK", "GBK"},
                 {"ISO_8859_5", "ISO-8859-5"},
                 {"ISO_8859_6", "ISO-8859-6"},
                 {"ISO_8859_7", "ISO-8859-7"},
                 {"ISO_8859_8", "ISO-8859-8"},
                 {"JOHAB", "JOHAB"},
                 {"KOI8R", "KOI8-R"},
                 {"KOI8U", "KOI8-U"},
                 {"LATIN1", "ISO-8859-1"},
                 {"LATIN10", "ISO-8859-16"},
                 {"LATIN2", "ISO-8859-2"},
                 {"LATIN3", "ISO-8859-3"},
                 {"LATIN4", "ISO-8859-4"},
                 {"LATIN5", "ISO-8859-9"},
                 {"LATIN6", "ISO-8859-10"},
                 {"LATIN7", "ISO-8859-13"},
                 {"LATIN8", "ISO-8859-14"},
                 {"LATIN9", "ISO-8859-15"},
                 {"SHIFT_JIS_2004", "SHIFT_JISX0213"},
                 {"SJIS", "SHIFT_JIS"},
                 {"SQL_ASCII", NULL},
                 {"UHC", "UHC"},
                 {"UTF8", NULL},
                 {"WIN1250", "CP1250"},
                 {"WIN1251", "CP1251"},
                 {"WIN1252", "CP1252"},
                 {"WIN1253", "CP1253"},
                 {"WIN1254", "CP1254"},
                 {"WIN1255", "CP1255"},
                 {"WIN1256", "CP1256"},
                 {"WIN1257", "CP1257"},
                 {"WIN1258", "CP1258"},
                 {"WIN866", "CP866"},
                 {"WIN874", "CP874"}};
/* Further spellings, without what is neither a letter nor a digit. */
static const struct {
    const char *spelling, *name;
} others[] = {
    {"abc", "WIN1258"},         {"alt", "WIN866"},          {"iso88591", "LATIN1"},     {"iso885910", "LATIN6"},
    {"iso885913", "LATIN7"},    {"iso885914", "LATIN8"},    {"iso885915", "LATIN9"},    {"iso885916", "LATIN10"},
    {"iso88592", "LATIN2"},     {"iso88593", "LATIN3"},     {"iso88594", "LATIN4"},     {"iso88599", "LATIN5"},
    {"koi8", "KOI8R"},          {"mskanji", "SJIS"},        {"shiftjis", "SJIS"},       {"tcvn", "WIN1258"},
    {"tcvn5712", "WIN1258"},    {"unicode", "UTF8"},        {"vscii", "WIN1258"},       {"win", "WIN1251"},
    {"win932", "SJIS"},         {"win936", "GBK"},          {"win949", "UHC"},          {"win950", "BIG5"},
    {"windows1250", "WIN1250"}, {"windows1251", "WIN1251"}, {"windows1252", "WIN1252"}, {"windows1253", "WIN1253"},
    {"windows1254", "WIN1254"}, {"windows1255", "WIN1255"}, {"windows1256", "WIN1256"}, {"windows1257", "WIN1257"},
    {"windows1258", "WIN1258"}, {"windows866", "WIN866"},   {"windows874", "WIN874"},   {"windows932", "SJIS"},
    {"windows936", "GBK"},      {"windows949", "UHC"},      {"windows950", "BIG5"}};

static bool same_spelling(const char *given, const char *name) {
    for (;;) {
        while (*given && !isalnum((unsigned char)*given)) given++;
        while (*name && !isalnum((unsigned char)*name)) name++;
        if (!*given || !*name) return !*given && !*name;
        if (tolower((unsigned char)*given++) != tolower((unsigned char)*name++)) return false;
    }
}
static int64_t find(const char *given) {
    for (int64_t i = 0; i < ARRAY_LEN(others); i++)
        if (same_spelling(given, others[i].spelling)) given = others[i].name;
    for (int64_t i = 0; i < ARRAY_LEN(encodings); i++)
        if (same_spelling(given, encodings[i].name)) return i;
    return -1;
}
const char *recode_name(const char *given, bool *utf8) {
    const int64_t i = find(given);
    *utf8 = i >= 0 && !encodings[i].iconv;
    return i >= 0 ? encodings[i].name : NULL;
}

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

Status recode_new(const char *encoding, CopyRead read, CopyWrite write, void *ctx, MemAccount *account, Recode **out,
                  Err *e) {
    const int64_t i = find(encoding);
    Recode *r = mem_calloc(account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    *r = (Recode){.name = encodings[i].name, .read = read, .write = write, .ctx = ctx, .account = account};
    r->cd = read ? iconv_open("UTF-8", encodings[i].iconv) : iconv_open(encodings[i].iconv, "UTF-8");
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
    char bytes[24] = "";
    const size_t width = !r->write              ? 1
                         : (uint8_t)*at >= 0xF0 ? 4
                         : (uint8_t)*at >= 0xE0 ? 3
                         : (uint8_t)*at >= 0xC0 ? 2
                                                : 1;
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0, k = 0; i < width && i < n; i++) {
        if (i > 0) bytes[k++] = ' ';
        bytes[k++] = '0';
        bytes[k++] = 'x';
        bytes[k++] = digits[(uint8_t)at[i] >> 4];
        bytes[k++] = digits[at[i] & 15];
    }
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
