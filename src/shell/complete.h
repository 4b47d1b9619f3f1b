/* complete.h - completion at the prompt. */
#ifndef STELE_SHELL_COMPLETE_H
#define STELE_SHELL_COMPLETE_H

#include "shell/shell.h"

char **complete_word(Shell *sh, const char *text, int start); /* for libedit */
void completion_end(void);                                    /* gives its memory back */

#endif
