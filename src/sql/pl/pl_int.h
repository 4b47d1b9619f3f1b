/* pl_int.h - what pl.c and pl_parse.c share. Included by src/sql/pl only. */
#ifndef STELE_SQL_PL_PL_INT_H
#define STELE_SQL_PL_PL_INT_H

#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/parse/scan.h"
#include "sql/pl/pl.h"

/* A loop or block that EXIT may leave. */
typedef struct PlLoop {
    const struct PlLoop *up;
    const char *label;
    int32_t number;
    bool is_loop;
} PlLoop;

typedef struct PlParser {
    Arena *a;
    Err *e;
    const Catalog *c;
    PlFunction *f;
    Slice body;
    int64_t shift; /* 0-based offset of the body in the statement's text, -1 when it does not stand there as it is */
    int64_t at;    /* behind the current token */
    Tok tok;
    int64_t line_at;
    int32_t line;
    int32_t block;
    const PlLoop *loops;
    VEC(PlVar) vars; /* PlFunction's arrays while they grow */
    VEC(PlAlias) aliases;
    VEC(int32_t) parents;
    VEC(const char *) labels;
} PlParser;

void pl_advance(PlParser *p);
Status pl_syntax_at(PlParser *p, Tok t, const char *what);
int64_t pl_position(const PlParser *p, int64_t at); /* 1-based in the statement, 0 unknown */
int32_t pl_line(PlParser *p, int64_t at);
int32_t pl_add_var(PlParser *p, const PlVar *v);             /* its number; -1 out of memory */
int32_t pl_add_block(PlParser *p, const char *label);        /* inside the current one */
bool pl_row_of_table(PlParser *p, const Table *t, PlVar *v); /* v becomes a row of the table; false: out of memory */
bool pl_sqlstate_ok(Slice s);
Status pl_read_body(PlParser *p); /* PlFunction.body of a plpgsql body */

#endif
