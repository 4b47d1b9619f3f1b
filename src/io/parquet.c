/* parquet.c - Parquet files as the source of a segment. See parquet.h.
 *
 * Workers take row groups in turn, each with a reader of its own, and read the columns that the statement wants in
 * batches of PARQUET_BATCH rows. The library allocates by itself; what a row group's columns may take is charged to the
 * statement while it is read.
 *
 * Row groups whose statistics show that the statement wants none of their rows are left out.
 *
 * Files are read, not mapped: one that shrinks meanwhile is an error and no signal. They are opened by the library and
 * not through the Vfs.
 *
 * Locks: ParquetRun.mu guards the next row group and the failure (docs/LOCKS.md).
 */
#include "io/parquet.h"

#include <stdatomic.h>
#include <stdio.h>

#include <carquet/carquet.h>

#include "base/log.h"
#include "base/mutex.h"

enum { PARQUET_BATCH = 2048 };
static const int64_t days_1970_2000 = 10957, micros_1970_2000 = INT64_C(946684800) * 1000000;

typedef enum Form { /* how values become cells */
                    PF_BOOL,
                    PF_I16,
                    PF_I32,
                    PF_U32,
                    PF_I64,
                    PF_U64,
                    PF_F32,
                    PF_F64,
                    PF_DATE,
                    PF_TIME,
                    PF_STAMP,
                    PF_INT96,
                    PF_TEXT,
                    PF_BYTES,
                    PF_FIXED,
                    PF_UUID,
                    PF_DECIMAL
} Form;

typedef struct ParquetColumn {
    int32_t leaf;
    carquet_physical_type_t physical;
    int32_t length;    /* of values of fixed length */
    int16_t max_level; /* 0: no NULLs */
    Form form;
    int64_t multiply, divide; /* to microseconds */
    Type type;
    const char *name;
} ParquetColumn;

typedef struct ParquetFile {
    RowStream stream; /* first */
    int32_t n_paths;
    const char *const *paths;
    int32_t n_cols;
    ParquetColumn *cols;
} ParquetFile;

/* ---- what a file has --------------------------------------------------------------------------------------------- */

static Status failed(Err *e, const char *path, const carquet_error_t *why) {
    const char *state = why->code == CARQUET_ERROR_OUT_OF_MEMORY       ? ERR_OUT_OF_MEMORY
                        : why->code == CARQUET_ERROR_FILE_NOT_FOUND    ? ERR_UNDEFINED_FILE
                        : why->code == CARQUET_ERROR_UNSUPPORTED_CODEC ? ERR_FEATURE_NOT_SUPPORTED
                                                                       : ERR_BAD_COPY;
    return err_set(e, state, "could not read Parquet file \"%s\": %s", path,
                   why->message[0] ? why->message : "it is damaged");
}

static carquet_reader_t *open_reader(Vfs *vfs, const char *path, Err *e) {
    carquet_error_t why = CARQUET_ERROR_INIT;
    carquet_reader_options_t o;
    VfsFile *file;
    /* in the words of other files when it is not there */
    if (vfs->open(vfs, path, VFS_READ, &file, e) != ST_OK) return NULL;
    (void)vfs->close(file, NULL);
    carquet_reader_options_init(&o);
    o.use_mmap = false;
    o.num_threads = 1;
    carquet_reader_t *r = carquet_reader_open(path, &o, &why);
    if (!r) failed(e, path, &why);
    return r;
}

static Type integer_type(const carquet_logical_type_t *l, bool wide, Form *form) {
    bool integer = l && l->id == CARQUET_LOGICAL_INTEGER;
    int bits = integer ? l->params.integer.bit_width : wide ? 64 : 32;
    bool is_signed = !integer || l->params.integer.is_signed;
    if (wide) {
        *form = is_signed ? PF_I64 : PF_U64;
        return is_signed ? type_make(T_INT8) : type_numeric(20, 0);
    }
    if (bits < 16 || (bits == 16 && is_signed)) {
        *form = PF_I16;
        return type_make(T_INT2);
    }
    *form = bits == 32 && !is_signed ? PF_U32 : PF_I32;
    return type_make(*form == PF_U32 ? T_INT8 : T_INT4);
}

static void set_unit(ParquetColumn *c, carquet_time_unit_t unit) {
    c->multiply = unit == CARQUET_TIME_UNIT_MILLIS ? 1000 : 1;
    c->divide = unit == CARQUET_TIME_UNIT_NANOS ? 1000 : 1;
}

/* False: there is no type for it. */
static bool column_form(ParquetColumn *c, const carquet_logical_type_t *l) {
    carquet_logical_type_id_t id = l ? l->id : CARQUET_LOGICAL_UNKNOWN;
    bool wide = c->physical == CARQUET_PHYSICAL_INT64;
    if (id == CARQUET_LOGICAL_DECIMAL) {
        c->form = PF_DECIMAL;
        int p = l->params.decimal.precision, s = l->params.decimal.scale;
        if (p < 1 || p > NUMERIC_MAX_PRECISION || s < 0 || s > p) return false;
        c->type = type_numeric(p, s);
        return c->physical == CARQUET_PHYSICAL_INT32 || wide || c->physical == CARQUET_PHYSICAL_BYTE_ARRAY ||
               c->physical == CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY;
    }
    switch (c->physical) {
    case CARQUET_PHYSICAL_BOOLEAN:
        c->form = PF_BOOL;
        c->type = type_make(T_BOOL);
        return true;
    case CARQUET_PHYSICAL_FLOAT:
        c->form = PF_F32;
        c->type = type_make(T_FLOAT4);
        return true;
    case CARQUET_PHYSICAL_DOUBLE:
        c->form = PF_F64;
        c->type = type_make(T_FLOAT8);
        return true;
    case CARQUET_PHYSICAL_INT96:
        c->form = PF_INT96;
        c->type = type_make(T_TIMESTAMP);
        return true;
    case CARQUET_PHYSICAL_BYTE_ARRAY: {
        bool text = id == CARQUET_LOGICAL_STRING || id == CARQUET_LOGICAL_ENUM || id == CARQUET_LOGICAL_JSON;
        c->form = text ? PF_TEXT : PF_BYTES;
        c->type = type_make(text ? T_TEXT : T_BYTEA);
        return true;
    }
    case CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY: {
        bool uuid = id == CARQUET_LOGICAL_UUID && c->length == 16;
        c->form = uuid ? PF_UUID : PF_FIXED;
        c->type = type_make(uuid ? T_UUID : T_BYTEA);
        return c->length > 0 && id != CARQUET_LOGICAL_FLOAT16 && id != CARQUET_LOGICAL_INTERVAL;
    }
    case CARQUET_PHYSICAL_INT32:
    case CARQUET_PHYSICAL_INT64: break;
    default: return false;
    }
    if (id == CARQUET_LOGICAL_DATE && !wide) {
        c->form = PF_DATE;
        c->type = type_make(T_DATE);
    } else if (id == CARQUET_LOGICAL_TIME) {
        c->form = PF_TIME;
        c->type = type_make(T_TIME);
        set_unit(c, l->params.time.unit);
    } else if (id == CARQUET_LOGICAL_TIMESTAMP && wide) {
        c->form = PF_STAMP;
        c->type = type_make(l->params.timestamp.is_adjusted_to_utc ? T_TIMESTAMPTZ : T_TIMESTAMP);
        set_unit(c, l->params.timestamp.unit);
    } else {
        c->type = integer_type(l, wide, &c->form);
    }
    return true;
}

/* The leaves in the order of the schema's elements. */
static Status read_schema(ParquetFile *f, Arena *a, const char *path, const carquet_schema_t *schema, Err *e) {
    int32_t n = carquet_schema_num_columns(schema), leaf = 0;
    if (n > 1600) return err_set(e, ERR_TOO_MANY_COLUMNS, "file \"%s\" has more than 1600 columns", path);
    if (!(f->cols = arena_array(a, ParquetColumn, n + 1))) return err_oom(e);
    for (int32_t i = 0; i < carquet_schema_num_elements(schema) && leaf < n; i++) {
        const carquet_schema_node_t *node = carquet_schema_get_element(schema, i);
        if (!node || !carquet_schema_node_is_leaf(node)) continue;
        ParquetColumn *c = &f->cols[leaf];
        const char *steps[2] = {NULL, NULL};
        c->name = arena_strdup(a, carquet_schema_node_name(node));
        if (!c->name) return err_oom(e);
        bool flat =
            carquet_schema_column_path(schema, leaf, steps, 2) == 1 && carquet_schema_max_rep_level(schema, leaf) == 0;
        if (!flat)
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "column \"%s\" of Parquet file \"%s\" is nested",
                           steps[0] ? steps[0] : c->name, path);
        c->leaf = leaf;
        c->physical = carquet_schema_column_type(schema, leaf);
        c->length = carquet_schema_node_type_length(node);
        c->max_level = carquet_schema_max_def_level(schema, leaf);
        c->multiply = c->divide = 1;
        if (!column_form(c, carquet_schema_node_logical_type(node)))
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                           "column \"%s\" of Parquet file \"%s\" has a type that Stele lacks", c->name, path);
        leaf++;
    }
    f->n_cols = leaf;
    return leaf == n && n > 0 ? ST_OK : err_set(e, ERR_BAD_COPY, "Parquet file \"%s\" has no columns", path);
}

static Status make_stream(ParquetFile *f, Arena *a, int64_t rows, int32_t groups) {
    const char **names = arena_array(a, const char *, f->n_cols + 1), **more = arena_array(a, const char *, 2);
    Type *types = arena_array(a, Type, f->n_cols + 1);
    if (!names || !types || !more) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        names[i] = f->cols[i].name;
        types[i] = f->cols[i].type;
    }
    more[0] = arena_printf(a, "Parquet, %lld rows in %d row groups", (long long)rows, (int)groups);
    f->stream.n_cols = f->n_cols;
    f->stream.names = names;
    f->stream.types = types;
    f->stream.more = more;
    f->stream.est_rows = (double)rows * f->n_paths;
    return more[0] ? ST_OK : ST_ERROR;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct ParquetRun ParquetRun;
typedef struct ParquetWorker {
    carquet_reader_t *reader;
    int32_t file; /* that it reads; -1: none */
    carquet_column_reader_t **columns;
    bool open; /* a row group is */
    int32_t group;
    int64_t order, left; /* rows of it */
    int64_t charged;
    bool failed;
    Arena *arena;
    void *values;
    int16_t *levels;
    void **cells;
    uint8_t **valid;
    Vec *vecs;
} ParquetWorker;

struct ParquetRun {
    StreamRun run; /* first */
    const ParquetFile *f;
    StreamUse use;
    bool *wanted;
    ParquetWorker *workers;
    Mutex mu;
    int32_t file, group, n_groups; /* the next; n_groups below 0: unknown */
    int64_t next_order;
    _Atomic double done;
    _Atomic int64_t fail_order;
    Err fail;
};

static void fail(ParquetWorker *w, ParquetRun *r, int64_t order, const Err *e) {
    w->failed = true;
    mutex_lock(&r->mu);
    if (order < atomic_load(&r->fail_order)) {
        err_copy(&r->fail, e);
        atomic_store(&r->fail_order, order);
    }
    mutex_unlock(&r->mu);
}

static void close_group(ParquetWorker *w, const ParquetRun *r) {
    for (int32_t i = 0; w->columns && i < r->f->n_cols; i++) {
        carquet_column_reader_free(w->columns[i]);
        w->columns[i] = NULL;
    }
    if (w->charged) mem_discharge(r->use.account, w->charged);
    w->charged = 0;
    w->open = false;
}

/* The columns must be those of the first file. */
static Status same_columns(const ParquetRun *r, const ParquetWorker *w, Err *e) {
    const carquet_schema_t *s = carquet_reader_schema(w->reader);
    const ParquetFile *f = r->f;
    bool same = carquet_schema_num_columns(s) == f->n_cols;
    for (int32_t i = 0; same && i < f->n_cols; i++) {
        const char *name = carquet_schema_column_name(s, i);
        same = name && strcmp(name, f->cols[i].name) == 0 && carquet_schema_column_type(s, i) == f->cols[i].physical &&
               carquet_schema_max_rep_level(s, i) == 0 && carquet_schema_max_def_level(s, i) == f->cols[i].max_level;
    }
    if (same) return ST_OK;
    return err_set(e, ERR_BAD_COPY, "Parquet file \"%s\" has other columns than \"%s\"", f->paths[w->file],
                   f->paths[0]);
}

static Status open_file(ParquetRun *r, ParquetWorker *w, int32_t file, Err *e) {
    if (w->file == file) return ST_OK;
    carquet_reader_close(w->reader);
    w->reader = NULL;
    w->file = file;
    if (!(w->reader = open_reader(r->use.vfs, r->f->paths[file], e))) return ST_ERROR;
    return same_columns(r, w, e);
}

static Status cell_of(const ParquetColumn *c, const void *values, int64_t i, void *cell, Err *e);

/* A value of the statistics as the cell that it would be; false where their order is not that of cells. */
static bool bound_of(const ParquetColumn *c, const void *value, int32_t size, int64_t *out) {
    bool wide = c->physical == CARQUET_PHYSICAL_INT64;
    int64_t aligned = 0;
    Err ignored;
    if ((!wide && c->physical != CARQUET_PHYSICAL_INT32) || size != (wide ? 8 : 4) || !value) return false;
    if (c->form == PF_U32 || c->form == PF_U64) return false;
    memcpy(&aligned, value, (size_t)size);
    union {
        int16_t i16;
        int32_t i32;
        int64_t i64;
        int128_t i128;
    } cell = {0};
    err_clear(&ignored);
    if (cell_of(c, &aligned, 0, &cell, &ignored) != ST_OK) return false;
    Phys phys = type_phys(c->type);
    *out = phys == PH_I16 ? cell.i16 : phys == PH_I32 ? cell.i32 : cell.i64;
    return phys == PH_I16 || phys == PH_I32 || phys == PH_I64;
}

/* Whether no row of the group can be wanted. */
static bool left_out(const ParquetRun *r, const ParquetWorker *w, int32_t group) {
    for (int32_t i = 0; i < r->use.n_bounds; i++) {
        const StreamBound *b = &r->use.bounds[i];
        const ParquetColumn *c = &r->f->cols[b->col];
        carquet_column_statistics_t s = {0};
        int64_t min, max;
        if (carquet_reader_column_statistics(w->reader, group, c->leaf, &s) != CARQUET_OK || !s.has_min_max) continue;
        if (!bound_of(c, s.min_value, s.min_value_size, &min) || !bound_of(c, s.max_value, s.max_value_size, &max))
            continue;
        if (max < b->lo || min > b->hi) return true;
    }
    return false;
}

/* The next row group of the next file that has one. Under mu. */
static Status take_group(ParquetRun *r, ParquetWorker *w, bool *got, Err *e) {
    *got = false;
    while (r->file < r->f->n_paths) {
        if (r->n_groups < 0) {
            TRY(open_file(r, w, r->file, e));
            r->n_groups = carquet_reader_num_row_groups(w->reader);
            r->group = 0;
        }
        TRY(open_file(r, w, r->file, e));
        while (r->group < r->n_groups && left_out(r, w, r->group)) {
            r->group++;
            atomic_fetch_add(&r->run.skipped, 1);
        }
        if (r->group < r->n_groups) {
            *got = true;
            w->group = r->group++;
            w->order = r->next_order++;
            atomic_store(&r->done, r->file + (double)w->group / r->n_groups);
            return ST_OK;
        }
        r->file++;
        r->n_groups = -1;
    }
    return ST_OK;
}

static Status open_group(ParquetRun *r, ParquetWorker *w, Err *e) {
    const ParquetFile *f = r->f;
    carquet_row_group_metadata_t m;
    carquet_error_t why = CARQUET_ERROR_INIT;
    int32_t n_wanted = 0;
    for (int32_t i = 0; i < f->n_cols; i++) n_wanted += r->wanted[i];
    if (carquet_reader_row_group_metadata(w->reader, w->group, &m) != CARQUET_OK || m.num_rows < 0)
        return failed(e, f->paths[w->file], &why);
    int64_t bytes = MAX_OF(m.total_byte_size, INT64_C(0)) / f->n_cols * n_wanted;
    TRY(mem_charge(r->use.account, bytes, e));
    w->charged = bytes;
    w->left = m.num_rows;
    w->open = true;
    for (int32_t i = 0; i < f->n_cols; i++) {
        if (!r->wanted[i]) continue;
        w->columns[i] = carquet_reader_get_column(w->reader, w->group, f->cols[i].leaf, &why);
        if (!w->columns[i]) return failed(e, f->paths[w->file], &why);
    }
    return ST_OK;
}

static Status interrupted(const ParquetRun *r, Err *e) {
    if (r->use.cancel && atomic_load(r->use.cancel))
        return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    if (r->use.deadline_ns && clock_ns() > r->use.deadline_ns)
        return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    return ST_OK;
}

static bool next_group(ParquetRun *r, ParquetWorker *w) {
    bool got = false;
    int32_t file = 0;
    Err e;
    err_clear(&e);
    close_group(w, r);
    mutex_lock(&r->mu);
    Status st = interrupted(r, &e);
    if (st == ST_OK && atomic_load(&r->fail_order) == INT64_MAX) st = take_group(r, w, &got, &e);
    if (st != ST_OK) w->order = r->next_order;
    file = r->file;
    mutex_unlock(&r->mu);
    if (st == ST_OK && got) st = open_file(r, w, file, &e);
    if (st == ST_OK && got) st = open_group(r, w, &e);
    if (st != ST_OK) fail(w, r, w->order, &e);
    return st == ST_OK && got;
}

/* ---- values to cells --------------------------------------------------------------------------------------------- */

/* Big-endian, in two's complement. */
static Status decimal_of(const ParquetColumn *c, const uint8_t *p, int64_t n, void *cell, Err *e) {
    int128_t v = n > 0 && (p[0] & 0x80) ? -1 : 0;
    while (n > 16 && (p[0] == 0 || p[0] == 0xFF)) p++, n--;
    for (int64_t i = 0; i < n && n <= 16; i++) v = (int128_t)((uint128_t)v << 8 | p[i]);
    if (n > 16 || numeric_exceeds(v, c->type.precision))
        return err_set(e, ERR_BAD_COPY, "a value has more digits than %d", (int)c->type.precision);
    if (type_phys(c->type) == PH_I64) *(int64_t *)cell = (int64_t)v;
    else *(int128_t *)cell = v;
    return ST_OK;
}

static Status text_of(const ParquetColumn *c, const carquet_byte_array_t *b, Str *out, Err *e) {
    const char *p = b->length > 0 ? (const char *)b->data : "";
    int64_t n = MAX_OF(b->length, 0);
    if (c->form == PF_TEXT && utf8_check(p, n) >= 0)
        return err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "a text is no UTF-8");
    *out = str_make(p, n);
    return ST_OK;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static Status stamp_of(const ParquetColumn *c, int64_t v, int64_t *out, Err *e) {
    int64_t scaled;
    if (__builtin_mul_overflow(v, c->multiply, &scaled) ||
        __builtin_sub_overflow(floor_div(scaled, c->divide), micros_1970_2000, out))
        return err_set(e, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    return ST_OK;
}

/* Value number i as a cell. */
static Status cell_of(const ParquetColumn *c, const void *values, int64_t i, void *cell, Err *e) {
    const int32_t *i32 = values;
    const int64_t *i64 = values;
    switch (c->form) {
    case PF_BOOL: *(uint8_t *)cell = ((const uint8_t *)values)[i] != 0; return ST_OK;
    case PF_I16: *(int16_t *)cell = (int16_t)i32[i]; return ST_OK;
    case PF_I32: *(int32_t *)cell = i32[i]; return ST_OK;
    case PF_U32: *(int64_t *)cell = (uint32_t)i32[i]; return ST_OK;
    case PF_I64: *(int64_t *)cell = i64[i]; return ST_OK;
    case PF_U64: *(int128_t *)cell = (uint64_t)i64[i]; return ST_OK;
    case PF_F32: *(float *)cell = ((const float *)values)[i]; return ST_OK;
    case PF_F64: *(double *)cell = ((const double *)values)[i]; return ST_OK;
    case PF_DATE:
        *(int32_t *)cell = (int32_t)MAX_OF((int64_t)i32[i] - days_1970_2000, (int64_t)INT32_MIN + 1);
        return ST_OK;
    case PF_TIME: {
        int64_t v = c->physical == CARQUET_PHYSICAL_INT32 ? i32[i] : i64[i];
        if (v < 0 || v > USECS_PER_DAY / c->multiply * c->divide)
            return err_set(e, ERR_DATETIME_OVERFLOW, "time out of range");
        *(int64_t *)cell = v * c->multiply / c->divide;
        return ST_OK;
    }
    case PF_STAMP: return stamp_of(c, i64[i], cell, e);
    case PF_INT96: {
        const carquet_int96_t *v = (const carquet_int96_t *)values + i;
        int64_t nanos = (int64_t)((uint64_t)v->value[1] << 32 | v->value[0]);
        *(int64_t *)cell = ((int64_t)v->value[2] - 2451545) * USECS_PER_DAY + floor_div(nanos, 1000);
        return ST_OK;
    }
    case PF_TEXT:
    case PF_BYTES: return text_of(c, (const carquet_byte_array_t *)values + i, cell, e);
    case PF_FIXED: *(Str *)cell = str_make((const char *)values + i * c->length, c->length); return ST_OK;
    case PF_UUID: memcpy(cell, (const uint8_t *)values + i * 16, 16); return ST_OK;
    case PF_DECIMAL: break;
    }
    if (c->physical == CARQUET_PHYSICAL_BYTE_ARRAY) {
        const carquet_byte_array_t *b = (const carquet_byte_array_t *)values + i;
        return decimal_of(c, b->data, b->length, cell, e);
    }
    if (c->physical == CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY)
        return decimal_of(c, (const uint8_t *)values + i * c->length, c->length, cell, e);
    int64_t v = c->physical == CARQUET_PHYSICAL_INT32 ? i32[i] : i64[i];
    if (type_phys(c->type) == PH_I64) *(int64_t *)cell = v;
    else *(int128_t *)cell = v;
    return numeric_exceeds(v, c->type.precision) ? err_set(e, ERR_BAD_COPY, "a value has too many digits") : ST_OK;
}

/* All bytes below 128: most texts, which need no closer look. */
static inline bool is_ascii(const char *p, int64_t n) {
    uint64_t all = 0, word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        all |= word;
    }
    for (; n > 0; n--) all |= (uint8_t)*p++;
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* n values without NULLs of the commonest forms; *done false: none of these. */
static Status many_cells(const ParquetColumn *c, const void *values, int64_t n, void *cells, bool *done, Err *e) {
    const carquet_byte_array_t *b = values;
    *done = true;
    switch (c->form) {
    case PF_I32:
    case PF_F32: memcpy(cells, values, (size_t)n * 4); return ST_OK;
    case PF_I64:
    case PF_F64: memcpy(cells, values, (size_t)n * 8); return ST_OK;
    case PF_TEXT:
        for (int64_t i = 0; i < n; i++) {
            /* a NUL is no text either */
            bool plain = b[i].length > 0 && is_ascii((const char *)b[i].data, b[i].length) &&
                         !memchr(b[i].data, 0, (size_t)b[i].length);
            if (plain) ((Str *)cells)[i] = str_make((const char *)b[i].data, b[i].length);
            else TRY(text_of(c, &b[i], (Str *)cells + i, e));
        }
        return ST_OK;
    default: *done = false; return ST_OK;
    }
}

static Status read_column(ParquetRun *r, ParquetWorker *w, int32_t i, int64_t n, Err *e) {
    const ParquetColumn *c = &r->f->cols[i];
    carquet_error_t why = CARQUET_ERROR_INIT;
    bool fixed = c->form == PF_FIXED; /* its strings are views into the values */
    void *values = fixed ? w->cells[r->f->n_cols + i] : w->values;
    int64_t got = carquet_column_read_batch_ex(w->columns[i], values, n, w->levels, NULL, &why);
    if (got != n || why.code != CARQUET_OK) return failed(e, r->f->paths[w->file], &why);
    int64_t size = phys_size(type_phys(c->type)), at = 0;
    bool nulls = false, done = false;
    for (int64_t k = 0; c->max_level > 0 && k < n; k++) nulls |= w->levels[k] < c->max_level;
    w->vecs[i].valid = nulls ? w->valid[i] : NULL;
    if (!nulls) TRY(many_cells(c, values, n, w->cells[i], &done, e));
    if (done) return ST_OK;
    for (int64_t k = 0; k < n; k++) {
        char *cell = (char *)w->cells[i] + k * size;
        bool null = c->max_level > 0 && w->levels[k] < c->max_level;
        w->valid[i][k] = !null;
        if (!null) {
            TRY(cell_of(c, values, at++, cell, e));
            continue;
        }
        memset(cell, 0, (size_t)size);
        if (type_phys(c->type) == PH_STR) *(Str *)(void *)cell = str_make("", 0);
    }
    return ST_OK;
}

static Status parquet_next(StreamRun *run, int worker, StreamBatch *out, Err *unused) {
    ParquetRun *r = (ParquetRun *)run;
    ParquetWorker *w = &r->workers[worker];
    (void)unused;
    out->n = 0;
    if (w->failed || (w->open && w->order > atomic_load(&r->fail_order))) return ST_OK;
    while (!w->open || w->left == 0)
        if (stream_paused(&r->use) || !next_group(r, w)) return ST_OK;
    int64_t n = MIN_OF(w->left, (int64_t)PARQUET_BATCH);
    for (int32_t i = 0; i < r->f->n_cols; i++) {
        Err e;
        err_clear(&e);
        if (!r->wanted[i] || read_column(r, w, i, n, &e) == ST_OK) continue;
        err_context(&e, "file \"%s\", row group %d, column \"%s\"", r->f->paths[w->file], (int)w->group,
                    r->f->cols[i].name);
        fail(w, r, w->order, &e);
        return ST_OK;
    }
    w->left -= n;
    *out = (StreamBatch){.order = w->order, .n = n, .cols = w->vecs};
    return ST_OK;
}

static void parquet_free(StreamRun *run) {
    ParquetRun *r = (ParquetRun *)run;
    MemAccount *a = r->use.account;
    for (int i = 0; r->workers && i < r->use.threads; i++) {
        close_group(&r->workers[i], r);
        carquet_reader_close(r->workers[i].reader);
        arena_free(r->workers[i].arena);
    }
    if (r->workers) mem_free(a, r->workers, (int64_t)sizeof *r->workers * r->use.threads);
    if (r->wanted) mem_free(a, r->wanted, r->f->n_cols + 1);
    mutex_destroy(&r->mu);
    mem_free(a, r, (int64_t)sizeof *r);
}

static Status parquet_end(StreamRun *run, Err *e) {
    const ParquetRun *r = (const ParquetRun *)run;
    if (atomic_load(&r->fail_order) == INT64_MAX) return ST_OK;
    err_copy(e, &r->fail);
    return ST_ERROR;
}

static double parquet_fraction(StreamRun *run) {
    ParquetRun *r = (ParquetRun *)run;
    return atomic_load(&r->done) / MAX_OF(r->f->n_paths, 1);
}

static Status worker_init(const ParquetRun *r, ParquetWorker *w, Err *e) {
    const ParquetFile *f = r->f;
    int64_t widest = 16;
    w->file = -1;
    if (!(w->arena = arena_new(r->use.account, e))) return ST_ERROR;
    w->columns = arena_array(w->arena, carquet_column_reader_t *, f->n_cols + 1);
    w->cells = arena_array(w->arena, void *, 2 * f->n_cols + 1);
    w->valid = arena_array(w->arena, uint8_t *, f->n_cols + 1);
    w->vecs = arena_array(w->arena, Vec, f->n_cols + 1);
    w->levels = arena_array(w->arena, int16_t, PARQUET_BATCH);
    if (!w->columns || !w->cells || !w->valid || !w->vecs || !w->levels) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        const ParquetColumn *c = &f->cols[i];
        bool of_length = c->physical == CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY;
        if (!r->wanted[i]) continue;
        w->cells[i] = arena_calloc(w->arena, phys_size(type_phys(c->type)) * PARQUET_BATCH);
        w->valid[i] = arena_calloc(w->arena, PARQUET_BATCH);
        if (!w->cells[i] || !w->valid[i]) return ST_ERROR;
        if (c->form == PF_FIXED &&
            !(w->cells[f->n_cols + i] = arena_alloc(w->arena, (int64_t)c->length * PARQUET_BATCH)))
            return ST_ERROR;
        if (of_length && c->form != PF_FIXED) widest = MAX_OF(widest, (int64_t)c->length);
        w->vecs[i] = (Vec){.phys = (uint8_t)type_phys(c->type), .type = c->type, .data = w->cells[i]};
    }
    w->values = arena_alloc(w->arena, widest * PARQUET_BATCH);
    return w->values ? ST_OK : ST_ERROR;
}

static Status parquet_begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e) {
    ParquetRun *r = mem_calloc(use->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->run = (StreamRun){.next = parquet_next, .end = parquet_end, .fraction = parquet_fraction, .free = parquet_free};
    r->f = (const ParquetFile *)s;
    r->use = *use;
    r->n_groups = -1;
    atomic_store(&r->fail_order, INT64_MAX);
    mutex_init(&r->mu, RANK_COPY);
    Status st = ST_ERROR;
    r->wanted = mem_calloc(use->account, r->f->n_cols + 1, e);
    if (r->wanted) r->workers = mem_calloc(use->account, (int64_t)sizeof *r->workers * use->threads, e);
    if (r->workers) {
        memcpy(r->wanted, use->wanted, (size_t)r->f->n_cols * sizeof(bool));
        st = ST_OK;
    }
    for (int i = 0; st == ST_OK && i < use->threads; i++) st = worker_init(r, &r->workers[i], e);
    if (st != ST_OK) {
        parquet_free(&r->run);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *out = &r->run;
    return ST_OK;
}

Status parquet_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                    Err *e) {
    ParquetFile *f = arena_new_of(a, ParquetFile);
    if (!f) return err_oom(e);
    f->n_paths = n_paths;
    f->paths = paths;
    carquet_reader_t *r = open_reader(x->vfs, paths[0], e);
    if (!r) return ST_ERROR;
    Status st = read_schema(f, a, paths[0], carquet_reader_schema(r), e);
    if (st == ST_OK) st = make_stream(f, a, carquet_reader_num_rows(r), carquet_reader_num_row_groups(r));
    carquet_reader_close(r);
    if (st != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    f->stream.begin = parquet_begin;
    *out = &f->stream;
    return ST_OK;
}
