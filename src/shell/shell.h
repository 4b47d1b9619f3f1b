/* shell.h - shared by the shell's files: one Shell, its output settings, and the pieces of the loop.
 *
 * The shell uses only the public interface (stele.h). One thread; SIGINT interrupts the running statement, or abandons the
 * line being typed. */
#ifndef STELE_SHELL_SHELL_H
#define STELE_SHELL_SHELL_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "stele/stele.h"

typedef enum Format { FMT_TABLE, FMT_CSV, FMT_JSON, FMT_MARKDOWN } Format;

typedef struct Shell {
    stele_db *db;
    stele_conn *conn;
    const char *path;
    Format format;
    bool timing, expanded, interactive, quiet;
    bool stop_on_error; /* scripts: -c and -f */
    bool failed;        /* some statement failed: exit status */
    bool quit;
    FILE *out;          /* stdout or the file of \o */
    char *buffer;       /* statement being collected */
    size_t len, cap;
    char *last;         /* last statement run, for \e */
    int depth;          /* of \i */
    const char *null_text;
    FILE *in;           /* the script being read: COPY FROM STDIN takes its lines from there; NULL = standard input */
    bool copying, copy_ended; /* COPY FROM STDIN has begun, has seen its last line */
    char *copy_line;    /* line being handed over */
    size_t copy_cap, copy_len, copy_at;
} Shell;

extern volatile sig_atomic_t shell_running; /* a statement is being run */
extern volatile sig_atomic_t shell_stop;    /* Ctrl-C: print no more rows */

/* output.c */
void print_result(Shell *sh, stele_stmt *s, int64_t *rows);
int terminal_width(void);
int text_width(const char *s, size_t n); /* columns on a terminal */
/* run.c */
bool run_sql(Shell *sh, const char *sql, size_t len); /* all statements; false after an error */
void show_notice(void *ctx, const stele_notice *n); /* to stderr; ctx is the shell */
void print_error(Shell *sh, const char *sql);
void feed_line(Shell *sh, const char *line);          /* collects until a statement is complete, runs it */
void flush_buffer(Shell *sh);                         /* runs what is left at the end of a script */
bool statement_complete(const char *sql, size_t len);
bool run_file(Shell *sh, const char *path);
int64_t read_copy(void *ctx, char *buf, int64_t size); /* stele_set_copy_streams; ctx is the Shell */
/* command.c */
void run_command(Shell *sh, const char *line); /* a backslash command */
/* bulk.c */
void run_bulk(Shell *sh, char *arg); /* \bulk PROCEDURE FILE [SETTING=VALUE ...] */
/* edit.c */
void interactive_loop(Shell *sh);

#endif
