/* parquet_pages.c - the pages of a column: their heads, decompression, levels, dictionaries. See parquet_int.h.
 *
 * A column chunk is a dictionary page, if any, and data pages one after the other. A page's head is a struct in
 * Thrift's compact protocol, of which a few numbers are wanted. A page of a column that is not nested has as many rows
 * as values, and its levels are one bit: whether there is a value. Leaves of nested columns have entries instead of
 * rows, with levels that parquet_nested.c understands.
 *
 * The dictionary's values are made cells once; pages that refer to it are numbers, and reading them is gathering cells.
 * Nothing of a page is believed: sizes are compared with what is there, and numbers with the dictionary.
 */
#include "io/parquet_int.h"

#include <zlib.h>

enum { HEAD_READ = 1 << 10, HEAD_MAX = 16 << 20, CODES = PARQUET_BATCH };

/* ---- Thrift ------------------------------------------------------------------------------------------------------ */

typedef struct Thrift {
    const uint8_t *p, *end;
    bool bad; /* it ends early, or is none */
} Thrift;
enum {
    TT_STOP,
    TT_TRUE,
    TT_FALSE,
    TT_BYTE,
    TT_I16,
    TT_I32,
    TT_I64,
    TT_DOUBLE,
    TT_BINARY,
    TT_LIST,
    TT_SET,
    TT_MAP,
    TT_STRUCT
};

static uint64_t thrift_varint(Thrift *t) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && t->p < t->end; shift += 7) {
        uint8_t b = *t->p++;
        v |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) return v;
    }
    t->bad = true;
    return 0;
}

/* All that is wanted of a head are numbers of 32 bits (a field's, of 16): sizes made of them cannot overflow. */
static int64_t thrift_int(Thrift *t) {
    uint64_t v = thrift_varint(t);
    if (v > UINT32_MAX) t->bad = true;
    return t->bad ? 0 : (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

/* The next field's type, TT_STOP at the end. */
static int thrift_field(Thrift *t, int64_t *id) {
    if (t->bad || t->p >= t->end) {
        t->bad = true;
        return TT_STOP;
    }
    uint8_t b = *t->p++;
    if ((b & 15) == TT_STOP) return TT_STOP;
    *id = b >> 4 ? *id + (b >> 4) : thrift_int(t);
    return t->bad ? TT_STOP : b & 15;
}

/* A value that has none within. */
static void thrift_skip_scalar(Thrift *t, int type) {
    uint64_t n = 0;
    switch (type) {
    case TT_TRUE:
    case TT_FALSE: return;
    case TT_BYTE: n = 1; break;
    case TT_I16:
    case TT_I32:
    case TT_I64: (void)thrift_varint(t); return;
    case TT_DOUBLE: n = 8; break;
    case TT_BINARY: n = thrift_varint(t); break;
    default: t->bad = true; return;
    }
    if (t->bad || n > (uint64_t)(t->end - t->p)) t->bad = true;
    else t->p += n;
}

/* A list of such values. */
static void thrift_skip_list(Thrift *t) {
    if (t->p >= t->end) {
        t->bad = true;
        return;
    }
    uint8_t b = *t->p++;
    uint64_t n = b >> 4 == 15 ? thrift_varint(t) : b >> 4;
    int type = (b & 15) == TT_TRUE || (b & 15) == TT_FALSE ? TT_BYTE : b & 15;
    if (n > (uint64_t)(t->end - t->p)) t->bad = true; /* each takes a byte at least */
    for (uint64_t i = 0; i < n && !t->bad; i++) thrift_skip_scalar(t, type);
}

/* Structs within structs are counted: which fields they have does not matter. The format has no lists of structs and no
 * maps in the heads of pages. */
static void thrift_skip(Thrift *t, int type) {
    int64_t id = 0;
    int depth = 0;
    do {
        if (type == TT_STRUCT) depth++;
        else if (type == TT_STOP) depth--;
        else if (type == TT_LIST || type == TT_SET) thrift_skip_list(t);
        else thrift_skip_scalar(t, type);
        if (depth > 0) type = thrift_field(t, &id);
    } while (depth > 0 && !t->bad);
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

typedef enum PageType { PAGE_DATA = 0, PAGE_INDEX = 1, PAGE_DICTIONARY = 2, PAGE_DATA_2 = 3 } PageType;
typedef struct PageHead {
    int64_t type, size, packed_size; /* size: decompressed */
    int64_t crc;
    bool has_crc;
    int64_t n, encoding;
    int64_t level_encoding; /* of PAGE_DATA, this too: */
    int64_t repetition_encoding;
    int64_t levels, repetitions; /* bytes in front, of PAGE_DATA_2 */
    bool packed;                 /* compressed, if the column is */
} PageHead;

static void read_part(Thrift *t, PageHead *h, int64_t part) {
    int64_t id = 0;
    for (int type; (type = thrift_field(t, &id)) != TT_STOP;) {
        bool number = type == TT_I32, two = part == 8;
        if (number && id == 1) h->n = thrift_int(t);
        else if (number && id == (two ? 4 : 2)) h->encoding = thrift_int(t);
        else if (number && id == 3 && part == 5) h->level_encoding = thrift_int(t);
        else if (number && id == 4 && part == 5) h->repetition_encoding = thrift_int(t);
        else if (number && id == 5 && two) h->levels = thrift_int(t);
        else if (number && id == 6 && two) h->repetitions = thrift_int(t);
        else if (id == 7 && two && (type == TT_TRUE || type == TT_FALSE)) h->packed = type == TT_TRUE;
        else thrift_skip(t, type);
    }
}

static void read_head(Thrift *t, PageHead *h) {
    int64_t id = 0;
    *h = (PageHead){.type = -1,
                    .size = -1,
                    .packed_size = -1,
                    .n = -1,
                    .encoding = -1,
                    .packed = true,
                    .level_encoding = PE_RLE,
                    .repetition_encoding = PE_RLE};
    for (int type; (type = thrift_field(t, &id)) != TT_STOP;) {
        if (type == TT_I32 && id == 1) h->type = thrift_int(t);
        else if (type == TT_I32 && id == 2) h->size = thrift_int(t);
        else if (type == TT_I32 && id == 3) h->packed_size = thrift_int(t);
        else if (type == TT_I32 && id == 4) {
            h->crc = thrift_int(t);
            h->has_crc = true;
        } else if (type == TT_STRUCT && (id == 5 || id == 7 || id == 8)) read_part(t, h, id);
        else thrift_skip(t, type);
    }
}

/* ---- bytes of the file ------------------------------------------------------------------------------------------- */

/* The next n bytes of the chunk, fewer only at its end. */
static Status see(ParquetPages *p, int64_t n, const uint8_t **at, int64_t *there, Err *e) {
    int64_t left = p->end - p->at, off = p->at - p->in_from, have = p->in_len - off;
    n = MIN_OF(n, left);
    if (off < 0 || have < 0) have = 0;
    if (have < n) {
        /* the next head too */
        int64_t want = MIN_OF(n + HEAD_READ, left), got;
        IoBuffer old = p->in;
        if (old.cap < want + CODEC_PAD) {
            p->in = (IoBuffer){0};
            if (io_buffer(&p->in, p->account, want, e) != ST_OK) {
                p->in = old;
                return ST_ERROR;
            }
        }
        if (have > 0) memmove(p->in.p, old.p + off, (size_t)have);
        if (p->in.p != old.p) io_buffer_release(&old, p->account);
        p->in_from = p->at;
        p->in_len = have;
        TRY(p->file->vfs->read_at(p->file, p->in.p + have, want - have, p->at + have, &got, e));
        p->in_len += got;
        memset(p->in.p + p->in_len, 0, CODEC_PAD);
        off = 0;
        have = p->in_len;
    }
    *at = p->in.p + off;
    *there = MIN_OF(have, left);
    return *there >= n ? ST_OK : err_set(e, ERR_BAD_COPY, "the file ends within a page");
}

static Status next_head(ParquetPages *p, PageHead *h, Err *e) {
    const uint8_t *at;
    int64_t there, want = 64;
    for (;; want *= 8) {
        TRY(see(p, want, &at, &there, e));
        Thrift t = {.p = at, .end = at + there};
        read_head(&t, h);
        if (!t.bad) {
            p->at += t.p - at;
            break;
        }
        if (there < want || want > HEAD_MAX) return err_set(e, ERR_BAD_COPY, "the head of a page is damaged");
    }
    if (h->packed_size < 0 || h->size < 0 || h->packed_size > p->end - p->at)
        return err_set(e, ERR_BAD_COPY, "the head of a page has a size that is not possible");
    bool wanted = h->type != PAGE_INDEX;
    if (wanted && (h->n < 0 || h->encoding < 0 || h->type < 0 || h->type > PAGE_DATA_2))
        return err_set(e, ERR_BAD_COPY, "the head of a page is damaged");
    return ST_OK;
}

/* The bytes of the page behind its head. */
static Status page_bytes(ParquetPages *p, const PageHead *h, const uint8_t **at, Err *e) {
    int64_t there;
    TRY(see(p, h->packed_size, at, &there, e));
    p->at += h->packed_size;
    if (h->has_crc && (uint32_t)crc32(0, *at, (uInt)h->packed_size) != (uint32_t)h->crc)
        return err_set(e, ERR_BAD_COPY, "the checksum of a page is wrong");
    return ST_OK;
}

static Status unpack(ParquetPages *p, const uint8_t *from, int64_t n, int64_t size, bool packed, IoBuffer *to,
                     const uint8_t **at, Err *e) {
    *at = from;
    if (p->codec == CODEC_NONE || !packed)
        return n >= size ? ST_OK : err_set(e, ERR_BAD_COPY, "a page is shorter than its head says");
    TRY(io_buffer(to, p->account, size, e));
    *at = to->p;
    return codec_decompress(p->codecs, (Codec)p->codec, from, n, to->p, size, e);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static Status open_dictionary(ParquetPages *p, const PageHead *h, Err *e) {
    const uint8_t *bytes, *at;
    int64_t least = p->c->physical == PP_BYTE_ARRAY ? 4 : p->c->length;
    TRY(page_bytes(p, h, &bytes, e));
    if (p->n_dict >= 0) return err_set(e, ERR_BAD_COPY, "a column has a second dictionary");
    if ((h->encoding != PE_PLAIN && h->encoding != PE_PLAIN_DICTIONARY) || least == 0)
        return err_set(e, ERR_BAD_COPY, "a dictionary is encoded in a way that is not known");
    if (h->n > h->size / least) return err_set(e, ERR_BAD_COPY, "a dictionary is shorter than its head says");
    TRY(unpack(p, bytes, h->packed_size, h->size, true, &p->dict_body, &at, e));
    if (at == bytes) { /* of the input, which goes on */
        TRY(io_buffer(&p->dict_body, p->account, h->size, e));
        memcpy(p->dict_body.p, bytes, (size_t)h->size);
        at = p->dict_body.p;
    }
    TRY(io_buffer(&p->dict, p->account, h->n * phys_size(type_phys(p->c->type)), e));
    TRY(parquet_cells(p->c, &at, at + h->size, h->n, p->dict.p, e));
    p->n_dict = h->n;
    return ST_OK;
}

static Status too_short(Err *e) { return err_set(e, ERR_BAD_COPY, "a page is shorter than its levels"); }

static Status open_values(ParquetPages *p, const PageHead *h, const uint8_t *at, const uint8_t *end, Err *e) {
    bool bits = p->c->physical == PP_BOOLEAN;
    p->values = at;
    p->values_end = end;
    p->kind = bits ? PAGE_BITS : PAGE_PLAIN;
    if (h->encoding == PE_PLAIN) {
        if (!bits) return ST_OK;
        p->codes = (ParquetRuns){.p = at, .end = end, .width = 1, .packed = true, .left = MIN_OF(h->n, (end - at) * 8)};
        return ST_OK;
    }
    if (h->encoding == PE_RLE && bits) {
        if (end - at < 4) return too_short(e);
        parquet_runs_init(&p->codes, at + 4, end, 1);
        return ST_OK;
    }
    if (h->encoding == PE_PLAIN_DICTIONARY || h->encoding == PE_RLE_DICTIONARY) {
        if (p->n_dict < 0) return err_set(e, ERR_BAD_COPY, "a page refers to a dictionary and there is none");
        if (at<end && * at> 32) return err_set(e, ERR_BAD_COPY, "numbers of a dictionary have %d bits", (int)*at);
        p->kind = PAGE_CODES;
        parquet_runs_init(&p->codes, MIN_OF(at + 1, end), end, at < end ? *at : 0);
        return ST_OK;
    }
    int64_t size = 0;
    TRY(parquet_to_plain(p->c, (int)h->encoding, at, end, h->n, &p->plain, p->account, &size, e));
    p->values = p->plain.p;
    p->values_end = p->plain.p + size;
    return ST_OK;
}

/* Bits of a number up to `most`. */
static int level_width(uint8_t most) {
    int width = 0;
    while (most >> width) width++;
    return width;
}

/* Levels with their length in front. */
static Status open_levels(int64_t encoding, uint8_t most, const uint8_t **at, const uint8_t *end, ParquetRuns *out,
                          Err *e) {
    uint32_t n;
    parquet_runs_init(out, *at, *at, 0);
    if (most == 0) return ST_OK;
    if (encoding != PE_RLE)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "levels are encoded in a way that is not known (%d)",
                       (int)encoding);
    if (end - *at < 4) return too_short(e);
    memcpy(&n, *at, 4);
    *at += 4;
    if (n > end - *at) return too_short(e);
    parquet_runs_init(out, *at, *at + n, level_width(most));
    *at += n;
    return ST_OK;
}

static Status open_data(ParquetPages *p, const PageHead *h, Err *e) {
    const uint8_t *bytes, *at;
    TRY(page_bytes(p, h, &bytes, e));
    TRY(unpack(p, bytes, h->packed_size, h->size, true, &p->body, &at, e));
    const uint8_t *end = at + h->size;
    TRY(open_levels(h->repetition_encoding, p->c->max_rep, &at, end, &p->reps, e));
    TRY(open_levels(h->level_encoding, p->c->max_def, &at, end, &p->defs, e));
    return open_values(p, h, at, end, e);
}

/* Its levels are not compressed. */
static Status open_data_2(ParquetPages *p, const PageHead *h, Err *e) {
    const uint8_t *bytes, *at;
    int64_t front = h->levels + h->repetitions;
    if (h->levels < 0 || h->repetitions < 0 || front > h->packed_size || front > h->size) return too_short(e);
    TRY(page_bytes(p, h, &bytes, e));
    int64_t size = h->size - front;
    /* the levels stay where they are: the input is kept until the next page */
    parquet_runs_init(&p->reps, bytes, bytes + h->repetitions, level_width(p->c->max_rep));
    parquet_runs_init(&p->defs, bytes + h->repetitions, bytes + front, level_width(p->c->max_def));
    TRY(unpack(p, bytes + front, h->packed_size - front, size, h->packed && size > 0, &p->body, &at, e));
    return open_values(p, h, at, at + size, e);
}

void parquet_pages_begin(ParquetPages *p, VfsFile *file, int32_t codec, int64_t start, int64_t end) {
    p->file = file;
    p->codec = codec;
    p->at = start;
    p->end = end;
    p->in_from = p->in_len = 0;
    p->n_dict = -1;
    p->rows = 0;
}

/* Pages of up to `skip` rows are left out; *skip is made less by them. *more false: there are none any more. */
static Status next_page(ParquetPages *p, int64_t *skip, bool *more, Err *e) {
    PageHead h;
    *more = true;
    while (p->rows == 0) {
        if (p->at >= p->end) {
            *more = false;
            return ST_OK;
        }
        TRY(next_head(p, &h, e));
        bool data = h.type == PAGE_DATA || h.type == PAGE_DATA_2;
        if (!data || h.n == 0 || h.n <= *skip) {
            if (h.type == PAGE_DICTIONARY) TRY(open_dictionary(p, &h, e));
            else p->at += h.packed_size;
            if (data) *skip -= h.n;
            if (data && *skip == 0 && h.n > 0) return ST_OK;
            continue;
        }
        TRY(h.type == PAGE_DATA ? open_data(p, &h, e) : open_data_2(p, &h, e));
        p->rows = h.n;
    }
    return ST_OK;
}

static Status too_few(Err *e) { return err_set(e, ERR_BAD_COPY, "a column has fewer rows than its row group"); }

Status parquet_pages_more(ParquetPages *p, bool *more, Err *e) {
    int64_t none = 0;
    return next_page(p, &none, more, e);
}

Status parquet_pages_ready(ParquetPages *p, Err *e) {
    bool more;
    TRY(parquet_pages_more(p, &more, e));
    return more ? ST_OK : too_few(e);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static NOINLINE Status ends_early(Err *e) { return err_set(e, ERR_BAD_COPY, "a page has fewer values than rows"); }

/* Cells by size; what they are does not matter. */
typedef uint16_t __attribute__((may_alias)) Cell2;
typedef uint32_t __attribute__((may_alias)) Cell4;
typedef uint64_t __attribute__((may_alias)) Cell8;
typedef struct __attribute__((may_alias)) Cell16 {
    uint64_t a, b;
} Cell16;

#define GATHER(size, T)                                                                           \
    case size:                                                                                    \
        for (int64_t i = 0; i < n; i++) ((T *)cells)[i] = ((const T *)(const void *)d)[codes[i]]; \
        return ST_OK;

/* Four at a time: a number is in the dictionary if it has no sign and gets one when their number is subtracted. */
static bool all_below(const uint32_t *codes, int64_t n, int64_t most) {
    typedef int32_t Four __attribute__((vector_size(16)));
    const int32_t m = (int32_t)most;
    const Four limit = {m, m, m, m};
    Four signs = {-1, -1, -1, -1};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        Four v;
        memcpy(&v, codes + i, sizeof v);
        signs &= (v - limit) & ~v;
    }
    int32_t all = signs[0] & signs[1] & signs[2] & signs[3];
    for (; i < n; i++) all &= (codes[i] < most) ? -1 : 0;
    return all < 0;
}

static Status gather(const ParquetPages *p, const uint32_t *codes, int64_t n, void *cells, Err *e) {
    const uint8_t *d = p->dict.p;
    if (!all_below(codes, n, p->n_dict))
        return err_set(e, ERR_BAD_COPY, "a page refers to values that its dictionary of %lld does not have",
                       (long long)p->n_dict);
    switch (phys_size(type_phys(p->c->type))) {
        GATHER(2, Cell2)
        GATHER(4, Cell4)
        GATHER(8, Cell8)
        GATHER(16, Cell16)
    default: return err_internal(e, "a dictionary of such cells");
    }
}

/* n values, without NULLs between. */
static Status read_values(ParquetPages *p, int64_t n, void *cells, Err *e) {
    if (p->kind == PAGE_PLAIN) return parquet_cells(p->c, &p->values, p->values_end, n, cells, e);
    if (p->kind == PAGE_BITS) {
        int64_t ones;
        if (p->codes.left >= n && !p->codes.packed) memset(cells, (int)(p->codes.value & 1), (size_t)n);
        return parquet_runs_bits(&p->codes, n, cells, &ones) ? ST_OK : ends_early(e);
    }
    uint32_t codes[CODES];
    if (!parquet_runs_read(&p->codes, n, codes)) return ends_early(e);
    return gather(p, codes, n, cells, e);
}

#define SPREAD(size, T)                                  \
    case size:                                           \
        for (int64_t i = n, k = m; i-- > 0;) {           \
            T v = valid[i] ? ((T *)cells)[--k] : (T){0}; \
            ((T *)cells)[i] = v;                         \
        }                                                \
        return;

/* From the last one on. */
void parquet_spread(int64_t n, int64_t m, const uint8_t *valid, void *cells, int64_t size) {
    switch (size) {
        SPREAD(1, uint8_t)
        SPREAD(2, Cell2)
        SPREAD(4, Cell4)
        SPREAD(8, Cell8)
        SPREAD(16, Cell16)
    default: return;
    }
}

Status parquet_pages_read(ParquetPages *p, int64_t n, void *cells, uint8_t *valid, bool *nulls, Err *e) {
    int64_t m = n;
    if (p->c->max_def > 0 && !parquet_runs_bits(&p->defs, n, valid, &m)) return ends_early(e);
    *nulls = m < n;
    TRY(read_values(p, m, cells, e));
    if (*nulls) {
        Phys phys = type_phys(p->c->type);
        parquet_spread(n, m, valid, cells, phys_size(phys));
        for (int64_t i = 0; phys == PH_STR && i < n; i++)
            if (!valid[i]) ((Str *)cells)[i] = str_make("", 0);
    }
    p->rows -= n;
    return ST_OK;
}

static Status skip_values(ParquetPages *p, int64_t n, Err *e) {
    uint8_t bits[CODES];
    int64_t ones;
    if (p->kind == PAGE_PLAIN) return parquet_cells_skip(p->c, &p->values, p->values_end, n, e);
    if (p->kind == PAGE_CODES && !parquet_runs_read(&p->codes, n, NULL)) return ends_early(e);
    if (p->kind == PAGE_BITS && !parquet_runs_bits(&p->codes, n, bits, &ones)) return ends_early(e);
    return ST_OK;
}

/* Of the page: */
static Status skip_rows(ParquetPages *p, int64_t n, Err *e) {
    uint8_t valid[CODES];
    while (n > 0) {
        int64_t some = MIN_OF(n, (int64_t)CODES), m = some;
        if (p->c->max_def > 0 && !parquet_runs_bits(&p->defs, some, valid, &m)) return ends_early(e);
        TRY(skip_values(p, m, e));
        n -= some;
        p->rows -= some;
    }
    return ST_OK;
}

Status parquet_pages_skip(ParquetPages *p, int64_t n, Err *e) {
    bool more;
    while (n > 0) {
        if (p->rows == 0) {
            TRY(next_page(p, &n, &more, e));
            if (!more) return too_few(e);
        }
        int64_t some = MIN_OF(n, p->rows);
        TRY(skip_rows(p, some, e));
        n -= some;
    }
    return ST_OK;
}

/* ---- entries of nested columns ----------------------------------------------------------------------------------- */

static Status read_levels(ParquetRuns *r, uint8_t most, int64_t n, uint8_t *out, Err *e) {
    uint32_t levels[CODES], all = 0;
    if (most == 0) {
        memset(out, 0, (size_t)n);
        return ST_OK;
    }
    if (!parquet_runs_read(r, n, levels)) return err_set(e, ERR_BAD_COPY, "a page has fewer levels than entries");
    for (int64_t i = 0; i < n; i++) {
        all = MAX_OF(all, levels[i]);
        out[i] = (uint8_t)levels[i];
    }
    if (all <= most) return ST_OK;
    return err_set(e, ERR_BAD_COPY, "a page has level %u in a column whose levels go to %d", (unsigned)all, (int)most);
}

Status parquet_pages_levels(ParquetPages *p, int64_t n, uint8_t *reps, uint8_t *defs, Err *e) {
    TRY(read_levels(&p->reps, p->c->max_rep, n, reps, e));
    TRY(read_levels(&p->defs, p->c->max_def, n, defs, e));
    p->rows -= n;
    return ST_OK;
}

Status parquet_pages_values(ParquetPages *p, int64_t n, void *cells, Err *e) {
    int64_t size = phys_size(type_phys(p->c->type));
    for (int64_t at = 0; at < n; at += CODES) {
        int64_t some = MIN_OF(n - at, (int64_t)CODES);
        TRY(cells ? read_values(p, some, (char *)cells + at * size, e) : skip_values(p, some, e));
    }
    return ST_OK;
}

void parquet_pages_release(ParquetPages *p) {
    io_buffer_release(&p->in, p->account);
    io_buffer_release(&p->dict_body, p->account);
    io_buffer_release(&p->dict, p->account);
    io_buffer_release(&p->body, p->account);
    io_buffer_release(&p->plain, p->account);
}
