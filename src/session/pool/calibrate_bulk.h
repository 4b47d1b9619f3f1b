/* calibrate_bulk.h - what bulks of calls do best, measured with GPUTx's micro benchmark [§6.1, App. D] (stele
 * calibrate): from how many calls of a set on average K-SET beats locks, or on the virtual machine PART; and in how
 * many groups kernels want the calls of 16 procedures. */
#ifndef STELE_SESSION_POOL_CALIBRATE_BULK_H
#define STELE_SESSION_POOL_CALIBRATE_BULK_H

#include "session/core/session.h"

/* In a database of its own, in memory. device: "cpu", "cuda:0", .., NULL: the virtual machine, with as many threads as
 * the session may use. `quick` takes small bulks and few runs (tests): a second, and numbers that mean little. 0: not
 * measured, because bulks do not run there (or the machine has one thread, which never shares work). Out of memory and
 * the device's errors. */
Status session_calibrate_bulks(Session *s, const char *device, bool quick, BulkMeasured *out);

#endif
