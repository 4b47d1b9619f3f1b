/* kr_image_codes.h - numbers that the kernels of kr_image.h share with txn/store/device_kernels.c, and those of
 * kr_device_rows.h with device_rows.c. */
#ifndef KR_IMAGE_CODES_H
#define KR_IMAGE_CODES_H

/* parameters */
#define IK_SLOTS 0 /* u64[]: the table that there is, */
#define IK_N 1     /* its slots */
#define IK_LIVE 2  /* u8 by row: a unique index, whose rows that live are taken along; 0: all entries are */
#define IK_RESULT                                                                                                     \
    3             /* u64[]: entries, and how many are taken along at most; of a bound the greatest |value| of the one \
                     column in IK_COLS, where IK_N is rows */
#define IK_TO 4   /* u64[]: the new one */
#define IK_MASK 5 /* its slots - 1 */
#define IK_COLS                                                                                                       \
    6 /* by column of the key: its Phys, address, bytes from row to row, address of its marks of what is not NULL (0: \
         nothing is) */
#define IK_N_COLS 7
#define IK_TEXTS 8   /* what to add to addresses of strings */
#define IK_BASE 9    /* IK_TO's address on the host: cells get those */
#define IK_ROWS 10   /* of a unique index: how many there are */
#define IK_HASHES 11 /* 0: all hashes are 0 */
#define IK_DENSE 12  /* of these, the first so many need no entries */

/* parameters of these and of kr_device_rows.h: they are one module */
#define IK_PARAMS 21

/* of columns of strings IK_COLS has instead of Phys whether rows that do not live keep theirs; IK_N: rows; IK_RESULT:
 * u64, their bytes */
#define CELL_COL_WORDS 4

#define CELL_ROW_LIVE 1 /* as in txn/store/image.h; the rest as in types/type.h */
#define CELL_BOOL 0
#define CELL_I16 1
#define CELL_I32 2
#define CELL_I64 3
#define CELL_I128 4
#define CELL_F32 5
#define CELL_F64 6
#define CELL_STR 7
#define CELL_INTERVAL 8
#define CELL_UUID 9

#endif
