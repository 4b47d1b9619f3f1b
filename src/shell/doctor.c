/* doctor.c - stele doctor: what was found on this machine, what is wrong with it, and what would make it faster.
 *
 * The library tells what it found (stele_machine); the terminal, room on disks and what the system has set are looked
 * at here. A finding is a line: a topic, what was found, and, where something is missing or slow, what follows from
 * that and a command to change it. Nothing is changed and nothing measured, but for --disk. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shell/shell.h"

static const char usage[] = "usage: stele doctor [--json] [--disk[=DIRECTORY]]\n"
                            "Says what Stele found on this machine, what is missing, and what would make it faster.\n"
                            "  --json     as JSON, for programs\n"
                            "  --disk     also measure writing 256 MB in the temporary directory, or in DIRECTORY\n"
                            "  --help\n"
                            "Exit status: 0 nothing is wrong, 1 something is (lines with !!), 2 wrong options.\n";

enum { FINDINGS_MAX = 64, TEXT_MAX = 512, DISK_BYTES = 256 << 20, BLOCK_BYTES = 1 << 20 };

/* GOOD: as it should be. NOTE: there, and could be better. BAD: something does not work. */
typedef enum Grade { GOOD, NOTE, BAD } Grade;
static const char *const marks[] = {"ok", "--", "!!"}, *const grade_names[] = {"ok", "note", "problem"};

typedef struct Finding {
    const char *topic;
    Grade grade;
    char text[TEXT_MAX];
    char advice[TEXT_MAX]; /* "": none */
    char command[TEXT_MAX];
} Finding;

typedef struct Doctor {
    Shell sh;
    bool json, disk;
    const char *disk_dir; /* --disk=; NULL: that of temporary files */
    Finding found[FINDINGS_MAX];
    int n;
    /* of stele_machine, for judgements over several rows */
    char online[32], usable[32], instruction_set[32], physical[32], cgroup[32], limit[32], cache[TEXT_MAX];
    char cache_problem[TEXT_MAX], profile[TEXT_MAX], profile_problem[TEXT_MAX], temp[TEXT_MAX], temp_problem[TEXT_MAX];
    int64_t cache_bytes;
    char not_measured[TEXT_MAX]; /* devices without rates, separated by commas */
} Doctor;

/* ---- findings --------------------------------------------------------------------------------------- */

static Finding *found(Doctor *d, const char *topic, Grade grade, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static Finding *found(Doctor *d, const char *topic, Grade grade, const char *format, ...) {
    Finding *f = &d->found[d->n < FINDINGS_MAX - 1 ? d->n++ : FINDINGS_MAX - 1];
    va_list args;
    *f = (Finding){.topic = topic, .grade = grade};
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return f;
}
static void advise(Finding *f, const char *advice, const char *command) {
    snprintf(f->advice, sizeof f->advice, "%s", advice);
    snprintf(f->command, sizeof f->command, "%s", command);
}

static const char *size_text(char out[32], int64_t bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double x = (double)bytes;
    int u = 0;
    while (u < 4 && x >= 1024) x /= 1024, u++;
    snprintf(out, 32, x < 10 && u > 0 ? "%.1f %s" : "%.0f %s", x, units[u]);
    return out;
}

/* The first line of a small file; "" when it cannot be read. */
static const char *line_of(const char *path, char out[256]) {
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, 256, f)) *out = 0;
    out[strcspn(out, "\n")] = 0;
    if (f) fclose(f);
    return out;
}

/* ---- what the library found -------------------------------------------------------------------------- */

static void copy(char *to, size_t size, const char *from) { snprintf(to, size, "%s", from ? from : ""); }

/* A graphics card of NVIDIA's, whether or not it has a driver. */
static bool has_nvidia_card(void) {
    glob_t g;
    bool has = false;
    if (glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &g) != 0) return false;
    for (size_t i = 0; i < g.gl_pathc && !has; i++) {
        char line[256], class[300];
        if (strcmp(line_of(g.gl_pathv[i], line), "0x10de") != 0) continue;
        snprintf(class, sizeof class, "%.*sclass", (int)(strlen(g.gl_pathv[i]) - strlen("vendor")), g.gl_pathv[i]);
        has = strncmp(line_of(class, line), "0x03", 4) == 0; /* a display, or a 3D controller */
    }
    globfree(&g);
    return has;
}

/* What a device lacks, and how it gets it: the first row that suits. */
static const struct Lack {
    const char *id, *problem; /* beginning of the one, part of the other */
    Grade grade;
    const char *advice, *command;
} lacks[] = {
    {"", "STELE_DEVICES", NOTE, "It is left out by the environment.", "unset STELE_DEVICES"},
    {"cpu", "C compiler", NOTE,
     "Without a C compiler queries and bulks run on the virtual machine only, not in kernels compiled for the CPU.",
     "apt-get install gcc"},
    {"cuda", "nvrtc", BAD, "The driver is there, and NVRTC, which compiles kernels, is not.",
     "pip install nvidia-cuda-nvrtc-cu12; export STELE_NVRTC=.../nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
    {"cuda", "libcuda", GOOD, "", ""},
    {"cuda", "", BAD, "The driver does not work with this card.", "nvidia-smi"},
    {"opencl", "libOpenCL", GOOD, "", ""},
    {"opencl", "", NOTE, "The OpenCL implementation lacks something.", "clinfo"},
    {"", "", NOTE, "", ""},
};

static void device(Doctor *d, const char *id, const char *value, const char *problem) {
    if (!problem) {
        found(d, "devices", GOOD, "%s: %s", id, value);
        return;
    }
    const struct Lack *l = lacks;
    while (strncmp(id, l->id, strlen(l->id)) != 0 || !strstr(problem, l->problem)) l++;
    bool card = strcmp(l->problem, "libcuda") == 0 && has_nvidia_card();
    Finding *f = found(d, "devices", card ? BAD : l->grade, "%s: not used: %s", id, problem);
    if (card)
        advise(f, "There is an NVIDIA card, and no driver for it (in a container: the driver is not handed in).",
               "apt-get install nvidia-driver (a container: docker run --gpus all)");
    else advise(f, l->advice, l->command);
}

static void not_measured(Doctor *d, const char *id) {
    size_t n = strlen(d->not_measured);
    snprintf(d->not_measured + n, sizeof d->not_measured - n, "%s%s", n ? ", " : "", id);
}

/* A row of stele_machine. */
static bool machine_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Doctor *d = ctx;
    (void)n, (void)names;
    const char *topic = v[0], *item = v[1], *value = v[2], *problem = v[3];
    const struct {
        const char *topic, *item;
        char *value, *problem;
        size_t size;
    } kept[] = {{"processor", "online", d->online, NULL, sizeof d->online},
                {"processor", "usable", d->usable, NULL, sizeof d->usable},
                {"processor", "instruction_set", d->instruction_set, NULL, sizeof d->instruction_set},
                {"memory", "physical", d->physical, NULL, sizeof d->physical},
                {"memory", "cgroup", d->cgroup, NULL, sizeof d->cgroup},
                {"memory", "memory_limit", d->limit, NULL, sizeof d->limit},
                {"code_cache", "directory", d->cache, d->cache_problem, sizeof d->cache},
                {"profile", "file", d->profile, d->profile_problem, sizeof d->profile},
                {"temporary_files", "directory", d->temp, d->temp_problem, sizeof d->temp}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (strcmp(kept[i].topic, topic) != 0 || strcmp(kept[i].item, item) != 0) continue;
        copy(kept[i].value, kept[i].size, value);
        if (kept[i].problem) copy(kept[i].problem, kept[i].size, problem);
        return false;
    }
    if (strcmp(topic, "device") == 0) device(d, item, value, problem);
    else if (strcmp(topic, "code_cache") == 0) d->cache_bytes = value ? atoll(value) : 0;
    else if (strcmp(topic, "profile") == 0 && problem) not_measured(d, item);
    return false;
}

/* ---- judgements -------------------------------------------------------------------------------------- */

static void processors(Doctor *d) {
    if (strcmp(d->online, d->usable) == 0) found(d, "processors", GOOD, "%s", d->usable);
    else
        advise(found(d, "processors", NOTE, "%s of %s", d->usable, d->online),
               "The process may not use the others: an affinity or a quota of its cgroup.",
               "taskset -p $$; cat /sys/fs/cgroup/cpu.max");
    if (strcmp(d->instruction_set, "baseline") == 0)
        found(d, "processors", NOTE, "instructions: baseline, the processor (or its emulation) has no AVX2");
    else found(d, "processors", GOOD, "instructions: %s", d->instruction_set);
    char line[256];
    line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line);
    if (strcmp(line, "powersave") == 0)
        advise(found(d, "processors", NOTE, "frequency governor: powersave"),
               "Short statements run before the clock has risen.", "cpupower frequency-set -g performance");
}

static void memory(Doctor *d) {
    char a[32], b[32], c[32], line[256];
    int64_t physical = atoll(d->physical), cgroup = atoll(d->cgroup);
    if (cgroup > 0 && cgroup < physical)
        found(d, "memory", GOOD, "%s of %s: the process's cgroup has a limit; memory_limit is %s", size_text(a, cgroup),
              size_text(b, physical), size_text(c, atoll(d->limit)));
    else found(d, "memory", GOOD, "%s; memory_limit is %s", size_text(a, physical), size_text(c, atoll(d->limit)));
    if (*line_of("/proc/sys/vm/overcommit_memory", line) == '2')
        advise(found(d, "memory", BAD, "the system does not overcommit memory"),
               "Stele reserves addresses that it uses later; they may be refused (53200).",
               "sysctl vm.overcommit_memory=0");
    if (strstr(line_of("/sys/kernel/mm/transparent_hugepage/enabled", line), "[never]"))
        advise(found(d, "memory", NOTE, "huge pages are off"),
               "Hash tables and scans of large tables take more misses of the TLB.",
               "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        advise(
            found(d, "memory", BAD, "addresses of a process are limited to %s", size_text(a, (int64_t)limit.rlim_cur)),
            "Stele reserves more than it uses; use memory_limit to bound its memory.", "ulimit -v unlimited");
}

static void code_cache(Doctor *d) {
    char bytes[32];
    if (!*d->cache_problem) {
        found(d, "code cache", GOOD, "%s, %s", d->cache, size_text(bytes, d->cache_bytes));
        return;
    }
    advise(found(d, "code cache", BAD, "%s%s%s", d->cache, *d->cache ? ": " : "", d->cache_problem),
           "Kernels are compiled anew by every process: seconds for each query on a device.",
           "export STELE_CACHE_DIR=DIRECTORY (your own, not writable by others)");
}

enum { TMPFS = 0x01021994 /* linux/magic.h */ };

static void temporary_files(Doctor *d) {
    char room[32];
    struct statvfs fs;
    struct statfs kind;
    if (*d->temp_problem) {
        advise(found(d, "temporary files", BAD, "%s", d->temp_problem),
               "Queries larger than memory_limit fail, and no kernel can be compiled for the CPU.",
               "export TMPDIR=DIRECTORY");
        return;
    }
    if (statvfs(d->temp, &fs) != 0) {
        found(d, "temporary files", NOTE, "%s: %s", d->temp, strerror(errno));
        return;
    }
    int64_t bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    if (statfs(d->temp, &kind) == 0 && kind.f_type == TMPFS)
        advise(found(d, "temporary files", NOTE, "%s is in memory (tmpfs), %s free", d->temp, size_text(room, bytes)),
               "What spills there takes the memory that it should save.", "export TMPDIR=/var/tmp");
    else if (bytes < INT64_C(1) << 30)
        advise(found(d, "temporary files", NOTE, "%s, %s free", d->temp, size_text(room, bytes)),
               "A query larger than memory_limit may fail with 53100.", "export TMPDIR=DIRECTORY");
    else found(d, "temporary files", GOOD, "%s, %s free", d->temp, size_text(room, bytes));
}

static void profile(Doctor *d) {
    if (*d->profile_problem && strcmp(d->profile_problem, "there is none") != 0)
        advise(found(d, "profile", BAD, "%s", d->profile_problem), "It is not used.",
               "remove the file, then: stele calibrate");
    else if (!*d->not_measured) found(d, "profile", GOOD, "%s", d->profile);
    else
        advise(found(d, "profile", NOTE, "%s was not measured", d->not_measured),
               "Where queries run and how a bulk's calls are grouped is decided by defaults, not by measured rates.",
               "stele calibrate (a minute; nothing else should run)");
}

static void terminal(Doctor *d) {
    const char *term = getenv("TERM");
    bool is_terminal = isatty(STDOUT_FILENO);
    setlocale(LC_ALL, ""); /* no more numbers are printed by the library */
    const char *set = nl_langinfo(CODESET);
    if (strcmp(set, "UTF-8") == 0) found(d, "locale", GOOD, "UTF-8");
    else
        advise(found(d, "locale", NOTE, "%s", set),
               "Stele's text is UTF-8: letters beyond ASCII are shown wrongly, and widths of columns with them.",
               "export LANG=C.UTF-8");
    setlocale(LC_ALL, "C");
    if (!is_terminal) found(d, "terminal", GOOD, "the output goes elsewhere");
    else if (!term || !*term || strcmp(term, "dumb") == 0)
        found(d, "terminal", NOTE, "TERM is %s: no line editing", term && *term ? term : "not set");
    else found(d, "terminal", GOOD, "%s, %d columns", term, terminal_width());
}

/* ---- the disk --------------------------------------------------------------------------------------- */

/* Writes to a file that has no name any more; *ms: how long it took. False: errno. */
static bool write_blocks(int fd, double *ms) {
    static char block[BLOCK_BYTES];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)(i * 2654435761u >> 24); /* not to be compressed */
    double begin = now_ms();
    for (int64_t at = 0; at < DISK_BYTES;) {
        ssize_t n = write(fd, block, sizeof block);
        if (n <= 0) return false;
        at += n;
    }
    if (fsync(fd) != 0) return false;
    *ms = now_ms() - begin;
    return true;
}

static void disk(Doctor *d) {
    const char *dir = d->disk_dir ? d->disk_dir : d->temp;
    char path[TEXT_MAX + 32];
    double ms = 1;
    snprintf(path, sizeof path, "%s/stele-doctor-XXXXXX", dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    if (fd >= 0 && write_blocks(fd, &ms))
        found(d, "disk", GOOD, "%s: %.0f MB/s written and synced", dir, (double)DISK_BYTES / 1e3 / ms);
    else
        advise(found(d, "disk", BAD, "%s: %s", dir, strerror(errno)), "256 MB could not be written there.",
               "stele doctor --disk=DIRECTORY");
    if (fd >= 0) close(fd);
}

/* ---- the report ------------------------------------------------------------------------------------- */

static void report_json(const Doctor *d) {
    printf("{\"version\": ");
    json_text(stdout, stele_version());
    printf(", \"findings\": [");
    for (int i = 0; i < d->n; i++) {
        const Finding *f = &d->found[i];
        const char *const fields[][2] = {{"topic", f->topic},
                                         {"state", grade_names[f->grade]},
                                         {"found", f->text},
                                         {"advice", f->advice},
                                         {"command", f->command}};
        printf("%s\n  {", i ? "," : "");
        for (int k = 0; k < 5; k++) {
            if (k > 2 && !*fields[k][1]) continue;
            printf("%s\"%s\": ", k ? ", " : "", fields[k][0]);
            json_text(stdout, fields[k][1]);
        }
        putchar('}');
    }
    puts("\n]}");
}

static void report(const Doctor *d, int bad, int notes) {
    printf("%s\n\n", version_line());
    for (int i = 0; i < d->n; i++) {
        const Finding *f = &d->found[i];
        bool same = i > 0 && strcmp(d->found[i - 1].topic, f->topic) == 0;
        printf("%s  %-16s %s\n", marks[f->grade], same ? "" : f->topic, f->text);
    }
    bool first = true;
    for (int grade = BAD; grade > GOOD; grade--) {
        for (int i = 0; i < d->n; i++) {
            const Finding *f = &d->found[i];
            if ((int)f->grade != grade || !*f->advice) continue;
            if (first) puts("\nWhat to do:");
            first = false;
            printf("\n%s  %s: %s\n    %s\n", marks[f->grade], f->topic, f->text, f->advice);
            if (*f->command) printf("        %s\n", f->command);
        }
    }
    printf("\n%d problem%s, %d note%s\n", bad, bad == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
}

static bool read_options(Doctor *d, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) d->json = true;
        else if (strcmp(argv[i], "--disk") == 0) d->disk = true;
        else if (strncmp(argv[i], "--disk=", 7) == 0) d->disk = true, d->disk_dir = argv[i] + 7;
        else {
            fprintf(stderr, "stele doctor: unrecognized option \"%s\"\nTry \"stele doctor --help\".\n", argv[i]);
            return false;
        }
    }
    return true;
}

static bool read_machine(Doctor *d, const char *sql) {
    if (stele_exec(d->sh.conn, sql, machine_row, d) == STELE_OK) return true;
    print_error(&d->sh, NULL);
    return false;
}

static int examine(Doctor *d) {
    if (!read_machine(d, "select topic, item, value, problem from stele_machine where topic <> 'device'"))
        return EXIT_ERROR;
    processors(d);
    memory(d);
    if (!read_machine(d, "select topic, item, value, problem from stele_machine where topic = 'device'"))
        return EXIT_ERROR;
    code_cache(d);
    temporary_files(d);
    if (d->disk) disk(d);
    profile(d);
    terminal(d);
    int bad = 0, notes = 0;
    for (int i = 0; i < d->n; i++) {
        bad += d->found[i].grade == BAD;
        notes += d->found[i].grade == NOTE;
    }
    if (d->json) report_json(d);
    else report(d, bad, notes);
    return bad > 0 ? EXIT_ERROR : 0;
}

int doctor_command(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return fflush(stdout) == 0 ? 0 : EXIT_ERROR;
        }
    Doctor *d = calloc(1, sizeof *d);
    stele_error_info e;
    int status = EXIT_USAGE;
    if (!d) return say_no_memory(), EXIT_ERROR;
    d->sh = (Shell){.out = stdout, .print = {.format = formats, .border = 1}, .path = ":memory:"};
    if (read_options(d, argc, argv)) {
        status = EXIT_ERROR;
        if (stele_open(":memory:", NULL, &d->sh.db, &e) != STELE_OK) {
            fprintf(stderr, "stele: %s: %s\n", e.sqlstate, e.message);
        } else if (stele_connect(d->sh.db, &d->sh.conn) != STELE_OK) {
            (void)say_no_memory();
            (void)stele_close(d->sh.db, &e);
        } else {
            status = leave(&d->sh, examine(d));
        }
    }
    free(d);
    return status;
}
