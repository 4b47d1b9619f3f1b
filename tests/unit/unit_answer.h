/* unit_answer.h - what a statement returned as one number, for tests that compare executors. */
#ifndef STELE_UNIT_ANSWER_H
#define STELE_UNIT_ANSWER_H

#include <string.h>

#include "session/core/session.h"
#include "unit.h"

/* A digest of the rows' texts, in their order; that of no rows for a statement without a result. */
static inline uint64_t answer_digest(Session *s, const Statement *st) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; st->rows && i < st->n_rows; i++)
        for (int32_t c = 0; c < st->n_cols; c++) {
            const void *cell;
            bool null;
            assert_int_equal(rows_cell(st->rows, i, st->first_col + c, &cell, &null, &s->err), ST_OK);
            Value v = {.type = st->types[c], .is_null = null};
            if (!null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
            Arena *a = arena_new(&s->account, NULL);
            int64_t n = 0;
            const char *text = null ? "\1" : value_to_text(a, &v, &n);
            for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
            h = (h ^ 255) * 1099511628211u;
            arena_free(a);
        }
    return h;
}

#endif
