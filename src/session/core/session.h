/* session.h - connections and statements: from text to result.
 *
 * A Session runs one statement at a time: parse, bind, optimise, lower, execute, apply. It owns the transaction:
 * lock mode, undo log of data, undo list of catalog changes. A Statement is a prepared statement with its last result.
 *
 * Every statement is atomic: on error its changes are undone; inside BEGIN ... COMMIT the whole transaction is
 * (PostgreSQL's rule: it then only accepts ROLLBACK or COMMIT).
 */
#ifndef STELE_SESSION_CORE_SESSION_H
#define STELE_SESSION_CORE_SESSION_H

#include "base/mutex.h"
#include "catalog/named_type.h"
#include "catalog/sql_names.h"
#include "db/database.h"
#include "db/published.h"
#include "exec/exec.h"
#include "exec/rows.h"
#include "io/copy.h"
#include "io/files.h"
#include "session/core/pg_settings.h"
#include "sql/parse/ast.h"
#include "sql/plan/plan.h"
#include "txn/run/bulk.h"

/* What SET changes, by what changes together; settings.c has the table of names, ranges and defaults. */
typedef struct ExecSettings { /* how a statement is planned and run */
    int64_t threads, memory_limit, result_memory, vector_size, morsel_rows;
    uint32_t disabled_rules;
    char rules_text[256]; /* disabled_rules as given */
    char temp_directory[1024];
    char executor[16], isa[16];
    bool hash_constant;
} ExecSettings;

typedef struct DeviceSettings {
    char id[32], residence[16];
    bool strict, wait, result_cache;
    int64_t memory_limit, initial_rows;
} DeviceSettings;

typedef struct PipelinedSettings { /* executor = pipelined */
    bool concurrency;
    int64_t tile_rows, channels, packet_rows, ring, groups;
} PipelinedSettings;

typedef struct TxnSettings {
    int64_t lock_timeout_ms, statement_timeout_ms, idle_timeout_ms, snapshot_memory_limit;
    int64_t merge_delay_ms; /* upkeep.h */
    char snapshot[16];
    int64_t snapshot_interval_ms; /* read.c */
    char default_isolation[20], synchronous_commit[16];
    int64_t max_log_size, checkpoint_timeout_ms, recovery_target_s; /* checkpointer.h */
    bool default_read_only, default_deferrable, merge_auto, log_verify;
} TxnSettings;

typedef struct BulkSettings { /* bulks of calls, and the pool that makes them */
    char strategy[8], order[12], release[12], cut[12];
    int64_t step_limit, set_min, group_bits, partitions, lanes;
    int64_t size, interval_us;     /* when the pool cuts a bulk */
    int64_t slice_ms, slice_calls; /* bulk_slices.h */
    int64_t replay_memory;
    bool replay, figures, copies;
} BulkSettings;

typedef struct ClientSettings { /* the connected client, and the form of its input and output */
    TextForm form;
    char application_name[64], search_path[SEARCH_PATH_BYTES];
    char role[64], authorization[64]; /* SET ROLE: "none"; SET SESSION AUTHORIZATION: "" */
    char interval_style[20], bytea_output[8];
    int64_t extra_float_digits;
    bool check_bodies;
    bool programs;        /* COPY may run some; once off, it is for good */
    SettingTexts *texts;  /* settings without effect, and the client's own (pg_settings.h) */
    int64_t texts_serial; /* another one whenever they change */
} ClientSettings;

typedef struct Settings {
    ExecSettings exec;
    DeviceSettings device;
    PipelinedSettings pipelined;
    TxnSettings txn;
    BulkSettings bulk;
    ClientSettings client;
} Settings;

/* What becomes of a session's settings when its transaction ends, or a statement outside of one that changes some. */
typedef struct KeptSettings {
    Settings before, keep; /* what ROLLBACK and COMMIT restore (SET LOCAL changes `settings` alone) */
    bool changed;          /* outside a transaction block: they are good */
    SettingTexts *texts;   /* all that the session has, the newest first */
} KeptSettings;

/* A message that is no error: RAISE NOTICE and the like. */
typedef struct SessionNotice {
    const char *severity;                                     /* DEBUG, LOG, INFO, NOTICE, WARNING */
    const char *sqlstate, *message, *detail, *hint, *context; /* "" when absent */
} SessionNotice;

typedef struct CatalogUndo CatalogUndo;
typedef struct SqlPrepared SqlPrepared;
typedef struct CachedPlan CachedPlan; /* plancache.h */
typedef struct SqlText SqlText;       /* likewise */

/* What a client has asked to hear and hand over. */
typedef struct ClientHooks {
    bool (*progress)(void *ctx, double fraction);
    void *progress_ctx;
    int64_t (*copy_read)(void *ctx, char *buf, int64_t size);
    bool (*copy_write)(void *ctx, const char *data, int64_t size);
    void *copy_ctx;
    void (*notice)(void *ctx, const SessionNotice *n); /* NULL: dropped */
    void *notice_ctx;
    struct ClientRows *rows;                      /* under names, for FROM (client_rows.h) */
    bool (*resolve)(void *ctx, const char *name); /* PlanCtx */
    void *resolve_ctx;
} ClientHooks;

/* Texts and plans kept between runs (plancache.h). */
typedef struct KeptTexts {
    MemAccount account;
    SqlText *texts, *oldest; /* by last use */
    int64_t n_texts;
    int64_t n_runs, n_texts_found, n_plans_found; /* plans run so far; what was there already */
} KeptTexts;

typedef struct SessionDevice {
    bool timing;                 /* EXPLAIN ANALYZE: measure kernels, say why there is no device */
    char reason[96];             /* what DeviceUse.reason points to */
    struct DevRuntime *override; /* tests: instead of the one that the settings name */
} SessionDevice;

/* What the session has had of a sequence (sequences.c). */
typedef struct SessionSequence {
    int64_t sequence, state; /* ids: of the sequence, and of the state that its numbers are of */
    bool has_last;           /* currval is defined */
    int64_t last, kept;      /* given last; taken in advance up to here, by the sequence's CACHE */
} SessionSequence;
typedef struct SessionSequences {
    int64_t n, cap;
    SessionSequence *items; /* in the session's account */
    int64_t last;           /* the sequence of lastval; 0: none */
} SessionSequences;
/* What it has of the numbers that sessions share. */
typedef struct SessionNumbers {
    struct SessionAdvisory *advisory; /* advisory.c; NULL: it has never had such a lock */
    int64_t xact;                     /* the number of its transaction (xact.h); 0: none yet */
} SessionNumbers;
/* What a session has given names to. */
typedef struct SessionNames {
    SqlPrepared *prepared;
    struct Cursor *cursors; /* cursor.h; newest first */
    int64_t last_cursor;    /* serial number of the newest so far */
} SessionNames;

/* What the statement under way reads (read.c). */
typedef struct SessionRead {
    EpochSlot *slot;
    const struct DatabaseVersion *version; /* pinned; NULL: the tables, under the lock */
    bool of_txn;                           /* the pin is the transaction's, and lasts longer than the statement */
    bool published;                        /* it was made for this statement, */
    PublishCost cost;                      /* for this */
    int64_t since_ns;                      /* when the statement began */
    int64_t seen_ns;                       /* what was committed then it may have seen, or changed itself */
    bool again;     /* it turned out to need the lock: it has failed, and is begun again with it */
    bool locked;    /* it was */
    bool brief;     /* it changes a row or two: nothing is published before */
    bool streams;   /* its result may be read when it is over: a version is published even for a lone session */
    bool gives_way; /* taking the lock, those that wait for it come first */
    bool waits;     /* it waits for the lock or for a current version, whichever comes first */
    bool images;    /* images may be ahead of their tables: it reads a row or two there, or on a device */
    struct Catalog *on_device; /* with views of rows that only a device has (read_device.c); NULL: there are none */
    const char *device;        /* its name, then */
    bool unlocks;  /* then: once a plan's rows are made on the device the lock is given up; the pin protects the rest */
    bool unlocked; /* it was: no more can be made of these rows */
    struct SysObjects *objects; /* system/objects.h: what system relations have of it; NULL: not asked for */
    int32_t inner;              /* plans that are not the statement's last are being run */
} SessionRead;

/* search_path: the setting taken apart, and which path is in force on the thread that works for the session. */
typedef struct SessionPath {
    SearchPath own;
    const SearchPath *now;         /* `own`, or that of a routine that is made or runs */
    const SearchPath *before;      /* of the thread, outside of the session's calls */
    TempSchema temp;               /* the session's temporary objects; */
    TempSchema *left;              /* and what is left of them if they cannot be dropped; NULL: there are none */
    const TempSchema *temp_before; /* of the thread, likewise */
} SessionPath;

/* idle.c */
typedef struct SessionIdle {
    Mutex call;           /* held in calls while there is a transaction, and while another thread ends it */
    int32_t depth;        /* calls that the session's thread is in */
    bool locked;          /* by the outermost of them */
    bool ended;           /* under `call`: another thread has ended the transaction */
    _Atomic bool outside; /* in a transaction, and in no call: others may work on it, with `call` */
    _Atomic int64_t due;  /* when it will have been idle for too long; INT64_MAX: in a call, no limit, no transaction */
} SessionIdle;

/* Changes of statements under way that are out of the tables for now (with_changes.c), innermost first. */
typedef struct HiddenChanges {
    struct HiddenChanges *up;
    UndoLog *log;
} HiddenChanges;

/* Levels of isolation, the weakest first, as default_transaction_isolation has them. */
typedef enum TxnLevel {
    LEVEL_READ_UNCOMMITTED, /* the same as the next */
    LEVEL_READ_COMMITTED,
    LEVEL_REPEATABLE_READ, /* the same as the next */
    LEVEL_SERIALIZABLE
} TxnLevel;
/* The open transaction, and the statement of it that is under way (transaction.h, transaction_rows.c). */
typedef struct SessionBlock {
    TxnLevel level;  /* outside of transaction blocks: without meaning */
    bool deferrable; /* as SHOW shows it; it has no effect */
    bool latest;     /* taking the lock, the transaction is validated and goes on with what is committed now */
    bool can_wait;   /* the statement has had no effect that can be seen, so that it can run again */
    struct HeldNotice *notices; /* meanwhile: of a statement that may come to wait; newest first */
    bool keeps_read; /* FOR UPDATE and the like: what it reads counts to the end of the transaction, at every level */
    bool defers;     /* it works on what is committed, with the transaction's deferred changes beside */
    bool read_adds;  /* it has read rows to which the transaction has added (undo_rows.h) */
    bool skipped;    /* statements of it have changed rows without a look at those that others hold */
    bool looked;     /* none of the rows that are about to be committed are held by others */
    int64_t mark;    /* of the undo log when it began, with all that was deferred before */
    int64_t cursor_mark; /* SessionNames.last_cursor when it began */
    struct ConstraintMark {
        int64_t events, modes, ticks;
        int64_t ranges, last_n; /* of rows of the last event, which later ones join, and rows in the last of these */
    } constraints;              /* constraints.h, when it began */
    int64_t lsn, seen; /* of the redo log (redo.h): what it has committed, and what it has seen of others, is on the
                          disk when that is */
    struct BlockLog {
        int64_t committed; /* end of the last record that the session has logged; 0: there is none */
        int64_t waited_ns; /* for the disk, since it began */
        bool returns;      /* commits return before they are on the disk, whatever synchronous_commit says */
    } log;
    int64_t holder;     /* it waits for that transaction, or ADVISORY_HOLDER, and runs again then; 0: none */
    _Atomic bool waits; /* it does now; set under the hub's mutex, read by any thread */
} SessionBlock;

/* What the failure of its statement does to a bulk that has run. */
typedef enum BulkUndo {
    BULK_STANDS,
    BULK_UNDO_TABLES, /* undone by the tables' undo log: they are brought up to date behind it */
    BULK_UNDO_IMAGES, /* undone without them (session/pool/bulk_state.h, Undo): nothing else looks at its tables */
} BulkUndo;

typedef struct SessionBulk {
    bool under_way;        /* a bulk takes the lock: its images may stay ahead of their tables */
    BulkUndo undo;         /* of the bulk that runs */
    int32_t queries_alone; /* so many queries of bulk_call run under the lock held alone (bulk_call.c) */
    BulkStats stats;       /* of the last bulk */
    char reason[256];      /* what stats.reason points to */
} SessionBulk;

typedef struct Session {
    Database *db;
    MemAccount account;
    Err err;
    Settings settings;
    KeptSettings kept_settings;
    SessionInfo info;
    RandomSource random;
    SessionPath path;
    FileFinder files; /* of statements that read some */
    ClientHooks client;
    SessionSequences sequences;

    /* the transaction */
    char state;     /* 'I', 'T', 'E' */
    bool read_only; /* the open transaction */
    LockMode lock;
    SessionRead read;
    int64_t n_notices;   /* so far */
    bool reserve_shared; /* while it has the lock alone, the database's account has its reserve: tables are charged
                            there */
    UndoLog *undo;
    HiddenChanges *hidden;
    CatalogUndo *catalog_undo;    /* newest first */
    bool has_dropped;             /* an object has gone since parts_sweep: what belonged to it may be there still */
    struct Savepoint *savepoints; /* savepoint.c; newest first */
    struct Txn *txn; /* transaction.c; NULL outside transactions and before their first look at the database */
    SessionIdle idle;
    SessionBlock block;
    SessionNumbers numbers;

    /* statements */
    SessionNames names;
    struct Statement *statements;
    KeptTexts kept;
    struct PlSession *pl;              /* pl_run.c: routines made ready, calls under way */
    const struct RunningPlan *running; /* queries under way that call routines, innermost first */
    bool explaining;                   /* EXPLAIN without ANALYZE: set-returning functions are not called */
    struct Constraints *constraints;   /* what waits for the transaction's end (constraints.h); NULL: nothing */
    int64_t deadline_ns;               /* statement_timeout */
    _Atomic bool cancel;
    int32_t groups; /* of calls that are one for interrupts, begun and not ended: session_forget_interrupt */
    _Atomic(struct Session *) leads; /* the pool's session, while this one's thread runs a bulk on it: it is canceled
                                        with this one (callpool.c) */
    SessionDevice device;

    SessionBulk bulk;
    struct CallClient *call_client; /* callpool.c */
} Session;

/* A query's plans, registers and the like, beyond memory_limit, up to which its operators take all before they spill.
 */
enum { QUERY_RESERVE = 8 << 20 };

/* Of a result that is a cursor's (cursor.h): its columns with row numbers, behind the others. */
typedef struct ResultNumbers {
    bool wanted;
    bool locks; /* the query has FOR UPDATE or the like */
    int32_t n;
    const struct RowNumbers *items;
} ResultNumbers;

typedef struct Statement {
    Session *session;
    struct Statement *next, **link;
    SqlText *text;     /* text, tree and shape: shared, as long as the statement */
    SqlText *ran_text; /* EXECUTE: that of what it ran, which the last result may name; else NULL */
    CachedPlan *plan;  /* of the last run, when it was a SELECT */
    Arena *arena;      /* parameters; NULL when there are none */
    Arena *run_arena;  /* plans and results of one run */
    MemAccount account;
    const AstStmt *ast;
    int32_t n_params;
    const Type *param_types;
    Value *params;
    bool has_shape;
    int32_t n_cols; /* of the last run, else the text's */
    const char **names;
    Type *types;
    /* result of the last run */
    bool ran;
    Query *query;
    RowStore *rows;
    int32_t first_col;
    int64_t n_rows, next_row;
    /* Result row -> row of the store, NULL when they are the same. -1 - row: its result is in the n_cols columns behind
     * (BoundStmt.inserted_result). */
    const int64_t *row_map;
    const char ***text_rows;   /* utility results: rows of text cells */
    struct CursorRows *shared; /* FETCH: what the rows belong to (cursor.h); else NULL */
    ResultNumbers numbers;     /* of a cursor's result */
    const Vec *columns;  /* results of bulk_call: n_cols of n_rows cells (is_const: of one), in run_arena or `plan` */
    const Value *values; /* results of CALL and of a lone function call: n_rows * n_cols of them, in run_arena */
    bool is_text;
    int64_t affected;
    char tag[64];
    Arena *cell_arena;           /* texts of the current row */
    bool show_rows;              /* the statement returns rows */
    bool streams;                /* asked for: its result is computed as it is read, where it can be */
    struct Statement **holder;   /* NULL, or where the statement's owner has it: NULL when it is freed before */
    struct ResultStream *stream; /* the last run's is (result_stream.h): `rows` and n_rows are a piece of it; or NULL */
    struct Explained *explained; /* EXPLAIN ANALYZE: what it runs is kept there; else NULL */
    int64_t reserve;             /* bytes that it may take beyond memory_limit, since it gives some back */
} Statement;

/* Where a cell of the result is in the store. */
static inline int64_t statement_cell(const Statement *st, int64_t row, int32_t col, int32_t *store_col) {
    int64_t at = st->row_map ? st->row_map[row] : row;
    *store_col = st->first_col + col + (at < 0 ? st->n_cols : 0);
    return at < 0 ? -1 - at : at;
}

/* The cell of a result that is columns. */
static inline Value statement_column_cell(const Statement *st, int64_t row, int64_t col) {
    return vec_value(&st->columns[col], row, st->types[col]);
}

Status session_new(Database *db, Session **out, Err *e);
void session_free(Session *s);
/* Where a call of the library begins: an interrupt from before was for what is over, unless the call is one of a group
 * (s->groups): there it is for this call, and for those after it. */
static inline void session_forget_interrupt(Session *s) {
    if (s->groups == 0) atomic_store(&s->cancel, false);
}
/* Begins a call of the library for the session: no error, earlier interrupts forgotten, statement_timeout from now on;
 * recursive walks and planning look at that (base/stack.h) until stack_watch_end(). */
StackWatch session_call_begin(Session *s);
/* What the statement has done will stand, and is not undone by its failure: from now on to its end it is not cancelled,
 * nor is statement_timeout looked at. */
void session_is_past_cancel(Session *s);
/* Before the client gets something of the statement, or gives something, that cannot come twice: it does not run again.
 * ST_ERROR with s->block.holder set: first it is to wait, and to end like that. */
Status session_stop_waiting(Session *s);
Status statement_prepare(Session *s, Slice sql, Statement **out, int64_t *consumed);
void statement_free(Statement *st);
void statement_reset(Statement *st);
void statement_drop_rows(Statement *st);              /* what a run has left; its memory (run_arena) stays */
void statement_clear_param(Statement *st, int32_t i); /* frees a bound text; the parameter is NULL again */
Status statement_run(Statement *st);
/* The session's clock and time zone, for what comes next: outside a transaction it is now, inside one its beginning. */
void session_begin_clock(Session *s);

/* ---- shared by session's files only ---- */
Status settings_init(Settings *s, Database *db, MemAccount *account);
Status settings_set(Session *s, const char *name, const char *value, Err *e); /* value NULL = default */
/* In a transaction it lasts when that commits, with is_local until it ends; otherwise as the statement does. */
Status settings_change(Session *s, const char *name, const char *value, bool is_local, Err *e);
Status settings_reset_all(Session *s);
/* set_config: what changes how statements run is for SET alone (0A000). The setting's text in the arena. */
const char *settings_config(Session *s, Arena *a, const char *name, const char *value, bool is_local, Err *e);
bool settings_is_list(const char *name); /* SET takes several values */
/* 58P01 when there is no such directory, 42809 when it is none, 42501 when files cannot be made in it. */
Status temp_directory_check(const char *path, Err *e);
void settings_restore(Session *s, const Settings *to);
void settings_apply_path(Session *s); /* SessionPath.own is what the setting says */
/* What bulks look at: settings with the same bytes here are the same to them. Returns their number. */
enum { SETTINGS_BULK_BYTES = sizeof(Settings) };
int64_t settings_for_bulks(const Settings *s, uint8_t *out);
/* Text of a setting in the arena; NULL and 42704 when unknown. */
const char *settings_show(Session *s, Arena *a, const char *name, Err *e);
int64_t settings_count(void);
/* What there is to know of a setting; texts are static, but for boot, which is the arena's. */
typedef struct SettingInfo {
    const char *name, *doc;
    const char *type;    /* bool, integer, enum or string, as PostgreSQL's pg_settings has them */
    const char *unit;    /* of numbers without one: B, ms, us; NULL: none */
    const char *choices; /* of enum: a|b, the default first; else NULL */
    const char *boot;    /* the default, in the form of settings_show; NULL: out of memory, which is set */
    bool ranged;         /* min and max hold */
    int64_t min, max;
} SettingInfo;
const char *settings_name(int64_t i);
void settings_info(Session *s, Arena *a, int64_t i, SettingInfo *out);

/* ---- read.c ---- */
/* What the session's statement reads is there: a published version, which is pinned (session_catalog then has its
 * tables), or the tables, under the shared lock. A statement that takes some microseconds (brief) reads a version only
 * if there is a current one. */
Status session_read(Session *s, bool brief);
/* The same to look at definitions alone; held: there was one or the other already. */
Status session_read_definitions(Session *s, bool *held);
bool session_reads_version(const Session *s);
bool session_may_read_version(const Session *s); /* it holds no lock, and may do without */
bool session_read_own(Session *s); /* the version that its transaction has pinned is read; false: there is none */
const Catalog *session_catalog(const Session *s);
/* What bulks have left in images is what the session is to see: outside a transaction, and in one that has changed
 * nothing and began when they had (transaction_sees_images). */
bool session_may_read_images(const Session *s);
/* read_device.c: a statement that may read images and use a device, and holds no lock: with the shared lock and
 * views (SessionRead.on_device), where a device has rows that the host does not; else without a lock. Part of
 * session_read and session_read_end. */
Status session_read_device(Session *s);
void session_read_device_end(Session *s);
/* For a plan that is about to run: whether it gives up the lock; 'again' when it cannot read any more what the
 * statement has read so far. */
Status session_read_device_run(Session *s, struct DeviceUse *use);
uint64_t session_catalog_epoch(const Session *s); /* of the version that is read */
int64_t session_read_age_ns(const Session *s);    /* likewise: how old it may be; <= 0: it was current */
void session_read_planned(const Session *s);      /* from here on nothing is looked up in the catalog */
void session_read_end(Session *s);
/* A statement that has not looked at any row yet, and turns out to take its time, begins to read anew. */
void session_read_anew(Session *s);
/* The statement has failed, for definitions that the transaction's version does not have, but the catalog does: it is
 * begun again under the lock. */
bool session_read_outdated(const Session *s);
/* What comes needs the lock. A statement that reads a version fails here, and is begun again with the lock
 * (session_execute); it has had no effect yet. */
Status session_read_locked(Session *s);
void session_publish_before_write(Session *s);
/* With the lock held alone, outside a transaction block: publishes, pins that as what a transaction of the session's
 * reads, and gives the lock back (ahead.h). Until it is over, who changes one of the tables (ids) waits for it. false:
 * it cannot, and nothing has happened. */
bool session_read_beside(Session *s, int n, const int64_t *tables);
bool session_should_publish(const Session *s);   /* others may be reading */
bool session_always_publishes(const Session *s); /* snapshot = version */
bool session_publish(Session *s); /* others can read what is committed, or was before; false: nothing is published */
/* table_merge, beside readers of what is published. What bulks had of the table goes, and most of the freed memory that
 * the process keeps in case it is wanted again. */
Status session_merge(Session *s, Table *t, Err *e);
/* Of a database that is left alone: room that bulks do not need, and the same. Under the lock held alone. 58000, 53200:
 * a device failed */
Status session_give_back_spare(Session *s);
bool session_read_enough(void *s); /* a session that waits need not wait any more */

Status session_lock(Session *s, LockMode mode);
/* The lock alone, and what is committed now in the tables: the transaction is validated. 40001. */
Status session_lock_latest(Session *s);
void session_unlock_keep_version(Session *s);
/* The session has seen, or is about to see, what is committed now: no older version is read from here on. */
static inline void session_sees_now(Session *s) { s->read.seen_ns = clock_ns(); }
void session_note_seen(Session *s); /* it has the lock or a pinned version: what it sees there is to be on the disk */
void session_unlock_unchanged(Session *s); /* what is committed is what it was when the lock was taken */
void session_abandon(Session *s);          /* the transaction is rolled back and over */
void session_unlock(Session *s);           /* outside a transaction, before anything was read */
/* COMMIT and ROLLBACK of a procedure that was called outside a transaction: what comes is another one, with the lock
 * that this one had. */
Status session_end_inside(Session *s, bool commit);
/* A bulk that runs in slices, outside a transaction: what the slice did stays or is undone, and the lock is given up.
 * Resumed it has the lock as by session_begin_bulk, after the statements that wait for it. */
Status session_pause_bulk(Session *s, bool commit);
Status session_resume_bulk(Session *s);
/* 55006 when a query under way, which called the routine that wants to change the table, reads it. what: "UPDATE" ...
 */
Status session_table_idle(Session *s, const Table *t, const char *what);
/* system.c: the rows of a system relation. */
Status session_system_rows(Session *s, PlanCtx *c, Plan *p);
/* Plans and runs a bound statement's plan; result columns ids. *query owns the rows. */
typedef struct RunOutput {
    QueryPlan *plan;
    Query *query;
    RowStore *rows;
    int64_t plan_ns, run_ns;
    bool more; /* of pieces: session_next_piece gives others than `rows` */
} RunOutput;
enum { RESULT_PIECE_BYTES = 4 << 20 };
/* A query of a lowered plan, ready to run: out->query. info: the session's; keep, keep_account: see DeviceUse. */
Status session_query_new(Session *s, const QueryPlan *plan, MemAccount *acct, const SessionInfo *info,
                         struct DevPlan **keep, MemAccount *keep_account, RunOutput *out);
/* LIMIT and OFFSET with subqueries become constants: runs them (limit.c). session_run_plan does it itself. */
Status session_resolve_limits(Session *s, PlanCtx *c, Plan *p, MemAccount *acct);
/* devices.c: what the settings ask for; runtime NULL when everything is for the virtual machine. */
Status session_device_use(Session *s, const QueryPlan *plan, DeviceUse *out);
bool session_may_use_device(const Session *s); /* some plan may, as the settings are */
/* A device that some plan may use has copies of columns in memory of its own, which a published version extends. */
bool session_device_keeps_copies(const Session *s);
/* The device's calibrated read rate in GB/s, 0 when it was not measured. */
double session_device_limit(Session *s, const char *id);
/* What was measured of bulks of calls, on a device or, NULL, on the virtual machine (calibrate_bulk.h); 0: nothing was.
 */
enum { BULK_GROUPS_ALL = 1 << 16 };
typedef struct BulkMeasured {
    double set_min, groups;
} BulkMeasured;
BulkMeasured session_bulk_measured(Session *s, struct DevRuntime *r);
Status session_show_devices(Session *s, Statement *st);
/* The machine's devices and the cache of their code; both live as long as the database. */
struct Devices;
struct CodeCache;
Status session_devices(Session *s, struct Devices **devices, struct CodeCache **cache);
/* Measures the CPU and all usable devices (device NULL) or one ("cpu", "cuda:0") and saves the profile
 * (cost/profile.h). */
Status session_calibrate(Session *s, const char *device, bool quick);
/* A table is gone: no device needs its columns. */
void session_device_forget(Session *s, int64_t table_id);
/* Devices with a valid copy of the tablet's column (col < 0: of any), separated by commas; NULL: none. */
Status session_device_copies(Session *s, Arena *a, const Table *t, int64_t tablet, int32_t col, const char **names);
void session_device_limits(Session *s); /* device_memory_limit has changed: what is cached beyond it goes at once */
/* Devices with memory of their own that were used, and their names as SET device has them; at most `most`. */
int session_device_runtimes(const Session *s, int most, struct DevRuntime **out, const char **names);
bool device_setting_valid(const char *v);
Status session_run_plan(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                        RunOutput *out);
/* ... or, where nothing speaks against it, makes a query of which nothing has run: rows NULL, more. */
Status session_begin_pieces(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                            RunOutput *out);
Status session_next_piece(Session *s, int64_t bytes, RunOutput *out);
/* ... and computes the first piece of the rows. */
Status session_run_pieces(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                          RunOutput *out);
/* ... without the members of its WITH that change data. */
Status session_run_member(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                          RunOutput *out);
void plan_ctx_init(Session *s, Arena *a, PlanCtx *c);
/* Of a client's statement, which sees files and what the client has registered. */
void plan_ctx_init_client(Session *s, Arena *a, PlanCtx *c);
/* The columns that INSERT, UPDATE and DELETE need of their plan: [rowid] [hit, set values] values checks returning.
 * NULL: out of memory. */
ColId *dml_columns(const BoundStmt *b, Arena *a, int32_t *n);
/* INSERT, UPDATE, DELETE, bound and with parameters in place. Fills the statement's result for RETURNING. */
Status session_dml(Session *s, Statement *st, PlanCtx *c, BoundStmt *b);
Status session_utility(Session *s, Statement *st, const AstStmt *ast);
/* text: whose tree it is, and where what it becomes is kept for its next run; NULL: nothing is kept. */
Status session_execute(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                       const Value *params, SqlText *text);
void plan_release(CachedPlan *p); /* NULL is fine */
/* Of EXPLAIN, VACUUM; without a value it is on. 42601 */
Status session_option_bool(Session *s, const AstOption *o, bool *out);
Status session_explain(Session *s, Statement *st, const AstExplain *x, int32_t n_params, const Type *param_types,
                       const Value *params);
Status session_describe(Session *s, Statement *st, const AstDescribe *x);
Status session_begin_write(Session *s); /* exclusive lock and undo log */
/* The same before it is known what changes: a read-only transaction may change temporary tables. 25006 is up to
 * session_may_change, then. */
Status session_begin_change(Session *s);
Status session_may_change(Session *s, const Table *t);
Status session_end_statement(Session *s,
                             Status outcome); /* commits or undoes in autocommit; marks 'E' in a transaction */
void session_free_prepared(Session *s);
/* ---- savepoint.c: 25P01 outside transactions, 3B001 when there is none of that name ---- */
Status savepoint_set(Session *s, const char *name);
Status savepoint_release(Session *s, const char *name);
Status savepoint_back(Session *s, const char *name); /* the transaction goes on, from state 'E' too */
void savepoint_after_error(Session *s);              /* state 'T' becomes 'E'; there are savepoints */
void savepoints_free(Session *s);
/* READ ONLY and the like of BEGIN and SET TRANSACTION. 25001: too late. */
Status session_transaction_options(Session *s, int64_t n, const AstOption *options);
/* The open transaction sees, with each statement, what is committed then. */
static inline bool session_sees_latest(const Session *s) {
    return s->state != 'I' && s->block.level <= LEVEL_READ_COMMITTED;
}
TxnLevel session_default_level(const Session *s);
const char *session_level_name(TxnLevel l);
Status session_set_level(Session *s, const char *name, Err *e); /* 25001: too late; 22023 */
static inline bool session_read_only(const Session *s) {
    return s->db->read_only || (s->state == 'I' ? s->settings.txn.default_read_only : s->read_only);
}
void catalog_undo_all(Session *s);
void catalog_undo_to(Session *s, const CatalogUndo *mark); /* back to what s->catalog_undo was */
void catalog_undo_forget(Session *s);
/* Adds a text row to the statement's result. cells: n_cols strings (copied). */
Status statement_text_columns(Statement *st, int32_t n, const char *const *names);
Status statement_text_row(Statement *st, const char *const *cells);
/* Undoable catalog changes */
Status session_add_table(Session *s, Table *t);
Status session_drop_table(Session *s, Table *t);
Status session_add_view(Session *s, View *v);
Status session_drop_view(Session *s, View *v);
Status session_replace_view(Session *s, View *old, View *v); /* v may have another name, a free one */
Status session_add_foreign(Session *s, ForeignKey *f);
Status session_drop_foreign(Session *s, ForeignKey *f);
Status session_add_routine(Session *s, Routine *r);
Status session_drop_routine(Session *s, Routine *r);
/* The domain is the session's from here on, also when this fails. */
Status session_add_domain(Session *s, Domain *d);
Status session_drop_domain(Session *s, Domain *d);
/* The same of sequences. */
Status session_add_sequence(Session *s, Sequence *q);
Status session_drop_sequence(Session *s, Sequence *q);
Status session_add_index(Session *s, const IndexDef *like); /* a copy of it */
Status session_drop_index(Session *s, IndexDef *x);
Status session_add_comment(Session *s, const Comment *like); /* likewise */
Status session_drop_comment(Session *s, Comment *x);
Status session_add_role(Session *s, const Role *like); /* likewise; id -1: it gets one */
Status session_drop_role(Session *s, Role *x);
Status session_add_privileges(Session *s, const Privileges *like);
Status session_put_row_security(Session *s, const RowSecurity *like); /* in the place of the table's */
Status session_drop_row_security(Session *s, RowSecurity *x);
Status session_drop_privileges(Session *s, Privileges *x);
/* An object that a statement has made: kinds as acl_rights_of has them. */
typedef struct AddedObject {
    char kind;
    const char *name;
    int64_t routine;
} AddedObject;
/* The next one, from *at (at first s->catalog_undo) back to what that was before the statement. */
bool session_next_added(const Session *s, const CatalogUndo **at, const CatalogUndo *mark, AddedObject *out);
Status session_add_schema(Session *s, const Schema *like); /* likewise */
Status session_drop_schema(Session *s, Schema *x);
/* An enumerated type in the place of another; either may be NULL. */
Status session_put_enum(Session *s, const EnumType *from, const EnumType *to);
/* wide_numerics.c: gives columns of numeric(p,s) that a statement changes, and that have no NaN, the form that has.
 * done: there are some. */
Status numerics_widen(Session *s, Statement *st, const AstStmt *ast, bool *done);
bool session_enum_is_older(const Session *s, const EnumType *x); /* than the transaction */
/* The same of composite types. */
Status session_put_composite(Session *s, const CompositeType *from, const CompositeType *to);
/* The same of range types. */
Status session_put_range(Session *s, const RangeType *from, const RangeType *to);
Status session_expect_rows(Session *s, Table *t, int64_t rows); /* Table.expected_rows */

/* The key of the relation that a definition names, in the name's place: one that nothing has where there is none; under
 * the lock. A schema that is not there: 3F000, unless missing_ok. 42501: a system's. */
Status session_relation_name(Session *s, Arena *a, const AstName *n, bool missing_ok, AstName *out);
/* The key of an object that is to be made. 3F000: nor is a schema selected. */
Status session_new_name(Session *s, Arena *a, const AstName *n, AstName *out);
/* ... of a relation that is to be kept in that way: in the session's temporary schema, or not. 42P16 */
typedef enum Persistence { PERSISTENCE_PERMANENT, PERSISTENCE_TEMPORARY, PERSISTENCE_UNLOGGED } Persistence;
Status session_new_relation(Session *s, Arena *a, const AstName *n, Persistence kept, AstName *out);
/* The type of the database that a statement names; *out without one: there is none. 3F000 unless missing_ok: no schema
 */
Status session_find_type(Session *s, const AstName *n, bool missing_ok, NamedType *out);
Status session_no_type(Session *s, const AstName *n); /* 42704 */

/* ---- views.c, utility.c ---- */
Status view_create(Session *s, Statement *st, const AstCreateView *x);
Status view_alter(Session *s, Statement *st, View *v, const AstAlterTable *x); /* ... and of ALTER TABLE */
Status view_rename(Session *s, Statement *st, View *v, const AstRename *x);
/* ---- matviews.c ---- */
Status matview_create(Session *s, Statement *st, const AstCreateTableAs *x);
Status matview_refresh(Session *s, Statement *st, const AstRefresh *x);
/* 42809 or 0A000 for what ALTER TABLE and ALTER MATERIALIZED VIEW cannot do to one. */
Status matview_may_alter(Session *s, const AstAlterTable *x);
/* Its table is about to get another name, or (col >= 0) a column of it. */
Status matview_renamed(Session *s, Arena *a, const Table *t, const char *name, int col, const char *col_name);
Status matview_drop(Session *s, View *v); /* and its table */
/* One command of ALTER TABLE. */
Status alter_table_cmd(Session *s, Statement *st, const char *table, const AstAlterCmd *k);

/* ---- sequences.c ---- */
/* SessionInfo.sequence; ctx is the session. 42P01, 42809, 2200H, 55000, 22003, 25006 */
Status session_sequence(void *ctx, const SequenceCall *call, int64_t *out, Err *e);
void session_forget_sequences(Session *s); /* DISCARD SEQUENCES: currval and lastval are not defined any more */
/* Numbers that the session has taken in advance are not given: ALTER SEQUENCE. */
void session_drop_kept_numbers(Session *s, int64_t sequence);

/* ---- storage_options.c: *expected_rows stays what it is where the options do not name it ---- */
/* WITH (...) of a new table (create), SET (...) of one that is there. 22023. */
Status storage_options_read(int64_t n, const AstOption *options, bool create, int64_t *expected_rows, Err *e);
/* RESET (...): as in PostgreSQL any name will do. 42601 with a value. */
Status storage_options_reset(int64_t n, const AstOption *options, int64_t *expected_rows, Err *e);
/* WITH (...) and SET (...) of an index, of which none has an effect: as name=value, in the arena, behind those of `old`
 * that the options do not name. 22023 */
Status storage_options_index(Arena *a, const char *method, int64_t n, const AstOption *options, int n_old,
                             char *const *old, int *n_out, char ***out, Err *e);
/* RESET (...) of an index. 42601 with a value. */
Status storage_options_index_reset(Arena *a, int64_t n, const AstOption *options, int n_old, char *const *old,
                                   int *n_out, char ***out, Err *e);

/* ---- routines (routine.c; calls: pl_run.h) ---- */
Status routine_create(Session *s, Statement *st, const AstCreateFunction *x);
Status routine_drop(Session *s, Statement *st, const AstDropFunction *x);
/* The function or procedure that is named, with or without types: 42883, 42725. */
/* what: as in AstDropFunction. */
Status routine_find(Session *s, Arena *a, char what, const AstFuncSignature *q, const Routine **out);
/* As \df shows them: "a integer, OUT b text", "SETOF integer". NULL: out of memory. */
char *routine_arguments_text(Arena *a, const Routine *r);
char *routine_result_text(Arena *a, const Routine *r);
/* To the client at once, or, of a statement that may have to run again (transaction_may_wait), when it has ended. */
void session_notice(Session *s, const SessionNotice *n);
void session_notices_tell(Session *s); /* those that were held back go to the client */
void session_notices_drop(Session *s); /* the statement runs again */
void session_notice_text(Session *s, const char *severity, const char *sqlstate, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* ---- temporary.c ---- */
Status session_make_temp_schema(Session *s); /* under the lock held alone; nothing to do if it is there */
Status session_drop_temp(Session *s);        /* all that is in it: DISCARD TEMP */
/* The session ends: what is in its schema goes, and the schema. It does not wait long for the lock: what it cannot drop
 * goes when another session ends. */
void session_end_temp(Session *s);
/* Before a transaction commits, under its lock: tables with ON COMMIT DROP or DELETE ROWS. */
Status session_tables_at_commit(Session *s);

/* ---- foreign keys (foreign.c) ---- */
/* A FOREIGN KEY or REFERENCES of table t, which is in the catalog; column: of a column constraint, else NULL. Its rows
 * are checked, unless it is NOT VALID. */
Status foreign_define(Session *s, Statement *st, const Table *t, const AstConstraint *k, const char *column);
/* Before a definition changes: foreign keys from and to a table that goes, and from a column; those of other tables
 * were asked about (depend.h). */
Status foreign_drop_table(Session *s, const Table *t);
Status foreign_drop_column(Session *s, const Table *t, const char *column);
bool foreign_is_of_key(const ForeignKey *f, const Table *t, int key); /* refers to that key of t */
Status foreign_drop_constraint(Session *s, const Table *t, const char *name, bool *found);
Status foreign_rename(Session *s, const char *table, const char *column,
                      const char *new_name); /* column NULL: the table */
Status foreign_rename_constraint(Session *s, const Table *t, const char *name, const char *new_name, bool *found);
/* VALIDATE CONSTRAINT and ALTER CONSTRAINT. *found false: t has no such foreign key. */
Status foreign_validate(Session *s, Statement *st, const Table *t, const char *name, bool *found);
Status foreign_alter(Session *s, const Table *t, const char *name, bool deferrable, bool deferred, bool *found);
Status foreign_check_types(Session *s, const char *table); /* after a column's type changed */
/* Adds the tables that refer to those of x, directly or through others: what CASCADE truncates, too. */
Status foreign_truncate_cascade(Session *s, Arena *a, AstTruncate *x);
Status foreign_truncate(Session *s, const AstTruncate *x);

#endif
