/* host_compile.c - kernel C to a shared object with the system's C compiler.
 *
 * The compiler is a program like any other: started with posix_spawn and a vector of arguments (no shell), in a process
 * group of its own so that Ctrl-C at a terminal ends the query and not the compilation that others may wait for, in the
 * C locale, and with $TMPDIR pointing into a private directory that also holds source, object and messages and is
 * removed whatever happens. The embedding program may ignore or reap child processes itself; then the exit status is
 * lost, and the object file tells whether it worked.
 *
 * Files are used directly and not through base/vfs.h: they are the compiler's as much as ours.
 *
 * Flags. -march=native: code is for this machine (the code cache's key has the processor's features). -ffp-contract=off
 * and no -ffast-math: results must be those of the virtual machine, bit for bit. -fno-math-errno and -fno-trapping-math
 * change no result. $STELE_CC_OPTIONS comes behind them: tests compile thousands of kernels and want -O1 (at -O0 the
 * functions of the prelude that a kernel does not call are compiled too, which takes three times as long).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "device/host/host_int.h"

extern char **environ;

enum {
    ARGS_MAX = 64,
    FILE_MAX = HOST_PATH_MAX + 32,
    LOG_MAX = 64 << 10, /* of the compiler's messages this much is kept */
    DETAIL_MAX = 960,   /* and of them this much goes into an Err */
};

static const char *const base_flags[] = {
    "-x",
    "c",
    "-std=gnu17",
    "-O2",
    "-fPIC",
    "-shared",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-w",
};

/* Kernels are checked as the library is; -z defs (an undefined function is an error here and not when loading) does not
 * go with that. */
#if defined(__SANITIZE_ADDRESS__)
static const char *const extra_flags[] = {"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
                                          "-fno-omit-frame-pointer", "-g1"};
static const bool sanitized = true;
#else /* kernels look at words before they change them atomically: ThreadSanitizer would call that a race, oclgrind \
         and racecheck know better */
static const char *const extra_flags[] = {"-Wl,-z,defs"};
static const bool sanitized = false;
#endif

/* The arguments that do not change from kernel to kernel; returns their number. */
static int fixed_args(const HostCompiler *c, const char *argv[ARGS_MAX]) {
    int n = 0;
    argv[n++] = c->path;
    for (int64_t i = 0; i < ARRAY_LEN(base_flags); i++) argv[n++] = base_flags[i];
    if (strcmp(c->machine, "x86_64") == 0) argv[n++] = "-march=native";
    if (strcmp(c->machine, "aarch64") == 0) argv[n++] = "-mcpu=native";
    /* The sanitizers' run-time libraries of gcc and clang do not mix, and it was gcc that built this (it alone defines
     * __SANITIZE_...). */
    bool extra = !sanitized || !strstr(c->version, "clang");
    for (int64_t i = 0; extra && i < ARRAY_LEN(extra_flags); i++) argv[n++] = extra_flags[i];
    return n;
}

uint64_t host_compiler_flags_hash(const HostCompiler *c) {
    const char *argv[ARGS_MAX];
    uint64_t h = 0;
    int n = fixed_args(c, argv);
    for (int i = 1; i < n; i++) h = hash_combine(h, checksum64(argv[i], (int64_t)strlen(argv[i])));
    return *c->options ? hash_combine(h, checksum64(c->options, (int64_t)strlen(c->options))) : h;
}

/* ---- finding it ------------------------------------------------------------------------------------ */

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* `name` with a slash is a path, without one it is looked for on PATH. */
static bool find_program(const char *name, char *out, int64_t size) {
    if (strchr(name, '/')) return snprintf(out, (size_t)size, "%s", name) < size && is_program(out);
    const char *path = getenv("PATH");
    if (!path || !*path) path = "/usr/local/bin:/usr/bin:/bin";
    for (const char *p = path;;) {
        size_t len = strcspn(p, ":");
        int n = snprintf(out, (size_t)size, "%.*s/%s", (int)len, len ? p : ".", name);
        if (len == 0) n = snprintf(out, (size_t)size, "./%s", name);
        if (n > 0 && n < size && is_program(out)) return true;
        if (!p[len]) return false;
        p += len + 1;
    }
}

bool host_compiler_find(char *path, int64_t path_size, char *reason, int64_t reason_size) {
    const char *own = getenv("STELE_CC");
    if (own && *own) {
        if (find_program(own, path, path_size)) return true;
        snprintf(reason, (size_t)reason_size,
                 "no C compiler: STELE_CC is \"%.160s\", which is not a program that can be run", own);
        return false;
    }
    static const char *const names[] = {"cc", "gcc", "clang"};
    for (int64_t i = 0; i < ARRAY_LEN(names); i++) {
        if (find_program(names[i], path, path_size)) return true;
    }
    snprintf(reason, (size_t)reason_size, "no C compiler: none of cc, gcc, clang is on PATH (STELE_CC can name one)");
    return false;
}

/* ---- private directories --------------------------------------------------------------------------- */

Status host_make_dir(char *dir, int64_t size, Err *e) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    if (snprintf(dir, (size_t)size, "%s/stele-cc-XXXXXX", base) >= size)
        return err_set(e, ERR_IO, "the name of the temporary directory is too long");
    if (mkdtemp(dir)) return ST_OK;
    err_errno(e, errno, "create temporary directory as", dir);
    err_hint(e, "TMPDIR names the directory for temporary files.");
    return ST_ERROR;
}

void host_remove_dir(const char *dir) {
    DIR *d = opendir(dir);
    if (d) {
        struct dirent *entry;
        while ((entry = readdir(d))) unlinkat(dirfd(d), entry->d_name, 0); /* "." and ".." refuse */
        closedir(d);
    }
    rmdir(dir);
}

Status host_write_fd(int fd, const char *name, const void *bytes, int64_t n, Err *e) {
    for (int64_t at = 0; at < n;) {
        ssize_t w = write(fd, (const char *)bytes + at, (size_t)(n - at));
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return err_errno(e, w < 0 ? errno : EIO, "write", name);
        at += w;
    }
    return ST_OK;
}

Status host_write_file(const char *path, const void *bytes, int64_t n, Err *e) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return err_errno(e, errno, "create", path);
    Status st = host_write_fd(fd, path, bytes, n, e);
    if (close(fd) != 0 && st == ST_OK) st = err_errno(e, errno, "write", path);
    return st;
}

/* Reads a file of at most `max` bytes (more are left out), NUL behind them. malloc'ed. */
static Status read_file(const char *path, int64_t max, char **out, int64_t *n, Err *e) {
    *out = NULL;
    *n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_errno(e, errno, "open", path);
    struct stat st;
    Status rc = fstat(fd, &st) == 0 ? ST_OK : err_errno(e, errno, "read", path);
    int64_t size = rc == ST_OK ? MIN_OF((int64_t)st.st_size, max) : 0;
    char *p = rc == ST_OK ? malloc((size_t)size + 1) : NULL;
    if (rc == ST_OK && !p) rc = err_oom(e);
    while (rc == ST_OK && *n < size) {
        ssize_t r = read(fd, p + *n, (size_t)(size - *n));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) rc = err_errno(e, errno, "read", path);
        if (r <= 0) break;
        *n += r;
    }
    close(fd);
    if (rc != ST_OK) {
        free(p);
        return rc;
    }
    p[*n] = 0;
    *out = p;
    return ST_OK;
}

/* ---- running it ------------------------------------------------------------------------------------ */

/* Our environment with LC_ALL=C and TMPDIR=dir (unless NULL). `tmp` holds the latter's text. malloc'ed; the strings are
 * borrowed. */
static char **make_environment(const char *dir, char *tmp, size_t tmp_size) {
    static char locale[] = "LC_ALL=C";
    size_t n = 0, at = 0;
    while (environ && environ[n]) n++;
    char **env = malloc((n + 3) * sizeof *env);
    if (!env) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) == 0 || (dir && strncmp(environ[i], "TMPDIR=", 7) == 0)) continue;
        env[at++] = environ[i];
    }
    env[at++] = locale;
    if (dir) {
        snprintf(tmp, tmp_size, "TMPDIR=%s", dir);
        env[at++] = tmp;
    }
    env[at] = NULL;
    return env;
}

/* Runs argv[0] and waits; its output goes to the file `log`. *exit_code: 0 and up; -1 = not known; -signal - 1 when
 * killed. */
static Status run_program(const char *const *argv, const char *dir, const char *log, int *exit_code, Err *e) {
    char tmp[FILE_MAX];
    char **env = make_environment(dir, tmp, sizeof tmp);
    if (!env) return err_oom(e);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    /* The signatures of exec are older than const. */
    char *args[ARGS_MAX + 1];
    int n = 0;
    while (argv[n] && n < ARGS_MAX) {
        memcpy(&args[n], &argv[n], sizeof args[n]);
        n++;
    }
    args[n] = NULL;
    pid_t pid;
    int rc = posix_spawn(&pid, argv[0], &files, &attr, args, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    free(env);
    if (rc) {
        char text[128];
        return err_set(e, ERR_SYSTEM, "device \"host\": could not run the compiler \"%s\": %s", argv[0],
                       strerror_r(rc, text, sizeof text));
    }
    int status = 0;
    pid_t got;
    while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {}
    *exit_code = got != pid ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status) - 1;
    return ST_OK;
}

Status host_compiler_open(HostCompiler *c, Err *e) {
    const char *options = getenv("STELE_CC_OPTIONS");
    if (options && strlen(options) >= sizeof c->options) {
        return err_set(e, ERR_INVALID_PARAMETER, "STELE_CC_OPTIONS is longer than %d bytes",
                       (int)sizeof c->options - 1);
    }
    snprintf(c->options, sizeof c->options, "%s", options ? options : "");
    struct utsname u;
    if (uname(&u) == 0) snprintf(c->machine, sizeof c->machine, "%.31s", u.machine);
    char dir[HOST_PATH_MAX], log[FILE_MAX];
    TRY(host_make_dir(dir, sizeof dir, e));
    snprintf(log, sizeof log, "%s/log", dir);
    int code = 0;
    char *text = NULL;
    int64_t n = 0;
    Status st = run_program((const char *const[]){c->path, "--version", NULL}, dir, log, &code, e);
    static const char broken[] = "device \"host\": the compiler \"%s\" does not work: --version %s %d";
    if (st == ST_OK && code > 0) st = err_set(e, ERR_SYSTEM, broken, c->path, "exits with", code);
    if (st == ST_OK && code < -1) st = err_set(e, ERR_SYSTEM, broken, c->path, "dies of signal", -code - 1);
    if (st == ST_OK) st = read_file(log, LOG_MAX, &text, &n, e);
    host_remove_dir(dir);
    if (st != ST_OK) return st;
    snprintf(c->version, sizeof c->version, "%.*s", (int)MIN_OF(strcspn(text, "\n"), sizeof c->version - 1), text);
    free(text);
    return ST_OK;
}

/* ---- compiling ------------------------------------------------------------------------------------- */

/* Removes every "dir/" from the text, so that messages read "kernel.c:3:5: error". */
static void strip_dir(char *text, const char *dir) {
    size_t n = strlen(dir);
    char *to = text;
    for (const char *p = text; *p;) {
        if (strncmp(p, dir, n) == 0 && p[n] == '/') {
            p += n + 1;
        } else {
            *to++ = *p++;
        }
    }
    *to = 0;
}

/* `options` cut at white space into argv; the strings point into `copy`. */
static Status add_options(const char *options, char **copy, const char *argv[ARGS_MAX], int *n, Err *e) {
    *copy = strdup(options ? options : "");
    if (!*copy) return err_oom(e);
    char *save = NULL;
    for (char *tok = strtok_r(*copy, " \t\n", &save); tok; tok = strtok_r(NULL, " \t\n", &save)) {
        if (*n >= ARGS_MAX - 8) return err_internal(e, "too many compiler options");
        argv[(*n)++] = tok;
    }
    return ST_OK;
}

static Status compile_in(HostDevice *h, const char *dir, const char *source, const char *options, DevCode *out,
                         Err *e) {
    char src[FILE_MAX], object[FILE_MAX], log[FILE_MAX];
    snprintf(src, sizeof src, "%s/kernel.c", dir);
    snprintf(object, sizeof object, "%s/kernel.so", dir);
    snprintf(log, sizeof log, "%s/log", dir);
    TRY(host_write_file(src, source, (int64_t)strlen(source), e));
    const char *argv[ARGS_MAX];
    int n = fixed_args(&h->compiler, argv), code = 0;
    char *own = NULL, *copy = NULL;
    Status st = add_options(h->compiler.options, &own, argv, &n, e);
    if (st == ST_OK) st = add_options(options, &copy, argv, &n, e);
    if (st == ST_OK) {
        argv[n++] = "-o";
        argv[n++] = object;
        argv[n++] = src;
        argv[n++] = "-lm";
        argv[n] = NULL;
        st = run_program(argv, dir, log, &code, e);
    }
    free(own);
    free(copy);
    int64_t len = 0;
    if (st == ST_OK) st = read_file(log, LOG_MAX, &out->log, &len, e);
    if (st != ST_OK) return st;
    strip_dir(out->log, dir);
    if ((code == 0 || code == -1) && access(object, R_OK) == 0) {
        char *bytes = NULL;
        TRY(read_file(object, INT64_MAX - 1, &bytes, &out->n, e));
        out->bytes = bytes;
        return ST_OK;
    }
    char how[64] = "no object file was written";
    if (code > 0) snprintf(how, sizeof how, "exit status %d", code);
    if (code < -1) snprintf(how, sizeof how, "killed by signal %d", -code - 1);
    err_set(e, ERR_SYSTEM, "device \"host\": compiling a kernel failed: %s: %s", h->compiler.path, how);
    err_detail(e, "%.*s", DETAIL_MAX, out->log);
    return ST_ERROR;
}

Status host_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    *out = (DevCode){0};
    char dir[HOST_PATH_MAX];
    TRY(host_make_dir(dir, sizeof dir, e));
    Status st = compile_in(host_of(d), dir, source, options, out, e);
    host_remove_dir(dir);
    if (st != ST_OK) dev_code_free(out);
    return st;
}
