/* copy.c - COPY through the standard streams: data from the script or the prompt, and to the output. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shell/shell.h"

/* The next line of COPY's data into copy_line; false at the end: a line `\.`, the end of the file, a signal, a failed
 * read. */
static bool next_copy_line(Shell *sh) {
    FILE *f = sh->in ? sh->in : stdin;
    read_begins();
    ssize_t n = getline(&sh->copy.line, &sh->copy.cap, f);
    read_ends();
    if (n >= 0) count_script_line();
    sh->copy.failed = n < 0 && !feof(f);
    if (n < 0) clearerr(f); /* Ctrl-D ends the data, not the session */
    const char *l = sh->copy.line;
    sh->copy.at = 0;
    sh->copy.len = n < 0 ? 0 : (size_t)n;
    sh->copy.ended =
        n < 0 || (n >= 2 && l[0] == '\\' && l[1] == '.' && (n == 2 || l[2] == '\n' || (n == 4 && l[2] == '\r')));
    return !sh->copy.ended;
}

/* At a prompt nothing else tells that what is typed next is data. */
static void show_copy_help(const Shell *sh) {
    if (!sh->interactive || sh->in || sh->set.quiet) return;
    fputs("Enter data to be copied followed by a newline.\n"
          "End with a backslash and a period on a line by itself, or an EOF signal.\n",
          stdout);
    fflush(stdout);
}

int64_t read_copy(void *ctx, char *buf, int64_t size) {
    Shell *sh = ctx;
    int64_t got = 0;
    if (!sh->copy.begun) show_copy_help(sh);
    sh->copy.begun = true;
    while (got < size && !sh->copy.ended) {
        if (sh->copy.at == sh->copy.len && !next_copy_line(sh)) break;
        size_t n = sh->copy.len - sh->copy.at;
        if (n > (size_t)(size - got)) n = (size_t)(size - got);
        memcpy(buf + got, sh->copy.line + sh->copy.at, n);
        sh->copy.at += n;
        got += (int64_t)n;
    }
    return sh->copy.failed || shell_signal ? -1 : got; /* half of the data is no data */
}

bool write_copy(void *ctx, const char *data, int64_t size) {
    Shell *sh = ctx;
    sh->copy.wrote = true;
    if (fwrite(data, 1, (size_t)size, sh->out) == (size_t)size) return true;
    if (!sh->output.write_errno) sh->output.write_errno = errno;
    return false;
}

/* After a COPY: what it did not read of its data is no SQL. */
void end_copy(Shell *sh) {
    while (sh->copy.begun && !sh->copy.ended && !shell_signal) (void)next_copy_line(sh);
    sh->copy.begun = sh->copy.ended = sh->copy.failed = false;
    sh->copy.at = sh->copy.len = 0;
}
