/* bulk_int.h - what bulk.c and bulk_arrow.c share: a bulk of the public interface. */
#ifndef STELE_API_BULK_INT_H
#define STELE_API_BULK_INT_H

#include "api/api_int.h"
#include "session/pool/callpool.h"

typedef struct BulkParam {
    Type type;
    Phys phys;
    uint8_t *cells, *valid; /* of stele_bulk.cap calls; the cell of a NULL is zero */
} BulkParam;

struct stele_bulk {
    stele_conn *conn;
    int64_t routine; /* id */
    int n_params, n_outs;
    BulkParam *params;
    Type *out_types;
    const char **out_names;
    const char *signature; /* p(integer,text) */
    char context[1024];    /* of the failed call that was looked at last */
    char (*type_names)[TYPE_NAME_MAX];
    int64_t n, cap;
    Arena *arena; /* everything of fixed size */
    Arena *texts; /* texts of parameters */
    Arena *cell;
    BulkResult *result; /* of stele_bulk_run */
    BulkCalls group;
    Vec *vecs;
    CallEntry entry; /* of stele_bulk_submit */
    bool looked;     /* entry.serial is known */
    bool told;       /* its notices have been delivered */
};

/* Room for `more` calls behind the n that are there. 55000 when the bulk has run or was submitted. */
Status api_bulk_reserve(stele_bulk *b, int64_t more);
/* Of a bulk that has run: a call's error (NULL: it succeeded), OUT columns with the row of call 0; NULL: it has not
 * run, or failed as a whole. */
const CallError *api_bulk_error(const stele_bulk *b, int64_t call);
const Vec *api_bulk_outs(const stele_bulk *b, int64_t *first);
bool api_bulk_ran(const stele_bulk *b);

#endif
