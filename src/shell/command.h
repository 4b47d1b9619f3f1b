/* command.h - backslash commands: their table, a file for each family, and how they take arguments. */
#ifndef STELE_SHELL_COMMAND_H
#define STELE_SHELL_COMMAND_H

#include "shell/shell.h"

/* The rest of a line behind a command. */
typedef struct Args {
    Shell *sh;
    const char *command; /* as typed, without the backslash */
    const char *at;
    bool skips;  /* in a branch of \if that is not taken: variables stay as they are */
    bool failed; /* an argument could not be read, which has been shown */
    char *held[32];
    int n;
} Args;
typedef enum ArgKind {
    ARG_PLAIN,  /* a word; quotes '...' with escapes, :variables, `programs` */
    ARG_NORMAL, /* without semicolons at its end */
    ARG_NAME,   /* an identifier as SQL folds it */
    ARG_FILE,   /* as ARG_NORMAL, or |PROGRAM, which is the rest of the line */
    ARG_LINE    /* the rest of the line */
} ArgKind;
/* args.c */
char *next_arg(Args *a, ArgKind kind);  /* NULL: there is none. It lives as long as the command runs */
bool missing_arg(const Args *a);        /* says so; false */
bool has_suffix(const Args *a, char c); /* \dt+: '+' is one */
void args_free(Args *a);

enum {
    COMMAND_ALWAYS = 1, /* runs in a branch that is not taken, too */
    COMMAND_LINE = 2,   /* takes all of its line */
    COMMAND_SUFFIX = 4  /* S, + and x may follow its name */
};
typedef struct Command {
    const char *name, *args;
    const char *help;                /* NULL: another name of the command before it */
    bool (*run)(Shell *sh, Args *a); /* false: it failed, and has said why */
    int flags;
} Command;
/* The families, each ended by a command without a name. */
extern const Command general_commands[], help_commands[], query_commands[], buffer_commands[], io_commands[],
    conditional_commands[], describe_commands[], format_commands[], connection_commands[], system_commands[],
    variable_commands[];

/* command.c */
/* Runs the command at `line`, a backslash; *rest: behind it and its arguments. */
bool run_command(Shell *sh, const char *line, const char **rest);
/* As if it had been typed: with the rest of its line, with one argument. */
bool run_rest(Shell *sh, const char *command, const char *rest);
bool run_text(Shell *sh, const char *command, const char *arg);
void help_commands_list(FILE *f);
const Command *each_command(const Command *c); /* the one behind c; NULL: the first, or there are no more */
/* main.c */
bool change_database(Shell *sh, const char *path); /* \c; NULL: opened again */
/* variables.c, pset.c, sqlhelp.c */
void help_variables(FILE *f);
bool set_print_option(Shell *sh, const char *name, const char *value, bool quiet); /* \pset */
const char *print_option_name(size_t i);                                           /* NULL behind the last */
void print_options_free(PrintOptions *o);
bool help_sql(Shell *sh, const char *topic); /* NULL: the list */
const char *sql_topic(size_t i);             /* NULL behind the last */
/* dot.c */
bool run_dot_command(Shell *sh, const char *line); /* .tables and its like */
const char *dot_name(size_t i);                    /* NULL behind the last */
/* conditional.c, query.c: what a statement's result is used for instead of being printed */
bool use_result(Shell *sh, stele_stmt *s, int64_t *rows);
bool chart_rows(Shell *sh, stele_stmt *s, int64_t *rows);
bool crosstab_rows(Shell *sh, stele_stmt *s, int64_t *rows);
int text_distance(const char *a, const char *b); /* letters to change, add, drop or exchange with the next */
bool closest_command(const char *name, char *out, size_t size); /* what may have been meant */

#endif
