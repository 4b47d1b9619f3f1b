/* calls.c - calls in memory, and SQL on a session (calls.h). */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "calls.h"
#include "types/array.h"

/* Whether an invariant looks at the sum of these OUT values. */
static bool asked_for(const Workload *w, const char *out) {
    char mark[80];
    snprintf(mark, sizeof mark, "{sum %s}", out ? out : "");
    for (int i = 0; w->checks[i]; i++)
        if (strstr(w->checks[i], mark)) return true;
    return false;
}

bool calls_new(Calls *c, const Workload *w, const Routine *r, int64_t cap) {
    *c = (Calls){.r = r, .numbers = calloc((size_t)cap, sizeof *c->numbers)};
    bool ok = c->numbers != NULL;
    for (int i = 0; i < r->n_params && c->n_cols < COLS_MAX; i++) {
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
        /* numeric without (p,s) in the form that programs of bulks have (session/pool/bulk_forms.h) */
        const Type t = r->param_types[i].id == T_DECIMAL ? type_make(T_NUMERIC) : r->param_types[i];
        const Phys ph = type_phys(t);
        Vec *v = &c->cols[c->n_cols];
        *v = (Vec){.phys = (uint8_t)ph, .type = t, .data = calloc((size_t)cap, (size_t)phys_size(ph))};
        if (ph == PH_STR) c->texts[c->n_cols] = calloc((size_t)cap, TEXT_CELL);
        ok &= v->data && (ph != PH_STR || c->texts[c->n_cols]);
        c->n_cols++;
    }
    for (int i = 0; i < r->n_params && c->n_outs < OUTS_MAX; i++) {
        if (r->param_modes[i] == 'i') continue;
        Phys ph = type_phys(r->param_types[i]);
        c->outs[c->n_outs] = r->param_names[i];
        c->summed[c->n_outs++] = w && (ph == PH_I32 || ph == PH_I64) && asked_for(w, r->param_names[i]);
    }
    return ok;
}
void calls_free(Calls *c) {
    for (int i = 0; i < c->n_cols; i++) free(c->cols[i].data), free(c->texts[i]);
    free(c->numbers);
}
void calls_add(Calls *c, uint32_t number, const Cell *cells) {
    int64_t i = c->n++;
    c->numbers[i] = number;
    for (int k = 0; k < c->n_cols; k++) {
        void *d = c->cols[k].data;
        switch (c->cols[k].phys) {
        case PH_I16: ((int16_t *)d)[i] = (int16_t)cells[k].v; break;
        case PH_I32: ((int32_t *)d)[i] = (int32_t)cells[k].v; break;
        case PH_I64: ((int64_t *)d)[i] = cells[k].v; break;
        case PH_F64: ((double *)d)[i] = (double)cells[k].v; break;
        case PH_I128:
            ((int128_t *)d)[i] = cells[k].v * pow10_i128[c->cols[k].type.scale - 2];
            break; /* numeric without a scale */
        default: {
            char *t = c->texts[k] + i * TEXT_CELL;
            if (c->cols[k].type.id == T_ARRAY) {
                ArrayHead head = {.n = cells[k].n,
                                  .phys = PH_I32,
                                  .data = sizeof head,
                                  .bytes = (uint32_t)sizeof head + 4 * (uint32_t)cells[k].n};
                memcpy(t, &head, sizeof head);
                memcpy(t + sizeof head, cells[k].items, 4 * (size_t)cells[k].n);
                ((Str *)d)[i] = str_make(t, head.bytes);
                break;
            }
            memcpy(t, cells[k].text, TEXT_CELL);
            ((Str *)d)[i] = str_make(t, cells[k].len);
        }
        }
    }
}

/* ---- SQL */
bool exec_sql(Session *s, const char *sql, char why[WHY_MAX]) {
    Slice text = slice_of(sql);
    while (text.len > 0) {
        Statement *st = NULL;
        int64_t used = 0;
        if (statement_prepare(s, text, &st, &used) != ST_OK || (st && statement_run(st) != ST_OK)) {
            snprintf(why, WHY_MAX, "%s: %.380s", s->err.sqlstate, s->err.message);
            if (st) statement_free(st);
            return false;
        }
        if (st) statement_free(st);
        text.ptr += used;
        text.len -= used;
    }
    return true;
}
/* A query's only cell. NULL: `why` says why there is none. */
static const void *one_cell(Session *s, const char *sql, Statement **st, char why[WHY_MAX]) {
    const void *cell = NULL;
    bool null = true;
    int64_t used = 0;
    *st = NULL;
    bool ok = statement_prepare(s, slice_of(sql), st, &used) == ST_OK && statement_run(*st) == ST_OK &&
              ((*st)->n_rows != 1 || rows_cell((*st)->rows, 0, (*st)->first_col, &cell, &null, &s->err) == ST_OK);
    if (!ok) snprintf(why, WHY_MAX, "%s: %.380s", s->err.sqlstate, s->err.message);
    else if (null) snprintf(why, WHY_MAX, "gives no value: %.380s", sql);
    return ok && !null ? cell : NULL;
}
bool number_of(Session *s, const char *sql, int64_t *out, char why[WHY_MAX]) {
    Statement *st;
    char text[700];
    snprintf(text, sizeof text, "select cast((%s) as bigint)", sql);
    const void *cell = one_cell(s, text, &st, why);
    if (cell) memcpy(out, cell, sizeof *out);
    if (st) statement_free(st);
    return cell != NULL;
}
bool check_true(Session *s, const char *sql, char why[WHY_MAX]) {
    Statement *st;
    const void *cell = one_cell(s, sql, &st, why);
    const bool ok = cell && *(const uint8_t *)cell;
    if (cell && !ok) snprintf(why, WHY_MAX, "does not hold: %.380s", sql);
    if (st) statement_free(st);
    return ok;
}
char *scaled_text(const char *folder, const char *name, int64_t scale, char why[WHY_MAX]) {
    char path[1100];
    char *text = NULL, *out = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s.sql", folder, name);
    if (!(text = read_text(path, why))) return NULL;
    FILE *f = open_memstream(&out, &len);
    for (const char *at = text; f && *at;) {
        const char *mark = strstr(at, ":scale");
        if (!mark) mark = at + strlen(at);
        fwrite(at, 1, (size_t)(mark - at), f);
        if (*mark) fprintf(f, "%lld", (long long)scale), mark += 6;
        at = mark;
    }
    if (f) fclose(f);
    free(text);
    return out;
}
