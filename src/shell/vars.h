/* vars.h - variables of the shell (\set), and the blocks of \if. */
#ifndef STELE_SHELL_VARS_H
#define STELE_SHELL_VARS_H

#include "shell/shell.h"

/* variables.c */
bool variables_init(Shell *sh); /* those that are always there; false: out of memory */
void variables_free(Shell *sh);
const char *variable_get(const Shell *sh, const char *name); /* NULL: not set */
/* Value NULL: \unset. An error has been shown: no name, or a value that a variable of the shell's own cannot have. */
bool variable_set(Shell *sh, const char *name, const char *value);
void variable_set_long(Shell *sh, const char *name, long long value);
void variables_list(Shell *sh, bool (*each)(void *ctx, const char *name, const char *value), void *ctx);
bool read_bool(const char *text, bool *value); /* as psql: the beginning of a word will do */
/* The variable that begins at s, a colon: `len` bytes of text, whose value as a text (owned), or NULL when it is none,
 * is not set, or (`failed`) cannot be quoted. */
char *variable_expand(const Shell *sh, const char *s, size_t n, size_t *len, bool *failed);
char *sql_quoted_text(const char *text);   /* owned; NULL: out of memory */
char *sql_quoted_always(const char *text); /* a name: reserved words need the quotes, too */

/* conditional.c */
Conditions *conditions_new(void); /* of a file, or the prompt; NULL: out of memory */
void conditions_free(Conditions *c);
bool is_active(const Shell *sh);       /* not in a branch that is skipped */
bool conditions_open(const Shell *sh); /* \endif is missing */

#endif
