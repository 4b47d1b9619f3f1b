/* copy_statement.c - COPY: what is read or written, and its options; the formats are in io/copy.h. */
#include "catalog/system_relation.h"
#include "catalog/similar_names.h"
#include "io/copy_binary.h"
#include "io/input.h"
#include "io/out_file.h"
#include "io/pipe.h"
#include "io/recode.h"
#include "session/core/ahead.h"
#include "session/core/constraints.h"
#include "session/core/session.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

static void copy_progress(void *ctx, double f) {
    Session *s = ctx;
    if (s->deadline_ns && clock_ns() > s->deadline_ns) atomic_store(&s->cancel, true);
    if (s->client.progress && s->client.progress(s->client.progress_ctx, f)) atomic_store(&s->cancel, true);
}

/* "COPY n" for the client. */
static Status copied(Statement *st, int64_t rows) {
    st->affected = rows;
    snprintf(st->tag, sizeof st->tag, "COPY %lld", (long long)rows);
    return ST_OK;
}

/* ---- the other end -------------------------------------------------------------------------------------- */

/* What is read from or written to: a file, a program, or the client; with ENCODING through a conversion. */
typedef struct CopyEnd {
    Session *s;
    MemAccount *account;
    const char *path; /* the formats' own matter; NULL: read or write */
    CopyRead read;
    CopyWrite write;
    void *ctx;
    Input *in;
    OutFile out;
    Pipe program;
    Recode *recode;
} CopyEnd;

static int64_t file_read(void *ctx, char *buf, int64_t size) {
    CopyEnd *x = ctx;
    int64_t n;
    return input_read(x->in, buf, size, &n, &x->s->err) == ST_OK ? n : -1;
}
static bool file_write(void *ctx, const char *data, int64_t size) {
    CopyEnd *x = ctx;
    return out_file_write(&x->out, data, size, &x->s->err) == ST_OK;
}

/* The encoding, if texts have to be converted; else NULL. */
static const TextEncoding *encoding_of(const AstCopy *x) {
    const TextEncoding *out = NULL;
    for (int64_t i = 0; i < x->n_options; i++)
        if (strcmp(x->options[i].name, "encoding") == 0 && x->options[i].value)
            out = encoding_named(x->options[i].value);
    return out && out->iconv ? out : NULL;
}

static Status end_file(CopyEnd *x, const AstCopy *c) {
    Session *s = x->s;
    x->ctx = x;
    x->path = NULL;
    if (c->from) {
        x->read = file_read;
        return input_open(s->db->vfs, x->account, c->path, &x->in, &s->err);
    }
    x->write = file_write;
    return out_file_open(&x->out, s->db->vfs, x->account, c->path, &s->err);
}
static Status end_program(CopyEnd *x, const AstCopy *c) {
    Session *s = x->s;
    x->ctx = &x->program;
    x->path = NULL;
    x->read = c->from ? pipe_read : NULL;
    x->write = c->from ? NULL : pipe_write;
    return pipe_start(&x->program, c->path, c->from, &s->cancel, &s->err);
}
/* Whatever it returns, end_close() is to follow. */
static Status end_open(CopyEnd *x, Session *s, const AstCopy *c, MemAccount *account) {
    const TextEncoding *encoding = encoding_of(c);
    *x = (CopyEnd){.s = s, .account = account, .path = c->path};
    x->program.pid = x->program.fd = -1;
    if (!c->path && c->from) x->read = s->client.copy_read;
    if (!c->path && !c->from) x->write = s->client.copy_write;
    x->ctx = s->client.copy_ctx;
    if (c->program) TRY(end_program(x, c));
    else if (c->path && (encoding || copy_is_binary(c))) TRY(end_file(x, c));
    if (!encoding) return ST_OK;
    TRY(recode_new(encoding, x->read, x->write, x->ctx, account, &x->recode, &s->err));
    if (c->from) x->read = recode_read;
    else x->write = recode_write;
    x->ctx = x->recode;
    return ST_OK;
}
static Status end_close(CopyEnd *x, Status st) {
    Session *s = x->s;
    st = recode_end(x->recode, st, &s->err);
    input_close(x->in);
    if (x->out.file) st = out_file_end(&x->out, st == ST_OK, &s->err);
    if (x->program.pid < 0) return st;
    Err why = {0};
    const Status ended = pipe_end(&x->program, &why);
    if (ended != ST_OK && (st == ST_OK || x->program.broken)) { /* what came of its failure says less */
        err_clear(&s->err);
        err_copy(&s->err, &why);
        return ST_ERROR;
    }
    if (st == ST_OK || !atomic_load(&s->cancel)) return st;
    err_clear(&s->err);
    return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
}

/* ---- COPY FROM ---------------------------------------------------------------------------------------- */

/* What a COPY FROM fills: the file's columns in the order in which it has them, and a value for each column that it
 * has not. */
typedef struct CopyColumns {
    int n;
    int *cols;           /* n: columns of the table */
    const char **names;  /* n */
    bool *given;         /* by column of the table */
    Value *defaults;     /* by column of the table */
    bool by_row;         /* a column is computed for each row: `defaults` are not all */
    CopyOptions sniffed; /* FORMAT auto */
} CopyColumns;

static Status copy_table(Session *s, const AstName *n, Table **t) {
    *t = catalog_table(&s->db->catalog, slice_of(n->name));
    if (catalog_matview(&s->db->catalog, slice_of(n->name)))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "cannot copy to materialized view \"%s\"", n->name);
    if (*t) return ST_OK;
    if (catalog_view(&s->db->catalog, slice_of(n->name))) {
        err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "cannot copy to view \"%s\"", n->name);
        err_hint(&s->err, "To enable copying to a view, provide an INSTEAD OF INSERT trigger.");
        return ST_ERROR;
    }
    if (catalog_sequence(&s->db->catalog, slice_of(n->name)))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "cannot copy to sequence \"%s\"", n->name);
    TRY(sql_refuse_system_relation(n->name, &s->err));
    return catalog_no_relation(&s->db->catalog, n->name, n->location, &s->err);
}

static bool is_auto(const AstCopy *x) {
    for (int64_t i = 0; i < x->n_options; i++)
        if (strcmp(x->options[i].name, "format") == 0 && x->options[i].value &&
            strcmp(x->options[i].value, "auto") == 0)
            return x->path != NULL && !x->program;
    return false;
}

/* The table's column of that name, whatever its case; -1: none. */
static int column_like(const Table *t, const char *name) {
    int found = table_find_column(t, slice_of(name));
    for (int i = 0; i < t->n_cols && found < 0; i++)
        if (strcasecmp(t->cols[i].name, name) == 0) found = i;
    return found;
}

static Status refuse_generated(Session *s, const Column *col) {
    err_set(&s->err, ERR_INVALID_COLUMN_REFERENCE, "column \"%s\" is a generated column", col->name);
    err_detail(&s->err, "Generated columns cannot be used in COPY.");
    return ST_ERROR;
}
/* Those that are not generated. */
static int copied_columns(const Table *t) {
    int n = 0;
    for (int i = 0; i < t->n_cols; i++) n += t->cols[i].kind != COLUMN_GENERATED;
    return n;
}

/* FORMAT auto. A header that names columns of the table says which they are; else they are the statement's, or all, in
 * their order. */
static Status auto_columns(Session *s, Arena *a, AstCopy *x, const Table *t, CopyOptions *o) {
    int32_t n;
    const char *const *names;
    TRY(file_sniff_copy(&s->files, a, x->path, o, &n, &names, &s->err));
    const char **cols = arena_array(a, const char *, n + 1);
    if (!cols) return ST_ERROR;
    bool named = o->header && x->n_columns == 0;
    for (int32_t i = 0; i < n && named; i++) {
        int col = column_like(t, names[i]);
        named = col >= 0;
        if (named) cols[i] = t->cols[col].name;
    }
    int64_t want = x->n_columns > 0 ? x->n_columns : copied_columns(t);
    if (named) {
        x->columns = cols;
        x->n_columns = n;
    } else if (n != want) {
        err_set(&s->err, ERR_BAD_COPY, "file \"%s\" has %d columns, but %lld are to be filled", x->path, (int)n,
                (long long)want);
        err_hint(&s->err, "DESCRIBE '%s' shows how the file is read.", x->path);
        return ST_ERROR;
    }
    return ST_OK;
}

static Status copy_columns(Session *s, Arena *a, const AstCopy *x, const Table *t, CopyColumns *c) {
    int n = c->n = x->n_columns > 0 ? (int)x->n_columns : copied_columns(t), next = 0;
    c->by_row = copied_columns(t) < t->n_cols;
    c->cols = arena_array(a, int, n + 1);
    c->names = arena_array(a, const char *, n + 1);
    c->defaults = arena_array(a, Value, t->n_cols + 1);
    c->given = arena_array(a, bool, t->n_cols + 1);
    if (!c->cols || !c->names || !c->defaults || !c->given) return ST_ERROR;
    for (int i = 0; i < n; i++) {
        while (x->n_columns == 0 && t->cols[next].kind == COLUMN_GENERATED) next++;
        int col = c->cols[i] = x->n_columns > 0 ? table_find_column(t, slice_of(x->columns[i])) : next++;
        if (col < 0)
            return err_at(&s->err, x->table.location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" of relation \"%s\" does not exist", x->columns[i], t->name);
        if (t->cols[col].kind == COLUMN_GENERATED) return refuse_generated(s, &t->cols[col]);
        if (c->given[col])
            return err_at(&s->err, x->table.location, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once",
                          x->columns[i]);
        c->given[col] = true;
        c->names[i] = t->cols[col].name;
    }
    return ST_OK;
}

static Status copy_defaults(Session *s, Statement *st, const Table *t, CopyColumns *c) {
    Arena *a = st->run_arena;
    for (int i = 0; i < t->n_cols; i++) {
        c->defaults[i] = (Value){.type = t->cols[i].type, .is_null = true};
        const char *sql = sql_column_default(&s->db->catalog, &t->cols[i]);
        if (c->given[i] || !sql || t->cols[i].kind == COLUMN_GENERATED) continue;
        PlanCtx p;
        plan_ctx_init(s, a, &p);
        p.of_catalog = true;
        AstExpr *ast;
        Expr *e;
        TRY(sql_parse_expr(a, slice_of(sql), &ast, &s->err));
        TRY(sql_bind_scalar(&p, ast, t->cols[i].type, &e));
        c->by_row |= expr_is_volatile(e);
        if (!c->by_row) TRY(run_scalar(s, st, &p, e, t->cols[i].type, &c->defaults[i]));
    }
    return ST_OK;
}

/* A program's command says nothing of the format. */
static Status options_of(Session *s, const AstCopy *x, int64_t n, const char *const *names, Arena *a, CopyOptions *o) {
    AstCopy plain = *x;
    if (x->program) plain.path = NULL;
    return copy_options(&plain, n, names, a, o, &s->err);
}

/* What was found out, where the statement does not say it. */
static void apply_sniffed(CopyOptions *o, const CopyOptions *found) {
    CopyOptions given = *o;
    *o = *found;
    o->sniff = true;
    o->ignore_errors = given.ignore_errors;
    o->reject_limit = given.reject_limit;
    o->reject = given.reject;
    o->date_format = given.date_format;
    o->timestamp_format = given.timestamp_format;
    o->decimal_comma = given.decimal_comma;
}

/* A table that is filled without the lock. */
typedef struct CopyAhead {
    Session *s;
    const Table *table;
    const char *name;
    Ahead of;
    bool parted; /* the lock was given up */
    bool moved;  /* another table has its place */
} CopyAhead;
static void unlock(void *ctx) {
    CopyAhead *x = ctx;
    x->parted = ahead_part(x->s, x->table, &x->of);
}
static Status lock_again(void *ctx) {
    CopyAhead *x = ctx;
    bool same;
    if (!x->parted) return ST_OK;
    TRY(ahead_rejoin(x->s, &x->of, &same));
    x->moved = !same;
    if (same) return ST_OK;
    err_set(&x->s->err, ERR_SERIALIZATION_FAILURE, "table \"%s\" was dropped or defined anew while its rows were read",
            x->name);
    err_hint(&x->s->err, "The statement might succeed if retried.");
    return ST_ERROR;
}

/* Reads the file, or the client's stream, into a table. ahead: without the lock, until the rows are there; or NULL. */
static Status copy_rows_in(Session *s, Statement *st, const AstCopy *x, const CopyColumns *c, Table *t,
                           CopyAhead *ahead, int64_t *rows) {
    CopyOptions o;
    int64_t rejected = 0;
    TRY(options_of(s, x, c->n, c->names, st->run_arena, &o));
    if (o.sniff) apply_sniffed(&o, &c->sniffed);
    CopyTarget to = {t,
                     c->n,
                     c->cols,
                     c->defaults,
                     &s->info,
                     s->db->pool,
                     (int)s->settings.exec.threads,
                     &st->account,
                     &s->cancel,
                     copy_progress,
                     s,
                     &rejected,
                     ahead ? unlock : NULL,
                     ahead ? lock_again : NULL,
                     ahead};
    CopyEnd end;
    Status st_in = end_open(&end, s, x, &st->account);
    if (st_in == ST_OK && copy_is_binary(x)) st_in = copy_binary_from(&to, end.read, end.ctx, s->undo, rows, &s->err);
    else if (st_in == ST_OK)
        st_in = copy_from(&to, &o, s->db->vfs, end.path, end.path ? NULL : end.read, end.ctx, s->undo, rows, &s->err);
    if (end_close(&end, st_in) != ST_OK) {
        if (end.path && x->n_options == 0 && strncmp(s->err.sqlstate, "22", 2) == 0 && !*s->err.hint)
            err_hint(&s->err, "Without options a file has values between tabs and no header. COPY .. FROM .. (FORMAT "
                              "auto) finds out what it has.");
        return ST_ERROR;
    }
    if (rejected > 0)
        session_notice_text(s, "NOTICE", "00000", "%lld row%s skipped due to data type incompatibility",
                            (long long)rejected, rejected == 1 ? " was" : "s were");
    return ST_OK;
}

/* INSERT INTO t [(names)] SELECT * FROM the scratch table AS t [WHERE condition]. */
static Status bind_checked(Session *s, Arena *a, const AstCopy *x, const Table *t, const Table *tmp, const char *names,
                           PlanCtx *c, BoundStmt **b) {
    char *name = quote_relation(a, t->name), *from = quote_relation(a, tmp->name),
         *as = quote_name(a, name_of_key(t->name));
    char *sql = name && from && as ? arena_printf(a, "insert into %s %s overriding system value select * from %s as %s",
                                                  name, names, from, as)
                                   : NULL;
    AstStmt **list;
    int64_t n;
    if (!sql) return err_oom(&s->err);
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    AST_AS(AstInsert, list[0])->query->where = x->where;
    plan_ctx_init(s, a, c);
    return sql_bind(c, list[0], 0, NULL, b);
}

/* The file's columns as those of a table that has no others, and a list of their names. */
static Status only_columns(Arena *a, const CopyColumns *c, CopyColumns *out, const char **names) {
    *out = *c;
    out->cols = arena_array(a, int, c->n + 1);
    out->defaults = arena_array(a, Value, c->n + 1);
    if (!out->cols || !out->defaults) return ST_ERROR;
    for (int i = 0; i < c->n; i++) {
        out->cols[i] = i;
        out->defaults[i] = (Value){.is_null = true};
    }
    for (int i = 0; *names && i < c->n; i++)
        *names = arena_printf(a, "%s%s%s", i ? *names : "(", i ? ", " : "", quote_name(a, c->names[i]));
    if (*names && c->n > 0) *names = arena_printf(a, "%s)", *names);
    return *names ? ST_OK : ST_ERROR;
}
/* An empty table, in the catalog for as long as the statement runs: with the table's columns, or where some are
 * computed for each row with the file's, which *cols names then. Nothing is checked there that rows which a condition
 * leaves out may break. */
static Status scratch_table(Session *s, Arena *a, const AstCopy *x, const Table *t, CopyColumns *cols,
                            const char **names, Table **out) {
    TableDraft d = {0};
    TRY(draft_of(s, a, t, &d));
    if (cols->by_row) {
        for (int i = 0; i < cols->n; i++) {
            const Column *from = &t->cols[cols->cols[i]];
            d.cols[i] = (ColumnDef){.name = from->name, .type = from->type, .not_null = from->not_null};
        }
        d.n_cols = cols->n;
        TRY(only_columns(a, cols, cols, names));
    }
    for (int i = 0; i < d.n_cols; i++) d.cols[i].domain = 0;
    for (int i = 0; i < d.n_cols && x->where; i++) d.cols[i].not_null = false;
    const char *name = arena_printf(a, "copy of %s", name_of_key(t->name));
    if (!name) return err_oom(&s->err);
    TRY(table_new(&s->db->parts[DB_TABLES], name, d.n_cols, d.cols, 0, NULL, 0, NULL, out, &s->err));
    if (session_add_table(s, *out) == ST_OK) return ST_OK;
    table_free(*out);
    return ST_ERROR;
}

/* A table with CHECKs or domains, or with columns that are computed for each row, and COPY with a condition: INSERT,
 * which knows how to do that, fills it from a scratch table that the file is read into. */
static Status copy_inserted(Session *s, Statement *st, const AstCopy *x, const CopyColumns *of_file, Table *t,
                            int64_t *rows) {
    Arena *a = st->run_arena;
    CopyColumns cols = *of_file;
    const char *names = "";
    Table *tmp;
    TRY(scratch_table(s, a, x, t, &cols, &names, &tmp));
    PlanCtx c;
    BoundStmt *b;
    TRY(bind_checked(s, a, x, t, tmp, names, &c, &b)); /* what is wrong with the condition is wrong without a row */
    TRY(copy_rows_in(s, st, x, &cols, tmp, NULL, rows));
    TRY(bind_checked(s, a, x, t, tmp, names, &c, &b));
    TRY(session_dml(s, st, &c, b));
    *rows = st->affected;
    return session_drop_table(s, tmp);
}

/* The load needs its table's columns only; so others write on until its rows are encoded. */
static Status copy_loaded(Session *s, Statement *st, const AstCopy *x, const CopyColumns *c, Table *t, int64_t *rows,
                          bool *moved) {
    CopyAhead ahead = {.s = s, .table = t, .name = arena_strdup(st->run_arena, name_of_key(t->name))};
    if (!ahead.name) return err_oom(&s->err);
    const int64_t mark = undo_mark(s->undo);
    const Status r = copy_rows_in(s, st, x, c, t, *moved ? NULL : &ahead, rows);
    *moved = ahead.moved;
    return r == ST_OK ? constraints_after(s, st, t, mark) : r;
}
/* moved: before, the table was another one behind its rows than in front of them; and whether it is. */
static Status copy_in_once(Session *s, Statement *st, const AstCopy *x, bool *moved) {
    TRY(session_begin_change(s));
    Table *t;
    CopyColumns c = {0};
    AstCopy named = *x;
    TRY(session_relation_name(s, st->run_arena, &x->table, false, &named.table));
    x = &named;
    TRY(copy_table(s, &x->table, &t));
    TRY(session_may_change(s, t));
    if (is_auto(x)) {
        CopyOptions checked;
        TRY(copy_options(x, 0, NULL, st->run_arena, &checked, &s->err));
        TRY(auto_columns(s, st->run_arena, &named, t, &c.sniffed));
    }
    TRY(copy_columns(s, st->run_arena, x, t, &c));
    TRY(copy_defaults(s, st, t, &c));
    if (!x->path && !s->client.copy_read)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "COPY FROM STDIN needs an input stream from the client");
    if (!x->path) TRY(session_stop_waiting(s)); /* its rows come once */
    int64_t rows = 0;
    bool checks = t->n_checks > 0 || c.by_row || x->where;
    for (int i = 0; i < t->n_cols; i++) checks |= t->cols[i].domain != 0;
    if (checks) TRY(copy_inserted(s, st, x, &c, t, &rows));
    else TRY(copy_loaded(s, st, x, &c, t, &rows, moved));
    return copied(st, rows);
}
/* A file is read once more, then under the lock, when another table has the name by now. */
static Status copy_in(Session *s, Statement *st, const AstCopy *x) {
    bool moved = false;
    const Status first = copy_in_once(s, st, x, &moved);
    if (first == ST_OK || !moved || !x->path || x->program) return first;
    err_clear(&s->err);
    return copy_in_once(s, st, x, &moved);
}

/* ---- COPY TO ------------------------------------------------------------------------------------------ */

/* The query of COPY table TO: a SELECT of its columns. */
static Status copy_query(Session *s, Arena *a, const AstCopy *x, const AstStmt **q) {
    const Catalog *k = session_catalog(s);
    const SystemRelation *all;
    RelationName r;
    if (x->table.schema && !catalog_has_schema(k, x->table.schema))
        return err_at(&s->err, x->table.location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist",
                      x->table.schema);
    TRY(catalog_search(k, a, x->table.schema, x->table.name, &r));
    (void)system_relations(&all);
    if (catalog_sequence(k, slice_of(r.key)))
        return err_at(&s->err, x->table.location, ERR_WRONG_OBJECT_TYPE, "cannot copy from sequence \"%s\"", r.key);
    const Table *t = r.system < 0 ? catalog_table(k, slice_of(r.key)) : NULL;
    if (r.system < 0 && !t && !catalog_view(k, slice_of(r.key)))
        return catalog_no_relation(k, r.key, x->table.location, &s->err);
    const char *name =
        r.system < 0 ? quote_relation(a, r.key) : arena_printf(a, "%s.%s", all[r.system].schema, all[r.system].name);
    if (!name) return ST_ERROR;
    const bool some = t && x->n_columns == 0 && copied_columns(t) < t->n_cols;
    char *sql = arena_strdup(a, "select ");
    for (int i = 0, n = 0; some && sql && i < t->n_cols; i++)
        if (t->cols[i].kind != COLUMN_GENERATED)
            sql = arena_printf(a, "%s%s%s", sql, n++ ? ", " : "", quote_name(a, t->cols[i].name));
    for (int64_t i = 0; t && i < x->n_columns; i++) {
        const int col = table_find_column(t, slice_of(x->columns[i]));
        if (col >= 0 && t->cols[col].kind == COLUMN_GENERATED) return refuse_generated(s, &t->cols[col]);
    }
    for (int64_t i = 0; sql && i < x->n_columns; i++)
        sql = arena_printf(a, "%s%s%s", sql, i ? ", " : "", quote_name(a, x->columns[i]));
    if (sql) sql = arena_printf(a, "%s%s from %s", sql, x->n_columns || some ? "" : "*", name);
    AstStmt **list;
    int64_t n;
    if (!sql) return ST_ERROR;
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    *q = list[0];
    return ST_OK;
}

static Status next_rows(void *ctx, RowStore **rows, Err *e) {
    RunOutput *r = ctx;
    *rows = NULL;
    if (!r->more) return ST_OK;
    TRY(query_next(r->query, RESULT_PIECE_BYTES, &r->more, e));
    *rows = query_result(r->query);
    return ST_OK;
}

static Status copy_out(Session *s, Statement *st, const AstCopy *x) {
    Arena *a = st->run_arena;
    const AstStmt *q = x->query;
    if (q && sql_changes_data(q)) TRY(session_begin_change(s));
    else TRY(session_read(s, false));
    if (!q) TRY(copy_query(s, a, x, &q));
    if (q->kind != AST_SELECT)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED,
                      "COPY of a data-changing query is not supported");
    PlanCtx c;
    plan_ctx_init_client(s, a, &c);
    BoundStmt *b;
    CopyOptions o;
    TRY(sql_bind_client(&c, q, 0, NULL, &b));
    if (c.calls_routine || c.n_bulks > 0 || c.sequences.called) TRY(session_read_locked(s));
    TRY(options_of(s, x, b->n_result, b->names, a, &o));
    if (!x->path && !s->client.copy_write)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "COPY TO STDOUT needs an output stream from the client");
    Type *types = arena_array(a, Type, b->n_result + 1);
    if (!types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) types[i] = c.cols.items[b->result[i]].type;
    RunOutput r;
    TRY(session_run_pieces(s, &c, b, b->n_result, b->result, &st->account, &r));
    Status out = session_stop_waiting(s); /* rows that have been written come once */
    RowPieces more = {next_rows, &r};
    int64_t rows = 0;
    const CopySource from = {.rows = r.rows,
                             .more = &more,
                             .n_cols = b->n_result,
                             .types = types,
                             .names = b->names,
                             .form = s->settings.client.form,
                             .account = &st->account};
    CopyEnd end;
    if (out == ST_OK) {
        out = end_open(&end, s, x, &st->account);
        if (out == ST_OK && copy_is_binary(x)) out = copy_binary_to(&from, end.write, end.ctx, &rows, &s->err);
        else if (out == ST_OK) out = copy_to(&from, &o, s->db->vfs, end.path, end.write, end.ctx, &rows, &s->err);
        out = end_close(&end, out);
    }
    query_free(r.query);
    copied(st, rows);
    return out;
}

Status copy_statement(Session *s, Statement *st, const AstCopy *x) {
    if (x->program && !s->settings.client.programs) {
        err_set(&s->err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to COPY to or from an external program");
        err_hint(&s->err, "The session has copy_programs = off. COPY with a file, or STDIN and STDOUT, is allowed.");
        return ST_ERROR;
    }
    return x->from ? copy_in(s, st, x) : copy_out(s, st, x);
}
