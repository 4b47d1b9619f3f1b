/* bulk_device_int.h - a bulk on a device: bulk_device.c (memory, launches, failures) and bulk_foot.c (footprints) only. */
#ifndef STELE_TXN_BULK_DEVICE_INT_H
#define STELE_TXN_BULK_DEVICE_INT_H

#include "codegen/emit_proc.h"
#include "exec/device/dev.h"
#include "txn/bulk_texts.h"
#include "txn/rank_device.h"

enum { BATCH_MAX = 64 };

/* A module of kernels, kept from bulk to bulk, for all bulks whose procedures it has. */
typedef struct BulkCode {
    Arena *arena;
    EmitTarget target;
    bool copies;
    int32_t n;
    const Proc **procs;
    int32_t n_tables;
    int64_t *tables;  /* ids */
    uint64_t *forms;  /* by table: of the image that the text was made for */
    ProcModule module;
    int64_t used;     /* ImageSet.bulks when it was last */
    double ops_per_call; /* of the bulk that had the most, 0: not known */
} BulkCode;

/* Memory of this bulk that a device has a copy of. */
typedef struct Buffer { void *host; int64_t bytes; DevPtr at; bool in, out; } Buffer;

/* Device memory that bulks leave for the next one. */
typedef enum BulkDevMem { BM_BEFORE, BM_AFTER, BM_OPS, BM_COUNT_ } BulkDevMem;

struct BulkDevice {
    Device *d;
    CodeCache *cache;
    DevQueue *queue, *side; /* side: the stop flag; NULL: not yet */
    bool broken;       /* an operation of it failed */
    EmitTarget target;
    bool copies;       /* the device does not share the host's memory */
    bool begun;        /* what comes before the schedule is there */
    bool on_host;      /* ... and the host has everything now */
    int64_t safe;      /* ... and the host's images are as after so many launches; -1: the device has changes of earlier bulks */
    const BulkCode *code;
    CodeRef ref;
    bool has_ref;
    DevKernel *kernel, *foot; /* foot NULL: the machine makes footprints */
    uint16_t *kinds;   /* by part: procedure of the module */
    uint64_t *values;  /* of parameters */
    uint64_t *words;   /* W_* */
    uint64_t *failed;  /* counter and list */
    int64_t failed_bytes;
    uint64_t *keys;    /* PP_KEYS */
    int64_t keys_bytes;
    CallError ***said; /* per part and instruction: the error of a RAISE whose message is constant */
    BulkTexts texts;
    uint8_t *undo;
    int64_t undo_bytes;
    uint8_t *scratch;  /* for strings that calls make */
    int64_t scratch_bytes;
    DevPtr undo_at, scratch_at;
    int32_t n_buffers;
    Buffer *buffers;
    int64_t room;      /* bytes of the buffers that have no address yet */
    int32_t first_out; /* buffers of OUT values from here on, in one piece of the device's memory */
    DevPtr outs_at;
    int64_t outs_bytes;
    /* footprints by kernel */
    uint64_t *ops_of;  /* by group: where its operations go, and how many fit */
    DevPtr ops_at, uses_at;
    int64_t ops_max;
    RankLocks ranks;
    bool ranked;       /* the schedule is in `ranks` */
    int64_t texts_used;  /* bytes of OUT strings */
    uint32_t figures[2]; /* ... and these are its w0 and c, once the results are there */
    /* under locks */
    bool locked;
    uint32_t *counters;
    uint8_t *done;     /* by call: the host's images have what it did */
    uint8_t *stage;    /* device with copies: counters and `done`, fetched */
    int64_t state_bytes; /* of counters, `done` and stage */
    int64_t left;      /* calls that have not run: the first ones of schedule.order */
    uint32_t *again;   /* calls for the machine */
    int64_t n_again;
    int32_t again_part;
};
/* Error word and stop flag, the launch that is blocked, tickets of launches, PP_FOOT_WORDS, bounds of columns; behind them two words for each sum. */
enum { W_ERR, W_STOP, W_BLOCKED, W_TICKETS, W_FOOT = W_TICKETS + BATCH_MAX, W_BOUNDS = W_FOOT + 4 };
static inline int64_t bulk_words(const Bulk *b) { return W_BOUNDS + 3 * (int64_t)b->n_sums + 1; }

/* Memory and addresses for what comes before the schedule. 53200, 58000. */
Status bulk_device_begin(Bulk *b, Err *e);
/* The address under which kernels find what the host has at p. */
uint64_t bulk_device_at(const Bulk *b, const void *p);
/* `bytes` of the device's memory, which the bulk before may have used. */
Status bulk_device_memory(Bulk *b, BulkDevMem which, int64_t bytes, DevPtr *out, Err *e);
Status bulk_device_values(Bulk *b, Err *e); /* anew, after what they depend on has changed */
int64_t bulk_device_groups(const Bulk *b, int64_t calls);
bool bulk_device_poll(void *ctx);
/* Values of a footprint's own parameters. */
Status bulk_foot_value(Bulk *b, int32_t part, const EmitParam *p, uint64_t *to, Err *e);

#endif
