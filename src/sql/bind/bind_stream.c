/* bind_stream.c - files in FROM: FROM 'x.csv' and read_csv('x.csv', header => true, ...). See program/stream.h.
 *
 * The file is looked at while the statement is bound, since its columns are the relation's. Paths and options are
 * literals, or arrays of literals: the columns depend on them.
 */
#include "catalog/names.h"
#include "sql/bind/bind_int.h"

bool bind_is_stream(const Binder *b, const AstExpr *call) {
    if (call->kind != AST_FUNC || !b->c->streams) return false;
    const AstFunc *f = AST_AS_CONST(AstFunc, call);
    if (f->name.schema || !b->c->streams->is_function(f->name.name)) return false;
    name_read(slice_of(f->name.name));
    for (int64_t i = 0; b->c->catalog && i < b->c->catalog->n_routines; i++)
        if (key_is_named(b->c->catalog->routines[i]->name, f->name.name)) return false;
    return true;
}

/* A literal as text; *text NULL for NULL. */
static Status literal_text(Binder *b, const AstExpr *e, const char **text) {
    TRY(stack_check(b->err));
    const AstLiteral *l = AST_AS_CONST(AstLiteral, e);
    switch ((int)e->kind) {
    case AST_NULL_LIT: *text = NULL; return ST_OK;
    case AST_BOOL_LIT: *text = l->b ? "true" : "false"; return ST_OK;
    case AST_INT_LIT: *text = arena_printf(b->a, "%lld", (long long)l->i); break;
    case AST_NUMBER_LIT:
    case AST_STRING_LIT: *text = arena_strndup(b->a, l->text.ptr, l->text.len); break;
    case AST_CAST: return literal_text(b, AST_AS_CONST(AstCast, e)->arg, text);
    case AST_OP: {
        const AstOp *o = AST_AS_CONST(AstOp, e);
        if (!o->left && strcmp(o->op, "-") == 0 &&
            (o->right->kind == AST_INT_LIT || o->right->kind == AST_NUMBER_LIT)) {
            TRY(literal_text(b, o->right, text));
            *text = arena_printf(b->a, "-%s", *text);
            break;
        }
    } /* FALLTHROUGH */
    default:
        return err_at(b->err, bind_pos(b, e->location), ERR_FEATURE_NOT_SUPPORTED,
                      "paths and options of a file must be literals");
    }
    return *text ? ST_OK : ST_ERROR;
}

static Status literal_texts(Binder *b, const AstExpr *e, int32_t *n, const char *const **out) {
    const AstList *l = e->kind == AST_ARRAY ? AST_AS_CONST(AstList, e) : NULL;
    int64_t count = l ? l->n_items : 1;
    const char **v = arena_array(b->a, const char *, count + 1);
    if (!v) return ST_ERROR;
    for (int64_t i = 0; i < count; i++) TRY(literal_text(b, l ? l->items[i] : e, &v[i]));
    *n = (int32_t)count;
    *out = v;
    return ST_OK;
}

static Plan *stream_plan(Binder *b, const StreamCall *call) {
    if (!b->c->streams) {
        bind_unsupported(b, call->position, "a file in this statement");
        err_hint(b->err, "CREATE TABLE .. AS SELECT .. FROM the file makes a table of it.");
        return NULL;
    }
    const RowStream *s;
    b->c->reads_stream = true; /* also when it cannot be opened */
    if (b->c->streams->open(b->c->streams, b->a, call, &s, b->err) != ST_OK) {
        if (!b->err->position) b->err->position = call->position;
        return NULL;
    }
    return bind_stream_plan(b, s);
}

Plan *bind_stream_plan(Binder *b, const RowStream *s) {
    b->c->reads_stream = true;
    Plan *p = plan_new(b->c, LP_STREAM, 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, s->n_cols + 1)) ||
        !(p->stream_cols = arena_array(b->a, int32_t, s->n_cols + 1)))
        return NULL;
    p->stream = s;
    p->alias = s->alias;
    p->n_out = s->n_cols;
    for (int32_t i = 0; i < s->n_cols; i++) {
        p->stream_cols[i] = i;
        if (!(p->out_cols[i] = plan_new_col(b->c, s->names[i], s->types[i], true))) return NULL;
    }
    return p;
}

Plan *bind_stream_file(Binder *b, const AstFromTable *f) {
    const char **path = arena_array(b->a, const char *, 1);
    if (!path) return NULL;
    *path = f->file;
    const StreamCall call = {.position = bind_pos(b, f->location), .n_paths = 1, .paths = path};
    return stream_plan(b, &call);
}

static Status stream_columns(Binder *b, const AstFromFunc *f, StreamCall *call) {
    const char **names = arena_array(b->a, const char *, f->n_column_defs + 1);
    Type *types = arena_array(b->a, Type, f->n_column_defs + 1);
    if (!names || !types) return ST_ERROR;
    for (int64_t i = 0; i < f->n_column_defs; i++) {
        names[i] = f->column_defs[i]->name;
        TRY(sql_bind_type(b->c->catalog, f->column_defs[i]->type, &types[i], NULL, b->err));
    }
    call->n_cols = (int32_t)f->n_column_defs;
    call->names = names;
    call->types = types;
    return ST_OK;
}

/* Argument i and its name; NULL: it has none. Since no columns are in sight, `header = true` is `header => true`. */
static const AstExpr *option_of(const AstFunc *f, int64_t i, const char **name) {
    const AstExpr *e = f->args[i];
    *name = f->arg_names ? f->arg_names[i] : NULL;
    if (*name || i == 0 || e->kind != AST_OP) return e;
    const AstOp *o = AST_AS_CONST(AstOp, e);
    if (strcmp(o->op, "=") != 0 || !o->left || o->left->kind != AST_COLUMN) return e;
    const AstColumn *column = AST_AS_CONST(AstColumn, o->left);
    if (column->schema || column->table) return e;
    *name = column->name;
    return o->right;
}

/* The first argument is the path, or an array of paths; the others have names. */
Plan *bind_stream_call(Binder *b, const AstFromFunc *from) {
    const AstFunc *f = AST_AS_CONST(AstFunc, from->funcs[0].call);
    StreamCall call = {.function = f->name.name, .position = bind_pos(b, f->location)};
    StreamOption *options = arena_array(b->a, StreamOption, f->n_args + 1);
    if (!options) return NULL;
    if (from->ordinality) {
        bind_unsupported(b, from->location, "WITH ORDINALITY of a file");
        return NULL;
    }
    for (int64_t i = 0; i < f->n_args; i++) {
        const char *name;
        const AstExpr *arg = option_of(f, i, &name);
        int32_t n;
        const char *const *values;
        if (!name != (i == 0)) {
            err_at(b->err, bind_pos(b, f->args[i]->location), ERR_UNDEFINED_FUNCTION,
                   "%s takes a path, or an array of paths, and options as name => value", call.function);
            return NULL;
        }
        if (literal_texts(b, arg, &n, &values) != ST_OK) return NULL;
        if (i > 0) {
            options[call.n_options++] = (StreamOption){name, bind_pos(b, arg->location), n, values};
            continue;
        }
        call.n_paths = n;
        call.paths = values;
        for (int32_t k = 0; k < n; k++)
            if (!values[k]) call.n_paths = 0;
    }
    if (call.n_paths == 0) {
        err_at(b->err, call.position, ERR_UNDEFINED_FUNCTION, "%s needs the path of a file", call.function);
        return NULL;
    }
    call.options = options;
    if (from->n_column_defs && stream_columns(b, from, &call) != ST_OK) return NULL;
    return stream_plan(b, &call);
}
