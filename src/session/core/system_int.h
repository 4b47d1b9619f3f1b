/* system_int.h - rows of system relations: shared by system.c and system_machine.c. */
#ifndef STELE_SESSION_SYSTEM_INT_H
#define STELE_SESSION_SYSTEM_INT_H

#include "session/core/session.h"

/* Rows of columns p->out_cols, grown as they come; memory is the statement's. */
typedef struct SystemRows {
    PlanCtx *c;
    Plan *p;
    int64_t n, cap;
    Err *err;
} SystemRows;

Status system_next_row(SystemRows *r);
/* Cells of the last row, by column from 0. What is not set is NULL. Texts are copied. */
void system_put_int(SystemRows *r, int32_t col, int64_t value);
void system_put_bool(SystemRows *r, int32_t col, bool value);
Status system_put_text(SystemRows *r, int32_t col, const char *text);

/* system_machine.c */
Status session_system_settings(Session *s, SystemRows *r);
Status session_system_machine(Session *s, SystemRows *r);

#endif
