/* pl_cursor.c - cursors of bodies: OPEN, FETCH, MOVE, CLOSE. The query's rows are all made when it is opened. They are
 * gone when the outermost call ends. */
#include "session/pl/pl_run_int.h"

#include <stdio.h>

static void state_free(Session *s, PlCursorState *c) {
    pl_result_free(c->st);
    mem_free(&s->account, c->name, (int64_t)strlen(c->name) + 1);
    mem_free(&s->account, c, (int64_t)sizeof *c);
}

void pl_close_all(Session *s) {
    while (s->pl->cursors) {
        PlCursorState *c = s->pl->cursors;
        s->pl->cursors = c->next;
        state_free(s, c);
    }
}

static PlCursorState **find(Session *s, Str name) {
    PlCursorState **p = &s->pl->cursors;
    while (*p && !((int64_t)strlen((*p)->name) == name.len && memcmp((*p)->name, name.ptr, name.len) == 0))
        p = &(*p)->next;
    return p;
}

/* The name in the variable. A bound cursor's is its own. */
static Status name_of(PlFrame *fr, int32_t var, Str *out) {
    const Value *v = &fr->slots[var].v;
    const char *own = fr->f->vars[var].name;
    if (v->is_null && fr->f->vars[var].cursor) {
        Value x = {.type = type_make(T_TEXT), .u.str = str_make(own, (int64_t)strlen(own))};
        TRY(pl_slot_set(fr->s, &fr->slots[var], &x));
    }
    if (v->is_null) return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "cursor variable \"%s\" is null", own);
    *out = v->u.str;
    return ST_OK;
}

static Status new_name(PlFrame *fr, int32_t var) {
    char text[64];
    int n = snprintf(text, sizeof text, "<unnamed portal %lld>", (long long)++fr->s->pl->next_portal);
    Value x = {.type = type_make(T_TEXT), .u.str = str_make(text, n)};
    return pl_slot_set(fr->s, &fr->slots[var], &x);
}

Status pl_cursor_query(PlFrame *fr, const PlStmt *s, Statement *st) {
    const PlCursor *c = fr->f->vars[s->cursor.var].cursor;
    Str name;
    for (int32_t i = 0; i < s->n_args; i++) {
        Value v;
        TRY(pl_eval(fr, s->args[i], fr->f->vars[c->first_arg + i].type, &v));
        TRY(pl_assign(fr, (PlRef){c->first_arg + i, NULL}, &v));
    }
    TRY(name_of(fr, s->cursor.var, &name));
    if (*find(fr->s, name))
        return err_set(&fr->s->err, ERR_DUPLICATE_CURSOR, "cursor \"%.*s\" already in use", (int)name.len, name.ptr);
    return pl_run_query(fr, c->query, st);
}

static Status open_query(PlFrame *fr, const PlStmt *s, Statement *st) {
    if (fr->f->vars[s->cursor.var].cursor) return pl_cursor_query(fr, s, st);
    if (fr->slots[s->cursor.var].v.is_null) TRY(new_name(fr, s->cursor.var));
    Str name;
    TRY(name_of(fr, s->cursor.var, &name));
    if (*find(fr->s, name))
        return err_set(&fr->s->err, ERR_DUPLICATE_CURSOR, "cursor \"%.*s\" already in use", (int)name.len, name.ptr);
    return s->query ? pl_run_query(fr, s->query, st) : pl_run_dynamic(fr, s, st);
}

Status pl_open(PlFrame *fr, const PlStmt *s) {
    Session *ses = fr->s;
    Statement *st;
    Str name;
    TRY(pl_result_new(fr, &st));
    if (open_query(fr, s, st) != ST_OK) goto failed;
    if (!pl_returns_rows(st)) {
        err_set(&ses->err, ERR_SYNTAX, "cannot open %s query as cursor", st->tag[0] ? st->tag : "this");
        goto failed;
    }
    if (name_of(fr, s->cursor.var, &name) != ST_OK) goto failed;
    PlCursorState *c = mem_calloc(&ses->account, (int64_t)sizeof *c, &ses->err);
    if (!c) goto failed;
    if (!(c->name = mem_alloc(&ses->account, (int64_t)name.len + 1, &ses->err))) {
        mem_free(&ses->account, c, (int64_t)sizeof *c);
        goto failed;
    }
    memcpy(c->name, name.ptr, name.len);
    c->name[name.len] = 0;
    c->st = st;
    c->next = ses->pl->cursors;
    ses->pl->cursors = c;
    return ST_OK;
failed:
    pl_result_free(st);
    return ST_ERROR;
}

static Status open_cursor(PlFrame *fr, int32_t var, PlCursorState ***out) {
    Str name;
    TRY(name_of(fr, var, &name));
    *out = find(fr->s, name);
    if (**out) return ST_OK;
    return err_set(&fr->s->err, ERR_INVALID_CURSOR_NAME, "cursor \"%.*s\" does not exist", (int)name.len, name.ptr);
}

/* Where the cursor goes; the count of rows it moved over. */
static int64_t move(PlCursorState *c, int32_t direction, int64_t n) {
    int64_t rows = c->st->n_rows, from = c->at, to = from;
    switch (direction) {
    case 0: to = from + 1; break;
    case 1: to = from - 1; break;
    case 2: to = 1; break;
    case 3: to = rows; break;
    case 4: to = n < 0 ? rows + 1 + n : n; break;
    case 5: to = from + MIN_OF(MAX_OF(n, -rows - 1), rows + 1); break;
    case 6: to = rows + 1; break;
    case 7: to = 0; break;
    default: to = from - MIN_OF(MAX_OF(n, -rows - 1), rows + 1); break;
    }
    c->at = MIN_OF(MAX_OF(to, 0), rows + 1);
    if (direction >= 5 && direction != 5)
        return MAX_OF(c->at, from) - MIN_OF(c->at, from) - (c->at > from && c->at == rows + 1) -
               (c->at < from && c->at == 0);
    return c->at >= 1 && c->at <= rows;
}

Status pl_fetch(PlFrame *fr, const PlStmt *s) {
    PlCursorState **c;
    int64_t n = 0;
    TRY(open_cursor(fr, s->cursor.var, &c));
    if (s->expr) {
        Value v;
        TRY(pl_eval(fr, s->expr, type_make(T_INT4), &v));
        if (v.is_null)
            return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "relative or absolute cursor position is null");
        n = v.u.i32;
    }
    int64_t moved = move(*c, s->cursor.direction, n);
    if (!s->cursor.is_move) TRY(pl_assign_row(fr, s, (*c)->st, moved ? (*c)->at - 1 : -1));
    fr->row_count = moved;
    return pl_set_bool(fr, fr->f->found, moved > 0);
}

Status pl_close(PlFrame *fr, const PlStmt *s) {
    PlCursorState **p, *c;
    TRY(open_cursor(fr, s->cursor.var, &p));
    c = *p;
    *p = c->next;
    state_free(fr->s, c);
    return ST_OK;
}
