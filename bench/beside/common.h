/* common.h - what the programs of this folder share. PROGRAM is the name of the one that includes it. */
#ifndef STELE_BENCH_BESIDE_COMMON_H
#define STELE_BENCH_BESIDE_COMMON_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

#endif
