/* patch_map.h - new cells of a patched column (storage/patches.h) in the form that kernels read, beside the packed
 * cells that a device has, which are not moved again for them.
 *
 * A map is one run of bytes, at a multiple of 16:
 *
 *     head      u32 directory[64]  by PATCH_SPAN rows of the tablet: where their entry begins in the map, 0: they have
 * none u32 phys, size     of the cells; the interpreter asks for them entry     u64 bits[32]       by row of the span:
 * it has a new cell u16 before[32]     new cells of the rows before each word's cells              in order of rows:
 * integers, codes, .. as in the patches; strings as {u64 address, i64 length} strings   their bytes
 *
 * So a kernel that finds no entry for a tile's rows has nothing else to do, and finds a row's cell with one bit and a
 * count of bits else (prelude/kc_gen.h: patched_between, patch_cell). A changed row is some 600 bytes.
 */
#ifndef STELE_EXEC_DEVICE_PATCH_MAP_H
#define STELE_EXEC_DEVICE_PATCH_MAP_H

#include "storage/tablet_block.h"

/* Of a column with patches. in_place: strings stay where the host has them. */
int64_t patch_map_bytes(const TabletColumn *c, bool in_place);
/* `at`: the map's address on the device, for those of strings; 0: in place. */
void patch_map_write(const TabletColumn *c, uint64_t at, char *to);
/* The strings of the patches, in the order of their bytes in the map, from byte *from of it on: n cells, and n + 1
 * offsets from there. */
void patch_map_strings(const TabletColumn *c, Str *cells, uint32_t *offsets, int64_t *from);

#endif
