/* shell.h - shared by the shell's files: one Shell, and the pieces of the loop.
 *
 * The shell uses only the public interface (stele.h). What signals do is in leave.c. */
#ifndef STELE_SHELL_SHELL_H
#define STELE_SHELL_SHELL_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "shell/print.h"
#include "stele/stele.h"

/* psql's exit statuses. */
enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_SCRIPT = 3 /* ON_ERROR_STOP has ended a script */ };

/* How far the statement being collected has been looked at for its end (scan.c). */
typedef enum ScanState {
    SCAN_BETWEEN,
    SCAN_LINE_COMMENT,
    SCAN_BLOCK_COMMENT,
    SCAN_QUOTED,
    SCAN_ESCAPED,
    SCAN_NAME,
    SCAN_DOLLAR
} ScanState;
/* Words of the statement so far, as far as they say that it has a body with semicolons. */
typedef struct ScanBody {
    size_t n_words;
    bool of_routine;
    int depth;
} ScanBody;
typedef struct Scan {
    ScanBody body;
    ScanState state;
    size_t at;           /* bytes looked at */
    size_t depth;        /* of block comments */
    size_t tag, tag_len; /* SCAN_DOLLAR: where the opening $tag$ is */
    size_t plain;        /* text before it has come from a variable: no variables in it */
} Scan;
typedef enum ScanFound { SCAN_END, SCAN_SEMICOLON, SCAN_COMMAND, SCAN_VARIABLE } ScanFound;

/* The statement being collected, and text behind it that has not been looked at. */
typedef struct Collected {
    char *text;
    size_t len, cap;
    Scan scan;
} Collected;

/* COPY FROM STDIN. */
typedef struct CopyInput {
    bool begun, ended, failed; /* has asked for data, has seen its last line, could not read one */
    bool wrote;                /* COPY TO STDOUT: rows have gone to the output, which gets no tag then */
    char *line;                /* being handed over */
    size_t cap, len, at;
} CopyInput;

/* Where results go. */
typedef struct Output {
    char *name;       /* of \o; NULL: stdout */
    bool pipe;        /* a program's input */
    bool pager;       /* ... for one result */
    int write_errno;  /* why writing failed; 0: it did not */
    bool lost;        /* some output did not get where it should: exit status */
    bool broken;      /* standard output cannot be written: the shell ends */
    bool closed_pipe; /* ... because its reader has gone */
} Output;

typedef struct Variables Variables;
typedef struct Conditions Conditions;

typedef enum Echo { ECHO_NONE, ECHO_ERRORS, ECHO_QUERIES, ECHO_ALL } Echo;
typedef enum Verbosity { VERBOSITY_DEFAULT, VERBOSITY_VERBOSE, VERBOSITY_TERSE, VERBOSITY_SQLSTATE } Verbosity;
typedef enum ErrorRollback { ROLLBACK_OFF, ROLLBACK_ON, ROLLBACK_INTERACTIVE } ErrorRollback;

/* Variables that the shell itself follows (variables.c). */
typedef struct Settings {
    bool on_error_stop; /* an error ends the script */
    bool quiet, autocommit_off, single_line;
    Echo echo;
    Verbosity verbosity;
    ErrorRollback error_rollback;
} Settings;

/* The last error, for \errverbose; texts are owned. */
typedef struct LastError {
    char *text; /* NULL: none yet */
} LastError;

/* What is done with the next statement's result instead of printing it (query.c). */
typedef enum ResultUse { USE_PRINT, USE_SET, USE_EXEC, USE_DESCRIBE, USE_CROSSTAB, USE_CHART } ResultUse;

struct Shell {
    stele_db *db;
    stele_conn *conn;
    const char *path;
    char *own_path; /* of \c; NULL: `path` is the command line's */
    stele_options open;
    PrintOptions print;
    Settings set;
    Variables *variables;
    Conditions *conditions;
    bool timing, interactive, read_only;
    bool quit;    /* \q: no more of this file, or of what is typed */
    bool discard; /* \q!: nothing is saved */
    bool asked;   /* that unsaved changes go has been agreed to */
    FILE *out;    /* stdout or the file of \o */
    Output output;
    char *once;         /* where the next statement's results go (.once); NULL: to out */
    bool out_of_memory; /* a value's text could not be made */
    Collected query;
    char *last;         /* last statement run, for \e, \g, \p */
    char *restrict_key; /* of \restrict: no other command until \unrestrict has it, too; NULL: all */
    int depth;          /* of \i */
    FILE *in;           /* the script being read: COPY FROM STDIN takes its lines from there; NULL = standard input */
    const char *in_name;
    CopyInput copy;
    LastError error;
    ResultUse use;
    void *use_arg; /* of `use` */
};

extern volatile sig_atomic_t shell_running; /* a statement is being run */
extern volatile sig_atomic_t shell_stop;    /* Ctrl-C since the line was typed: no more rows, statements and lines */
extern volatile sig_atomic_t shell_signal;  /* the signal that ends the shell; 0: none has come */

/* output.c */
/* Adds to *ms the time that computing rows took. *failed: in the middle. False: out of memory, which has been shown. */
bool print_result(Shell *sh, stele_stmt *s, int64_t *rows, double *ms, bool *failed);
void rows_of_statement(stele_stmt *s, Rows *r);
bool output_goes_on(Shell *sh); /* more rows are wanted and can be written */
/* scan.c */
ScanFound scan_statement(Scan *x, const char *s, size_t n); /* goes on to what ends or interrupts it */
/* run.c: true means that there was no error; errors have been shown */
double now_ms(void);                                  /* of a clock that is never set */
bool run_sql(Shell *sh, const char *sql, size_t len); /* all statements, up to the first error */
bool run_quietly(Shell *sh, const char *sql);         /* one that the shell needs; its result is dropped */
void print_error(Shell *sh, const char *sql);
void show_notice(void *ctx, const stele_notice *n);    /* to stderr; ctx is the shell */
bool feed_line(Shell *sh, const char *line, size_t n); /* collects until a statement is complete, runs it */
bool flush_buffer(Shell *sh);                          /* runs what is left at the end of a script */
void forget_buffer(Shell *sh);
bool run_buffer(Shell *sh);              /* \g: the statement being collected, or the last one again */
void drop_query(Shell *sh);              /* ... is not run; \p and \e still have it */
const char *query_text(const Shell *sh); /* that statement; "" when there is none */
/* A message of the shell's own, with where the script is; it ends with a line break. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void count_script_line(void);                               /* one has been read */
bool say_no_memory(void);                                   /* false */
bool is_one_of(const char *word, const char *const *words); /* NULL ends them */
/* A file, "-" for standard input: 0, EXIT_ERROR when it cannot be read, EXIT_SCRIPT when an error in it ended it. */
int run_file(Shell *sh, const char *path);
int run_stream(Shell *sh, FILE *f, const char *path); /* the same of one that is open */
/* copy.c */
int64_t read_copy(void *ctx, char *buf, int64_t size); /* stele_set_copy_streams; ctx is the Shell */
bool write_copy(void *ctx, const char *data, int64_t size);
void end_copy(Shell *sh);
/* edit.c */
void interactive_loop(Shell *sh);
void show_history(Shell *sh, const char *path);
/* bulk.c */
bool run_bulk(Shell *sh, char *arg); /* \bulk PROCEDURE FILE [SETTING=VALUE ...] */
/* dump.c */
int dump_command(int argc, char **argv);                  /* stele dump DATABASE [options]: the exit status */
bool dump_open_database(Shell *sh, const char *pattern);  /* .dump; pattern NULL: all tables */
bool name_matches(const char *pattern, const char *name); /* as \d and -t take patterns */
/* The same of a name that has its schema, unless that is public, before a point. A pattern without a schema is one of
 * the schemas of `path` (",a,b,"; NULL: of public). */
bool relation_matches(const char *path, const char *pattern, const char *name);
/* The name alone; and its schema. */
const char *name_and_schema(const char *name, char *schema, size_t size);
/* doctor.c */
int doctor_command(int argc, char **argv); /* stele doctor [options]: the exit status */
/* restore.c */
int restore_command(int argc, char **argv); /* stele restore SOURCE DATABASE [options]: the exit status */
/* inspect.c */
int check_command(int argc, char **argv); /* stele check DIRECTORY [options]: the exit status */
int log_command(int argc, char **argv);   /* stele log DIRECTORY [options] */
/* main.c */
const char *version_line(void); /* "stele 0.1.0 (commit)" */
int printed(int status);        /* the status, or EXIT_ERROR when standard output cannot be written, which it says */
/* leave.c */
void catch_signals(Shell *sh);
void interrupt_again(void); /* in a handler: the statement that runs, a little later */
void read_begins(void);     /* around a read that a signal is to end, on whatever thread */
void read_ends(void);
void statement_begins(void);
void statement_ends(void);
bool shell_ends(const Shell *sh);              /* a signal, or output that cannot be written */
bool check_output(Shell *sh);                  /* what was printed has been written; says why not */
bool open_output(Shell *sh, const char *path); /* to a file, or a program's input: "|program" */
/* Between them output goes to `path`. The end is always called, also where the begin has failed. */
typedef struct OutputBefore {
    FILE *out;
    Output output;
} OutputBefore;
bool output_begin(Shell *sh, const char *path, OutputBefore *before);
bool output_end(Shell *sh, OutputBefore *before);
bool close_output(Shell *sh);     /* back from the file of \o to standard output */
bool ask_to_leave(Shell *sh);     /* at the prompt, when changes would go; false: the shell stays */
bool save_at_prompt(Shell *sh);   /* before the prompt is left; false: the shell stays */
int leave(Shell *sh, int status); /* saves and closes the database: the exit status */

#endif
