/* proc.h - a compiled procedure: what a bulk needs of it. Made by sql/pl/compile.h; nothing here depends on SQL.
 *
 * A procedure has two programs over the same bulk (SRC_CALLS). `body` does the work. `footprint` lists beforehand what
 * the body may touch: it reads parameters, and columns that no registered procedure writes, and issues an ITEM for each
 * operation [DESIGN section 4]; it writes nothing but variables of its own. A call whose footprint fails has no known
 * operations and must run alone: when a bulk has such calls, they write the item (0, ITEM_WHOLE) and all other calls of
 * the bulk add to it.
 *
 * Items. (table, group, key): `group` numbers a set of columns of the table that are written together, ITEM_ROWS stands
 * for the existence of rows (lookups and scans read it, inserts and deletes change it). The key of a group is made of
 * those columns whose values are known beforehand in every statement of every registered procedure that touches the
 * group: often the primary key, sometimes a prefix of it, at worst nothing: then the group is one item for the whole
 * table. So two operations that may touch the same cell always have the same item. Groups that are touched by a whole
 * key here and by less there have further, coarser items (ITEM_COARSE). Where a table has several unique keys, its rows
 * exist by each of them: an insert or delete has an operation for each key, by that key's columns, a lookup by a unique
 * key one for that key, and a search by less one for the main key, which is ITEM_ROWS; the others are ITEM_KEY +
 * number. A row that has a NULL in such another key is not there by it, and has no operation.
 *
 * Within a call the strongest operation on an item counts: read and add make write. A ROW_ADD's item is of kind OPK_ADD
 * and names the column and the amount (ItemSite.col, last argument): an add commutes only while no order of the bulk's
 * adds can overflow; bulk_run looks at that and makes them writes otherwise.
 *
 * Statement locks. `locking_body` is the body once more, for executors that hold locks by statement: a LOCK names an
 * item, as the footprint did, before the body touches it; the UNLOCK at the end of a statement lists the locks that
 * count. For each item, a call comes to an UNLOCK that counts at most as often as its footprint issued the item; when
 * it has been as often, it does not touch the item again.
 *
 * Queues. A procedure that looks for the first row of an ordered group and deletes it (SELECT .. ORDER BY k LIMIT 1,
 * DELETE .. WHERE .. k = v) dequeues: of calls one after the other, the n-th takes the n-th row, whatever the
 * others do meanwhile. What it then finds by the key of the row that it took is its alone, and what it only adds to
 * commutes. ProcTable.dequeue marks the tables that it uses so, as far as the program's shape shows; that it does
 * when it runs, executors that make use of it have to check: that what was found is deleted, that keys are those of the
 * row that was taken, and that no sum leaves its range.
 *
 * Fetch-adds. UPDATE .. SET x = x + e .. RETURNING x: of calls one after the other each gets what those before it have
 * left. Where the row is known in the footprint, by a unique key, and e, all calls of a set may do so at the same time:
 * each finds the column as it is and adds what those before it add (bulk_fetch_adds.c). The ROW_GETs and the ROW_PUT of
 * the statement, and the footprint's ITEM, have its number. Executors without this treat them as what they are without
 * it: reads and a write.
 */
#ifndef STELE_PROGRAM_PROC_H
#define STELE_PROGRAM_PROC_H

#include "program/program.h"

enum {
    ITEM_ROWS = 1 << 20,
    ITEM_WHOLE = ITEM_ROWS + 1, /* see above */
    ITEM_COARSE =
        ITEM_ROWS +
        16, /* + 2 * group of columns, below ITEM_GROUPS_MAX, or ITEM_GROUPS_MAX + key: sql/pl/compile_int.h */
    ITEM_KEY = 1 << 21, /* + number of the unique key */
    ITEM_GROUPS_MAX = 64
};
static inline bool item_is_coarse(uint32_t group) { return group >= ITEM_COARSE && group < ITEM_KEY; }

typedef struct ProcVar {
    const char *name; /* hidden ones: NULL */
    Type type;
    uint8_t phys;
} ProcVar;

typedef enum ProcDequeue {
    DEQUEUE_NOT,
    DEQUEUE_ROWS,  /* rows are looked for at the front of an ordered group, once, or by key, and deleted */
    DEQUEUE_KEYED, /* rows are found by keys that have the queue's; none are inserted or deleted */
    DEQUEUE_ADDED  /* columns (32 or 64 bits, NOT NULL) are added to, and nothing else */
} ProcDequeue;

typedef struct ImageNeed { /* what procedures need of a table */
    Table *table;
    bool *cols;   /* by column */
    bool *writes; /* by column: some procedure updates it; NULL: any of `cols` may be. Never a column of a key or a
                     group */
    bool *adds;   /* by column: some procedure adds to it (ROW_ADD) */
    bool inserts; /* all columns then */
    int32_t n_groups;
    struct {
        int32_t n_cols;
        int32_t *cols;
        int32_t order;
        bool desc;
    } * groups; /* order, desc: as in ImageIndex */
} ImageNeed;

typedef struct ProcTable {
    int64_t table_id;
    ImageNeed need;
    int64_t
        max_inserts; /* per call, -1: unknown before it runs (then the footprint counts them: ITEM kind OPK_INSERTED) */
    bool guessed;    /* ... and does not find all: CallGroup.guess more */
    uint8_t dequeue; /* ProcDequeue */
    int32_t n_dequeue_cols; /* QUEUE: columns of its unique key; KEYED: of this table, what they are equal to */
    const int32_t *dequeue_cols;
} ProcTable;

typedef struct ProcFetchAdd {
    bool planned; /* ... else it is a write (ItemSite.why) */
    int32_t table, col;
} ProcFetchAdd;

typedef struct ProcColumn {
    int32_t table, col;
} ProcColumn; /* table: by the number that programs use */

typedef struct Proc {
    const char *name;   /* for messages: "transfer(integer,integer,bigint)" */
    int32_t number;     /* in the registry */
    const char *reason; /* why it cannot run in bulk, with the line: "line 4: dynamic SQL"; NULL: it can */
    int32_t n_params;   /* variables 0 .. n_params - 1: IN and INOUT, in order */
    int32_t n_vars;     /* of the body */
    ProcVar *vars;
    int32_t n_foot_vars; /* of the footprint: the same parameters, then its own */
    ProcVar *foot_vars;
    int32_t n_outs;
    int32_t *outs; /* variables */
    const char **out_names;
    int32_t n_tables;
    ProcTable *tables;   /* by the number that programs use */
    int32_t n_unbounded; /* columns with a ROW_ADD of which the footprint does not say how much a call may add in all */
    const ProcColumn *unbounded;
    Program *body, *footprint;
    const int32_t *lines;      /* per instruction of body: line in the source */
    const char *const *places; /* per instruction: "SQL statement", "assignment", ... */
    const char *const
        *contexts; /* per instruction: lines of context of the routines that the procedure calls there; NULL: none */
    Program *locking_body; /* the body with statement locks, NULL: there is none */
    const int32_t *plain;  /* instruction of it -> of body: the same one, or the next */
    int32_t n_locks;
    const ItemSite *const *locks; /* by number */
    int32_t queue;                /* the one table with DEQUEUE_ROWS, -1: none, and then no other is used so either */
    int32_t n_fetch_adds;
    const ProcFetchAdd *fetch_adds;
    bool some_fetch_adds; /* some of them are planned */
    bool writes;          /* changes anything */
    int32_t order_line;   /* the first line whose effect may depend on the order that rows of a table happen to have; 0:
                             none's does */
    bool undo; /* can fail after its first change: changes are logged [GPUTx App. D]. ROW_ADD is taken not to fail here,
                  ... */
    bool undo_adds; /* ... and here it may: for bulks whose additions might overflow */
    Arena *arena;
} Proc;

/* Fills queue, and `dequeue` of the tables, from the body and the tables' needs. Out of memory: as if there were none.
 */
void proc_find_dequeues(Proc *p);
/* Fills fetch_adds, of n numbers, from the body and the footprint. */
Status proc_find_fetch_adds(Proc *p, int32_t n);

/* ITEM kinds beyond schedule.h's: no operation, but counts: args[0] (I64) rows that the call may insert into `table`.
 */
enum { OPK_INSERTED = 16 };

#endif
