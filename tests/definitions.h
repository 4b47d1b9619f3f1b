/* definitions.h - what a database defines, as a text, for tests that compare one with itself opened again. */
#ifndef STELE_TESTS_DEFINITIONS_H
#define STELE_TESTS_DEFINITIONS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stele/stele.h"

typedef struct Text {
    char *p;
    size_t len, cap;
} Text;
static void put(Text *t, const char *s) {
    const size_t n = strlen(s);
    if (t->len + n + 1 > t->cap) {
        t->cap = (t->len + n + 1) * 2;
        t->p = realloc(t->p, t->cap);
        if (!t->p) abort();
    }
    memcpy(t->p + t->len, s, n + 1);
    t->len += n;
}

typedef struct Definitions {
    Text text, tables; /* tables: names as SQL has them, each with an end of line */
} Definitions;
/* For stele_list_definitions. The number that a sequence has given last may be ahead, and is left out. */
static bool each_definition(void *ctx, const stele_definition *d) {
    static const char drop[] = "DROP TABLE ";
    Definitions *s = ctx;
    if (strcmp(d->kind, "SEQUENCE SET") == 0) return false;
    if (strncmp(d->name, "pg_temp_", 8) == 0 || strstr(d->name, " pg_temp_")) return false; /* the connection's */
    const char *const parts[] = {d->kind, " ", d->name, ": ", d->create_sql, "\n"};
    for (int i = 0; i < 6; i++) put(&s->text, parts[i]);
    if (strcmp(d->kind, "TABLE") != 0 || strncmp(d->drop_sql, drop, strlen(drop)) != 0) return false;
    put(&s->tables, d->drop_sql + strlen(drop));
    put(&s->tables, "\n");
    return false;
}

#endif
