/* input.c - plain and compressed files as a sequence of bytes. See input.h. */
#include "io/input.h"

#include <zlib.h>
#include <zstd.h>

#include "io/codec.h"

enum {
    IN_BYTES = 128 << 10,  /* of the compressed file, read at a time */
    GZIP_BYTES = 48 << 10, /* that zlib takes, about */
    WINDOW_LOG_MAX = 27    /* of zstd: what its own tool takes without being asked */
};

struct Input {
    VfsFile *file;
    Vfs *vfs;
    MemAccount *account;
    char *path;
    int64_t offset, size;
    bool at_end; /* of the decompressed bytes */
    Codec codec;
    char *in; /* compressed bytes */
    int64_t in_at, in_len;
    bool in_end;    /* there are no more of them */
    bool mid_frame; /* a member or frame has begun and not ended */
    z_stream gzip;
    bool gzip_ready;
    ZSTD_DCtx *zstd;
    int64_t charged;
};

static Status seen(void *ctx, const char *name, Err *e) {
    (void)ctx;
    (void)name;
    (void)e;
    return ST_OK;
}
static Status open_file(Input *in, const char *path, char *head, int64_t *got, Err *e) {
    Err why = {0};
    err_clear(&why);
    if (in->vfs->open(in->vfs, path, VFS_READ, &in->file, &why) != ST_OK) {
        in->file = NULL;
        /* "could not open file "x": reason" in PostgreSQL's words. */
        const char *reason = strstr(why.message, "\": ");
        return err_set(e, why.sqlstate, "could not open file \"%s\" for reading: %s", path,
                       reason ? reason + 3 : why.message);
    }
    if (in->vfs->read_at(in->file, head, 4, 0, got, &why) != ST_OK) {
        Err none = {0};
        if (in->vfs->list(in->vfs, path, seen, NULL, &none) == ST_OK)
            return err_set(e, ERR_WRONG_OBJECT_TYPE, "\"%s\" is a directory", path);
        err_copy(e, &why);
        return ST_ERROR;
    }
    return in->vfs->size(in->file, &in->size, e);
}

static Status open_codec(Input *in, Err *e) {
    if (in->codec == CODEC_NONE) return ST_OK;
    if (!(in->in = mem_alloc(in->account, IN_BYTES, e))) return ST_ERROR;
    if (in->codec == CODEC_GZIP) {
        TRY(mem_charge(in->account, GZIP_BYTES, e));
        in->charged = GZIP_BYTES;
        if (inflateInit2(&in->gzip, 15 + 16) != Z_OK) return err_oom(e);
        in->gzip_ready = true;
        return ST_OK;
    }
    if (!(in->zstd = ZSTD_createDCtx())) return err_oom(e);
    (void)ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    return ST_OK;
}

Status input_open(Vfs *vfs, MemAccount *account, const char *path, Input **out, Err *e) {
    int64_t got = 0, n = (int64_t)strlen(path) + 1;
    uint8_t head[4] = {0};
    Input *in = mem_calloc(account, (int64_t)sizeof *in, e);
    *out = NULL;
    if (!in) return ST_ERROR;
    in->vfs = vfs;
    in->account = account;
    if (!(in->path = mem_alloc(account, n, e))) goto failed;
    memcpy(in->path, path, (size_t)n);
    if (open_file(in, path, (char *)head, &got, e) != ST_OK) goto failed;
    if (got >= 2 && head[0] == 0x1F && head[1] == 0x8B) in->codec = CODEC_GZIP;
    if (got == 4 && head[0] == 0x28 && head[1] == 0xB5 && head[2] == 0x2F && head[3] == 0xFD) in->codec = CODEC_ZSTD;
    if (open_codec(in, e) != ST_OK) goto failed;
    *out = in;
    return ST_OK;
failed:
    input_close(in);
    return ST_ERROR;
}

static Status read_plain(Input *in, char *to, int64_t want, int64_t *got, bool *end, Err *e) {
    TRY(in->vfs->read_at(in->file, to, want, in->offset, got, e));
    in->offset += *got;
    *end = *got < want || (in->size > 0 && in->offset >= in->size);
    if (*end && *got == want) { /* the file may have grown */
        int64_t more;
        char c;
        TRY(in->vfs->read_at(in->file, &c, 1, in->offset, &more, e));
        *end = more == 0;
    }
    return ST_OK;
}

static Status damaged(const Input *in, const char *why, Err *e) {
    return err_set(e, ERR_BAD_COPY, "could not decompress file \"%s\": %s", in->path, why);
}

/* One step: *made bytes at `to`. */
static Status gzip_step(Input *in, char *to, int64_t room, int64_t *made, Err *e) {
    z_stream *z = &in->gzip;
    z->next_in = (Bytef *)in->in + in->in_at;
    z->avail_in = (uInt)(in->in_len - in->in_at);
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)MIN_OF(room, INT64_C(1) << 30);
    uInt out = z->avail_out;
    int r = inflate(z, Z_NO_FLUSH);
    in->in_at = in->in_len - z->avail_in;
    *made = out - z->avail_out;
    in->mid_frame = r != Z_STREAM_END;
    if (r == Z_STREAM_END) return inflateReset(z) == Z_OK ? ST_OK : damaged(in, "stream error", e);
    if (r == Z_MEM_ERROR) return err_oom(e);
    if (r == Z_OK || r == Z_BUF_ERROR) return ST_OK;
    return damaged(in, z->msg ? z->msg : "invalid data", e);
}
static Status zstd_step(Input *in, char *to, int64_t room, int64_t *made, Err *e) {
    ZSTD_inBuffer from = {in->in, (size_t)in->in_len, (size_t)in->in_at};
    ZSTD_outBuffer out = {to, (size_t)room, 0};
    size_t r = ZSTD_decompressStream(in->zstd, &out, &from);
    if (ZSTD_isError(r)) return damaged(in, ZSTD_getErrorName(r), e);
    in->in_at = (int64_t)from.pos;
    in->mid_frame = r != 0;
    *made = (int64_t)out.pos;
    int64_t takes = (int64_t)ZSTD_sizeof_DCtx(in->zstd);
    if (takes <= in->charged) return ST_OK;
    TRY(mem_charge(in->account, takes - in->charged, e));
    in->charged = takes;
    return ST_OK;
}

Status input_read(Input *in, char *to, int64_t want, int64_t *got, Err *e) {
    *got = 0;
    if (in->codec == CODEC_NONE) return read_plain(in, to, want, got, &in->at_end, e);
    while (*got < want) {
        if (in->in_at == in->in_len && !in->in_end) {
            TRY(read_plain(in, in->in, IN_BYTES, &in->in_len, &in->in_end, e));
            in->in_at = 0;
        }
        int64_t made = 0, before = in->in_at;
        if (in->in_at == in->in_len && in->in_end && !in->mid_frame) break;
        if (in->codec == CODEC_GZIP) TRY(gzip_step(in, to + *got, want - *got, &made, e));
        else TRY(zstd_step(in, to + *got, want - *got, &made, e));
        *got += made;
        if (made == 0 && in->in_at == before && in->in_end) return damaged(in, "unexpected end of file", e);
    }
    in->at_end = *got < want || (in->in_at == in->in_len && in->in_end && !in->mid_frame);
    return ST_OK;
}

bool input_at_end(const Input *in) { return in->at_end; }
int64_t input_size(const Input *in) { return in->size; }
int64_t input_position(const Input *in) { return in->offset; }
bool input_compressed(const Input *in) { return in->codec != CODEC_NONE; }

void input_close(Input *in) {
    if (!in) return;
    if (in->gzip_ready) (void)inflateEnd(&in->gzip);
    if (in->zstd) (void)ZSTD_freeDCtx(in->zstd);
    if (in->file) (void)in->vfs->close(in->file, NULL);
    if (in->charged) mem_discharge(in->account, in->charged);
    if (in->in) mem_free(in->account, in->in, IN_BYTES);
    if (in->path) mem_free(in->account, in->path, (int64_t)strlen(in->path) + 1);
    mem_free(in->account, in, (int64_t)sizeof *in);
}
