/* err.c - error objects: see err.h for the contract.
 *
 * All text lives inside the Err, cut on a UTF-8 boundary, so nothing here allocates
 * and reporting "out of memory" cannot fail. A NULL Err is accepted everywhere: the
 * caller then only learns that the call failed.
 */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/key.h"

/* Length of `s` without an incomplete UTF-8 sequence at its end. */
static size_t cut_utf8(const char *s, size_t len) {
    size_t back = 0;
    while (back < len && back < 4 && ((unsigned char)s[len - 1 - back] & 0xC0) == 0x80) back++;
    if (back == len || back == 4) return len; /* not UTF-8 at all: leave it */
    unsigned char lead = (unsigned char)s[len - 1 - back];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return back + 1 < need ? len - 1 - back : len;
}

static void format_into(char *buf, size_t size, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);
static void format_into(char *buf, size_t size, const char *fmt, va_list ap) {
    int n = vsnprintf(buf, size, fmt, ap);
    if (n < 0) {
        buf[0] = 0;
    } else if ((size_t)n >= size) {
        buf[cut_utf8(buf, size - 1)] = 0;
    }
    key_names_only(buf);
}

/* Adds a line to the context. When it is full, lines in the middle go: what stays are the first ones, where it
 * happened, and the last, where that came from. */
static void append_context(Err *e, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static void append_context(Err *e, const char *fmt, va_list ap) {
    static const char gap[] = "\n...\n";
    enum { HEAD = 400, LINE = 600 };
    static_assert(HEAD + LINE + sizeof gap < sizeof e->context, "a line fits");
    char line[LINE];
    format_into(line, sizeof line, fmt, ap);
    size_t used = strlen(e->context), more = strlen(line) + 1;
    if (used + more >= sizeof e->context) {
        char *at = strstr(e->context, gap);
        if (!at) {
            for (at = e->context + HEAD; at > e->context && *at != '\n';) at--;
            if (at == e->context) at = e->context + cut_utf8(e->context, HEAD); /* a single line */
        }
        memcpy(at, gap, sizeof gap);
        used = (size_t)(at - e->context) + sizeof gap - 2; /* the line brings its own end */
    }
    if (used) e->context[used++] = '\n';
    memcpy(e->context + used, line, more);
}

void err_clear(Err *e) {
    if (!e) return;
    e->sqlstate[0] = 0;
    e->position = 0;
    e->message[0] = e->detail[0] = e->hint[0] = e->context[0] = 0;
    for (int i = 0; i < ERR_FIELDS; i++) e->names[i][0] = 0;
}

void err_copy(Err *dst, const Err *src) {
    if (dst && src && dst != src) *dst = *src;
}

static Status set_v(Err *e, int64_t position, const char *sqlstate, const char *fmt, va_list ap) PRINTF_LIKE(4, 0);
static Status set_v(Err *e, int64_t position, const char *sqlstate, const char *fmt, va_list ap) {
    if (!e) return ST_ERROR;
    if (err_is_set(e)) {
        append_context(e, fmt, ap);
        return ST_ERROR;
    }
    err_clear(e);
    memcpy(e->sqlstate, sqlstate, 5);
    e->sqlstate[5] = 0;
    e->position = position;
    format_into(e->message, sizeof e->message, fmt, ap);
    return ST_ERROR;
}

Status err_vset(Err *e, const char *sqlstate, const char *fmt, va_list ap) { return set_v(e, 0, sqlstate, fmt, ap); }

Status err_set(Err *e, const char *sqlstate, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    set_v(e, 0, sqlstate, fmt, ap);
    va_end(ap);
    return ST_ERROR;
}

Status err_at(Err *e, int64_t position, const char *sqlstate, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    set_v(e, position, sqlstate, fmt, ap);
    va_end(ap);
    return ST_ERROR;
}

void err_detail(Err *e, const char *fmt, ...) {
    if (!e || !err_is_set(e)) return;
    va_list ap;
    va_start(ap, fmt);
    format_into(e->detail, sizeof e->detail, fmt, ap);
    va_end(ap);
}

void err_hint(Err *e, const char *fmt, ...) {
    if (!e || !err_is_set(e)) return;
    va_list ap;
    va_start(ap, fmt);
    format_into(e->hint, sizeof e->hint, fmt, ap);
    va_end(ap);
}

void err_context(Err *e, const char *fmt, ...) {
    if (!e || !err_is_set(e)) return;
    va_list ap;
    va_start(ap, fmt);
    append_context(e, fmt, ap);
    va_end(ap);
}

void err_names(Err *e, const ErrNames *n) {
    if (!e || !err_is_set(e)) return;
    for (int i = 0; i < ERR_FIELDS; i++) {
        if (!n->of[i]) continue;
        const char *name = name_of_key(n->of[i]);
        size_t len = strlen(name);
        if (len >= sizeof e->names[i]) len = cut_utf8(name, sizeof e->names[i] - 1);
        memcpy(e->names[i], name, len);
        e->names[i][len] = 0;
    }
}

/* The names of a table and its schema. */
static void names_of_table(Err *e, const char *table, const char *column, const char *constraint) {
    char schema[sizeof e->names[0]];
    const Slice in = schema_of_key(table);
    snprintf(schema, sizeof schema, "%.*s", (int)in.len, in.ptr);
    err_names(
        e, &(ErrNames){
               .of = {[EF_SCHEMA] = schema, [EF_TABLE] = table, [EF_COLUMN] = column, [EF_CONSTRAINT] = constraint}});
}
void err_of_column(Err *e, const char *table, const char *column) { names_of_table(e, table, column, NULL); }
void err_of_constraint(Err *e, const char *table, const char *constraint) {
    names_of_table(e, table, NULL, constraint);
}

ErrNames err_names_of(const Err *e) {
    ErrNames n = {0};
    for (int i = 0; i < ERR_FIELDS; i++)
        if (e->names[i][0]) n.of[i] = e->names[i];
    return n;
}

Status err_oom(Err *e) {
    err_set(e, ERR_OUT_OF_MEMORY, "out of memory");
    return ST_ERROR;
}

static const char *errno_sqlstate(int errnum) {
    switch (errnum) {
    case ENOENT:
    case ENOTDIR: return ERR_UNDEFINED_FILE;
    case EEXIST: return ERR_DUPLICATE_FILE;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ERR_DISK_FULL;
    case ENOMEM: return ERR_OUT_OF_MEMORY;
    case EMFILE:
    case ENFILE: return ERR_INSUFFICIENT_RESOURCES;
    case EIO: return ERR_IO;
    case EACCES:
    case EPERM:
    case EROFS: return ERR_IO;
    default: return ERR_IO;
    }
}

Status err_errno(Err *e, int errnum, const char *what, const char *path) {
    char reason[128];
    /* The GNU strerror_r: thread-safe, and may return static text instead of filling the buffer. */
    const char *text = strerror_r(errnum, reason, sizeof reason);
    if (path) return err_set(e, errno_sqlstate(errnum), "could not %s file \"%s\": %s", what, path, text);
    return err_set(e, errno_sqlstate(errnum), "could not %s: %s", what, text);
}

Status err_corrupted(Err *e, const char *path, int64_t at, const char *reason) {
    return err_set(e, ERR_DATA_CORRUPTED, "file \"%s\" is corrupted at offset %" PRId64 ": %s", path, at, reason);
}

Status err_internal_at(Err *e, const char *file, int line, const char *fmt, ...) {
    const char *slash = strrchr(file, '/');
    bool first = e && !err_is_set(e);
    va_list ap;
    va_start(ap, fmt);
    set_v(e, 0, ERR_INTERNAL, fmt, ap);
    va_end(ap);
    if (first) {
        err_context(e, "at %s:%d", slash ? slash + 1 : file, line);
        err_hint(e, "This is a bug in Stele. Please report it with the statement that caused it.");
    }
    return ST_ERROR;
}
