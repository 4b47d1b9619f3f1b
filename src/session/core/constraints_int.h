/* constraints_int.h - between constraints.c (which events there are, and when they run) and foreign_check.c (what is
 * done about one).
 */
#ifndef STELE_SESSION_CORE_CONSTRAINTS_INT_H
#define STELE_SESSION_CORE_CONSTRAINTS_INT_H

#include "session/core/constraints.h"
#include "storage/undo_edits.h"

typedef enum KeyEventKind {
    KEY_WRITTEN, /* rows of the referencing table: they came, or refer to something else */
    KEY_DELETED, /* keys of the referenced table that went with their rows */
    KEY_UPDATED, /* ... that became others */
} KeyEventKind;
typedef struct KeyEvent {
    int64_t foreign; /* ForeignKey.id */
    uint8_t kind;    /* KeyEventKind */
    int64_t done;    /* of one that waits: 0, or when SET CONSTRAINTS has run it (Constraints.ticks) */
    VEC(RowRange) rows;
    int64_t n;        /* keys: n times the foreign key's columns, in its order; none is NULL in `old` */
    Value *old, *set; /* set: KEY_UPDATED */
} KeyEvent;

/* The rows of the event have parents: 23503. */
Status foreign_check_written(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e);
/* No row refers to keys of the event: 23503. restricts: not even if another row has the key by now. */
Status foreign_check_gone(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e, bool restricts);
/* CASCADE, SET NULL, SET DEFAULT, by `action`. What it changes is noted by the way (Session.constraints). */
Status foreign_act(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e, char action);

#endif
