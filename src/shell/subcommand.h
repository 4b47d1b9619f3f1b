/* subcommand.h - the command line of `stele dump` and its like. */
#ifndef STELE_SHELL_SUBCOMMAND_H
#define STELE_SHELL_SUBCOMMAND_H

#include <stdbool.h>

#include "stele/stele.h"

/* False, and says what is wrong; program: "stele dump". */
bool bad_option(const char *program, const char *message, const char *arg);
bool option_is(const char *arg, const char *brief, const char *full); /* brief NULL: there is only the long form */
/* A value as -o FILE, -oFILE, --file FILE or --file=FILE. NULL: the argument is another one, or (*missing) lacks it. */
const char *option_value(char **argv, int *i, const char *brief, const char *full, bool *missing);
/* A number of at least 1; what: for the message, "number of bytes". */
bool option_number(const char *program, const char *what, const char *value, int64_t *out);
/* --help or -h is among the arguments. */
bool wants_help(int argc, char **argv);
/* What the library said of a path that it could not do something with: "open", "check". */
void say_failure(const char *program, const char *did, const char *path, const stele_error_info *e);

#endif
