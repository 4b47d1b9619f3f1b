/* parquet_footer.c - what the footer of a Parquet file says, by third_party/carquet. See parquet_footer.h. */
#include "io/parquet_footer.h"

#include <carquet/carquet.h>

#include "base/stack.h"
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
    /* the library may go on without memory that it was refused, and leave something of the footer out */
    if (f->reader && !err_is_set(e)) return f;
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
        bool text = id == CARQUET_LOGICAL_STRING || id == CARQUET_LOGICAL_ENUM, json = id == CARQUET_LOGICAL_JSON;
        c->form = text ? PF_TEXT : json ? PF_JSON : PF_BYTES;
        c->type = type_make(text ? T_TEXT : json ? T_JSON : T_BYTEA);
        return true;
    }
    case PP_FIXED: {
        bool uuid = id == CARQUET_LOGICAL_UUID && c->length == 16, half = id == CARQUET_LOGICAL_FLOAT16;
        c->form = uuid ? PF_UUID : half ? PF_F16 : PF_FIXED;
        c->type = type_make(uuid ? T_UUID : half ? T_FLOAT4 : T_BYTEA);
        return half ? c->length == 2 : c->length > 0 && id != CARQUET_LOGICAL_INTERVAL;
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

/* What the schema's elements are, as a tree. */
typedef struct Element {
    const carquet_schema_node_t *node;
    const char *name;
    int32_t leaf; /* its number; below 0: it is a group */
    VEC(struct Element) children;
} Element;

typedef struct SchemaWalk {
    const ParquetFooter *f;
    const carquet_schema_t *schema;
    Arena *a;
    int32_t at, leaf; /* the next element, the next leaf */
} SchemaWalk;

static Status bad_schema(const ParquetFooter *f, Err *e) {
    return err_set(e, ERR_BAD_COPY, "the schema of Parquet file \"%s\" is damaged", f->path);
}
static Status lacks_type(const ParquetFooter *f, const char *column, const carquet_logical_type_t *l, Err *e) {
    char what[64] = "a type that";
    carquet_logical_type_id_t id = l ? l->id : CARQUET_LOGICAL_UNKNOWN;
    if (id == CARQUET_LOGICAL_DECIMAL)
        snprintf(what, sizeof what, "type DECIMAL(%d,%d), which", (int)l->params.decimal.precision,
                 (int)l->params.decimal.scale);
    else if (id == CARQUET_LOGICAL_INTERVAL || id == CARQUET_LOGICAL_VARIANT)
        snprintf(what, sizeof what, "type %s, which", id == CARQUET_LOGICAL_VARIANT ? "VARIANT" : "INTERVAL");
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "column \"%s\" of Parquet file \"%s\" has %s Stele lacks", column,
                   f->path, what);
}

/* The names on the way to the next leaf, which are the elements' own; 0: there is no leaf. */
static Status leaf_path(const SchemaWalk *w, const char **path, int32_t *depth, Err *e) {
    *depth = 0;
    if (w->leaf == carquet_schema_num_columns(w->schema)) return ST_OK;
    *depth = carquet_schema_column_path(w->schema, w->leaf, path, NESTED_DEPTH + 1);
    if (*depth > NESTED_DEPTH)
        return err_set(e, ERR_PROGRAM_LIMIT, "a column of Parquet file \"%s\" is nested in more than %d levels",
                       w->f->path, NESTED_DEPTH);
    return *depth > 0 ? ST_OK : bad_schema(w->f, e);
}

/* The children of a group that is `depth` names away from the schema's root, by the ways to the leaves: the library
 * does not say how many children a group has. Groups without leaves are left out. */
static Status read_elements(SchemaWalk *w, int32_t depth, Element *group, Err *e) {
    const char *path[NESTED_DEPTH + 1];
    int32_t n;
    TRY(stack_check(e));
    for (;;) {
        TRY(leaf_path(w, path, &n, e));
        if (n <= depth || (depth > 0 && path[depth - 1] != group->name)) return ST_OK;
        Element x = {.leaf = -1, .name = path[depth]};
        do {
            x.node = carquet_schema_get_element(w->schema, w->at++);
            if (!x.node || !x.name) return bad_schema(w->f, e);
        } while (carquet_schema_node_name(x.node) != x.name);
        bool leaf = carquet_schema_node_is_leaf(x.node);
        if (leaf != (n == depth + 1)) return bad_schema(w->f, e);
        if (leaf) x.leaf = w->leaf++;
        else TRY(read_elements(w, depth + 1, &x, e));
        if (!vec_push(w->a, &group->children, x)) return err_oom(e);
    }
}

static bool is_repeated(const Element *x) {
    return carquet_schema_node_repetition(x->node) == CARQUET_REPETITION_REPEATED;
}
static bool is_optional(const Element *x) {
    return carquet_schema_node_repetition(x->node) == CARQUET_REPETITION_OPTIONAL;
}
static carquet_logical_type_id_t logical_id(const Element *x) {
    const carquet_logical_type_t *l = carquet_schema_node_logical_type(x->node);
    return l ? l->id : CARQUET_LOGICAL_UNKNOWN;
}

/* A column that has values; column: the one that it is or is within. */
static Status read_leaf(const ParquetFooter *f, const Element *x, const char *column, ParquetColumn *c, Err *e) {
    const carquet_schema_t *schema = carquet_reader_schema(f->reader);
    int physical = (int)carquet_schema_column_type(schema, x->leaf);
    *c = (ParquetColumn){.leaf = x->leaf, .physical = (ParquetPhysical)physical, .name = column};
    c->max_def = (uint8_t)carquet_schema_max_def_level(schema, x->leaf);
    c->max_rep = (uint8_t)carquet_schema_max_rep_level(schema, x->leaf);
    c->multiply = c->divide = 1;
    if (physical < PP_BOOLEAN || physical > PP_FIXED)
        return err_set(e, ERR_BAD_COPY, "column \"%s\" of Parquet file \"%s\" has no type", column, f->path);
    c->length = value_length(c, x->node);
    const carquet_logical_type_t *l = carquet_schema_node_logical_type(x->node);
    return column_form(c, l) ? ST_OK : lacks_type(f, column, l, e);
}

/* ---- nested columns ---------------------------------------------------------------------------------------------- */

typedef struct TreeMaker {
    const ParquetFooter *f;
    Arena *a;
    const char *column;
    ParquetTree *t;
} TreeMaker;

/* Places for n fields side by side; their number. */
static int32_t new_fields(TreeMaker *m, NestedField *parent, int32_t n) {
    int32_t first = m->t->n_nodes;
    m->t->n_nodes += n;
    parent->n_children = n;
    parent->children = &m->t->fields[first];
    return first;
}

/* Whether the child of a list is its element, and not a group around it: files of older writers.
 * https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#backward-compatibility-rules */
static bool is_element(const Element *list, const Element *child) {
    if (child->leaf >= 0 || child->children.len != 1) return true;
    if (strcmp(child->name, "array") == 0 || is_repeated(&child->children.items[0])) return true;
    if (logical_id(child) == CARQUET_LOGICAL_LIST || logical_id(child) == CARQUET_LOGICAL_MAP) return true;
    size_t n = strlen(list->name);
    return strncmp(child->name, list->name, n) == 0 && strcmp(child->name + n, "_tuple") == 0;
}

/* The levels of what a field is within: def, its definition level; outer, from which it has a value of the field, which
 * is less where it is a struct, whose members are NULL where it is. */
typedef struct Levels {
    uint8_t rep, def, outer;
} Levels;
static Levels levels_of_elements(uint8_t rep, uint8_t def) {
    return (Levels){(uint8_t)(rep + 1), (uint8_t)(def + 1), (uint8_t)(def + 1)};
}

/* Field number i; element: x is that of a list, and its repetition is the list's. */
static Status make_field(TreeMaker *m, const Element *x, bool element, int32_t i, Levels in, Err *e) {
    NestedField *f = &m->t->fields[i];
    ParquetNode *node = &m->t->nodes[i];
    TRY(stack_check(e));
    const uint8_t def = (uint8_t)(in.def + (!element && is_optional(x)));
    const Levels elements = levels_of_elements(in.rep, def), members = {in.rep, def, in.outer};
    *node = (ParquetNode){
        .rep = in.rep, .outer = in.outer, .there = def, .element = elements.def, .first_leaf = m->t->n_leaves};
    f->name = x->name;
    bool single = x->children.len == 1 && is_repeated(&x->children.items[0]);
    const Element *child = single ? &x->children.items[0] : NULL;
    if (!element && is_repeated(x)) {
        f->kind = NESTED_LIST;
        TRY(make_field(m, x, true, new_fields(m, f, 1), elements, e));
    } else if (x->leaf >= 0) {
        ParquetColumn *c = &m->t->leaves[m->t->n_leaves++];
        TRY(read_leaf(m->f, x, m->column, c, e));
        f->type = c->type;
        if (c->max_def != def || c->max_rep != in.rep) return bad_schema(m->f, e);
    } else if (child && logical_id(x) == CARQUET_LOGICAL_MAP && child->children.len == 2) {
        f->kind = NESTED_MAP;
        int32_t pair = new_fields(m, f, 2);
        for (int32_t k = 0; k < 2; k++) TRY(make_field(m, &child->children.items[k], false, pair + k, elements, e));
    } else if (child && (logical_id(x) == CARQUET_LOGICAL_LIST || logical_id(x) == CARQUET_LOGICAL_MAP)) {
        f->kind = NESTED_LIST; /* a map may have keys only */
        bool whole = is_element(x, child);
        int32_t item = new_fields(m, f, 1);
        TRY(make_field(m, whole ? child : &child->children.items[0], whole, item, elements, e));
    } else {
        if (logical_id(x) == CARQUET_LOGICAL_VARIANT)
            return lacks_type(m->f, m->column, carquet_schema_node_logical_type(x->node), e);
        f->kind = NESTED_STRUCT;
        int32_t first = new_fields(m, f, (int32_t)x->children.len);
        for (int32_t k = 0; k < f->n_children; k++)
            TRY(make_field(m, &x->children.items[k], false, first + k, members, e));
    }
    f->type = nested_type(f);
    node->n_leaves = m->t->n_leaves - node->first_leaf;
    return ST_OK;
}

/* A column whose leaves are `first` .. `end`. */
static Status read_tree(const ParquetFooter *f, const Element *x, int32_t first, int32_t end, Arena *a,
                        ParquetColumn *c, Err *e) {
    TreeMaker m = {.f = f, .a = a, .column = c->name, .t = arena_new_of(a, ParquetTree)};
    /* each element makes at most two fields: its own, and a list around it */
    int64_t most = 2 * (int64_t)carquet_schema_num_elements(carquet_reader_schema(f->reader));
    most = MIN_OF(most, 2 * (int64_t)(end - first) * NESTED_DEPTH);
    if (!m.t || !(m.t->nodes = arena_array(a, ParquetNode, most)) ||
        !(m.t->fields = arena_array(a, NestedField, most)) ||
        !(m.t->leaves = arena_array(a, ParquetColumn, end - first)))
        return err_oom(e);
    m.t->n_nodes = 1;
    TRY(make_field(&m, x, false, 0, (Levels){0}, e));
    for (int32_t i = 0; i < m.t->n_nodes; i++)
        if (!(m.t->fields[i].name = arena_strdup(a, m.t->fields[i].name))) return err_oom(e);
    for (int32_t i = 0; i < m.t->n_nodes; i++)
        if (utf8_check(m.t->fields[i].name, (int64_t)strlen(m.t->fields[i].name)) >= 0) return bad_schema(f, e);
    c->leaf = first;
    c->physical = PP_BYTE_ARRAY;
    c->type = m.t->fields[0].type;
    c->tree = m.t;
    return ST_OK;
}

/* The leaf that is first behind a column that begins with leaf number `leaf`. */
static int32_t leaves_end(const Element *x, int32_t first) {
    while (x->leaf < 0 && x->children.len > 0) x = &x->children.items[x->children.len - 1];
    return x->leaf < 0 ? first : x->leaf + 1;
}

static Status read_columns(const ParquetFooter *f, const Element *root, Arena *a, ParquetColumn *cols, Err *e) {
    for (int64_t i = 0, leaf = 0; i < root->children.len; i++) {
        const Element *x = &root->children.items[i];
        ParquetColumn *c = &cols[i];
        int32_t end = leaves_end(x, (int32_t)leaf);
        const char *name = arena_strdup(a, x->name);
        if (!name) return err_oom(e);
        c->name = name;
        if (x->leaf >= 0 && !is_repeated(x)) TRY(read_leaf(f, x, name, c, e));
        else TRY(read_tree(f, x, (int32_t)leaf, end, a, c, e));
        leaf = end;
    }
    return ST_OK;
}

Status parquet_footer_columns(const ParquetFooter *f, Arena *a, int32_t *n_cols, ParquetColumn **cols, Err *e) {
    const carquet_schema_t *schema = carquet_reader_schema(f->reader);
    Element root = {.leaf = -1};
    Arena *tmp = arena_new(arena_account(a), e);
    SchemaWalk w = {.f = f, .schema = schema, .a = tmp, .at = 1};
    Status st = tmp ? read_elements(&w, 0, &root, e) : ST_ERROR;
    if (st == ST_OK && root.children.len == 0)
        st = err_set(e, ERR_BAD_COPY, "Parquet file \"%s\" has no columns", f->path);
    if (st == ST_OK && root.children.len > 1600)
        st = err_set(e, ERR_TOO_MANY_COLUMNS, "file \"%s\" has more than 1600 columns", f->path);
    if (st == ST_OK) {
        *n_cols = (int32_t)root.children.len;
        *cols = arena_array(a, ParquetColumn, *n_cols + 1);
        st = *cols ? read_columns(f, &root, a, *cols, e) : err_oom(e);
    }
    arena_free(tmp);
    return st;
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
