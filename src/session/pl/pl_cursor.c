/* pl_cursor.c - cursors of bodies: OPEN, FETCH, MOVE, CLOSE. They are the session's (session/core/cursor.h), as those
 * of DECLARE: a refcursor that a function returns is read by FETCH behind the call. */
#include "session/pl/pl_run_int.h"

#include <stdio.h>

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
    if (cursor_find(fr->s, name))
        return err_set(&fr->s->err, ERR_DUPLICATE_CURSOR, "cursor \"%.*s\" already in use", (int)name.len, name.ptr);
    return pl_run_query(fr, c->query, st);
}

static Status open_query(PlFrame *fr, const PlStmt *s, Statement *st) {
    if (fr->f->vars[s->cursor.var].cursor) return pl_cursor_query(fr, s, st);
    if (fr->slots[s->cursor.var].v.is_null) TRY(new_name(fr, s->cursor.var));
    Str name;
    TRY(name_of(fr, s->cursor.var, &name));
    if (cursor_find(fr->s, name))
        return err_set(&fr->s->err, ERR_DUPLICATE_CURSOR, "cursor \"%.*s\" already in use", (int)name.len, name.ptr);
    return s->query ? pl_run_query(fr, s->query, st) : pl_run_dynamic(fr, s, st);
}

Status pl_open(PlFrame *fr, const PlStmt *s) {
    Session *ses = fr->s;
    Statement *st;
    Str name;
    TRY(session_result_new(fr->s, &st));
    st->numbers.wanted = true;
    if (open_query(fr, s, st) != ST_OK) goto failed;
    if (!pl_returns_rows(st)) {
        err_set(&ses->err, ERR_SYNTAX, "cannot open %s query as cursor", st->tag[0] ? st->tag : "this");
        goto failed;
    }
    if (session_result_keep_names(st) != ST_OK || name_of(fr, s->cursor.var, &name) != ST_OK) goto failed;
    return cursor_add(ses, name, st, NULL);
failed:
    session_result_free(st);
    return ST_ERROR;
}

static Status open_cursor(PlFrame *fr, int32_t var, Cursor **out) {
    Str name;
    TRY(name_of(fr, var, &name));
    if ((*out = cursor_find(fr->s, name))) return ST_OK;
    return err_set(&fr->s->err, ERR_INVALID_CURSOR_NAME, "cursor \"%.*s\" does not exist", (int)name.len, name.ptr);
}

/* Directions as pl_parse.c numbers them; n: of those with a number. */
static Status move(PlFrame *fr, Cursor *c, const PlStmt *s, int64_t n, CursorMove *out) {
    static const struct {
        AstFetchDirection direction;
        int64_t count; /* 0: n */
    } moves[] = {{AST_FORWARD, 1},
                 {AST_BACKWARD, 1},
                 {AST_ABSOLUTE, 1},
                 {AST_ABSOLUTE, -1},
                 {AST_ABSOLUTE, 0},
                 {AST_RELATIVE, 0},
                 {AST_FORWARD, AST_FETCH_ALL},
                 {AST_BACKWARD, AST_FETCH_ALL},
                 {AST_BACKWARD, 0},
                 {AST_FORWARD, 0}};
    const int32_t d = s->cursor.direction;
    const int64_t count = moves[d].count ? moves[d].count : n;
    return cursor_move(fr->s, c, moves[d].direction, count, !s->cursor.is_move, out);
}

Status pl_fetch(PlFrame *fr, const PlStmt *s) {
    Cursor *c;
    CursorMove m;
    int64_t n = 0;
    TRY(open_cursor(fr, s->cursor.var, &c));
    if (s->expr) {
        Value v;
        TRY(pl_eval(fr, s->expr, type_make(T_INT4), &v));
        if (v.is_null)
            return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "relative or absolute cursor position is null");
        n = v.u.i32;
    }
    TRY(move(fr, c, s, n, &m));
    if (!s->cursor.is_move) TRY(pl_assign_row(fr, s, c->rows->st, m.n > 0 ? m.first - 1 : -1));
    fr->row_count = m.n;
    return pl_set_bool(fr, fr->f->found, m.n > 0);
}

Status pl_close(PlFrame *fr, const PlStmt *s) {
    Cursor *c;
    TRY(open_cursor(fr, s->cursor.var, &c));
    cursor_close(fr->s, c);
    return ST_OK;
}

/* ---- loops over cursors, WHERE CURRENT OF ---------------------------------------------------------------- */

Status pl_loop_cursor(PlFrame *fr, const PlStmt *s, Statement *st, int64_t *serial) {
    Str name;
    Cursor *c;
    if (session_result_keep_names(st) != ST_OK || name_of(fr, s->cursor.var, &name) != ST_OK) {
        session_result_free(st);
        return ST_ERROR;
    }
    TRY(cursor_add(fr->s, name, st, &c));
    c->of_loop = true;
    *serial = c->serial;
    return ST_OK;
}
Status pl_loop_at(Session *s, int64_t serial, int64_t row) {
    Cursor *c = s->names.cursors;
    while (c && c->serial != serial) c = c->next;
    if (!c) return err_set(&s->err, ERR_INVALID_CURSOR_STATE, "the cursor of a loop was closed in it");
    c->at = row;
    return ST_OK;
}

void pl_cursor_portal(const Session *s, Str *name) {
    const PlFrame *fr = s->pl ? s->pl->frame : NULL;
    for (int32_t i = 0; fr && i < fr->f->n_vars; i++) {
        const PlVar *v = &fr->f->vars[i];
        if (v->kind != PLV_SCALAR || v->type.id != T_TEXT || !v->name || fr->slots[i].v.is_null) continue;
        if ((int64_t)strlen(v->name) != name->len || memcmp(v->name, name->ptr, name->len) != 0) continue;
        *name = fr->slots[i].v.u.str;
        return;
    }
}
