/* table_file.c - see table_file.h.
 *
 * Everything that is read is covered by a checksum and checked for shape before it is used, so that damaged files end
 * in XX001 with file and offset and never in a crash.
 */
#include "storage/table_file.h"

#include "base/bytes.h"
#include "storage/storage_int.h"
#include "storage/table_version.h"
#include "types/array.h"
#include "types/composite.h"
#include "types/range.h"

#define TABLE_MAGIC "STELETBL"
enum { TABLE_FORMAT = 1, TABLE_FORMAT_BASES = 2, SECTION_ALIGN = 64 };

typedef enum SectionKind { SECTION_META = 1, SECTION_DICT = 2, SECTION_TABLET = 3, SECTION_DELETED = 4 } SectionKind;
typedef struct TableFileHeader {
    char magic[8];
    uint32_t format;
    uint32_t n_sections;
    uint64_t table_id;
    uint64_t directory_offset;
    uint64_t file_bytes;
    uint64_t directory_checksum;
    uint64_t n_bases;
    uint64_t checksum; /* of the 56 bytes before */
} TableFileHeader;
typedef struct Section {
    uint16_t kind;
    uint16_t file;
    uint32_t index; /* column or tablet */
    uint64_t offset;
    uint64_t bytes; /* multiple of 64 */
    uint64_t checksum;
} Section;
typedef struct BaseEntry {
    uint64_t seal; /* the checksum in its header */
    uint64_t bytes;
    uint64_t zero[2];
} BaseEntry;
static_assert(sizeof(TableFileHeader) == 64 && sizeof(Section) == 32 && sizeof(BaseEntry) == 32, "file format");
static_assert(offsetof(TableFileHeader, checksum) == 56, "file format");

/* ---- saving tables ---- */
typedef struct TableWriter {
    VfsFile *file;
    int64_t at;
    BytesOut directory;
    uint32_t n;
    const TableSave *how;
    int64_t unsynced;
    Err *e;
} TableWriter;
/* At the end of what is there. */
static Status write_bytes(TableWriter *w, const char *p, int64_t n) {
    enum { PIECE = 1 << 20 };
    const TablePace *pace = w->how->pace;
    for (int64_t some; n > 0; p += some, n -= some) {
        some = pace ? MIN_OF(n, PIECE - w->unsynced) : n;
        TRY(w->file->vfs->write_at(w->file, p, some, w->at, w->e));
        w->at += some;
        w->unsynced += some;
        if (!pace || w->unsynced < PIECE) continue;
        TRY(w->file->vfs->sync(w->file, w->e));
        TRY(pace->fn(pace->ctx, w->e));
        w->unsynced = 0;
    }
    return ST_OK;
}
static Status put_section(TableWriter *w, SectionKind kind, int64_t index, const FilePart *p) {
    const Section s = {(uint16_t)kind,      (uint16_t)p->file,  (uint32_t)index,
                       (uint64_t)p->offset, (uint64_t)p->bytes, p->checksum};
    bytes_put(&w->directory, &s, (int64_t)sizeof s);
    w->n++;
    return w->directory.failed ? ST_ERROR : ST_OK;
}
static Status write_section(TableWriter *w, SectionKind kind, int64_t index, const void *bytes, int64_t size,
                            uint64_t checksum, FilePart *out) {
    *out = (FilePart){.offset = w->at, .bytes = size, .checksum = checksum};
    TRY(put_section(w, kind, index, out));
    return write_bytes(w, bytes, size);
}
static Status write_out(TableWriter *w, SectionKind kind, int64_t index, BytesOut *o, FilePart *out) {
    bytes_put_padding(o, SECTION_ALIGN);
    if (o->failed) return ST_ERROR;
    return write_section(w, kind, index, o->p, o->len, checksum64(o->p, o->len), out);
}
/* The piece lies in a base of the file: where. */
static bool find_part(const TableWriter *w, const FilePart *x, FilePart *out) {
    const TableParts *before = w->how->before;
    if (x->bytes == 0) return false;
    *out = *x;
    out->file = table_parts_base(w->how->parts, x->file ? before->bases[x->file - 1].seal : before->own.seal);
    return out->file > 0;
}

static void put_stats(BytesOut *o, const ColumnStats *s) {
    bytes_put_bool(o, s->has_range);
    bytes_put_i64(o, s->min);
    bytes_put_i64(o, s->max);
    bytes_put_i64(o, s->null_count);
    bytes_put_f64(o, s->distinct);
    bytes_put_bool(o, s->unique);
    bytes_put_f64(o, s->avg_width);
    bytes_put_bool(o, s->sorted);
    bytes_put_i64(o, s->n_mcv);
    for (int i = 0; i < s->n_mcv; i++) {
        const Value *v = &s->mcv[i].value;
        Phys p = type_phys(v->type);
        bytes_put_f64(o, s->mcv[i].fraction);
        if (p == PH_STR) bytes_put_block(o, v->u.str.ptr, v->u.str.len);
        else bytes_put_block(o, value_cell_const(v), phys_size(p));
    }
}
static void put_dict(BytesOut *o, const Dict *d) {
    bytes_put_i64(o, d->n);
    bytes_put_i64(o, d->n_sorted);
    for (int32_t i = 0; i < d->n; i++) bytes_put(o, &d->entries[i].len, 4);
    for (int32_t i = 0; i < d->n; i++) bytes_put(o, d->entries[i].ptr, d->entries[i].len);
}
static Status write_block(TableWriter *w, const Table *t, int64_t i, MemAccount *a, FilePart *out) {
    const Tablet *tab = t->tablets[i];
    Tablet *encoded = NULL;
    if (tablet_has_open(tab) || tablet_has_patches(tab)) TRY(tablet_encode(t, tab, a, &encoded, w->e));
    const struct TabletBlock *b = encoded ? encoded->block : tab->block;
    const TabletHeader *h = b->bytes;
    const Status st = write_section(w, SECTION_TABLET, i, b->bytes, b->size, h->checksum, out);
    tablet_free(encoded);
    return st;
}
static Status write_tablet(TableWriter *w, const Table *t, int64_t i, MemAccount *a, TabletPart *out) {
    const Tablet *tab = t->tablets[i];
    bool same = false;
    const TabletPart *x = w->how->before ? table_parts_tablet(w->how->before, t, i, &same) : NULL;
    *out = (TabletPart){.id = tab->block->id, .changes = table_version_changes(t, i)};
    if (x && find_part(w, &x->block, &out->block)) TRY(put_section(w, SECTION_TABLET, i, &out->block));
    else TRY(write_block(w, t, i, a, &out->block));
    if (tab->n_deleted == 0) return ST_OK;
    if (same && find_part(w, &x->deleted, &out->deleted)) return put_section(w, SECTION_DELETED, i, &out->deleted);
    int64_t bytes = align_up((tab->rows + 7) / 8, SECTION_ALIGN);
    return write_section(w, SECTION_DELETED, i, tab->deleted, bytes, checksum64(tab->deleted, bytes), &out->deleted);
}
static Status write_dict(TableWriter *w, const Table *t, int c, BytesOut *o, DictPart *out) {
    const Dict *d = t->cols[c].dict;
    const DictPart *x = w->how->before ? table_parts_dict(w->how->before, t, c) : NULL;
    *out = (DictPart){.id = dict_id(d), .n = d->n, .n_sorted = d->n_sorted};
    if (x && find_part(w, &x->entries, &out->entries)) return put_section(w, SECTION_DICT, c, &out->entries);
    o->len = 0;
    put_dict(o, d);
    return write_out(w, SECTION_DICT, c, o, &out->entries);
}
static void put_meta(BytesOut *o, const Table *t) {
    bytes_put_i64(o, t->n_cols);
    bytes_put_i64(o, t->n_tablets);
    bytes_put_i64(o, t->live_rows);
    bytes_put_i64(o, t->impl->changed_rows);
    for (int c = 0; c < t->n_cols; c++) {
        bytes_put_bool(o, t->cols[c].dict != NULL);
        put_stats(o, &t->cols[c].stats);
    }
}
static Status write_sections(TableWriter *w, const Table *t, MemAccount *a) {
    TableParts *p = w->how->parts;
    BytesOut o = {.acct = a, .e = w->e};
    FilePart meta;
    for (int i = 0; i < p->n_bases; i++) {
        const BaseEntry b = {.seal = p->bases[i].seal, .bytes = (uint64_t)p->bases[i].bytes};
        bytes_put(&w->directory, &b, (int64_t)sizeof b);
    }
    put_meta(&o, t);
    Status st = write_out(w, SECTION_META, 0, &o, &meta);
    for (int c = 0; c < t->n_cols && st == ST_OK; c++)
        if (t->cols[c].dict) st = write_dict(w, t, c, &o, &p->dicts[c]);
    for (int64_t i = 0; i < t->n_tablets && st == ST_OK; i++) st = write_tablet(w, t, i, a, &p->tablets[i]);
    p->n_tablets = t->n_tablets;
    bytes_out_release(&o);
    return st;
}
static Status write_ends(TableWriter *w, const Table *t) {
    TableParts *p = w->how->parts;
    Vfs *vfs = w->file->vfs;
    const BytesOut *d = &w->directory;
    if (d->failed) return ST_ERROR;
    TRY(vfs->write_at(w->file, d->p, d->len, w->at, w->e));
    TableFileHeader h = {.format = p->n_bases > 0 ? TABLE_FORMAT_BASES : TABLE_FORMAT,
                         .n_sections = w->n,
                         .table_id = (uint64_t)t->id,
                         .directory_offset = (uint64_t)w->at,
                         .file_bytes = (uint64_t)(w->at + d->len),
                         .directory_checksum = checksum64(d->p, d->len),
                         .n_bases = (uint64_t)p->n_bases};
    memcpy(h.magic, TABLE_MAGIC, sizeof h.magic);
    h.checksum = checksum64(&h, offsetof(TableFileHeader, checksum));
    TRY(vfs->write_at(w->file, &h, (int64_t)sizeof h, 0, w->e));
    TRY(vfs->sync(w->file, w->e));
    p->own = (PartFile){h.checksum, (int64_t)h.file_bytes};
    return ST_OK;
}
Status table_file_write(const Table *t, Vfs *vfs, const char *path, MemAccount *a, const TableSave *how, Err *e) {
    TableWriter w = {.at = sizeof(TableFileHeader), .how = how, .e = e, .directory = {.acct = a, .e = e}};
    Err late = {0};
    TRY(table_parts_reserve(how->parts, t, e));
    TRY(vfs->remove(vfs, path, e));
    TRY(vfs->open(vfs, path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, &w.file, e));
    Status st = write_sections(&w, t, a);
    if (st == ST_OK) st = write_ends(&w, t);
    if (vfs->close(w.file, st == ST_OK ? e : &late) != ST_OK) st = ST_ERROR;
    bytes_out_release(&w.directory);
    return st;
}
Status table_file_save(const Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e) {
    const TableSave how = {.parts = table_parts_new(e)};
    const Status st = how.parts ? table_file_write(t, vfs, path, a, &how, e) : ST_ERROR;
    table_parts_drop(how.parts);
    return st;
}

TableFile table_file_of(const Table *t, int64_t generation, int64_t lsn) {
    return (TableFile){.generation = generation,
                       .lsn = lsn,
                       .version = t->version,
                       .numbering = table_generation(t),
                       .n_cols = t->n_cols};
}
bool table_file_is(const TableFile *f, const Table *t) {
    return f->generation > 0 && f->version == t->version && f->numbering == table_generation(t) &&
           f->n_cols == t->n_cols;
}
TableFiles *table_files(const Table *t) { return &t->impl->files; }
void table_file_set(TableFile *f, TableFile to) {
    TableParts *was = f->parts;
    *f = to;
    table_parts_drop(was);
}

/* ---- loading tables ---- */
typedef struct TableReader {
    MemAccount *account; /* of what lives while the file is read */
    Vfs *vfs;
    int64_t id; /* of the table */
    VfsFile *file;
    const char *path;
    TableFileHeader h;
    const BaseEntry *bases;
    VfsFile **base_files; /* open, or NULL */
    const char **base_paths;
    Section *dir;
    Arena *arena; /* directory and small sections */
    TableParts *parts;
    Err *e;
} TableReader;

static Status read_exact(const TableReader *r, VfsFile *f, const char *path, void *buf, int64_t n, int64_t at) {
    int64_t got;
    TRY(f->vfs->read_at(f, buf, n, at, &got, r->e));
    return got == n ? ST_OK : err_corrupted(r->e, path, at + got, "file is too short");
}
static const char *section_path(const TableReader *r, const Section *s) {
    return s->file ? r->base_paths[s->file - 1] : r->path;
}
static Status damaged(const TableReader *r, const Section *s, int64_t at, const char *how) {
    return err_corrupted(r->e, section_path(r, s), at, how);
}
static Status read_header(const TableReader *r, VfsFile *f, const char *path, TableFileHeader *h) {
    int64_t size;
    TRY(f->vfs->size(f, &size, r->e));
    if (size < (int64_t)sizeof *h) return err_corrupted(r->e, path, size, "file is too short");
    TRY(read_exact(r, f, path, h, (int64_t)sizeof *h, 0));
    if (memcmp(h->magic, TABLE_MAGIC, sizeof h->magic) != 0) return err_corrupted(r->e, path, 0, "not a table file");
    if (!checksum_matches(h, offsetof(TableFileHeader, checksum), h->checksum))
        return err_corrupted(r->e, path, 0, "header checksum does not match");
    if (h->format != TABLE_FORMAT && h->format != TABLE_FORMAT_BASES)
        return err_corrupted(r->e, path, 8, "unknown format");
    if (h->table_id != (uint64_t)r->id) return err_corrupted(r->e, path, 16, "file belongs to another table");
    if (h->file_bytes != (uint64_t)size)
        return err_corrupted(r->e, path, MIN_OF(size, (int64_t)h->file_bytes), "file has another size");
    if ((h->format == TABLE_FORMAT_BASES) != (h->n_bases > 0) || h->n_bases > BASES_MAX)
        return err_corrupted(r->e, path, 48, "bases do not fit the format");
    return ST_OK;
}
/* Sections of the file's own lie back to back, the others inside of their bases. */
static Status check_places(const TableReader *r) {
    const int64_t at = (int64_t)(r->h.directory_offset + r->h.n_bases * sizeof(BaseEntry));
    uint64_t next = sizeof r->h;
    for (uint32_t i = 0; i < r->h.n_sections; i++) {
        const Section *s = &r->dir[i];
        const uint64_t end = s->file == 0              ? r->h.directory_offset
                             : s->file <= r->h.n_bases ? r->bases[s->file - 1].bytes
                                                       : 0;
        if (s->bytes % SECTION_ALIGN || s->offset > end || s->bytes > end - s->offset ||
            (s->file == 0 ? s->offset != next : s->offset < sizeof r->h))
            return err_corrupted(r->e, r->path, at + (int64_t)i * (int64_t)sizeof *s, "section is misplaced");
        if (s->file == 0) next += s->bytes;
    }
    return next == r->h.directory_offset ? ST_OK
                                         : err_corrupted(r->e, r->path, (int64_t)next, "bytes outside of sections");
}
static Status read_directory(TableReader *r) {
    TRY(read_header(r, r->file, r->path, &r->h));
    const int64_t at = (int64_t)r->h.directory_offset, n_bases = (int64_t)r->h.n_bases, size = (int64_t)r->h.file_bytes,
                  base_bytes = n_bases * (int64_t)sizeof(BaseEntry),
                  bytes = base_bytes + (int64_t)r->h.n_sections * (int64_t)sizeof(Section);
    if (at < (int64_t)sizeof r->h || at > size || bytes != size - at)
        return err_corrupted(r->e, r->path, 24, "directory is misplaced");
    char *p = arena_alloc(r->arena, MAX_OF(bytes, INT64_C(1)));
    r->base_files = arena_array(r->arena, VfsFile *, n_bases + 1);
    r->base_paths = arena_array(r->arena, const char *, n_bases + 1);
    if (!p || !r->base_files || !r->base_paths) return ST_ERROR;
    TRY(read_exact(r, r->file, r->path, p, bytes, at));
    if (!checksum_matches(p, bytes, r->h.directory_checksum))
        return err_corrupted(r->e, r->path, at, "directory checksum does not match");
    r->bases = (const BaseEntry *)(const void *)p;
    r->dir = (Section *)(void *)(p + base_bytes);
    return check_places(r);
}
/* Beside the file. */
static const char *base_path(const TableReader *r, uint64_t seal) {
    char name[PART_NAME_ROOM];
    const char *slash = strrchr(r->path, '/');
    table_part_name(name, r->id, seal);
    return arena_printf(r->arena, "%.*s%s", slash ? (int)(slash + 1 - r->path) : 0, r->path, name);
}
static Status open_file(const TableReader *r, const char *path, VfsFile **out) {
    bool there;
    TRY(r->vfs->exists(r->vfs, path, &there, r->e));
    return there ? r->vfs->open(r->vfs, path, VFS_READ, out, r->e) : err_corrupted(r->e, path, 0, "file is missing");
}
static Status open_bases(TableReader *r) {
    for (uint64_t i = 0; i < r->h.n_bases; i++) {
        const BaseEntry *b = &r->bases[i];
        TableFileHeader h;
        const char *path = r->base_paths[i] = base_path(r, b->seal);
        if (!path) return ST_ERROR;
        TRY(open_file(r, path, &r->base_files[i]));
        TRY(read_header(r, r->base_files[i], path, &h));
        if (h.checksum != b->seal || h.file_bytes != b->bytes)
            return err_corrupted(r->e, path, 0, "file is not the one that the table's file names");
    }
    return ST_OK;
}
static Status open_table(TableReader *r) {
    if (!(r->arena = arena_new(r->account, r->e))) return ST_ERROR;
    arena_set_err(r->arena, r->e);
    TRY(open_file(r, r->path, &r->file));
    return read_directory(r);
}
static void close_table(TableReader *r) {
    Err late = {0};
    for (uint64_t i = 0; i < r->h.n_bases && r->base_files; i++)
        if (r->base_files[i]) (void)r->vfs->close(r->base_files[i], &late);
    if (r->file) (void)r->vfs->close(r->file, &late);
    arena_free(r->arena);
}
/* A whole section in memory of `a`. */
static Status read_section(TableReader *r, MemAccount *a, const Section *s, bool check, void **out) {
    VfsFile *f = s->file ? r->base_files[s->file - 1] : r->file;
    void *p = mem_alloc(a, (int64_t)s->bytes, r->e);
    if (!p) return ST_ERROR;
    Status st = read_exact(r, f, section_path(r, s), p, (int64_t)s->bytes, (int64_t)s->offset);
    if (st == ST_OK && check && !checksum_matches(p, (int64_t)s->bytes, s->checksum))
        st = damaged(r, s, (int64_t)s->offset, "section checksum does not match");
    if (st != ST_OK) {
        mem_free(a, p, (int64_t)s->bytes);
        return st;
    }
    *out = p;
    return ST_OK;
}

/* Cells of NULL rows are empty. */
static bool is_blob(Type t) { return t.id == T_ARRAY || t.id == T_COMPOSITE || type_is_range(t); }
static bool str_fits(Type t, Str s) {
    if (s.len == 0 || !is_blob(t)) return true;
    if (type_is_range(t)) return range_ok(t, s);
    return t.id == T_ARRAY ? array_ok(s, type_phys(type_element(t))) : composite_ok(t, s);
}
static void get_stats(BytesIn *in, Table *t, int c, ColumnStats *s) {
    memset(s, 0, sizeof *s);
    s->has_range = bytes_get_bool(in);
    s->min = bytes_get_i64(in);
    s->max = bytes_get_i64(in);
    s->null_count = bytes_get_i64(in);
    s->distinct = bytes_get_f64(in);
    s->unique = bytes_get_bool(in);
    s->avg_width = bytes_get_f64(in);
    s->sorted = bytes_get_bool(in);
    s->n_mcv = (int)bytes_get_count(in, 8);
    for (int i = 0; i < s->n_mcv; i++) {
        Value v;
        memset(&v, 0, sizeof v);
        v.type = t->cols[c].type;
        Phys p = type_phys(v.type);
        int64_t n;
        s->mcv[i].fraction = bytes_get_f64(in);
        const char *bytes = bytes_get_block(in, &n);
        if (p == PH_STR) {
            v.u.str = str_make(bytes, n);
            if (!str_fits(v.type, v.u.str)) in->failed = true;
        } else if (n == phys_size(p)) memcpy(value_cell(&v), bytes, (size_t)n);
        else in->failed = true;
        if (in->failed || value_copy(t->impl->stats_arena, &v, &s->mcv[i].value) != ST_OK) {
            in->failed = true;
            s->n_mcv = i;
        }
    }
}
static Status load_meta(TableReader *r, Table *t, const Section *s, int64_t *n_tablets, int64_t *live, bool *has_dict) {
    void *p;
    TRY(read_section(r, r->account, s, true, &p));
    BytesIn in = {.p = p, .len = (int64_t)s->bytes};
    int64_t n_cols = bytes_get_i64(&in);
    *n_tablets = bytes_get_i64(&in);
    *live = bytes_get_i64(&in);
    t->impl->changed_rows = bytes_get_i64(&in);
    if (n_cols != t->n_cols) in.failed = true;
    for (int c = 0; c < t->n_cols && !in.failed; c++) {
        has_dict[c] = bytes_get_bool(&in);
        if (has_dict[c] && type_phys(t->cols[c].type) != PH_STR) in.failed = true;
        get_stats(&in, t, c, &t->cols[c].stats);
    }
    mem_free(r->account, p, (int64_t)s->bytes);
    return in.failed ? damaged(r, s, (int64_t)s->offset + in.at, "table description is invalid") : ST_OK;
}
static Status load_dict(TableReader *r, Table *t, const Section *s) {
    void *p;
    TRY(read_section(r, r->account, s, true, &p));
    Status st = ST_ERROR;
    int64_t at = (int64_t)s->offset;
    BytesIn in = {.p = p, .len = (int64_t)s->bytes};
    int64_t n = bytes_get_count(&in, INT32_MAX / 2), n_sorted = bytes_get_count(&in, n), len_at = in.at,
            text_at = len_at + 4 * n;
    Dict *d = t->cols[s->index].dict = dict_new(table_part(t, TABLE_TEXTS), r->e);
    if (!d) goto done;
    if (in.failed || text_at > in.len) {
        damaged(r, s, at + in.at, "dictionary is invalid");
        goto done;
    }
    if (dict_reserve(d, n, r->e) != ST_OK) goto done;
    for (int64_t i = 0; i < n; i++) {
        uint32_t len;
        memcpy(&len, in.p + len_at + 4 * i, 4);
        if ((int64_t)len > in.len - text_at) {
            damaged(r, s, at + text_at, "dictionary is invalid");
            goto done;
        }
        int32_t code = dict_add(d, str_make(in.p + text_at, len), r->e);
        if (code < 0) goto done;
        if (!str_fits(t->cols[s->index].type, d->entries[code])) {
            damaged(r, s, at + text_at, "array is invalid");
            goto done;
        }
        if (code != i || (i > 0 && i < n_sorted && str_cmp(d->entries[i - 1], d->entries[i]) >= 0)) {
            damaged(r, s, at + text_at, "dictionary is not in order");
            goto done;
        }
        text_at += len;
    }
    d->n_sorted = (int32_t)n_sorted;
    st = ST_OK;
done:
    mem_free(r->account, p, (int64_t)s->bytes);
    return st;
}

/* The tablet's columns are what the table says, and codes are in the dictionary. */
static bool tablet_matches(const Table *t, const Tablet *tab) {
    if (tab->block->n_cols != t->n_cols) return false;
    for (int c = 0; c < t->n_cols; c++) {
        const TabletColumn *col = &tab->cols[c];
        const Dict *d = t->cols[c].dict;
        if (col->phys != column_phys(&t->cols[c])) return false;
        if ((col->encoding == ENC_STR) != (col->phys == PH_STR)) return false;
        if (phys_is_int(col->phys) && col->phys != PH_I128 && col->encoding != ENC_FOR) return false;
        if (!phys_is_int(col->phys) && col->encoding == ENC_FOR) return false;
        for (int64_t i = 0; !d && is_blob(t->cols[c].type) && i < tab->rows; i++)
            if (!str_fits(t->cols[c].type, column_str(col, i))) return false;
        if (!d || !col->has_minmax) continue;
        if (col->min < 0 || col->max >= d->n) return false;
        bool ok = true;
        for (int64_t i = 0; i < tab->rows; i++) {
            int64_t code = column_i64(col, i);
            ok &= code >= col->min && code <= col->max;
        }
        if (!ok) return false;
    }
    return true;
}
static Status load_tablet(TableReader *r, Table *t, const Section *s) {
    void *p;
    MemAccount *a = table_part(t, TABLE_PACKED);
    TRY(read_section(r, a, s, false, &p));
    Tablet *tab;
    if (tablet_open_block(a, p, (int64_t)s->bytes, section_path(r, s), (int64_t)s->offset, &tab, r->e) != ST_OK) {
        mem_free(a, p, (int64_t)s->bytes);
        return ST_ERROR;
    }
    tablet_join(t, tab);
    const TabletHeader *h = p;
    Status st = ST_OK;
    if (h->checksum != s->checksum) st = damaged(r, s, (int64_t)s->offset, "tablet is not the one in the directory");
    else if (!tablet_matches(t, tab)) st = damaged(r, s, (int64_t)s->offset, "tablet does not fit the table");
    else st = table_add_tablet(t, tab, r->e);
    if (st != ST_OK) {
        tablet_free(tab);
        return st;
    }
    t->live_rows += tab->rows;
    return ST_OK;
}
static Status load_deleted(TableReader *r, Table *t, const Section *s) {
    Tablet *tab = t->tablets[s->index];
    if (s->bytes > DELETED_BYTES || (int64_t)s->bytes * 8 < tab->rows || tab->n_deleted)
        return damaged(r, s, (int64_t)s->offset, "delete bitmap does not fit its tablet");
    void *p;
    TRY(read_section(r, r->account, s, true, &p));
    Status st = tablet_ensure_deleted(tab, r->e);
    if (st == ST_OK) {
        memcpy(tab->block->deleted, p, (size_t)s->bytes);
        for (int64_t i = 0; i < (int64_t)s->bytes / 8; i++) tab->n_deleted += __builtin_popcountll(tab->deleted[i]);
        for (int64_t i = tab->rows; i < (int64_t)s->bytes * 8 && st == ST_OK; i++)
            if (tablet_row_deleted(tab, i)) st = damaged(r, s, (int64_t)s->offset, "delete bitmap is too long");
        t->live_rows -= tab->n_deleted;
    }
    mem_free(r->account, p, (int64_t)s->bytes);
    return st;
}

static Status load_sections(TableReader *r, Table *t) {
    bool *has_dict = arena_array(r->arena, bool, MAX_OF(t->n_cols, 1));
    int64_t n_tablets = 0, live = 0;
    if (!has_dict) return ST_ERROR;
    if (r->h.n_sections == 0 || r->dir[0].kind != SECTION_META)
        return err_corrupted(r->e, r->path, (int64_t)sizeof r->h, "table description is missing");
    TRY(load_meta(r, t, &r->dir[0], &n_tablets, &live, has_dict));
    for (uint32_t i = 1; i < r->h.n_sections; i++) {
        const Section *s = &r->dir[i];
        bool ok = false;
        if (s->kind == SECTION_DICT)
            ok = s->index < (uint32_t)t->n_cols && has_dict[s->index] && !t->cols[s->index].dict && t->n_tablets == 0;
        else if (s->kind == SECTION_TABLET) ok = (int64_t)s->index == t->n_tablets;
        else if (s->kind == SECTION_DELETED) ok = (int64_t)s->index < t->n_tablets;
        if (!ok) return damaged(r, s, (int64_t)s->offset, "unexpected section");
        if (s->kind == SECTION_DICT) TRY(load_dict(r, t, s));
        else if (s->kind == SECTION_TABLET) {
            for (int c = 0; c < t->n_cols; c++)
                if (has_dict[c] && !t->cols[c].dict)
                    return damaged(r, s, (int64_t)s->offset, "a dictionary is missing");
            TRY(load_tablet(r, t, s));
        } else TRY(load_deleted(r, t, s));
    }
    if (t->n_tablets != n_tablets || t->live_rows != live)
        return err_corrupted(r->e, r->path, (int64_t)r->h.directory_offset, "tablets are missing");
    for (int c = 0; c < t->n_cols; c++)
        if (has_dict[c] && !t->cols[c].dict)
            return err_corrupted(r->e, r->path, (int64_t)r->h.directory_offset, "a dictionary is missing");
    for (int k = 0; k < t->n_keys; k++) {
        if (keyindex_add_tablets(t, k, 0, r->e) == ST_OK) continue;
        if (strcmp(r->e->sqlstate, ERR_UNIQUE_VIOLATION) != 0) return ST_ERROR;
        err_clear(r->e);
        return err_corrupted(r->e, r->path, 0, "a unique key is not unique");
    }
    return ST_OK;
}
/* What lies where, of what was loaded. */
static void note_sections(const TableReader *r, const Table *t) {
    TableParts *p = r->parts;
    p->own = (PartFile){r->h.checksum, (int64_t)r->h.file_bytes};
    p->n_tablets = t->n_tablets;
    for (uint32_t i = 0; i < r->h.n_sections; i++) {
        const Section *s = &r->dir[i];
        const FilePart x = {s->file, (int64_t)s->offset, (int64_t)s->bytes, s->checksum};
        const struct TabletBlock *b = s->kind > SECTION_DICT ? t->tablets[s->index]->block : NULL;
        const Dict *d = s->kind == SECTION_DICT ? t->cols[s->index].dict : NULL;
        if (d) p->dicts[s->index] = (DictPart){dict_id(d), d->n, d->n_sorted, x};
        if (s->kind == SECTION_TABLET)
            p->tablets[s->index] = (TabletPart){.id = b->id, .changes = b->changes, .block = x};
        if (s->kind == SECTION_DELETED) p->tablets[s->index].deleted = x;
    }
}
static void note_bases(const TableReader *r) {
    TableParts *p = r->parts;
    for (uint64_t i = 0; i < r->h.n_bases; i++) p->bases[i] = (PartFile){r->bases[i].seal, (int64_t)r->bases[i].bytes};
    p->n_bases = (int)r->h.n_bases;
}
Status table_file_read(Table *t, Vfs *vfs, const char *path, MemAccount *a, TableParts *parts, Err *e) {
    TableReader r = {.account = a, .vfs = vfs, .id = t->id, .path = path, .parts = parts, .e = e};
    Status st = open_table(&r);
    if (st == ST_OK) st = open_bases(&r);
    if (st == ST_OK) st = load_sections(&r, t);
    if (st == ST_OK) st = table_parts_reserve(parts, t, e);
    if (st == ST_OK) {
        note_bases(&r);
        note_sections(&r, t);
    }
    close_table(&r);
    return st;
}
Status table_file_load(Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e) {
    TableParts *parts = table_parts_new(e);
    const Status st = parts ? table_file_read(t, vfs, path, a, parts, e) : ST_ERROR;
    table_parts_drop(parts);
    return st;
}

/* ---- looking at files ---- */
Status table_file_bases(int64_t id, Vfs *vfs, const char *path, MemAccount *a, TableParts *parts, Err *e) {
    TableReader r = {.account = a, .vfs = vfs, .id = id, .path = path, .parts = parts, .e = e};
    const Status st = open_table(&r);
    if (st == ST_OK) note_bases(&r);
    close_table(&r);
    return st;
}
/* A tablet's checksum is the block's own, behind its first bytes. */
static Status check_section(TableReader *r, const Section *s) {
    void *p;
    TRY(read_section(r, r->account, s, s->kind != SECTION_TABLET, &p));
    Status st = ST_OK;
    const TabletHeader *h = p;
    if (s->kind == SECTION_TABLET)
        st = tablet_check_block(p, (int64_t)s->bytes, section_path(r, s), (int64_t)s->offset, r->e);
    if (st == ST_OK && s->kind == SECTION_TABLET && h->checksum != s->checksum)
        st = damaged(r, s, (int64_t)s->offset, "tablet is not the one in the directory");
    mem_free(r->account, p, (int64_t)s->bytes);
    return st;
}
Status table_file_check(int64_t id, uint64_t seal, Vfs *vfs, const char *path, MemAccount *a, Err *e) {
    TableReader r = {.account = a, .vfs = vfs, .id = id, .path = path, .e = e};
    Status st = open_table(&r);
    if (st == ST_OK && r.h.checksum != seal)
        st = err_corrupted(e, path, 0, "file is not the one that the table's file names");
    for (uint32_t i = 0; i < r.h.n_sections && st == ST_OK; i++)
        if (r.dir[i].file == 0) st = check_section(&r, &r.dir[i]);
    close_table(&r);
    return st;
}
