/* copy_reject.c - rows that cannot be read, kept for a file of rejects (COPY ... ON_ERROR ignore, REJECT 'path'). */
#include <stdio.h>
#include <stdlib.h>

#include "io/copy_int.h"

Status copy_reject(CopyRejects *r, Arena *a, const CopyParser *p, int64_t order, const char *buf, const char *end) {
    if (r->n == r->cap) {
        int64_t cap = MAX_OF(r->cap * 2, 16);
        CopyReject *items = arena_array(a, CopyReject, cap);
        if (!items) return ST_ERROR;
        if (r->n) memcpy(items, r->items, (size_t)r->n * sizeof *items);
        r->items = items;
        r->cap = cap;
    }
    const char *row = p->fail_row, *stop = copy_record_end(p, row, end);
    if (stop == end && p->sentinel) stop--;
    if (stop > row && stop[-1] == '\r') stop--;
    CopyReject *x = &r->items[r->n];
    *x = (CopyReject){.order = order,
                      .col = p->fail_col >= 0 ? p->cols[p->fail_col].name : NULL,
                      .sqlstate = arena_strdup(a, p->err.sqlstate),
                      .message = arena_strdup(a, p->err.message),
                      .text = arena_strndup(a, row, stop - row)};
    for (const char *s = buf; s < row && (s = memchr(s, p->eol, (size_t)(row - s))); s++) x->line++;
    if (!x->sqlstate || !x->message || !x->text) return ST_ERROR;
    r->n++;
    return ST_OK;
}

static int by_place(const void *x, const void *y) {
    const CopyReject *a = x, *b = y;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* "text" with its quotes doubled, and what follows it. */
static char *put_quoted(char *w, const char *text, char after) {
    *w++ = '"';
    for (; *text; text++) {
        if (*text == '"') *w++ = '"';
        *w++ = *text;
    }
    *w++ = '"';
    *w++ = after;
    return w;
}

Status copy_reject_write(CopyReject *all, int64_t n, const int64_t *lines, int64_t n_blocks, int64_t lines_before,
                         Vfs *vfs, const char *path, MemAccount *account, Err *e) {
    static const char head[] = "line,column_name,sqlstate,message,record\n";
    int64_t size = (int64_t)sizeof head, block = 0, before = lines_before;
    if (n > 0) qsort(all, (size_t)n, sizeof *all, by_place);
    for (int64_t i = 0; i < n; i++) {
        for (; block < all[i].order && block < n_blocks; block++) before += lines[block];
        all[i].line += before + 1;
        size +=
            64 + 2 * (int64_t)((all[i].col ? strlen(all[i].col) : 0) + strlen(all[i].message) + strlen(all[i].text));
    }
    char *buf = mem_alloc(account, size, e), *w = buf;
    if (!buf) return ST_ERROR;
    memcpy(w, head, sizeof head - 1);
    w += sizeof head - 1;
    for (int64_t i = 0; i < n; i++) {
        const CopyReject *x = &all[i];
        w += snprintf(w, 32, "%lld,", (long long)x->line);
        if (x->col) w = put_quoted(w, x->col, ',');
        else *w++ = ',';
        w += snprintf(w, 16, "%s,", x->sqlstate);
        w = put_quoted(w, x->message, ',');
        w = put_quoted(w, x->text, '\n');
    }
    Status st = vfs_write_file(vfs, path, buf, w - buf, e);
    mem_free(account, buf, size);
    return st;
}
