/* fuzz.h - what the fuzz targets share.
 *
 * A target may find crashes, hangs, leaks and undefined behaviour; errors that the library reports are correct
 * outcomes. A failed setup aborts, so that a target that tests nothing cannot pass. */
#ifndef STELE_FUZZ_H
#define STELE_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stele/stele.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static inline void fuzz_must(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "fuzz setup failed: %s\n", what);
    abort();
}

static inline stele_db *fuzz_open(const char *path) {
    stele_options opt = {.threads = 2, .memory_limit = 64 << 20};
    stele_db *db = NULL;
    stele_error_info e;
    fuzz_must(stele_open(path, &opt, &db, &e) == STELE_OK, "stele_open");
    return db;
}

static inline void fuzz_run(stele_conn *c, const char *sql) {
    stele_error_info e;
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error(c, &e);
    fuzz_must(false, e.message);
}

/* Touches every byte of every value, so that a bad pointer in a result is seen. */
static inline bool fuzz_read_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    uint64_t *sum = ctx;
    for (int64_t i = 0; i < n; i++) *sum += (values[i] ? strlen(values[i]) : 1) + strlen(names[i]);
    return false;
}

#endif
