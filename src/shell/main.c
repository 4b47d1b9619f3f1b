/* main.c - the `stele` program: options, then statements from -c, -f, standard input or the prompt. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/command.h"
#include "shell/vars.h"

#ifdef STELE_COMMIT /* cmake/install.cmake */
#define COMMIT " (" STELE_COMMIT ")"
#else
#define COMMIT ""
#endif

static const char usage[] =
    "usage: stele [DATABASE] [-c SQL]... [-f FILE]... [options]\n"
    "       stele dump DATABASE [options]     write a database as SQL (stele dump --help)\n"
    "       stele restore SOURCE DATABASE     a database from a dump (stele restore --help)\n"
    "       stele check DIRECTORY             look for damage in all its files (stele check --help)\n"
    "       stele log DIRECTORY               list the records of its redo log (stele log --help)\n"
    "       stele devices                     list the processors found, and why others cannot be used\n"
    "       stele calibrate [DEVICE] [--quick]   measure them (seconds each), for placement and EXPLAIN\n"
    "       stele doctor [--json] [--disk]    what was found on this machine, and what would make it faster\n"
    "  DATABASE      a directory (created when missing), or :memory: (the default); also -d DATABASE\n"
    "  --readonly    DATABASE must be there, is not changed, and others may read it too\n"
    "  --durable     commits are logged in DATABASE: what was acknowledged survives crashes and power cuts\n";

typedef struct Job {
    bool file;
    const char *text;
} Job;
typedef struct Start {
    Shell *sh;
    Job *jobs; /* -c, -f, in turn */
    int n_jobs;
    bool have_path, single_transaction, list, ends; /* ends: what was asked for is done */
} Start;

const char *version_line(void) {
    static char line[128];
    snprintf(line, sizeof line, "stele %s" COMMIT, stele_version());
    return line;
}

/* Of what is printed without a database. */
int printed(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "stele: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_ERROR;
}

/* ---- stele devices, stele calibrate [DEVICE] [--quick] ------------------------------------------------- */

static int machine_command(int argc, char **argv) {
    Shell sh = {.out = stdout, .print = {.format = formats, .border = 1}, .path = ":memory:"};
    stele_error_info e;
    const char *device = NULL;
    bool quick = false, calibrate = strcmp(argv[1], "calibrate") == 0;
    for (int i = 2; i < argc; i++) {
        if (calibrate && strcmp(argv[i], "--quick") == 0) quick = true;
        else if (calibrate && argv[i][0] != '-' && !device) device = argv[i];
        else {
            fprintf(stderr, "stele: bad argument \"%s\"\n%s", argv[i], usage);
            return EXIT_USAGE;
        }
    }
    if (stele_open(":memory:", NULL, &sh.db, &e) != STELE_OK) {
        fprintf(stderr, "stele: %s: %s\n", e.sqlstate, e.message);
        return EXIT_ERROR;
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

/* ---- options ------------------------------------------------------------------------------------------- */

static bool add_job(Start *s, bool file, const char *text) {
    s->jobs[s->n_jobs++] = (Job){file, text};
    return true;
}
static bool sql_option(Start *s, const char *v) { return add_job(s, false, v); }
static bool file_option(Start *s, const char *v) { return add_job(s, true, v); }
static bool path_option(Start *s, const char *v) {
    s->sh->path = v;
    s->have_path = true;
    return true;
}
/* -v NAME=VALUE, and without "=" as \unset. */
static bool variable_option(Start *s, const char *v) {
    const char *value = strchr(v, '=');
    char *name = strndup(v, value ? (size_t)(value - v) : strlen(v));
    bool ok = name && variable_set(s->sh, name, value ? value + 1 : NULL);
    free(name);
    return ok;
}
/* -P NAME=VALUE */
static bool pset_option(Start *s, const char *v) {
    const char *value = strchr(v, '=');
    char *name = strndup(v, value ? (size_t)(value - v) : strlen(v));
    bool ok = name && set_print_option(s->sh, name, value ? value + 1 : "", true);
    free(name);
    return ok;
}
static bool threads_option(Start *s, const char *v) {
    s->sh->open.threads = (int32_t)atoll(v);
    return true;
}
static bool memory_option(Start *s, const char *v) {
    s->sh->open.memory_limit = atoll(v);
    return true;
}
static bool output_option(Start *s, const char *v) { return close_output(s->sh) && open_output(s->sh, v); }
static bool null_option(Start *s, const char *v) { return set_print_option(s->sh, "null", v, true); }
static bool separator_option(Start *s, const char *v) { return set_print_option(s->sh, "fieldsep", v, true); }
static bool record_option(Start *s, const char *v) { return set_print_option(s->sh, "recordsep", v, true); }
static bool attribute_option(Start *s, const char *v) { return set_print_option(s->sh, "tableattr", v, true); }
static bool timing_option(Start *s, const char *v) {
    (void)v;
    return s->sh->timing = true;
}
static bool quiet_option(Start *s, const char *v) {
    (void)v;
    return variable_set(s->sh, "QUIET", "on");
}
static bool tuples_option(Start *s, const char *v) {
    (void)v;
    return s->sh->print.tuples_only = true;
}
static bool unaligned_option(Start *s, const char *v) {
    (void)v;
    return set_print_option(s->sh, "format", "unaligned", true);
}
static bool html_option(Start *s, const char *v) {
    (void)v;
    return set_print_option(s->sh, "format", "html", true);
}
static bool header_option(Start *s, const char *v) {
    (void)v;
    s->sh->print.tuples_only = false;
    return true;
}
static bool expanded_option(Start *s, const char *v) {
    (void)v;
    s->sh->print.expanded = EXPANDED_ON;
    return true;
}
static bool bail_option(Start *s, const char *v) {
    (void)v;
    return variable_set(s->sh, "ON_ERROR_STOP", "on");
}
static bool echo_all_option(Start *s, const char *v) {
    (void)v;
    return variable_set(s->sh, "ECHO", "all");
}
static bool echo_queries_option(Start *s, const char *v) {
    (void)v;
    return variable_set(s->sh, "ECHO", "queries");
}
static bool echo_errors_option(Start *s, const char *v) {
    (void)v;
    return variable_set(s->sh, "ECHO", "errors");
}
static bool readonly_option(Start *s, const char *v) {
    (void)v;
    return s->sh->read_only = s->sh->open.read_only = true;
}
static bool durable_option(Start *s, const char *v) {
    (void)v;
    return s->sh->open.durable = true;
}
static bool single_option(Start *s, const char *v) {
    (void)v;
    return s->single_transaction = true;
}
static bool list_option(Start *s, const char *v) {
    (void)v;
    return s->list = true;
}
static bool nothing_option(Start *s, const char *v) {
    (void)s, (void)v;
    return true;
}
static bool version_option(Start *s, const char *v) {
    (void)v;
    puts(version_line());
    return s->ends = true;
}
static bool help_option(Start *s, const char *v);

static const struct Option {
    const char *brief, *full, *value; /* value NULL: it takes none */
    const char *help;                 /* NULL: not listed */
    bool (*set)(Start *s, const char *value);
} options[] = {
    {"-c", "--command", "SQL", "run SQL up to its first error, or a backslash command, and leave", sql_option},
    {"-f", "--file", "FILE", "run a file (- is standard input) and leave", file_option},
    {"-v", "--variable", "NAME=VALUE", "as \\set; ON_ERROR_STOP=1: an error ends a script, status 3", variable_option},
    {NULL, "--set", "NAME=VALUE", NULL, variable_option},
    {"-d", "--dbname", "DATABASE", NULL, path_option},
    {NULL, "--readonly", NULL, NULL, readonly_option},
    {NULL, "--durable", NULL, NULL, durable_option},
    {"-A", "--no-align", NULL, "results with | between values (as psql)", unaligned_option},
    {"-t", "--tuples-only", NULL, "rows only", tuples_option},
    {"-x", "--expanded", NULL, "one line per column", expanded_option},
    {"-H", "--html", NULL, "results as HTML; also --csv, --json, --jsonlines, --markdown, --box, ...", html_option},
    {"-P", "--pset", "NAME=VALUE", "as \\pset: format, border, null, pager ...", pset_option},
    {"-F", "--field-separator", "TEXT", "of -A", separator_option},
    {"-R", "--record-separator", "TEXT", "of -A", record_option},
    {"-T", "--table-attr", "TEXT", NULL, attribute_option},
    {NULL, "--nullvalue", "TEXT", "what NULL looks like", null_option},
    {NULL, "--separator", "TEXT", NULL, separator_option},
    {NULL, "--header", NULL, NULL, header_option},
    {NULL, "--noheader", NULL, NULL, tuples_option},
    {"-o", "--output", "FILE", "results to a file, or |PROGRAM", output_option},
    {"-1", "--single-transaction", NULL, "all of -c and -f as one transaction", single_option},
    {"-a", "--echo-all", NULL, "show lines of scripts before they run", echo_all_option},
    {NULL, "--echo", NULL, NULL, echo_all_option},
    {"-e", "--echo-queries", NULL, "show statements before they run", echo_queries_option},
    {"-b", "--echo-errors", NULL, "show statements that fail", echo_errors_option},
    {NULL, "--bail", NULL, NULL, bail_option},
    {"-l", "--list", NULL, "list the database", list_option},
    {NULL, "--timing", NULL, "show how long statements take", timing_option},
    {NULL, "--threads", "N", "worker threads", threads_option},
    {NULL, "--memory-limit", "BYTES", "memory of the database", memory_option},
    {"-q", "--quiet", NULL, "no command tags", quiet_option},
    {"-X", "--no-psqlrc", NULL, NULL, nothing_option},
    {"-n", "--no-readline", NULL, NULL, nothing_option},
    {"-V", "--version", NULL, "the version", version_option},
    {"-h", "--help", NULL, "this list", help_option},
    {"-?", "--help", NULL, NULL, help_option},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static bool help_option(Start *s, const char *v) {
    (void)v;
    fputs(usage, stdout);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct Option *o = &options[i];
        char use[64];
        if (!o->help) continue;
        snprintf(use, sizeof use, "%s%s%s%s%s", o->brief ? o->brief : "", o->brief ? ", " : "", o->full,
                 o->value ? " " : "", o->value ? o->value : "");
        printf("  %-32s %s\n", use, o->help);
    }
    return s->ends = true;
}

/* A format by its name: --csv, -csv; NULL: it is none. */
static const Format *format_named(const char *arg) {
    const char *name = arg + strspn(arg, "-");
    size_t n = strlen(name);
    const Format *f = n > 1 ? find_format(name, n) : NULL;
    return f && strlen(f->name) == n ? f : NULL;
}

/* One of argv; 1: taken, 0: there is no such option, -1: bad, which has been said. */
static int read_option(Start *s, int argc, char **argv, int *i) {
    const char *arg = argv[*i];
    for (size_t k = 0; k < N_OPTIONS; k++) {
        const struct Option *o = &options[k];
        size_t n = strlen(o->full);
        const char *value = NULL;
        bool brief = o->brief && strcmp(arg, o->brief) == 0;
        bool full = strcmp(arg, o->full) == 0 || (arg[1] != '-' && n > 4 && strcmp(arg, o->full + 1) == 0);
        if (strncmp(arg, o->full, n) == 0 && arg[n] == '=' && o->value) value = arg + n + 1;
        else if (o->brief && o->value && strncmp(arg, o->brief, 2) == 0 && arg[2] && !full && arg[1] != '-' &&
                 !format_named(arg))
            value = arg + 2;
        else if (!brief && !full) continue;
        if (o->value && !value) {
            if (*i + 1 >= argc) return 0;
            value = argv[++*i];
        }
        return o->set(s, value) ? 1 : -1;
    }
    if (!format_named(arg)) return 0;
    s->sh->print.format = format_named(arg);
    return 1;
}

/* Letters together, as -At; the last may have a value in it or behind it: -AtF; -Atc SQL. */
static int read_letters(Start *s, int argc, char **argv, int *i) {
    const char *arg = argv[*i];
    if (arg[0] != '-' || arg[1] == '-' || !arg[1]) return 0;
    for (const char *c = arg + 1; *c; c++) {
        const struct Option *o = NULL;
        for (size_t k = 0; k < N_OPTIONS && !o; k++)
            if (options[k].brief && options[k].brief[1] == *c) o = &options[k];
        if (!o) return 0;
        if (o->value) break;
    }
    for (const char *c = arg + 1; *c; c++) {
        const struct Option *o = options;
        while (!o->brief || o->brief[1] != *c) o++;
        const char *value = o->value && c[1] ? c + 1 : NULL;
        if (o->value && !value && *i + 1 >= argc) return 0;
        if (o->value && !value) value = argv[++*i];
        if (!o->set(s, value)) return -1;
        if (o->value) break;
    }
    return 1;
}

/* False: the shell ends with *status. */
static bool read_options(Start *s, int argc, char **argv, int *status) {
    *status = EXIT_USAGE;
    for (int i = 1; i < argc && !s->ends; i++) {
        const char *a = argv[i];
        int r = 0;
        if (a[0] != '-' && !s->have_path) r = path_option(s, a);
        else if (a[0] == '-' && a[1]) r = read_option(s, argc, argv, &i);
        if (r == 0) r = read_letters(s, argc, argv, &i);
        if (r > 0) continue;
        if (r == 0) fprintf(stderr, "stele: bad argument \"%s\"\n%sstele --help lists the options\n", a, usage);
        return false;
    }
    if (s->ends) *status = printed(0);
    return !s->ends;
}

/* ---- databases ------------------------------------------------------------------------------------------ */

/* A large result goes to temporary files, so that memory does not grow with its rows. */
static void begin_session(Shell *sh, stele_conn *conn) {
    stele_set_copy_streams(conn, read_copy, write_copy, sh);
    stele_set_notice(conn, show_notice, sh);
    (void)stele_exec(conn, "set result_memory = '128MB'", NULL, NULL);
}

static bool open_database(Shell *sh, const char *path, stele_db **db, stele_conn **conn) {
    stele_error_info e;
    if (stele_open(path, &sh->open, db, &e) != STELE_OK) {
        fprintf(stderr, "stele: cannot open \"%s\": %s: %s\n", path, e.sqlstate, e.message);
        if (*e.detail) fprintf(stderr, "DETAIL:  %s\n", e.detail);
        if (*e.hint) fprintf(stderr, "HINT:  %s\n", e.hint);
        return false;
    }
    if (stele_connect(*db, conn) == STELE_OK) {
        begin_session(sh, *conn);
        return true;
    }
    (void)say_no_memory();
    (void)stele_discard(*db);
    return false;
}

/* What has changed is saved before the other database takes its place; on an error all stays as it is. */
bool change_database(Shell *sh, const char *path) {
    bool same = !path || strcmp(path, sh->path) == 0;
    bool memory = path && strcmp(path, ":memory:") == 0;
    stele_db *db = sh->db;
    stele_conn *conn = NULL;
    char *name = same ? NULL : strdup(path);
    if (!same && !name) return say_no_memory();
    if (same && !memory) {
        if (stele_connect(db, &conn) != STELE_OK) return say_no_memory();
        begin_session(sh, conn);
        stele_disconnect(sh->conn);
        sh->conn = conn;
    } else {
        if (!ask_to_leave(sh) || !save_at_prompt(sh) || !open_database(sh, path, &db, &conn)) {
            free(name);
            return false;
        }
        stele_disconnect(sh->conn);
        (void)stele_discard(sh->db); /* it has been saved */
        sh->db = db;
        sh->conn = conn;
        if (name) {
            free(sh->own_path);
            sh->path = sh->own_path = name;
        }
    }
    sh->asked = false;
    if (!sh->set.quiet && sh->interactive)
        printf("You are now connected to database \"%s\" as user \"stele\".\n", sh->path);
    return variable_set(sh, "DBNAME", sh->path);
}

/* ---- the program ------------------------------------------------------------------------------------------- */

/* -c, -f: psql's exit status, that of the last one that ran. */
static int run_jobs(Shell *sh, const Start *s) {
    int status = 0;
    bool failed = s->single_transaction && !run_quietly(sh, "begin");
    for (int i = 0; i < s->n_jobs && !shell_ends(sh) && (status == 0 || !sh->set.on_error_stop); i++) {
        sh->quit = false;
        const char *text = s->jobs[i].text;
        if (s->jobs[i].file) {
            status = run_file(sh, text);
        } else if (text[0] == '\\' || text[0] == '.') {
            status = feed_line(sh, text, strlen(text)) && flush_buffer(sh) ? 0 : EXIT_ERROR;
            forget_buffer(sh);
        } else {
            if (sh->set.echo == ECHO_ALL || sh->set.echo == ECHO_QUERIES) fprintf(sh->out, "%s\n", text);
            status = run_sql(sh, text, strlen(text)) ? 0 : EXIT_ERROR;
        }
        failed |= status != 0;
        if (sh->discard) break;
    }
    if (s->single_transaction && stele_transaction_state(sh->conn) != 'I') {
        bool kept = stele_transaction_state(sh->conn) == 'T' && !(failed && sh->set.on_error_stop);
        if (!run_quietly(sh, kept ? "commit" : "rollback") && status == 0) status = EXIT_ERROR;
    }
    return status;
}

/* Files of a database must not get the numbers of standard streams that are closed (`stele dump d >&-`): what is
 * written to those fails. */
static void occupy_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

static int run_shell(Shell *sh, const Start *s) {
    sh->interactive = s->n_jobs == 0 && !s->list && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    catch_signals(sh);
    int status = 0;
    (void)variable_set(sh, "DBNAME", sh->path);
    if (s->list) status = run_text(sh, "l", NULL) ? 0 : EXIT_ERROR;
    else if (sh->interactive) interactive_loop(sh);
    else status = s->n_jobs > 0 ? run_jobs(sh, s) : run_file(sh, "-");
    return leave(sh, status);
}

int main(int argc, char **argv) {
    occupy_streams();
    if (argc > 1 && (strcmp(argv[1], "devices") == 0 || strcmp(argv[1], "calibrate") == 0))
        return machine_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "dump") == 0) return dump_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "restore") == 0) return restore_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "check") == 0) return check_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "log") == 0) return log_command(argc, argv);
    if (argc > 1 && strcmp(argv[1], "doctor") == 0) return doctor_command(argc, argv);
    Shell sh = {.out = stdout, .print = {.format = formats, .border = 1, .pager = PAGER_ON}, .path = ":memory:"};
    Start s = {.sh = &sh, .jobs = calloc((size_t)argc * 2, sizeof *s.jobs)};
    int status = EXIT_ERROR;
    sh.conditions = conditions_new();
    bool ok = s.jobs && sh.conditions && variables_init(&sh);
    if (ok && read_options(&s, argc, argv, &status)) {
        status = EXIT_ERROR;
        if (open_database(&sh, sh.path, &sh.db, &sh.conn)) {
            status = run_shell(&sh, &s);
            free(s.jobs);
            return status;
        }
    }
    (void)close_output(&sh);
    print_options_free(&sh.print);
    variables_free(&sh);
    conditions_free(sh.conditions);
    free(s.jobs);
    return status;
}
