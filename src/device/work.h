/* work.h - what everybody who runs kernels does with a device, in one place: segments (exec/device), bulks (txn), and
 * the measurements of `stele calibrate` (cost). device.h says what a device can do; this is how it is used.
 *
 *   memory     that others give way to; that is kept for the next use (DevMem); that grows and keeps what is in it
 *              (DevSpan); pinned memory that is kept (DevPinned)
 *   filling    of host memory by several threads, while one sends what is there
 *   queues     and events, made when they are first needed
 *   launches   over so many items, whatever the device's size
 *   waiting    for work that may use memory, whether what came before succeeded or not
 *   words      that running kernels look at
 *
 * There is no state here but in these structs, which are the caller's and all zero in the beginning. Nothing waits or
 * allocates unless it says so. A failed call leaves its struct as it was, or empty where that is said.
 *
 * Thread rules: those of the device and the queue; a struct is used by one thread at a time.
 *
 * Errors: those of the device's calls: 53200, 58000.
 */
#ifndef STELE_DEVICE_WORK_H
#define STELE_DEVICE_WORK_H

#include "device/device.h"

/* ---- memory ---- */
/* ops->alloc; what others only keep gives way when memory is short. */
Status device_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e);
/* Memory is short: a limit refuses, or there is no more. */
bool device_is_short(const Err *e);

/* A piece of the device's memory, of at least the bytes that were asked for; 0: none. */
typedef struct DevMem {
    DevPtr p;
    int64_t bytes;
} DevMem;
/* Memory for `bytes`, kept from use to use: nothing happens when it has that, else it is freed first, with what is in
 * it, and gets an eighth more than that. No work may be using it then: `q`, unless NULL, is waited for before. When
 * that fails it stays as it is; when there is no memory it is empty. */
Status device_mem_need(Device *d, DevQueue *q, DevMem *m, int64_t bytes, Err *e);
void device_mem_free(Device *d, DevMem *m); /* leaves it empty */

/* Memory that is expected to grow, on any device: where it is when the device can and the memory is of a unit at least,
 * else by copies on the device. */
typedef struct DevSpan {
    DevPtr at;
    int64_t bytes, most; /* most: addresses there are; 0: of alloc */
} DevSpan;
Status device_span_new(Device *d, int64_t bytes, DevSpan *s, Err *e);
/* A copy of its first `keep` bytes in another span of `bytes`; waits for the queue. */
Status device_span_copy(Device *d, DevQueue *q, const DevSpan *from, int64_t bytes, int64_t keep, DevSpan *out, Err *e);
/* To `bytes`, when it has less. The first `keep` bytes stay; `q` was waited for when it has moved. */
Status device_span_grow(Device *d, DevQueue *q, DevSpan *s, int64_t bytes, int64_t keep, Err *e);
/* To `bytes`, of which the first `keep` stay, when it has more; `q` is waited for before. Where memory does not grow
 * where it is (OpenCL, small spans), it is copied to another place if that gives back half of it at least, and stays
 * what it is otherwise, also when there is no memory for the copy: look at s->bytes and s->at. 58000: the device
 * failed, and it is as it was. */
Status device_span_shrink(Device *d, DevQueue *q, DevSpan *s, int64_t bytes, int64_t keep, Err *e);
void device_span_free(Device *d, DevSpan *s);

/* Pinned memory of the host, kept from use to use: as DevMem, but of exactly so many bytes. */
typedef struct DevPinned {
    void *p;
    int64_t bytes;
} DevPinned;
Status device_pinned_need(Device *d, DevPinned *m, int64_t bytes, Err *e);
void device_pinned_free(Device *d, DevPinned *m);

/* ---- host memory that several threads fill ---- */
/* Pieces 0 .. n - 1 of what goes to a device, mostly in pinned memory. Threads take them in this order and fill them;
 * the calling thread runs `body`, which sends what is full, and fills some itself. Piece i lies in place i % places:
 * those below `limit` have a place that is free. */
typedef struct DevFill {
    int64_t n, places;
    void (*fill)(void *ctx, int64_t piece); /* by any of the threads */
    Status (*body)(void *ctx, Err *e);
    void *ctx;
    _Atomic int64_t *full; /* [places]: what lies there: piece + 1; zero in the beginning */
    _Atomic int64_t limit; /* raised by body when a place is free again */
    /* the rest is zero in the beginning */
    _Atomic int64_t next; /* to be filled next */
    _Atomic bool over;    /* body has ended */
    Status st;
    Err *e;
} DevFill;
/* With up to so many threads of the pool, the calling one included; what body returned. Nothing is being filled any
 * more when it returns. */
Status device_fill(DevFill *f, Pool *pool, int threads, Err *e);
/* For body: the piece is full; it fills one, or lets others go on where there is none to fill. */
bool device_is_full(const DevFill *f, int64_t piece);
void device_fill_one(DevFill *f);

/* ---- queues and events ---- */
/* Makes it when it is not there. */
Status device_queue_need(Device *d, DevQueue **q, Err *e);
void device_queue_drop(Device *d, DevQueue **q); /* waits; leaves NULL */
/* Records the event behind what the queue has; makes it when it is not there. */
Status device_mark(Device *d, DevQueue *q, DevEvent **ev, Err *e);
void device_event_drop(Device *d, DevEvent **ev); /* leaves NULL */

/* ---- launches ---- */
/* Groups of info.group_rows work-items for a kernel that goes through so many items, as a loop with that stride. */
int64_t device_groups(const Device *d, int64_t items);
/* Launches it so, with `local` bytes of local memory for each item of a group. */
Status device_launch_over(const Device *d, DevQueue *q, DevKernel *k, int64_t items, int64_t local,
                          const uint64_t *params, int32_t n_params, Err *e);
/* copy_in_many where the device has it, else one copy_in after the other. */
Status device_copy_in_many(const Device *d, DevQueue *q, const DevCopy *copies, int64_t n, Err *e);

/* ---- waiting ---- */
/* As sync, for callers who wait for nothing else and whose poll never gives up (it stops kernels by a word that they
 * look at): work that has not begun may be done by the calling thread, and then poll is called on another one, never by
 * two at a time nor after the end. On the host that saves waking two threads, which takes longer than many a bulk's
 * phase. */
Status device_finish(const Device *d, DevQueue *q, DevPoll poll, void *ctx, Err *e);
/* The end of a row of calls that stopped at its first failure, whose outcome is `st`: waits for the queue in any case,
 * since what was queued before uses memory that is given up now. The first error counts. */
Status device_settle(const Device *d, DevQueue *q, Status st, Err *e);
/* copy_out, and waits for it. */
Status device_read(const Device *d, DevQueue *q, void *to, DevPtr from, int64_t bytes, Err *e);

/* ---- words that running kernels look at ---- */
/* *word to `at` in the device's memory, past the queues whose kernels look at it: by a queue of its own, made when it
 * is not there, or at once where kernels are threads of this process. *word stays until the queue was waited for. */
Status device_signal(Device *d, DevQueue **own, DevPtr at, const uint64_t *word, Err *e);

#endif
