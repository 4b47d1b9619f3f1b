/* zone_file.c - files of the time zone database: TZif (RFC 8536, and version 4 of RFC 9636).
 *
 *   header    44 bytes: "TZif", version, 15 unused, six counts of 32 bits
 *   block     times of changes, the part that begins at each, parts (offset, summer, abbreviation), letters, leap
 *             seconds, two lists of flags that only zones without rules need
 *   version 2 and later: once more with times of 64 bits, then a line with a rule (zone_rule.c) for times behind the
 *             last change. The first block is skipped.
 * All numbers are big-endian. Any user may have written the file that TZDIR leads to: everything is checked before it
 * is used. Zones with leap seconds are refused, as in PostgreSQL.
 *
 * Names are looked up directory by directory, in any case of their letters; parts that begin with a point are not
 * found, so that no name leads out of the directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "types/zone_int.h"

enum { HEADER = 44, FILE_MAX = 1 << 20, PATH_ROOM = 4096 };

/* ---- decoding ---- */

typedef struct Counts {
    int64_t is_ut, is_std, leaps, times, parts, chars;
} Counts;

static uint32_t be32(const char *p) {
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}
static int64_t be64(const char *p) { return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4)); }

static bool read_header(Slice b, int64_t at, Counts *c, char *version) {
    if (b.len - at < HEADER || memcmp(b.ptr + at, "TZif", 4) != 0) return false;
    const char *p = b.ptr + at + 20;
    *version = b.ptr[at + 4];
    *c = (Counts){be32(p), be32(p + 4), be32(p + 8), be32(p + 12), be32(p + 16), be32(p + 20)};
    return true;
}
/* Counts are below 2^32: the sum stays within 64 bits. */
static int64_t block_bytes(const Counts *c, int64_t time_bytes) {
    return c->times * (time_bytes + 1) + c->parts * 6 + c->chars + c->leaps * (time_bytes + 4) + c->is_std + c->is_ut;
}
static const char *check_counts(const Counts *c, int64_t time_bytes, int64_t room) {
    if (block_bytes(c, time_bytes) > room) return "It ends too early.";
    if (c->leaps > 0) return "It counts leap seconds, which are not supported.";
    if (c->parts < 1 || c->parts > ZONE_PARTS_MAX || c->chars < 1) return "Its header has impossible counts.";
    if ((c->is_ut && c->is_ut != c->parts) || (c->is_std && c->is_std != c->parts))
        return "Its header has impossible counts.";
    return NULL;
}

/* The block at p, whose counts are checked. */
static const char *fill(Zone *z, const Counts *c, const char *p, int64_t time_bytes, char *chars) {
    int64_t *times = (int64_t *)(uintptr_t)z->times;
    uint8_t *kinds = (uint8_t *)(uintptr_t)z->kinds;
    ZonePart *parts = (ZonePart *)(uintptr_t)z->parts;
    for (int64_t i = 0; i < c->times; i++, p += time_bytes) {
        times[i] = time_bytes == 8 ? be64(p) : (int32_t)be32(p);
        if (i > 0 && times[i] <= times[i - 1]) return "Its times are not in order.";
    }
    for (int64_t i = 0; i < c->times; i++) {
        kinds[i] = (uint8_t)*p++;
        if (kinds[i] >= c->parts) return "A change names a type of local time that it does not have.";
    }
    memcpy(chars, p + c->parts * 6, (size_t)c->chars);
    for (int64_t i = 0; i < c->parts; i++, p += 6) {
        const int64_t offset = (int32_t)be32(p), abbrev = (uint8_t)p[5];
        if (offset <= -ZONE_OFFSET_END || offset >= ZONE_OFFSET_END) return "An offset from UTC is out of range.";
        if ((uint8_t)p[4] > 1) return "A flag of summer time is neither 0 nor 1.";
        if (abbrev >= c->chars || !memchr(chars + abbrev, 0, (size_t)(c->chars - abbrev)))
            return "An abbreviation has no end.";
        if (strlen(chars + abbrev) > ZONE_ABBREV_MAX) return "An abbreviation is too long.";
        parts[i] = (ZonePart){.offset = (int32_t)offset, .summer = p[4] == 1, .abbrev = chars + abbrev};
    }
    return NULL;
}

/* "\nRULE\n"; the rule may be empty. */
static const char *read_footer(Zone *z, Slice b, int64_t at) {
    if (at >= b.len || b.ptr[at] != '\n') return "It has no last line.";
    const char *from = b.ptr + at + 1, *end = memchr(from, '\n', (size_t)(b.len - at - 1));
    if (!end) return "Its last line has no end.";
    z->has_rule = end > from;
    return z->has_rule && !zone_rule_parse((Slice){from, end - from}, &z->rule) ? "Its last line is not a rule." : NULL;
}

Status zone_decode(const char *key, const char *name, Slice b, Zone **out, const char **fault, Err *e) {
    Counts c;
    char version, *chars;
    int64_t at = HEADER, time_bytes = 4;
    *out = NULL;
    *fault = NULL;
    if (!read_header(b, 0, &c, &version)) return *fault = "It does not begin as such a file does.", ST_ERROR;
    if (version != 0 && (version < '2' || version > '4')) return *fault = "Its version is not known.", ST_ERROR;
    if (version != 0) {
        time_bytes = 8;
        if (block_bytes(&c, 4) > b.len - at) return *fault = "It ends too early.", ST_ERROR;
        at += block_bytes(&c, 4);
        if (!read_header(b, at, &c, &version)) return *fault = "It has no second header.", ST_ERROR;
        at += HEADER;
    }
    if ((*fault = check_counts(&c, time_bytes, b.len - at))) return ST_ERROR;
    Zone *z = zone_new(key, name, c.times, (int32_t)c.parts, c.chars, &chars, e);
    if (!z) return ST_ERROR;
    *fault = fill(z, &c, b.ptr + at, time_bytes, chars);
    if (!*fault && time_bytes == 8) *fault = read_footer(z, b, at + block_bytes(&c, 8));
    if (*fault) return zone_free(z), ST_ERROR;
    *out = z;
    return ST_OK;
}

/* ---- files ---- */

const char *zone_directory(void) {
    const char *d = getenv("TZDIR");
    return d && *d ? d : "/usr/share/zoneinfo";
}

/* The entry of a directory with that name, else one that has it in another case of its letters. */
static bool find_entry(const char *dir, Slice name, char *out) {
    DIR *d = opendir(dir);
    bool found = false;
    if (!d || name.len == 0 || *name.ptr == '.') {
        if (d) closedir(d);
        return false;
    }
    for (const struct dirent *x = readdir(d); x; x = readdir(d)) {
        if ((int64_t)strlen(x->d_name) != name.len || strncasecmp(x->d_name, name.ptr, (size_t)name.len) != 0) continue;
        const bool same = memcmp(x->d_name, name.ptr, (size_t)name.len) == 0;
        if (!found || same) memcpy(out, x->d_name, (size_t)name.len + 1);
        found = true;
        if (same) break;
    }
    closedir(d);
    return found;
}

/* The path of a name, which is put in its own spelling behind the directory, where *at is. */
static bool find_path(Slice name, char *path, int64_t *at) {
    const char *dir = zone_directory();
    *at = snprintf(path, PATH_ROOM, "%s", dir) + 1;
    if (*at + name.len + 1 > PATH_ROOM) return false;
    for (int64_t from = 0, to, len = *at - 1; from <= name.len; from = to + 1) {
        for (to = from; to < name.len && name.ptr[to] != '/';) to++;
        char found[ZONE_NAME_MAX + 1];
        if (!find_entry(path, (Slice){name.ptr + from, to - from}, found)) return false;
        path[len++] = '/';
        memcpy(path + len, found, (size_t)(to - from) + 1);
        len += to - from;
    }
    return true;
}

static Status unusable(Err *e, Slice name, const char *path, const char *fault) {
    err_set(e, ERR_INVALID_PARAMETER, "time zone \"%.*s\" not recognized", (int)name.len, name.ptr);
    err_detail(e, "The file \"%s\" cannot be used: %s", path, fault);
    return ST_ERROR;
}

Status zone_read(const char *key, Slice name, Zone **out, Err *e) {
    char path[PATH_ROOM];
    int64_t at, n = 0;
    struct stat st;
    const char *fault = NULL;
    *out = NULL;
    if (!find_path(name, path, &at)) return ST_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return unusable(e, name, path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return close(fd), ST_OK; /* a directory of zones */
    char *bytes = st.st_size > FILE_MAX ? NULL : mem_alloc(NULL, st.st_size + 1, e);
    while (bytes && n < st.st_size) {
        const ssize_t got = read(fd, bytes + n, (size_t)(st.st_size - n));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fault = strerror(errno);
        if (got <= 0) break;
        n += got;
    }
    close(fd);
    if (st.st_size > FILE_MAX) return unusable(e, name, path, "It is too large.");
    if (!bytes) return ST_ERROR;
    Status done = fault ? ST_ERROR : zone_decode(key, path + at, (Slice){bytes, n}, out, &fault, e);
    mem_free(NULL, bytes, st.st_size + 1);
    return done != ST_OK && fault ? unusable(e, name, path, fault) : done;
}
