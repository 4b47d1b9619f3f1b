/* parquet_footer.c - what the footer of a Parquet file says, by third_party/carquet. See parquet_footer.h. */
#include "io/parquet_footer.h"

#include <carquet/carquet.h>

#include "io/parquet_memory.h"

static_assert((int)PP_BOOLEAN == CARQUET_PHYSICAL_BOOLEAN && (int)PP_INT64 == CARQUET_PHYSICAL_INT64 &&
                  (int)PP_INT96 == CARQUET_PHYSICAL_INT96 && (int)PP_BYTE_ARRAY == CARQUET_PHYSICAL_BYTE_ARRAY &&
                  (int)PP_FIXED == CARQUET_PHYSICAL_FIXED_LEN_BYTE_ARRAY,
              "the numbers are the format's");

struct ParquetFooter {
    MemAccount *account;
    ParquetMemory memory;
    Vfs *vfs;
    VfsFile *file;
    int64_t size;
    const char *path;
    carquet_reader_t *reader;
};

static Status failed(Err *e, const char *path, const carquet_error_t *why) {
    const char *state = why->code == CARQUET_ERROR_OUT_OF_MEMORY    ? ERR_OUT_OF_MEMORY
                        : why->code == CARQUET_ERROR_FILE_NOT_FOUND ? ERR_UNDEFINED_FILE
                                                                    : ERR_BAD_COPY;
    if (err_is_set(e)) return ST_ERROR; /* memory that was refused */
    return err_set(e, state, "could not read Parquet file \"%s\": %s", path,
                   why->message[0] ? why->message : "it is damaged");
}

ParquetFooter *parquet_footer_open(Vfs *vfs, MemAccount *account, const char *path, Err *e) {
    carquet_error_t why = CARQUET_ERROR_INIT;
    carquet_reader_options_t o;
    ParquetFooter *f = mem_calloc(account, (int64_t)sizeof *f, e);
    if (!f) return NULL;
    *f = (ParquetFooter){.account = account, .memory = {.account = account}, .vfs = vfs, .path = path};
    /* in the words of other files when it is not there */
    if (vfs->open(vfs, path, VFS_READ, &f->file, e) != ST_OK) {
        f->file = NULL;
        goto failed;
    }
    if (vfs->size(f->file, &f->size, e) != ST_OK) goto failed;
    carquet_reader_options_init(&o);
    o.use_mmap = false;
    o.num_threads = 1;
    parquet_memory_begin(&f->memory, e);
    f->reader = carquet_reader_open(path, &o, &why);
    parquet_memory_end();
    if (f->reader) return f;
    failed(e, path, &why);
failed:
    parquet_footer_close(f);
    return NULL;
}

void parquet_footer_close(ParquetFooter *f) {
    if (!f) return;
    if (f->reader) carquet_reader_close(f->reader);
    parquet_memory_release(&f->memory);
    if (f->file) (void)f->vfs->close(f->file, NULL);
    mem_free(f->account, f, (int64_t)sizeof *f);
}

VfsFile *parquet_footer_file(const ParquetFooter *f) { return f->file; }
int64_t parquet_footer_rows(const ParquetFooter *f) { return carquet_reader_num_rows(f->reader); }
int32_t parquet_footer_groups(const ParquetFooter *f) { return carquet_reader_num_row_groups(f->reader); }

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static Type integer_type(const carquet_logical_type_t *l, bool wide, ParquetForm *form) {
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
    bool wide = c->physical == PP_INT64;
    if (id == CARQUET_LOGICAL_DECIMAL) {
        c->form = PF_DECIMAL;
        int p = l->params.decimal.precision, s = l->params.decimal.scale;
        if (p < 1 || p > NUMERIC_MAX_PRECISION || s < 0 || s > p) return false;
        c->type = type_numeric(p, s);
        return c->physical == PP_INT32 || wide || c->physical == PP_BYTE_ARRAY || c->physical == PP_FIXED;
    }
    switch (c->physical) {
    case PP_BOOLEAN:
        c->form = PF_BOOL;
        c->type = type_make(T_BOOL);
        return true;
    case PP_FLOAT:
        c->form = PF_F32;
        c->type = type_make(T_FLOAT4);
        return true;
    case PP_DOUBLE:
        c->form = PF_F64;
        c->type = type_make(T_FLOAT8);
        return true;
    case PP_INT96:
        c->form = PF_INT96;
        c->type = type_make(T_TIMESTAMP);
        return true;
    case PP_BYTE_ARRAY: {
        bool text = id == CARQUET_LOGICAL_STRING || id == CARQUET_LOGICAL_ENUM || id == CARQUET_LOGICAL_JSON;
        c->form = text ? PF_TEXT : PF_BYTES;
        c->type = type_make(text ? T_TEXT : T_BYTEA);
        return true;
    }
    case PP_FIXED: {
        bool uuid = id == CARQUET_LOGICAL_UUID && c->length == 16;
        c->form = uuid ? PF_UUID : PF_FIXED;
        c->type = type_make(uuid ? T_UUID : T_BYTEA);
        return c->length > 0 && id != CARQUET_LOGICAL_FLOAT16 && id != CARQUET_LOGICAL_INTERVAL;
    }
    case PP_INT32:
    case PP_INT64: break;
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

/* Bytes of a value. */
static int32_t value_length(const ParquetColumn *c, const carquet_schema_node_t *node) {
    switch (c->physical) {
    case PP_INT32:
    case PP_FLOAT: return 4;
    case PP_INT64:
    case PP_DOUBLE: return 8;
    case PP_INT96: return 12;
    case PP_FIXED: return carquet_schema_node_type_length(node);
    case PP_BOOLEAN:
    case PP_BYTE_ARRAY: break;
    }
    return 0;
}

/* The leaves in the order of the schema's elements. */
Status parquet_footer_columns(const ParquetFooter *f, Arena *a, int32_t *n_cols, ParquetColumn **cols, Err *e) {
    const carquet_schema_t *schema = carquet_reader_schema(f->reader);
    int32_t n = carquet_schema_num_columns(schema), leaf = 0;
    if (n > 1600) return err_set(e, ERR_TOO_MANY_COLUMNS, "file \"%s\" has more than 1600 columns", f->path);
    if (!(*cols = arena_array(a, ParquetColumn, n + 1))) return err_oom(e);
    for (int32_t i = 0; i < carquet_schema_num_elements(schema) && leaf < n; i++) {
        const carquet_schema_node_t *node = carquet_schema_get_element(schema, i);
        if (!node || !carquet_schema_node_is_leaf(node)) continue;
        ParquetColumn *c = &(*cols)[leaf];
        const char *steps[2] = {NULL, NULL}, *name = carquet_schema_node_name(node);
        c->name = arena_strdup(a, name ? name : "");
        if (!c->name) return err_oom(e);
        int16_t max_level = carquet_schema_max_def_level(schema, leaf);
        bool flat = carquet_schema_column_path(schema, leaf, steps, 2) == 1 &&
                    carquet_schema_max_rep_level(schema, leaf) == 0 && max_level <= 1;
        if (!flat)
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "column \"%s\" of Parquet file \"%s\" is nested",
                           steps[0] ? steps[0] : c->name, f->path);
        int physical = (int)carquet_schema_column_type(schema, leaf);
        c->leaf = leaf;
        c->physical = (ParquetPhysical)physical;
        c->nullable = max_level > 0;
        c->multiply = c->divide = 1;
        if (physical < PP_BOOLEAN || physical > PP_FIXED)
            return err_set(e, ERR_BAD_COPY, "column \"%s\" of Parquet file \"%s\" has no type", c->name, f->path);
        c->length = value_length(c, node);
        if (!column_form(c, carquet_schema_node_logical_type(node)))
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                           "column \"%s\" of Parquet file \"%s\" has a type that Stele lacks", c->name, f->path);
        leaf++;
    }
    *n_cols = leaf;
    return leaf == n && n > 0 ? ST_OK : err_set(e, ERR_BAD_COPY, "Parquet file \"%s\" has no columns", f->path);
}

/* ---- row groups -------------------------------------------------------------------------------------------------- */

int64_t parquet_footer_group_rows(const ParquetFooter *f, int32_t group) {
    carquet_row_group_metadata_t m;
    return carquet_reader_row_group_metadata(f->reader, group, &m) == CARQUET_OK ? m.num_rows : -1;
}

static Codec codec_of(carquet_compression_t c) {
    switch ((int)c) {
    case CARQUET_COMPRESSION_UNCOMPRESSED: return CODEC_NONE;
    case CARQUET_COMPRESSION_SNAPPY: return CODEC_SNAPPY;
    case CARQUET_COMPRESSION_GZIP: return CODEC_GZIP;
    case CARQUET_COMPRESSION_BROTLI: return CODEC_BROTLI;
    case CARQUET_COMPRESSION_LZ4: return CODEC_LZ4;
    case CARQUET_COMPRESSION_LZ4_RAW: return CODEC_LZ4_BLOCK;
    case CARQUET_COMPRESSION_ZSTD: return CODEC_ZSTD;
    default: return CODEC_UNKNOWN;
    }
}

Status parquet_footer_chunk(const ParquetFooter *f, int32_t group, const ParquetColumn *c, ParquetChunk *out, Err *e) {
    carquet_column_chunk_metadata_t m = {0};
    if (carquet_reader_column_chunk_metadata(f->reader, group, c->leaf, &m) != CARQUET_OK ||
        (int)m.type != (int)c->physical)
        return err_set(e, ERR_BAD_COPY, "the footer has no such column");
    int64_t start = m.data_page_offset;
    if (m.has_dictionary_page && m.dictionary_page_offset > 0) start = MIN_OF(start, m.dictionary_page_offset);
    if (start < 4 || m.total_compressed_size < 0 || m.total_compressed_size > f->size - start)
        return err_set(e, ERR_BAD_COPY, "the footer has a column outside of the file");
    out->codec = codec_of(m.codec);
    out->start = start;
    out->end = start + m.total_compressed_size;
    if (out->codec != CODEC_UNKNOWN) return ST_OK;
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "a column is compressed in a way that is not known (%d)",
                   (int)m.codec);
}

/* A value of the statistics as the cell that it would be; false where their order is not that of cells. */
static bool bound_of(const ParquetColumn *c, const void *value, int32_t size, int64_t *out) {
    uint8_t padded[8 + CODEC_PAD] = {0};
    const uint8_t *at = padded;
    Err ignored;
    if ((c->physical != PP_INT64 && c->physical != PP_INT32) || size != c->length || !value) return false;
    if (c->form == PF_U32 || c->form == PF_U64) return false;
    memcpy(padded, value, (size_t)size);
    union {
        int16_t i16;
        int32_t i32;
        int64_t i64;
        int128_t i128;
    } cell = {0};
    err_clear(&ignored);
    if (parquet_cells(c, &at, at + size, 1, &cell, &ignored) != ST_OK) return false;
    Phys phys = type_phys(c->type);
    *out = phys == PH_I16 ? cell.i16 : phys == PH_I32 ? cell.i32 : cell.i64;
    return phys == PH_I16 || phys == PH_I32 || phys == PH_I64;
}

bool parquet_footer_bounds(const ParquetFooter *f, int32_t group, const ParquetColumn *c, int64_t *min, int64_t *max) {
    carquet_column_statistics_t s = {0};
    if (carquet_reader_column_statistics(f->reader, group, c->leaf, &s) != CARQUET_OK || !s.has_min_max) return false;
    return bound_of(c, s.min_value, s.min_value_size, min) && bound_of(c, s.max_value, s.max_value_size, max);
}
