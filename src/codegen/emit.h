/* emit.h - from programs to kernel C: one fused kernel per segment, plus the kernels that finish its sink.
 *
 * Two steps. emit_plan() makes the decisions that concern several segments: the device form of every join, aggregation,
 * sort and row store, and which segments cannot run on a device at all, with the reason. emit_segment() then writes a
 * segment's source and a recipe for its parameters. The executor (exec/device) allocates what the plan says, fills
 * parameters by the recipe, and launches. Nothing here touches a device.
 *
 * Everything that varies between runs of the same statement is a parameter: addresses, counts, constants, bounds,
 * masks. The same text is the same kernel, so that a cache keyed by the text serves prepared statements and repeated
 * queries.
 *
 * How a program becomes a kernel. Items of a group take the rows of a tile; a row lives in C variables. A filter is
 * `continue`; a probe that can match several rows is a loop around the rest of the program; IF/ELSE/ENDIF are if/else;
 * columns are loaded where the program loads them.
 *
 *   for (tile = GID; tile < n_tiles && !STOPPED(); tile += NGROUPS) {
 *       tablet, columns of the tablet: uniform for the group
 *       for (row = first + LID; row < end; row += LSIZE) { ...program...; sink }
 *   }
 *
 * A tile is tile_rows rows of one tablet (or of dense rows); STOPPED is asked every POLL_TILES. Instead of single rows
 * the inner loop may take blocks of rows (emit_block.c), or a list of rows (emit_host.c).
 *
 * Device memory, as the kernels and the executor agree on it:
 *
 *   Tables      DTablet[n_tablets] and, per column used, DColumn[n_tablets], both indexed by tablet number; a list of
 *               the tablets to scan (u32 numbers). Tile t is rows [(t % per) * tile_rows, ..) of tablet list[t / per],
 *               per = TABLET_ROWS / tile_rows. A kernel may take several of these tiles as one (Em.tile_rows): the
 *               number of tiles is always that of whole tablets. Widths and encodings that occur (DevColumnForms) are
 *               compiled in; where a column has several, the kernel switches on DColumn.form.
 *   Rows        materialised rows are columns: cells side by side (DevCol), one byte per row for validity where
 *               nullable, and a u64 counter. Appending takes a slot from the counter; a slot >= capacity is not
 *               written, the counter goes on counting, so that the executor learns the size needed and runs the segment
 *               again.
 *   Strings     `str` cells {u64 address, i64 length} point into tablets, dictionaries or constants on the device. A
 *               STR register made by DECODE is stored as its code (DevCol.dict) and decoded where the bytes are needed,
 *               at best on the host.
 *   Joins       rows (payload columns, then keys) plus a map to row + 1 (u32):
 *                 BITMAP  u32 words, bit key - min; no rows
 *                 DIRECT  u32 head[dom + 1], index key - min (dom stands for NULL when null_equal); next[row]; filled
 *                         by the sink itself
 *                 HASH    u32 head[mask + 1] by hash of the keys; next[row]; filled by the kernel `build` after the
 *                         rows are counted
 *               Rows of joins with keys are appended in chunks, so that some slots stay empty (kc_base.h,
 *               append_chunk): the executor fills `next` (HASH) and `matched` with bytes 255, what is stored sets them
 *               to 0; capacity needs join_slack() more than the rows. flags: u32[4]: [3] empty slots below the counter,
 *               [0] some key has two rows, [1] a NULL key was built (not stored unless track_matched or null_equal),
 *               [2] a row was built. matched: u8 per row. At most 2^32 - 2 build rows.
 *   Aggregates  records of `stride` bytes: u32 live, u32 seen bits (several words when more than 32 aggregates), key
 *               cells and their validity bytes, state cells. All-zero is the neutral state (MIN and MAX keep
 *               order-preserving encodings). Forms:
 *                 ONE     one record, accumulated in variables, reduced per group
 *                 LOCAL   few groups: a table of records in local memory per group of items, merged into the global one
 *                         at the end
 *                 DIRECT  record number computed from the keys
 *                 HASH    u64 slots[mask + 1] = hash high half << 32 | record + 1; records appended, keys written
 *                         before publishing; a record whose publishing lost a race has live = 0. Readers of records use
 *                         volatile (L2) loads while the table is being built.
 *   Sorts       rows (columns, then those keys that are no columns), {u64 key prefix, u64 row} pairs, merge sort by a
 *               generated comparison, gather.
 *
 * What the executor does with a recipe (exec/device), where it is not plain from the names:
 *   - KP_ERR is a word of the segment's own. Record, row and pair counters are zeroed with everything else at the
 *     query's start.
 *   - Dense sources: rows KP_SRC_FIRST .. KP_SRC_FIRST + KP_SRC_ROWS - 1, in KP_SRC_TILES tiles of tile_rows. SRC_AGG:
 *     records 0 .. KP_SRC_ROWS - 1 (HASH: those appended, dead ones included; other forms: n_slots). SRC_JOIN: build
 *     rows. A row store with LIMIT or OFFSET and no sort: the slice.
 *   - A row store with has_seq: main writes KP_ROWS_DATA / KP_ROWS_VALID of arrays apart, the sequence numbers as
 *     column n_cols; the executor brings the rows in order with kernels of its own. Its readers get the ordered ones
 *     under the same kinds.
 *   - A sort: main writes KP_SORT_* with id = sort; sort_gather writes KP_ROWS_* of the row store. KP_SORT_N is the
 *     number of rows.
 *   - sort_init fills pairs A[0..N). sort_tile sorts each run of SORT_TILE of A in place (16 * SORT_TILE bytes of local
 *     memory; sort kernels get no other). sort_merge merges runs of KP_SORT_WIDTH pairs of A into runs of twice that in
 *     B; the executor swaps A and B. sort_gather reads pairs A [FIRST, FIRST + TAKE) and writes rows 0 .. TAKE - 1. All
 *     of them work for any number of groups.
 *   - When a sink overflows, all segments that feed it run again from the first with the sink's state zeroed.
 *   - Columns that are nullable have both DATA and VALID addresses; VALID of others is 0. KP_JOIN_DATA of a column that
 *     is not stored is 0.
 *   - KP_JOIN_MATCHED: bytes 255 for capacity rows when track_matched, else 0.
 *   - KP_MAP_VALID is 0 when the map has no NULLs. CodeMaps and sets of strings are str cells on the device.
 *
 * The error word P(0) -> u64[2]: [0] first error = (instruction + 1) << 8 | kind, 0 none; [1] stop flag.
 */
#ifndef STELE_CODEGEN_EMIT_H
#define STELE_CODEGEN_EMIT_H

#include "device/device.h"
#include "program/query_plan.h"

/* ---- device structs: the same in kernel C (u64 for addresses) ---- */
typedef struct DTablet {
    uint64_t deleted; /* bitmap or 0 */
    int64_t rows, number, pad;
} DTablet;
typedef struct DColumn {
    uint64_t data, validity; /* validity: bitmap or 0 */
    uint64_t var;            /* strings: bytes; data = u32 offsets */
    int64_t base;
    uint32_t form, stride; /* DevForm; bytes from cell to cell, when they are not side by side */
    uint64_t patches;      /* new cells of single rows (exec/device/patch_map.h) or 0 */
} DColumn;
/* Forms of a tablet's column: frame of reference by width, cells by phys, packed strings, Str of the host, cells that
 * lie a stride apart. */
typedef enum DevForm {
    DF_FOR0,
    DF_FOR1,
    DF_FOR2,
    DF_FOR4,
    DF_FOR8,
    DF_FOR16,
    DF_FOR24,
    DF_FOR32,
    DF_FOR64,
    DF_PLAIN = 16 /* + Phys */,
    DF_STR = 32,
    DF_OPEN_STR,
    DF_STRIDED = 40 /* + Phys */,
    DF_COUNT_ = 50
} DevForm;
/* in_place (EmitTarget): else cells at a stride and open strings are put side by side on their way to the device. */
uint32_t dev_form(const TabletColumn *c, bool in_place);
bool dev_patched(const TabletColumn *c, bool in_place); /* kernels read its patches */

/* ---- query-wide plan ---- */
typedef struct DevCol {
    uint8_t phys; /* as stored; phys_size bytes (STR 16) */
    bool nullable;
    const Dict *dict; /* stored codes */
    Type type;
} DevCol;
typedef enum DevJoinForm { DJ_BITMAP, DJ_DIRECT, DJ_HASH } DevJoinForm;
typedef struct DevJoin {
    DevJoinForm form;
    int32_t n_cols; /* n_payload + n_keys; keys of DIRECT are stored only when a program loads them or track_matched:
                       stored[] */
    DevCol *cols;
    bool *stored; /* per column: false where it is not loaded or compared; it needs no arrays then */
    int64_t min, dom;
    const char *reason; /* why no device, or NULL */
} DevJoin;
typedef enum DevAggForm { DA_ONE, DA_LOCAL, DA_DIRECT, DA_HASH } DevAggForm;
typedef struct DevAgg {
    DevAggForm form;
    int64_t n_slots; /* ONE 1; LOCAL, DIRECT: product of the keys' extents */
    int32_t stride;
    int32_t *key_off, *key_valid_off; /* -1 none */
    int64_t *key_min, *key_extent;    /* LOCAL, DIRECT: extent counts the NULL slot, which is the last */
    int32_t *cell_off;
    int32_t n_seen_words;
    DevCol *cols; /* keys, then aggregates, as SRC_AGG delivers them (dict: codes) */
    const char *reason;
} DevAgg;
typedef struct DevRows {
    int32_t n_cols;
    DevCol *cols;
    bool channel; /* its writer and its reader run at the same time (emit_chan.c); set between emit_plan and
                     emit_segment */
    bool has_seq; /* one more column: u64 sequence numbers by which the rows are to be sorted when complete */
    const char *reason;
} DevRows;
typedef struct DevSort {
    int32_t n_cols; /* stored: the spec's columns, then keys that are not among them, then u64 seq (arrival order, for
                       stability) */
    DevCol *cols;
    int32_t *key_col; /* column of each key */
    int32_t seq_col;
    bool *stored; /* false: a key that is also a column; it needs no arrays */
    const char *reason;
} DevSort;

/* What text is written for: properties of the device, and choices of its user. */
typedef struct EmitTarget {
    bool native_threads, warp_functions, constant_memory, whole_params; /* as DeviceInfo has them */
    bool in_place;       /* the device reads the host's memory: open cells where they are */
    bool result_cache;   /* rows are staged in local memory (emit_cache.c) */
    bool host_lists;     /* with native_threads: the executor fills KP_HOST_SCAN; local memory has TILE_ROWS * 4 bytes
                            beyond local_bytes */
    int32_t group_size;  /* 1 with native_threads */
    int32_t tile_rows;   /* power of two dividing TABLET_ROWS */
    int64_t local_bytes; /* what a LOCAL aggregation may use per group */
    int32_t units;
    int64_t direct_bytes; /* largest head array or DIRECT aggregation, device memory permitting */
} EmitTarget;
EmitTarget emit_target(const DeviceInfo *i);                     /* no choices yet: zero */
bool emit_target_same(const EmitTarget *a, const EmitTarget *b); /* text for one is text for the other */

typedef struct EmitPlan {
    const QueryPlan *plan;
    EmitTarget target;
    DevJoin *joins;
    DevAgg *aggs;
    DevRows *rows;
    DevSort *sorts;
    const struct EmitForms *forms; /* the emitter's own */
    const char *
        *reasons; /* per segment: why it cannot run on a device ("call upper(text)", "join #2: ..."), NULL = it can */
} EmitPlan;
/* Everything lives in the arena. Looks at the tables' present tablets and statistics: hold the tables' locks. */
Status emit_plan(const QueryPlan *plan, const EmitTarget *target, Arena *a, EmitPlan **out, Err *e);

/* Slots that may stay empty when `groups` groups append `rows` rows to a join. */
int64_t join_slack(int64_t rows, int64_t groups);

/* ---- a segment's kernels ---- */
typedef enum ParamKind {
    KP_ERR, /* address of the error word; always parameter 0 */
    KP_SRC_FIRST,
    KP_SRC_ROWS,
    KP_SRC_TILES, /* values: first row and number of rows (dense sources), number of tiles (all sources) */
    KP_TABLETS,
    KP_TABLET_LIST, /* addresses: DTablet[], u32[] */
    KP_COLUMN,      /* address of DColumn[]; col */
    KP_SERIES_START,
    KP_SERIES_STEP,
    KP_ROWS_DATA,
    KP_ROWS_VALID, /* id = row store, col */
    KP_JOIN_DATA,
    KP_JOIN_VALID, /* id, col */
    KP_JOIN_HEAD,
    KP_JOIN_NEXT,
    KP_JOIN_MASK,
    KP_JOIN_FLAGS,
    KP_JOIN_MATCHED,
    KP_JOIN_ROWS /* value */,
    KP_JOIN_MIN,
    KP_JOIN_DOM /* values */,
    KP_AGG_RECORDS,
    KP_AGG_SLOTS,
    KP_AGG_MASK,
    KP_AGG_COUNT /* address of the u64 record counter */,
    KP_AGG_CAP /* value */,
    KP_AGG_KEY_MIN, /* value; id, col */
    KP_OUT_COUNT,
    KP_OUT_CAP,  /* address of the sink's row counter; capacity */
    KP_OUT_BASE, /* value: rows already in an identity sink */
    KP_SORT_DATA,
    KP_SORT_VALID, /* id = sort, col: columns of the rows to be sorted */
    KP_SORT_A,
    KP_SORT_B,
    KP_SORT_N,
    KP_SORT_WIDTH,
    KP_SORT_FIRST,
    KP_SORT_TAKE, /* pair arrays, rows, run length of a merge pass, slice that is gathered */
    KP_SEQ_BASE,  /* value: segment number << 44 */
    KP_CONST, /* value: limb `col` (0 low, 1 high) of the cell of constant register `id`; STR: address, length of bytes
                 on the device */
    KP_LO,
    KP_HI, /* values of instruction `id`'s RangeTest, cut to the compared type */
    KP_MASK,
    KP_MAP_CELLS,
    KP_MAP_VALID, /* addresses of instruction `id`'s CodeMask / CodeMap on the device */
    KP_SET,
    KP_SET_N, /* address of instruction `id`'s InSet cells (STR: str cells), number */
    KP_LIKE,  /* address of instruction `id`'s encoded pattern (like_code.h) */
    KP_DICT_OFFSETS,
    KP_DICT_BYTES, /* of EmitParam.dict: u64 offsets[n + 1], bytes */
    KP_LIMIT,      /* value: rows after which a SINK_ROWS segment may stop */
    KP_MASK_BITS,  /* value: instruction `id`'s CodeMask of at most 64 codes as bits */
    KP_CHAN_IN,
    KP_CHAN_OUT,  /* addresses of the control blocks of channel (row store) `id` */
    KP_CHAN_TILE, /* value: first tile, KP_SRC_TILES being the one after the last; of segments that write a channel */
    KP_HOST_SCAN_FN,
    KP_HOST_SCAN, /* host: addresses of a HostScanFn and of what it wants to know about the segment */
    KP_CODE       /* address of EmitSegment.code on the device, 16-byte aligned */
} ParamKind;
typedef struct EmitParam {
    uint16_t kind;
    uint16_t proc; /* modules of several procedures (emit_proc.h): its number + 1; else 0 */
    int32_t id, col;
    const Dict *dict;
    int32_t rows,
        offset; /* rows > 0: kernels take parameter rows - 1 and so many bytes behind it instead of this one's value */
} EmitParam;

/* Leading filters (FILTER_RANGE, FILTER_CODES at the program's start) and deletions over rows [first, first + n) of a
 * tablet: positions of the rows that pass, their number. Called by kernels on the host (emit_host.c). */
typedef uint32_t (*HostScanFn)(uint64_t scan, uint32_t tablet, uint32_t first, uint32_t n, int32_t *out);

enum {               /* kernels a segment's module has */
       EK_MAIN = 1,  /* "seg_main", over the source: groups as resident_groups says */
       EK_BUILD = 2, /* "join_build", HASH join with keys: over KP_JOIN_ROWS rows, head filled with 0. A join without
                        keys needs no head and has no such kernel */
       EK_SORT =
           4 /* "sort_init" (pairs A from the rows), "sort_tile" (A in place: one group per SORT_TILE pairs, any
                number of groups), "sort_merge" (A to B, runs of   KP_SORT_WIDTH pairs), "sort_gather" (pairs A) */
};
enum { SORT_TILE = 1024 }; /* pairs that sort_tile sorts; local memory 16 bytes each */

/* The error word's low byte when rows did not fit into a channel's packet. Words of the control block of a channel:
 * prelude/kc_channel.h. */
enum { EMIT_CHANNEL_FULL = 254, EMIT_CHANNEL_HEAD = 16, EMIT_CHANNEL_LOCAL = 176, EMIT_CHANNEL_PACKETS_MAX = 1 << 24 };
/* Words behind the address in word 10 of the control block. Zero when a pipeline starts. */
static inline int64_t emit_channel_words(int64_t queues, int64_t packets) {
    return packets + (1 + queues) * (32 + packets);
}

typedef struct EmitSegment {
    char *source; /* the #defines, the line for the prelude (KERNEL_PRELUDE_INCLUDE) and the kernels; arena */
    int64_t source_bytes;
    int32_t n_params; /* shared by all kernels of the module */
    EmitParam *params;
    uint32_t kernels;         /* EK_* */
    int64_t main_local_bytes; /* dynamic local memory of "main" */
    bool identity_sink;       /* row i of the source becomes row KP_OUT_BASE + i: the executor sets the count */
    int32_t n_tables_cols;
    int32_t *table_cols; /* columns of the source table that are read */
    const void *code;    /* interpreted segments (interp.h): bytes that go to the device as they are; else NULL */
    int64_t code_bytes;
    double bytes_per_row; /* estimate of source bytes read per row, for cost and EXPLAIN */
} EmitSegment;
/* `last`: no later segment feeds the same sink (finishing kernels are emitted for the last one only). */
Status emit_segment(const EmitPlan *ep, int32_t segment, bool last, Arena *a, EmitSegment *out, Err *e);

/* The value of a parameter that depends on the program alone (KP_CONST of non-strings, KP_SET_N, ..); with the plan,
 * also KP_LO, KP_JOIN_MIN, ..; false for others. */
bool emit_program_value(const Program *prog, const EmitParam *p, uint64_t *out);
bool emit_param_value(const EmitPlan *ep, int32_t segment, const EmitParam *p, uint64_t *out);
/* What a parameter's address points at, as kernels have it, when that follows from the program alone: KP_CONST of
 * strings, KP_MASK, KP_MAP_CELLS, KP_MAP_VALID, KP_SET, KP_LIKE. Its bytes; -1 for others. Written to `to` (NULL: only
 * counted) for the device's `address`, a multiple of 16. Strings are cells of EMIT_STR_BYTES, address and length, with
 * the bytes behind them; a constant is its bytes. */
enum { EMIT_STR_BYTES = 16 };
int64_t emit_param_data(const Program *prog, const EmitParam *p, uint64_t address, void *to);
/* The strings among that, in their order; 0: none. */
int64_t emit_param_strings(const Program *prog, const EmitParam *p, const Str **out);
/* The error behind an error word: SQLSTATE and text as the virtual machine's. */
Status emit_error(const EmitPlan *ep, int32_t segment, uint64_t word, Err *e);
Status emit_data_error(const Program *p, int32_t segment, uint64_t word,
                       Err *e); /* the same of a program; `segment` is for messages */

#endif
