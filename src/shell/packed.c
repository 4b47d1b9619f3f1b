/* packed.c - see packed.h. By fopencookie: a stream whose reads and writes are functions. */
#include "shell/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 3, TAKE = 128 << 10, STREAM = 64 << 10 };

typedef struct Packed {
    int fd;
    ZSTD_DStream *in; /* NULL: the file is not compressed */
    ZSTD_CStream *out;
    bool failed, begun, ended; /* ended: at the end of a frame, or of a file that has none */
    PackedTail *tail;
    size_t at, n; /* of `buf`: what was read and not used */
    char buf[TAKE];
} Packed;

static bool write_whole(int fd, const char *p, size_t n) {
    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}
static void packed_free(Packed *p) {
    ZSTD_freeDStream(p->in);
    ZSTD_freeCStream(p->out);
    free(p);
}

/* ---- reading ---- */
static void note_tail(PackedTail *t, const char *p, size_t n) {
    if (n >= sizeof t->bytes) {
        memcpy(t->bytes, p + n - sizeof t->bytes, sizeof t->bytes);
        t->n = sizeof t->bytes;
        return;
    }
    const size_t keep = t->n + n > sizeof t->bytes ? sizeof t->bytes - n : t->n;
    memmove(t->bytes, t->bytes + t->n - keep, keep);
    memcpy(t->bytes + keep, p, n);
    t->n = keep + n;
}
static bool fill(Packed *p) {
    const ssize_t got = read(p->fd, p->buf, sizeof p->buf);
    p->at = 0;
    p->n = got > 0 ? (size_t)got : 0;
    return got >= 0;
}
/* -1: an error of the file. */
static ssize_t decompress(Packed *p, char *to, size_t size) {
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos == 0) {
        if (p->at == p->n && !fill(p)) return -1;
        if (p->n == 0 && p->ended) return 0;
        if (p->n == 0) return errno = EBADMSG, -1; /* it ends within a frame */
        ZSTD_inBuffer in = {p->buf + p->at, p->n - p->at, 0};
        const size_t left = ZSTD_decompressStream(p->in, &out, &in);
        if (ZSTD_isError(left)) return errno = EBADMSG, -1;
        p->at += in.pos;
        p->ended = left == 0;
    }
    return (ssize_t)out.pos;
}
static ssize_t plain(Packed *p, char *to, size_t size) {
    if (p->at == p->n && !fill(p)) return -1;
    const size_t n = p->n - p->at < size ? p->n - p->at : size;
    memcpy(to, p->buf + p->at, n);
    p->at += n;
    return (ssize_t)n;
}
/* What the file is shows in its first bytes. */
static bool begin(Packed *p) {
    static const char magic[4] = "\x28\xB5\x2F\xFD";
    while (p->n < sizeof magic) {
        const ssize_t got = read(p->fd, p->buf + p->n, sizeof p->buf - p->n);
        if (got < 0) return false;
        if (got == 0) break;
        p->n += (size_t)got;
    }
    p->begun = true;
    if (p->n < sizeof magic || memcmp(p->buf, magic, sizeof magic) != 0) return true;
    p->in = ZSTD_createDStream();
    if (!p->in) errno = ENOMEM;
    return p->in != NULL;
}
static ssize_t read_packed(void *cookie, char *to, size_t size) {
    Packed *p = cookie;
    if (!p->begun && !begin(p)) return -1;
    const ssize_t n = p->in ? decompress(p, to, size) : plain(p, to, size);
    if (n > 0 && p->tail) note_tail(p->tail, to, (size_t)n);
    return n;
}
static int close_read(void *cookie) {
    Packed *p = cookie;
    const int st = p->fd == STDIN_FILENO ? 0 : close(p->fd);
    packed_free(p);
    return st;
}

/* ---- writing ---- */
static bool compress(Packed *p, const char *from, size_t n, ZSTD_EndDirective how) {
    ZSTD_inBuffer in = {from, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {p->buf, sizeof p->buf, 0};
        left = ZSTD_compressStream2(p->out, &out, &in, how);
        if (ZSTD_isError(left)) return errno = ENOMEM, false;
        if (!write_whole(p->fd, p->buf, out.pos)) return false;
    } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return true;
}
static ssize_t write_packed(void *cookie, const char *from, size_t n) {
    Packed *p = cookie;
    if (compress(p, from, n, ZSTD_e_continue)) return (ssize_t)n;
    p->failed = true;
    return 0;
}
static int close_write(void *cookie) {
    Packed *p = cookie;
    bool ok = !p->failed && compress(p, NULL, 0, ZSTD_e_end);
    if (ok && fsync(p->fd) != 0) ok = errno == EINVAL || errno == EROFS; /* no file that is on a disk: a pipe */
    const int why = errno;
    if (close(p->fd) != 0 && ok) return packed_free(p), EOF;
    packed_free(p);
    errno = why;
    return ok ? 0 : EOF;
}

static FILE *stream_of(Packed *p, const char *mode, cookie_io_functions_t f) {
    FILE *out = fopencookie(p, mode, f);
    if (out && setvbuf(out, NULL, _IOFBF, STREAM) == 0) return out;
    if (out) (void)fclose(out);
    if (out) return errno = ENOMEM, NULL;
    if (p->fd != STDIN_FILENO) (void)close(p->fd);
    packed_free(p);
    errno = ENOMEM;
    return NULL;
}
FILE *packed_read(const char *path, PackedTail *tail) {
    Packed *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->tail = tail;
    p->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0) return free(p), NULL;
    return stream_of(p, "r", (cookie_io_functions_t){.read = read_packed, .close = close_read});
}
FILE *packed_write(const char *path) {
    Packed *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->out = ZSTD_createCStream();
    p->fd = p->out ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    const bool set = p->out && !ZSTD_isError(ZSTD_CCtx_setParameter(p->out, ZSTD_c_compressionLevel, LEVEL)) &&
                     !ZSTD_isError(ZSTD_CCtx_setParameter(p->out, ZSTD_c_checksumFlag, 1));
    if (p->fd >= 0 && set)
        return stream_of(p, "w", (cookie_io_functions_t){.write = write_packed, .close = close_write});
    const int why = p->out ? errno : ENOMEM;
    if (p->fd >= 0) (void)close(p->fd);
    packed_free(p);
    errno = why;
    return NULL;
}
