/* tablet.h - the bytes of a main tablet.
 *
 * A main tablet is one contiguous, self-contained, position-independent block. It holds no
 * pointers: every place is named by a 64-bit offset from the block's first byte, so the
 * block can be written to a file, mapped, or copied to a device as it is. All integers are
 * little-endian. Blocks never change once built; deletes live in a bitmap beside them.
 *
 *   offset 0        TabletHeader               128 bytes
 *          128      TabletColDesc[n_cols]      96 bytes each
 *          ...      key area                   (key_offset, key_bytes; empty at present)
 *          fixed    per column, each 64-byte aligned and followed by 64 readable bytes:
 *                     data       packed codes / cells / uint32 string offsets
 *                     validity   ceil(rows / 64) words, only when the column has NULLs;
 *                                bit i set = row i is not NULL
 *          var      per string column: the strings' bytes in row order, 64-byte aligned,
 *                   followed by 64 readable bytes
 *          end      block_bytes, a multiple of 64
 *
 * Encodings (TabletColDesc.encoding):
 *   TABLET_FOR    value = base + code (64-bit wrap-around), codes `width` bits wide. Widths 1, 2, 4:
 *                 the code of row i is at bit (i * width) % 8 of byte i * width / 8. Widths 8, 16, 24,
 *                 32, 64: little-endian at byte i * width / 8. Width 0: no data, every code is 0.
 *                 Rows that are NULL have code 0. Integers of any type, and dictionary codes.
 *   TABLET_PLAIN  cells of `phys` side by side (floats, intervals, uuid, numerics beyond 64 bits).
 *                 Rows that are NULL are all zero bytes.
 *   TABLET_STR    rows + 1 uint32 offsets, ascending, starting at 0; row i is the bytes
 *                 [off[i], off[i+1]) of the column's variable-size area. NULL rows are empty.
 *
 * The 64 bytes after each area let decoders read whole vectors past the last row.
 * checksum is xxh3-64 of the bytes from `block_bytes` (offset 24) to the end.
 */
#ifndef STELE_STORAGE_TABLET_H
#define STELE_STORAGE_TABLET_H

#include "base/base.h"

#define TABLET_MAGIC "STELETAB"
enum { TABLET_FORMAT = 1, TABLET_ALIGN = 64, TABLET_GUARD = 64, TABLET_CHECKSUM_FROM = 24 };
enum { TABLET_FOR = 0, TABLET_PLAIN = 1, TABLET_STR = 2 };
enum { TABLET_COL_HAS_MINMAX = 1, TABLET_COL_CODES = 2 /* data are codes of the table's dictionary */ };

typedef struct TabletHeader {
    char magic[8];         /* TABLET_MAGIC */
    uint32_t format;       /* TABLET_FORMAT */
    uint32_t header_bytes; /* header and column descriptors */
    uint64_t checksum;
    uint64_t block_bytes;
    uint64_t table_id; /* of the table that built it; informative */
    uint64_t rows;
    uint32_t n_cols;
    uint32_t flags; /* 0 */
    uint64_t key_offset;
    uint64_t key_bytes;
    uint64_t fixed_offset;
    uint64_t fixed_bytes;
    uint64_t var_offset;
    uint64_t var_bytes;
    uint64_t reserved[3];
} TabletHeader;

typedef struct TabletColDesc {
    uint8_t encoding;
    uint8_t width;
    uint8_t phys;  /* Phys of the cells; PH_I32 for dictionary codes */
    uint8_t flags; /* TABLET_COL_* */
    uint32_t reserved;
    int64_t base;
    int64_t min, max; /* of the non-NULL values (or codes), when TABLET_COL_HAS_MINMAX */
    int64_t null_count;
    uint64_t data_offset;
    uint64_t data_bytes;
    uint64_t validity_offset; /* 0 = no NULLs */
    uint64_t var_offset;
    uint64_t var_bytes;
    uint64_t reserved2[2];
} TabletColDesc;

static_assert(sizeof(TabletHeader) == 128, "file format");
static_assert(offsetof(TabletHeader, checksum) == 16, "file format");
static_assert(offsetof(TabletHeader, block_bytes) == TABLET_CHECKSUM_FROM, "file format");
static_assert(offsetof(TabletHeader, rows) == 40, "file format");
static_assert(offsetof(TabletHeader, n_cols) == 48, "file format");
static_assert(offsetof(TabletHeader, key_offset) == 56, "file format");
static_assert(offsetof(TabletHeader, var_bytes) == 96, "file format");
static_assert(sizeof(TabletColDesc) == 96, "file format");
static_assert(offsetof(TabletColDesc, base) == 8, "file format");
static_assert(offsetof(TabletColDesc, null_count) == 32, "file format");
static_assert(offsetof(TabletColDesc, data_offset) == 40, "file format");
static_assert(offsetof(TabletColDesc, var_bytes) == 72, "file format");

#endif
