/* catalog_file.c - see catalog_file.h. */
#include "db/catalog_file.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "db/catalog_roles.h"
#include "storage/keyindex.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/numbers.h"
#include "types/range.h"

#define CATALOG_MAGIC "STELECAT"
enum {
    CATALOG_FIRST = 1,
    CATALOG_FOREIGN = 2 /* a catalog with foreign keys */,
    CATALOG_ROUTINES = 3 /* and routines */,
    CATALOG_EXPECTED = 4 /* and the rows that tables expect */,
    CATALOG_SOURCES = 5 /* and what views read */,
    CATALOG_INDEXES = 6 /* and unique indexes that are no constraints, or whose keys are computed */,
    CATALOG_DECIMALS = 7 /* and numerics without (p,s) of any length */,
    CATALOG_JSON = 8 /* and json and jsonb */,
    CATALOG_ENUMS = 9 /* and enumerated types */,
    CATALOG_DOMAINS = 10 /* and domains */,
    CATALOG_COMPOSITES = 11 /* and composite types */,
    CATALOG_TIMETZ = 12 /* and timetz */,
    CATALOG_POLYMORPHIC = 13 /* and polymorphic and variadic routines */,
    CATALOG_BITS = 14 /* and bit strings */,
    CATALOG_SEQUENCES = 15 /* and sequences, identity and generated columns */,
    CATALOG_RANGES = 16 /* and ranges */,
    CATALOG_INDEX_DEFS = 17 /* and definitions of indexes that say more than unique keys; oid and its like */,
    CATALOG_COMMENTS = 18 /* and comments */,
    CATALOG_VIEWS = 19 /* and options and defaults of views, and materialized ones */,
    CATALOG_CONSTRAINTS = 20 /* and deferrable constraints, and all that foreign keys may have; jsonpath */,
    CATALOG_ROLES = 22 /* and roles, owners and privileges */,
    CATALOG_SCHEMAS = 23 /* and schemas */,
    CATALOG_TYPE_SCHEMAS = 24 /* and types in them, arrays and fields of domains, row security, comments and
                                 privileges of what every database has */
    ,
    CATALOG_AGGREGATES = 25 /* and aggregates among the routines */,
    CATALOG_UNLOGGED = 26 /* and unlogged tables and sequences */,
    CATALOG_LSN = 28 /* and pg_lsn */,
    CATALOG_MONEY = 29 /* and money */,
    CATALOG_NUMERICS = 31 /* and numerics without (p,s) in arrays and routines, which had numeric(38,16) before */,
    CATALOG_LAST = CATALOG_NUMERICS
};
static_assert(sizeof(Type) == 8, "file format");

static void put_type(BytesOut *o, Type t) { bytes_put(o, &t, (int64_t)sizeof t); }
/* For who compares: the file's numbers of types that are defined mean nothing elsewhere. */
static void put_type_name(BytesOut *o, Type t) {
    char room[TYPE_NAME_MAX];
    bytes_put_text(o, type_name(t, &room));
}
typedef void (*PutType)(BytesOut *o, Type t);
static void put_enums(BytesOut *o, EnumSpace *s) {
    const EnumType *x;
    bytes_put_i64(o, enum_count(s));
    for (int64_t i = 0; (x = enum_nth(s, i)) != NULL; i++) {
        bytes_put_i64(o, x->number);
        bytes_put_text(o, x->name);
        bytes_put_i64(o, x->n);
        for (int32_t k = 0; k < x->n; k++) {
            bytes_put_i64(o, x->labels[k].code);
            bytes_put_text(o, x->labels[k].text);
        }
    }
}
static void put_ranges(BytesOut *o, RangeSpace *s) {
    const RangeType *x;
    bytes_put_i64(o, range_count(s));
    for (int64_t i = 0; (x = range_nth(s, i)) != NULL; i++) {
        bytes_put_i64(o, x->number);
        bytes_put_text(o, x->name);
        bytes_put_text(o, x->multi);
        bytes_put_text(o, x->make);
        bytes_put_text(o, x->make_multi);
        put_type(o, x->subtype);
        bytes_put_text(o, x->collation);
        bytes_put_text(o, x->subtype_diff);
    }
}
/* Composite types, those that are in another one in front of it. */
typedef struct CompositeList {
    int64_t n, cap;
    const CompositeType **items;
    MemAccount *a;
    Err *e;
} CompositeList;
static Status add_composite(CompositeList *l, Type t) {
    const CompositeType *x = composite_of(t.id == T_ARRAY ? type_element(t) : t);
    for (int64_t i = 0; x && i < l->n; i++)
        if (l->items[i] == x) return ST_OK;
    if (!x) return ST_OK;
    for (int32_t i = 0; i < x->n; i++) TRY(add_composite(l, x->fields[i].type));
    if (l->n == l->cap) {
        const int64_t cap = l->cap ? l->cap * 2 : 16, size = (int64_t)sizeof *l->items;
        const CompositeType **p = mem_realloc(l->a, l->items, l->cap * size, cap * size, l->e);
        if (!p) return ST_ERROR;
        l->items = p;
        l->cap = cap;
    }
    l->items[l->n++] = x;
    return ST_OK;
}
/* Those that are in force, and row types of tables that columns and routines have. */
static Status list_composites(const Catalog *c, CompositeList *l) {
    const CompositeType *x;
    for (int64_t i = 0; (x = composite_nth(c->rows, i)) != NULL; i++) TRY(add_composite(l, composite_type(x)));
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) TRY(add_composite(l, c->tables[i]->cols[k].type));
    for (int64_t i = 0; i < c->n_routines; i++) {
        TRY(add_composite(l, c->routines[i]->ret));
        for (int k = 0; k < c->routines[i]->n_params; k++) TRY(add_composite(l, c->routines[i]->param_types[k]));
    }
    return ST_OK;
}
static void put_composites(BytesOut *o, const CompositeList *l) {
    bytes_put_i64(o, l->n);
    for (int64_t i = 0; i < l->n; i++) {
        const CompositeType *x = l->items[i];
        bytes_put_i64(o, x->number);
        bytes_put_bool(o, x->kind == COMPOSITE_TABLE);
        bytes_put_text(o, x->name);
        bytes_put_i64(o, x->n);
        for (int32_t k = 0; k < x->n; k++) {
            bytes_put_text(o, x->fields[k].name);
            put_type(o, x->fields[k].type);
        }
    }
}
static void put_table(BytesOut *o, const Table *t, PutType put) {
    bytes_put_i64(o, t->id);
    bytes_put_text(o, t->name);
    bytes_put_i64(o, t->n_cols);
    for (int c = 0; c < t->n_cols; c++) {
        bytes_put_text(o, t->cols[c].name);
        put(o, t->cols[c].type);
        bytes_put_bool(o, t->cols[c].not_null);
        bytes_put_text(o, t->cols[c].default_sql);
    }
    bytes_put_i64(o, t->n_keys);
    for (int k = 0; k < t->n_keys; k++) {
        bytes_put_text(o, t->keys[k].name);
        bytes_put_bool(o, t->keys[k].primary);
        bytes_put_i64(o, t->keys[k].n_cols);
        for (int i = 0; i < t->keys[k].n_cols; i++) bytes_put_i64(o, t->keys[k].cols[i]);
    }
    bytes_put_i64(o, t->n_checks);
    for (int i = 0; i < t->n_checks; i++) {
        bytes_put_text(o, t->checks[i].name);
        bytes_put_text(o, t->checks[i].sql);
    }
}
static void put_foreign(BytesOut *o, const ForeignKey *f) {
    bytes_put_text(o, f->name);
    bytes_put_text(o, f->table);
    bytes_put_text(o, f->ref_table);
    bytes_put(o, &f->on_delete, 1);
    bytes_put(o, &f->on_update, 1);
    bytes_put_i64(o, f->n_cols);
    for (int i = 0; i < f->n_cols; i++) {
        bytes_put_text(o, f->cols[i]);
        bytes_put_text(o, f->ref_cols[i]);
    }
}
static void put_routine(BytesOut *o, const Routine *r) {
    bytes_put_i64(o, r->id);
    bytes_put_text(o, r->name);
    bytes_put_bool(o, r->is_procedure);
    bytes_put_bool(o, r->returns_set);
    bytes_put_bool(o, r->returns_void);
    bytes_put_bool(o, r->returns_record);
    bytes_put_bool(o, r->strict);
    bytes_put_bool(o, r->may_write);
    bytes_put(o, &r->volatility, 1);
    bytes_put_i64(o, r->n_params);
    const int variadic = routine_variadic_param(r);
    for (int i = 0; i < r->n_params; i++) {
        bytes_put_text(o, r->param_names[i]);
        bytes_put(o, i == variadic ? "v" : &r->param_modes[i], 1);
        bytes_put(o, &r->param_types[i], (int64_t)sizeof(Type));
    }
    bytes_put_i64(o, r->n_args);
    bytes_put_i64(o, r->n_defaults);
    bytes_put(o, &r->ret, (int64_t)sizeof(Type));
    bytes_put_text(o, r->language);
    bytes_put_text(o, r->sql);
}
static void put_view(BytesOut *o, const View *v) {
    bytes_put_text(o, v->name);
    bytes_put_text(o, v->sql);
    bytes_put_i64(o, v->n_cols);
    for (int k = 0; k < v->n_cols; k++) bytes_put_text(o, v->cols[k]);
}
static void put_view_sources(BytesOut *o, const View *v) {
    bytes_put_i64(o, v->n_sources);
    for (int i = 0; i < v->n_sources; i++) {
        const ViewSource *q = &v->sources[i];
        bytes_put_i64(o, q->location);
        bytes_put_text(o, q->relation);
        bytes_put_i64(o, q->n_cols);
        for (int k = 0; k < q->n_cols; k++) {
            bytes_put_text(o, q->cols[k]);
            bytes_put_text(o, q->names[k]);
        }
    }
}
static bool has_view_parts(const View *v) { return v->n_options > 0 || v->n_defaults > 0 || v->materialized; }
static void put_view_parts(BytesOut *o, const View *v) {
    bytes_put_i64(o, v->n_defaults);
    for (int i = 0; i < v->n_defaults; i++) bytes_put_text(o, v->defaults[i]);
    bytes_put_i64(o, v->n_options);
    for (int i = 0; i < v->n_options; i++) bytes_put_text(o, v->options[i]);
    bytes_put_bool(o, v->materialized);
    bytes_put_bool(o, v->populated);
}
/* The first format that has the type. */
static int64_t format_of(Type t) {
    const bool array = t.id == T_ARRAY;
    if (array) t = type_element(t);
    if (array && t.id == T_DECIMAL && t.length == 0) return CATALOG_NUMERICS;
    const bool poly_range = type_is_poly(t) && t.length >= POLY_RANGE;
    return t.id == T_MONEY                  ? CATALOG_MONEY
           : t.id == T_LSN                  ? CATALOG_LSN
           : t.id == T_JSONPATH             ? CATALOG_CONSTRAINTS
           : t.id == T_OID                  ? CATALOG_INDEX_DEFS
           : type_is_range(t) || poly_range ? CATALOG_RANGES
           : type_is_bits(t)                ? CATALOG_BITS
           : t.id == T_TIMETZ               ? CATALOG_TIMETZ
           : type_is_json(t)                ? CATALOG_JSON
           : t.id == T_DECIMAL              ? CATALOG_DECIMALS
                                            : CATALOG_FIRST;
}
static int64_t format_in_routine(Type t) { return t.id == T_DECIMAL ? CATALOG_NUMERICS : format_of(t); }
static int64_t format_of_types(const Catalog *c, const CompositeList *composites) {
    int64_t format = range_nth(c->ranges, 0) ? CATALOG_RANGES : CATALOG_FIRST;
    for (int64_t i = 0; i < composites->n; i++)
        for (int32_t k = 0; k < composites->items[i]->n; k++)
            format = MAX_OF(format, format_of(composites->items[i]->fields[k].type));
    for (int64_t i = 0; i < c->n_domains; i++) format = MAX_OF(format, format_of(c->domains[i]->type));
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) format = MAX_OF(format, format_of(c->tables[i]->cols[k].type));
    for (int64_t i = 0; i < c->n_routines; i++) {
        const Routine *r = c->routines[i];
        format = MAX_OF(format, format_in_routine(r->ret));
        for (int32_t k = 0; k < r->n_params; k++) format = MAX_OF(format, format_in_routine(r->param_types[k]));
    }
    return format;
}

static void needs_format(int64_t *format, bool has, int64_t first) {
    if (has) *format = MAX_OF(*format, first);
}
static bool has_indexes(const Table *t) {
    bool yes = t->n_exprs > 0;
    for (int k = 0; k < t->n_keys; k++) yes |= t->keys[k].is_index;
    return yes;
}
static void put_indexes(BytesOut *o, const Table *t) {
    for (int k = 0; k < t->n_keys; k++) bytes_put_bool(o, t->keys[k].is_index);
    bytes_put_i64(o, t->n_exprs);
    for (int i = 0; i < t->n_exprs; i++) {
        const ExprIndex *x = &t->exprs[i];
        bytes_put_text(o, x->name);
        bytes_put_text(o, x->where);
        bytes_put_bool(o, x->nulls_not_distinct);
        bytes_put_i64(o, x->n_parts);
        for (int p = 0; p < x->n_parts; p++) bytes_put_text(o, x->parts[p]);
    }
}
static void put_domain(BytesOut *o, const Domain *d, PutType put) {
    bytes_put_i64(o, d->id);
    bytes_put_text(o, d->name);
    put(o, d->type);
    bytes_put_i64(o, d->parent);
    bytes_put_bool(o, d->not_null);
    bytes_put_text(o, d->default_sql);
    bytes_put_i64(o, d->n_checks);
    for (int k = 0; k < d->n_checks; k++) {
        bytes_put_text(o, d->checks[k].name);
        bytes_put_text(o, d->checks[k].sql);
        bytes_put_bool(o, d->checks[k].not_valid);
    }
}
static void put_domains(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_domains);
    for (int64_t i = 0; i < c->n_domains; i++) put_domain(o, c->domains[i], put_type);
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) bytes_put_i64(o, c->tables[i]->cols[k].domain);
    for (int64_t i = 0; i < c->n_routines; i++) {
        bytes_put_i64(o, c->routines[i]->ret_domain);
        for (int k = 0; k < c->routines[i]->n_params; k++) bytes_put_i64(o, c->routines[i]->param_domains[k]);
    }
}
static bool has_kinds(const Table *t) {
    bool yes = false;
    for (int c = 0; c < t->n_cols; c++) yes |= t->cols[c].kind != COLUMN_PLAIN;
    return yes;
}
static void put_sequence(BytesOut *o, const Sequence *q, SequenceValues now) {
    const int64_t numbers[] = {q->start, q->increment, q->min, q->max, q->cache, now.last, now.log_cnt};
    bytes_put_i64(o, q->id);
    bytes_put_text(o, q->name);
    put_type(o, q->type);
    for (size_t k = 0; k < ARRAY_LEN(numbers); k++) bytes_put_i64(o, numbers[k]);
    bytes_put_bool(o, now.is_called);
    bytes_put_bool(o, q->cycle);
    bytes_put_bool(o, q->identity);
    bytes_put_text(o, q->owner_table);
    bytes_put_text(o, q->owner_column);
}
static void put_sequences(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_sequences);
    for (int64_t i = 0; i < c->n_sequences; i++) put_sequence(o, c->sequences[i], sequence_values(c->sequences[i]));
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) bytes_put(o, &c->tables[i]->cols[k].kind, 1);
}
static void put_index_def(BytesOut *o, const IndexDef *x) {
    bytes_put_text(o, x->name);
    bytes_put_text(o, x->table);
    bytes_put_text(o, x->method);
    bytes_put_bool(o, x->unique);
    bytes_put_bool(o, x->nulls_not_distinct);
    bytes_put_bool(o, x->clustered);
    bytes_put_text(o, x->where);
    bytes_put_i64(o, x->n_parts);
    for (int k = 0; k < x->n_parts; k++) {
        bytes_put_text(o, x->parts[k].text);
        bytes_put_text(o, x->parts[k].opclass);
        bytes_put_text(o, x->parts[k].collation);
        bytes_put_bool(o, x->parts[k].desc);
        bytes_put_bool(o, x->parts[k].nulls_first);
        bytes_put_i64(o, x->parts[k].statistics);
    }
    bytes_put_i64(o, x->n_include);
    for (int k = 0; k < x->n_include; k++) bytes_put_text(o, x->include[k]);
    bytes_put_i64(o, x->n_options);
    for (int k = 0; k < x->n_options; k++) bytes_put_text(o, x->options[k]);
}
static void put_index_defs(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_index_defs);
    for (int64_t i = 0; i < c->n_index_defs; i++) put_index_def(o, c->index_defs[i]);
}
static void put_comments(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_comments);
    for (int64_t i = 0; i < c->n_comments; i++) {
        const Comment *x = c->comments[i];
        const char kind = (char)x->kind;
        bytes_put(o, &kind, 1);
        bytes_put_i64(o, x->routine);
        bytes_put_text(o, x->name);
        bytes_put_text(o, x->part);
        bytes_put_text(o, x->text);
    }
}
static bool has_constraints(const Catalog *c) {
    bool yes = false;
    for (int64_t i = 0; i < c->n_tables; i++) {
        for (int k = 0; k < c->tables[i]->n_keys; k++) yes |= c->tables[i]->keys[k].deferrable;
    }
    for (int64_t i = 0; i < c->n_foreign; i++) {
        const ForeignKey *f = c->foreign[i];
        yes |= f->match_full || f->deferrable || f->not_valid || f->n_set_cols > 0 || f->on_update == 'c';
    }
    return yes;
}
static void put_foreign_more(BytesOut *o, const ForeignKey *f) {
    bytes_put_bool(o, f->match_full);
    bytes_put_bool(o, f->deferrable);
    bytes_put_bool(o, f->deferred);
    bytes_put_bool(o, f->not_valid);
    bytes_put_i64(o, f->n_set_cols);
    for (int k = 0; k < f->n_set_cols; k++) bytes_put_text(o, f->set_cols[k]);
}
static void put_constraints(BytesOut *o, const Catalog *c) {
    for (int64_t i = 0; i < c->n_tables; i++) {
        bytes_put_bool(o, false); /* ON COMMIT DELETE ROWS, before temporary tables were sessions' */
        for (int k = 0; k < c->tables[i]->n_keys; k++) {
            bytes_put_bool(o, c->tables[i]->keys[k].deferrable);
            bytes_put_bool(o, c->tables[i]->keys[k].deferred);
        }
    }
    for (int64_t i = 0; i < c->n_foreign; i++) put_foreign_more(o, c->foreign[i]);
}
static void put_schemas(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_schemas);
    for (int64_t i = 0; i < c->n_schemas; i++) {
        bytes_put_i64(o, c->schemas[i]->id);
        bytes_put_text(o, c->schemas[i]->name);
    }
    for (int64_t i = 0; i < c->n_routines; i++) bytes_put_text(o, c->routines[i]->path);
}
static bool is_of_domains(const Catalog *c, const CompositeList *composites) {
    bool yes = false;
    for (int64_t i = 0; i < c->n_domains; i++)
        yes |= c->domains[i]->element != 0 || key_has_schema(c->domains[i]->name);
    for (int64_t i = 0; i < composites->n; i++)
        for (int32_t k = 0; k < composites->items[i]->n; k++) yes |= composites->items[i]->fields[k].domain != 0;
    return yes;
}
static bool has_schema_types(const Catalog *c) {
    bool yes = false;
    const EnumType *e;
    const RangeType *r;
    const CompositeType *x;
    for (int64_t i = 0; (e = enum_nth(c->enums, i)) != NULL; i++) yes |= key_has_schema(e->name);
    for (int64_t i = 0; (r = range_nth(c->ranges, i)) != NULL; i++)
        yes |= key_has_schema(r->name) || key_has_schema(r->multi) || key_has_schema(r->make);
    for (int64_t i = 0; (x = composite_nth(c->rows, i)) != NULL; i++) yes |= key_has_schema(x->name);
    return yes;
}
static bool has_newer_parts(const Catalog *c) {
    bool yes = c->row_security.n > 0;
    for (int64_t i = 0; i < c->n_comments; i++) yes |= c->comments[i]->kind == COMMENT_BUILTIN;
    for (int64_t i = 0; i < c->n_privileges; i++) yes |= c->privileges[i]->kind == PRIVILEGE_LANGUAGE;
    return yes;
}
static void put_row_security(BytesOut *o, const RowSecurity *x) {
    bytes_put_text(o, x->table);
    bytes_put_bool(o, x->enabled);
    bytes_put_bool(o, x->forced);
    bytes_put_i64(o, x->n_policies);
    for (int i = 0; i < x->n_policies; i++) {
        const Policy *p = &x->policies[i];
        bytes_put_text(o, p->name);
        bytes_put_i64(o, p->command);
        bytes_put_bool(o, p->restrictive);
        bytes_put_i64(o, p->n_roles);
        for (int k = 0; k < p->n_roles; k++) bytes_put_i64(o, p->roles[k]);
        bytes_put_text(o, p->using_sql);
        bytes_put_text(o, p->check_sql);
    }
}
/* The last part of format 24. */
static void put_newer_parts(BytesOut *o, const Catalog *c, const CompositeList *composites) {
    for (int64_t i = 0; i < c->n_domains; i++) bytes_put_i64(o, c->domains[i]->element);
    for (int64_t i = 0; i < composites->n; i++)
        for (int32_t k = 0; k < composites->items[i]->n; k++) bytes_put_i64(o, composites->items[i]->fields[k].domain);
    bytes_put_i64(o, c->row_security.n);
    for (int64_t i = 0; i < c->row_security.n; i++) put_row_security(o, c->row_security.items[i]);
}
static bool has_paths(const Catalog *c) {
    bool yes = false;
    for (int64_t i = 0; i < c->n_routines; i++) yes |= c->routines[i]->path != NULL;
    return yes;
}
static bool has_unlogged(const Catalog *c) {
    bool has = false;
    for (int64_t i = 0; i < c->n_tables; i++) has = has || c->tables[i]->unlogged;
    for (int64_t i = 0; i < c->n_sequences; i++) has = has || c->sequences[i]->unlogged;
    return has;
}
static void put_unlogged(BytesOut *o, const Catalog *c) {
    for (int64_t i = 0; i < c->n_tables; i++) bytes_put_bool(o, c->tables[i]->unlogged);
    for (int64_t i = 0; i < c->n_sequences; i++) bytes_put_bool(o, c->sequences[i]->unlogged);
}
static bool has_aggregates(const Catalog *c) {
    bool yes = false;
    for (int64_t i = 0; i < c->n_routines; i++) yes |= routine_is_aggregate(c->routines[i]);
    return yes;
}
static void put_catalog(BytesOut *out, const Catalog *c, const CompositeList *composites) {
    BytesOut o = *out;
    bytes_put(&o, CATALOG_MAGIC, 8);
    bool expects = false, sources = false, indexes = false, polymorphic = false, sequences = c->n_sequences > 0,
         views = false;
    int64_t of_types = format_of_types(c, composites);
    for (int64_t i = 0; i < c->n_tables; i++) {
        expects |= c->tables[i]->expected_rows > 0;
        indexes |= has_indexes(c->tables[i]);
        sequences |= has_kinds(c->tables[i]);
    }
    for (int64_t i = 0; i < c->n_views; i++) {
        sources |= c->views[i]->n_sources > 0;
        views |= has_view_parts(c->views[i]);
    }
    for (int64_t i = 0; i < c->n_routines; i++)
        polymorphic |= c->routines[i]->variadic || routine_is_polymorphic(c->routines[i]);
    bool index_defs = false;
    for (int64_t i = 0; i < c->n_index_defs; i++) index_defs |= !index_def_is_plain(c->index_defs[i]);
    int64_t format = of_types;
    needs_format(&format, c->n_foreign > 0, CATALOG_FOREIGN);
    needs_format(&format, c->n_routines > 0, CATALOG_ROUTINES);
    needs_format(&format, expects, CATALOG_EXPECTED);
    needs_format(&format, sources, CATALOG_SOURCES);
    needs_format(&format, indexes, CATALOG_INDEXES);
    needs_format(&format, enum_nth(c->enums, 0), CATALOG_ENUMS);
    needs_format(&format, c->n_domains > 0, CATALOG_DOMAINS);
    needs_format(&format, composites->n > 0, CATALOG_COMPOSITES);
    needs_format(&format, polymorphic, CATALOG_POLYMORPHIC);
    needs_format(&format, sequences, CATALOG_SEQUENCES);
    needs_format(&format, index_defs, CATALOG_INDEX_DEFS);
    needs_format(&format, c->n_comments > 0, CATALOG_COMMENTS);
    needs_format(&format, views, CATALOG_VIEWS);
    needs_format(&format, has_constraints(c), CATALOG_CONSTRAINTS);
    needs_format(&format, c->n_roles > 0 || c->n_privileges > 0, CATALOG_ROLES);
    needs_format(&format, c->n_schemas > 0 || has_paths(c), CATALOG_SCHEMAS);
    needs_format(&format, has_schema_types(c) || is_of_domains(c, composites) || has_newer_parts(c),
                 CATALOG_TYPE_SCHEMAS);
    needs_format(&format, has_aggregates(c), CATALOG_AGGREGATES);
    needs_format(&format, has_unlogged(c), CATALOG_UNLOGGED);
    bytes_put_i64(&o, format);
    bytes_put_i64(&o, c->next_id);
    if (format >= CATALOG_ENUMS) put_enums(&o, c->enums);
    if (format >= CATALOG_RANGES) put_ranges(&o, c->ranges);
    if (format >= CATALOG_COMPOSITES) put_composites(&o, composites);
    bytes_put_i64(&o, c->n_tables);
    for (int64_t i = 0; i < c->n_tables; i++) put_table(&o, c->tables[i], put_type);
    bytes_put_i64(&o, c->n_views);
    for (int64_t i = 0; i < c->n_views; i++) put_view(&o, c->views[i]);
    if (format >= CATALOG_FOREIGN) bytes_put_i64(&o, c->n_foreign);
    for (int64_t i = 0; i < c->n_foreign; i++) put_foreign(&o, c->foreign[i]);
    if (format >= CATALOG_ROUTINES) bytes_put_i64(&o, c->n_routines);
    for (int64_t i = 0; i < c->n_routines; i++) put_routine(&o, c->routines[i]);
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_EXPECTED; i++)
        bytes_put_i64(&o, c->tables[i]->expected_rows);
    for (int64_t i = 0; i < c->n_views && format >= CATALOG_SOURCES; i++) put_view_sources(&o, c->views[i]);
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_INDEXES; i++) put_indexes(&o, c->tables[i]);
    if (format >= CATALOG_DOMAINS) put_domains(&o, c);
    if (format >= CATALOG_SEQUENCES) put_sequences(&o, c);
    if (format >= CATALOG_INDEX_DEFS) put_index_defs(&o, c);
    if (format >= CATALOG_COMMENTS) put_comments(&o, c);
    for (int64_t i = 0; i < c->n_views && format >= CATALOG_VIEWS; i++) put_view_parts(&o, c->views[i]);
    if (format >= CATALOG_CONSTRAINTS) put_constraints(&o, c);
    if (format >= CATALOG_ROLES) catalog_put_roles(&o, c);
    if (format >= CATALOG_SCHEMAS) put_schemas(&o, c);
    if (format >= CATALOG_TYPE_SCHEMAS) put_newer_parts(&o, c, composites);
    if (format >= CATALOG_UNLOGGED) put_unlogged(&o, c);
    *out = o;
}
static Status put_kept(const Catalog *c, BytesOut *o) {
    CompositeList l = {.a = o->acct, .e = o->e};
    const Status listed = list_composites(c, &l);
    if (listed == ST_OK) put_catalog(o, c, &l);
    mem_free(o->acct, l.items, l.cap * (int64_t)sizeof *l.items);
    if (listed != ST_OK) return ST_ERROR;
    bytes_put_i64(o, o->failed ? 0 : (int64_t)checksum64(o->p, o->len));
    return o->failed ? ST_ERROR : ST_OK;
}
Status catalog_file_put(const Catalog *c, BytesOut *o) {
    Catalog room;
    Arena *lists = arena_new(o->acct, o->e);
    if (!lists) return ST_ERROR;
    arena_set_err(lists, o->e);
    const Catalog *kept = catalog_seen(c, lists, NULL, &room);
    const Status st = kept ? put_kept(kept, o) : ST_ERROR;
    arena_free(lists);
    return st;
}
/* ---- single objects ---- */
int64_t catalog_object_count(const Catalog *c, CatalogKind kind) {
    const int64_t counts[] = {
        [CATALOG_TABLE] = c->n_tables,     [CATALOG_VIEW] = c->n_views,     [CATALOG_FOREIGN_KEY] = c->n_foreign,
        [CATALOG_ROUTINE] = c->n_routines, [CATALOG_DOMAIN] = c->n_domains, [CATALOG_SEQUENCE] = c->n_sequences,
        [CATALOG_INDEX] = c->n_index_defs, [CATALOG_SCHEMA] = c->n_schemas, [CATALOG_ROLE] = c->n_roles};
    return counts[kind];
}
static void put_whole_table(BytesOut *o, const Table *t) {
    put_table(o, t, put_type_name);
    put_indexes(o, t);
    for (int i = 0; i < t->n_cols; i++) {
        bytes_put_i64(o, t->cols[i].domain);
        bytes_put(o, &t->cols[i].kind, 1);
    }
    for (int i = 0; i < t->n_keys; i++) {
        bytes_put_bool(o, t->keys[i].deferrable);
        bytes_put_bool(o, t->keys[i].deferred);
    }
    bytes_put_bool(o, t->unlogged);
    bytes_put_i64(o, t->expected_rows);
}
const char *catalog_put_object(const Catalog *c, CatalogKind kind, int64_t i, BytesOut *o) {
    switch (kind) {
    case CATALOG_TABLE: put_whole_table(o, c->tables[i]); return c->tables[i]->name;
    case CATALOG_VIEW:
        put_view(o, c->views[i]);
        put_view_sources(o, c->views[i]);
        put_view_parts(o, c->views[i]);
        return c->views[i]->name;
    case CATALOG_FOREIGN_KEY:
        put_foreign(o, c->foreign[i]);
        put_foreign_more(o, c->foreign[i]);
        return c->foreign[i]->name;
    case CATALOG_ROUTINE:
        bytes_put_text(o, c->routines[i]->sql);
        bytes_put_text(o, c->routines[i]->path);
        return c->routines[i]->name;
    case CATALOG_DOMAIN: put_domain(o, c->domains[i], put_type_name); return c->domains[i]->name;
    case CATALOG_SEQUENCE: put_sequence(o, c->sequences[i], (SequenceValues){0}); return c->sequences[i]->name;
    case CATALOG_INDEX: put_index_def(o, c->index_defs[i]); return c->index_defs[i]->name;
    case CATALOG_SCHEMA: return c->schemas[i]->name;
    case CATALOG_ROLE: catalog_put_role(o, c->roles[i]); return c->roles[i]->name;
    case CATALOG_KINDS: break;
    }
    return NULL;
}

static bool type_ok(Type t) {
    if (t.id == T_ARRAY) return type_element(t).id != T_ARRAY && type_ok(type_element(t));
    return ((t.id > T_UNKNOWN && t.id < T_VOID) || t.id == T_DECIMAL || type_is_json(t) || type_is_defined(t) ||
            t.id == T_TIMETZ || type_is_bits(t) || t.id == T_OID || t.id == T_JSONPATH || t.id == T_LSN ||
            t.id == T_MONEY) &&
           t.precision <= NUMERIC_MAX_PRECISION && t.scale <= NUMERIC_MAX_PRECISION && t.length >= 0 &&
           (t.id != T_NUMERIC || t.precision >= 1);
}
static bool poly_ok(Type t) { return type_is_poly(t) && t.length > 0 && t.length <= POLY_COMPATIBLE_MULTIRANGE; }
/* Numbers of types in the file, and the types here. */
typedef struct TypeMap {
    int64_t n, *there;
    Type *here;
} TypeMap;
static Status map_add(BytesIn *in, TypeMap *m, int64_t more) {
    int64_t *there = arena_array(in->arena, int64_t, m->n + more + 1);
    Type *here = arena_array(in->arena, Type, m->n + more + 1);
    if (!there || !here) return ST_ERROR;
    if (m->n) memcpy(there, m->there, sizeof *there * (size_t)m->n);
    if (m->n) memcpy(here, m->here, sizeof *here * (size_t)m->n);
    m->there = there;
    m->here = here;
    return ST_OK;
}
/* A Type of the file as it is here; false: it names none. */
static bool type_read(const TypeMap *m, Type *t) {
    const bool array = t->id == T_ARRAY;
    const Type own = array ? type_element(*t) : *t;
    if (!type_is_defined(own)) return true;
    if (type_is_range(own) && own.length < TYPE_NUMBER_FIRST) return range_of(own) != NULL;
    for (int64_t i = 0; i < m->n; i++) {
        if (m->there[i] != own.length || m->here[i].id != own.id) continue;
        *t = array ? type_array_of(m->here[i]) : m->here[i];
        return true;
    }
    return false;
}
static Status load_enums(Catalog *c, BytesIn *in, const char *path, TypeMap *m, Err *e) {
    const int64_t count = bytes_get_count(in, in->len / 24);
    TRY(map_add(in, m, count));
    for (int64_t i = 0; i < count; i++) {
        const EnumType *made;
        m->there[m->n] = bytes_get_i64(in);
        const char *name = bytes_get_text(in, false);
        const int64_t n = bytes_get_count(in, MIN_OF(in->len / 16, INT32_MAX));
        EnumLabel *labels = arena_array(in->arena, EnumLabel, n + 1);
        if (!labels) return ST_ERROR;
        for (int64_t k = 0; k < n && !in->failed; k++) {
            const int64_t code = bytes_get_i64(in);
            labels[k] = (EnumLabel){.text = bytes_get_text(in, false), .code = (int32_t)code};
            if (code != (int32_t)code || (k > 0 && code <= labels[k - 1].code)) in->failed = true;
            if (!in->failed && strlen(labels[k].text) > ENUM_LABEL_MAX) in->failed = true;
        }
        if (in->failed || enum_find(c->enums, slice_of(name))) return err_corrupted(e, path, in->at, "type is invalid");
        TRY(enum_make(c->enums, 0, name, (int32_t)n, labels, &made, e));
        TRY(enum_put(c->enums, NULL, made, e));
        m->here[m->n++] = enum_type(made);
    }
    return ST_OK;
}
static Status load_ranges(Catalog *c, BytesIn *in, const char *path, TypeMap *m, Err *e) {
    const int64_t count = bytes_get_count(in, in->len / 32);
    TRY(map_add(in, m, 2 * count));
    for (int64_t i = 0; i < count; i++) {
        const int64_t there = bytes_get_i64(in);
        const RangeType *made;
        RangeType like = {.name = bytes_get_text(in, false)};
        bool multi;
        like.multi = bytes_get_text(in, false);
        like.make = bytes_get_text(in, false);
        like.make_multi = bytes_get_text(in, false);
        bytes_get(in, &like.subtype, (int64_t)sizeof(Type));
        like.collation = bytes_get_text(in, true);
        like.subtype_diff = bytes_get_text(in, true);
        if (in->failed || !type_ok(like.subtype) || !range_subtype_ok(like.subtype) || !type_read(m, &like.subtype) ||
            range_find(c->ranges, slice_of(like.name), &multi) || range_find(c->ranges, slice_of(like.multi), &multi))
            return err_corrupted(e, path, in->at, "type is invalid");
        TRY(range_make(c->ranges, 0, &like, &made, e));
        TRY(range_put(c->ranges, NULL, made, e));
        m->there[m->n] = m->there[m->n + 1] = there;
        m->here[m->n++] = range_type(made);
        m->here[m->n++] = multirange_type(made);
    }
    return ST_OK;
}
static Status load_composites(Catalog *c, BytesIn *in, const char *path, TypeMap *m, Err *e) {
    const int64_t count = bytes_get_count(in, in->len / 25);
    TRY(map_add(in, m, count));
    for (int64_t i = 0; i < count; i++) {
        const CompositeType *made;
        m->there[m->n] = bytes_get_i64(in);
        const bool of_table = bytes_get_bool(in);
        const char *name = bytes_get_text(in, false);
        const int64_t n = bytes_get_count(in, MIN_OF(in->len / 16, COMPOSITE_FIELDS_MAX));
        CompositeField *fields = arena_array(in->arena, CompositeField, n + 1);
        if (!fields) return ST_ERROR;
        for (int64_t k = 0; k < n && !in->failed; k++) {
            fields[k].name = bytes_get_text(in, false);
            bytes_get(in, &fields[k].type, (int64_t)sizeof(Type));
            if (!type_ok(fields[k].type) || !type_read(m, &fields[k].type)) in->failed = true;
        }
        if (in->failed || (!of_table && composite_find(c->rows, slice_of(name))))
            return err_corrupted(e, path, in->at, "type is invalid");
        if (of_table) {
            TRY(composite_shared(c->rows, name, (int32_t)n, fields, &made, e));
        } else {
            TRY(composite_make(c->rows, 0, name, (int32_t)n, fields, &made, e));
            TRY(composite_put(c->rows, NULL, made, e));
        }
        m->here[m->n++] = composite_type(made);
    }
    return ST_OK;
}
static Status load_one_table(const TypeMap *m, Catalog *c, MemAccount *account, BytesIn *in, const char *path, Err *e) {
    Arena *a = in->arena;
    int64_t id = bytes_get_i64(in);
    char *name = bytes_get_text(in, false);
    int64_t n_cols = bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    ColumnDef *cols = arena_array(a, ColumnDef, n_cols + 1);
    if (!cols) return ST_ERROR;
    for (int64_t i = 0; i < n_cols && !in->failed; i++) {
        cols[i].name = bytes_get_text(in, false);
        bytes_get(in, &cols[i].type, (int64_t)sizeof(Type));
        cols[i].not_null = bytes_get_bool(in);
        cols[i].default_sql = bytes_get_text(in, true);
        if (!type_ok(cols[i].type) || !type_read(m, &cols[i].type)) in->failed = true;
    }
    int64_t n_keys = bytes_get_count(in, in->len / 17);
    KeyDef *keys = arena_array(a, KeyDef, n_keys + 1);
    if (!keys) return ST_ERROR;
    for (int64_t k = 0; k < n_keys && !in->failed; k++) {
        keys[k].name = bytes_get_text(in, false);
        keys[k].primary = bytes_get_bool(in);
        keys[k].n_cols = (int)bytes_get_count(in, KEYINDEX_MAX_COLS);
        int *kc = arena_array(a, int, keys[k].n_cols + 1);
        if (!kc) return ST_ERROR;
        if (keys[k].n_cols == 0) in->failed = true;
        for (int i = 0; i < keys[k].n_cols; i++) kc[i] = (int)bytes_get_count(in, n_cols - 1);
        keys[k].cols = kc;
    }
    int64_t n_checks = bytes_get_count(in, in->len / 16);
    CheckDef *checks = arena_array(a, CheckDef, n_checks + 1);
    if (!checks) return ST_ERROR;
    for (int64_t i = 0; i < n_checks && !in->failed; i++) {
        checks[i].name = bytes_get_text(in, false);
        checks[i].sql = bytes_get_text(in, false);
    }
    if (in->failed || id <= 0) return err_corrupted(e, path, in->at, "table is invalid");
    Table *t;
    TRY(table_new(account, name, (int)n_cols, cols, (int)n_keys, keys, (int)n_checks, checks, &t, e));
    t->id = id;
    if (catalog_add_table(c, t, e) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    return ST_OK;
}
static Status load_one_view(Catalog *c, BytesIn *in, const char *path, Err *e) {
    char *name = bytes_get_text(in, false), *sql = bytes_get_text(in, false);
    int64_t n = bytes_get_count(in, in->len / 8);
    char **cols = arena_array(in->arena, char *, n + 1);
    if (!cols) return ST_ERROR;
    for (int64_t i = 0; i < n && !in->failed; i++) cols[i] = bytes_get_text(in, true);
    if (in->failed) return err_corrupted(e, path, in->at, "view is invalid");
    const bool materialized = catalog_table(c, slice_of(name)) != NULL; /* load_view_parts has a look */
    const View like = {.name = name, .sql = sql, .n_cols = (int)n, .cols = cols, .materialized = materialized};
    View *v = view_new(&like, e);
    if (!v) return ST_ERROR;
    if (catalog_add_view(c, v, e) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
}
static Status load_view_sources(BytesIn *in, const char *path, View **slot, Err *e) {
    View v = **slot;
    v.n_sources = (int)bytes_get_count(in, MIN_OF(in->len / 24, INT32_MAX));
    if (!(v.sources = arena_array(in->arena, ViewSource, v.n_sources + 1))) return ST_ERROR;
    for (int i = 0; i < v.n_sources && !in->failed; i++) {
        ViewSource *q = &v.sources[i];
        q->location = bytes_get_count(in, INT64_MAX);
        q->relation = bytes_get_text(in, false);
        q->n_cols = (int)bytes_get_count(in, MIN_OF(in->len / 16, INT32_MAX));
        q->cols = arena_array(in->arena, char *, q->n_cols + 1);
        q->names = arena_array(in->arena, char *, q->n_cols + 1);
        if (!q->cols || !q->names) return ST_ERROR;
        for (int k = 0; k < q->n_cols && !in->failed; k++) {
            q->cols[k] = bytes_get_text(in, false);
            q->names[k] = bytes_get_text(in, false);
        }
    }
    if (in->failed) return err_corrupted(e, path, in->at, "view is invalid");
    View *full = view_new(&v, e);
    if (!full) return ST_ERROR;
    view_free(*slot);
    *slot = full;
    return ST_OK;
}
static Status load_view_parts(const Catalog *c, BytesIn *in, const char *path, View **slot, Err *e) {
    View v = **slot;
    v.n_defaults = (int)bytes_get_count(in, MIN_OF(in->len / 8, INT32_MAX));
    if (!(v.defaults = arena_array(in->arena, char *, v.n_defaults + 1))) return ST_ERROR;
    for (int i = 0; i < v.n_defaults && !in->failed; i++) v.defaults[i] = bytes_get_text(in, true);
    v.n_options = (int)bytes_get_count(in, MIN_OF(in->len / 8, INT32_MAX));
    if (!(v.options = arena_array(in->arena, char *, v.n_options + 1))) return ST_ERROR;
    for (int i = 0; i < v.n_options && !in->failed; i++) v.options[i] = bytes_get_text(in, false);
    v.materialized = bytes_get_bool(in);
    v.populated = bytes_get_bool(in);
    in->failed |= v.materialized != (catalog_table(c, slice_of(v.name)) != NULL);
    if (in->failed) return err_corrupted(e, path, in->at, "view is invalid");
    View *full = view_new(&v, e);
    if (!full) return ST_ERROR;
    view_free(*slot);
    *slot = full;
    return ST_OK;
}
static Status load_indexes(BytesIn *in, const char *path, Table *t, Err *e) {
    for (int k = 0; k < t->n_keys; k++) t->keys[k].is_index = bytes_get_bool(in);
    int64_t n = bytes_get_count(in, in->len / 25);
    ExprIndexDef *defs = arena_array(in->arena, ExprIndexDef, n + 1);
    if (!defs) return ST_ERROR;
    for (int64_t i = 0; i < n && !in->failed; i++) {
        defs[i].name = bytes_get_text(in, false);
        defs[i].where = bytes_get_text(in, true);
        defs[i].nulls_not_distinct = bytes_get_bool(in);
        defs[i].n_parts = (int)bytes_get_count(in, KEYINDEX_MAX_COLS);
        const char **parts = arena_array(in->arena, const char *, defs[i].n_parts + 1);
        if (!parts) return ST_ERROR;
        if (defs[i].n_parts == 0) in->failed = true;
        for (int p = 0; p < defs[i].n_parts && !in->failed; p++) parts[p] = bytes_get_text(in, false);
        defs[i].parts = parts;
    }
    if (in->failed) return err_corrupted(e, path, in->at, "index is invalid");
    return table_add_exprs(t, (int)n, defs, e);
}
static Status load_one_foreign(Catalog *c, BytesIn *in, const char *path, Err *e) {
    ForeignKey f = {0};
    f.name = bytes_get_text(in, false);
    f.table = bytes_get_text(in, false);
    f.ref_table = bytes_get_text(in, false);
    bytes_get(in, &f.on_delete, 1);
    bytes_get(in, &f.on_update, 1);
    f.n_cols = (int)bytes_get_count(in, KEYINDEX_MAX_COLS);
    f.cols = arena_array(in->arena, char *, f.n_cols + 1);
    f.ref_cols = arena_array(in->arena, char *, f.n_cols + 1);
    if (!f.cols || !f.ref_cols) return ST_ERROR;
    const Table *t = catalog_table(c, slice_of(f.table)), *p = catalog_table(c, slice_of(f.ref_table));
    if (f.n_cols == 0 || !t || !p || !strchr("arcnd", f.on_delete) || !strchr("arcnd", f.on_update) || !f.on_delete ||
        !f.on_update)
        in->failed = true;
    for (int i = 0; i < f.n_cols && !in->failed; i++) {
        f.cols[i] = bytes_get_text(in, false);
        f.ref_cols[i] = bytes_get_text(in, false);
        if (table_find_column(t, slice_of(f.cols[i])) < 0 || table_find_column(p, slice_of(f.ref_cols[i])) < 0)
            in->failed = true;
    }
    if (in->failed) return err_corrupted(e, path, in->at, "foreign key is invalid");
    ForeignKey *copy = foreign_new(&f, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_foreign(c, copy, e) == ST_OK) return ST_OK;
    foreign_free(copy);
    return ST_ERROR;
}
/* Older files have numeric(38,16) where routines have numeric without (p,s). */
static Type routine_type(Type t) {
    const Type e = t.id == T_ARRAY ? type_element(t) : t;
    if (e.id != T_NUMERIC || !(e.flags & TF_UNCONSTRAINED)) return t;
    return t.id == T_ARRAY ? type_array_of(type_make(T_DECIMAL)) : type_make(T_DECIMAL);
}
static Status load_one_routine(const TypeMap *m, Catalog *c, BytesIn *in, const char *path, Err *e) {
    Arena *a = in->arena;
    Routine r = {.id = bytes_get_i64(in)};
    r.name = bytes_get_text(in, false);
    r.is_procedure = bytes_get_bool(in);
    r.returns_set = bytes_get_bool(in);
    r.returns_void = bytes_get_bool(in);
    r.returns_record = bytes_get_bool(in);
    r.strict = bytes_get_bool(in);
    r.may_write = bytes_get_bool(in);
    bytes_get(in, &r.volatility, 1);
    r.n_params = (int)bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    r.param_names = arena_array(a, char *, r.n_params + 1);
    r.param_modes = arena_alloc(a, r.n_params + 1);
    r.param_types = arena_array(a, Type, r.n_params + 1);
    if (!r.param_names || !r.param_modes || !r.param_types) return ST_ERROR;
    int args = 0;
    for (int i = 0; i < r.n_params && !in->failed; i++) {
        r.param_names[i] = bytes_get_text(in, true);
        bytes_get(in, &r.param_modes[i], 1);
        bytes_get(in, &r.param_types[i], (int64_t)sizeof(Type));
        if (!(type_ok(r.param_types[i]) || poly_ok(r.param_types[i])) || !type_read(m, &r.param_types[i]) ||
            !r.param_modes[i] || !strchr("iobtcv", r.param_modes[i])) {
            in->failed = true;
            break;
        }
        r.param_types[i] = routine_type(r.param_types[i]);
        r.variadic |= r.param_modes[i] == 'v';
        if (r.param_modes[i] == 'v') r.param_modes[i] = 'i';
        args += routine_is_arg(&r, i);
    }
    r.n_args = (int)bytes_get_count(in, r.n_params);
    r.n_defaults = (int)bytes_get_count(in, r.n_args);
    bytes_get(in, &r.ret, (int64_t)sizeof(Type));
    r.language = bytes_get_text(in, false);
    r.sql = bytes_get_text(in, false);
    if (in->failed || r.id <= 0 || r.n_args != args || (r.ret.id != T_VOID && !type_ok(r.ret)) ||
        (type_is_poly(r.ret) && !poly_ok(r.ret)) || !type_read(m, &r.ret) || !r.volatility ||
        !strchr("isv", r.volatility))
        return err_corrupted(e, path, in->at, "routine is invalid");
    r.ret = routine_type(r.ret);
    Routine *copy = routine_new(&r, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_routine(c, copy, e) == ST_OK) return ST_OK;
    routine_free(copy);
    return ST_ERROR;
}
static Status load_one_domain(const TypeMap *m, Catalog *c, BytesIn *in, const char *path, Err *e) {
    Domain d = {.id = bytes_get_i64(in)};
    d.name = bytes_get_text(in, false);
    bytes_get(in, &d.type, (int64_t)sizeof(Type));
    d.parent = bytes_get_i64(in);
    d.not_null = bytes_get_bool(in);
    d.default_sql = bytes_get_text(in, true);
    d.n_checks = (int)bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    if (!(d.checks = arena_array(in->arena, DomainCheck, d.n_checks + 1))) return ST_ERROR;
    for (int i = 0; i < d.n_checks && !in->failed; i++) {
        d.checks[i].name = bytes_get_text(in, false);
        d.checks[i].sql = bytes_get_text(in, false);
        d.checks[i].not_valid = bytes_get_bool(in);
    }
    const Domain *last = c->n_domains ? c->domains[c->n_domains - 1] : NULL;
    if (in->failed || d.id <= (last ? last->id : 0) || (d.parent && !catalog_domain_by_id(c, d.parent)) ||
        !type_ok(d.type) || !type_read(m, &d.type) || catalog_domain(c, slice_of(d.name)))
        return err_corrupted(e, path, in->at, "domain is invalid");
    Domain *copy = domain_new(&d, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_domain(c, copy, e) == ST_OK) return ST_OK;
    domain_free(copy);
    return ST_ERROR;
}
static void get_domain(const Catalog *c, BytesIn *in, int64_t *out) {
    *out = bytes_get_i64(in);
    if (*out && !catalog_domain_by_id(c, *out)) in->failed = true;
}
static Status load_domains(const TypeMap *m, Catalog *c, BytesIn *in, const char *path, Err *e) {
    const int64_t n = bytes_get_count(in, in->len / 40);
    for (int64_t i = 0; i < n; i++) TRY(load_one_domain(m, c, in, path, e));
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) get_domain(c, in, &c->tables[i]->cols[k].domain);
    for (int64_t i = 0; i < c->n_routines; i++) {
        get_domain(c, in, &c->routines[i]->ret_domain);
        for (int k = 0; k < c->routines[i]->n_params; k++) get_domain(c, in, &c->routines[i]->param_domains[k]);
    }
    return ST_OK;
}
static bool sequence_ok(const Catalog *c, const Sequence *q, const SequenceValues *now) {
    const Table *t = q->owner_table ? catalog_table(c, slice_of(q->owner_table)) : NULL;
    const bool owned = t && q->owner_column && table_find_column(t, slice_of(q->owner_column)) >= 0;
    return q->id > 0 && (q->type.id == T_INT2 || q->type.id == T_INT4 || q->type.id == T_INT8) && q->increment != 0 &&
           q->min < q->max && q->start >= q->min && q->start <= q->max && q->cache > 0 && now->last >= q->min &&
           now->last <= q->max && now->log_cnt >= 0 &&
           (owned || (!q->owner_table && !q->owner_column && !q->identity)) && !catalog_table(c, slice_of(q->name)) &&
           !catalog_view(c, slice_of(q->name)) && !catalog_sequence(c, slice_of(q->name));
}
static Status load_one_sequence(Catalog *c, BytesIn *in, const char *path, Err *e) {
    Sequence q = {.id = bytes_get_i64(in)};
    SequenceValues now = {0};
    int64_t *const numbers[] = {&q.start, &q.increment, &q.min, &q.max, &q.cache, &now.last, &now.log_cnt};
    q.name = bytes_get_text(in, false);
    bytes_get(in, &q.type, (int64_t)sizeof(Type));
    for (size_t k = 0; k < ARRAY_LEN(numbers); k++) *numbers[k] = bytes_get_i64(in);
    now.is_called = bytes_get_bool(in);
    q.cycle = bytes_get_bool(in);
    q.identity = bytes_get_bool(in);
    q.owner_table = bytes_get_text(in, true);
    q.owner_column = bytes_get_text(in, true);
    if (in->failed || !sequence_ok(c, &q, &now)) return err_corrupted(e, path, in->at, "sequence is invalid");
    Sequence *copy = sequence_new(&q, &now, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_sequence(c, copy, e) == ST_OK) return ST_OK;
    sequence_free(copy);
    return ST_ERROR;
}
static Status load_sequences(Catalog *c, BytesIn *in, const char *path, Err *e) {
    const int64_t n = bytes_get_count(in, in->len / 90);
    for (int64_t i = 0; i < n; i++) TRY(load_one_sequence(c, in, path, e));
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_cols; k++) {
            Column *col = &c->tables[i]->cols[k];
            bytes_get(in, &col->kind, 1);
            const bool known =
                col->kind == COLUMN_PLAIN || column_is_identity(col->kind) || col->kind == COLUMN_GENERATED;
            if (!known || (col->kind && !col->default_sql)) in->failed = true;
        }
    return ST_OK;
}
static bool get_texts(BytesIn *in, int64_t most, int *n, char ***out) {
    *n = (int)bytes_get_count(in, MIN_OF(in->len / 8, most));
    if (!(*out = arena_array(in->arena, char *, *n + 1))) return false;
    for (int i = 0; i < *n && !in->failed; i++) (*out)[i] = bytes_get_text(in, false);
    return true;
}
static Status load_one_index_def(Catalog *c, BytesIn *in, const char *path, Err *e) {
    IndexDef x = {.name = bytes_get_text(in, false)};
    x.table = bytes_get_text(in, false);
    x.method = bytes_get_text(in, false);
    x.unique = bytes_get_bool(in);
    x.nulls_not_distinct = bytes_get_bool(in);
    x.clustered = bytes_get_bool(in);
    x.where = bytes_get_text(in, true);
    x.n_parts = (int)bytes_get_count(in, INDEX_COLUMNS_MAX);
    if (!(x.parts = arena_array(in->arena, IndexPart, x.n_parts + 1))) return ST_ERROR;
    for (int i = 0; i < x.n_parts && !in->failed; i++) {
        IndexPart *p = &x.parts[i];
        p->text = bytes_get_text(in, false);
        p->opclass = bytes_get_text(in, true);
        p->collation = bytes_get_text(in, true);
        p->desc = bytes_get_bool(in);
        p->nulls_first = bytes_get_bool(in);
        p->statistics = (int32_t)bytes_get_i64(in);
    }
    if (!get_texts(in, INDEX_COLUMNS_MAX, &x.n_include, &x.include) ||
        !get_texts(in, INT32_MAX, &x.n_options, &x.options))
        return ST_ERROR;
    const Table *t = in->failed ? NULL : catalog_table(c, slice_of(x.table));
    bool wrong = !t || x.n_parts == 0 || (x.unique && table_index_named(t, x.name) < 0);
    for (int i = 0; i < x.n_include && !wrong; i++) wrong = table_find_column(t, slice_of(x.include[i])) < 0;
    for (int i = 0; i < x.n_options && !wrong; i++) wrong = !strchr(x.options[i], '=');
    if (wrong) return err_corrupted(e, path, in->at, "index is invalid");
    IndexDef *copy = index_def_new(&x, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_index_def(c, copy, e) == ST_OK) return ST_OK;
    index_def_free(copy);
    return ST_ERROR;
}
static Status load_index_defs(Catalog *c, BytesIn *in, const char *path, Err *e) {
    const int64_t n = bytes_get_count(in, in->len / 60);
    for (int64_t i = 0; i < n; i++) TRY(load_one_index_def(c, in, path, e));
    return ST_OK;
}
/* Files that need not say more have unique indexes with their tables only. */
static Status make_index_defs(Catalog *c, Arena *a, Err *e) {
    for (int64_t i = 0; i < c->n_tables; i++) {
        const Table *t = c->tables[i];
        for (int k = 0; k < table_indexes(t); k++) {
            IndexDef x, *copy;
            const bool constraint = k < t->n_keys && !t->keys[k].is_index;
            if (constraint || catalog_index_def(c, t->name, table_index_name(t, k))) continue;
            TRY(index_def_of_table(a, t, k, &x));
            if (!(copy = index_def_new(&x, e))) return ST_ERROR;
            if (catalog_add_index_def(c, copy, e) == ST_OK) continue;
            index_def_free(copy);
            return ST_ERROR;
        }
    }
    return ST_OK;
}
static Status load_comments(Catalog *c, BytesIn *in, const char *path, Err *e) {
    const int64_t n = bytes_get_count(in, in->len / 33);
    for (int64_t i = 0; i < n; i++) {
        char kind = 0;
        bytes_get(in, &kind, 1);
        Comment x = {.kind = (CommentKind)kind, .routine = bytes_get_i64(in)}, *copy;
        x.name = bytes_get_text(in, false);
        x.part = bytes_get_text(in, false);
        x.text = bytes_get_text(in, false);
        if (in->failed || !kind || !strchr("rckdtfnDub", kind))
            return err_corrupted(e, path, in->at, "comment is invalid");
        if (!(copy = comment_new(&x, e))) return ST_ERROR;
        if (catalog_add_comment(c, copy, e) == ST_OK) continue;
        comment_free(copy);
        return ST_ERROR;
    }
    return ST_OK;
}
static bool is_set_col(const ForeignKey *f, const char *name) {
    bool yes = false;
    for (int i = 0; i < f->n_cols; i++) yes |= strcmp(f->cols[i], name) == 0;
    return yes;
}
/* A copy of foreign key number i with what the file has beside, in its place. */
static Status load_foreign_more(Catalog *c, int64_t i, BytesIn *in, const char *path, Err *e) {
    ForeignKey f = *c->foreign[i];
    f.match_full = bytes_get_bool(in);
    f.deferrable = bytes_get_bool(in);
    f.deferred = bytes_get_bool(in);
    f.not_valid = bytes_get_bool(in);
    f.n_set_cols = (int)bytes_get_count(in, f.n_cols);
    if (!(f.set_cols = arena_array(in->arena, char *, f.n_set_cols + 1))) return ST_ERROR;
    for (int k = 0; k < f.n_set_cols && !in->failed; k++) {
        f.set_cols[k] = bytes_get_text(in, false);
        in->failed = in->failed || !is_set_col(&f, f.set_cols[k]);
    }
    if (in->failed || (f.deferred && !f.deferrable)) return err_corrupted(e, path, in->at, "foreign key is invalid");
    ForeignKey *copy = foreign_new(&f, e);
    if (!copy) return ST_ERROR;
    foreign_free(c->foreign[i]);
    c->foreign[i] = copy;
    return ST_OK;
}
static Status load_constraints(Catalog *c, BytesIn *in, const char *path, Err *e) {
    for (int64_t i = 0; i < c->n_tables; i++) {
        char on_commit = 0; /* of older versions, whose temporary tables were as others: it stays one */
        bytes_get(in, &on_commit, 1);
        if (on_commit && on_commit != 'd') in->failed = true;
        for (int k = 0; k < c->tables[i]->n_keys; k++) {
            KeyConstraint *key = &c->tables[i]->keys[k];
            key->deferrable = bytes_get_bool(in);
            key->deferred = bytes_get_bool(in);
        }
    }
    for (int64_t i = 0; i < c->n_foreign; i++) TRY(load_foreign_more(c, i, in, path, e));
    return ST_OK;
}
static Status load_schemas(Catalog *c, BytesIn *in, const char *path, Err *e) {
    const int64_t n = bytes_get_count(in, in->len / 17);
    for (int64_t i = 0; i < n; i++) {
        Schema x = {.id = bytes_get_i64(in)}, *copy;
        x.name = bytes_get_text(in, false);
        if (in->failed || x.id <= 0 || catalog_has_schema(c, x.name))
            return err_corrupted(e, path, in->at, "schema is invalid");
        if (!(copy = schema_new(&x, e))) return ST_ERROR;
        if (catalog_add_schema(c, copy, e) == ST_OK) continue;
        schema_free(copy);
        return ST_ERROR;
    }
    for (int64_t i = 0; i < c->n_routines; i++) {
        SearchPath checked;
        Routine like = *c->routines[i];
        like.path = bytes_get_text(in, true);
        if (in->failed || (like.path && !search_path_parse(like.path, NULL, &checked)))
            return err_corrupted(e, path, in->at, "routine is invalid");
        Routine *full = like.path ? routine_new(&like, e) : NULL;
        if (like.path && !full) return ST_ERROR;
        if (!full) continue;
        routine_free(c->routines[i]);
        c->routines[i] = full;
    }
    return ST_OK;
}
/* Keys name schemas that are there. */
static bool key_ok(const Catalog *c, const char *key) {
    if (!key_has_schema(key)) return true;
    const Slice in = schema_of_key(key);
    for (int64_t i = 0; i < c->n_schemas; i++)
        if (slice_eq(slice_of(c->schemas[i]->name), in)) return true;
    return false;
}
static bool keys_ok(const Catalog *c) {
    bool ok = true;
    for (int64_t i = 0; i < c->n_tables; i++) ok = ok && key_ok(c, c->tables[i]->name);
    for (int64_t i = 0; i < c->n_views; i++) ok = ok && key_ok(c, c->views[i]->name);
    for (int64_t i = 0; i < c->n_sequences; i++) ok = ok && key_ok(c, c->sequences[i]->name);
    for (int64_t i = 0; i < c->n_index_defs; i++) ok = ok && key_ok(c, c->index_defs[i]->name);
    for (int64_t i = 0; i < c->n_routines; i++) ok = ok && key_ok(c, c->routines[i]->name);
    for (int64_t i = 0; i < c->n_domains; i++) ok = ok && key_ok(c, c->domains[i]->name);
    return ok;
}
static Status load_row_security(Catalog *c, BytesIn *in, const char *path, Err *e) {
    RowSecurity x = {.table = bytes_get_text(in, false)};
    x.enabled = bytes_get_bool(in);
    x.forced = bytes_get_bool(in);
    x.n_policies = (int)bytes_get_count(in, MIN_OF(in->len / 40, INT32_MAX));
    Policy *policies = arena_array(in->arena, Policy, x.n_policies + 1);
    x.policies = policies;
    for (int i = 0; policies && i < x.n_policies && !in->failed; i++) {
        Policy *p = &policies[i];
        p->name = bytes_get_text(in, false);
        p->command = (char)bytes_get_count(in, 127);
        p->restrictive = bytes_get_bool(in);
        p->n_roles = (int)bytes_get_count(in, MIN_OF(in->len / 8, INT32_MAX));
        int64_t *roles = arena_array(in->arena, int64_t, p->n_roles + 1);
        p->roles = roles;
        for (int k = 0; roles && k < p->n_roles; k++) {
            roles[k] = bytes_get_i64(in);
            in->failed = in->failed || !catalog_role_by_id(c, roles[k]);
        }
        p->using_sql = bytes_get_text(in, true);
        p->check_sql = bytes_get_text(in, true);
        in->failed = in->failed || !roles || !p->command || !strchr("rawd*", p->command);
    }
    if (in->failed || !policies || !catalog_table(c, slice_of(x.table)) || catalog_row_security(c, x.table))
        return err_corrupted(e, path, in->at, "row security is invalid");
    RowSecurity *copy = row_security_new(&x, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_row_security(c, copy, e) == ST_OK) return ST_OK;
    row_security_free(copy);
    return ST_ERROR;
}
static Status load_newer_parts(const TypeMap *m, Catalog *c, BytesIn *in, const char *path, Err *e) {
    for (int64_t i = 0; i < c->n_domains; i++) get_domain(c, in, &c->domains[i]->element);
    for (int64_t i = 0; i < m->n; i++) { /* no plan has them yet */
        CompositeType *x = (CompositeType *)(uintptr_t)composite_of(m->here[i]);
        for (int32_t k = 0; x && k < x->n; k++) get_domain(c, in, &x->fields[k].domain);
    }
    const int64_t n = bytes_get_count(in, in->len / 18);
    for (int64_t i = 0; i < n; i++) TRY(load_row_security(c, in, path, e));
    return ST_OK;
}
uint64_t catalog_bytes_seal(const char *p, int64_t len) {
    uint64_t sum = 0;
    if (len >= 24) memcpy(&sum, p + len - 8, 8);
    return sum;
}
/* As far as their checksum and format: *in is at the list of types. */
static Status begin_bytes(const char *p, int64_t len, const char *path, Arena *a, BytesIn *in, int64_t *format,
                          int64_t *next_id, Err *e) {
    if (len < 24) return err_corrupted(e, path, len, "file is too short");
    if (memcmp(p, CATALOG_MAGIC, 8) != 0) return err_corrupted(e, path, 0, "not a catalog");
    if (!checksum_matches(p, len - 8, catalog_bytes_seal(p, len)))
        return err_corrupted(e, path, 0, "checksum does not match");
    *in = (BytesIn){.p = p, .len = len - 8, .at = 8, .arena = a};
    *format = bytes_get_i64(in);
    if (*format < CATALOG_FIRST || *format > CATALOG_LAST) return err_corrupted(e, path, 8, "unknown format");
    *next_id = bytes_get_i64(in);
    return ST_OK;
}
static Status read_file(Vfs *vfs, const char *path, Arena *a, char **p, int64_t *len, Err *e) {
    TRY(vfs_read_file(vfs, a, path, p, len, e));
    return *len < 0 ? err_corrupted(e, path, 0, "file is missing") : ST_OK;
}
Status catalog_file_get(Vfs *vfs, const char *path, BytesOut *o, Err *e) {
    Arena *a = arena_new(o->acct, e);
    char *p;
    int64_t len;
    if (a) arena_set_err(a, e);
    const Status st = a && path ? read_file(vfs, path, a, &p, &len, e) : ST_ERROR;
    if (st == ST_OK) bytes_put(o, p, len);
    arena_free(a);
    return o->failed ? ST_ERROR : st;
}
Status catalog_file_next_id(Vfs *vfs, const char *path, Arena *a, int64_t *next_id, Err *e) {
    BytesIn in;
    int64_t format, len;
    char *p;
    TRY(read_file(vfs, path, a, &p, &len, e));
    return begin_bytes(p, len, path, a, &in, &format, next_id, e);
}
Status catalog_file_load(Catalog *c, Vfs *vfs, const char *path, MemAccount *account, Arena *a, Err *e) {
    char *p;
    int64_t len;
    TRY(read_file(vfs, path, a, &p, &len, e));
    return catalog_bytes_load(c, p, len, path, account, a, e);
}
Status catalog_bytes_load(Catalog *c, const char *p, int64_t bytes, const char *path, MemAccount *account, Arena *a,
                          Err *e) {
    BytesIn in;
    int64_t format, next_id;
    TRY(begin_bytes(p, bytes, path, a, &in, &format, &next_id, e));
    const int64_t len = in.len + 8;
    TypeMap types = {0};
    if (format >= CATALOG_ENUMS) TRY(load_enums(c, &in, path, &types, e));
    if (format >= CATALOG_RANGES) TRY(load_ranges(c, &in, path, &types, e));
    if (format >= CATALOG_COMPOSITES) TRY(load_composites(c, &in, path, &types, e));
    int64_t n = bytes_get_count(&in, len);
    for (int64_t i = 0; i < n; i++) TRY(load_one_table(&types, c, account, &in, path, e));
    n = bytes_get_count(&in, len);
    for (int64_t i = 0; i < n; i++) TRY(load_one_view(c, &in, path, e));
    n = format >= CATALOG_FOREIGN ? bytes_get_count(&in, len) : 0;
    for (int64_t i = 0; i < n; i++) TRY(load_one_foreign(c, &in, path, e));
    n = format >= CATALOG_ROUTINES ? bytes_get_count(&in, len) : 0;
    for (int64_t i = 0; i < n; i++) TRY(load_one_routine(&types, c, &in, path, e));
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_EXPECTED; i++)
        c->tables[i]->expected_rows = bytes_get_count(&in, EXPECTED_ROWS_MAX);
    for (int64_t i = 0; i < c->n_views && format >= CATALOG_SOURCES; i++)
        TRY(load_view_sources(&in, path, &c->views[i], e));
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_INDEXES; i++)
        TRY(load_indexes(&in, path, c->tables[i], e));
    if (format >= CATALOG_DOMAINS) TRY(load_domains(&types, c, &in, path, e));
    if (format >= CATALOG_SEQUENCES) TRY(load_sequences(c, &in, path, e));
    if (format >= CATALOG_INDEX_DEFS) TRY(load_index_defs(c, &in, path, e));
    TRY(make_index_defs(c, a, e));
    if (format >= CATALOG_COMMENTS) TRY(load_comments(c, &in, path, e));
    for (int64_t i = 0; i < c->n_views; i++) {
        if (format >= CATALOG_VIEWS) TRY(load_view_parts(c, &in, path, &c->views[i], e));
        else if (c->views[i]->materialized) return err_corrupted(e, path, in.at, "view is invalid");
    }
    if (format >= CATALOG_CONSTRAINTS) TRY(load_constraints(c, &in, path, e));
    if (format >= CATALOG_ROLES) TRY(catalog_load_roles(c, &in, path, e));
    if (format >= CATALOG_SCHEMAS) TRY(load_schemas(c, &in, path, e));
    if (format >= CATALOG_TYPE_SCHEMAS) TRY(load_newer_parts(&types, c, &in, path, e));
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_UNLOGGED; i++)
        c->tables[i]->unlogged = bytes_get_bool(&in);
    for (int64_t i = 0; i < c->n_sequences && format >= CATALOG_UNLOGGED; i++)
        c->sequences[i]->unlogged = bytes_get_bool(&in);
    in.failed = in.failed || !keys_ok(c);
    if (in.failed || in.at != in.len) return err_corrupted(e, path, in.at, "catalog is invalid");
    c->next_id = MAX_OF(c->next_id, next_id); /* foreign keys have numbers by now */
    return ST_OK;
}
