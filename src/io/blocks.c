/* blocks.c - cutting an input into blocks of whole records. See blocks.h. */
#include "io/blocks.h"

int64_t copy_chunk_bytes = INT64_C(1) << 20;

static const int64_t max_record = INT64_C(1) << 30;

static Status buf_reserve(MemAccount *a, char **buf, int64_t *cap, int64_t want, Err *e) {
    if (*cap >= want) return ST_OK;
    want = MAX_OF(want, *cap * 2);
    char *p = mem_realloc(a, *buf, *cap, want, e);
    if (!p) return ST_ERROR;
    *buf = p;
    *cap = want;
    return ST_OK;
}

/* Reads up to `want` bytes; less only at the end. */
static Status read_input(Blocks *in, char *to, int64_t want, int64_t *got, Err *e) {
    *got = 0;
    if (in->input) {
        TRY(input_read(in->input, to, want, got, e));
        in->eof = input_at_end(in->input);
        return in->o->format == COPY_JSON ? json_array_lines(&in->json, to, *got, in->eof, e) : ST_OK;
    }
    while (*got < want && !in->eof) {
        int64_t n = in->read(in->read_ctx, to + *got, want - *got);
        if (n < 0 || n > want - *got)
            return err_set(e, ERR_CONNECTION_FAILURE, "could not read COPY data from the client");
        in->eof = n == 0;
        *got += n;
    }
    return ST_OK;
}

/* Bytes in front that are no records: *skip, when all of them are there or nothing comes any more; else -1. */
static int64_t front_bytes(const Blocks *in, const char *buf, int64_t len) {
    int64_t at = 0;
    if (in->strip_bom && len < 3 && !in->eof) return -1;
    if (in->strip_bom && len >= 3 && memcmp(buf, "\xEF\xBB\xBF", 3) == 0) at = 3;
    for (int64_t line = 0; line < in->skip_lines; line++) {
        while (at < len && buf[at] != '\n' && buf[at] != '\r') at++;
        if (at + 1 >= len && !in->eof) return -1;
        if (at < len) at += at + 1 < len && buf[at] == '\r' && buf[at + 1] == '\n' ? 2 : 1;
    }
    return at;
}

static Status too_long(Err *e) {
    return err_set(e, ERR_PROGRAM_LIMIT, "record of COPY data is longer than %lld bytes", (long long)max_record);
}

/* The beginning of the input, without what is in front of the records. */
static Status begin(Blocks *in, Block *b, int64_t *len, Err *e) {
    int64_t target = MAX_OF(copy_chunk_bytes, 1), got, skip = -1;
    in->begun = true;
    if (!in->strip_bom && in->skip_lines == 0) return ST_OK;
    for (;;) {
        TRY(buf_reserve(in->account, &b->buf, &b->cap, target + 1 + COPY_PAD, e));
        TRY(read_input(in, b->buf + *len, target - *len, &got, e));
        *len += got;
        if ((skip = front_bytes(in, b->buf, *len)) >= 0) break;
        if (*len >= max_record) return too_long(e);
        target = *len * 2 + 1;
    }
    *len -= skip;
    if (skip > 0) memmove(b->buf, b->buf + skip, (size_t)*len);
    return ST_OK;
}

Status blocks_next(Blocks *in, Block *b, Err *e) {
    MemAccount *a = in->account;
    int64_t target = MAX_OF(copy_chunk_bytes, 1), len = in->carry_len;
    b->len = 0;
    b->sentinel = false;
    b->cut = (CopyCut){0};
    if (in->done) return ST_OK;
    TRY(buf_reserve(a, &b->buf, &b->cap, MAX_OF(target, len) + 1 + COPY_PAD, e));
    if (len) memcpy(b->buf, in->carry, (size_t)len);
    in->carry_len = 0;
    if (!in->begun) TRY(begin(in, b, &len, e));
    for (;;) {
        int64_t got;
        if (!in->eof && len < target) {
            TRY(read_input(in, b->buf + len, target - len, &got, e));
            len += got;
        }
        if (in->eol == EOL_UNKNOWN) in->eol = copy_detect_eol(in->o, b->buf, len, in->eof);
        if (in->eol != EOL_UNKNOWN) copy_cut_scan(&b->cut, in->o, blocks_eol(in), b->buf, len);
        if (in->eof || b->cut.cut > 0) break;
        if (len >= max_record) return too_long(e);
        target = MAX_OF(target, len) * 2 + 1;
        TRY(buf_reserve(a, &b->buf, &b->cap, target + 1 + COPY_PAD, e));
    }
    b->len = b->cut.cut;
    if (in->eof && b->cut.cut < len) {
        b->sentinel = true;
        b->buf[len++] = blocks_eol(in);
        b->len = len;
        b->cut.cut_lines = b->cut.lines + 1;
    }
    int64_t marker = in->marker ? copy_find_marker(in->o, b->buf, b->len - b->sentinel, in->eof) : -1;
    if (marker >= 0) {
        b->len = marker;
        b->sentinel = false;
        in->done = true;
    } else if (b->len < len) {
        TRY(buf_reserve(a, &in->carry, &in->carry_cap, len - b->len, e));
        in->carry_len = len - b->len;
        memcpy(in->carry, b->buf + b->len, (size_t)in->carry_len);
    }
    if (in->eof) in->done = true;
    memset(b->buf + b->len, 0, COPY_PAD);
    return ST_OK;
}

void blocks_release(Blocks *in) {
    if (in->carry) mem_free(in->account, in->carry, in->carry_cap);
    in->carry = NULL;
    in->carry_len = in->carry_cap = 0;
}
void block_release(Block *b, MemAccount *account) {
    if (b->buf) mem_free(account, b->buf, b->cap);
    *b = (Block){0};
}
