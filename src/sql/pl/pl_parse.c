/* pl_parse.c - a routine's body to a tree of statements, by recursive descent: the shape of PostgreSQL's pl_gram.y and
 * its words for errors.
 *
 * The scanner is sql/parse's; expressions and SQL statements are found by their ends (`;`, THEN, LOOP ... outside
 * parentheses and CASE) and read by PostgreSQL's grammar. Positions of errors count from the beginning of the statement
 * that holds the body, when the body stands there as it is.
 */
#include "sql/pl/pl_int.h"
#include "types/composite.h"

/* ---- tokens --------------------------------------------------------------------------- */

void pl_advance(PlParser *p) {
    p->tok = scan_next(p->body, &p->at);
    if (p->tok.kind != TOK_NUMBER) return;
    /* 1..10 is three tokens here */
    for (int64_t i = p->tok.start + 1; i + 1 < p->tok.end; i++)
        if (p->body.ptr[i] == '.' && p->body.ptr[i + 1] == '.') {
            p->tok.end = p->at = i;
            return;
        }
}

static bool is_word(const PlParser *p, const char *w) { return scan_is_word(p->body, p->tok, w); }
static bool is_punct(const PlParser *p, char c) { return p->tok.kind == TOK_PUNCT && p->body.ptr[p->tok.start] == c; }
static bool is_op(const PlParser *p, const char *op) {
    int64_t n = (int64_t)strlen(op);
    return p->tok.kind == TOK_OP && p->tok.end - p->tok.start == n &&
           memcmp(p->body.ptr + p->tok.start, op, (size_t)n) == 0;
}
static bool char_at(const PlParser *p, int64_t i, char c) { return i < p->body.len && p->body.ptr[i] == c; }
static bool is_assign(const PlParser *p) { return is_op(p, "=") || (is_punct(p, ':') && char_at(p, p->tok.end, '=')); }
static bool is_dots(const PlParser *p) { return is_punct(p, '.') && char_at(p, p->tok.end, '.'); }
/* A colon alone, as between the bounds of a slice. */
static bool is_colon(const PlParser *p) {
    return is_punct(p, ':') && !char_at(p, p->tok.end, ':') && !char_at(p, p->tok.end, '=') &&
           !(p->tok.start > 0 && char_at(p, p->tok.start - 1, ':'));
}
/* Past := or =, which may be glued to what follows: x:=-1. */
static void skip_assign(PlParser *p) {
    if (is_punct(p, ':')) p->at = p->tok.end + 1;
    pl_advance(p);
}
static Tok peek(const PlParser *p) {
    int64_t at = p->at;
    return scan_next(p->body, &at);
}

int32_t pl_line(PlParser *p, int64_t at) {
    if (at < p->line_at) p->line_at = 0, p->line = 1;
    for (; p->line_at < at && p->line_at < p->body.len; p->line_at++) p->line += p->body.ptr[p->line_at] == '\n';
    return p->line;
}

int64_t pl_position(const PlParser *p, int64_t at) { return p->shift >= 0 ? p->shift + at + 1 : 0; }

Status pl_syntax_at(PlParser *p, Tok t, const char *what) {
    if (t.kind == TOK_END) return err_at(p->e, pl_position(p, p->body.len), ERR_SYNTAX, "%s at end of input", what);
    int64_t n = MIN_OF(t.end - t.start, 200);
    return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "%s at or near \"%.*s\"", what, (int)n,
                  p->body.ptr + t.start);
}
static Status syntax(PlParser *p) { return pl_syntax_at(p, p->tok, "syntax error"); }

static bool accept_word(PlParser *p, const char *w) {
    if (!is_word(p, w)) return false;
    pl_advance(p);
    return true;
}
static Status expect_word(PlParser *p, const char *w) { return accept_word(p, w) ? ST_OK : syntax(p); }
static bool accept_punct(PlParser *p, char c) {
    if (!is_punct(p, c)) return false;
    pl_advance(p);
    return true;
}
static Status expect_punct(PlParser *p, char c) { return accept_punct(p, c) ? ST_OK : syntax(p); }

static const char *const reserved[] = {"all",  "begin",   "by",     "case", "declare", "else",  "end",  "execute",
                                       "for",  "foreach", "from",   "if",   "in",      "into",  "loop", "not",
                                       "null", "or",      "strict", "then", "to",      "using", "when", "while"};
static bool is_reserved(const PlParser *p) {
    for (int64_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (is_word(p, reserved[i])) return true;
    return false;
}
static bool is_name(const PlParser *p) {
    return p->tok.kind == TOK_QUOTED || (p->tok.kind == TOK_WORD && !is_reserved(p));
}

/* A name as SQL folds it: lower case, or as it stands between the quotes; at most 63 bytes. */
static char *name_text(PlParser *p, Tok t) {
    char *s = arena_alloc(p->a, t.end - t.start + 1), *o = s;
    if (!s) return NULL;
    if (t.kind == TOK_QUOTED) {
        for (int64_t i = t.start + 1; i < t.end - 1; i++) {
            *o++ = p->body.ptr[i];
            if (p->body.ptr[i] == '"') i++;
        }
    } else {
        for (int64_t i = t.start; i < t.end; i++) {
            char c = p->body.ptr[i];
            *o++ = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
    }
    *o = 0;
    if (o - s > 63) s[utf8_prefix_bytes(s, 63, 63)] = 0;
    return s;
}
static Status take_name(PlParser *p, char **out) {
    if (!is_name(p)) return syntax(p);
    if (!(*out = name_text(p, p->tok))) return ST_ERROR;
    pl_advance(p);
    return ST_OK;
}

/* ---- variables ------------------------------------------------------------------------- */

static void sync(PlParser *p) {
    PlFunction *f = p->f;
    f->vars = p->vars.items;
    f->n_vars = (int32_t)p->vars.len;
    f->aliases = p->aliases.items;
    f->n_aliases = (int32_t)p->aliases.len;
    f->block_parent = p->parents.items;
    f->block_labels = p->labels.items;
    f->n_blocks = (int32_t)p->parents.len;
}

int32_t pl_add_var(PlParser *p, const PlVar *v) {
    if (!vec_push(p->a, &p->vars, *v)) return -1;
    sync(p);
    return (int32_t)p->vars.len - 1;
}

int32_t pl_add_block(PlParser *p, const char *label) {
    if (!vec_push(p->a, &p->parents, p->block) || !vec_push(p->a, &p->labels, label)) return -1;
    sync(p);
    return (int32_t)p->parents.len - 1;
}

static int32_t add_scalar(PlParser *p, const char *name, Type t, int32_t line) {
    PlVar v = {.name = name, .kind = PLV_SCALAR, .type = t, .block = p->block, .line = line};
    return pl_add_var(p, &v);
}

bool pl_row_of_table(PlParser *p, const Table *t, PlVar *v) {
    v->kind = PLV_ROW;
    if (catalog_row_type(p->c, t, &v->type, p->e) != ST_OK) return false;
    v->row_table = arena_strdup(p->a, t->name);
    v->n_fields = t->n_cols;
    v->field_names = arena_array(p->a, const char *, t->n_cols + 1);
    v->field_types = arena_array(p->a, Type, t->n_cols + 1);
    v->field_domains = arena_array(p->a, int64_t, t->n_cols + 1);
    if (!v->row_table || !v->field_names || !v->field_types || !v->field_domains) return false;
    for (int i = 0; i < t->n_cols; i++) {
        v->field_types[i] = t->cols[i].type;
        v->field_domains[i] = t->cols[i].domain;
        if (!(v->field_names[i] = arena_strdup(p->a, t->cols[i].name))) return false;
    }
    return true;
}

/* ---- expressions and statements by their ends ----------------------------------------------- */

enum { STOP_SEMI = 1, STOP_COMMA = 2, STOP_DOTS = 4, STOP_CLOSE = 8, STOP_ASSIGN = 16, STOP_COLON = 32 };

static bool stops(const PlParser *p, unsigned flags, const char *const *words) {
    if ((flags & STOP_SEMI) && is_punct(p, ';')) return true;
    if ((flags & STOP_COMMA) && is_punct(p, ',')) return true;
    if ((flags & STOP_DOTS) && is_dots(p)) return true;
    if ((flags & STOP_COLON) && is_colon(p)) return true;
    if ((flags & STOP_CLOSE) && (is_punct(p, ')') || is_punct(p, ']'))) return true;
    for (; words && *words; words++)
        if (is_word(p, *words)) return true;
    return false;
}

/* Moves to the end of an expression or statement; the token there is the current one. */
static Status find_end(PlParser *p, unsigned flags, const char *const *words, const char *missing, bool is_expr,
                       int64_t *end) {
    int64_t depth = 0, cases = 0;
    *end = p->tok.start;
    for (;;) {
        if (depth == 0 && cases == 0 && stops(p, flags, words)) return ST_OK;
        if (p->tok.kind == TOK_END || is_punct(p, ';')) {
            if (depth == 0 && is_punct(p, ';') && (flags & STOP_SEMI))
                return ST_OK; /* an unfinished CASE: the grammar reports it */
            if (depth != 0) return pl_syntax_at(p, p->tok, "mismatched parentheses");
            if (!missing) return syntax(p);
            return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX, "missing \"%s\" at end of SQL %s", missing,
                          is_expr ? "expression" : "statement");
        }
        if (is_punct(p, '(') || is_punct(p, '[')) depth++;
        if ((is_punct(p, ')') || is_punct(p, ']')) && --depth < 0)
            return pl_syntax_at(p, p->tok, "mismatched parentheses");
        if (is_expr && is_word(p, "case")) cases++;
        if (is_expr && cases && is_word(p, "end")) cases--;
        *end = p->tok.end;
        pl_advance(p);
    }
}

static Status shift_error(PlParser *p, int64_t start, int64_t prefix) {
    int64_t pos = p->e->position;
    p->e->position = pos > prefix && p->shift >= 0 ? p->shift + start + pos - prefix : 0;
    return ST_ERROR;
}

static PlExpr *new_expr(PlParser *p, const char *text, int64_t start) {
    PlExpr *x = arena_new_of(p->a, PlExpr);
    if (!x || !text) return NULL;
    x->text = text;
    x->block = p->block;
    x->limit = (int32_t)p->vars.len;
    x->line = pl_line(p, start);
    x->number = p->f->n_exprs++;
    return x;
}

static Status expr_of(PlParser *p, int64_t start, int64_t end, PlExpr **out) {
    if (end <= start) return pl_syntax_at(p, p->tok, "missing expression");
    Slice s = {p->body.ptr + start, end - start};
    PlExpr *x = new_expr(p, arena_strndup(p->a, s.ptr, s.len), start);
    AstExpr *ast = NULL;
    if (!x) return ST_ERROR;
    Err first = {0}, again = {0};
    if (sql_parse_expr(p->a, s, &ast, &first) != ST_OK) {
        /* x := a FROM t WHERE ...: the rest of a SELECT is an expression too */
        char *sub = arena_printf(p->a, "(select %s)", x->text);
        if (!sub || sql_parse_expr(p->a, slice_of(sub), &ast, &again) != ST_OK || ast->kind != AST_SUBLINK) {
            err_copy(p->e, &first);
            return shift_error(p, start, 0);
        }
    }
    x->ast = ast;
    *out = x;
    return ST_OK;
}

/* An expression that ends before one of the stops. */
static Status read_expr(PlParser *p, unsigned flags, const char *const *words, const char *missing, PlExpr **out) {
    int64_t start = p->tok.start, end;
    TRY(find_end(p, flags, words, missing, true, &end));
    return expr_of(p, start, end, out);
}

/* text: the statement's, as long as the body's piece from `start`; `prefix` bytes in front of it are not in the body.
 */
static Status stmt_of(PlParser *p, const char *text, int64_t start, int64_t prefix, PlExpr **out) {
    PlExpr *x = new_expr(p, text, start);
    if (!x) return ST_ERROR;
    AstStmt **list;
    int64_t n;
    if (sql_parse(p->a, slice_of(text), &list, &n, p->e) != ST_OK) return shift_error(p, start, prefix);
    if (n != 1) return pl_syntax_at(p, p->tok, "syntax error");
    x->stmt = list[0];
    *out = x;
    return ST_OK;
}

static Status read_query(PlParser *p, unsigned flags, const char *const *words, const char *missing, PlExpr **out) {
    int64_t start = p->tok.start, end;
    TRY(find_end(p, flags, words, missing, false, &end));
    if (end <= start) return pl_syntax_at(p, p->tok, "missing SQL statement");
    char *text = arena_strndup(p->a, p->body.ptr + start, end - start);
    return text ? stmt_of(p, text, start, 0, out) : ST_ERROR;
}

typedef VEC(PlExpr *) ExprVec;
/* Expressions between commas up to a stop that is not a comma. */
static Status read_exprs(PlParser *p, unsigned flags, const char *const *words, const char *missing, ExprVec *v) {
    do {
        PlExpr *x;
        TRY(read_expr(p, flags | STOP_COMMA, words, missing, &x));
        if (!vec_push(p->a, v, x)) return ST_ERROR;
    } while (accept_punct(p, ','));
    return ST_OK;
}
static void set_args(PlStmt *s, const ExprVec *v) {
    s->args = v->items;
    s->n_args = (int32_t)v->len;
}

/* ---- targets ---------------------------------------------------------------------------------- */

static PlStmt *new_stmt(PlParser *p, PlStmtKind kind, int64_t at) {
    PlStmt *s = arena_new_of(p->a, PlStmt);
    if (!s) return NULL;
    s->kind = (uint8_t)kind;
    s->line = pl_line(p, at);
    s->scope.number = p->block;
    s->loop = s->cursor.var = s->arms.case_var = s->scope.state_var = s->scope.message_var = s->implicit_var = -1;
    return s;
}

/* a[.b[.c]] as a variable; *found false: it is none. The name stays consumed. */
static Status read_ref(PlParser *p, PlRef *out, bool *found, Tok *first) {
    char *part[3] = {NULL, NULL, NULL};
    int n = 0;
    *first = p->tok;
    if (p->tok.kind == TOK_PARAM) {
        if (!(part[n++] = arena_strndup(p->a, p->body.ptr + p->tok.start, p->tok.end - p->tok.start))) return ST_ERROR;
        pl_advance(p);
    } else {
        TRY(take_name(p, &part[n++]));
    }
    while (n < 3 && is_punct(p, '.') && !is_dots(p)) {
        pl_advance(p);
        if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_QUOTED) return syntax(p);
        if (!(part[n++] = name_text(p, p->tok))) return ST_ERROR;
        pl_advance(p);
    }
    *found = pl_resolve(p->f, p->block, -1, n == 3 ? part[0] : NULL, n >= 2 ? part[n - 2] : NULL, part[n - 1], out);
    return ST_OK;
}

static Status not_variable(PlParser *p, Tok t) {
    int64_t n = MIN_OF(t.end - t.start, 200);
    return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "\"%.*s\" is not a known variable", (int)n,
                  p->body.ptr + t.start);
}

static Status assignable(PlParser *p, PlRef r, Tok t) {
    const PlVar *v = &p->vars.items[r.var];
    if (v->constant)
        return err_at(p->e, pl_position(p, t.start), ERR_ERROR_IN_ASSIGNMENT, "variable \"%s\" is declared CONSTANT",
                      v->name);
    return ST_OK;
}

static Status read_target(PlParser *p, PlRef *r) {
    Tok t;
    bool found;
    TRY(read_ref(p, r, &found, &t));
    return found ? assignable(p, *r, t) : not_variable(p, t);
}

static bool is_composite(const PlParser *p, PlRef r) { return !r.field && p->vars.items[r.var].kind != PLV_SCALAR; }

/* One record or row variable, or scalars between commas. */
static Status read_targets(PlParser *p, PlStmt *s) {
    VEC(PlRef) v = {0};
    do {
        PlRef r;
        Tok t = p->tok;
        TRY(read_target(p, &r));
        if (is_composite(p, r)) {
            if (v.len > 0 || is_punct(p, ','))
                return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX,
                              v.len ? "\"%s\" is not a scalar variable"
                                    : "record variable cannot be part of multiple-item INTO list",
                              p->vars.items[r.var].name);
            s->is_row = true;
        }
        if (!vec_push(p->a, &v, r)) return ST_ERROR;
    } while (accept_punct(p, ','));
    s->targets = v.items;
    s->n_targets = (int32_t)v.len;
    return ST_OK;
}

/* ---- types -------------------------------------------------------------------------------------- */

/* The table that the name means; NULL: none. */
static Status find_table(PlParser *p, const char *schema, const char *name, const Table **out) {
    RelationName r;
    TRY(catalog_search(p->c, p->a, schema, name, &r));
    *out = r.system < 0 ? catalog_table(p->c, slice_of(r.key)) : NULL;
    return ST_OK;
}

/* x%TYPE, t.c%TYPE, label.x%TYPE, t%ROWTYPE. */
static Status percent_type(PlParser *p, Tok first, PlVar *v) {
    char *part[2] = {NULL, NULL};
    int n = 0;
    do {
        if (n == 2 || (p->tok.kind != TOK_WORD && p->tok.kind != TOK_QUOTED)) return syntax(p);
        if (!(part[n++] = name_text(p, p->tok))) return ST_ERROR;
        pl_advance(p);
    } while (accept_punct(p, '.'));
    if (!is_op(p, "%")) return syntax(p);
    pl_advance(p);
    if (is_word(p, "rowtype")) {
        const Table *t;
        TRY(find_table(p, n == 2 ? part[0] : NULL, part[n - 1], &t));
        if (!t)
            return err_at(p->e, pl_position(p, first.start), ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          part[n - 1]);
        pl_advance(p);
        return pl_row_of_table(p, t, v) ? ST_OK : ST_ERROR;
    }
    TRY(expect_word(p, "type"));
    PlRef r;
    if (pl_resolve(p->f, p->block, -1, NULL, n == 2 ? part[0] : NULL, part[n - 1], &r)) {
        const PlVar *o = &p->vars.items[r.var];
        if (!r.field) {
            v->kind = o->kind;
            v->type = o->type;
            v->domain = o->domain;
            v->row_table = o->row_table;
            v->n_fields = o->n_fields;
            v->field_names = o->field_names;
            v->field_types = o->field_types;
            v->field_domains = o->field_domains;
            return ST_OK;
        }
        for (int32_t i = 0; i < o->n_fields; i++) {
            if (strcmp(o->field_names[i], r.field) != 0) continue;
            v->type = o->field_types[i];
            v->domain = o->field_domains[i];
            return ST_OK;
        }
    }
    if (n == 1) return err_at(p->e, pl_position(p, first.start), ERR_SYNTAX, "variable \"%s\" does not exist", part[0]);
    const Table *t;
    TRY(find_table(p, NULL, part[0], &t));
    if (!t)
        return err_at(p->e, pl_position(p, first.start), ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                      part[0]);
    int k = table_find_column(t, slice_of(part[1]));
    if (k < 0)
        return err_at(p->e, pl_position(p, first.start), ERR_UNDEFINED_COLUMN,
                      "column \"%s\" of relation \"%s\" does not exist", part[1], part[0]);
    v->type = composite_field_type(t->cols[k].type);
    v->domain = t->cols[k].domain;
    return ST_OK;
}

/* The type of a declaration, up to := = DEFAULT NOT COLLATE ; , or a closing parenthesis. */
static Status read_type(PlParser *p, PlVar *v) {
    Tok first = p->tok;
    int64_t at = p->at, start = first.start, end = start, depth = 0;
    bool percent = false;
    for (; p->tok.kind != TOK_END; pl_advance(p)) {
        if (depth == 0 && (is_punct(p, ';') || is_punct(p, ',') || is_punct(p, ')') || is_assign(p) ||
                           is_word(p, "default") || is_word(p, "not") || is_word(p, "collate")))
            break;
        if (is_punct(p, '(') || is_punct(p, '[')) depth++;
        if (is_punct(p, ')') || is_punct(p, ']')) depth--;
        percent |= is_op(p, "%");
        end = p->tok.end;
    }
    if (end == start) return pl_syntax_at(p, p->tok, "missing data type declaration");
    v->kind = PLV_SCALAR;
    if (percent) {
        Tok stop = p->tok;
        int64_t stop_at = p->at;
        p->tok = first;
        p->at = at;
        TRY(percent_type(p, first, v));
        if (p->tok.start != stop.start) return syntax(p);
        p->tok = stop;
        p->at = stop_at;
        return ST_OK;
    }
    char *sql = arena_printf(p->a, "null::%.*s", (int)(end - start), p->body.ptr + start);
    AstExpr *x;
    if (!sql) return ST_ERROR;
    if (sql_parse_expr(p->a, slice_of(sql), &x, p->e) != ST_OK) return shift_error(p, start, 6);
    if (x->kind != AST_CAST) return pl_syntax_at(p, first, "syntax error");
    const AstTypeName *t = AST_AS_CONST(AstCast, x)->type;
    if (!t->schema && !t->array_dims && strcmp(t->name, "record") == 0) {
        v->kind = PLV_RECORD;
        return ST_OK;
    }
    if (!t->schema && !t->array_dims && strcmp(t->name, "refcursor") == 0) {
        v->type = type_make(T_TEXT);
        return ST_OK;
    }
    const Domain *domain;
    if (sql_bind_type(p->c, t, &v->type, &domain, p->e) != ST_OK) {
        p->e->position = pl_position(p, start);
        return ST_ERROR;
    }
    const CompositeType *row = composite_of(v->type);
    if (row && row->kind == COMPOSITE_TABLE)
        return pl_row_of_table(p, catalog_table(p->c, slice_of(row->name)), v) ? ST_OK : ST_ERROR;
    v->domain = domain ? domain->id : 0;
    return ST_OK;
}

/* ---- declarations -------------------------------------------------------------------------------- */

static bool declared_here(const PlParser *p, const char *name) {
    for (int64_t i = 0; i < p->vars.len; i++)
        if (p->vars.items[i].block == p->block && p->vars.items[i].name && strcmp(p->vars.items[i].name, name) == 0)
            return true;
    for (int64_t i = 0; i < p->aliases.len; i++)
        if (p->aliases.items[i].block == p->block && strcmp(p->aliases.items[i].name, name) == 0) return true;
    return false;
}

/* name [NO SCROLL] CURSOR [(args)] FOR query: the current token is CURSOR. */
static Status declare_cursor(PlParser *p, char *name, int32_t line) {
    PlCursor *c = arena_new_of(p->a, PlCursor);
    int32_t outer = p->block;
    if (!c || (c->block = p->block = pl_add_block(p, NULL)) < 0) return ST_ERROR;
    pl_advance(p);
    c->first_arg = (int32_t)p->vars.len;
    if (accept_punct(p, '(')) {
        do {
            PlVar v = {.block = c->block, .line = line};
            char *arg;
            TRY(take_name(p, &arg));
            v.name = arg;
            TRY(read_type(p, &v));
            if (pl_add_var(p, &v) < 0) return ST_ERROR;
            c->n_args++;
        } while (accept_punct(p, ','));
        TRY(expect_punct(p, ')'));
    }
    if (!accept_word(p, "for") && !accept_word(p, "is")) return syntax(p);
    TRY(read_query(p, STOP_SEMI, NULL, ";", &c->query));
    p->block = outer;
    PlVar v = {.name = name, .kind = PLV_SCALAR, .type = type_make(T_TEXT), .block = outer, .line = line, .cursor = c};
    if (pl_add_var(p, &v) < 0) return ST_ERROR;
    return expect_punct(p, ';');
}

static Status declare(PlParser *p, PlStmt *block) {
    Tok first = p->tok;
    char *name;
    int32_t line = pl_line(p, first.start);
    TRY(take_name(p, &name));
    if (declared_here(p, name)) return pl_syntax_at(p, first, "duplicate declaration");
    if (accept_word(p, "alias")) {
        PlRef r;
        bool found;
        Tok t;
        TRY(expect_word(p, "for"));
        TRY(read_ref(p, &r, &found, &t));
        if (!found || r.field)
            return err_at(p->e, pl_position(p, t.start), ERR_UNDEFINED_OBJECT, "variable \"%.*s\" does not exist",
                          (int)(t.end - t.start), p->body.ptr + t.start);
        PlAlias al = {name, r.var, p->block};
        if (!vec_push(p->a, &p->aliases, al)) return ST_ERROR;
        sync(p);
        return expect_punct(p, ';');
    }
    if (is_word(p, "no") || is_word(p, "scroll")) {
        (void)accept_word(p, "no");
        TRY(expect_word(p, "scroll"));
    }
    if (is_word(p, "cursor")) return declare_cursor(p, name, line);
    PlVar v = {.name = name, .block = p->block, .line = line};
    v.constant = accept_word(p, "constant");
    TRY(read_type(p, &v));
    if (accept_word(p, "collate")) {
        char *ignored;
        TRY(take_name(p, &ignored));
    }
    if (accept_word(p, "not")) {
        TRY(expect_word(p, "null"));
        v.not_null = true;
    }
    if (is_assign(p) || is_word(p, "default")) {
        skip_assign(p);
        TRY(read_expr(p, STOP_SEMI, NULL, ";", &v.init));
    }
    if (v.not_null && !v.init) {
        err_at(p->e, pl_position(p, first.start), ERR_NULL_NOT_ALLOWED,
               "variable \"%s\" must have a default value, since it's declared NOT NULL", name);
        return ST_ERROR;
    }
    int32_t k = pl_add_var(p, &v);
    VEC(int32_t) inits = {block->scope.inits, block->scope.n_inits, block->scope.n_inits};
    if (k < 0 || !vec_push(p->a, &inits, k)) return ST_ERROR;
    block->scope.inits = inits.items;
    block->scope.n_inits = (int32_t)inits.len;
    return expect_punct(p, ';');
}

/* ---- statements ------------------------------------------------------------------------------------ */

static Status read_body(PlParser *p, PlBody *b);
static Status read_stmt(PlParser *p, PlStmt **out);

static Status end_label(PlParser *p, const char *label) {
    if (is_punct(p, ';') || p->tok.kind == TOK_END) return ST_OK;
    Tok t = p->tok;
    char *name;
    TRY(take_name(p, &name));
    if (!label)
        return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "end label \"%s\" specified for unlabeled block",
                      name);
    if (strcmp(label, name) != 0)
        return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "end label \"%s\" differs from block's label \"%s\"",
                      name, label);
    return ST_OK;
}

static void push_loop(PlParser *p, PlLoop *l, const char *label, bool is_loop, PlStmt *s) {
    *l = (PlLoop){p->loops, label, p->f->n_loops++, is_loop};
    s->loop = l->number;
    s->label = label;
    p->loops = l;
}

static Status loop_body(PlParser *p, PlStmt *s, const char *label) {
    TRY(expect_word(p, "loop"));
    TRY(read_body(p, &s->body));
    TRY(expect_word(p, "end"));
    TRY(expect_word(p, "loop"));
    TRY(end_label(p, label));
    p->loops = p->loops->up;
    return expect_punct(p, ';');
}

/* WHEN a OR b THEN statements ... */
static Status read_handlers(PlParser *p, PlStmt *s) {
    VEC(PlHandler) v = {0};
    int32_t outer = p->block;
    if ((p->block = pl_add_block(p, NULL)) < 0) return ST_ERROR;
    int32_t line = pl_line(p, p->tok.start);
    s->scope.state_var = add_scalar(p, "sqlstate", type_make(T_TEXT), line);
    s->scope.message_var = add_scalar(p, "sqlerrm", type_make(T_TEXT), line);
    if (s->scope.state_var < 0 || s->scope.message_var < 0) return ST_ERROR;
    p->vars.items[s->scope.state_var].constant = p->vars.items[s->scope.message_var].constant = true;
    if (!is_word(p, "when")) return syntax(p);
    while (accept_word(p, "when")) {
        PlHandler h = {0};
        VEC(const char *) states = {0};
        do {
            Tok t = p->tok;
            const char *state = NULL, *other = NULL;
            char *name;
            TRY(take_name(p, &name));
            if (strcmp(name, "sqlstate") == 0 && t.kind == TOK_WORD) {
                AstExpr *lit;
                if (p->tok.kind != TOK_STRING) return syntax(p);
                TRY(sql_parse_expr(p->a, (Slice){p->body.ptr + p->tok.start, p->tok.end - p->tok.start}, &lit, p->e));
                Slice text = AST_AS_CONST(AstLiteral, lit)->text;
                if (lit->kind != AST_STRING_LIT || !pl_sqlstate_ok(text))
                    return pl_syntax_at(p, p->tok, "invalid SQLSTATE code");
                state = text.ptr;
                pl_advance(p);
            } else if (strcmp(name, "others") == 0) {
                state = "others";
            } else if (!(state = pl_condition(name, &other))) {
                return err_at(p->e, pl_position(p, t.start), ERR_UNDEFINED_OBJECT,
                              "unrecognized exception condition \"%s\"", name);
            }
            if (!vec_push(p->a, &states, state) || (other && !vec_push(p->a, &states, other))) return ST_ERROR;
        } while (accept_word(p, "or"));
        h.states = states.items;
        h.n_states = (int32_t)states.len;
        TRY(expect_word(p, "then"));
        TRY(read_body(p, &h.body));
        if (!vec_push(p->a, &v, h)) return ST_ERROR;
    }
    s->scope.handlers = v.items;
    s->scope.n_handlers = (int32_t)v.len;
    p->block = outer;
    return ST_OK;
}

/* [DECLARE ...] BEGIN ... [EXCEPTION ...] END [label], without the semicolon. */
static Status read_block(PlParser *p, const char *label, PlStmt **out) {
    PlLoop loop;
    int32_t outer = p->block;
    int64_t start = p->tok.start;
    if ((p->block = pl_add_block(p, label)) < 0) return ST_ERROR;
    PlStmt *s = new_stmt(p, PLS_BLOCK, start);
    if (!s) return ST_ERROR;
    push_loop(p, &loop, label, false, s);
    while (accept_word(p, "declare"))
        while (!is_word(p, "begin") && !is_word(p, "declare")) TRY(declare(p, s));
    s->line = pl_line(p, p->tok.start);
    TRY(expect_word(p, "begin"));
    TRY(read_body(p, &s->body));
    if (accept_word(p, "exception")) TRY(read_handlers(p, s));
    TRY(expect_word(p, "end"));
    TRY(end_label(p, label));
    p->loops = p->loops->up;
    p->block = outer;
    *out = s;
    return ST_OK;
}

static const char *const then_words[] = {"then", NULL}, *const loop_words[] = {"loop", NULL},
                         *const when_words[] = {"when", NULL};

typedef VEC(PlArm) PlArms;
static Status add_arm(PlParser *p, PlArms *arms, PlStmt *s, const PlArm *arm) {
    if (!vec_push(p->a, arms, *arm)) return ST_ERROR;
    s->arms.items = arms->items;
    s->arms.n = (int32_t)arms->len;
    return ST_OK;
}

static Status read_if(PlParser *p, PlStmt *s) {
    PlArms arms = {0};
    pl_advance(p);
    do {
        PlArm arm = {0};
        TRY(read_expr(p, 0, then_words, "THEN", &arm.cond));
        TRY(expect_word(p, "then"));
        TRY(read_body(p, &arm.body));
        TRY(add_arm(p, &arms, s, &arm));
    } while (accept_word(p, "elsif") || accept_word(p, "elseif"));
    if (accept_word(p, "else")) {
        s->arms.has_else = true;
        TRY(read_body(p, &s->body));
    }
    TRY(expect_word(p, "end"));
    TRY(expect_word(p, "if"));
    return expect_punct(p, ';');
}

static Status read_case(PlParser *p, PlStmt *s) {
    PlArms arms = {0};
    char *var = NULL;
    pl_advance(p);
    if (!is_word(p, "when")) {
        TRY(read_expr(p, 0, when_words, "WHEN", &s->expr));
        int32_t block = p->block;
        p->block = 0;
        if (!(var = arena_printf(p->a, "__Case__Variable_%d__", (int)p->vars.len))) return ST_ERROR;
        s->arms.case_var = add_scalar(p, var, type_make(T_UNKNOWN), s->line);
        p->block = block;
        if (s->arms.case_var < 0) return ST_ERROR;
    }
    if (!is_word(p, "when")) return syntax(p);
    while (accept_word(p, "when")) {
        PlArm arm = {0};
        int64_t start = p->tok.start, end;
        if (var) {
            TRY(find_end(p, 0, then_words, "THEN", true, &end));
            if (end <= start) return pl_syntax_at(p, p->tok, "missing expression");
            char *text = arena_printf(p->a, "\"%s\" IN (%.*s)", var, (int)(end - start), p->body.ptr + start);
            AstExpr *ast;
            if (!text || !(arm.cond = new_expr(p, text, start))) return ST_ERROR;
            if (sql_parse_expr(p->a, slice_of(text), &ast, p->e) != ST_OK)
                return shift_error(p, start, (int64_t)strlen(var) + 7);
            arm.cond->ast = ast;
        } else {
            TRY(read_expr(p, 0, then_words, "THEN", &arm.cond));
        }
        TRY(expect_word(p, "then"));
        TRY(read_body(p, &arm.body));
        TRY(add_arm(p, &arms, s, &arm));
    }
    if (accept_word(p, "else")) {
        s->arms.has_else = true;
        TRY(read_body(p, &s->body));
    }
    TRY(expect_word(p, "end"));
    TRY(expect_word(p, "case"));
    return expect_punct(p, ';');
}

static Status read_using(PlParser *p, PlStmt *s, unsigned flags, const char *const *words, const char *missing) {
    ExprVec v = {0};
    TRY(read_exprs(p, flags, words, missing, &v));
    set_args(s, &v);
    return ST_OK;
}

/* (args) of a bound cursor, by place or name; the current token is '(' or what follows the cursor. */
static Status cursor_args(PlParser *p, PlStmt *s, const PlVar *v) {
    int32_t want = v->cursor ? v->cursor->n_args : 0;
    bool given = accept_punct(p, '(');
    if (!given && want)
        return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX, "cursor \"%s\" has arguments", v->name);
    if (given && !want)
        return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX, "cursor \"%s\" has no arguments", v->name);
    if (!want) return ST_OK;
    s->n_args = want;
    if (!(s->args = arena_array(p->a, PlExpr *, want))) return ST_ERROR;
    int32_t n = 0, first = v->cursor->first_arg;
    do {
        int32_t k = n;
        Tok next = peek(p), name = p->tok;
        bool named =
            (p->tok.kind == TOK_WORD || p->tok.kind == TOK_QUOTED) &&
            ((next.kind == TOK_PUNCT && p->body.ptr[next.start] == ':' && char_at(p, next.end, '=')) ||
             (next.kind == TOK_OP && next.end - next.start == 2 && memcmp(p->body.ptr + next.start, "=>", 2) == 0));
        if (named) {
            char *arg = name_text(p, p->tok);
            if (!arg) return ST_ERROR;
            for (k = 0; k < want && strcmp(p->vars.items[first + k].name, arg) != 0;) k++;
            if (k == want)
                return err_at(p->e, pl_position(p, name.start), ERR_SYNTAX,
                              "cursor \"%s\" has no argument named \"%s\"", v->name, arg);
            pl_advance(p);
            skip_assign(p);
        }
        if (k >= want)
            return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX, "too many arguments for cursor \"%s\"",
                          v->name);
        if (s->args[k])
            return err_at(p->e, pl_position(p, name.start), ERR_SYNTAX,
                          "value for parameter \"%s\" of cursor \"%s\" specified more than once",
                          p->vars.items[first + k].name, v->name);
        TRY(read_expr(p, STOP_COMMA | STOP_CLOSE, NULL, ")", &s->args[k]));
        n++;
    } while (accept_punct(p, ','));
    if (n < want)
        return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX, "not enough arguments for cursor \"%s\"",
                      v->name);
    return expect_punct(p, ')');
}

typedef struct Place {
    Tok tok;
    int64_t at;
} Place;
static Place place(const PlParser *p) { return (Place){p->tok, p->at}; }
static void go_to(PlParser *p, Place x) {
    p->tok = x.tok;
    p->at = x.at;
}

/* The bound cursor variable that stands here with LOOP or its arguments behind it; -1: something else. Nothing is
 * consumed. */
static int32_t for_cursor(PlParser *p) {
    Place here = place(p);
    PlRef r = {.var = -1};
    bool found = false;
    Tok t;
    if (!is_name(p) || is_word(p, "execute") || is_word(p, "select") || is_word(p, "values") || is_word(p, "with"))
        return -1;
    if (read_ref(p, &r, &found, &t) != ST_OK) err_clear(p->e);
    found = found && !r.field && p->vars.items[r.var].cursor && (is_word(p, "loop") || is_punct(p, '('));
    go_to(p, here);
    return found ? r.var : -1;
}

static Status for_cursor_loop(PlParser *p, const char *label, PlStmt *s, Place target) {
    PlLoop loop;
    int32_t outer = p->block;
    pl_advance(p);
    TRY(cursor_args(p, s, &p->vars.items[s->cursor.var]));
    Place body = place(p);
    char *name;
    go_to(p, target);
    TRY(take_name(p, &name));
    if (!is_word(p, "in")) return syntax(p);
    go_to(p, body);
    /* the record is a variable of the loop's own */
    if ((p->block = pl_add_block(p, label)) < 0) return ST_ERROR;
    PlVar v = {.name = name, .kind = PLV_RECORD, .block = p->block, .line = s->line};
    s->implicit_var = pl_add_var(p, &v);
    s->targets = arena_array(p->a, PlRef, 1);
    if (s->implicit_var < 0 || !s->targets) return ST_ERROR;
    s->targets[0].var = s->implicit_var;
    s->n_targets = 1;
    s->is_row = true;
    s->scope.number = p->block;
    push_loop(p, &loop, label, true, s);
    TRY(loop_body(p, s, label));
    p->block = outer;
    return ST_OK;
}

static Status for_query_loop(PlParser *p, const char *label, PlStmt *s, Place target) {
    PlLoop loop;
    Place source = place(p);
    PlRef r;
    bool found;
    Tok t;
    go_to(p, target);
    TRY(read_ref(p, &r, &found, &t));
    if (!found)
        return err_at(p->e, pl_position(p, t.start), ERR_DATATYPE_MISMATCH,
                      "loop variable of loop over rows must be a record variable or list of scalar variables");
    go_to(p, target);
    TRY(read_targets(p, s));
    if (!is_word(p, "in")) return syntax(p);
    go_to(p, source);
    if (accept_word(p, "execute")) {
        static const char *const words[] = {"using", "loop", NULL};
        TRY(read_expr(p, 0, words, "LOOP", &s->expr));
        if (accept_word(p, "using")) TRY(read_using(p, s, 0, loop_words, "LOOP"));
    } else {
        TRY(read_query(p, 0, loop_words, "LOOP", &s->query));
    }
    push_loop(p, &loop, label, true, s);
    return loop_body(p, s, label);
}

/* FOR name IN lo .. hi */
static Status for_range_loop(PlParser *p, const char *label, PlStmt *s, Place target) {
    static const char *const by_words[] = {"by", "loop", NULL};
    PlLoop loop;
    int32_t outer = p->block;
    char *name;
    TRY(read_expr(p, STOP_DOTS, loop_words, "..", &s->expr));
    p->at = p->tok.end + 1;
    pl_advance(p);
    TRY(read_expr(p, 0, by_words, "LOOP", &s->expr2));
    if (accept_word(p, "by")) TRY(read_expr(p, 0, loop_words, "LOOP", &s->expr3));
    Place body = place(p);
    go_to(p, target);
    TRY(take_name(p, &name));
    if (is_punct(p, ','))
        return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX,
                      "integer FOR loop must have only one target variable");
    if (!is_word(p, "in")) return syntax(p);
    go_to(p, body);
    if ((p->block = pl_add_block(p, label)) < 0 ||
        (s->implicit_var = add_scalar(p, name, type_make(T_INT4), s->line)) < 0)
        return ST_ERROR;
    if (!(s->targets = arena_array(p->a, PlRef, 1))) return ST_ERROR;
    s->targets[0].var = s->implicit_var;
    s->n_targets = 1;
    s->scope.number = p->block;
    push_loop(p, &loop, label, true, s);
    TRY(loop_body(p, s, label));
    p->block = outer;
    return ST_OK;
}

static Status read_for(PlParser *p, const char *label, PlStmt *s) {
    pl_advance(p);
    Place target = place(p);
    while (p->tok.kind != TOK_END && !is_word(p, "in") && !is_punct(p, ';')) pl_advance(p);
    TRY(expect_word(p, "in"));
    if ((s->cursor.var = for_cursor(p)) >= 0) {
        s->kind = PLS_FOR_QUERY;
        return for_cursor_loop(p, label, s, target);
    }
    Place start = place(p);
    s->reverse = accept_word(p, "reverse");
    Place source = place(p);
    bool is_query = is_word(p, "execute");
    int64_t end;
    if (!is_query) {
        TRY(find_end(p, STOP_DOTS, loop_words, "LOOP", true, &end));
        is_query = !is_dots(p);
        go_to(p, source);
    }
    if (!is_query) return for_range_loop(p, label, s, target);
    if (s->reverse)
        return err_at(p->e, pl_position(p, start.tok.start), ERR_SYNTAX, "cannot specify REVERSE in query FOR loop");
    s->kind = PLS_FOR_QUERY;
    return for_query_loop(p, label, s, target);
}

static Status read_foreach(PlParser *p, const char *label, PlStmt *s) {
    static const char *const in_words[] = {"in", NULL};
    PlLoop loop;
    pl_advance(p);
    Tok t = p->tok;
    TRY(read_targets(p, s));
    if (s->is_row || s->n_targets != 1)
        return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX,
                      "loop variable of FOREACH must be a known variable or list of variables");
    if (accept_word(p, "slice")) { /* expr2: of how many dimensions */
        if (p->tok.kind != TOK_NUMBER) return syntax(p);
        TRY(read_expr(p, 0, in_words, "IN", &s->expr2));
    }
    TRY(expect_word(p, "in"));
    TRY(expect_word(p, "array"));
    TRY(read_expr(p, 0, loop_words, "LOOP", &s->expr));
    push_loop(p, &loop, label, true, s);
    return loop_body(p, s, label);
}

static Status read_exit(PlParser *p, PlStmt *s) {
    s->is_exit = is_word(p, "exit");
    pl_advance(p);
    Tok t = p->tok;
    if (!is_punct(p, ';') && !is_word(p, "when")) {
        char *label;
        TRY(take_name(p, &label));
        s->label = label;
    }
    if (accept_word(p, "when")) TRY(read_expr(p, STOP_SEMI, NULL, ";", &s->expr));
    const PlLoop *l = p->loops;
    if (s->label) {
        while (l && !(l->label && strcmp(l->label, s->label) == 0)) l = l->up;
        if (!l)
            return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX,
                          "there is no label \"%s\" attached to any block or loop enclosing this statement", s->label);
        if (!l->is_loop && !s->is_exit)
            return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "block label \"%s\" cannot be used in CONTINUE",
                          s->label);
    } else {
        while (l && !l->is_loop) l = l->up;
        if (!l)
            return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX,
                          s->is_exit ? "EXIT cannot be used outside a loop, unless it has a label"
                                     : "CONTINUE cannot be used outside a loop");
    }
    s->loop = l->number;
    return expect_punct(p, ';');
}

/* A query, or EXECUTE of a text with USING, up to the statement's semicolon. */
static Status read_query_or_execute(PlParser *p, PlStmt *s) {
    static const char *const words[] = {"using", NULL};
    if (accept_word(p, "execute")) {
        TRY(read_expr(p, STOP_SEMI, words, ";", &s->expr));
        if (accept_word(p, "using")) TRY(read_using(p, s, STOP_SEMI, NULL, ";"));
    } else {
        TRY(read_query(p, STOP_SEMI, NULL, ";", &s->query));
    }
    return expect_punct(p, ';');
}

static Status read_return(PlParser *p, PlStmt *s) {
    const PlFunction *f = p->f;
    pl_advance(p);
    Tok t = p->tok;
    if (accept_word(p, "next")) {
        s->kind = PLS_RETURN_NEXT;
        if (!f->returns_set)
            return err_at(p->e, pl_position(p, t.start), ERR_DATATYPE_MISMATCH,
                          "cannot use RETURN NEXT in a non-SETOF function");
        t = p->tok;
        if (f->has_outs) {
            if (!is_punct(p, ';'))
                return err_at(p->e, pl_position(p, t.start), ERR_DATATYPE_MISMATCH,
                              "RETURN NEXT cannot have a parameter in function with OUT parameters");
        } else {
            TRY(read_expr(p, STOP_SEMI, NULL, ";", &s->expr));
        }
        return expect_punct(p, ';');
    }
    if (accept_word(p, "query")) {
        s->kind = PLS_RETURN_QUERY;
        if (!f->returns_set)
            return err_at(p->e, pl_position(p, t.start), ERR_DATATYPE_MISMATCH,
                          "cannot use RETURN QUERY in a non-SETOF function");
        return read_query_or_execute(p, s);
    }
    if (accept_punct(p, ';')) {
        bool needs = !f->returns_set && !f->returns_void && !f->is_procedure && !f->has_outs;
        return needs ? pl_syntax_at(p, t, "missing expression") : ST_OK;
    }
    const char *why = f->returns_set    ? "RETURN cannot have a parameter in function returning set"
                      : f->is_procedure ? "RETURN cannot have a parameter in a procedure"
                      : f->returns_void ? "RETURN cannot have a parameter in function returning void"
                      : f->has_outs     ? "RETURN cannot have a parameter in function with OUT parameters"
                                        : NULL;
    if (why) {
        err_at(p->e, pl_position(p, t.start), f->is_procedure ? ERR_SYNTAX : ERR_DATATYPE_MISMATCH, "%s", why);
        if (f->returns_set) err_hint(p->e, "Use RETURN NEXT or RETURN QUERY.");
        return ST_ERROR;
    }
    TRY(read_expr(p, STOP_SEMI, NULL, ";", &s->expr));
    return expect_punct(p, ';');
}

bool pl_sqlstate_ok(Slice s) {
    for (int64_t i = 0; i < s.len; i++)
        if (!((s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z'))) return false;
    return s.len == 5;
}

static Status string_literal(PlParser *p, const char **out) {
    AstExpr *x;
    if (p->tok.kind != TOK_STRING) return syntax(p);
    if (sql_parse_expr(p->a, (Slice){p->body.ptr + p->tok.start, p->tok.end - p->tok.start}, &x, p->e) != ST_OK)
        return shift_error(p, p->tok.start, 0);
    if (x->kind != AST_STRING_LIT) return syntax(p);
    *out = AST_AS_CONST(AstLiteral, x)->text.ptr;
    pl_advance(p);
    return ST_OK;
}

/* Parameters that a RAISE's format has places for; %% is a percent sign. */
static int64_t placeholders(const char *f) {
    int64_t n = 0;
    for (; *f; f++) {
        if (*f != '%') continue;
        if (f[1] == '%') f++;
        else n++;
    }
    return n;
}

static Status read_raise(PlParser *p, PlStmt *s) {
    static const char *const levels[] = {
        [PLR_DEBUG] = "debug",   [PLR_LOG] = "log",         [PLR_INFO] = "info",
        [PLR_NOTICE] = "notice", [PLR_WARNING] = "warning", [PLR_EXCEPTION] = "exception"};
    static const char *const using_words[] = {"using", NULL};
    static const char *const options[] = {"message",    "detail",   "hint",  "errcode", "column",
                                          "constraint", "datatype", "table", "schema"};
    Tok start = p->tok;
    pl_advance(p);
    s->raise.level = PLR_EXCEPTION;
    if (accept_punct(p, ';')) return ST_OK;
    for (int i = 0; i <= PLR_EXCEPTION; i++)
        if (is_word(p, levels[i])) {
            s->raise.level = (uint8_t)i;
            pl_advance(p);
            break;
        }
    if (p->tok.kind == TOK_STRING) {
        TRY(string_literal(p, &s->raise.format));
        ExprVec v = {0};
        if (accept_punct(p, ',')) TRY(read_exprs(p, STOP_SEMI, using_words, ";", &v));
        set_args(s, &v);
        int64_t want = placeholders(s->raise.format);
        if (want != v.len)
            return err_at(p->e, pl_position(p, start.start), ERR_SYNTAX,
                          want > v.len ? "too few parameters specified for RAISE"
                                       : "too many parameters specified for RAISE");
    } else if (!is_word(p, "using") && !is_punct(p, ';')) {
        Tok t = p->tok;
        char *name;
        const char *other;
        TRY(take_name(p, &name));
        if (strcmp(name, "sqlstate") == 0 && t.kind == TOK_WORD) {
            Tok lit = p->tok;
            TRY(string_literal(p, &s->raise.sqlstate));
            if (!pl_sqlstate_ok(slice_of(s->raise.sqlstate))) return pl_syntax_at(p, lit, "invalid SQLSTATE code");
            s->raise.condition = s->raise.sqlstate;
        } else if (!(s->raise.sqlstate = pl_condition(name, &other))) {
            return err_at(p->e, pl_position(p, t.start), ERR_UNDEFINED_OBJECT,
                          "unrecognized exception condition \"%s\"", name);
        } else {
            s->raise.condition = name;
        }
    }
    if (accept_word(p, "using")) {
        VEC(PlOption) v = {0};
        do {
            PlOption o = {0};
            for (int64_t i = 0; i < ARRAY_LEN(options); i++)
                if (is_word(p, options[i])) o.name = options[i];
            if (!o.name) return pl_syntax_at(p, p->tok, "unrecognized RAISE statement option");
            pl_advance(p);
            if (!is_assign(p)) return pl_syntax_at(p, p->tok, "syntax error, expected \"=\"");
            skip_assign(p);
            TRY(read_expr(p, STOP_SEMI | STOP_COMMA, NULL, ";", &o.expr));
            if (!vec_push(p->a, &v, o)) return ST_ERROR;
        } while (accept_punct(p, ','));
        s->options = v.items;
        s->n_options = (int32_t)v.len;
    }
    return expect_punct(p, ';');
}

static Status read_diagnostics(PlParser *p, PlStmt *s) {
    static const char *const items[] = {
        "row_count",           "pg_context",        "returned_sqlstate",    "message_text",
        "pg_exception_detail", "pg_exception_hint", "pg_exception_context", "column_name",
        "constraint_name",     "pg_datatype_name",  "table_name",           "schema_name"};
    pl_advance(p);
    if (accept_word(p, "stacked")) s->stacked = true;
    else (void)accept_word(p, "current");
    TRY(expect_word(p, "diagnostics"));
    VEC(PlRef) targets = {0};
    VEC(PlOption) v = {0};
    do {
        PlRef r;
        Tok t = p->tok;
        TRY(read_target(p, &r));
        if (is_composite(p, r))
            return err_at(p->e, pl_position(p, t.start), ERR_SYNTAX, "\"%s\" is not a scalar variable",
                          p->vars.items[r.var].name);
        if (!is_assign(p)) return syntax(p);
        skip_assign(p);
        PlOption o = {0};
        for (int64_t i = 0; i < ARRAY_LEN(items); i++)
            if (is_word(p, items[i])) o.name = items[i];
        if (!o.name) return pl_syntax_at(p, p->tok, "unrecognized GET DIAGNOSTICS item");
        bool current = strcmp(o.name, "row_count") == 0, any = strcmp(o.name, "pg_context") == 0;
        if (!any && current == s->stacked)
            return err_at(p->e, pl_position(p, p->tok.start), ERR_SYNTAX,
                          "diagnostics item %.*s is not allowed in GET %s DIAGNOSTICS",
                          (int)(p->tok.end - p->tok.start), p->body.ptr + p->tok.start,
                          s->stacked ? "STACKED" : "CURRENT");
        pl_advance(p);
        if (!vec_push(p->a, &targets, r) || !vec_push(p->a, &v, o)) return ST_ERROR;
    } while (accept_punct(p, ','));
    s->targets = targets.items;
    s->n_targets = (int32_t)targets.len;
    s->options = v.items;
    s->n_options = (int32_t)v.len;
    return expect_punct(p, ';');
}

static Status read_into(PlParser *p, PlStmt *s) {
    pl_advance(p);
    if (s->has_into) return pl_syntax_at(p, p->tok, "INTO specified more than once");
    s->has_into = true;
    s->strict = accept_word(p, "strict");
    return read_targets(p, s);
}

/* A SQL statement up to its semicolon. INTO and its targets are blanks in the text, so that positions stay. */
static Status read_sql(PlParser *p, PlStmt *s) {
    int64_t start = p->tok.start, end = start, into_from = 0, into_to = 0;
    bool is_insert = false, first = true;
    int64_t depth = 0;
    for (; !is_punct(p, ';') || depth > 0;) {
        if (p->tok.kind == TOK_END || is_punct(p, ';'))
            return depth ? pl_syntax_at(p, p->tok, "mismatched parentheses") : syntax(p);
        if (is_punct(p, '(') || is_punct(p, '[')) depth++;
        if ((is_punct(p, ')') || is_punct(p, ']')) && depth > 0) depth--;
        if (is_word(p, "into") && !is_insert && !first) {
            into_from = p->tok.start;
            TRY(read_into(p, s));
            end = into_to = p->tok.start;
            continue;
        }
        is_insert = is_word(p, "insert") || is_word(p, "merge");
        first = false;
        end = p->tok.end;
        pl_advance(p);
    }
    char *text = arena_strndup(p->a, p->body.ptr + start, end - start);
    if (!text) return ST_ERROR;
    if (into_to) memset(text + (into_from - start), ' ', (size_t)(into_to - into_from));
    for (int64_t n = end - start;
         n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\n' || text[n - 1] == '\t' || text[n - 1] == '\r'); n--)
        text[n - 1] = 0;
    TRY(stmt_of(p, text, start, 0, &s->query));
    if (s->query->stmt->kind == AST_CALL || s->query->stmt->kind == AST_DO) s->kind = PLS_CALL;
    return expect_punct(p, ';');
}

static Status read_execute(PlParser *p, PlStmt *s) {
    static const char *const words[] = {"into", "using", NULL};
    pl_advance(p);
    TRY(read_expr(p, STOP_SEMI, words, ";", &s->expr));
    while (!is_punct(p, ';')) {
        if (is_word(p, "into")) {
            TRY(read_into(p, s));
        } else if (is_word(p, "using")) {
            if (s->n_args) return syntax(p);
            pl_advance(p);
            TRY(read_using(p, s, STOP_SEMI, words, ";"));
        } else {
            return syntax(p);
        }
    }
    return expect_punct(p, ';');
}

static Status read_perform(PlParser *p, PlStmt *s) {
    pl_advance(p);
    int64_t start = p->tok.start, end;
    TRY(find_end(p, STOP_SEMI, NULL, ";", false, &end));
    if (end <= start) return pl_syntax_at(p, p->tok, "missing SQL statement");
    char *text = arena_printf(p->a, "SELECT %.*s", (int)(end - start), p->body.ptr + start);
    if (!text) return ST_ERROR;
    TRY(stmt_of(p, text, start, 7, &s->query));
    return expect_punct(p, ';');
}

/* The cursor variable of OPEN, FETCH, CLOSE. */
static Status read_cursor(PlParser *p, PlStmt *s) {
    PlRef r;
    bool found;
    Tok t;
    TRY(read_ref(p, &r, &found, &t));
    if (!found) return not_variable(p, t);
    const PlVar *v = &p->vars.items[r.var];
    if (r.field || v->kind != PLV_SCALAR) return pl_syntax_at(p, t, "cursor variable must be a simple variable");
    if (v->type.id != T_TEXT)
        return err_at(p->e, pl_position(p, t.start), ERR_DATATYPE_MISMATCH,
                      "variable \"%s\" must be of type cursor or refcursor", v->name);
    s->cursor.var = r.var;
    return ST_OK;
}

static Status read_open(PlParser *p, PlStmt *s) {
    pl_advance(p);
    TRY(read_cursor(p, s));
    if (p->vars.items[s->cursor.var].cursor) {
        TRY(cursor_args(p, s, &p->vars.items[s->cursor.var]));
        return expect_punct(p, ';');
    }
    if (is_word(p, "no") || is_word(p, "scroll")) {
        (void)accept_word(p, "no");
        TRY(expect_word(p, "scroll"));
    }
    if (!accept_word(p, "for")) return pl_syntax_at(p, p->tok, "syntax error, expected \"FOR\"");
    return read_query_or_execute(p, s);
}

static Status read_fetch(PlParser *p, PlStmt *s) {
    static const struct {
        const char *word;
        int direction;
        bool count;
    } dirs[] = {{"next", 0, false}, {"prior", 1, false},   {"first", 2, false},
                {"last", 3, false}, {"absolute", 4, true}, {"relative", 5, true}};
    static const char *const from_words[] = {"from", "in", NULL};
    s->cursor.is_move = is_word(p, "move");
    pl_advance(p);
    bool given = false;
    for (int64_t i = 0; i < ARRAY_LEN(dirs) && !given; i++)
        if (is_word(p, dirs[i].word)) {
            given = true;
            s->cursor.direction = dirs[i].direction;
            pl_advance(p);
            if (dirs[i].count) TRY(read_expr(p, 0, from_words, "FROM", &s->expr));
        }
    if (!given && (is_word(p, "forward") || is_word(p, "backward"))) {
        bool back = is_word(p, "backward");
        pl_advance(p);
        s->cursor.direction = back ? 1 : 0;
        if (is_word(p, "all")) {
            if (!s->cursor.is_move)
                return err_at(p->e, pl_position(p, p->tok.start), ERR_FEATURE_NOT_SUPPORTED,
                              "FETCH statement cannot return multiple rows");
            s->cursor.direction = back ? 7 : 6;
            pl_advance(p);
        } else if (!is_word(p, "from") && !is_word(p, "in")) {
            if (!s->cursor.is_move)
                return err_at(p->e, pl_position(p, p->tok.start), ERR_FEATURE_NOT_SUPPORTED,
                              "FETCH statement cannot return multiple rows");
            s->cursor.direction = back ? 8 : 9;
            TRY(read_expr(p, 0, from_words, "FROM", &s->expr));
        }
    }
    if (!accept_word(p, "from")) (void)accept_word(p, "in");
    TRY(read_cursor(p, s));
    if (!s->cursor.is_move) {
        if (!is_word(p, "into")) return syntax(p);
        pl_advance(p);
        s->has_into = true;
        TRY(read_targets(p, s));
    }
    return expect_punct(p, ';');
}

/* [i], [i:j], [:] .. */
static Status read_subscripts(PlParser *p, PlStmt *s) {
    VEC(PlSubscript) list = {0};
    while (accept_punct(p, '[')) {
        PlSubscript x = {0};
        if (is_colon(p)) x.is_slice = true;
        else TRY(read_expr(p, STOP_CLOSE | STOP_COLON, NULL, "]", &x.upper));
        if (is_colon(p)) {
            x.is_slice = true;
            x.lower = x.upper;
            x.upper = NULL;
            pl_advance(p);
            if (!is_punct(p, ']')) TRY(read_expr(p, STOP_CLOSE, NULL, "]", &x.upper));
        }
        TRY(expect_punct(p, ']'));
        if (!vec_push(p->a, &list, x)) return ST_ERROR;
    }
    s->n_subscripts = (int32_t)list.len;
    s->subscripts = list.items;
    return ST_OK;
}

static Status read_assign(PlParser *p, PlStmt *s) {
    Tok t;
    bool found;
    PlRef *r = arena_array(p->a, PlRef, 1);
    if (!r) return ST_ERROR;
    TRY(read_ref(p, r, &found, &t));
    if (!found) return not_variable(p, t);
    TRY(assignable(p, *r, t));
    s->targets = r;
    s->n_targets = 1;
    s->is_row = is_composite(p, *r);
    TRY(read_subscripts(p, s));
    if (!is_assign(p)) return syntax(p);
    skip_assign(p);
    TRY(read_expr(p, STOP_SEMI, NULL, ";", &s->expr));
    return expect_punct(p, ';');
}

static bool begins_assignment(const PlParser *p) {
    if (p->tok.kind == TOK_PARAM) return true;
    if (!is_name(p)) return false;
    Tok n = peek(p);
    if (n.kind == TOK_OP) return n.end - n.start == 1 && p->body.ptr[n.start] == '=';
    if (n.kind != TOK_PUNCT) return false;
    char c = p->body.ptr[n.start];
    return c == '.' || c == '[' || (c == ':' && char_at(p, n.end, '='));
}

static Status read_labelled(PlParser *p, PlStmt **out) {
    char *label = NULL;
    if (is_op(p, "<<")) {
        pl_advance(p);
        TRY(take_name(p, &label));
        if (!is_op(p, ">>")) return syntax(p);
        pl_advance(p);
    }
    int64_t at = p->tok.start;
    if (is_word(p, "declare") || is_word(p, "begin")) {
        TRY(read_block(p, label, out));
        return expect_punct(p, ';');
    }
    PlStmtKind kind = is_word(p, "while")     ? PLS_WHILE
                      : is_word(p, "for")     ? PLS_FOR
                      : is_word(p, "foreach") ? PLS_FOREACH
                                              : PLS_LOOP;
    PlStmt *s = *out = new_stmt(p, kind, at);
    PlLoop loop;
    if (!s) return ST_ERROR;
    if (kind == PLS_FOR) return read_for(p, label, s);
    if (kind == PLS_FOREACH) return read_foreach(p, label, s);
    if (kind == PLS_WHILE) {
        pl_advance(p);
        TRY(read_expr(p, 0, loop_words, "LOOP", &s->expr));
    }
    push_loop(p, &loop, label, true, s);
    return loop_body(p, s, label);
}

typedef struct Keyword {
    const char *word;
    PlStmtKind kind;
    Status (*read)(PlParser *p, PlStmt *s);
} Keyword;

static Status read_null(PlParser *p, PlStmt *s) {
    (void)s;
    pl_advance(p);
    return expect_punct(p, ';');
}
static Status read_end_transaction(PlParser *p, PlStmt *s) {
    pl_advance(p);
    if (accept_word(p, "and")) {
        s->is_exit = !accept_word(
            p, "no"); /* AND CHAIN: the next transaction has the settings of this one, which is so anyway */
        TRY(expect_word(p, "chain"));
    }
    return expect_punct(p, ';');
}
static Status read_assert(PlParser *p, PlStmt *s) {
    pl_advance(p);
    TRY(read_expr(p, STOP_SEMI | STOP_COMMA, NULL, ";", &s->expr));
    if (accept_punct(p, ',')) TRY(read_expr(p, STOP_SEMI, NULL, ";", &s->expr2));
    return expect_punct(p, ';');
}
static Status read_close(PlParser *p, PlStmt *s) {
    pl_advance(p);
    TRY(read_cursor(p, s));
    return expect_punct(p, ';');
}

static const Keyword keywords[] = {
    {"if", PLS_IF, read_if},
    {"case", PLS_CASE, read_case},
    {"exit", PLS_EXIT, read_exit},
    {"continue", PLS_EXIT, read_exit},
    {"return", PLS_RETURN, read_return},
    {"raise", PLS_RAISE, read_raise},
    {"assert", PLS_ASSERT, read_assert},
    {"execute", PLS_DYNAMIC, read_execute},
    {"perform", PLS_PERFORM, read_perform},
    {"get", PLS_DIAGNOSTICS, read_diagnostics},
    {"open", PLS_OPEN, read_open},
    {"fetch", PLS_FETCH, read_fetch},
    {"move", PLS_FETCH, read_fetch},
    {"close", PLS_CLOSE, read_close},
    {"null", PLS_NULL, read_null},
    {"commit", PLS_COMMIT, read_end_transaction},
    {"rollback", PLS_ROLLBACK, read_end_transaction},
};

static Status read_stmt_inner(PlParser *p, PlStmt **out) {
    if (is_op(p, "<<") || is_word(p, "declare") || is_word(p, "begin") || is_word(p, "loop") || is_word(p, "while") ||
        is_word(p, "for") || is_word(p, "foreach"))
        return read_labelled(p, out);
    bool assign = begins_assignment(p);
    const Keyword *k = NULL;
    for (int64_t i = 0; i < ARRAY_LEN(keywords) && !assign; i++)
        if (is_word(p, keywords[i].word)) k = &keywords[i];
    PlStmt *s = *out = new_stmt(p, assign ? PLS_ASSIGN : k ? k->kind : PLS_SQL, p->tok.start);
    if (!s) return ST_ERROR;
    if (k) return k->read(p, s);
    if (assign) return read_assign(p, s);
    if (p->tok.kind != TOK_WORD && !is_punct(p, '(')) return syntax(p);
    return read_sql(p, s);
}

static Status read_stmt(PlParser *p, PlStmt **out) {
    TRY(stack_check_at(p->e, pl_position(p, p->tok.start)));
    return read_stmt_inner(p, out);
}

static Status read_body(PlParser *p, PlBody *b) {
    VEC(PlStmt *) v = {0};
    while (!is_word(p, "end") && !is_word(p, "else") && !is_word(p, "elsif") && !is_word(p, "elseif") &&
           !is_word(p, "when") && !is_word(p, "exception")) {
        PlStmt *s;
        if (p->tok.kind == TOK_END) return syntax(p);
        TRY(read_stmt(p, &s));
        if (!vec_push(p->a, &v, s)) return ST_ERROR;
    }
    b->stmts = v.items;
    b->n = (int32_t)v.len;
    return ST_OK;
}

/* #variable_conflict error | use_variable | use_column; #print_strict_params on | off; #option dump */
static Status read_options(PlParser *p) {
    while (is_op(p, "#")) {
        pl_advance(p);
        if (accept_word(p, "variable_conflict")) {
            if (accept_word(p, "error")) p->f->conflict = PLC_ERROR;
            else if (accept_word(p, "use_variable")) p->f->conflict = PLC_VARIABLE;
            else if (accept_word(p, "use_column")) p->f->conflict = PLC_COLUMN;
            else return syntax(p);
        } else if (accept_word(p, "print_strict_params") || accept_word(p, "option")) {
            if (p->tok.kind != TOK_WORD) return syntax(p);
            pl_advance(p);
        } else {
            return syntax(p);
        }
    }
    return ST_OK;
}

Status pl_read_body(PlParser *p) {
    char *label = NULL;
    pl_advance(p);
    TRY(read_options(p));
    if (is_op(p, "<<")) {
        pl_advance(p);
        TRY(take_name(p, &label));
        if (!is_op(p, ">>")) return syntax(p);
        pl_advance(p);
    }
    if (!is_word(p, "declare") && !is_word(p, "begin")) return syntax(p);
    TRY(read_block(p, label, &p->f->body));
    (void)accept_punct(p, ';');
    return p->tok.kind == TOK_END ? ST_OK : syntax(p);
}
