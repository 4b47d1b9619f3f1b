/* bind_sequence.c - functions of sequences, and sequences in FROM.
 *
 * nextval('s') means the sequence that is called s when the statement is bound, as in PostgreSQL, where the literal is
 * a regclass: it becomes a call with the sequence's id, and the place of the literal is kept
 * (PlanCtx.sequences), by which dependences are found and texts follow another name. A name that is computed is looked
 * up for each row; a regclass that is computed is not taken.
 *
 * Calls run on the statement's own thread. Where several of them may be of one sequence, rows are computed one by one:
 * which number is whose then is what it is in PostgreSQL; otherwise a vector of rows gets its numbers at once. ORDER BY
 * and LIMIT come first (bind_select.c).
 */
#include "catalog/similar_names.h"
#include "sql/bind/bind_int.h"

/* ---- names in texts --------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
static void skip_blanks(Slice text, int64_t *at) {
    while (*at < text.len && is_blank(text.ptr[*at])) ++*at;
}
/* An identifier at *at, folded or out of its quotes; NULL: there is none, or no memory (which the arena has said). */
static char *identifier(Arena *a, Slice text, int64_t *at) {
    char *out = arena_alloc(a, text.len + 1);
    int64_t n = 0;
    if (!out) return NULL;
    if (*at < text.len && text.ptr[*at] == '"') {
        for (++*at; *at < text.len; out[n++] = text.ptr[(*at)++]) {
            if (text.ptr[*at] != '"') continue;
            if (*at + 1 == text.len || text.ptr[*at + 1] != '"') break;
            ++*at;
        }
        if (*at == text.len) return NULL;
        ++*at;
    } else {
        for (; *at < text.len && text.ptr[*at] != '.' && !is_blank(text.ptr[*at]); ++*at) {
            const char c = text.ptr[*at];
            out[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
    }
    out[n] = 0;
    return n > 0 ? out : NULL;
}

Status sql_relation_name(Arena *a, Slice text, AstName *out, Err *e) {
    const char *parts[3] = {NULL, NULL, NULL};
    int64_t at = 0, n = 0;
    for (bool more = true; more; n++) {
        char *part = NULL;
        skip_blanks(text, &at);
        if (n < 3) part = identifier(a, text, &at);
        if (err_is_set(e)) return ST_ERROR;
        skip_blanks(text, &at);
        more = at < text.len && text.ptr[at] == '.';
        if (!part || (!more && at < text.len)) return err_set(e, ERR_INVALID_NAME, "invalid name syntax");
        parts[n] = part;
        at += more;
    }
    *out = (AstName){.name = parts[n - 1], .schema = n > 1 ? parts[n - 2] : NULL, .catalog = n > 2 ? parts[0] : NULL};
    return ST_OK;
}
Status sql_relation_key(const Catalog *c, Arena *a, Slice text, const char **key, Err *e) {
    AstName n;
    RelationName r;
    TRY(sql_relation_name(a, text, &n, e));
    if (n.schema && !catalog_has_schema(c, n.schema))
        return err_set(e, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", n.schema);
    TRY(catalog_search(c, a, n.schema, n.name, &r));
    *key = r.key;
    return ST_OK;
}

/* ---- functions ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *by_id;
    int64_t least, most; /* arguments */
} functions[] = {{"nextval", "sequence_nextval", 1, 1},
                 {"currval", "sequence_currval", 1, 1},
                 {"setval", "sequence_setval", 2, 3},
                 {"lastval", NULL, 0, 0}};

/* The literal that names the sequence: 's', 's'::regclass. NULL: the name is computed. */
static const AstLiteral *name_literal(const AstExpr *e, bool *typed) {
    *typed = e->kind == AST_CAST && strcmp(AST_AS_CONST(AstCast, e)->type->name, "regclass") == 0 &&
             !AST_AS_CONST(AstCast, e)->type->array_dims;
    if (*typed) e = AST_AS_CONST(AstCast, e)->arg;
    return e->kind == AST_STRING_LIT ? AST_AS_CONST(AstLiteral, e) : NULL;
}

static Status find_named(Binder *b, const AstLiteral *name, Sequence **out) {
    const char *key;
    const int64_t pos = bind_pos(b, name->location);
    if (sql_relation_key(b->c->catalog, b->a, name->text, &key, b->err) != ST_OK) {
        if (!b->err->position) b->err->position = pos;
        return ST_ERROR;
    }
    *out = catalog_sequence(b->c->catalog, slice_of(key));
    if (*out) return ST_OK;
    if (catalog_relation_exists(b->c->catalog, slice_of(key)))
        return err_set(b->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", key);
    return catalog_no_relation(b->c->catalog, key, pos, b->err);
}

/* Notes a call; sequence 0: any. */
static Status note_call(Binder *b, int64_t sequence, bool only_next, int64_t location, bool typed) {
    PlanSequences *s = &b->c->sequences;
    const NamedSequence named = {location, sequence, typed};
    bool again = sequence == 0 || !only_next;
    for (int64_t i = 0; i < s->named.len; i++) again |= s->named.items[i].sequence == sequence;
    s->in_order |= again && s->called;
    s->called = b->c->one_thread = true;
    return vec_push(b->a, &s->named, named) ? ST_OK : ST_ERROR;
}

/* pg_get_serial_sequence('t', 'c'), of literals: the name of the column's sequence, or NULL. */
static Expr *serial_sequence(Binder *b, const AstFunc *f) {
    const char *key;
    if (f->args[0]->kind != AST_STRING_LIT || f->args[1]->kind != AST_STRING_LIT) {
        bind_unsupported(b, f->location, "pg_get_serial_sequence of computed names");
        return NULL;
    }
    const Slice named = AST_AS_CONST(AstLiteral, f->args[0])->text;
    if (sql_relation_key(b->c->catalog, b->a, named, &key, b->err) != ST_OK) return NULL;
    const Table *t = catalog_table(b->c->catalog, slice_of(key));
    const Slice column = AST_AS_CONST(AstLiteral, f->args[1])->text;
    if (!t) return catalog_no_relation(b->c->catalog, key, 0, b->err), NULL;
    const int col = table_find_column(t, column);
    if (col < 0) {
        err_set(b->err, ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%s\" does not exist", (int)column.len,
                column.ptr, t->name);
        return NULL;
    }
    const Sequence *q = catalog_sequence_of(b->c->catalog, t->name, t->cols[col].name);
    if (!q) return bind_null(b, type_make(T_TEXT));
    char *name = arena_alloc(b->a, 2 * (int64_t)strlen(q->name) + 16);
    if (!name) return NULL;
    const bool is_public = !key_has_schema(q->name);
    if (is_public) memcpy(name, "public.", 7);
    (void)name_put_quoted(q->name, is_public ? name + 7 : name);
    return bind_text_const(b, slice_of(name), f->location);
}

Expr *bind_sequence_call(Binder *b, Query *q, const AstFunc *f) {
    const char *name = f->name.name;
    size_t k = 0;
    if (strcmp(name, "pg_get_serial_sequence") == 0 && f->n_args == 2) return serial_sequence(b, f);
    while (k < ARRAY_LEN(functions) && strcmp(functions[k].name, name) != 0) k++;
    if (k == ARRAY_LEN(functions) || f->n_args < functions[k].least || f->n_args > functions[k].most) return NULL;
    Expr **args = arena_array(b->a, Expr *, f->n_args + 1);
    bool typed = false;
    const AstLiteral *literal = f->n_args > 0 ? name_literal(f->args[0], &typed) : NULL;
    Sequence *s = NULL;
    if (!args || (literal && find_named(b, literal, &s) != ST_OK)) return NULL;
    if (note_call(b, s ? s->id : 0, k == 0, literal ? literal->location : 0, typed) != ST_OK) return NULL;
    for (int64_t i = 0; i < f->n_args; i++) {
        args[i] = i == 0 && s ? bind_int8_const(b, s->id) : bind_expr(b, q, f->args[i]);
        if (!args[i]) return NULL;
    }
    Expr *e = bind_call(b, s ? functions[k].by_id : name, false, (int)f->n_args, args, f->location);
    if (e && e->kind == EX_FUNC && e->type.id != T_INT8) e->type = type_make(T_INT8);
    return e;
}

/* ---- FROM ------------------------------------------------------------------------------------------------------ */

Sequence *bind_find_sequence(Binder *b, const AstName *key) {
    return catalog_sequence(b->c->catalog, slice_of(key->name));
}

/* sequence_value(id, action) */
static Expr *value_of(Binder *b, const Sequence *q, SequenceAction action) {
    Expr *args[2] = {bind_int8_const(b, q->id), bind_int8_const(b, action)};
    return args[0] && args[1] ? bind_call(b, "sequence_value", false, 2, args, 0) : NULL;
}
Plan *bind_sequence_row(Binder *b, const Sequence *q) {
    Proj proj = {0};
    if (!vec_push(b->a, &b->c->relations, q->name) || note_call(b, q->id, false, 0, false) != ST_OK) return NULL;
    Expr *called = bind_op(b, "=", value_of(b, q, SEQUENCE_READ_CALLED), bind_int8_const(b, 1), 0);
    if (!bind_proj_add(b, &proj, NULL, value_of(b, q, SEQUENCE_READ_LAST), "last_value") ||
        !bind_proj_add(b, &proj, NULL, value_of(b, q, SEQUENCE_READ_LOG), "log_cnt") ||
        !bind_proj_add(b, &proj, NULL, called, "is_called"))
        return NULL;
    Plan *p = bind_proj_plan(b, &proj, bind_one_row(b));
    if (p) p->alias = name_of_key(q->name);
    return p;
}
