/* place.h - on which processor a query should run.
 *
 * Two sums over the plan's segments, from rows (statistics) and operations (instructions of the programs), with the
 * machine's measured rates where there is a profile and the reference machines' where there is none. They distinguish
 * 0.1 ms from 10 ms, not 5 from 6: a device costs launches and waits per segment whatever it does, the virtual machine
 * costs time per row.
 */
#ifndef STELE_COST_PLACE_H
#define STELE_COST_PLACE_H

#include "cost/profile.h"
#include "program/query_plan.h"

typedef struct Placement {
    double vm_ms, device_ms; /* estimates; device_ms with every column it reads on the device already */
    bool on_device;          /* the smaller one is the device's */
} Placement;

/* device may be NULL: rates of the reference GPU. threads: of the virtual machine. */
void place_query(const QueryPlan *plan, int threads, const DeviceProfile *device, Placement *out);

#endif
