/* dev_int.h - what the files of src/exec/device share; no other file includes it.
 *
 *   dev.c        runtime, queries: placement, start, end
 *   dev_plan.c   what is kept of a placed plan for its next run
 *   dev_mem.c    blocks of device memory and lanes (queues, pinned buffers) that are kept between queries; copies
 *   dev_param.c  from a recipe to parameter values; plan-time data on the device (masks, maps, sets, patterns, strings)
 *   dev_state.c  joins, aggregations, sorts and rows in device memory: capacity, allocation, growth
 *   dev_run.c    one segment: launch, check, restart, finishing kernels
 *   dev_order.c  rows in source order
 *   dev_pipe.c   pipelines: several segments at the same time
 *   dev_move.c   rows to the host and back
 *   residency.c  which table columns and dictionaries the device keeps
 *   res_column.c columns in device memory (res_column.h)
 *   res_stream.c tables that move
 *   dev_hostmap.c  tablets whose pages are registered with the device
 *
 * Order of work. A query has one queue that its kernels, zeroing and copies go through in order, so that a block given
 * up by one segment may serve the next one at once; such blocks stay with the query until its queue has been waited for
 * at its end.
 *
 * The control block of a query holds, per segment, the error word and stop flag, and the counters of all sinks and the
 * flags of all joins. One small copy brings all of it to the host: that is the only synchronisation of a segment, and
 * only of those whose counter is needed.
 *
 * Locks: Runtime.res_lock (recursive) before Runtime.map_lock, Runtime.lock. Nothing waits for a device under these
 * two.
 */
#ifndef STELE_EXEC_DEVICE_DEV_INT_H
#define STELE_EXEC_DEVICE_DEV_INT_H

#include "base/log.h"
#include "base/mutex.h"
#include "cost/gpl.h"
#include "device/work.h"
#include "exec/device/dev.h"
#include "exec/device/split.h"

enum { HOST_SPREAD = 8 }; /* groups per thread on the host: threads that are slow for a while leave work to others */

/* What one query at a time uses; kept by the runtime in between. */
enum { CONSTS_PINNED = 1 << 20, STAGE_BYTES = 1 << 20, STAGES = 24, RING = 3, DOWN_BYTES = 4 << 20, WORDS = 512 };
typedef struct Lane {
    struct Lane *next;
    DevQueue *queue;         /* kernels, zeroing, copies: in order */
    DevQueue *side;          /* streamed uploads: waits for kernels, so that stop flags need */
    DevQueue *stop;          /* one of their own */
    DevPinned words;         /* WORDS 8-byte values on their way to the device, then room for the control block */
    DevPinned down;          /* DOWN_BYTES: results on their way to the host; made when first needed */
    DevPinned stage[STAGES]; /* STAGE_BYTES each: uploads; likewise */
    DevEvent *staged[STAGES];
    bool stage_busy[STAGES];
    int stage_next;                      /* slots are used in turn */
    bool staging;                        /* by a Stager, now */
    DevEvent *copied[RING], *used[RING]; /* streaming: pieces of the ring */
    DevQueue *pipe[PIPELINE_STAGES];     /* a pipeline's kernels, made when first needed */
    DevEvent *pipe_go, *pipe_done[PIPELINE_STAGES];
    bool broken; /* a wait failed: not to be used again */
} Lane;

/* Sizes that an earlier run of the same kernel text needed. */
enum { LEARNED = 1024 };
typedef struct Learned {
    uint64_t text;
    int64_t need;
} Learned;

/* ---- residency ---- */
typedef struct ResChunk { /* one upload of one column: bytes of several tablets */
    DevMem mem;
    int64_t refs;
    int64_t counted; /* the last count (DevRuntime.counts) that it was in */
} ResChunk;
/* Where open strings begin among their bytes on the device, as the host knows it. Of cells that have an id, pieces with
 * more and with fewer rows share it. */
typedef struct ResStrings {
    int64_t refs;
    int64_t rows;       /* whose offsets are known */
    int64_t cap, bytes; /* rows, and bytes of their strings, for which there is room */
    uint32_t offsets[]; /* cap + 1; what is known does not change, and is read without a lock */
} ResStrings;
/* What a device has of a tablet's column: cells, which pieces of other versions share where they are the same, and what
 * each version may have of its own, patches and validity bits. */
typedef struct ResPiece {
    const void *block; /* packed: the tablet's bytes, with their checksum; NULL: open */
    uint64_t checksum;
    uint64_t cells;  /* open: their id (table_version_cells); 0: they are this version's only */
    int64_t cap;     /* rows of theirs for which the chunk has room */
    ResChunk *chunk; /* NULL: the host's own bytes, or nothing to keep */
    DColumn desc;
    DevPtr validity;     /* bits in the chunk; 0: they are in `bits`, or nothing is NULL */
    ResChunk *patches;   /* the map; NULL: no patches */
    uint64_t state;      /* of the patches; 0: there are none */
    ResChunk *bits;      /* validity bits, of patched columns and of cells with an id; NULL: none */
    uint64_t bits_sum;   /* their checksum */
    ResStrings *strings; /* open strings */
    int64_t rows;
} ResPiece;
typedef struct ResColumn {
    int32_t col;
    int64_t n_tablets, bytes;
    ResPiece *pieces;
    DevMem desc; /* DColumn[n_tablets] */
    int32_t pins;
    int64_t last_use;
} ResColumn;
typedef struct ResTable { /* a version of a table */
    struct ResTable *next;
    int64_t id, version;
    uint64_t birth;   /* table_version_birth, where descriptors point to the host's own bytes; else 0 */
    DevMem tablets;   /* DTablet by tablet, then delete bitmaps */
    bool ready;       /* `tablets` is there */
    int64_t last_use; /* of `tablets` */
    int64_t moved;    /* bytes that serial and streamed queries have moved */
    bool refused;     /* its tablets cannot be registered */
    int32_t pins;
    int32_t n_cols;
    ResColumn **cols; /* by column number, NULL = none */
} ResTable;
typedef struct ResDict {
    struct ResDict *next;
    int64_t table_id, version; /* of the table whose column it belongs to */
    int32_t col, n;
    DevMem mem; /* u64 offsets[n + 1], bytes */
    DevPtr offsets, bytes;
    uint64_t *host_offsets;
    int32_t pins;
    int64_t last_use;
} ResDict;

typedef struct ResPin {
    ResTable *table;
    ResColumn *col;
    ResDict *dict;
    const Dict *of; /* whose copy `dict` is, as this query reads it */
} ResPin;
typedef struct HostBlock HostBlock; /* a tablet whose pages are registered */

struct DevRuntime {
    Device *d;
    CodeCache *cache;
    MemAccount *account;
    Mutex lock;
    DevMem *free; /* unused blocks */
    int64_t n_free, cap_free, free_bytes;
    Lane *lanes;
    Learned learned[LEARNED];
    Mutex res_lock; /* recursive */
    ResTable *tables;
    _Atomic bool keeps; /* there are some; read without the lock */
    ResDict *dicts;
    int64_t clock;  /* of last_use */
    int64_t counts; /* of bytes, so far */
    Mutex map_lock;
    HostBlock *newest, *oldest;      /* by last use */
    int64_t mapped_bytes, map_limit; /* registered; at most */
    Mutex pipe_lock;                 /* held while a pipeline's kernels run: those of two might keep each other out */
    DeviceProfile rates;             /* zero where nothing was measured, and */
    GplMachine machine;              /* for the model; `known` once both have been looked up, under pipe_lock */
    bool machine_known;
    DevPlan *plans; /* kept by sessions, under `lock` */
};

/* ---- a query ---- */
/* Where addresses of strings on the device come from: read back, they become addresses of the same bytes on the host.
 */
typedef struct HostRange {
    DevPtr base;
    int64_t bytes;
    const char *host; /* contiguous there too, or NULL: */
    const Str *cells; /* entry i is bytes [offsets[i], offsets[i+1]) */
    const uint32_t *off32;
    const uint64_t *off64;
    int64_t n;
} HostRange;

typedef struct HostRanges { /* a VEC; sorted by base once it is complete */
    HostRange *items;
    int64_t len, cap;
    bool complete;
    HostRange gathered; /* strings of rows that only the device has, of the rows that are on their way to the host */
} HostRanges;

/* Plan-time data of all segments in one buffer, and the places in it that hold addresses, which are known once it is on
 * the device. */
typedef struct ConstBuf {
    uint8_t *bytes;
    int64_t n, cap;
    VEC(int64_t) fixups;   /* places that hold an offset into the buffer, to become the address */
    VEC(HostRange) ranges; /* of the strings in it; base = offset */
} ConstBuf;

/* Operator states. `mem` holds columns (rows, joins, sorts) or records (aggregations). */
typedef struct DState {
    SinkKind kind;
    int32_t id;
    int32_t first, last; /* placed segments that feed it, -1 none */
    int32_t n_cols;
    const DevCol *cols;
    const bool *stored; /* NULL = all */
    DevMem mem;
    DevPtr *data, *valid;
    DevPtr next, matched;
    DevMem head; /* joins: head or bitmap; HASH aggregation: slots */
    int64_t mask;
    int64_t cap, count; /* count: rows or records that are there, an upper bound when !exact */
    bool exact;
    bool fixed; /* capacity follows from the form: no counter */
    DevPtr counter, flags;
    int64_t counter_word; /* its place in the control block, in words */
    bool kept;            /* read on the host when the segments are done */
    const Str **copies;   /* rows: of a column's dictionary, by code; NULL: none */
} DState;

/* Segments first .. last (the pieces of one) that run together. */
typedef struct Pipe {
    int32_t first, last, n;
    bool chosen;
    GplChoice choice;
    int64_t cap, packets;  /* of its channels: rows of a packet, packets */
    int32_t boost;         /* how often rows did not fit */
    DevMem image, control; /* control blocks of its channels one after the other: as they are at a start; in use */
    int64_t queues;        /* bytes behind them that must be zero at a start */
    bool ran;
    int64_t rounds;
    char note[256];
} Pipe;

typedef struct DSegment {
    struct Pipe *pipe; /* NULL: runs alone */
    const Program *p;
    const char *reason, *detail;
    bool emitted, has_code, last;
    EmitSegment e;
    CodeRef code;
    uint64_t text; /* hash of the source */
    DevKernel *main, *build, *sort_init, *sort_tile, *sort_merge, *sort_gather;
    struct {
        const DevKernel *kernel;
        int64_t local, groups;
    } resident[6];    /* of these: groups that can be there at once; asking the driver takes a microsecond */
    uint64_t *values; /* one per parameter */
    uint8_t *how;     /* per parameter: where its value comes from (dev_param.c) */
    uint64_t *given;  /* per parameter: what is known of it before the query starts */
    int64_t n_list;   /* SRC_TABLE: tablets to scan */
    int64_t list_rows;
    uint32_t *list;
    int64_t list_at; /* in the constants */
    DevPtr tablets;
    DevPtr *columns; /* per e.table_cols */
    Residence residence;
    bool register_it; /* a table that moves: its tablets are worth being registered */
    ResColumn **own;  /* columns of this query alone */
    DevMem own_tablets;
    int64_t added, base; /* rows it added to its sink and those before it, once known */
    DevEvent *from, *to;
    int64_t rows_in, skipped;
    DeviceStats stats;
} DSegment;

extern const char kernel_order_text[]; /* made at build time */
extern const char kernel_merge_text[]; /* likewise; dict_device.c */
enum { ORDER_KERNELS = 8 };
typedef struct OrderCode { /* dev_order.c */
    CodeRef ref;           /* without an entry: not there */
    DevKernel *kernels[ORDER_KERNELS];
} OrderCode;

/* What a query leaves to the next run of its plan (dev_plan.c). */
struct DevPlan {
    DevPlan *next, **link; /* among the runtime's */
    DevRuntime *r;         /* NULL: the runtime has gone */
    Arena *arena;          /* holds all of it */
    const QueryPlan *plan;
    EmitTarget target;
    bool interpreted;
    uint64_t compiled_too;
    EmitPlan *ep;
    int32_t n;
    DSegment *segs; /* without what belongs to a run */
    ConstBuf consts;
    OrderCode order;
};

struct DevQuery {
    DevRuntime *r;
    Device *d;
    const QueryPlan *plan;
    QueryOptions opt;
    MemAccount *account;
    Arena *arena;
    Arena *code_arena; /* emitted plan and text, lists, constants: as long as the query, or as the DevPlan they go to */
    const DevPlan *kept; /* that they came from or went to; it has the references to code then */
    bool refused;        /* a kernel does not compile: tried again next time */
    Lane *lane;
    OrderCode order;
    EmitPlan *ep;
    ConstBuf buf;
    int32_t n;
    DSegment *segs;
    Pipe *pipes;
    int32_t n_pipes;
    DState *states; /* all of them, in this order: */
    int32_t n_states;
    DState *joins, *aggs, *rows, *staged, *sorts; /* staged: of has_seq row stores, by row store */
    bool started;                                 /* constants and control block are on the device */
    bool checked;                                 /* no kernel was started since the control block was looked at */
    bool side_busy;                               /* the same for the lane's other queue */
    bool busy;                                    /* something was put on the queue since the last wait */
    DevMem control;
    int64_t control_words;
    uint64_t *seen; /* the control block as last copied to the host (pinned) */
    DevMem consts;
    int64_t word_next;
    VEC(DevMem) held; /* all blocks of the query that are free for reuse */
    VEC(ResPin) pins;
    VEC(HostBlock *) maps; /* pinned by the query, once per use */
    HostRanges ranges;
    int64_t bytes_in, bytes_out;
    bool stopping; /* stop flags have been set */
};

/* ---- dev_mem.c ---- */
int64_t dev_limit(const Device *d); /* bytes of device memory that may be used */
/* At least `bytes`, from the blocks that are kept, else fresh; cached columns and kept blocks give way when memory is
 * short. */
Status dev_mem_get(DevRuntime *r, int64_t bytes, DevMem *out, Err *e);
void dev_mem_put(DevRuntime *r, DevMem *m);         /* nothing on any queue uses it any more */
bool dev_mem_trim(DevRuntime *r);                   /* frees all kept blocks; false: there were none */
bool dev_mem_reclaim(void *runtime, int64_t bytes); /* Device.reclaim: kept blocks, then unpinned columns */
/* The same within a query: what is given up may be used by later work of the same query at once. */
Status query_mem_get(DevQuery *q, int64_t bytes, DevMem *out, Err *e);
void query_mem_put(DevQuery *q, DevMem *m);
Status lane_take(DevRuntime *r, Lane **out, Err *e);
void lane_give(DevRuntime *r, Lane *l);
void lane_free(DevRuntime *r, Lane *l);
/* Waits for the query's queue; cancellation and deadline set the stop flags meanwhile: 57014 then. */
Status query_sync(DevQuery *q, Err *e);
/* Waits whatever happens, before memory that the queues may be using is freed. Cancellation ends kernels, but is no
 * error here. */
Status query_settle(DevQuery *q);
void query_stop_kernels(DevQuery *q); /* sets the stop flags of all segments */
Status query_check_cancel(DevQuery *q, Err *e);
/* Writes one 64-bit word when the queue gets there. */
Status query_set_word(DevQuery *q, DevPtr at, uint64_t v, Err *e);
Status query_set_words(DevQuery *q, DevPtr at, const uint64_t *v, int64_t n, Err *e); /* n < WORDS */
Status query_zero(DevQuery *q, DevPtr at, int64_t bytes, Err *e);
/* Host bytes to the device: piece i goes to `to` + at. Registered ones are copied from where they are, others through
 * pinned buffers that the pool's threads fill. Has been done when it returns. */
typedef struct Upload {
    const void *from;
    int64_t bytes, at;
    bool registered;
} Upload;
Status query_upload(DevQuery *q, DevPtr to, const Upload *pieces, int64_t n, Err *e);
/* The same without the last wait, on either queue of the lane; registered bytes, and all when the device shares memory,
 * must stay as they are. */
Status query_upload_on(DevQuery *q, DevQueue *queue, DevPtr to, const Upload *pieces, int64_t n, Err *e);
/* Several uploads, group g being jobs[groups[g] .. groups[g + 1]): `body` sends them in order, and does whatever else
 * belongs to them, while the pool's threads fill buffers ahead of it. */
typedef struct Stager Stager;
Status query_upload_groups(DevQuery *q, const Upload *jobs, const int64_t *groups, int64_t n_groups,
                           Status (*body)(void *ctx, Stager *s, Err *e), void *ctx, Err *e);
Status stager_send(Stager *s, int64_t group, DevQueue *queue, DevPtr to, Err *e);

/* ---- dev.c ---- */
/* Groups of a kernel of the segment that are resident with so much local memory; less than 1 when the device does not
 * report it. */
int64_t segment_groups(const DevQuery *q, const DSegment *s, DevKernel *k, int64_t local);

/* Fails, and says that the host has to have the table's rows. */
Status query_needs_host_rows(DevQuery *q, const Table *t, Err *e);

/* ---- dev_plan.c ---- */
/* Takes over what an earlier run of the same plan left; false: there is nothing that fits (and nothing any more, if
 * there was). */
bool plan_adopt(DevQuery *q, DevPlan **kept, const EmitTarget *target, Err *e);
/* Leaves what has been found out to the next run, once the query has started. Nothing is kept when memory is short. */
void plan_keep(DevQuery *q, DevPlan **kept);
void plan_forget_all(DevRuntime *r); /* the runtime goes */

/* ---- dev_param.c ---- */
/* Once per plan, into the code arena: what is known of all parameters before a query starts, and their data. */
Status params_plan(DevQuery *q, Err *e);
/* Per query: uploads the data in one copy and fills in addresses. */
Status params_prepare(DevQuery *q, Err *e);
/* The segment's parameters as they are now. */
Status params_fill(DevQuery *q, DSegment *s, Err *e);
void params_set(DSegment *s, uint16_t kind, uint64_t v); /* all of that kind */

/* ---- dev_state.c ---- */
Status states_init(DevQuery *q, Err *e);
DState *sink_state(DevQuery *q, const Sink *s);      /* what main writes; NULL for SINK_NONE */
DState *source_state(DevQuery *q, const Source *s);  /* NULL: no state */
int64_t source_rows(DevQuery *q, const DSegment *s); /* of a pipeline's segment: those of its first one */
/* Before the first segment that feeds it: memory for what may come; then what is in it is cleared on the queue. */
Status state_begin(DevQuery *q, DState *st, int32_t segment, Err *e);
Status state_empty(DevQuery *q, DState *st, Err *e);
/* Before a further segment: room for it if that is cheap. */
Status state_extend(DevQuery *q, DState *st, int32_t segment, Err *e);
/* Overflow: empty, with room for `need`. */
Status state_restart(DevQuery *q, DState *st, int64_t need, int32_t segment, Err *e);
bool state_needs_count(DevQuery *q, const DState *st, const DSegment *s);
/* Columns for `cap` rows. */
Status state_alloc_rows(DevQuery *q, DState *st, int64_t cap, Err *e);
int64_t state_row_bytes(const DevQuery *q, const DState *st);
void state_release(DevQuery *q, DState *st);
int64_t learned_get(DevRuntime *r, uint64_t text);
void learned_put(DevRuntime *r, uint64_t text, int64_t need);

/* ---- dev_order.c ---- */
/* The module, when the query needs it. */
CodeState order_code(DevQuery *q, bool wait, Err *e);
/* in: rows with sequence numbers as the last column; out: the same rows in their order, without. */
Status order_rows(DevQuery *q, DState *in, DState *out, Err *e);

/* ---- dev_pipe.c ---- */
/* Which segments run together; marks the row stores between them as channels. Before the segments are emitted. */
Status pipe_plan(DevQuery *q, Err *e);
/* All or none of a pipeline's segments run here: true when one more got a reason. */
bool pipe_spread(DevQuery *q);
/* Runs all segments of the pipeline and waits for them. */
Status pipe_run(DevQuery *q, Pipe *p, Err *e);
/* After pipe_run: *again = true when rows of some pipeline found no room; it has more now, and everything that feeds
 * its sink is to run again. */
Status pipe_check(DevQuery *q, bool *again, Err *e);
DevPtr pipe_channel(const DevQuery *q, int32_t rows); /* control block of a channel */
const char *pipe_note(DevQuery *q, int32_t segment, double *model_ns);

/* ---- dev_run.c ---- */
int64_t tiles_of(const DevQuery *q, int64_t rows);

/* ---- residency.c ---- */
void res_free(DevRuntime *r);
/* (res_column.c) The block that a packed column's bytes are known by, and a number for them; NULL: it is open. */
const void *res_block_of(const Tablet *t, int32_t col, uint64_t *checksum);
/* Frees unpinned columns, dictionaries and lists of tablets, least recently used first, until `bytes` are free or
 * nothing is left; true when something was. */
bool res_evict(DevRuntime *r, int64_t bytes);
/* Decides how each table of the query is reached. */
Status res_plan(DevQuery *q, Err *e);
/* Makes the segment's table readable: fills s->tablets and s->columns. No-op when it is. */
Status res_bind(DevQuery *q, DSegment *s, Err *e);
/* (res_stream.c) A table that moves: lays out pieces (one of all for serial), binds descriptors that point into the
 * ring, then calls run(ctx) for each piece, with tablets list[first .. first + n). */
Status res_stream(DevQuery *q, DSegment *s, Status (*run)(void *ctx, int64_t first, int64_t n, Err *e), void *ctx,
                  Err *e);
/* Its columns come and go with each run: serial and streamed tables. */
/* A group is one work-item, which goes through its rows one after the other (the host). */
static inline bool one_item_groups(const DeviceInfo *i) { return i->group_max == 1; }
static inline bool res_moves(const DSegment *s) { return s->residence == RES_SERIAL || s->residence == RES_STREAMED; }
Status res_dict(DevQuery *q, const Dict *dict, const ResDict **out, Err *e);
void res_unpin_all(DevQuery *q);
void res_drop_own(DevQuery *q, DSegment *s);
/* Adds what is known of the pinned string columns and dictionaries. */
Status res_ranges(DevQuery *q, Err *e);

/* ---- dev_hostmap.c ---- */
/* Whether the tablet's bytes are registered, after trying to when `make`: address on the device = host address +
 * *shift. They stay so until the query ends. False without an error for what cannot be: deltas, small tablets, devices
 * that cannot. */
Status hostmap_get(DevQuery *q, Tablet *t, bool make, bool *mapped, uint64_t *shift, Err *e);
void res_unmap_all(DevQuery *q);
void hostmap_free(DevRuntime *r); /* all that no query uses */
int64_t hostmap_limit(void);      /* half of the machine's memory */

#endif
