/* parquet_out.c - COPY TO a Parquet file: rows of a result through third_party/carquet. See parquet.h.
 *
 * Row groups of GROUP_ROWS rows, so that readers have something to share, or less where lists have many elements;
 * snappy, which every reader knows. Arrays are lists; what Parquet has no type for (intervals) is written as text. The
 * file is written under a temporary name and renamed when complete. The library's memory is charged per call, not all
 * along: the rows may come from Parquet files, whose readers charge theirs on this thread meanwhile.
 */
#include "io/parquet.h"

#include <carquet/carquet.h>
#include <errno.h>

#include "io/out_file.h"
#include "io/parquet_memory.h"
#include "types/array.h"

enum { BATCH = 1024, GROUP_ROWS = 120 * BATCH };
static const int64_t group_bytes = INT64_C(64) << 20; /* of lists, more or less */
static const int64_t days_1970_2000 = 10957, micros_1970_2000 = INT64_C(946684800) * 1000000;

/* Levels of lists: the list is there, has an element, which is there. */
enum { LIST_THERE = 1, LIST_ELEMENT = 2, LIST_VALUE = 3 };

typedef struct OutColumn {
    carquet_physical_type_t physical;
    bool list;    /* of the type's elements */
    bool as_text; /* what Parquet has no type for */
    Type type;    /* of values: the column's, or its elements' */
    Phys phys;    /* of their cells */
    Vec vec;
    uint8_t *valid;
    void *values;
    const Dict *dict;
} OutColumn;

typedef struct ParquetOut {
    const CopySource *from;
    Arena *a, *texts; /* texts: of a batch */
    ParquetMemory memory;
    carquet_writer_t *writer;
    carquet_schema_t *schema;
    OutColumn *cols;
    int16_t *levels;
    int64_t in_group, list_bytes; /* of the row group: rows, and of lists */
    const char *path;
    Err *e;
} ParquetOut;

/* The library does not say what the system said, but errno still has it. Memory that was refused is said already. */
static Status failed(const ParquetOut *o, const carquet_error_t *why, carquet_status_t code) {
    int cause = errno;
    if (code == CARQUET_ERROR_FILE_WRITE && (cause == ENOSPC || cause == EDQUOT || cause == EFBIG))
        return err_set(o->e, ERR_DISK_FULL, "could not write Parquet file \"%s\": %s", o->path, strerror(cause));
    return err_set(o->e, code == CARQUET_ERROR_OUT_OF_MEMORY ? ERR_OUT_OF_MEMORY : ERR_IO,
                   "could not write Parquet file \"%s\": %s", o->path,
                   why && why->message[0] ? why->message : carquet_status_string(code));
}

/* Physical and logical type of a column; false: it has no logical one. */
static bool column_types(OutColumn *c, carquet_logical_type_t *l, int32_t *length) {
    *l = (carquet_logical_type_t){0};
    *length = 0;
    switch ((TypeId)c->type.id) {
    case T_BOOL: c->physical = CARQUET_PHYSICAL_BOOLEAN; return false;
    case T_FLOAT4: c->physical = CARQUET_PHYSICAL_FLOAT; return false;
    case T_FLOAT8: c->physical = CARQUET_PHYSICAL_DOUBLE; return false;
    case T_INT4: c->physical = CARQUET_PHYSICAL_INT32; return false;
    case T_INT8: c->physical = CARQUET_PHYSICAL_INT64; return false;
    case T_OID:
        if (c->phys != PH_I64) break;
        c->physical = CARQUET_PHYSICAL_INT64;
        return false;
    case T_BYTEA: c->physical = CARQUET_PHYSICAL_BYTE_ARRAY; return false;
    case T_INT2:
        c->physical = CARQUET_PHYSICAL_INT32;
        l->id = CARQUET_LOGICAL_INTEGER;
        l->params.integer.bit_width = 16;
        l->params.integer.is_signed = true;
        return true;
    case T_NUMERIC: {
        if (c->list && (c->type.flags & TF_UNCONSTRAINED)) break; /* a numeric without (p,s), as texts as elsewhere */
        bool small = type_phys(c->type) == PH_I64;
        c->physical = small ? CARQUET_PHYSICAL_INT64 : CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY;
        *length = small ? 0 : 16;
        l->id = CARQUET_LOGICAL_DECIMAL;
        l->params.decimal.precision = c->type.precision;
        l->params.decimal.scale = c->type.scale;
        return true;
    }
    case T_DATE:
        c->physical = CARQUET_PHYSICAL_INT32;
        l->id = CARQUET_LOGICAL_DATE;
        return true;
    case T_TIME:
        c->physical = CARQUET_PHYSICAL_INT64;
        l->id = CARQUET_LOGICAL_TIME;
        l->params.time.unit = CARQUET_TIME_UNIT_MICROS;
        return true;
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
        c->physical = CARQUET_PHYSICAL_INT64;
        l->id = CARQUET_LOGICAL_TIMESTAMP;
        l->params.timestamp.unit = CARQUET_TIME_UNIT_MICROS;
        l->params.timestamp.is_adjusted_to_utc = c->type.id == T_TIMESTAMPTZ;
        return true;
    case T_UUID:
        c->physical = CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY;
        *length = 16;
        l->id = CARQUET_LOGICAL_UUID;
        return true;
    default: break;
    }
    c->as_text = !type_is_text(c->type) && !type_is_json(c->type);
    c->physical = CARQUET_PHYSICAL_BYTE_ARRAY;
    l->id = type_is_json(c->type) ? CARQUET_LOGICAL_JSON : CARQUET_LOGICAL_STRING;
    return true;
}

static Status make_column(ParquetOut *o, OutColumn *c, const char *name, Type type, const CellSpec *k) {
    carquet_logical_type_t logical;
    int32_t length;
    c->list = type.id == T_ARRAY;
    c->type = c->list ? type_element(type) : type;
    c->phys = c->list ? type_phys(c->type) : (Phys)k->phys;
    c->dict = k->dict;
    if (c->dict) c->phys = PH_STR;
    bool has = column_types(c, &logical, &length);
    c->vec = (Vec){.phys = k->phys, .type = type, .data = arena_calloc(o->a, phys_size((Phys)k->phys) * BATCH)};
    c->valid = arena_calloc(o->a, BATCH);
    c->values = arena_calloc(o->a, 16 * BATCH);
    if (!c->vec.data || !c->valid || !c->values) return err_oom(o->e);
    const carquet_logical_type_t *l = has ? &logical : NULL;
    const carquet_field_repetition_t optional = CARQUET_REPETITION_OPTIONAL;
    if (c->list) {
        int32_t made = carquet_schema_add_list(o->schema, name, c->physical, l, optional, length, 0);
        return made >= 0 ? ST_OK : failed(o, NULL, CARQUET_ERROR_OUT_OF_MEMORY);
    }
    carquet_status_t st = carquet_schema_add_column(o->schema, name, c->physical, l, optional, length, 0);
    return st == CARQUET_OK ? ST_OK : failed(o, NULL, st);
}

static Status make_columns(ParquetOut *o) {
    const RowLayout *l = rows_layout(o->from->rows);
    const Type *types = o->from->types;
    const char *const *names = o->from->names;
    int32_t n_cols = o->from->n_cols;
    carquet_error_t why = CARQUET_ERROR_INIT;
    if (!(o->schema = carquet_schema_create(&why))) return failed(o, &why, why.code);
    o->cols = arena_array(o->a, OutColumn, n_cols + 1);
    o->levels = arena_array(o->a, int16_t, BATCH);
    if (!o->cols || !o->levels) return err_oom(o->e);
    for (int32_t i = 0; i < n_cols; i++) {
        for (int32_t j = 0; j < i; j++)
            if (strcmp(names[j], names[i]) == 0)
                return err_set(o->e, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", names[i]);
        TRY(make_column(o, &o->cols[i], names[i], types[i], &l->cols[i]));
    }
    return ST_OK;
}

/* ---- cells to values --------------------------------------------------------------------------------------------- */

static Status text_value(ParquetOut *o, const OutColumn *c, const void *cell, carquet_byte_array_t *out) {
    Str s;
    if (c->as_text) {
        Value v = {.type = c->type};
        int64_t n;
        memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(c->type)));
        char *text = value_to_text_form(o->texts, &v, o->from->form, &n);
        if (!text) return err_oom(o->e);
        s = str_make(text, n);
    } else {
        s = *(const Str *)cell;
    }
    *out = (carquet_byte_array_t){(uint8_t *)(uintptr_t)s.ptr, (int32_t)s.len};
    return s.len <= INT32_MAX ? ST_OK : err_set(o->e, ERR_PROGRAM_LIMIT, "a text is too long for a Parquet file");
}

static Status stamp_value(const ParquetOut *o, int64_t v, int64_t *out) {
    if (v == INT64_MAX || v == INT64_MIN || __builtin_add_overflow(v, micros_1970_2000, out))
        return err_set(o->e, ERR_DATETIME_OVERFLOW, "a Parquet file cannot have an infinite timestamp");
    return ST_OK;
}

/* The cell as value number i. */
static Status value_of(ParquetOut *o, OutColumn *c, const void *cell, int64_t i) {
    int64_t v = 0;
    int128_t wide = 0;
    if (c->physical == CARQUET_PHYSICAL_BYTE_ARRAY)
        return text_value(o, c, cell, (carquet_byte_array_t *)c->values + i);
    (void)cell_as_i64(c->phys, cell, &v);
    if (c->phys == PH_I128) memcpy(&wide, cell, sizeof wide);
    else wide = v;
    switch ((TypeId)c->type.id) {
    case T_BOOL: ((uint8_t *)c->values)[i] = v != 0; return ST_OK;
    case T_INT2:
    case T_INT4: ((int32_t *)c->values)[i] = (int32_t)wide; return ST_OK;
    case T_INT8:
    case T_OID: ((int64_t *)c->values)[i] = (int64_t)wide; return ST_OK;
    case T_FLOAT4: memcpy((float *)c->values + i, cell, 4); return ST_OK;
    case T_FLOAT8: memcpy((double *)c->values + i, cell, 8); return ST_OK;
    case T_TIME: ((int64_t *)c->values)[i] = v; return ST_OK;
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return stamp_value(o, v, (int64_t *)c->values + i);
    case T_UUID: memcpy((char *)c->values + 16 * i, cell, 16); return ST_OK;
    case T_DATE:
        if (v == INT32_MAX || v == INT32_MIN || v + days_1970_2000 > INT32_MAX)
            return err_set(o->e, ERR_DATETIME_OVERFLOW, "a Parquet file cannot have an infinite date");
        ((int32_t *)c->values)[i] = (int32_t)(v + days_1970_2000);
        return ST_OK;
    default: break;
    }
    if (c->physical == CARQUET_PHYSICAL_INT64) {
        ((int64_t *)c->values)[i] = (int64_t)wide;
        return ST_OK;
    }
    for (int b = 0; b < 16; b++) ((uint8_t *)c->values)[16 * i + b] = (uint8_t)((uint128_t)wide >> (120 - 8 * b));
    return ST_OK;
}

/* Row r of the batch, where it is not NULL: a dictionary's code stands for its entry. */
static const void *cell_at(const OutColumn *c, int64_t r) {
    const void *cell = (const char *)c->vec.data + r * phys_size((Phys)c->vec.phys);
    return c->dict ? (const void *)&c->dict->entries[*(const int32_t *)cell] : cell;
}
static bool is_null(const OutColumn *c, int64_t r) { return c->vec.valid && !c->vec.valid[r]; }

static Status write_values(ParquetOut *o, int32_t i, int64_t n) {
    OutColumn *c = &o->cols[i];
    int64_t at = 0;
    for (int64_t r = 0; r < n; r++) {
        o->levels[r] = !is_null(c, r);
        if (o->levels[r]) TRY(value_of(o, c, cell_at(c, r), at++));
    }
    carquet_status_t st = carquet_writer_write_batch(o->writer, i, c->values, n, o->levels, NULL);
    return st == CARQUET_OK ? ST_OK : failed(o, NULL, st);
}

/* The elements of a list as values from number *at on, with their levels. */
static Status list_values(ParquetOut *o, OutColumn *c, Str blob, int64_t *at, int16_t *defs, int16_t *reps) {
    ArrayView a = array_view(blob);
    union {
        Str str;
        Interval interval;
        int128_t i128;
        uint8_t bytes[16];
    } cell;
    if (!array_is_plain(&a)) {
        err_set(o->e, ERR_FEATURE_NOT_SUPPORTED,
                "an array of several dimensions, or whose first subscript is not 1, has no form in Parquet");
        err_hint(o->e, "Cast the column to text, or take a[:] of arrays of one dimension.");
        return ST_ERROR;
    }
    for (int64_t k = 0; k < a.n; k++) {
        reps[k] = k > 0;
        defs[k] = array_is_null(&a, k) ? LIST_ELEMENT : LIST_VALUE;
        if (defs[k] != LIST_VALUE) continue;
        array_get(&a, k, &cell);
        TRY(value_of(o, c, &cell, (*at)++));
    }
    return ST_OK;
}

/* A column of lists: what it takes is made for the batch. */
static Status write_lists(ParquetOut *o, int32_t i, int64_t n) {
    OutColumn *c = &o->cols[i];
    int64_t entries = 0, made = 0, at = 0;
    for (int64_t r = 0; r < n; r++) {
        Str blob = is_null(c, r) ? str_make("", 0) : *(const Str *)cell_at(c, r);
        entries += MAX_OF(array_view(blob).n, INT64_C(1));
        o->list_bytes += blob.len;
    }
    int16_t *defs = arena_array(o->texts, int16_t, entries), *reps = arena_array(o->texts, int16_t, entries);
    c->values = arena_alloc(o->texts, 16 * entries);
    if (!defs || !reps || !c->values) return err_oom(o->e);
    for (int64_t r = 0; r < n; r++) {
        Str blob = is_null(c, r) ? str_make("", 0) : *(const Str *)cell_at(c, r);
        defs[made] = is_null(c, r) ? 0 : LIST_THERE; /* where it has no elements */
        TRY(list_values(o, c, blob, &at, defs + made, reps + made));
        made += MAX_OF(array_view(blob).n, INT64_C(1));
    }
    carquet_status_t st = carquet_writer_write_batch(o->writer, i, c->values, entries, defs, reps);
    return st == CARQUET_OK ? ST_OK : failed(o, NULL, st);
}

static Status write_batch(ParquetOut *o, int64_t n) {
    arena_reset(o->texts);
    for (int32_t i = 0; i < o->from->n_cols; i++) TRY(o->cols[i].list ? write_lists(o, i, n) : write_values(o, i, n));
    o->in_group += n;
    if (o->in_group < GROUP_ROWS && o->list_bytes < group_bytes) return ST_OK;
    o->in_group = o->list_bytes = 0;
    carquet_status_t st = carquet_writer_new_row_group(o->writer);
    return st == CARQUET_OK ? ST_OK : failed(o, NULL, st);
}

static Status write_run(void *ctx, const RowLayout *l, const RowRun *run) {
    ParquetOut *o = ctx;
    for (int64_t first = 0; first < run->n; first += BATCH) {
        int64_t n = MIN_OF(run->n - first, (int64_t)BATCH);
        for (int32_t c = 0; c < o->from->n_cols; c++) {
            o->cols[c].vec.valid = o->cols[c].valid;
            rows_load(l, c, run, first, NULL, n, &o->cols[c].vec);
        }
        parquet_memory_begin(&o->memory, o->e);
        Status st = write_batch(o, n);
        parquet_memory_end();
        TRY(st);
    }
    return ST_OK;
}

static Status begin_file(ParquetOut *o, const char *temp) {
    carquet_error_t why = CARQUET_ERROR_INIT;
    carquet_writer_options_t options;
    carquet_writer_options_init(&options);
    options.compression = CARQUET_COMPRESSION_SNAPPY;
    options.created_by = "Stele";
    options.async_io = false;
    TRY(make_columns(o));
    o->writer = carquet_writer_create(temp, o->schema, &options, &why);
    return o->writer ? ST_OK : failed(o, &why, why.code);
}

static Status end_file(const ParquetOut *o) {
    carquet_status_t st = carquet_writer_close(o->writer);
    return st == CARQUET_OK ? ST_OK : failed(o, NULL, st);
}

static Status write_file(ParquetOut *o, const char *temp, int64_t *n_rows) {
    parquet_memory_begin(&o->memory, o->e);
    Status st = begin_file(o, temp);
    parquet_memory_end();
    TRY(st);
    if (copy_each_run(o->from, write_run, o, n_rows, o->e) != ST_OK) {
        carquet_writer_abort(o->writer);
        return ST_ERROR;
    }
    parquet_memory_begin(&o->memory, o->e);
    st = end_file(o);
    parquet_memory_end();
    return st;
}

Status parquet_write(const CopySource *from, Vfs *vfs, const char *path, int64_t *n_rows, Err *e) {
    ParquetOut o = {.from = from, .memory = {.account = from->account}, .path = path, .e = e};
    Status st = ST_ERROR;
    OutFile file; /* the library writes it by its name */
    *n_rows = 0;
    if (from->n_cols == 0) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "a Parquet file needs a column");
    o.a = arena_new(from->account, e);
    o.texts = arena_new(from->account, e);
    if (!o.a || !o.texts || out_file_open(&file, vfs, from->account, path, e) != ST_OK) goto done;
    st = write_file(&o, file.temp, n_rows);
    st = out_file_end(&file, st == ST_OK, e);
done:
    if (o.schema) carquet_schema_free(o.schema);
    parquet_memory_release(&o.memory);
    arena_free(o.texts);
    arena_free(o.a);
    return st;
}
