/* kc_codes.h - numbers that kernels and host code share: kinds of data errors, the format of encoded LIKE patterns.
 * Plain #defines: nothing else may stand here, since host code includes it.
 */
#ifndef KC_CODES_H
#define KC_CODES_H

/* The prelude's functions that can fail return 0 or one of these; a kernel raises (instruction + 1) << 8 | kind. */
#define KE_RANGE \
    1 /* 22003, worded by the destination's physical type (smallint, integer, bigint, numeric; floats: overflow) */
#define KE_ZERO_DIV 2    /* 22012 division by zero */
#define KE_UNDERFLOW 3   /* 22003 value out of range: underflow */
#define KE_NUMERIC 4     /* 22003 numeric field overflow, with the instruction's precision and scale in the detail */
#define KE_NAN 5         /* 0A000 cannot convert NaN to numeric */
#define KE_INFINITY 6    /* 0A000 cannot convert infinity to numeric */
#define KE_FIRST_FREE 16 /* kinds from here on belong to the emitter */

/* An encoded LIKE pattern: little-endian u32 words at a multiple of 8 bytes,
 *   [0] number of runs  [1] LIKE_OPEN_*  [2] bytes a match has at least  [3] bytes of the encoding
 *   then per run: [0] offset of its bytes  [1] offset of its '_' marks (a byte per byte; 0 = the run has none)  [2]
 * bytes [3] characters  [4] bytes a match of the run has at least  [5] 0 then the bytes and marks. Offsets are from the
 * start. */
#define LIKE_OPEN_START 1u /* begins with % */
#define LIKE_OPEN_END 2u   /* ends with % */
#define LIKE_HEAD_WORDS 4
#define LIKE_RUN_WORDS 6

/* New cells of patched columns (exec/device/patch_map.h): rows of an entry, bytes of the head, and of an entry before
 * its cells. */
#define PATCH_MAP_SPAN_BITS 11
#define PATCH_MAP_HEAD 272
#define PATCH_MAP_CELLS 320

/* Slots that a group takes at a time when it appends in chunks (kc_base.h, append_chunk; at most 65535 - 2 * group
 * size). */
#define APPEND_CHUNK 512u

#endif
