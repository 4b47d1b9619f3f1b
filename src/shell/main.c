/* main.c - the `stele` program: options, then statements from -c, -f, standard input or the prompt. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/shell.h"

static const char usage[] =
    "usage: stele [DATABASE] [-c SQL]... [-f FILE]... [options]\n"
    "       stele dump DATABASE [options]     write a database as SQL (stele dump --help)\n"
    "       stele devices                     list the processors found, and why others cannot be used\n"
    "       stele calibrate [DEVICE] [--quick]   measure them (seconds each), for placement and EXPLAIN\n"
    "  DATABASE      a directory (created when missing), or :memory: (the default)\n"
    "  -c SQL        run SQL up to its first error, or a backslash command, and leave\n"
    "  -f FILE       run a file (- is standard input) and leave\n"
    "  -v ON_ERROR_STOP=1   an error ends a script, with exit status 3\n"
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

/* Of what is printed without a database. */
static int printed(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "stele: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_ERROR;
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
    int rc = EXIT_ERROR;
    if (stele_connect(sh.db, &sh.conn) != STELE_OK) {
        fprintf(stderr, "stele: out of memory\n");
        (void)stele_close(sh.db, &e);
        return rc;
    }
    if (calibrate && stele_calibrate(sh.conn, device, quick) != STELE_OK) {
        stele_error(sh.conn, &e);
        fprintf(stderr, "stele: %s: %s\n", e.sqlstate, e.message);
        if (*e.detail) fprintf(stderr, "DETAIL:  %s\n", e.detail);
    } else {
        rc = run_sql(&sh, "show devices", 12) ? 0 : EXIT_ERROR;
    }
    return leave(&sh, rc);
}

/* -v NAME=VALUE, and without "=" as \unset. */
static bool set_option(Shell *sh, const char *text) {
    const char *value = strchr(text, '=');
    char *name = strndup(text, value ? (size_t)(value - text) : strlen(text));
    bool ok = name && set_variable(sh, name, value ? value + 1 : NULL);
    free(name);
    return ok;
}

/* -c, -f: psql's exit status, that of the last one that ran. */
static int run_jobs(Shell *sh, const Job *jobs, int n) {
    int status = 0;
    for (int i = 0; i < n && !shell_ends(sh) && (status == 0 || !sh->on_error_stop); i++) {
        sh->quit = false;
        const char *text = jobs[i].text;
        if (jobs[i].file) status = run_file(sh, text);
        else if (text[0] == '\\') status = run_command(sh, text) ? 0 : EXIT_ERROR;
        else status = run_sql(sh, text, strlen(text)) ? 0 : EXIT_ERROR;
        if (sh->discard) break;
    }
    return status;
}

/* Files of a database must not get the numbers of standard streams that are closed (`stele dump d >&-`): what is
 * written to those fails. */
static void occupy_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

int main(int argc, char **argv) {
    occupy_streams();
    if (argc > 1 && (strcmp(argv[1], "devices") == 0 || strcmp(argv[1], "calibrate") == 0))
        return machine_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "dump") == 0) return dump_command(argc, argv);
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
        else if ((strcmp(a, "-v") == 0 || strcmp(a, "--set") == 0 || strcmp(a, "--variable") == 0) && more) {
            if (set_option(&sh, argv[++i])) continue;
            free(jobs);
            return EXIT_USAGE;
        } else if (strcmp(a, "--threads") == 0 && more) opt.threads = (int32_t)atoll(argv[++i]);
        else if (strcmp(a, "--memory-limit") == 0 && more) opt.memory_limit = atoll(argv[++i]);
        else if (strcmp(a, "--version") == 0) {
            printf("stele %s\n", stele_version());
            free(jobs);
            return printed(0);
        } else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            fputs(usage, stdout);
            free(jobs);
            return printed(0);
        } else if (a[0] != '-' && !have_path) {
            sh.path = a;
            have_path = true;
        } else {
            fprintf(stderr, "stele: bad argument \"%s\"\n%s", a, usage);
            free(jobs);
            return EXIT_USAGE;
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
        (void)stele_close(sh.db, &e);
        free(jobs);
        return EXIT_ERROR;
    }
    stele_set_copy_streams(sh.conn, read_copy, write_copy, &sh);
    stele_set_notice(sh.conn, show_notice, &sh);
    sh.interactive = n_jobs == 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    catch_signals(&sh);
    int status = 0;
    if (sh.interactive) interactive_loop(&sh);
    else status = n_jobs > 0 ? run_jobs(&sh, jobs, n_jobs) : run_file(&sh, "-");
    free(jobs);
    return leave(&sh, status);
}
