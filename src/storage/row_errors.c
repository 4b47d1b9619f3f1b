/* row_errors.c - see row_errors.h. */
#include "storage/row_errors.h"

enum { FIELD_MOST = 64 /* bytes of a value in "Failing row contains", as in PostgreSQL */ };

/* Texts of values side by side; what does not fit is left out. */
typedef struct Line {
    char text[900];
    int64_t len;
} Line;
static void put(Line *l, const char *s, int64_t n) {
    n = MIN_OF(n, (int64_t)sizeof l->text - 1 - l->len);
    if (n <= 0) return;
    memcpy(l->text + l->len, s, (size_t)n);
    l->len += n;
    l->text[l->len] = 0;
}
/* The longest beginning of at most `most` bytes that ends between two characters. */
static int64_t clipped(const char *s, int64_t most) {
    while (most > 0 && ((uint8_t)s[most] & 0xc0) == 0x80) most--;
    return most;
}
static void put_cell(Line *l, Arena *a, Type type, const void *cell, int64_t most) {
    if (!cell) {
        put(l, "null", 4);
        return;
    }
    Value v = {.type = type};
    int64_t n = 0;
    memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(type)));
    const char *s = value_to_text(a, &v, &n);
    if (!s) return;
    put(l, s, n > most ? clipped(s, most) : n);
    if (n > most) put(l, "...", 3);
}

void row_failing_detail(const Table *t, const void *const *cells, Err *e) {
    Arena *a = cells ? arena_new(NULL, NULL) : NULL;
    Line row = {0};
    if (!a) return;
    for (int i = 0; i < t->n_cols; i++) {
        if (i) put(&row, ", ", 2);
        put_cell(&row, a, t->cols[i].type, cells[i], FIELD_MOST);
    }
    err_detail(e, "Failing row contains (%s).", row.text);
    arena_free(a);
}

Status row_null_error(const Table *t, int col, const void *const *cells, Err *e) {
    err_set(e, ERR_NOT_NULL_VIOLATION, ROW_NULL_TEXT, t->cols[col].name, t->name);
    err_of_column(e, t->name, t->cols[col].name);
    row_failing_detail(t, cells, e);
    return ST_ERROR;
}

Status row_check_error(const Table *t, const char *name, const void *const *cells, Err *e) {
    err_set(e, ERR_CHECK_VIOLATION, ROW_CHECK_TEXT, t->name, name);
    err_of_constraint(e, t->name, name);
    row_failing_detail(t, cells, e);
    return ST_ERROR;
}

Status row_view_error(const Table *t, const char *view, const void *const *cells, Err *e) {
    err_set(e, ERR_WITH_CHECK_OPTION, ROW_VIEW_TEXT, view);
    row_failing_detail(t, cells, e);
    return ST_ERROR;
}

Status row_duplicate_error(const Table *t, const char *name, const char *columns, const char *values, Err *e) {
    err_set(e, ERR_UNIQUE_VIOLATION, t->takes_over ? "could not create unique index \"%s\"" : ROW_KEY_TEXT, name);
    err_of_constraint(e, t->name, name);
    if (columns && values)
        err_detail(e, "Key (%s)=(%s) %s.", columns, values, t->takes_over ? "is duplicated" : "already exists");
    return ST_ERROR;
}

void row_key_detail(int n, const char *names, const Type *types, const void *const *cells, const char *after, Err *e) {
    Arena *a = arena_new(NULL, NULL);
    Line values = {0};
    if (!a) return;
    for (int i = 0; i < n; i++) {
        if (i) put(&values, ", ", 2);
        put_cell(&values, a, types[i], cells[i], INT64_MAX);
    }
    err_detail(e, "Key (%s)=(%s) %s", names, values.text, after);
    arena_free(a);
}

Status row_key_error(const Table *t, int key, const void *const *cells, Err *e) {
    const KeyConstraint *k = &t->keys[key];
    Arena *a = arena_new(NULL, NULL);
    Line names = {0}, values = {0};
    for (int i = 0; a && i < k->n_cols; i++) {
        const Column *c = &t->cols[k->cols[i]];
        if (i) put(&names, ", ", 2), put(&values, ", ", 2);
        put(&names, c->name, (int64_t)strlen(c->name));
        put_cell(&values, a, c->type, cells[k->cols[i]], INT64_MAX);
    }
    (void)row_duplicate_error(t, k->name, a ? names.text : NULL, values.text, e);
    arena_free(a);
    return ST_ERROR;
}

Status row_key_error_stored(const Table *t, int key, int64_t rowid, Err *e) {
    const KeyConstraint *k = &t->keys[key];
    Arena *a = arena_new(NULL, NULL);
    const void **cells = a ? arena_array(a, const void *, t->n_cols + 1) : NULL;
    Value *v = a ? arena_array(a, Value, k->n_cols + 1) : NULL;
    for (int i = 0; cells && v && i < k->n_cols; i++) {
        table_value(t, rowid, k->cols[i], &v[i]);
        cells[k->cols[i]] = value_cell_const(&v[i]);
    }
    if (cells && v) (void)row_key_error(t, key, cells, e);
    else (void)row_duplicate_error(t, k->name, NULL, NULL, e);
    arena_free(a);
    return ST_ERROR;
}
