/* pipe.h - a program of the machine at the other end of a pipe, for COPY .. PROGRAM: what it writes is read, or what
 * is written it reads. The shell (/bin/sh -c) runs the command, with the process's environment, directory and rights;
 * what is not connected (errors too) is the process's own.
 *
 * No signal handler is changed: a program that ends early makes writing fail (EPIPE), and not the process.
 * Threads: one at a time.
 */
#ifndef STELE_IO_PIPE_H
#define STELE_IO_PIPE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

typedef struct Pipe {
    const char *command;
    int fd;
    pid_t pid;
    bool ended;                 /* reading: it has written all */
    bool broken;                /* writing: it has ended before */
    const _Atomic bool *cancel; /* reading and writing fail when it is set; NULL: never */
} Pipe;

/* reads: its output is read, else its input is written. The command lasts as long. 58000 and what fork gives. */
Status pipe_start(Pipe *p, const char *command, bool reads, const _Atomic bool *cancel, Err *e);
/* For CopyRead and CopyWrite; ctx: the Pipe. */
int64_t pipe_read(void *ctx, char *buf, int64_t size);
bool pipe_write(void *ctx, const char *data, int64_t size);
/* Closes the pipe and waits for the end. 38000: it failed; not, if what it had left to write was not read. */
Status pipe_end(Pipe *p, Err *e);

#endif
