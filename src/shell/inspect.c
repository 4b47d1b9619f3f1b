/* inspect.c - stele check and stele log: looking at the directory of a database that is not open. */
#include <stdlib.h>
#include <string.h>

#include "shell/shell.h"
#include "shell/subcommand.h"

/* ---- stele check ---------------------------------------------------------------------------------------- */

static const char check_usage[] =
    "usage: stele check DIRECTORY [options]\n"
    "Reads all files of a database that is not open, and says of each what it is and whether it is as it was written:\n"
    "every checksum and shape, each record of the log, and whether they belong together. Nothing is written.\n"
    "  -q, --quiet  only what is wrong\n"
    "      --json   a JSON object for each file\n"
    "      --help\n"
    "Exit status: 0 nothing is wrong, 1 something is damaged, missing or incomplete, or could not be checked,\n"
    "2 wrong options.\n";

typedef struct Checking {
    const char *path;
    bool quiet, json;
    long long n;
} Checking;

static bool is_wrong(const stele_checked_file *f) {
    return strcmp(f->state, "good") != 0 && strcmp(f->state, "unused") != 0;
}
static void file_as_json(const stele_checked_file *f) {
    fputs("{\"file\":", stdout);
    json_text(stdout, f->name);
    fputs(",\"what\":", stdout);
    json_text(stdout, f->what);
    printf(",\"state\":\"%s\",\"bytes\":%lld", f->state, (long long)f->bytes);
    if (f->offset >= 0) printf(",\"offset\":%lld", (long long)f->offset);
    if (*f->problem) fputs(",\"problem\":", stdout);
    if (*f->problem) json_text(stdout, f->problem);
    fputs("}\n", stdout);
}
static void each_file(void *ctx, const stele_checked_file *f) {
    Checking *c = ctx;
    c->n += *f->name != 0;
    if (c->quiet && !is_wrong(f)) return;
    if (c->json) {
        file_as_json(f);
        return;
    }
    printf("%-10s  %12lld  %s%s%s\n", f->state, (long long)f->bytes, f->name, *f->name ? ": " : "", f->what);
    if (*f->problem) printf("            %s\n", f->problem);
}

static bool read_check_options(Checking *c, char **argv) {
    static const char program[] = "stele check";
    for (int i = 2; argv[i]; i++) {
        if (option_is(argv[i], "-q", "--quiet")) c->quiet = true;
        else if (option_is(argv[i], NULL, "--json")) c->json = true;
        else if (argv[i][0] == '-') return bad_option(program, "unrecognized option \"%s\"", argv[i]);
        else if (c->path) return bad_option(program, "too many arguments (first is \"%s\")", argv[i]);
        else c->path = argv[i];
    }
    return c->path && *c->path ? true : bad_option(program, "which database?%s", "");
}

int check_command(int argc, char **argv) {
    Checking c = {0};
    stele_error_info e;
    int64_t bad;
    if (wants_help(argc, argv)) return fputs(check_usage, stdout), printed(0);
    if (!read_check_options(&c, argv)) return EXIT_USAGE;
    if (stele_check(c.path, each_file, &c, &bad, &e) != STELE_OK) {
        (void)printed(0);
        say_failure("stele check", "check", c.path, &e);
        return EXIT_ERROR;
    }
    if (!c.json && !c.quiet) printf("%lld files, %lld of them not as they should be\n", c.n, (long long)bad);
    return printed(bad > 0 ? EXIT_ERROR : 0);
}

/* ---- stele log ------------------------------------------------------------------------------------------ */

static const char log_usage[] =
    "usage: stele log DIRECTORY [options]\n"
    "Lists the records of the redo log of a database that is not open: the place (LSN) and length of each, and what "
    "its\n"
    "parts are; log by log, where a checkpoint was not completed. Nothing is written.\n"
    "      --from LSN   from this place on\n"
    "      --limit N    so many records\n"
    "  -v, --verbose    with the rows that have changed\n"
    "      --json       a JSON object for each part, and each row\n"
    "      --help\n"
    "Exit status: 0 the end of the log was reached, or the limit; 1 an error; 2 wrong options.\n";

typedef struct Listing {
    const char *path;
    int64_t from, limit; /* limit 0: none */
    bool verbose, json;
    int64_t n, lsn;     /* of records; of the one that is being shown */
    int64_t generation; /* whose log was named last */
} Listing;

static void put_lsn(int64_t lsn) { printf("%X/%X", (unsigned)((uint64_t)lsn >> 32), (unsigned)lsn); }
static void put_field(const char *name, const char *text) {
    printf(",\"%s\":", name);
    json_text(stdout, text);
}

static void part_as_json(const stele_log_part *p) {
    fputs("{\"lsn\":\"", stdout);
    put_lsn(p->lsn);
    printf("\",\"bytes\":%lld,\"generation\":%lld", (long long)p->bytes, (long long)p->generation);
    if (p->timeline)
        printf(",\"timeline\":%lld,\"database\":\"%016llx\"", (long long)p->timeline, (unsigned long long)p->database);
    printf(",\"kind\":\"%s\"", p->kind);
    if (*p->object) put_field("object", p->object);
    if (*p->file) put_field("file", p->file);
    if (strcmp(p->kind, "sequence") == 0) printf(",\"last\":%lld", (long long)p->last);
    if (strcmp(p->kind, "rows") == 0)
        printf(",\"inserted\":%lld,\"updated\":%lld,\"deleted\":%lld", (long long)p->inserted, (long long)p->updated,
               (long long)p->deleted);
    fputs("}\n", stdout);
}
static void part_as_text(const stele_log_part *p) {
    char place[24] = "", bytes[24] = "";
    if (p->first) {
        snprintf(place, sizeof place, "%X/%X", (unsigned)((uint64_t)p->lsn >> 32), (unsigned)p->lsn);
        snprintf(bytes, sizeof bytes, "%lld", (long long)p->bytes);
    }
    printf("%-17s  %9s  %s%s%s", place, bytes, p->kind, *p->object ? " " : "", p->object);
    if (*p->file) printf(" in %s", p->file);
    if (strcmp(p->kind, "sequence") == 0) printf(" up to %lld", (long long)p->last);
    if (p->inserted) printf(", %lld inserted", (long long)p->inserted);
    if (p->updated) printf(", %lld updated", (long long)p->updated);
    if (p->deleted) printf(", %lld deleted", (long long)p->deleted);
    putchar('\n');
}
static void log_as_text(Listing *l, const stele_log_part *p) {
    if (l->generation == p->generation) return;
    l->generation = p->generation;
    printf("g%lld/log", (long long)p->generation);
    if (p->timeline)
        printf(" of database %016llx, timeline %lld", (unsigned long long)p->database, (long long)p->timeline);
    puts(":");
}
static bool each_part(void *ctx, const stele_log_part *p) {
    Listing *l = ctx;
    l->n += p->first;
    if (l->limit > 0 && l->n > l->limit) return true;
    l->lsn = p->lsn;
    if (!l->json) log_as_text(l, p);
    if (l->json) part_as_json(p);
    else part_as_text(p);
    return ferror(stdout) != 0;
}

static void row_as_json(const Listing *l, const stele_log_row *r) {
    fputs("{\"lsn\":\"", stdout);
    put_lsn(l->lsn);
    printf("\",\"change\":\"%s\",\"row\":%lld", r->change, (long long)r->row);
    for (int64_t i = 0; i < r->n; i++) {
        fputs(i ? "," : ",\"values\":{", stdout);
        json_text(stdout, r->names[i]);
        putchar(':');
        if (r->values[i]) json_text(stdout, r->values[i]);
        else fputs("null", stdout);
    }
    puts(r->n ? "}}" : "}");
}
static bool each_row(void *ctx, const stele_log_row *r) {
    const Listing *l = ctx;
    if (l->json) {
        row_as_json(l, r);
    } else {
        printf("%30s %s row (%lld,%lld)", "", r->change, (long long)(r->row >> 32), (long long)(r->row & UINT32_MAX));
        for (int64_t i = 0; i < r->n; i++) {
            printf("%s%s=", i ? ", " : ": ", r->names[i]);
            if (r->values[i]) put_quoted(stdout, r->values[i], '\'');
            else fputs("NULL", stdout);
        }
        putchar('\n');
    }
    return ferror(stdout) != 0;
}

/* "16/B374D848" */
static bool read_lsn(const char *text, int64_t *out) {
    char *middle, *end;
    const unsigned long long high = strtoull(text, &middle, 16);
    const unsigned long long low = *middle == '/' ? strtoull(middle + 1, &end, 16) : 0;
    *out = (int64_t)(high << 32 | low);
    return *middle == '/' && middle > text && end > middle + 1 && !*end && high <= INT32_MAX && low <= UINT32_MAX;
}
static bool read_log_options(Listing *l, char **argv) {
    static const char program[] = "stele log";
    for (int i = 2; argv[i]; i++) {
        const char *arg = argv[i], *value;
        bool missing = false;
        if (option_is(arg, "-v", "--verbose")) l->verbose = true;
        else if (option_is(arg, NULL, "--json")) l->json = true;
        else if ((value = option_value(argv, &i, NULL, "--from", &missing))) {
            if (!read_lsn(value, &l->from)) return bad_option(program, "\"%s\" is no place in a log", value);
        } else if (!missing && (value = option_value(argv, &i, NULL, "--limit", &missing))) {
            if (!option_number(program, "number of records", value, &l->limit)) return false;
        } else if (missing) return bad_option(program, "option \"%s\" needs a value", arg);
        else if (arg[0] == '-') return bad_option(program, "unrecognized option \"%s\"", arg);
        else if (l->path) return bad_option(program, "too many arguments (first is \"%s\")", arg);
        else l->path = arg;
    }
    return l->path && *l->path ? true : bad_option(program, "which database?%s", "");
}

int log_command(int argc, char **argv) {
    Listing l = {0};
    stele_error_info e;
    if (wants_help(argc, argv)) return fputs(log_usage, stdout), printed(0);
    if (!read_log_options(&l, argv)) return EXIT_USAGE;
    if (stele_read_log(l.path, l.from, each_part, l.verbose ? each_row : NULL, &l, &e) == STELE_OK) return printed(0);
    (void)printed(0);
    say_failure("stele log", "read the log of", l.path, &e);
    return EXIT_ERROR;
}
