/* copy_options.c - the options of a COPY statement, checked as PostgreSQL does and with its messages. */
#include <stdlib.h>
#include <strings.h>

#include "io/copy_binary.h"
#include "io/copy_int.h"
#include "io/date_format.h"
#include "io/recode.h"

/* Without .gz and .zst, which say nothing of the format. */
static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    if (n > 3 && strcasecmp(s + n - 3, ".gz") == 0) n -= 3;
    else if (n > 4 && strcasecmp(s + n - 4, ".zst") == 0) n -= 4;
    return n > m && strncasecmp(s + n - m, tail, m) == 0;
}
static bool option_bool(const char *v, bool *out) {
    if (!v || !strcasecmp(v, "true") || !strcasecmp(v, "on") || !strcmp(v, "1")) *out = true;
    else if (!strcasecmp(v, "false") || !strcasecmp(v, "off") || !strcmp(v, "0")) *out = false;
    else return false;
    return true;
}

static Status set_format(const AstOption *x, CopyOptions *out, Err *e) {
    const char *v = x->value ? x->value : "";
    if (!strcmp(v, "text")) out->format = COPY_TEXT;
    else if (!strcmp(v, "csv")) out->format = COPY_CSV;
    else if (!strcmp(v, "tbl")) out->format = COPY_TBL;
    else if (!strcmp(v, "parquet")) out->format = COPY_PARQUET;
    else if (!strcmp(v, "arrow")) out->format = COPY_ARROW;
    else if (!strcmp(v, "auto")) {
        out->format = COPY_CSV;
        out->sniff = true;
    } else if (strcmp(v, "binary") != 0)
        return err_at(e, x->location, ERR_INVALID_PARAMETER, "COPY format \"%s\" not recognized", v);
    return ST_OK;
}

static Status set_header(const AstCopy *stmt, const AstOption *x, CopyOptions *out, Err *e) {
    out->header_match = x->value && !strcasecmp(x->value, "match");
    if (out->header_match) {
        if (!stmt->from)
            return err_at(e, x->location, ERR_FEATURE_NOT_SUPPORTED, "cannot use \"match\" with HEADER in COPY TO");
        out->header = true;
        return ST_OK;
    }
    if (option_bool(x->value, &out->header)) return ST_OK;
    return err_at(e, x->location, ERR_SYNTAX, "header requires a Boolean value or \"match\"");
}

static Status column_flags(const AstOption *x, const char *label, int64_t n, const char *const *names, Arena *a,
                           bool **out, Err *e) {
    if (!x->star && x->n_list == 0)
        return err_at(e, x->location, ERR_INVALID_PARAMETER, "argument to option \"%s\" must be a list of column names",
                      x->name);
    bool *f = arena_array(a, bool, n + 1);
    if (!f) return err_oom(e);
    if (x->star) memset(f, 1, (size_t)n);
    for (int64_t i = 0; i < x->n_list; i++) {
        int64_t c = 0;
        while (c < n && strcmp(names[c], x->list[i]) != 0) c++;
        if (c == n)
            return err_at(e, x->location, ERR_INVALID_COLUMN_REFERENCE, "%s column \"%s\" not referenced by COPY",
                          label, x->list[i]);
        f[c] = true;
    }
    *out = f;
    return ST_OK;
}

typedef struct Given {
    const AstOption *format, *delimiter, *null, *header, *quote, *escape, *force_quote, *force_not_null, *force_null,
        *encoding, *freeze, *on_error, *reject, *reject_limit, *date_format, *timestamp_format, *decimal_separator;
} Given;

static Status collect(const AstCopy *stmt, Given *g, Err *e) {
    const struct {
        const char *name;
        const AstOption **slot;
    } known[] = {
        {"format", &g->format},
        {"delimiter", &g->delimiter},
        {"null", &g->null},
        {"header", &g->header},
        {"quote", &g->quote},
        {"escape", &g->escape},
        {"force_quote", &g->force_quote},
        {"force_not_null", &g->force_not_null},
        {"force_null", &g->force_null},
        {"encoding", &g->encoding},
        {"freeze", &g->freeze},
        {"on_error", &g->on_error},
        {"reject", &g->reject},
        {"reject_limit", &g->reject_limit},
        {"date_format", &g->date_format},
        {"timestamp_format", &g->timestamp_format},
        {"decimal_separator", &g->decimal_separator},
    };
    for (int64_t i = 0; i < stmt->n_options; i++) {
        const AstOption *x = &stmt->options[i];
        int64_t k = 0;
        while (k < ARRAY_LEN(known) && strcmp(known[k].name, x->name) != 0) k++;
        if (k == ARRAY_LEN(known)) return err_at(e, x->location, ERR_SYNTAX, "option \"%s\" not recognized", x->name);
        if (*known[k].slot) return err_at(e, x->location, ERR_SYNTAX, "conflicting or redundant options");
        *known[k].slot = x;
    }
    return ST_OK;
}

static Status one_byte(const AstOption *x, const char *what, char *out, Err *e) {
    if (!x->value || strlen(x->value) != 1)
        return err_at(e, x->location, ERR_FEATURE_NOT_SUPPORTED, "COPY %s must be a single one-byte character", what);
    *out = x->value[0];
    return ST_OK;
}

static Status only(bool ok, const AstOption *x, const char *what, const char *where, Err *e) {
    if (ok || !x) return ST_OK;
    return err_at(e, x->location, ERR_FEATURE_NOT_SUPPORTED, "COPY %s %s", what, where);
}

static Status check_characters(const CopyOptions *o, Err *e) {
    char d = o->delimiter;
    if (d == '\n' || d == '\r')
        return err_set(e, ERR_INVALID_PARAMETER, "COPY delimiter cannot be newline or carriage return");
    if (o->null_len > 0 &&
        (memchr(o->null_text, '\n', (size_t)o->null_len) || memchr(o->null_text, '\r', (size_t)o->null_len)))
        return err_set(e, ERR_INVALID_PARAMETER, "COPY null representation cannot use newline or carriage return");
    if (o->format == COPY_TEXT && strchr("\\.abcdefghijklmnopqrstuvwxyz0123456789", d))
        return err_set(e, ERR_INVALID_PARAMETER, "COPY delimiter cannot be \"%c\"", d);
    if (o->format == COPY_CSV) {
        if (d == o->quote) return err_set(e, ERR_INVALID_PARAMETER, "COPY delimiter and quote must be different");
        if (strchr("\n\r", o->quote) || strchr("\n\r", o->escape))
            return err_set(e, ERR_INVALID_PARAMETER, "COPY quote and escape cannot be newline or carriage return");
    }
    if (o->null_len > 0 && memchr(o->null_text, d, (size_t)o->null_len))
        return err_set(e, ERR_INVALID_PARAMETER, "COPY delimiter must not appear in the NULL specification");
    if (o->format == COPY_CSV && o->null_len > 0 && memchr(o->null_text, o->quote, (size_t)o->null_len))
        return err_set(e, ERR_INVALID_PARAMETER, "CSV quote character must not appear in the NULL specification");
    return ST_OK;
}

static Status set_date_format(const AstOption *x, const char **out, Err *e) {
    bool date, time, zone;
    *out = x->value ? x->value : "";
    if (date_format_valid(*out, &date, &time, &zone) && date) return ST_OK;
    return err_at(e, x->location, ERR_INVALID_PARAMETER, "COPY %s must be a format of dates such as '%%d.%%m.%%Y'",
                  x->name);
}

/* Those of COPY FROM that are about single rows and values. */
static Status row_options(const Given *g, bool from, CopyOptions *out, Err *e) {
    const AstOption *const all[] = {g->on_error,    g->reject,           g->reject_limit,
                                    g->date_format, g->timestamp_format, g->decimal_separator};
    for (int64_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i] && !from)
            return err_at(e, all[i]->location, ERR_INVALID_PARAMETER, "COPY %s cannot be used with COPY TO",
                          all[i]->name);
    if (g->on_error) {
        const char *v = g->on_error->value ? g->on_error->value : "";
        out->ignore_errors = strcasecmp(v, "ignore") == 0;
        if (!out->ignore_errors && strcasecmp(v, "stop") != 0)
            return err_at(e, g->on_error->location, ERR_INVALID_PARAMETER, "COPY ON_ERROR \"%s\" not recognized", v);
    }
    const AstOption *needs = g->reject ? g->reject : g->reject_limit;
    if (needs && !out->ignore_errors)
        return err_at(e, needs->location, ERR_INVALID_PARAMETER, "COPY %s requires ON_ERROR to be set to IGNORE",
                      needs->name);
    if (g->reject && !(out->reject = g->reject->value))
        return err_at(e, g->reject->location, ERR_INVALID_PARAMETER, "COPY reject must be the path of a file");
    if (g->reject_limit) {
        const char *v = g->reject_limit->value ? g->reject_limit->value : "";
        char *end;
        out->reject_limit = strtoll(v, &end, 10);
        if (!*v || *end || out->reject_limit <= 0)
            return err_at(e, g->reject_limit->location, ERR_INVALID_PARAMETER,
                          "REJECT_LIMIT (%s) must be greater than zero", v);
    }
    if (g->date_format) TRY(set_date_format(g->date_format, &out->date_format, e));
    if (g->timestamp_format) TRY(set_date_format(g->timestamp_format, &out->timestamp_format, e));
    if (g->decimal_separator) {
        const char *v = g->decimal_separator->value ? g->decimal_separator->value : "";
        out->decimal_comma = strcmp(v, ",") == 0;
        if (!out->decimal_comma && strcmp(v, ".") != 0)
            return err_at(e, g->decimal_separator->location, ERR_INVALID_PARAMETER,
                          "COPY decimal_separator must be '.' or ','");
    }
    return ST_OK;
}

/* FORMAT auto finds these out. */
static Status check_auto(const AstCopy *stmt, const Given *g, const CopyOptions *o, Err *e) {
    if (!o->sniff) return ST_OK;
    if (!stmt->from || !stmt->path)
        return err_at(e, g->format->location, ERR_FEATURE_NOT_SUPPORTED,
                      "COPY format \"auto\" is for COPY FROM a file");
    const AstOption *const all[] = {g->delimiter, g->null,       g->header,        g->quote,
                                    g->escape,    g->force_null, g->force_not_null};
    for (int64_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i])
            return err_at(e, all[i]->location, ERR_INVALID_PARAMETER, "COPY %s cannot be used with format \"auto\"",
                          all[i]->name);
    return ST_OK;
}

/* Parquet and Arrow files have all that the other options are about. */
static Status check_typed(const AstCopy *stmt, const Given *g, const char *format, Err *e) {
    if (stmt->from || !stmt->path) {
        err_set(e, ERR_FEATURE_NOT_SUPPORTED, "COPY format \"%s\" is for COPY TO a file", format);
        if (stmt->from) err_hint(e, "INSERT INTO ... SELECT * FROM 'x.%s' reads one.", format);
        return ST_ERROR;
    }
    for (int64_t i = 0; i < stmt->n_options; i++)
        if (&stmt->options[i] != g->format)
            return err_at(e, stmt->options[i].location, ERR_INVALID_PARAMETER,
                          "COPY %s cannot be used with format \"%s\"", stmt->options[i].name, format);
    return ST_OK;
}

bool copy_is_binary(const AstCopy *stmt) {
    for (int64_t i = 0; i < stmt->n_options; i++)
        if (strcmp(stmt->options[i].name, "format") == 0)
            return stmt->options[i].value && strcmp(stmt->options[i].value, "binary") == 0;
    return false;
}
/* The binary form has none of what these are about. */
static Status check_binary(const Given *g, Err *e) {
    const struct {
        const AstOption *given;
        const char *what;
    } not_these[] = {{g->delimiter, "DELIMITER"}, {g->null, "NULL"}};
    for (int64_t i = 0; i < ARRAY_LEN(not_these); i++)
        if (not_these[i].given)
            return err_at(e, not_these[i].given->location, ERR_SYNTAX, "cannot specify %s in BINARY mode",
                          not_these[i].what);
    if (g->header)
        return err_at(e, g->header->location, ERR_FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode");
    const AstOption *no[] = {g->encoding,    g->on_error,         g->reject,           g->reject_limit,
                             g->date_format, g->timestamp_format, g->decimal_separator};
    for (int64_t i = 0; i < ARRAY_LEN(no); i++)
        if (no[i])
            return err_at(e, no[i]->location, ERR_FEATURE_NOT_SUPPORTED, "cannot specify %s in BINARY mode",
                          no[i]->name);
    return ST_OK;
}

Status copy_options(const AstCopy *stmt, int64_t n, const char *const *names, Arena *a, CopyOptions *out, Err *e) {
    Given g = {0};
    *out = (CopyOptions){.format = COPY_TEXT};
    TRY(collect(stmt, &g, e));
    if (g.format) TRY(set_format(g.format, out, e));
    else if (stmt->path && !stmt->program)
        out->format = ends_with(stmt->path, ".tbl")       ? COPY_TBL
                      : ends_with(stmt->path, ".csv")     ? COPY_CSV
                      : ends_with(stmt->path, ".parquet") ? COPY_PARQUET
                      : ends_with(stmt->path, ".arrow")   ? COPY_ARROW
                      : ends_with(stmt->path, ".feather") ? COPY_ARROW
                                                          : COPY_TEXT;
    if (out->format == COPY_PARQUET) return check_typed(stmt, &g, "parquet", e);
    if (out->format == COPY_ARROW) return check_typed(stmt, &g, "arrow", e);
    if (copy_is_binary(stmt)) TRY(check_binary(&g, e));
    bool csv = out->format == COPY_CSV;
    out->delimiter = csv ? ',' : out->format == COPY_TBL ? '|' : '\t';
    out->quote = out->escape = '"';
    const char *null_text = csv ? "" : "\\N";
    if (g.null) null_text = g.null->value ? g.null->value : "";
    if (strlen(null_text) >= sizeof out->null_text)
        return err_at(e, g.null ? g.null->location : 0, ERR_INVALID_PARAMETER,
                      "COPY null representation is longer than %d bytes", (int)sizeof out->null_text - 1);
    strncpy(out->null_text, null_text, sizeof out->null_text - 1);
    out->null_len = out->format == COPY_TBL && !g.null ? -1 : (int64_t)strlen(null_text);
    if (g.delimiter) TRY(one_byte(g.delimiter, "delimiter", &out->delimiter, e));
    if (g.header) TRY(set_header(stmt, g.header, out, e));
    TRY(only(csv, g.quote, "quote", "available only in CSV mode", e));
    if (g.quote) {
        TRY(one_byte(g.quote, "quote", &out->quote, e));
        out->escape = out->quote;
    }
    TRY(only(csv, g.escape, "escape", "available only in CSV mode", e));
    if (g.escape) TRY(one_byte(g.escape, "escape", &out->escape, e));
    TRY(only(csv, g.force_quote, "force quote", "available only in CSV mode", e));
    TRY(only(!stmt->from, g.force_quote, "force quote", "only available using COPY TO", e));
    TRY(only(csv, g.force_not_null, "force not null", "available only in CSV mode", e));
    TRY(only(stmt->from, g.force_not_null, "force not null", "only available using COPY FROM", e));
    TRY(only(csv, g.force_null, "force null", "available only in CSV mode", e));
    TRY(only(stmt->from, g.force_null, "force null", "only available using COPY FROM", e));
    if (g.force_quote) {
        out->force_quote_all = g.force_quote->star;
        TRY(column_flags(g.force_quote, "FORCE_QUOTE", n, names, a, &out->force_quote, e));
    }
    if (g.force_not_null) TRY(column_flags(g.force_not_null, "FORCE_NOT_NULL", n, names, a, &out->force_not_null, e));
    if (g.force_null) TRY(column_flags(g.force_null, "FORCE_NULL", n, names, a, &out->force_null, e));
    if (g.encoding && !encoding_named(g.encoding->value ? g.encoding->value : ""))
        return err_at(e, g.encoding->location, ERR_INVALID_PARAMETER,
                      "argument to option \"encoding\" must be a valid encoding name");
    bool freeze;
    if (g.freeze && !option_bool(g.freeze->value, &freeze))
        return err_at(e, g.freeze->location, ERR_SYNTAX, "freeze requires a Boolean value");
    TRY(row_options(&g, stmt->from, out, e));
    TRY(check_auto(stmt, &g, out, e));
    return check_characters(out, e);
}
