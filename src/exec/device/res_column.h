/* res_column.h - table columns in device memory: what a tablet's column consists of, and how it gets there. For the
 * files of src/exec/device that know what a column is there: residency.c keeps columns, res_stream.c moves pieces of
 * them.
 *
 * Thread rules: under Runtime.res_lock.
 */
#ifndef STELE_EXEC_DEVICE_RES_COLUMN_H
#define STELE_EXEC_DEVICE_RES_COLUMN_H

#include "exec/device/dev_int.h"

enum { RES_ALIGN = 64, RES_GUARD = 64 }; /* of areas; bytes behind each that kernels may read */
/* What an area takes. */
static inline int64_t res_room(int64_t bytes) { return bytes ? align_up(bytes + RES_GUARD, RES_ALIGN) : 0; }

/* The host's bytes of a tablet's column; a NULL address with bytes: they are made for the device. */
typedef struct Areas {
    const void *data, *validity, *var;
    int64_t data_bytes, validity_bytes, var_bytes;
} Areas;
Areas res_areas(const DevQuery *q, const TabletColumn *c, int64_t rows);
/* An open column's cells are put side by side for the device. */
bool res_packs(const DevQuery *q, const TabletColumn *c);
/* That, in memory of the query. */
Status res_pack_cells(DevQuery *q, const Table *t, const Tablet *tab, int32_t col, const void **out, Err *e);
bool res_patched(const DevQuery *q, const TabletColumn *c); /* kernels read its patches */
static inline bool res_has_strings(const Column *c) { return !c->dict && type_phys(c->type) == PH_STR; }
/* Its cells are made of rows that the device has (device_rows.h). */
bool res_made_of_rows(const Table *t, int32_t col);

/* A place for `bytes` behind *at, and the job that sends them; p NULL: they are sent otherwise. */
DevPtr res_put_area(Upload *jobs, int64_t *n, int64_t *at, const void *p, int64_t bytes);
/* wait: they are there when it returns; else later work of the query finds them. */
Status res_upload(DevQuery *q, DevPtr to, const Upload *jobs, int64_t n, bool wait, Err *e);
/* A descriptor without addresses. */
DColumn res_describe(const DevQuery *q, const TabletColumn *c);

/* The column as `old` (NULL: nothing) has it plus what is new. own: for this query alone, so that it need not be there
 * yet when this returns. map: packed tablets are read where the host has them, where that is possible. */
Status res_column_make(DevQuery *q, const Table *t, int32_t col, const ResColumn *old, bool own, bool map,
                       ResColumn **out, Err *e);
void res_column_free(DevRuntime *r, ResColumn *c); /* no work uses it; NULL is fine */
/* Where strings of the column lie there, for dev_move.c. */
Status res_column_ranges(DevQuery *q, const Table *t, const ResColumn *c, Err *e);

#endif
