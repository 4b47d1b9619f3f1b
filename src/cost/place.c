/* place.c - the virtual machine against a GPU, in a few additions per segment. */
#include "cost/place.h"

#include <math.h>

#include "program/operands.h"

/* Nanoseconds per row and instruction of one thread of the virtual machine (2-core development machine, TPC-H), by
 * kind. */
static const double vm_plain_ns = 0.35, vm_probe_ns = 4, vm_sink_ns = 3, vm_text_ns = 20;
/* A device: bytes a row of one instruction stands for, and random accesses per probe or hash insertion. */
static const double bytes_per_load = 3, reference_read_gbps = 4500, reference_gather_mps = 40000,
                    reference_launch_us = 10;
static const double launches_per_segment = 2, segment_host_us = 15;

static double rows_of(const Program *p) {
    const Source *s = &p->source;
    if (s->kind == SRC_TABLE) return (double)s->table->live_rows;
    if (s->kind == SRC_ONE) return 1;
    if (s->kind == SRC_SERIES) return s->step ? fabs(((double)s->stop - (double)s->start) / (double)s->step) + 1 : 1;
    return isfinite(s->est_rows) && s->est_rows > 0 ? s->est_rows : 1;
}

void place_query(const QueryPlan *plan, int threads, const DeviceProfile *device, Placement *out) {
    double read = device && device->read_gbps > 0 ? device->read_gbps : reference_read_gbps;
    double launch = device && device->launch_sync_us > 0 ? device->launch_sync_us : reference_launch_us;
    double gather = device ? profile_rate_at(&device->gather, INT64_C(1) << 28) : 0;
    if (gather <= 0) gather = reference_gather_mps;
    double vm_ns = 0, device_ns = 0;
    for (int32_t i = 0; i < plan->n_segments; i++) {
        const Program *p = plan->segments[i].program;
        double rows = rows_of(p), left = rows, loads = 0, random = 0;
        for (int32_t k = 0; k < p->n_instrs; k++) {
            const Instr *in = &p->instrs[k];
            bool probe = in->op == OP_PROBE || in->op == OP_PROBE_BEGIN, text = in->op == OP_LIKE || in->op == OP_CALL;
            vm_ns += left * (probe ? vm_probe_ns : text ? vm_text_ns : vm_plain_ns);
            if (op_info[in->op].flags & F_SOURCE) loads += left;
            if (probe) random += left;
            /* What a filter lets through is not known here; the estimates are the planner's secret. Half is a fair
             * guess for this purpose. */
            if (in->op == OP_FILTER || in->op == OP_FILTER_RANGE || in->op == OP_FILTER_CODES) left /= 2;
        }
        vm_ns += left * vm_sink_ns;
        if (p->sink.kind == SINK_AGG || p->sink.kind == SINK_JOIN) random += left;
        device_ns += loads * bytes_per_load / read + random * 1000 / gather +
                     (launches_per_segment * launch + segment_host_us) * 1000;
    }
    *out = (Placement){.vm_ms = vm_ns / 1e6 / (threads > 0 ? threads : 1), .device_ms = device_ns / 1e6};
    out->on_device = out->device_ms < out->vm_ms;
}
