/* kr_device_rows_codes.h - numbers that the kernels of kr_device_rows.h share with txn/store/device_rows.c; those of
 * types and of columns are kr_image_codes.h's. */
#ifndef KR_DEVICE_ROWS_CODES_H
#define KR_DEVICE_ROWS_CODES_H

/* parameters */
#define RD_TABLETS 0   /* u64[RD_TABLET_WORDS] by tablet */
#define RD_N_TABLETS 1 /* at least 1 */
#define RD_PLACES 2    /* a multiple of 64 */
#define RD_LIVE 3      /* u8 by row */
#define RD_BITS 4      /* u64[places / 64]; 0: not wanted */
#define RD_COUNTS 5    /* u64 by tablet; 0: not wanted */
#define RD_COLS 6      /* u64[CELL_COL_WORDS] by column; address 0: it is not looked at */
#define RD_N_COLS 7
#define RD_TO 8     /* what is made: cells, or u64[RD_ZONE_WORDS] by tablet and column */
#define RD_DEAD 9   /* what cells of rows that do not live get, as 64 bits */
#define RD_WORK 10  /* pieces of RD_ZONE_ROWS rows, of all tablets */
#define RD_TEXTS 11 /* what to add to addresses of strings */
#define RD_SLOTS 12 /* of rd_find: u64[]; RD_COLS: the key's columns, then its values, 16 bytes each */
#define RD_MASK 13  /* slots - 1 */
#define RD_HASH 14
#define RD_MARKS 15 /* u8 by row */
#define RD_PIECE 16 /* by piece of a row: address, bytes from row to row */
#define RD_DENSE 20 /* of rd_find: the row whose number follows from the key, + 1; 0: there is none */

#define RD_PIECES 2
/* Of rd_texts: RD_COLS: by string its address, bytes, and place behind RD_TO; RD_WORK: how many. */
#define RD_TEXT_WORDS 3

/* By tablet: its first place, its first row, its rows, and the pieces of RD_ZONE_ROWS rows of the tablets before it. */
#define RD_TABLET_WORDS 4
#define RD_ZONE_ROWS 8192
/* By tablet and column, of rows that live: the greatest value and the greatest complement of a value, of whole numbers,
 * as 64 bits whose first one is turned (both 0: there is none), and how many are NULL. */
#define RD_ZONE_WORDS 3

#endif
