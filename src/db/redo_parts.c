/* redo_parts.c - see redo_parts.h. */
#include "db/redo_parts.h"

#include <string.h>

#include "base/delta.h"
#include "base/hash.h"
#include "db/catalog_file.h"

/* ---- writing ---- */
static void put_kind(BytesOut *o, RedoKind kind) { bytes_put(o, &(char){(char)kind}, 1); }

void redo_put_file(BytesOut *o, RedoKind kind, int64_t id, const char *name, int64_t seal) {
    put_kind(o, kind);
    if (kind == REDO_TABLE) bytes_put_short(o, id);
    bytes_put_text(o, name);
    bytes_put_i64(o, seal);
}
void redo_put_rows_head(BytesOut *o, int64_t table, int64_t n) {
    put_kind(o, REDO_ROWS);
    bytes_put_short(o, table);
    bytes_put_short(o, n);
}
static void put_bytes(BytesOut *o, const BytesOut *bytes) {
    bytes_put_short(o, bytes->len);
    bytes_put(o, bytes->p, bytes->len);
}
void redo_put_bulk(BytesOut *o, const BytesOut *inputs) {
    put_kind(o, REDO_BULK);
    put_bytes(o, inputs);
}
void redo_put_bytes(BytesOut *o, RedoKind kind, int64_t id, const BytesOut *bytes) {
    put_kind(o, kind);
    bytes_put_short(o, id);
    put_bytes(o, bytes);
}
static int64_t seal_of(const BytesOut *o) { return (int64_t)catalog_bytes_seal(o->p, o->len); }
void redo_put_definitions(BytesOut *o, const BytesOut *before, const BytesOut *now) {
    BytesOut delta = {.acct = o->acct, .e = o->e};
    if (seal_of(before) == seal_of(now)) return;
    delta_put(&delta, before->p, before->len, now->p, now->len);
    o->failed |= delta.failed;
    put_kind(o, REDO_DEFINITIONS);
    bytes_put_i64(o, seal_of(before));
    bytes_put_i64(o, seal_of(now));
    bytes_put_short(o, delta.len);
    bytes_put(o, delta.p, delta.len);
    bytes_out_release(&delta);
}
Status redo_apply_definitions(const RedoPart *p, const BytesOut *before, BytesOut *out, bool *valid, Err *e) {
    BytesIn in = p->bytes;
    *valid = seal_of(before) == p->before && delta_apply(&in, before->p, before->len, out);
    if (out->failed) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *valid = *valid && seal_of(out) == p->seal && checksum_matches(out->p, out->len - 8, (uint64_t)p->seal);
    return ST_OK;
}
void redo_put_sequence(BytesOut *o, int64_t sequence, int64_t last, bool called) {
    put_kind(o, REDO_SEQUENCE);
    bytes_put_short(o, sequence);
    bytes_put_short(o, last);
    bytes_put_bool(o, called);
}
void redo_put_next(BytesOut *o, int64_t generation) {
    put_kind(o, REDO_NEXT);
    bytes_put_short(o, generation);
}

/* ---- reading ---- */
static void get_file(BytesIn *in, RedoPart *p) {
    p->file = bytes_get_text(in, false);
    p->seal = bytes_get_i64(in);
    in->failed |= !p->file || !*p->file || strchr(p->file, '/');
}
static void get_table(BytesIn *in, RedoPart *p) {
    p->id = bytes_get_short(in);
    get_file(in, p);
}
static void get_bulk(BytesIn *in, RedoPart *p) {
    const int64_t n = bytes_get_short_count(in, in->len - in->at);
    in->failed |= n > in->len - in->at;
    p->bytes = (BytesIn){.p = in->p + in->at, .len = in->failed ? 0 : n, .arena = in->arena};
    in->at += p->bytes.len;
}
static void get_bytes(BytesIn *in, RedoPart *p) {
    p->id = bytes_get_short(in);
    get_bulk(in, p);
}
static void get_definitions(BytesIn *in, RedoPart *p) {
    p->before = bytes_get_i64(in);
    p->seal = bytes_get_i64(in);
    get_bulk(in, p);
}
static void get_sequence(BytesIn *in, RedoPart *p) {
    p->id = bytes_get_short(in);
    p->last = bytes_get_short(in);
    p->called = bytes_get_bool(in);
}
static void get_next(BytesIn *in, RedoPart *p) {
    p->id = bytes_get_short(in);
    in->failed |= p->id <= 0;
}

static const struct {
    RedoKind kind;
    const char *name;
    void (*get)(BytesIn *in, RedoPart *p);
} kinds[] = {
    {REDO_CATALOG, "catalog", get_file},       {REDO_DEFINITIONS, "definitions", get_definitions},
    {REDO_TABLE, "table", get_table},          {REDO_ROWS, "rows", get_bytes},
    {REDO_SEQUENCE, "sequence", get_sequence}, {REDO_BULK, "bulk", get_bulk},
    {REDO_OUTCOME, "outcome", get_bytes},      {REDO_NUMBERS, "numbers", get_bytes},
    {REDO_NEXT, "continued", get_next},
};

void redo_get_part(BytesIn *in, RedoPart *out) {
    char kind = 0;
    int64_t i = 0;
    *out = (RedoPart){0};
    bytes_get(in, &kind, 1);
    while (i < ARRAY_LEN(kinds) && (char)kinds[i].kind != kind) i++;
    in->failed |= i == ARRAY_LEN(kinds);
    if (in->failed) return;
    out->kind = kinds[i].kind;
    out->name = kinds[i].name;
    kinds[i].get(in, out);
}

/* ---- files ---- */
Status redo_read_seal(Vfs *vfs, const char *path, RedoKind kind, int64_t *bytes, int64_t *seal, Err *e) {
    enum { IN_TABLE = 56, SIZE = 8 }; /* table_file.c; a catalog has it at its end */
    VfsFile *f;
    Err late = {0};
    int64_t got = 0;
    *seal = 0;
    TRY(vfs->open(vfs, path, VFS_READ, &f, e));
    Status st = vfs->size(f, bytes, e);
    const int64_t at = kind == REDO_TABLE ? (int64_t)IN_TABLE : *bytes - SIZE;
    if (st == ST_OK && at >= 0) st = vfs->read_at(f, seal, SIZE, at, &got, e);
    (void)vfs->close(f, &late);
    return st;
}
Status redo_check_seal(Vfs *vfs, const char *path, RedoKind kind, int64_t seal, Err *e) {
    bool there;
    int64_t bytes = 0, found = 0;
    TRY(vfs->exists(vfs, path, &there, e));
    if (!there) return err_corrupted(e, path, 0, "file is missing");
    TRY(redo_read_seal(vfs, path, kind, &bytes, &found, e));
    return found == seal ? ST_OK : err_corrupted(e, path, 0, "file is not the one that the redo log names");
}
