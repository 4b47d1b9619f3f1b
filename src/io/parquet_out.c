/* parquet_out.c - COPY TO a Parquet file: rows of a result through third_party/carquet. See parquet.h.
 *
 * Row groups of GROUP_ROWS rows, so that readers have something to share; snappy, which every reader knows. What
 * Parquet has no type for (intervals, arrays) is written as text. The file is written under a temporary name and
 * renamed when complete. The library's memory is charged per call, not all along: the rows may come from Parquet files,
 * whose readers charge theirs on this thread meanwhile.
 */
#include "io/parquet.h"

#include <carquet/carquet.h>
#include <errno.h>

#include "io/out_file.h"
#include "io/parquet_memory.h"

enum { BATCH = 1024, GROUP_ROWS = 120 * BATCH };
static const int64_t days_1970_2000 = 10957, micros_1970_2000 = INT64_C(946684800) * 1000000;

typedef struct OutColumn {
    carquet_physical_type_t physical;
    bool as_text;
    Type type;
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
    int64_t in_group;
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
    case T_BYTEA: c->physical = CARQUET_PHYSICAL_BYTE_ARRAY; return false;
    case T_INT2:
        c->physical = CARQUET_PHYSICAL_INT32;
        l->id = CARQUET_LOGICAL_INTEGER;
        l->params.integer.bit_width = 16;
        l->params.integer.is_signed = true;
        return true;
    case T_NUMERIC: {
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
    c->as_text = !type_is_text(c->type);
    c->physical = CARQUET_PHYSICAL_BYTE_ARRAY;
    l->id = CARQUET_LOGICAL_STRING;
    return true;
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
        OutColumn *c = &o->cols[i];
        const CellSpec *k = &l->cols[i];
        carquet_logical_type_t logical;
        int32_t length;
        c->type = types[i];
        c->dict = k->dict;
        bool has = column_types(c, &logical, &length);
        c->vec = (Vec){.phys = k->phys, .type = types[i], .data = arena_calloc(o->a, phys_size((Phys)k->phys) * BATCH)};
        c->valid = arena_calloc(o->a, BATCH);
        c->values = arena_calloc(o->a, 16 * BATCH);
        if (!c->vec.data || !c->valid || !c->values) return err_oom(o->e);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(names[j], names[i]) == 0)
                return err_set(o->e, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", names[i]);
        carquet_status_t st = carquet_schema_add_column(o->schema, names[i], c->physical, has ? &logical : NULL,
                                                        CARQUET_REPETITION_OPTIONAL, length, 0);
        if (st != CARQUET_OK) return failed(o, NULL, st);
    }
    return ST_OK;
}

/* ---- cells to values --------------------------------------------------------------------------------------------- */

static Status text_value(ParquetOut *o, const OutColumn *c, const void *cell, carquet_byte_array_t *out) {
    Str s;
    if (c->as_text) {
        Value v = {.type = c->type};
        int64_t n;
        if (c->dict) v.u.str = c->dict->entries[*(const int32_t *)cell];
        else memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(c->type)));
        char *text = value_to_text_form(o->texts, &v, o->from->form, &n);
        if (!text) return err_oom(o->e);
        s = str_make(text, n);
    } else {
        s = c->dict ? c->dict->entries[*(const int32_t *)cell] : *(const Str *)cell;
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
    bool small = cell_as_i64((Phys)c->vec.phys, cell, &v);
    if (c->vec.phys == PH_I128) memcpy(&wide, cell, sizeof wide);
    else wide = v;
    (void)small;
    switch ((TypeId)c->type.id) {
    case T_BOOL: ((uint8_t *)c->values)[i] = v != 0; return ST_OK;
    case T_INT2:
    case T_INT4: ((int32_t *)c->values)[i] = (int32_t)wide; return ST_OK;
    case T_INT8: ((int64_t *)c->values)[i] = (int64_t)wide; return ST_OK;
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

static Status write_batch(ParquetOut *o, int64_t n) {
    arena_reset(o->texts);
    for (int32_t i = 0; i < o->from->n_cols; i++) {
        OutColumn *c = &o->cols[i];
        int64_t at = 0, size = phys_size((Phys)c->vec.phys);
        for (int64_t r = 0; r < n; r++) {
            o->levels[r] = !c->vec.valid || c->vec.valid[r];
            if (o->levels[r]) TRY(value_of(o, c, (const char *)c->vec.data + r * size, at++));
        }
        carquet_status_t st = carquet_writer_write_batch(o->writer, i, c->values, n, o->levels, NULL);
        if (st != CARQUET_OK) return failed(o, NULL, st);
    }
    o->in_group += n;
    if (o->in_group < GROUP_ROWS) return ST_OK;
    o->in_group = 0;
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
