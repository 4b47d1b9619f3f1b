/* command.c - backslash commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell/shell.h"

static const char help[] =
    "  \\?                  this list\n"
    "  \\d [NAME]           tables and views, or the columns of one\n"
    "  \\dt, \\dv, \\df [TEXT] tables, views, functions\n"
    "  \\timing [on|off]    show how long statements take\n"
    "  \\x [on|off]         one line per column\n"
    "  \\format NAME        table, csv, json, markdown\n"
    "  \\null TEXT          what NULL looks like\n"
    "  \\o [FILE]           results to a file, or back to the terminal\n"
    "  \\i FILE             run statements from a file\n"
    "  \\e [FILE]           edit the last statement (or a file) with $EDITOR and run it\n"
    "  \\copy T from|to 'FILE' [with (...)]   COPY with a path of this machine\n"
    "  \\bulk P FILE [S=V]   run a call of P for each line of a CSV file, all in one bulk, with settings\n"
    "  \\p, \\r              show, or forget, the statement being typed\n"
    "  \\echo TEXT          print a line\n"
    "  \\set [NAME [VALUE]] set a variable (\\unset NAME): ON_ERROR_STOP, an error ends a script\n"
    "  \\q                  leave (also Ctrl-D); a database directory is saved\n"
    "  \\q!                 leave without saving\n"
    "Statements end with a semicolon. Ctrl-C cancels a running statement.\n";

typedef struct Listing {
    Shell *sh;
    const char *kind, *match;
    int64_t n;
} Listing;

static bool each_table(void *ctx, const char *name, const char *kind, int64_t rows) {
    Listing *l = ctx;
    if (l->kind && strcmp(l->kind, kind) != 0) return false;
    if (l->n++ == 0)
        fprintf(l->sh->out, " %-32s | %-5s | %s\n----------------------------------+-------+-----------\n", "Name",
                "Kind", "Rows");
    if (rows < 0) fprintf(l->sh->out, " %-32s | %-5s |\n", name, kind);
    else fprintf(l->sh->out, " %-32s | %-5s | %lld\n", name, kind, (long long)rows);
    return false;
}
static bool each_column(void *ctx, const char *name, const char *type, bool not_null, const char *def,
                        const char *key) {
    Listing *l = ctx;
    if (l->n++ == 0)
        fprintf(l->sh->out,
                " %-24s | %-28s | %-8s | %-11s | "
                "%s\n--------------------------+------------------------------+----------+-------------+---------\n",
                "Column", "Type", "Nullable", "Key", "Default");
    fprintf(l->sh->out, " %-24s | %-28s | %-8s | %-11s | %s\n", name, type, not_null ? "not null" : "", key, def);
    return false;
}
static bool each_option(void *ctx, const char *name, const char *value) {
    Listing *l = ctx;
    fprintf(l->sh->out, "%s%s=%s", l->n++ == 0 ? "Options: " : ", ", name, value);
    return false;
}
static bool each_function(void *ctx, const char *name, const char *args, const char *result, const char *doc) {
    Listing *l = ctx;
    if (l->match && *l->match && !strstr(name, l->match)) return false;
    fprintf(l->sh->out, " %s(%s) -> %s%s%s\n", name, args, result, *doc ? "    " : "", doc);
    l->n++;
    return false;
}

static bool each_routine(void *ctx, const char *name, const char *kind, const char *args, const char *result,
                         const char *language) {
    Listing *l = ctx;
    if (l->match && *l->match && !strstr(name, l->match)) return false;
    fprintf(l->sh->out, " %s %s(%s)%s%s    language %s\n", kind, name, args, *result ? " -> " : "", result, language);
    l->n++;
    return false;
}

static bool on_off(const char *arg, bool now) {
    if (!*arg) return !now;
    return strcasecmp(arg, "on") == 0 || strcasecmp(arg, "true") == 0 || strcmp(arg, "1") == 0;
}

static bool edit(Shell *sh, const char *path) {
    char tmp[] = "/tmp/stele-edit-XXXXXX.sql";
    bool own = !*path;
    if (own) {
        int fd = mkstemps(tmp, 4);
        if (fd < 0) {
            fprintf(stderr, "%s: %s\n", tmp, strerror(errno));
            return false;
        }
        const char *text = sh->len ? sh->buffer : sh->last ? sh->last : "";
        size_t n = strlen(text);
        if (write(fd, text, n) != (ssize_t)n) fprintf(stderr, "%s: %s\n", tmp, strerror(errno));
        close(fd);
        path = tmp;
    }
    const char *ed = getenv("EDITOR");
    if (!ed || !*ed) ed = getenv("VISUAL");
    if (!ed || !*ed) ed = "vi";
    char cmd[2048];
    snprintf(cmd, sizeof cmd, "%s '%s'", ed, path);
    bool ok = system(cmd) == 0;
    if (ok) {
        forget_buffer(sh);
        ok = run_file(sh, path) == 0;
    } else {
        fprintf(stderr, "the editor \"%s\" failed; set EDITOR\n", ed);
    }
    if (own) unlink(tmp);
    return ok;
}

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    size_t n = strlen(s);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == ';' || s[n - 1] == '\n')) s[--n] = 0;
    if (n >= 2 && ((s[0] == '\'' && s[n - 1] == '\'') || (s[0] == '"' && s[n - 1] == '"'))) {
        s[n - 1] = 0;
        s++;
    }
    return s;
}

/* ---- variables ------------------------------------------------------------------------------------ */

/* As psql reads a Boolean: the beginning of a word will do. */
static bool read_bool(const char *text, bool *value) {
    static const struct {
        const char *word;
        size_t least;
        bool value;
    } words[] = {{"true", 1, true}, {"false", 1, false}, {"yes", 1, true}, {"no", 1, false},
                 {"on", 2, true},   {"off", 2, false},   {"1", 1, true},   {"0", 1, false}};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (n < words[i].least || strncasecmp(words[i].word, text, n) != 0) continue;
        *value = words[i].value;
        return true;
    }
    return false;
}

bool set_variable(Shell *sh, const char *name, const char *value) {
    if (strcmp(name, "ON_ERROR_STOP") != 0) {
        fprintf(stderr, "unknown variable \"%s\"; there is ON_ERROR_STOP\n", name);
        return false;
    }
    if (!value) sh->on_error_stop = false;
    else if (!*value) sh->on_error_stop = true;
    else if (!read_bool(value, &sh->on_error_stop)) {
        fprintf(stderr, "unrecognized value \"%s\" for \"%s\": Boolean expected\n", value, name);
        return false;
    }
    return true;
}

/* \set, \set NAME, \set NAME VALUE */
static bool set_command(Shell *sh, char *arg) {
    if (!*arg) {
        fprintf(sh->out, "ON_ERROR_STOP = '%s'\n", sh->on_error_stop ? "on" : "off");
        return true;
    }
    char *value = arg + strcspn(arg, " \t");
    if (*value) *value++ = 0;
    return set_variable(sh, arg, trim(value));
}

/* ---- the commands ----------------------------------------------------------------------------------- */

/* \o: what was written is looked at when a file is closed. */
static bool redirect(Shell *sh, const char *path) {
    bool ok = close_output(sh);
    if (!*path) return ok;
    FILE *f = fopen(path, "w");
    char *name = f ? strdup(path) : NULL;
    if (!name) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (f) fclose(f);
        return false;
    }
    sh->out = f;
    sh->out_name = name;
    return ok;
}

static bool copy_command(Shell *sh,
                         const char *arg) { /* the shell and the database share a machine: a COPY with the path */
    size_t size = strlen(arg) + 8;
    char *sql = malloc(size);
    if (!sql) return fprintf(stderr, "stele: out of memory\n"), false;
    snprintf(sql, size, "copy %s", arg);
    bool ok = run_sql(sh, sql, strlen(sql));
    free(sql);
    return ok;
}

bool run_command(Shell *sh, const char *line) {
    char name[32];
    size_t n = 0;
    const char *p = line + 1;
    while (*p && *p != ' ' && *p != '\t' && n < sizeof name - 1) name[n++] = *p++;
    name[n] = 0;
    char *copy = strdup(p);
    if (!copy) return fprintf(stderr, "stele: out of memory\n"), false;
    bool ok = true;
    char *arg = strcmp(name, "copy") == 0 || strcmp(name, "echo") == 0 || strcmp(name, "bulk") == 0
                    ? copy + (*copy == ' ')
                    : trim(copy);
    Listing l = {sh, NULL, arg, 0};
    if (strcmp(name, "q") == 0 || strcmp(name, "quit") == 0) {
        sh->quit = true;
    } else if (strcmp(name, "q!") == 0) {
        sh->quit = sh->discard = true;
    } else if (strcmp(name, "set") == 0) {
        ok = set_command(sh, arg);
    } else if (strcmp(name, "unset") == 0) {
        ok = set_variable(sh, arg, NULL);
    } else if (strcmp(name, "?") == 0 || strcmp(name, "h") == 0 || strcmp(name, "help") == 0) {
        fputs(help, sh->out);
    } else if (strcmp(name, "d") == 0 && *arg) {
        Listing options = {sh, NULL, arg, 0};
        if (stele_list_columns(sh->conn, arg, each_column, &l) != STELE_OK ||
            stele_list_options(sh->conn, arg, each_option, &options) != STELE_OK) {
            print_error(sh, NULL);
            ok = false;
        }
        if (options.n > 0) fputc('\n', sh->out);
    } else if (strcmp(name, "d") == 0 || strcmp(name, "dt") == 0 || strcmp(name, "dv") == 0) {
        l.kind = strcmp(name, "dt") == 0 ? "table" : strcmp(name, "dv") == 0 ? "view" : NULL;
        ok = stele_list_tables(sh->conn, each_table, &l) == STELE_OK;
        if (!ok) print_error(sh, NULL);
        else if (l.n == 0) fputs("Nothing there yet.\n", sh->out);
    } else if (strcmp(name, "df") == 0) {
        ok = stele_list_routines(sh->conn, each_routine, &l) == STELE_OK;
        if (!ok) print_error(sh, NULL);
        stele_list_functions(each_function, &l);
    } else if (strcmp(name, "timing") == 0) {
        sh->timing = on_off(arg, sh->timing);
        fprintf(sh->out, "Timing is %s.\n", sh->timing ? "on" : "off");
    } else if (strcmp(name, "x") == 0) {
        sh->expanded = on_off(arg, sh->expanded);
        fprintf(sh->out, "Expanded display is %s.\n", sh->expanded ? "on" : "off");
    } else if (strcmp(name, "format") == 0) {
        static const char *const names[] = {"table", "csv", "json", "markdown"};
        bool found = false;
        for (int i = 0; i < 4; i++)
            if (strcmp(arg, names[i]) == 0) sh->format = (Format)i, found = true;
        ok = found;
        if (!found) fprintf(stderr, "unknown format \"%s\": table, csv, json or markdown\n", arg);
    } else if (strcmp(name, "null") == 0) {
        static char text[64];
        snprintf(text, sizeof text, "%s", arg);
        sh->null_text = text;
    } else if (strcmp(name, "o") == 0) {
        ok = redirect(sh, arg);
    } else if (strcmp(name, "i") == 0) {
        ok = *arg && run_file(sh, arg) == 0;
        if (!*arg) fprintf(stderr, "\\i needs a file name\n");
    } else if (strcmp(name, "e") == 0) {
        ok = edit(sh, arg);
    } else if (strcmp(name, "p") == 0) {
        fprintf(sh->out, "%.*s", (int)sh->len, sh->buffer ? sh->buffer : "");
    } else if (strcmp(name, "r") == 0) {
        forget_buffer(sh);
    } else if (strcmp(name, "echo") == 0) {
        fprintf(sh->out, "%s\n", arg);
    } else if (strcmp(name, "bulk") == 0) {
        ok = run_bulk(sh, arg);
    } else if (strcmp(name, "copy") == 0) {
        ok = copy_command(sh, arg);
    } else {
        fprintf(stderr, "unknown command \\%s; \\? lists the commands\n", name);
        ok = false;
    }
    free(copy);
    return check_output(sh) && ok;
}
