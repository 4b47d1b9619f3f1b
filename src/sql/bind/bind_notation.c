/* bind_notation.c - named notation in calls of builtins: f(a => 1) becomes the call with its arguments by position.
 *
 * The function table has no names of parameters. Of functions that have defaults, for which names are there, they stand
 * here; a default in front of an argument that is given is written into the call.
 */
#include "sql/bind/bind_int.h"

enum { NAMED_MAX = 7 };
typedef struct Named {
    const char *functions; /* blanks around each */
    const char *params[NAMED_MAX];
    const char *defaults[NAMED_MAX]; /* NULL: none; a digit, t, f, or a text */
} Named;
static const Named named[] = {
    {" make_interval ",
     {"years", "months", "weeks", "days", "hours", "mins", "secs"},
     {"0", "0", "0", "0", "0", "0", "0"}},
    {" jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query "
     "jsonb_path_query_tz jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first "
     "jsonb_path_query_first_tz ",
     {"target", "path", "vars", "silent"},
     {NULL, NULL, "{}", "f"}},
    {" jsonb_set ", {"jsonb_in", "path", "replacement", "create_if_missing"}, {NULL, NULL, NULL, "t"}},
    {" jsonb_set_lax ",
     {"jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"},
     {NULL, NULL, NULL, "t", "use_json_null"}},
    {" jsonb_insert ", {"jsonb_in", "path", "replacement", "insert_after"}, {NULL, NULL, NULL, "f"}},
    {" json_populate_record json_populate_recordset ", {"base", "from_json", "use_json_as_text"}, {NULL, NULL, "f"}},
    {" json_to_record jsonb_to_record json_to_recordset jsonb_to_recordset json_each jsonb_each json_each_text "
     "jsonb_each_text json_object_keys jsonb_object_keys json_array_elements jsonb_array_elements "
     "json_array_elements_text jsonb_array_elements_text ",
     {"from_json"},
     {NULL}},
};

static const Named *named_function(Binder *b, const AstFunc *f) {
    const char *word = arena_printf(b->a, " %s ", f->name.name);
    for (int64_t i = 0; word && i < ARRAY_LEN(named) && !f->name.schema; i++)
        if (strstr(named[i].functions, word)) return &named[i];
    return NULL;
}
static int param(const Named *x, const char *name) {
    for (int k = 0; k < NAMED_MAX && x->params[k]; k++)
        if (strcmp(x->params[k], name) == 0) return k;
    return -1;
}
/* Where the arguments go: slots[k] is the argument of parameter k, or NULL; *n: how many. False: nowhere. */
static bool place(const Named *x, const AstFunc *f, AstExpr **slots, int *n) {
    for (int64_t i = 0; i < f->n_args; i++) {
        const int k = f->arg_names[i] ? param(x, f->arg_names[i]) : i < NAMED_MAX && x->params[i] ? (int)i : -1;
        if (k < 0 || slots[k]) return false;
        slots[k] = f->args[i];
        *n = MAX_OF(*n, k + 1);
    }
    for (int k = 0; k < NAMED_MAX && x->params[k]; k++)
        if (!slots[k] && !x->defaults[k]) return false;
    return true;
}
static AstExpr *default_value(Binder *b, const char *text, int64_t location) {
    AstLiteral *x = arena_new_of(b->a, AstLiteral);
    if (!x) return NULL;
    x->location = location;
    x->kind = *text == '0' ? AST_INT_LIT : text[1] == 0 ? AST_BOOL_LIT : AST_STRING_LIT;
    x->b = *text == 't';
    x->text = slice_of(text);
    return (AstExpr *)x;
}
static Status no_function(Binder *b, Query *q, const AstFunc *f) {
    Expr **given = bind_list(b, q, f->args, f->n_args);
    struct UserFunction *none;
    Expr **cast = given ? arena_array(b->a, Expr *, f->n_args + 1) : NULL;
    if (cast && bind_user_args(b, f, f->n_args, given, &none, cast) != ST_OK)
        bind_hint_function(b, f->name.name, "function");
    return ST_ERROR;
}
static Status check_notation(Binder *b, const AstFunc *f) {
    bool some = false;
    for (int64_t i = 0; i < f->n_args; i++) {
        const char *name = f->arg_names[i];
        if (!name && some)
            return err_at(b->err, bind_pos(b, f->args[i]->location), ERR_SYNTAX,
                          "positional argument cannot follow named argument");
        some |= name != NULL;
        for (int64_t k = 0; name && k < i; k++)
            if (f->arg_names[k] && strcmp(f->arg_names[k], name) == 0)
                return err_at(b->err, bind_pos(b, f->args[i]->location), ERR_SYNTAX,
                              "argument name \"%s\" used more than once", name);
    }
    return ST_OK;
}

bool bind_is_named(Binder *b, const AstFunc *f) { return f->arg_names && named_function(b, f) != NULL; }

const AstFunc *bind_by_position(Binder *b, Query *q, const AstFunc *f) {
    const Named *x = named_function(b, f);
    if (!x && func_named(slice_of(f->name.name)))
        return (void)bind_unsupported(b, f->location, "named argument notation"), NULL;
    if (check_notation(b, f) != ST_OK) return NULL;
    AstExpr *slots[NAMED_MAX] = {0};
    int n = 0;
    if (!x || !place(x, f, slots, &n)) return (void)no_function(b, q, f), NULL;
    AstFunc *out = arena_new_of(b->a, AstFunc);
    if (!out) return NULL;
    *out = *f;
    out->arg_names = NULL;
    out->n_args = n;
    if (!(out->args = arena_array(b->a, AstExpr *, n + 1))) return NULL;
    for (int k = 0; k < n; k++)
        if (!(out->args[k] = slots[k] ? slots[k] : default_value(b, x->defaults[k], f->location))) return NULL;
    return out;
}
