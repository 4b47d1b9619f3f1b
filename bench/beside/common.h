/* common.h - what the programs of this folder share. PROGRAM is the name of the one that includes it. */
#ifndef STELE_BENCH_BESIDE_COMMON_H
#define STELE_BENCH_BESIDE_COMMON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stele/stele.h"

static _Noreturn void fail(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}
static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double resident_mb(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
    if (f) fclose(f);
    return (double)kb / 1024;
}
static void check(stele_conn *c, stele_status st, const char *what) {
    if (st != STELE_ERROR) return;
    stele_error_info e;
    stele_error(c, &e);
    fail("%s: %s: %s", what, e.sqlstate, e.message);
}

/* An option with a value, and where the value goes: one of these is not NULL. */
typedef struct Setting {
    const char *name;
    long long *number;
    int *count;
    double *real;
    const char **text;
} Setting;
/* argv[first] and on are names and values. False: an unknown name, or no value behind one. */
static bool settings_read(int argc, char **argv, int first, int n, const Setting *all) {
    for (int i = first; i < argc; i += 2) {
        const char *v = i + 1 < argc ? argv[i + 1] : NULL;
        int k = 0;
        while (k < n && strcmp(argv[i], all[k].name) != 0) k++;
        if (!v || k == n) return false;
        if (all[k].number) *all[k].number = strtoll(v, NULL, 10);
        else if (all[k].count) *all[k].count = (int)strtol(v, NULL, 10);
        else if (all[k].real) *all[k].real = strtod(v, NULL);
        else *all[k].text = v;
    }
    return true;
}

#endif
