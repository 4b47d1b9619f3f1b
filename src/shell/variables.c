/* variables.c - \set and what goes with it. Some variables are the shell's own: their values are checked, and it
 * follows them; some it sets itself after each statement. All others are the user's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command.h"
#include "shell/vars.h"

typedef struct Variable {
    char *name, *value;
} Variable;
struct Variables {
    Variable *items; /* by name */
    size_t n, cap;
};

/* ---- values ------------------------------------------------------------------------------------------- */

bool read_bool(const char *text, bool *value) {
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

static bool set_bool(const char *name, const char *value, bool *to) {
    if (read_bool(value, to)) return true;
    say_error("unrecognized value \"%s\" for \"%s\": Boolean expected\n", value, name);
    return false;
}

/* One of some words: its number. */
static bool set_word(const char *name, const char *value, const char *const *words, int *to) {
    for (int i = 0; words[i]; i++) {
        if (strcasecmp(words[i], value) != 0) continue;
        *to = i;
        return true;
    }
    say_error("unrecognized value \"%s\" for \"%s\"\nAvailable values are: ", value, name);
    for (int i = 0; words[i]; i++) fprintf(stderr, "%s%s", i ? ", " : "", words[i]);
    fputs(".\n", stderr);
    return false;
}

/* ---- the shell's own -------------------------------------------------------------------------------------- */

static bool own_stop(Shell *sh, const char *v) { return set_bool("ON_ERROR_STOP", v, &sh->set.on_error_stop); }
static bool own_quiet(Shell *sh, const char *v) { return set_bool("QUIET", v, &sh->set.quiet); }
static bool own_autocommit(Shell *sh, const char *v) {
    bool on;
    if (!set_bool("AUTOCOMMIT", v, &on)) return false;
    sh->set.autocommit_off = !on;
    return true;
}
static bool own_echo(Shell *sh, const char *v) {
    static const char *const words[] = {"none", "errors", "queries", "all", NULL};
    int i = 0;
    if (!set_word("ECHO", v, words, &i)) return false;
    sh->set.echo = (Echo)i;
    return true;
}
static bool own_verbosity(Shell *sh, const char *v) {
    static const char *const words[] = {"default", "verbose", "terse", "sqlstate", NULL};
    int i = 0;
    if (!set_word("VERBOSITY", v, words, &i)) return false;
    sh->set.verbosity = (Verbosity)i;
    return true;
}
static bool own_rollback(Shell *sh, const char *v) {
    bool on;
    if (strcasecmp(v, "interactive") == 0) {
        sh->set.error_rollback = ROLLBACK_INTERACTIVE;
        return true;
    }
    if (!read_bool(v, &on)) {
        say_error("unrecognized value \"%s\" for \"ON_ERROR_ROLLBACK\"\n"
                  "Available values are: on, off, interactive.\n",
                  v);
        return false;
    }
    sh->set.error_rollback = on ? ROLLBACK_ON : ROLLBACK_OFF;
    return true;
}
static bool own_number(const char *name, const char *v) {
    char *end;
    errno = 0;
    (void)strtol(v, &end, 10);
    if (!errno && end != v && !*end) return true;
    say_error("invalid value \"%s\" for \"%s\": integer expected\n", v, name);
    return false;
}
static bool own_fetch(Shell *sh, const char *v) {
    (void)sh;
    return own_number("FETCH_COUNT", v);
}
static bool own_histsize(Shell *sh, const char *v) {
    (void)sh;
    return own_number("HISTSIZE", v);
}

/* `unset`: what \unset makes of it; an empty value of \set is "on" for Booleans. */
static const struct Own {
    const char *name, *unset;
    bool (*set)(Shell *sh, const char *value);
    bool boolean;
    const char *help;
} own[] = {
    {"AUTOCOMMIT", "off", own_autocommit, true, "if set, successful SQL commands are automatically committed"},
    {"ECHO", "none", own_echo, false, "controls what input is written to standard output [all, errors, none, queries]"},
    {"FETCH_COUNT", "0", own_fetch, false, "accepted for psql's scripts: rows are always written as they come"},
    {"HISTSIZE", "2000", own_histsize, false, "the number of lines to store in the command history"},
    {"ON_ERROR_ROLLBACK", "off", own_rollback, true, "if set, an error does not stop a transaction"},
    {"ON_ERROR_STOP", "off", own_stop, true, "stop a script after an error, with status 3"},
    {"QUIET", "off", own_quiet, true, "run quietly (same as -q option)"},
    {"VERBOSITY", "default", own_verbosity, false, "errors: default, verbose, terse, sqlstate"},
};

static const struct Own *own_variable(const char *name) {
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0) return &own[i];
    return NULL;
}

/* ---- all of them -------------------------------------------------------------------------------------------- */

/* Where a name is, or would be. */
static size_t find(const Variables *v, const char *name, bool *found) {
    size_t low = 0, high = v->n;
    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(v->items[mid].name, name);
        if (c == 0) *found = true;
        if (c < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

const char *variable_get(const Shell *sh, const char *name) {
    bool found;
    if (!sh->variables) return NULL;
    size_t at = find(sh->variables, name, &found);
    return found ? sh->variables->items[at].value : NULL;
}

static bool valid_name(const char *name) {
    for (const char *s = name; *s; s++)
        if (!((*s >= '0' && *s <= '9') || ((*s | 32) >= 'a' && (*s | 32) <= 'z') || *s == '_' || (*s & 0x80)))
            return false;
    return *name != 0;
}

static void remove_variable(Variables *v, const char *name) {
    bool found;
    size_t at = find(v, name, &found);
    if (!found) return;
    free(v->items[at].name);
    free(v->items[at].value);
    memmove(v->items + at, v->items + at + 1, (v->n - at - 1) * sizeof *v->items);
    v->n--;
}

/* A value that has been checked. */
static bool put_variable(Variables *v, const char *name, const char *value) {
    bool found;
    size_t at = find(v, name, &found);
    char *copy = strdup(value);
    if (!copy) return say_no_memory();
    if (found) {
        free(v->items[at].value);
        v->items[at].value = copy;
        return true;
    }
    char *key = strdup(name);
    if (key && v->n == v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 32;
        Variable *more = realloc(v->items, cap * sizeof *more);
        if (more) {
            v->items = more;
            v->cap = cap;
        }
    }
    if (!key || v->n == v->cap) {
        free(key);
        free(copy);
        return say_no_memory();
    }
    memmove(v->items + at + 1, v->items + at, (v->n - at) * sizeof *v->items);
    v->items[at] = (Variable){key, copy};
    v->n++;
    return true;
}

bool variable_set(Shell *sh, const char *name, const char *value) {
    const struct Own *o = own_variable(name);
    if (!valid_name(name)) {
        say_error("invalid variable name: \"%s\"\n", name);
        return false;
    }
    if (o) {
        if (!value) value = o->unset;
        else if (o->boolean && !*value) value = "on";
        if (!o->set(sh, value)) return false;
    }
    if (value) return put_variable(sh->variables, name, value);
    remove_variable(sh->variables, name);
    return true;
}

void variable_set_long(Shell *sh, const char *name, long long value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", value);
    if (sh->variables) (void)put_variable(sh->variables, name, text);
}

bool variables_init(Shell *sh) {
    static const char *const first[][2] = {{"AUTOCOMMIT", "on"},
                                           {"ERROR", "false"},
                                           {"LAST_ERROR_MESSAGE", ""},
                                           {"LAST_ERROR_SQLSTATE", "00000"},
                                           {"ROW_COUNT", "0"},
                                           {"SQLSTATE", "00000"},
                                           {"ENCODING", "UTF8"},
                                           {"SERVER_VERSION_NAME", "15.0 (Stele)"},
                                           {"SERVER_VERSION_NUM", "150000"},
                                           {"USER", "stele"}};
    sh->variables = calloc(1, sizeof *sh->variables);
    if (!sh->variables) return say_no_memory();
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!put_variable(sh->variables, own[i].name, own[i].unset)) return false;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!put_variable(sh->variables, first[i][0], first[i][1])) return false;
    char version[64];
    snprintf(version, sizeof version, "Stele %s", stele_version());
    return put_variable(sh->variables, "VERSION", version) &&
           put_variable(sh->variables, "VERSION_NAME", stele_version());
}

void variables_free(Shell *sh) {
    Variables *v = sh->variables;
    if (!v) return;
    for (size_t i = 0; i < v->n; i++) {
        free(v->items[i].name);
        free(v->items[i].value);
    }
    free(v->items);
    free(v);
    sh->variables = NULL;
}

void variables_list(Shell *sh, bool (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    for (size_t i = 0; sh->variables && i < sh->variables->n; i++)
        if (each(ctx, sh->variables->items[i].name, sh->variables->items[i].value)) return;
}

/* ---- in texts --------------------------------------------------------------------------------------------------- */

static char *quoted(const char *text, char quote) {
    size_t n = strlen(text);
    char *out = malloc(2 * n + 4), *to = out;
    if (!out) return NULL;
    bool escapes = quote == '\'' && strchr(text, '\\');
    if (escapes) *to++ = ' ', *to++ = 'E';
    *to++ = quote;
    for (; *text; text++) {
        if (*text == quote || (escapes && *text == '\\')) *to++ = *text;
        *to++ = *text;
    }
    *to++ = quote;
    *to = 0;
    return out;
}

char *sql_quoted_text(const char *text) { return quoted(text, '\''); }

char *sql_quoted_always(const char *text) { return quoted(text, '"'); }

/* :name, :'name', :"name", :{?name} */
char *variable_expand(const Shell *sh, const char *s, size_t n, size_t *len, bool *failed) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    char open = n > 1 ? s[1] : 0;
    bool test = open == '{', quotes = open == '\'' || open == '"';
    size_t from = 1 + (size_t)(quotes ? 1 : test ? 2 : 0), to = from;
    if (test && (n < 3 || s[2] != '?')) return NULL;
    while (to < n && (strchr(letters, s[to]) || (s[to] & 0x80)) && s[to]) to++;
    if (to == from || (quotes && (to == n || s[to] != open)) || (test && (to == n || s[to] != '}'))) return NULL;
    char *name = strndup(s + from, to - from);
    if (!name) return *failed = true, NULL;
    const char *value = variable_get(sh, name);
    free(name);
    *len = to + (quotes || test);
    char *out = NULL;
    if (test) out = strdup(value ? "TRUE" : "FALSE");
    else if (value) out = quotes ? quoted(value, open) : strdup(value);
    else return NULL;
    *failed = !out;
    return out;
}

/* ---- commands ------------------------------------------------------------------------------------------------------
 */

static bool put_line(void *ctx, const char *name, const char *value) {
    Shell *sh = ctx;
    char *text = sql_quoted_text(value);
    fprintf(sh->out, "%s = %s\n", name, text ? text + (*text == ' ') : "");
    free(text);
    return false;
}

/* \set, \set NAME, \set NAME VALUE...: the values are one text */
static bool set_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_PLAIN);
    if (!name) {
        variables_list(sh, put_line, sh);
        return true;
    }
    char *value = calloc(1, 1);
    size_t n = 0;
    for (const char *part; value && (part = next_arg(a, ARG_PLAIN));) {
        char *more = realloc(value, n + strlen(part) + 1);
        if (!more) {
            free(value);
            value = NULL;
            break;
        }
        value = more;
        memcpy(value + n, part, strlen(part) + 1);
        n += strlen(part);
    }
    if (!value) return say_no_memory();
    bool ok = variable_set(sh, name, value);
    free(value);
    return ok;
}

static bool unset_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_PLAIN);
    return name ? variable_set(sh, name, NULL) : missing_arg(a);
}

/* \prompt [TEXT] NAME */
static bool prompt_command(Shell *sh, Args *a) {
    const char *first = next_arg(a, ARG_PLAIN), *second = next_arg(a, ARG_PLAIN);
    if (!first) return missing_arg(a);
    if (second) fputs(first, stdout);
    fflush(stdout);
    char *line = NULL;
    size_t cap = 0;
    FILE *from = sh->in ? sh->in : stdin;
    ssize_t n = getline(&line, &cap, from);
    if (n > 0 && line[n - 1] == '\n') line[n - 1] = 0;
    bool ok = variable_set(sh, second ? second : first, n > 0 ? line : "");
    free(line);
    return ok;
}

static bool getenv_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_PLAIN), *from = next_arg(a, ARG_PLAIN);
    if (!name || !from) return missing_arg(a);
    const char *value = getenv(from);
    return value ? variable_set(sh, name, value) : true;
}

static bool setenv_command(Shell *sh, Args *a) {
    (void)sh;
    const char *name = next_arg(a, ARG_PLAIN), *value = next_arg(a, ARG_PLAIN);
    if (!name) return missing_arg(a);
    if (strchr(name, '=')) {
        say_error("\\setenv: environment variable name must not contain \"=\"\n");
        return false;
    }
    if ((value ? setenv(name, value, 1) : unsetenv(name)) == 0) return true;
    say_error("\\setenv: %s: %s\n", name, strerror(errno));
    return false;
}

void help_variables(FILE *f) {
    fputs("Variables of the shell (\\set NAME VALUE, -v NAME=VALUE; their values as :NAME, :'NAME', :\"NAME\")\n", f);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) fprintf(f, "  %-20s %s\n", own[i].name, own[i].help);
    fputs("  HISTFILE             the file of the history (~/.stele_history)\n"
          "  PROMPT1, PROMPT2     the prompt, and that of further lines\n"
          "Set after each statement\n"
          "  ERROR                true if it failed\n"
          "  SQLSTATE             its code, or 00000\n"
          "  ROW_COUNT            rows returned or changed\n"
          "  LAST_ERROR_MESSAGE, LAST_ERROR_SQLSTATE   of the last one that failed\n",
          f);
}

const Command variable_commands[] = {
    {"set", "[NAME [VALUE]]", "set a variable, or list all", set_command, 0},
    {"unset", "NAME", "remove a variable", unset_command, 0},
    {"prompt", "[TEXT] NAME", "ask for a variable's value", prompt_command, 0},
    {"getenv", "NAME ENVVAR", "a variable from the environment", getenv_command, 0},
    {"setenv", "NAME [VALUE]", "set or unset an environment variable", setenv_command, 0},
    {0},
};
