/* bulk_texts.h - strings of a bulk that runs by kernels: room for those that it puts into images, and on devices with
 * memory of their own copies of those in arguments and constants, and a place for those of OUT values. bulk_device.c
 * and bulk_args.c only.
 *
 * On such a device arguments and constants have the device's addresses. Cells of images have the host's on both sides
 * (device_copy.h); so have OUT values, whose bytes are in `outs` here.
 */
#ifndef STELE_TXN_DEVICE_BULK_TEXTS_H
#define STELE_TXN_DEVICE_BULK_TEXTS_H

#include "codegen/emit_proc.h"
#include "txn/run/bulk_running.h"

typedef struct BulkTexts {
    const ProcModule *module;
    const uint16_t *kinds; /* by group: procedure of the module */
    bool copies;           /* the device has memory of its own */
    /* images, by entry of the image set: control words (bulk_device_control) of which each has two for kernels, next
     * and end; the host's addresses of the room, and the distance from there to the device's */
    uint64_t *heaps;
    struct TextRoom {
        char *at, *piece;
        int64_t bytes;
        uint64_t delta;
    } * rooms;
    /* strings of arguments, by runs of calls of one group */
    struct TextChunk {
        int32_t group;
        int64_t from, to, bytes, staged, at;
    } * chunks; /* their bytes; those in `staged`, and where */
    int64_t n_chunks;
    int64_t *arg_bytes; /* by group */
    /* arguments and constants for the device */
    char *staged; /* the caller's memory, of so many bytes */
    int64_t staged_bytes;
    uint64_t staged_at; /* its address there */
    int64_t **args;     /* by group and parameter: where its cells are in `staged`, -1: not there */
    int64_t *data;      /* by parameter of the module, -1 likewise */
    /* OUT values */
    BulkLoan loan;
    char *outs; /* in that; NULL once it was given away */
    int64_t outs_bytes;
    uint64_t *out_heap; /* next, end, from the host's address to the device's */
} BulkTexts;

/* Arguments: their bytes, and on devices with memory of their own where they and constants go. The bulk need not be
 * prepared for more than that. 53200. */
Status texts_plan_args(Bulk *b, BulkTexts *t, Err *e);
void texts_take_args(BulkTexts *t, const BulkTexts *planned); /* that was done before */
/* Plans the rest, and takes memory; with memory of its own after texts_take_args. 53200. */
Status texts_plan(Bulk *b, BulkTexts *t, Err *e);
void texts_free(BulkTexts *t);
/* Room that an image needs for the bulk's strings; 0 when it has it already. */
int64_t texts_room(const Bulk *b, const BulkTexts *t, int64_t entry);
/* Takes it, and writes `heaps`; again after images have moved. 53200. */
Status texts_take_room(Bulk *b, BulkTexts *t, Err *e);
/* What was not used goes back, once `heaps` is what kernels left there. */
void texts_leave_room(Bulk *b, BulkTexts *t);
/* The bytes of OUT values are the result's from now on: true; false: no memory, they are as before. */
bool texts_give(BulkTexts *t, Arena *result);
/* Where in `staged` is what the parameter points at; -1: it is no such parameter. */
int64_t texts_data(const BulkTexts *t, const EmitParam *p);
/* Writes constants to `staged` for its address on the device; then, by any thread, each chunk's strings. */
void texts_stage(Bulk *b, BulkTexts *t, uint64_t staged);
/* Writes `out_heap` for the device's address of `outs`. */
void texts_place_outs(BulkTexts *t, uint64_t outs);
void texts_stage_chunk(Bulk *b, const BulkTexts *t, int64_t i);

#endif
