/* system_rows.c - rows of system relations (catalog/system_relation.h): made when the statement is planned, from what
 * it reads. See system_int.h. */
#include <stdarg.h>

#include "session/system/system_int.h"
#include "types/array.h"

static Status grow(SystemRows *r) {
    Arena *a = r->c->arena;
    int64_t cap = r->cap ? r->cap * 2 : 64;
    for (int32_t i = 0; i < r->p->n_out; i++) {
        Vec *v = &r->p->values.cells[i], w = *v;
        int64_t size = phys_size((Phys)v->phys);
        if (!(w.data = arena_calloc(a, cap * size)) || !(w.valid = arena_calloc(a, cap))) return err_oom(r->err);
        if (r->n) memcpy(w.data, v->data, (size_t)(r->n * size));
        if (r->n) memcpy(w.valid, v->valid, (size_t)r->n);
        *v = w;
    }
    r->cap = cap;
    return ST_OK;
}
static Status begin(SystemRows *r, Session *s, PlanCtx *c, Plan *p) {
    *r = (SystemRows){.c = c, .p = p, .err = &s->err};
    if (!(p->values.cells = arena_array(c->arena, Vec, p->n_out + 1))) return err_oom(&s->err);
    for (int32_t i = 0; i < p->n_out; i++) {
        Type t = c->cols.items[p->out_cols[i]].type;
        p->values.cells[i] = (Vec){.phys = (uint8_t)type_phys(t), .type = t};
    }
    return grow(r);
}
Status system_next_row(SystemRows *r) {
    if (r->n == r->cap) TRY(grow(r));
    r->n++;
    return ST_OK;
}
static void *cell(SystemRows *r, int32_t col) {
    Vec *v = &r->p->values.cells[col];
    v->valid[r->n - 1] = 1;
    return (char *)v->data + (r->n - 1) * phys_size((Phys)v->phys);
}
/* The cell is as wide as the column: little-endian. */
void system_put_int(SystemRows *r, int32_t col, int64_t value) {
    memcpy(cell(r, col), &value, (size_t)MIN_OF(phys_size((Phys)r->p->values.cells[col].phys), (int64_t)sizeof value));
}
void system_put_bool(SystemRows *r, int32_t col, bool value) { memcpy(cell(r, col), &value, sizeof value); }
void system_put_float(SystemRows *r, int32_t col, double value) {
    const float narrow = (float)value;
    if (r->p->values.cells[col].phys == PH_F64) memcpy(cell(r, col), &value, sizeof value);
    else memcpy(cell(r, col), &narrow, sizeof narrow);
}
Status system_put_text(SystemRows *r, int32_t col, const char *text) {
    const char *shown = keys_dotted(r->c->arena, text), *copy = shown ? arena_strdup(r->c->arena, shown) : NULL;
    if (!copy) return err_oom(r->err);
    Str t = str_make(copy, (int64_t)strlen(copy));
    memcpy(cell(r, col), &t, sizeof t);
    return ST_OK;
}

const Str *system_vector(SystemRows *r, int32_t col, int64_t n, const int64_t *values) {
    const Type t = r->p->values.cells[col].type, element = type_element(t);
    const int64_t w = phys_size(type_phys(element));
    ArrayShape shape = {.n = n > 0, .dims = {{(int32_t)n, t.flags & TF_VECTOR ? 0 : 1}}};
    char *cells = arena_calloc(r->c->arena, (n + 1) * w);
    Str *out = arena_new_of(r->c->arena, Str);
    if (!cells || !out) return err_oom(r->err), NULL;
    for (int64_t i = 0; i < n; i++) memcpy(cells + i * w, &values[i], (size_t)w);
    if (array_build_shaped(r->c->arena, type_phys(element), &shape, cells, NULL, out, r->err) != ST_OK) return NULL;
    return out;
}
const Str *system_texts(SystemRows *r, int32_t col, int64_t n, const char *const *values) {
    (void)col;
    Str *cells = arena_array(r->c->arena, Str, n + 1), *out = arena_new_of(r->c->arena, Str);
    if (!cells || !out) return err_oom(r->err), NULL;
    for (int64_t i = 0; i < n; i++) cells[i] = str_make(values[i], (int64_t)strlen(values[i]));
    return array_build(r->c->arena, PH_STR, n, cells, NULL, out, r->err) == ST_OK ? out : NULL;
}

static Status put_char(SystemRows *r, int32_t col, int c) {
    const char text[2] = {(char)c, 0};
    return system_put_text(r, col, text);
}
static Status put(SystemRows *r, int32_t col, char letter, va_list *args) {
    const Phys phys = (Phys)r->p->values.cells[col].phys;
    const Str *blob;
    const char *text;
    dbg_assert(letter == '-' || (strchr("scv", letter) != NULL) == (phys == PH_STR));
    switch (letter) {
    case 's': return (text = va_arg(*args, const char *)) ? system_put_text(r, col, text) : ST_OK;
    case 'i': system_put_int(r, col, va_arg(*args, int64_t)); return ST_OK;
    case 'b': system_put_bool(r, col, va_arg(*args, int) != 0); return ST_OK;
    case 'c': return put_char(r, col, va_arg(*args, int));
    case 'f': system_put_float(r, col, va_arg(*args, double)); return ST_OK;
    case 'v':
        if (!(blob = va_arg(*args, const Str *))) return err_is_set(r->err) ? ST_ERROR : ST_OK;
        memcpy(cell(r, col), blob, sizeof *blob);
        return ST_OK;
    case '0':
    case '1':
        if (phys == PH_F32 || phys == PH_F64) system_put_float(r, col, letter - '0');
        else system_put_int(r, col, letter - '0');
        return ST_OK;
    default: dbg_assert(letter == '-'); return ST_OK;
    }
}
Status system_row(SystemRows *r, const char *format, ...) {
    TRY(system_next_row(r));
    va_list args;
    va_start(args, format);
    Status st = ST_OK;
    for (int32_t i = 0; st == ST_OK && i < r->p->n_out; i++) {
        if (*format == 'x') st = put(r, i, format[1], &args);
        else st = put(r, i, *format++, &args);
    }
    va_end(args);
    return st;
}

Status system_fill_none(Session *s, SystemRows *r) { return (void)s, (void)r, ST_OK; }
/* In the order of system_relations(). */
static SystemFill *const fills[] = {
#define SYSTEM_VIEW(oid_, schema_, name_, columns_, sql_) NULL,
#define SYSTEM_RELATION(oid_, kind_, schema_, name_, fill_, columns_) system_fill_##fill_,
#include "catalog/system_relations.def"
#include "catalog/system_views.def"
};

Status session_system_rows(Session *s, PlanCtx *c, Plan *p) {
    SystemRows r;
    s->kept.n_runs++; /* the plan is good for once */
    TRY(begin(&r, s, c, p));
    if (!(r.o = session_objects(s))) return ST_ERROR;
    TRY(fills[-1 - p->values.routine_id](s, &r));
    for (int32_t i = 0; i < p->n_out; i++) p->values.cells[i].valid = r.n ? p->values.cells[i].valid : NULL;
    p->values.n_rows = r.n;
    p->values.routine_id = 0;
    return ST_OK;
}
