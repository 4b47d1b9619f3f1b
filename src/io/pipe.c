/* pipe.c - see pipe.h. The pipe is a pair of sockets, since these can be written without SIGPIPE. */
#include "io/pipe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LOOK_MS = 100 }; /* between two looks at `cancel` */

static Status cannot_start(const char *command, int why, Err *e) {
    char reason[128];
    return err_set(e, ERR_IO, "could not execute command \"%s\": %s", command, strerror_r(why, reason, sizeof reason));
}

Status pipe_start(Pipe *p, const char *command, bool reads, const _Atomic bool *cancel, Err *e) {
    int pair[2];
    char shell[] = "sh", option[] = "-c", *const argv[] = {shell, option, (char *)(uintptr_t)command, NULL};
    *p = (Pipe){.command = command, .fd = -1, .pid = -1, .cancel = cancel};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return cannot_start(command, errno, e);
    posix_spawn_file_actions_t files;
    int why = posix_spawn_file_actions_init(&files);
    if (why == 0) {
        why = posix_spawn_file_actions_adddup2(&files, pair[1], reads ? STDOUT_FILENO : STDIN_FILENO);
        if (why == 0) why = posix_spawn(&p->pid, "/bin/sh", &files, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    (void)close(pair[1]);
    if (why != 0) {
        (void)close(pair[0]);
        return cannot_start(command, why, e);
    }
    p->fd = pair[0];
    return ST_OK;
}

/* false: it is cancelled. */
static bool wait_for(const Pipe *p, short events) {
    struct pollfd f = {.fd = p->fd, .events = events};
    for (;;) {
        if (p->cancel && atomic_load(p->cancel)) return false;
        int n = poll(&f, 1, LOOK_MS);
        if (n > 0 || (n < 0 && errno != EINTR)) return true;
    }
}

int64_t pipe_read(void *ctx, char *buf, int64_t size) {
    Pipe *p = ctx;
    for (;;) {
        if (!wait_for(p, POLLIN)) return -1;
        ssize_t n = read(p->fd, buf, (size_t)size);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) p->ended = true;
        return n;
    }
}

bool pipe_write(void *ctx, const char *data, int64_t size) {
    Pipe *p = ctx;
    while (size > 0) {
        if (!wait_for(p, POLLOUT)) return false;
        ssize_t n = send(p->fd, data, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) {
            p->broken = errno == EPIPE || errno == ECONNRESET;
            return false;
        }
        data += n;
        size -= n;
    }
    return true;
}

Status pipe_end(Pipe *p, Err *e) {
    int status = 0;
    if (p->fd >= 0) (void)close(p->fd);
    while (p->pid > 0 && waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {}
    const bool cut_short = !p->ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE;
    if (status == 0 || cut_short) return ST_OK;
    err_set(e, ERR_EXTERNAL_ROUTINE, "program \"%s\" failed", p->command);
    if (WIFSIGNALED(status)) err_detail(e, "child process was terminated by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127) err_detail(e, "command not found");
    else err_detail(e, "child process exited with exit code %d", WEXITSTATUS(status));
    return ST_ERROR;
}
