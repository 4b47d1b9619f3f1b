/* leave.c - how the shell ends: signals, output that cannot be written, saving the database.
 *
 * A database is in memory and saved when the shell ends, so everything that ends the shell has to go through leave():
 *
 *   SIGHUP, SIGTERM, SIGQUIT, and in scripts SIGINT
 *       the running statement is canceled, the script or prompt ends: status 128 + n
 *   standard output cannot be written
 *       as an error that ends the script: status 1, or 128 + SIGPIPE when its reader has gone
 *   \q or Ctrl-D at the prompt
 *       saved before the prompt is left; when that fails the shell stays
 *
 * Handlers set shell_signal and interrupt the statement, nothing else; the loops that read lines look at it. A handler
 * may run just before the library begins a statement (which forgets earlier interrupts) or before a read that then
 * waits: so it comes again soon (SIGALRM) until the shell has noticed, and on the thread that reads COPY's data. No
 * handler restarts system calls: a read that waits returns. SIGPIPE and SIGXFSZ have a handler that does nothing, so
 * that writing fails instead; unlike SIG_IGN it is not inherited by editors. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "shell/command.h"
#include "shell/vars.h"

volatile sig_atomic_t shell_running, shell_stop, shell_signal;
static volatile sig_atomic_t leaving;
static Shell *shell;
/* COPY reads its data on any thread, and only the read of the thread that has the signal returns. The library's threads
 * block all signals. */
static pthread_t reader;
static _Atomic bool waits;
static sigset_t reader_mask;
void read_begins(void) {
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, &reader_mask);
    reader = pthread_self();
    atomic_store(&waits, true);
}
void read_ends(void) {
    atomic_store(&waits, false);
    pthread_sigmask(SIG_SETMASK, &reader_mask, NULL);
}

static void on_nothing(int sig) { (void)sig; }

void interrupt_again(void) {
    struct itimerval soon = {.it_value = {.tv_usec = 100000}};
    setitimer(ITIMER_REAL, &soon, NULL);
}
static void no_alarm(void) {
    struct itimerval none = {.it_value = {.tv_usec = 0}};
    setitimer(ITIMER_REAL, &none, NULL);
}

static void on_alarm(int sig) {
    (void)sig;
    if (leaving || (!shell_signal && !shell_running)) return;
    if (shell_running) stele_interrupt(shell->conn);
    if (atomic_load(&waits) && !pthread_equal(reader, pthread_self())) pthread_kill(reader, SIGALRM);
    interrupt_again();
}

static void on_end(int sig) {
    if (!shell_signal) shell_signal = sig;
    on_alarm(SIGALRM);
}

static void catch (int sig, void (*handler)(int)) {
    struct sigaction old, sa = {.sa_handler = handler};
    sigemptyset(&sa.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN && handler != on_nothing)
        return; /* nohup and background jobs: it stays ignored */
    sigaction(sig, &sa, NULL);
}

void catch_signals(Shell *sh) {
    shell = sh;
    catch (SIGALRM, on_alarm);
    catch (SIGPIPE, on_nothing);
    catch (SIGXFSZ, on_nothing);
    catch (SIGHUP, on_end);
    catch (SIGTERM, on_end);
    catch (SIGQUIT, on_end);
    if (!sh->interactive) catch (SIGINT, on_end);
}

/* Around what stele_interrupt is to cancel. */
void statement_begins(void) { shell_running = 1; }
void statement_ends(void) {
    shell_running = 0;
    no_alarm();
    if (shell_signal) interrupt_again(); /* it may have come just before */
}

bool shell_ends(const Shell *sh) { return shell_signal != 0 || sh->output.broken; }

/* ---- output ----------------------------------------------------------------------------------------- */

/* An error of `out` is shown once. That of a file of \o is one of the statement; without standard output the shell
 * ends. */
bool check_output(Shell *sh) {
    if (sh->output.broken) return false;
    if (fflush(sh->out) != 0 && !sh->output.write_errno) sh->output.write_errno = errno;
    if (!ferror(sh->out) && !sh->output.write_errno) return true;
    int why = sh->output.write_errno ? sh->output.write_errno : EIO;
    clearerr(sh->out);
    sh->output.write_errno = 0;
    if (why == EINTR && (shell_signal || shell_stop)) return true; /* a signal has ended the output */
    if (why == EPIPE && sh->output.pipe) return true;              /* the program has read what it wanted */
    sh->output.lost = true;
    sh->output.broken = sh->out == stdout;
    sh->output.closed_pipe = sh->output.broken && why == EPIPE;
    if (!sh->output.closed_pipe)
        fprintf(stderr, "stele: cannot write to %s: %s\n", sh->output.name ? sh->output.name : "standard output",
                strerror(why));
    return false;
}

bool open_output(Shell *sh, const char *path) {
    bool pipe = *path == '|';
    fflush(sh->out);
    FILE *f = pipe ? popen(path + 1, "w") : fopen(path, "w");
    char *name = f ? strdup(path) : NULL;
    if (!name) {
        say_error("%s: %s\n", path, strerror(errno));
        if (f) (void)(pipe ? pclose(f) : fclose(f));
        return false;
    }
    sh->out = f;
    sh->output.name = name;
    sh->output.pipe = pipe;
    return true;
}

/* What a program has not read is no error: it may have left early. */
bool close_output(Shell *sh) {
    if (sh->out == stdout) return true;
    bool ok = sh->output.pipe || check_output(sh);
    int status = sh->output.pipe ? pclose(sh->out) : fclose(sh->out);
    if (status != 0 && ok) {
        if (sh->output.pipe) {
            fprintf(stderr, "stele: \"%s\" failed\n", sh->output.name + 1);
        } else {
            fprintf(stderr, "stele: cannot write to %s: %s\n", sh->output.name, strerror(errno));
            sh->output.lost = true;
        }
        ok = false;
    }
    sh->out = stdout;
    free(sh->output.name);
    sh->output.name = NULL;
    sh->output.pipe = false;
    sh->output.write_errno = 0;
    return ok;
}

bool output_begin(Shell *sh, const char *path, OutputBefore *before) {
    (void)check_output(sh);
    *before = (OutputBefore){sh->out, sh->output};
    sh->output = (Output){0};
    sh->out = stdout;
    return open_output(sh, path);
}
bool output_end(Shell *sh, OutputBefore *before) {
    bool ok = close_output(sh);
    before->output.lost |= sh->output.lost;
    sh->out = before->out;
    sh->output = before->output;
    return ok;
}

/* ---- saving ----------------------------------------------------------------------------------------- */

static void show_save_error(const Shell *sh, const stele_error_info *e) {
    fprintf(stderr, "stele: cannot save \"%s\": %s: %s\n", sh->path, e->sqlstate, e->message);
    if (*e->detail) fprintf(stderr, "DETAIL:  %s\n", e->detail);
    if (*e->hint) fprintf(stderr, "HINT:  %s\n", e->hint);
}

static bool count_tables(void *ctx, const char *name, const char *kind, int64_t rows) {
    (void)name, (void)rows;
    if (strcmp(kind, "table") == 0) ++*(int64_t *)ctx;
    return false;
}

/* Until there is something to read, or a signal has come: one that comes just before is not missed. */
static void await_answer(void) {
    sigset_t block, before;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    sigemptyset(&block);
    const int signals[] = {SIGINT, SIGHUP, SIGTERM, SIGQUIT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&block, signals[i]);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    if (!shell_stop && !shell_signal) (void)ppoll(&in, 1, NULL, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* What would go: an open transaction's changes, the tables of a database in memory. An end of file is yes. */
bool ask_to_leave(Shell *sh) {
    int64_t tables = 0;
    bool open = stele_transaction_state(sh->conn) != 'I', memory = strcmp(sh->path, ":memory:") == 0;
    if (!sh->interactive || sh->discard || sh->asked || sh->in || shell_signal || !isatty(STDIN_FILENO)) return true;
    if (memory && !open && stele_list_tables(sh->conn, count_tables, &tables) != STELE_OK) tables = 0;
    if (!open && tables == 0) return true;
    if (open) fputs("A transaction is open, and its changes are not saved.", stdout);
    else
        printf("The database is in memory only: %lld table%s will be gone.", (long long)tables, tables == 1 ? "" : "s");
    fputs(" Leave? [y/N] ", stdout);
    fflush(stdout);
    char *line = NULL;
    size_t cap = 0;
    await_answer();
    ssize_t n = -1;
    if (!shell_stop && !shell_signal) n = getline(&line, &cap, stdin);
    bool yes = n <= 0 || *line == 'y' || *line == 'Y';
    if (n <= 0) {
        clearerr(stdin);
        putchar('\n');
    }
    free(line);
    if (shell_stop && !shell_signal) yes = false; /* Ctrl-C */
    if (!yes)
        fputs(memory ? "Still here. \\o FILE, then .dump, writes the database to a file; \\q! leaves without asking.\n"
                     : "Still here. COMMIT or ROLLBACK ends the transaction; \\q! leaves without asking.\n",
              stdout);
    sh->asked = yes;
    return yes;
}

/* As leaving would: an open transaction is rolled back. What could not be saved is still there. */
bool save_at_prompt(Shell *sh) {
    if (sh->discard || sh->read_only) return true;
    bool open = stele_transaction_state(sh->conn) != 'I';
    if (open) (void)stele_exec(sh->conn, "rollback", NULL, NULL);
    if (stele_exec(sh->conn, "checkpoint", NULL, NULL) == STELE_OK) return true;
    stele_error_info e;
    stele_error(sh->conn, &e);
    show_save_error(sh, &e);
    sh->asked = false;
    if (open) fputs("The open transaction was rolled back.\n", stderr);
    fputs(
        "Nothing was saved, and the shell stays: make room and leave again, or copy what you need elsewhere (\\copy).\n"
        "\\q! leaves without saving; the directory then has what was saved last.\n",
        stderr);
    return false;
}

static int close_database(Shell *sh, int status) {
    stele_error_info e;
    stele_disconnect(sh->conn); /* rolls an open transaction back */
    if (sh->discard) {
        (void)stele_discard(sh->db);
    } else if (stele_close(sh->db, &e) != STELE_OK) {
        show_save_error(sh, &e);
        fprintf(stderr, "The changes since it was saved last are lost.\n");
        (void)stele_discard(sh->db);
        status = EXIT_ERROR;
    }
    return status;
}

int leave(Shell *sh, int status) {
    leaving = 1;
    no_alarm();
    (void)close_output(sh);
    (void)check_output(sh);
    if (sh->output.lost && status == 0) status = EXIT_ERROR;
    if (sh->output.broken) status = sh->output.closed_pipe ? 128 + SIGPIPE : EXIT_ERROR;
    if (shell_signal) status = 128 + shell_signal;
    status = close_database(sh, status);
    free(sh->query.text);
    free(sh->last);
    free(sh->once);
    free(sh->restrict_key);
    free(sh->own_path);
    free(sh->copy.line);
    free(sh->error.text);
    print_options_free(&sh->print);
    variables_free(sh);
    conditions_free(sh->conditions);
    return status;
}
