/* main.c - the `stele` program: options, then statements from -c, -f, standard input or the prompt. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/shell.h"

static const char usage[] =
    "usage: stele [DATABASE] [-c SQL]... [-f FILE]... [options]\n"
    "       stele devices                     list the processors found, and why others cannot be used\n"
    "       stele calibrate [DEVICE] [--quick]   measure them (seconds each), for placement and EXPLAIN\n"
    "  DATABASE      a directory (created when missing), or :memory: (the default)\n"
    "  -c SQL        run SQL and leave\n"
    "  -f FILE       run a file (- is standard input) and leave\n"
    "  --csv, --json, --markdown   form of results\n"
    "  --timing      show how long statements take\n"
    "  --threads N   worker threads\n"
    "  --memory-limit BYTES\n"
    "  --quiet       no command tags\n"
    "  --version, --help\n";

typedef struct Job {
    bool file;
    const char *text;
} Job;

static Shell *interrupted_shell;
static void on_interrupt(int sig) {
    (void)sig;
    if (shell_running) stele_interrupt(interrupted_shell->conn);
    else _exit(130);
}

static bool write_out(void *ctx, const char *data, int64_t size) {
    Shell *sh = ctx;
    return fwrite(data, 1, (size_t)size, sh->out) == (size_t)size;
}

/* stele devices, stele calibrate [DEVICE] [--quick]. */
static int machine_command(int argc, char **argv) {
    Shell sh = {.out = stdout, .null_text = "", .path = ":memory:"};
    stele_error_info e;
    const char *device = NULL;
    bool quick = false, calibrate = strcmp(argv[1], "calibrate") == 0;
    for (int i = 2; i < argc; i++) {
        if (calibrate && strcmp(argv[i], "--quick") == 0) quick = true;
        else if (calibrate && argv[i][0] != '-' && !device) device = argv[i];
        else {
            fprintf(stderr, "stele: bad argument \"%s\"\n%s", argv[i], usage);
            return 2;
        }
    }
    if (stele_open(":memory:", NULL, &sh.db, &e) != STELE_OK) {
        fprintf(stderr, "stele: %s: %s\n", e.sqlstate, e.message);
        return 1;
    }
    int rc = 1;
    if (stele_connect(sh.db, &sh.conn) != STELE_OK) {
        fprintf(stderr, "stele: out of memory\n");
    } else if (calibrate && stele_calibrate(sh.conn, device, quick) != STELE_OK) {
        stele_error(sh.conn, &e);
        fprintf(stderr, "stele: %s: %s\n", e.sqlstate, e.message);
        if (*e.detail) fprintf(stderr, "DETAIL:  %s\n", e.detail);
    } else {
        rc = run_sql(&sh, "show devices", 12) ? 0 : 1;
    }
    if (sh.conn) stele_disconnect(sh.conn);
    (void)stele_close(sh.db, &e);
    free(sh.buffer);
    free(sh.last);
    return rc;
}

int main(int argc, char **argv) {
    if (argc > 1 && (strcmp(argv[1], "devices") == 0 || strcmp(argv[1], "calibrate") == 0)) return machine_command(argc, argv);
    Shell sh = {.out = stdout, .null_text = "NULL", .path = ":memory:"};
    stele_options opt = {0};
    Job *jobs = calloc((size_t)argc, sizeof *jobs);
    int n_jobs = 0;
    bool have_path = false;
    if (!jobs) return 1;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        bool more = i + 1 < argc;
        if (strcmp(a, "-c") == 0 && more) jobs[n_jobs++] = (Job){false, argv[++i]};
        else if (strcmp(a, "-f") == 0 && more) jobs[n_jobs++] = (Job){true, argv[++i]};
        else if (strcmp(a, "--csv") == 0) sh.format = FMT_CSV;
        else if (strcmp(a, "--json") == 0) sh.format = FMT_JSON;
        else if (strcmp(a, "--markdown") == 0) sh.format = FMT_MARKDOWN;
        else if (strcmp(a, "--timing") == 0) sh.timing = true;
        else if (strcmp(a, "--quiet") == 0 || strcmp(a, "-q") == 0) sh.quiet = true;
        else if (strcmp(a, "--threads") == 0 && more) opt.threads = (int32_t)atoll(argv[++i]);
        else if (strcmp(a, "--memory-limit") == 0 && more) opt.memory_limit = atoll(argv[++i]);
        else if (strcmp(a, "--version") == 0) {
            printf("stele %s\n", stele_version());
            free(jobs);
            return 0;
        } else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            fputs(usage, stdout);
            free(jobs);
            return 0;
        } else if (a[0] != '-' && !have_path) {
            sh.path = a;
            have_path = true;
        } else {
            fprintf(stderr, "stele: bad argument \"%s\"\n%s", a, usage);
            free(jobs);
            return 2;
        }
    }
    stele_error_info e;
    if (stele_open(sh.path, &opt, &sh.db, &e) != STELE_OK) {
        fprintf(stderr, "stele: cannot open \"%s\": %s: %s\n", sh.path, e.sqlstate, e.message);
        if (*e.detail) fprintf(stderr, "DETAIL:  %s\n", e.detail);
        if (*e.hint) fprintf(stderr, "HINT:  %s\n", e.hint);
        free(jobs);
        return 1;
    }
    if (stele_connect(sh.db, &sh.conn) != STELE_OK) {
        fprintf(stderr, "stele: out of memory\n");
        free(jobs);
        return 1;
    }
    stele_set_copy_streams(sh.conn, read_copy, write_out, &sh);
    stele_set_notice(sh.conn, show_notice, &sh);
    sh.interactive = n_jobs == 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (sh.interactive) {
        interactive_loop(&sh);
    } else {
        interrupted_shell = &sh;
        struct sigaction sa = {.sa_handler = on_interrupt};
        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, NULL);
        sh.stop_on_error = n_jobs > 0;
        for (int i = 0; i < n_jobs && !sh.quit; i++) {
            if (jobs[i].file) {
                (void)run_file(&sh, jobs[i].text);
                continue;
            }
            if (jobs[i].text[0] == '\\') run_command(&sh, jobs[i].text);
            else if (!run_sql(&sh, jobs[i].text, strlen(jobs[i].text))) break;
        }
        if (n_jobs == 0) (void)run_file(&sh, "-");
    }
    int rc = sh.failed && !sh.interactive ? 1 : 0;
    if (sh.out != stdout) fclose(sh.out);
    stele_disconnect(sh.conn);
    if (stele_close(sh.db, &e) != STELE_OK) {
        fprintf(stderr, "stele: cannot save \"%s\": %s: %s\n", sh.path, e.sqlstate, e.message);
        rc = 1;
    }
    free(sh.buffer);
    free(sh.last);
    free(sh.copy_line);
    free(jobs);
    return rc;
}
