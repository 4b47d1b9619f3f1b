/* arrow_nested.c - nested columns of Arrow batches become cells (nested.h).
 *
 * A range of rows is taken with all that is within it: values as cells, lists and maps by where their elements end,
 * unions by which member each row has. Nothing is looked at below rows that are NULL, where Arrow leaves everything
 * undefined.
 */
#include "io/arrow_int.h"

#include <stdlib.h>

#include "base/stack.h"

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

/* A column of what is within a row: `first` in the child's own numbers. */
static ArrowColumn child_of(const ArrowColumn *c, const struct ArrowSchema *s, const struct ArrowArray *a,
                            int64_t first, int64_t n, const uint8_t *within) {
    return (ArrowColumn){.schema = s,
                         .array = a,
                         .first = arrow_start(first, a),
                         .n = n,
                         .what = "jsonb",
                         .where = c->where,
                         .within = within,
                         .of_file = c->of_file};
}

/* Where the elements of the rows end, and which of the child's rows they are. */
static Status list_ends(const ArrowColumn *c, Arena *a, int64_t **ends, int64_t *first, int64_t *n, Err *e) {
    ArrowFormat f;
    (void)arrow_format(c->schema->format, &f);
    *first = *n = 0;
    if (!(*ends = arena_array(a, int64_t, c->n + 1))) return no_memory(e);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t from, to;
        if (f.layout == ARROW_FIXED_LISTS) {
            if (c->first > (INT64_C(1) << ARROW_OFFSET_BITS) / f.width - c->n)
                return arrow_malformed(c, "its length, offset or null count", e);
            from = (c->first + i) * f.width;
            to = from + f.width;
        } else {
            TRY(arrow_bounds(c, i, f.wide, &from, &to, e));
        }
        if (i == 0) *first = from;
        if (from != *first + *n) return arrow_malformed(c, "its offsets", e);
        *n = (*ends)[i + 1] = to - *first;
    }
    return ST_OK;
}

/* [from, to) of row i of lists that lie apart. */
static Status view_bounds(const ArrowColumn *c, int64_t i, bool wide, int64_t *from, int64_t *to, Err *e) {
    const void *starts = c->array->buffers[1], *sizes = c->array->buffers[2];
    const int64_t at = c->first + i, most = INT64_C(1) << ARROW_OFFSET_BITS;
    const int64_t n = wide ? ((const int64_t *)sizes)[at] : ((const int32_t *)sizes)[at];
    *from = wide ? ((const int64_t *)starts)[at] : ((const int32_t *)starts)[at];
    if (*from < 0 || *from > most || n < 0 || n > most - *from) return arrow_malformed(c, "its offsets", e);
    *to = *from + n;
    return ST_OK;
}
/* Lists that lie apart: the range of the child's rows that those have that are there, where each is in it, and which
 * elements are in one. */
static Status view_ends(const ArrowColumn *c, const uint8_t *valid, Arena *a, NestedRows *r, int64_t *first, int64_t *n,
                        const uint8_t **within, Err *e) {
    int64_t *starts = arena_array(a, int64_t, c->n + 1), *ends = arena_array(a, int64_t, c->n + 1);
    int64_t low = INT64_MAX, high = 0;
    ArrowFormat f;
    (void)arrow_format(c->schema->format, &f);
    if (!starts || !ends) return no_memory(e);
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        TRY(view_bounds(c, i, f.wide, &starts[i], &ends[i + 1], e));
        if (starts[i] == ends[i + 1]) continue;
        low = MIN_OF(low, starts[i]);
        high = MAX_OF(high, ends[i + 1]);
    }
    low = MIN_OF(low, high);
    if (high > c->array->children[0]->length) return arrow_malformed(c, "its offsets", e);
    /* lists that begin less those that end; in a sum over all before, how many have an element */
    if (high - low > INT64_MAX / 16) return err_oom(e);
    int64_t *begun = arena_array(a, int64_t, high - low + 1), in = 0;
    uint8_t *used = arena_alloc(a, high - low + 1);
    if (!begun || !used) return no_memory(e);
    for (int64_t i = 0; i < c->n; i++) {
        bool some = valid[i] && ends[i + 1] > starts[i];
        starts[i] = some ? starts[i] - low : 0;
        ends[i + 1] = some ? ends[i + 1] - low : 0;
        begun[starts[i]]++;
        begun[ends[i + 1]]--;
    }
    for (int64_t i = 0; i < high - low; i++) used[i] = (in += begun[i]) > 0;
    r->starts = starts;
    r->ends = ends;
    *first = low;
    *n = high - low;
    *within = used;
    return ST_OK;
}

/* By element, whether the list that it is in is there. */
static Status mask_of(const int64_t *ends, int64_t n, const uint8_t *valid, Arena *a, const uint8_t **out, Err *e) {
    uint8_t *within;
    *out = NULL;
    if (!memchr(valid, 0, (size_t)n)) return ST_OK;
    if (!(within = arena_alloc(a, ends[n] + 1))) return no_memory(e);
    for (int64_t i = 0; i < n; i++)
        if (ends[i + 1] > ends[i]) memset(within + ends[i], valid[i], (size_t)(ends[i + 1] - ends[i]));
    *out = within;
    return ST_OK;
}

/* Which elements each row has, of those of *item. */
static Status elements_of(const ArrowColumn *c, const uint8_t *valid, Arena *a, NestedRows *r, ArrowColumn *item,
                          Err *e) {
    int64_t *ends, first = 0, n = 0;
    const uint8_t *within = NULL;
    if (!c->array->children[0]) return arrow_malformed(c, "the number of its children", e);
    if (c->schema->format[1] == 'v') {
        TRY(view_ends(c, valid, a, r, &first, &n, &within, e));
    } else {
        TRY(list_ends(c, a, &ends, &first, &n, e));
        TRY(mask_of(ends, c->n, valid, a, &within, e));
        r->ends = ends;
    }
    *item = child_of(c, c->schema->children[0], c->array->children[0], first, n, within);
    return ST_OK;
}

static Status take(const ArrowColumn *c, Arena *a, NestedField *f, NestedRows *r, Err *e);

static Status take_values(const ArrowColumn *c, Type type, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    char what[TYPE_NAME_MAX];
    ArrowColumn x = *c;
    char *cells = arena_calloc(a, c->n * phys_size(type_phys(type)) + 16);
    uint8_t *valid = arena_alloc(a, c->n + 1);
    if (!cells || !valid) return no_memory(e);
    x.type = type;
    x.what = type_name(type, &what);
    f->kind = NESTED_VALUE;
    f->type = type;
    r->cells = cells;
    r->valid = valid;
    return arrow_convert(&x, a, cells, valid, e);
}

/* The children that a field and its rows are to have. */
static Status make_children(NestedField *f, NestedRows *r, int64_t n, Arena *a, Err *e) {
    f->n_children = (int32_t)n;
    f->children = arena_array(a, NestedField, n + 1);
    r->rows = arena_array(a, NestedRows, n + 1);
    return f->children && r->rows ? ST_OK : no_memory(e);
}

static Status take_list(const ArrowColumn *c, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    ArrowColumn item;
    f->kind = NESTED_LIST;
    TRY(elements_of(c, r->valid, a, r, &item, e));
    return take(&item, a, f->children, r->rows, e);
}

/* The child is a struct, whose members are the keys and the values. */
static Status take_map(const ArrowColumn *c, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    ArrowColumn pair;
    f->kind = NESTED_MAP;
    TRY(elements_of(c, r->valid, a, r, &pair, e));
    TRY(arrow_check(&pair, e));
    if (strcmp(pair.schema->format, "+s") != 0 || pair.schema->n_children != 2)
        return arrow_malformed(c, "the number of its children", e);
    for (int k = 0; k < 2; k++) {
        ArrowColumn x = child_of(c, pair.schema->children[k], pair.array->children[k], pair.first, pair.n, pair.within);
        TRY(take(&x, a, &f->children[k], &r->rows[k], e));
    }
    return ST_OK;
}

static Status take_struct(const ArrowColumn *c, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    f->kind = NESTED_STRUCT;
    for (int32_t k = 0; k < f->n_children; k++) {
        ArrowColumn x = child_of(c, c->schema->children[k], c->array->children[k], c->first, c->n, r->valid);
        TRY(take(&x, a, &f->children[k], &r->rows[k], e));
    }
    return ST_OK;
}

/* Which child each number of a format like "+us:0,1,5" means; -1: none. */
static void union_members(const char *format, int64_t n_children, int32_t *members) {
    const char *p = format + 4;
    for (int i = 0; i < 128; i++) members[i] = -1;
    for (int32_t k = 0; k < n_children && *p; k++) {
        char *end;
        long number = strtol(p, &end, 10);
        if (end == p) return;
        if (number >= 0 && number < 128) members[number] = k;
        p = *end == ',' ? end + 1 : end;
    }
}

/* Which member each row has, and which of its values. */
static Status take_members(const ArrowColumn *c, bool dense, const NestedField *f, int32_t *members, int64_t *places,
                           Err *e) {
    const int8_t *numbers = (const int8_t *)c->array->buffers[0];
    const int32_t *offsets = dense ? c->array->buffers[1] : NULL;
    int32_t known[128];
    union_members(c->schema->format, f->n_children, known);
    for (int64_t i = 0; i < c->n; i++) {
        members[i] = 0;
        places[i] = 0;
        if (c->within && !c->within[i]) continue;
        int8_t number = numbers[c->first + i];
        members[i] = number < 0 ? -1 : known[number];
        if (members[i] < 0) return arrow_malformed(c, "the number of a union's member", e);
        places[i] = dense ? offsets[c->first + i] : i;
        if (places[i] < 0) return arrow_malformed(c, "its offsets", e);
    }
    return ST_OK;
}

/* The rows of member k that there are, of which only those are looked at that a row of the union has. */
static Status take_member(const ArrowColumn *c, bool dense, int32_t k, const int32_t *members, int64_t *places,
                          Arena *a, NestedField *f, NestedRows *r, Err *e) {
    const struct ArrowArray *child = c->array->children[k];
    int64_t first = dense ? INT64_MAX : 0, end = dense ? 0 : c->n;
    for (int64_t i = 0; dense && i < c->n; i++) {
        if (members[i] != k || (c->within && !c->within[i])) continue;
        first = MIN_OF(first, places[i]);
        end = MAX_OF(end, places[i] + 1);
    }
    first = MIN_OF(first, end);
    if (child && end > child->length) return arrow_malformed(c, "its offsets", e);
    uint8_t *within = arena_calloc(a, end - first + 1);
    if (!within) return no_memory(e);
    for (int64_t i = 0; i < c->n; i++) {
        if (members[i] != k || (c->within && !c->within[i])) continue;
        if (dense) places[i] -= first;
        within[places[i]] = 1;
    }
    ArrowColumn x = child_of(c, c->schema->children[k], child, dense ? first : c->first, end - first, within);
    return take(&x, a, f, r, e);
}

static Status take_union(const ArrowColumn *c, bool dense, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    int32_t *members = arena_array(a, int32_t, c->n + 1);
    int64_t *places = arena_array(a, int64_t, c->n + 1);
    if (!members || !places) return no_memory(e);
    f->kind = NESTED_UNION;
    r->valid = NULL;
    r->members = members;
    r->places = places;
    if (f->n_children == 0) return arrow_malformed(c, "the number of its children", e);
    TRY(take_members(c, dense, f, members, places, e));
    for (int32_t k = 0; k < f->n_children; k++)
        TRY(take_member(c, dense, k, members, places, a, &f->children[k], &r->rows[k], e));
    return ST_OK;
}

/* A column's rows, and what is within them. */
static Status take(const ArrowColumn *c, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    TRY(stack_check(e));
    TRY(arrow_check(c, e));
    const struct ArrowSchema *s = c->schema;
    f->name = s->name ? s->name : "";
    r->n = c->n;
    if (utf8_check(f->name, (int64_t)strlen(f->name)) >= 0)
        return err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
    if (s->format[0] != '+' || strcmp(s->format, "+r") == 0) {
        Type type;
        TRY(arrow_type(s, &type, e));
        return take_values(c, type, a, f, r, e);
    }
    ArrowFormat form;
    (void)arrow_format(s->format, &form);
    TRY(make_children(f, r, form.layout == ARROW_MAPS ? 2 : s->n_children, a, e));
    if (arrow_is_union(form.layout)) return take_union(c, form.layout == ARROW_DENSE, a, f, r, e);
    uint8_t *valid = arena_alloc(a, c->n + 1);
    if (!valid) return no_memory(e);
    arrow_valid(c, valid);
    r->valid = valid;
    if (form.layout == ARROW_STRUCTS) return take_struct(c, a, f, r, e);
    return form.layout == ARROW_MAPS ? take_map(c, a, f, r, e) : take_list(c, a, f, r, e);
}

Status arrow_json(const ArrowColumn *c, Arena *a, Str *cells, uint8_t *valid, Err *e) {
    NestedField f = {0};
    NestedRows r = {0};
    Arena *tmp = arena_new(arena_account(a), e);
    Status st = tmp ? take(c, tmp, &f, &r, e) : ST_ERROR;
    f.type = type_make(T_JSONB);
    if (st == ST_OK) st = nested_cells(&f, &r, 0, c->n, a, cells, valid, e);
    arena_free(tmp);
    return st;
}

static Status take_array(const ArrowColumn *c, const uint8_t *valid, Arena *a, NestedField *f, NestedRows *r, Err *e) {
    ArrowColumn item;
    *f = (NestedField){.kind = NESTED_LIST, .type = c->type};
    r->n = c->n;
    r->valid = valid;
    TRY(make_children(f, r, 1, a, e));
    TRY(elements_of(c, valid, a, r, &item, e));
    TRY(arrow_check(&item, e));
    return take_values(&item, type_element(c->type), a, f->children, r->rows, e);
}

/* valid[] is known. */
Status arrow_lists(const ArrowColumn *c, Arena *a, Str *cells, uint8_t *valid, Err *e) {
    NestedField f;
    NestedRows r = {0};
    ArrowFormat form;
    if (!arrow_format(c->schema->format, &form)) return arrow_mismatch(c, e);
    if (!arrow_is_list(form.layout)) return arrow_mismatch(c, e);
    TRY(stack_check(e));
    Arena *tmp = arena_new(arena_account(a), e);
    Status st = tmp ? take_array(c, valid, tmp, &f, &r, e) : ST_ERROR;
    if (st == ST_OK) st = nested_cells(&f, &r, 0, c->n, a, cells, valid, e);
    arena_free(tmp);
    return st;
}
