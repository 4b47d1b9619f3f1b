/* transaction_int.h - open transactions and committed changes that older snapshots look behind; for transaction.c and
 * transaction_reads.c only. */
#ifndef STELE_SESSION_CORE_TRANSACTION_INT_H
#define STELE_SESSION_CORE_TRANSACTION_INT_H

#include "session/core/transaction.h"

/* One of a conjunction that selects rows: lo <= column <= hi, as integers, or column = text. */
typedef struct ReadCond {
    int col;
    bool is_text;
    int64_t lo, hi;
    Str text;
} ReadCond;
/* Rows for which all of it is true. */
struct TxnRead {
    int64_t table;              /* id */
    int32_t n_conds, n_filters; /* none: all rows */
    ReadCond *conds;
    bool refers;    /* the row that has the key must go on being there, that is all */
    Expr **filters; /* EX_COL: the table's column; the rest is made of constants and immutable functions */
};

/* A new row of a table without keys. */
typedef struct DeferredRow {
    Table *table;
    const Vec *cells; /* one per column, in the transaction's arena */
} DeferredRow;

struct Txn {
    Txn *next, **link;  /* of the hub */
    Session *session;   /* NULL: rolled back without the lock; its changes are undone under it later */
    UndoLog *undo;      /* of one without a session */
    int64_t id;         /* others wait for it by this number; a new one when it lets go of rows */
    int64_t waits_for;  /* its session waits for that one; 0: none. Under the hub's mutex, as id */
    _Atomic int64_t ts; /* what it sees: all commits up to this one */
    int64_t since_ns;   /* when it began, on clock_ns */
    Arena *arena;       /* reads */
    VEC(TxnRead) reads;
    _Atomic bool out;    /* its changes are hidden */
    _Atomic bool lost;   /* its snapshot has been given up */
    _Atomic bool broken; /* a table that it changed is gone */
    bool pinned;
    bool sees_latest; /* below REPEATABLE READ */
    bool beside;      /* of a statement that computes beside the tables: it will never see them as they were at ts */
    bool at_rest;     /* nothing is kept for it: no statement is under way, or all that it sees is `version` */
    bool older;       /* then: its version may be older than what was committed when it began */
    bool defers;      /* then: its changes are not in the tables yet: deferred additions, and these rows */
    VEC(DeferredRow) rows;
    int n_tables;          /* of a statement that holds back who changes them: */
    const int64_t *tables; /* ids */
    bool has_read;         /* then: a row to which it has added, when all commits up to ts were there: ts stays */
    bool holds;            /* then: it has changed rows, and others wait for them: counted in row_holders */
    const struct DatabaseVersion *version; /* pinned, and what it sees: read without the lock; NULL: the tables */
    _Atomic bool images;    /* it sees, besides the tables at ts, which is now, all that bulks have left in images;
                               transaction_sees_images */
    VEC(uint16_t) counted;  /* slots of TxnHub.held that count rows of its; its session's, as the next two */
    int64_t counted_to;     /* records of its log */
    bool holds_many;        /* it counts no more of them */
    bool changed;           /* its session's: at the end of the last statement there were changes */
    bool queries;           /* it has read a version by more than statements on one row */
    struct TxnForks *forks; /* tables that it has changed, as it sees them: transaction_forks.c; NULL: it has none */
    _Atomic bool forked;    /* its log is of those, and not to be looked at by others */
    int64_t forks_looked;   /* records of that log whose rows have been compared with later commits */
    int64_t reserved; /* records of its log for which memory has been reserved, looked through for loads, and for rows
                         that others changed */
};

/* One commit, or several with no snapshot between them. */
typedef struct Version {
    struct Version *next, *before;
    int64_t ts; /* of the last of them */
    int64_t bytes;
    UndoLog *log; /* shown when the view is at ts or later */
    Arena *arena; /* events */
    VEC(TableEvent) events;
    Arena *look; /* made when first needed: what the log comes to */
    int64_t n_net;
    NetChange *net;
    UndoCells *cells;
} Version;

/* The transaction counts as one that holds rows, or not; with the hub's mutex. */
void transaction_set_holds(TxnHub *h, Txn *x, bool holds);
/* It holds all rows of the tables, those to come too; likewise. */
void transaction_hold_tables(TxnHub *h, Txn *x, int n, const int64_t *tables);
/* Rows that it has come to hold are counted in TxnHub.held, under the lock; or no more, when it ends. */
void transaction_count_held(Session *s);
void transaction_uncount_held(TxnHub *h, Txn *x);
/* With s->block.defers: what it is going to see is what is committed now, unless it has to be what it has read. */
void transaction_follow(Session *s);
/* Deferred rows go into their tables; shown, with the lock held alone. The statement under way begins behind them. */
Status transaction_apply_rows(Session *s);
/* What has become of forks goes into the tables: with the lock held alone. 40001: it cannot any more; nothing is done
 * then. */
Status transaction_apply_forks(Session *s);
/* They are gone, and so is the log. Nothing happens where there are none. */
void transaction_drop_forks(Session *s);
TxnHub *transaction_hub(const Session *s);
const Txn *transaction_find_open(const TxnHub *h, int64_t id);
/* With the mutex, which it gives up meanwhile: waits until lasts() is false, to be asked anew when something has ended.
 * 55P03 (with the hint, unless it is NULL), 57014. */
Status transaction_wait_while(Session *s, TxnHub *h, bool (*lasts)(const TxnHub *h, void *ctx), void *ctx,
                              const char *hint);
Status serialization_failure(Session *s, const char *why);
/* Whether another transaction committed, after this one's snapshot, changes of what it has read or changed itself. The
 * lock is held alone; every commit is shown, the transaction's own changes (own, n of them) are hidden. NULL: none;
 * else why not. */
const char *transaction_conflict(const Session *s, int64_t n, const NetChange *own);
/* The same of rows that it has changed only; works whatever the tables show. */
bool transaction_writes_conflict(const TxnHub *h, const Txn *x, int64_t n, const NetChange *own);

#endif
