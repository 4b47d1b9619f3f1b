/* files.c - finds the files that a statement names, and what can read them. See files.h. */
#include "io/files.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "io/arrow_file.h"
#include "io/csv_int.h"
#include "io/date_format.h"
#include "io/parquet.h"

/* ---- paths ------------------------------------------------------------------------------------------------------- */

typedef VEC(const char *) Paths;

static bool has_wildcard(const char *s) { return strpbrk(s, "*?[") != NULL; }

typedef struct Listing {
    Arena *a;
    const char *dir; /* with its slash; "" is here */
    const char *pattern;
    Paths *out;
} Listing;

static Status list_one(void *ctx, const char *name, Err *e) {
    const Listing *l = ctx;
    if (fnmatch(l->pattern, name, FNM_PERIOD) != 0) return ST_OK;
    const char *path = arena_printf(l->a, "%s%s", l->dir, name);
    return path && vec_push(l->a, l->out, path) ? ST_OK : err_oom(e);
}

/* The paths that begin with those of `in` and go on with the next component of the pattern at *rest. */
static Status expand(Vfs *vfs, Arena *a, const Paths *in, const char **rest, Paths *out, Err *e) {
    const char *from = *rest, *end = from;
    while (*end == '/') end++;
    while (*end && *end != '/') end++;
    const char *slashes = arena_strndup(a, from, (int64_t)strspn(from, "/"));
    const char *part = arena_strndup(a, from + strspn(from, "/"), end - from - (int64_t)strspn(from, "/"));
    if (!slashes || !part) return err_oom(e);
    *rest = end;
    for (int64_t i = 0; i < in->len; i++) {
        const char *dir = arena_printf(a, "%s%s", in->items[i], slashes);
        if (!dir) return err_oom(e);
        if (has_wildcard(part)) {
            Listing l = {a, dir, part, out};
            Err none;
            err_clear(&none);
            /* what is no directory has nothing in it */
            if (vfs->list(vfs, *dir ? dir : ".", list_one, &l, &none) != ST_OK &&
                strcmp(none.sqlstate, ERR_OUT_OF_MEMORY) == 0)
                return err_oom(e);
            continue;
        }
        bool there = true;
        const char *path = arena_printf(a, "%s%s", dir, part);
        if (!path) return err_oom(e);
        if (*part && vfs->exists(vfs, path, &there, e) != ST_OK) return ST_ERROR;
        if (there && !vec_push(a, out, path)) return err_oom(e);
    }
    return ST_OK;
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static Status wild_paths(Vfs *vfs, Arena *a, const char *pattern, Paths *out, Err *e) {
    Paths now = {0};
    if (!vec_push(a, &now, "")) return err_oom(e);
    for (const char *rest = pattern; *rest;) {
        Paths next = {0};
        TRY(expand(vfs, a, &now, &rest, &next, e));
        now = next;
    }
    if (now.len == 0) return err_set(e, ERR_UNDEFINED_FILE, "no file matches \"%s\"", pattern);
    qsort(now.items, (size_t)now.len, sizeof *now.items, by_name);
    for (int64_t i = 0; i < now.len; i++)
        if (!vec_push(a, out, now.items[i])) return err_oom(e);
    return ST_OK;
}

Status file_paths(Vfs *vfs, Arena *a, int32_t n, const char *const *given, int32_t *n_out, const char *const **out,
                  Err *e) {
    Paths all = {0};
    for (int32_t i = 0; i < n; i++) {
        bool there = true;
        const char *path = arena_strdup(a, given[i]);
        if (!path) return err_oom(e);
        /* a file may be called like a pattern */
        if (has_wildcard(path)) TRY(vfs->exists(vfs, path, &there, e));
        if (!there) TRY(wild_paths(vfs, a, path, &all, e));
        else if (!vec_push(a, &all, path)) return err_oom(e);
    }
    *n_out = (int32_t)all.len;
    *out = all.items;
    return ST_OK;
}

/* ---- what reads them --------------------------------------------------------------------------------------------- */

typedef enum FileFormat { FF_NONE, FF_CSV, FF_TBL, FF_JSON, FF_PARQUET, FF_ARROW } FileFormat;

/* Without .gz and .zst, which say nothing of the format. */
static int64_t bare_length(const char *s) {
    int64_t n = (int64_t)strlen(s);
    if (n > 3 && strcasecmp(s + n - 3, ".gz") == 0) return n - 3;
    if (n > 4 && strcasecmp(s + n - 4, ".zst") == 0) return n - 4;
    return n;
}

static FileFormat format_of(const char *path) {
    static const struct {
        const char *tail;
        FileFormat format;
    } known[] = {{".csv", FF_CSV},      {".tsv", FF_CSV},         {".txt", FF_CSV},    {".psv", FF_CSV},
                 {".tab", FF_CSV},      {".tbl", FF_TBL},         {".json", FF_JSON},  {".jsonl", FF_JSON},
                 {".ndjson", FF_JSON},  {".parquet", FF_PARQUET}, {".pq", FF_PARQUET}, {".arrow", FF_ARROW},
                 {".feather", FF_ARROW}};
    int64_t n = bare_length(path);
    for (int64_t i = 0; i < ARRAY_LEN(known); i++) {
        int64_t m = (int64_t)strlen(known[i].tail);
        if (n > m && strncasecmp(path + n - m, known[i].tail, (size_t)m) == 0) return known[i].format;
    }
    return FF_NONE;
}

/* x of dir/x.csv.gz: the relation's name. */
static const char *alias_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int64_t n = bare_length(name);
    const char *dot = memrchr(name, '.', (size_t)n);
    if (dot && dot > name) n = dot - name;
    return arena_strndup(a, name, n);
}

static const struct {
    const char *name;
    FileFormat format;
} functions[] = {{"read_csv", FF_CSV},        {"read_csv_auto", FF_CSV}, {"read_json", FF_JSON},
                 {"read_json_auto", FF_JSON}, {"read_ndjson", FF_JSON},  {"read_parquet", FF_PARQUET},
                 {"read_arrow", FF_ARROW}};
static FileFormat function_format(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].format;
    return FF_NONE;
}
static bool is_function(const char *name) { return function_format(name) != FF_NONE; }

/* ---- options of read_csv ----------------------------------------------------------------------------------------- */

static Status bad_option(const StreamOption *o, const char *what, Err *e) {
    return err_at(e, o->position, ERR_INVALID_PARAMETER, "option \"%s\" must be %s", o->name, what);
}

static Status option_bool(const StreamOption *o, bool *out, Err *e) {
    const char *v = o->n_values == 1 && o->values[0] ? o->values[0] : "";
    *out = strcasecmp(v, "true") == 0 || strcmp(v, "1") == 0;
    return *out || strcasecmp(v, "false") == 0 || strcmp(v, "0") == 0 ? ST_OK : bad_option(o, "true or false", e);
}

static Status option_int(const StreamOption *o, int64_t low, int64_t *out, Err *e) {
    const char *v = o->n_values == 1 && o->values[0] ? o->values[0] : "";
    char *end;
    *out = strtoll(v, &end, 10);
    return *v && !*end && *out >= low ? ST_OK : bad_option(o, low < 0 ? "a whole number" : "0 or more", e);
}

/* One byte; empty_too: or none, which is CSV_NO_QUOTE. */
static Status option_byte(const StreamOption *o, bool empty_too, char *out, Err *e) {
    const char *v = o->n_values == 1 && o->values[0] ? o->values[0] : "ab";
    *out = strcmp(v, "\\t") == 0 ? '\t' : *v ? *v : (char)CSV_NO_QUOTE;
    bool ok = strlen(v) == 1 || strcmp(v, "\\t") == 0 || (empty_too && !*v);
    if (!ok || *out == '\n' || *out == '\r') return bad_option(o, "a single one-byte character", e);
    return ST_OK;
}

static Status option_text(const StreamOption *o, const char **out, Err *e) {
    *out = o->n_values == 1 ? o->values[0] : NULL;
    return *out ? ST_OK : bad_option(o, "a text", e);
}

static Status option_format(const StreamOption *o, const char **out, Err *e) {
    bool has_date, has_time, has_zone;
    TRY(option_text(o, out, e));
    if (date_format_valid(*out, &has_date, &has_time, &has_zone) && has_date) return ST_OK;
    bad_option(o, "a format of dates such as '%d.%m.%Y'", e);
    return ST_ERROR;
}

static Status option_texts(const StreamOption *o, const char *const **out, Err *e) {
    *out = o->values;
    for (int32_t i = 0; i < o->n_values; i++)
        if (!o->values[i]) return bad_option(o, "a text or an array of texts", e);
    return ST_OK;
}

/* numeric(10,2): the name and its modifiers. */
static Status type_of_text(const char *text, Type *out, Err *e) {
    int64_t mods[2], n = 0, len = (int64_t)strlen(text);
    const char *paren = strchr(text, '(');
    if (paren) {
        char *at = (char *)(uintptr_t)paren;
        len = paren - text;
        do {
            at++;
            mods[n++] = strtoll(at, &at, 10);
        } while (n < 2 && *at == ',');
        if (*at != ')' || at[1]) return err_set(e, ERR_UNDEFINED_OBJECT, "type \"%s\" does not exist", text);
    }
    while (len > 0 && text[len - 1] == ' ') len--;
    char name[64];
    if (len >= (int64_t)sizeof name) return err_set(e, ERR_UNDEFINED_OBJECT, "type \"%s\" does not exist", text);
    for (int64_t i = 0; i < len; i++) name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    if (n == 0 && slice_eq((Slice){name, len}, slice_of("char"))) mods[n++] = 1; /* SQL's, not PostgreSQL's "char" */
    return type_from_name((Slice){name, len}, (int)n, mods, out, e);
}

/* types => ARRAY['a: bigint', 'b: text'] */
static Status option_types(const StreamOption *o, Arena *a, CsvGiven *g, Err *e) {
    g->type_names = arena_array(a, const char *, o->n_values + 1);
    g->types = arena_array(a, Type, o->n_values + 1);
    if (!g->type_names || !g->types) return err_oom(e);
    for (int32_t i = 0; i < o->n_values; i++) {
        const char *v = o->values[i], *colon = v ? strrchr(v, ':') : NULL;
        if (!colon) return bad_option(o, "an array of texts as 'column: type'", e);
        const char *type = colon + 1;
        while (*type == ' ') type++;
        if (!(g->type_names[i] = arena_strndup(a, v, colon - v))) return err_oom(e);
        if (type_of_text(type, &g->types[i], e) != ST_OK) {
            e->position = o->position;
            return ST_ERROR;
        }
    }
    g->n_types = o->n_values;
    return ST_OK;
}

static Status option_nulls(const StreamOption *o, Arena *a, CsvGiven *g, Err *e) {
    const char *const *texts;
    TRY(option_texts(o, &texts, e));
    Slice *v = arena_array(a, Slice, o->n_values + 1);
    if (!v) return err_oom(e);
    for (int32_t i = 0; i < o->n_values; i++) v[i] = slice_of(texts[i]);
    g->nulls = true;
    g->n_nulls = o->n_values;
    g->null_texts = v;
    return ST_OK;
}

static Status option_layout(const StreamOption *o, JsonLayout *out, Err *e) {
    static const struct {
        const char *name;
        JsonLayout layout;
    } layouts[] = {{"auto", JSON_AUTO}, {"newline_delimited", JSON_LINES}, {"nd", JSON_LINES}, {"array", JSON_ARRAY}};
    const char *text;
    TRY(option_text(o, &text, e));
    for (int64_t i = 0; i < ARRAY_LEN(layouts); i++) {
        if (strcasecmp(text, layouts[i].name) != 0) continue;
        *out = layouts[i].layout;
        return ST_OK;
    }
    return bad_option(o, "auto, newline_delimited or array", e);
}

/* All columns: columns => ARRAY['a: bigint', 'b: text'] */
static Status option_columns(const StreamOption *o, Arena *a, CsvGiven *g, Err *e) {
    if (g->n_cols) return bad_option(o, "the only one that names the columns", e);
    TRY(option_types(o, a, g, e));
    g->names = g->type_names;
    g->n_cols = g->n_types;
    return ST_OK;
}

static bool is(const StreamOption *o, const char *a, const char *b) {
    return strcmp(o->name, a) == 0 || (b && strcmp(o->name, b) == 0);
}

static Status csv_option(const StreamOption *o, Arena *a, CsvGiven *g, CsvFile *f, Err *e) {
    const char *text;
    if (is(o, "dateformat", "date_format")) return option_format(o, &g->date_format, e);
    if (is(o, "timestampformat", "timestamp_format")) return option_format(o, &g->timestamp_format, e);
    if (is(o, "sample_size", NULL)) return option_int(o, -1, &g->sample_rows, e);
    if (is(o, "all_varchar", "all_text")) return option_bool(o, &g->all_text, e);
    if (is(o, "types", "column_types")) return option_types(o, a, g, e);
    if (is(o, "ignore_errors", NULL)) return option_bool(o, &f->ignore_errors, e);
    if (is(o, "names", "column_names")) {
        g->n_cols = o->n_values;
        return option_texts(o, &g->names, e);
    }
    if (f->o.format == COPY_JSON) {
        if (is(o, "format", NULL)) return option_layout(o, &f->layout, e);
        if (is(o, "columns", NULL)) return option_columns(o, a, g, e);
        err_at(e, o->position, ERR_UNDEFINED_OBJECT, "option \"%s\" of read_json does not exist", o->name);
        err_hint(e, "There are format, columns, names, types, all_varchar, sample_size, dateformat, timestampformat "
                    "and ignore_errors.");
        return ST_ERROR;
    }
    if (is(o, "delim", "sep") || is(o, "delimiter", NULL)) {
        g->delimiter = true;
        return option_byte(o, false, &f->o.delimiter, e);
    }
    if (is(o, "quote", NULL)) {
        g->quote = true;
        return option_byte(o, true, &f->o.quote, e);
    }
    if (is(o, "escape", NULL)) {
        g->escape = true;
        return option_byte(o, true, &f->o.escape, e);
    }
    if (is(o, "header", NULL)) {
        g->has_header = true;
        return option_bool(o, &g->header, e);
    }
    if (is(o, "skip", NULL)) {
        g->skip = true;
        return option_int(o, 0, &f->skip_lines, e);
    }
    if (is(o, "nullstr", "null")) return option_nulls(o, a, g, e);
    if (is(o, "decimal_separator", NULL)) {
        TRY(option_text(o, &text, e));
        g->decimal = true;
        g->decimal_comma = strcmp(text, ",") == 0;
        return g->decimal_comma || strcmp(text, ".") == 0 ? ST_OK : bad_option(o, "'.' or ','", e);
    }
    if (is(o, "null_padding", NULL)) return option_bool(o, &f->pad, e);
    err_at(e, o->position, ERR_UNDEFINED_OBJECT, "option \"%s\" of read_csv does not exist", o->name);
    err_hint(e,
             "There are delim, quote, escape, header, skip, nullstr, decimal_separator, dateformat, timestampformat, "
             "sample_size, all_varchar, types, names, ignore_errors and null_padding.");
    return ST_ERROR;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static const char *shown_byte(Arena *a, char c) {
    if (c == (char)CSV_NO_QUOTE) return "none";
    return c == '\t' ? "'\\t'" : arena_printf(a, (uint8_t)c < 32 ? "'\\x%02x'" : "'%c'", c);
}

/* "guessed, format %d.%m.%Y, NULL is '', 'NA'" */
static const char *column_note(Arena *a, const CsvColumn *c) {
    const char *t = c->guessed ? "guessed" : "";
    if (c->format) t = arena_printf(a, "%s%sformat %s", t, *t ? ", " : "", c->format);
    if (t && c->comma) t = arena_printf(a, "%s%sdecimal comma", t, *t ? ", " : "");
    bool first = true;
    for (int32_t i = 0; t && i < c->n_nulls; i++) {
        if (c->nulls[i].len == 0) continue;
        t = arena_printf(a, "%s%s'%.*s'", t,
                         !first ? ", "
                         : *t   ? ", NULL is "
                                : "NULL is ",
                         (int)c->nulls[i].len, c->nulls[i].ptr);
        first = false;
    }
    return t;
}

static Status finish_stream(Arena *a, CsvFile *f, const char *path) {
    const char **names = arena_array(a, const char *, f->n_cols + 1);
    Type *types = arena_array(a, Type, f->n_cols + 1);
    const char **more = arena_array(a, const char *, 2), **notes = arena_array(a, const char *, f->n_cols + 1);
    if (!names || !types || !more || !notes) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        if (!(notes[i] = column_note(a, &f->cols[i]))) return ST_ERROR;
        if (!*notes[i]) notes[i] = NULL;
        names[i] = f->cols[i].name;
        types[i] = f->cols[i].type;
    }
    bool tbl = f->o.format == COPY_TBL;
    if (f->o.format == COPY_JSON)
        more[0] = arena_printf(a, "JSON %s, %lld rows sampled", f->layout == JSON_ARRAY ? "array" : "lines",
                               (long long)f->sampled);
    else
        more[0] = arena_printf(a, "delimiter %s, quote %s, escape %s, %s, %lld lines skipped, %lld rows sampled",
                               shown_byte(a, f->o.delimiter), tbl ? "none" : shown_byte(a, f->o.quote),
                               tbl ? "none" : shown_byte(a, f->o.escape), f->o.header ? "header" : "no header",
                               (long long)f->skip_lines, (long long)f->sampled);
    f->stream.n_cols = f->n_cols;
    f->stream.names = names;
    f->stream.types = types;
    f->stream.more = more;
    f->stream.notes = notes;
    f->stream.alias = alias_of(a, path);
    f->stream.label =
        f->n_paths == 1 ? arena_printf(a, "file %s", path) : arena_printf(a, "%d files %s", (int)f->n_paths, path);
    f->stream.begin = csv_begin;
    return more[0] && f->stream.alias && f->stream.label ? ST_OK : ST_ERROR;
}

static Status open_csv(const FileFinder *x, Arena *a, const StreamCall *call, FileFormat format, CsvFile *f, Err *e) {
    CsvGiven g = {.n_cols = call->n_cols, .names = call->names, .col_types = call->types};
    bool tbl = format == FF_TBL, json = format == FF_JSON;
    f->o = (CopyOptions){.format = COPY_CSV, .delimiter = ',', .quote = '"', .escape = '"'};
    if (json) f->o.format = COPY_JSON;
    if (json && call->function && strcmp(call->function, "read_ndjson") == 0) f->layout = JSON_LINES;
    for (int32_t i = 0; i < call->n_options; i++) TRY(csv_option(&call->options[i], a, &g, f, e));
    if (g.quote && !g.escape) {
        g.escape = true;
        f->o.escape = f->o.quote;
    }
    if (tbl && !g.delimiter && !g.quote) {
        f->o.format = COPY_TBL;
        f->o.delimiter = '|';
    }
    if (json) f->o.delimiter = 0;
    f->o.null_len = json || g.nulls || f->o.format == COPY_TBL ? -1 : 0;
    TRY(json ? json_sniff(x, a, &g, f, e) : csv_sniff(x, a, &g, f, e));
    return finish_stream(a, f, call->paths[0]);
}

/* Parquet and Arrow: columns are the file's. */
static Status open_typed(const FileFinder *x, Arena *a, const StreamCall *call, int32_t n, const char *const *paths,
                         bool arrow, const RowStream **out, Err *e) {
    if (call->n_options)
        return err_at(e, call->options[0].position, ERR_UNDEFINED_OBJECT, "option \"%s\" of read_%s does not exist",
                      call->options[0].name, arrow ? "arrow" : "parquet");
    if (call->n_cols)
        return err_at(e, call->position, ERR_FEATURE_NOT_SUPPORTED, "%s file has names and types of its own",
                      arrow ? "an Arrow" : "a Parquet");
    TRY(arrow ? arrow_open(x, a, n, paths, out, e) : parquet_open(x, a, n, paths, out, e));
    RowStream *s = (RowStream *)(uintptr_t)*out;
    s->alias = alias_of(a, call->paths[0]);
    s->label =
        n == 1 ? arena_printf(a, "file %s", call->paths[0]) : arena_printf(a, "%d files %s", (int)n, call->paths[0]);
    return s->alias && s->label ? ST_OK : err_oom(e);
}

static Status file_open(const StreamFinder *finder, Arena *a, const StreamCall *call, const RowStream **out, Err *e) {
    const FileFinder *x = (const FileFinder *)finder;
    CsvFile *f = arena_new_of(a, CsvFile);
    if (!f) return err_oom(e);
    FileFormat format = format_of(call->paths[0]);
    if (!call->function && format == FF_NONE) {
        err_at(e, call->position, ERR_FEATURE_NOT_SUPPORTED, "the name of file \"%s\" does not tell its format",
               call->paths[0]);
        err_hint(e, "Say it: FROM read_csv('%s').", call->paths[0]);
        return ST_ERROR;
    }
    if (call->function && (function_format(call->function) != FF_CSV || format != FF_TBL))
        format = function_format(call->function);
    TRY(file_paths(x->vfs, a, call->n_paths, call->paths, &f->n_paths, &f->paths, e));
    if (format == FF_PARQUET || format == FF_ARROW)
        return open_typed(x, a, call, f->n_paths, f->paths, format == FF_ARROW, out, e);
    if (open_csv(x, a, call, format, f, e) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *out = &f->stream;
    return ST_OK;
}

Status file_sniff_copy(const FileFinder *x, Arena *a, const char *path, CopyOptions *o, int32_t *n,
                       const char *const **names, Err *e) {
    CsvFile *f = arena_new_of(a, CsvFile);
    const char **paths = arena_array(a, const char *, 1);
    const StreamCall call = {.n_paths = 1, .paths = paths};
    if (!f || !paths) return err_oom(e);
    paths[0] = path;
    if (format_of(path) == FF_JSON)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "COPY does not read JSON; INSERT ... SELECT FROM '%s' does", path);
    f->n_paths = 1;
    f->paths = paths;
    if (open_csv(x, a, &call, format_of(path), f, e) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    CopyForm *forms = arena_array(a, CopyForm, f->n_cols + 1);
    if (!forms) return err_oom(e);
    for (int32_t i = 0; i < f->n_cols; i++) {
        const CsvColumn *c = &f->cols[i];
        forms[i] = (CopyForm){.format = c->format, .comma = c->comma, .n_nulls = c->n_nulls, .nulls = c->nulls};
    }
    o->format = f->o.format;
    o->delimiter = f->o.delimiter;
    o->quote = f->o.quote;
    o->escape = f->o.escape;
    o->header = f->o.header;
    o->null_text[0] = 0;
    o->null_len = f->o.null_len;
    o->skip_lines = f->skip_lines;
    o->forms = forms;
    *n = f->n_cols;
    *names = f->stream.names;
    return ST_OK;
}

void file_finder_init(FileFinder *f, Vfs *vfs, MemAccount *account, const SessionInfo *session) {
    *f = (FileFinder){.finder = {is_function, file_open}, .vfs = vfs, .account = account, .session = session};
}
