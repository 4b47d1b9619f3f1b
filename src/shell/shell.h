/* shell.h - shared by the shell's files: one Shell, its output settings, and the pieces of the loop.
 *
 * The shell uses only the public interface (stele.h). What signals do is in leave.c. */
#ifndef STELE_SHELL_SHELL_H
#define STELE_SHELL_SHELL_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "stele/stele.h"

typedef enum Format { FMT_TABLE, FMT_CSV, FMT_JSON, FMT_MARKDOWN } Format;

/* psql's exit statuses. */
enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_SCRIPT = 3 /* ON_ERROR_STOP has ended a script */ };

/* How far the statement being collected has been looked at for its end (run.c). */
typedef enum ScanState {
    SCAN_BETWEEN,
    SCAN_LINE_COMMENT,
    SCAN_BLOCK_COMMENT,
    SCAN_QUOTED,
    SCAN_ESCAPED,
    SCAN_NAME,
    SCAN_DOLLAR
} ScanState;
typedef struct Scan {
    ScanState state;
    size_t at;           /* bytes looked at */
    size_t depth;        /* of block comments */
    size_t tag, tag_len; /* SCAN_DOLLAR: where the opening $tag$ is */
} Scan;

typedef struct Shell {
    stele_db *db;
    stele_conn *conn;
    const char *path;
    Format format;
    bool timing, expanded, interactive, quiet;
    bool on_error_stop; /* \set ON_ERROR_STOP: an error ends the script */
    bool quit;          /* \q: no more of this file, or of what is typed */
    bool discard;       /* \q!: nothing is saved */
    FILE *out;          /* stdout or the file of \o */
    char *out_name;     /* of \o; NULL: stdout */
    int write_errno;    /* why writing to `out` failed; 0: it did not */
    bool lost_output;   /* some output did not get where it should: exit status */
    bool broken_output; /* standard output cannot be written: the shell ends */
    bool closed_pipe;   /* ... because its reader has gone */
    bool out_of_memory; /* a value's text could not be made */
    char *buffer;       /* statement being collected */
    size_t len, cap;
    Scan scan;  /* of `buffer` */
    char *last; /* last statement run, for \e */
    int depth;  /* of \i */
    const char *null_text;
    FILE *in; /* the script being read: COPY FROM STDIN takes its lines from there; NULL = standard input */
    bool copying, copy_ended, copy_failed; /* COPY FROM STDIN has begun, has seen its last line, could not read one */
    char *copy_line;                       /* line being handed over */
    size_t copy_cap, copy_len, copy_at;
} Shell;

extern volatile sig_atomic_t shell_running; /* a statement is being run */
extern volatile sig_atomic_t shell_stop;    /* Ctrl-C since the line was typed: no more rows, statements and lines */
extern volatile sig_atomic_t shell_signal;  /* the signal that ends the shell; 0: none has come */

/* output.c */
bool print_result(Shell *sh, stele_stmt *s, int64_t *rows); /* false: out of memory, which has been shown */
bool output_goes_on(Shell *sh);                             /* more rows are wanted and can be written */
int terminal_width(void);
int text_width(const char *s, size_t n); /* columns on a terminal */
/* run.c: true means that there was no error; errors have been shown */
bool run_sql(Shell *sh, const char *sql, size_t len); /* all statements, up to the first error */
void show_notice(void *ctx, const stele_notice *n);   /* to stderr; ctx is the shell */
void print_error(Shell *sh, const char *sql);
bool feed_line(Shell *sh, const char *line, size_t n); /* collects until a statement is complete, runs it */
bool flush_buffer(Shell *sh);                          /* runs what is left at the end of a script */
void forget_buffer(Shell *sh);
/* A file, "-" for standard input: 0, EXIT_ERROR when it cannot be read, EXIT_SCRIPT when an error in it ended it. */
int run_file(Shell *sh, const char *path);
int64_t read_copy(void *ctx, char *buf, int64_t size); /* stele_set_copy_streams; ctx is the Shell */
bool write_copy(void *ctx, const char *data, int64_t size);
/* command.c */
bool run_command(Shell *sh, const char *line);                     /* a backslash command */
bool set_variable(Shell *sh, const char *name, const char *value); /* value NULL: \unset */
/* bulk.c */
bool run_bulk(Shell *sh, char *arg); /* \bulk PROCEDURE FILE [SETTING=VALUE ...] */
/* dump.c */
int dump_command(int argc, char **argv); /* stele dump DATABASE [options]: the exit status */
/* edit.c */
void interactive_loop(Shell *sh);
/* leave.c */
void catch_signals(Shell *sh);
void interrupt_again(void); /* in a handler: the statement that runs, a little later */
void read_begins(void);     /* around a read that a signal is to end, on whatever thread */
void read_ends(void);
void statement_begins(void);
void statement_ends(void);
bool shell_ends(const Shell *sh); /* a signal, or output that cannot be written */
bool check_output(Shell *sh);     /* what was printed has been written; says why not */
bool close_output(Shell *sh);     /* back from the file of \o to standard output */
bool save_at_prompt(Shell *sh);   /* before the prompt is left; false: the shell stays */
int leave(Shell *sh, int status); /* saves and closes the database: the exit status */

#endif
