/* subcommand.c - see subcommand.h. */
#include "shell/subcommand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bad_option(const char *program, const char *message, const char *arg) {
    fprintf(stderr, "%s: ", program);
    fprintf(stderr, message, arg);
    fprintf(stderr, "\nTry \"%s --help\".\n", program);
    return false;
}

bool option_is(const char *arg, const char *brief, const char *full) {
    return (brief && strcmp(arg, brief) == 0) || strcmp(arg, full) == 0;
}

const char *option_value(char **argv, int *i, const char *brief, const char *full, bool *missing) {
    const char *arg = argv[*i];
    size_t n = strlen(full);
    if (strncmp(arg, full, n) == 0 && arg[n] == '=') return arg + n + 1;
    if (brief && strncmp(arg, brief, 2) == 0 && arg[2]) return arg + 2;
    if (!option_is(arg, brief, full)) return NULL;
    *missing = !argv[*i + 1];
    return *missing ? NULL : argv[++*i];
}

bool option_number(const char *program, const char *what, const char *value, int64_t *out) {
    char *end, message[80];
    errno = 0;
    const long long n = strtoll(value, &end, 10);
    *out = n;
    if (!errno && end != value && !*end && n > 0) return true;
    snprintf(message, sizeof message, "\"%%s\" is no %s", what);
    return bad_option(program, message, value);
}

bool wants_help(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (option_is(argv[i], "-h", "--help")) return true;
    return false;
}

void say_failure(const char *program, const char *did, const char *path, const stele_error_info *e) {
    fprintf(stderr, "%s: cannot %s \"%s\": %s: %s\n", program, did, path, e->sqlstate, e->message);
    if (*e->detail) fprintf(stderr, "DETAIL:  %s\n", e->detail);
    if (*e->hint) fprintf(stderr, "HINT:  %s\n", e->hint);
}
