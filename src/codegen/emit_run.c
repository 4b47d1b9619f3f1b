/* emit_run.c - a module of procedures put together: parameters by name, the parts of the prelude that it takes in,
 * and the functions of its procedures between them. How calls are run is there: prelude/txn/kp_run.h and what that
 * names. */
#include "codegen/emit_proc_int.h"
#include "codegen/prelude.h"

/* `#define NAME P(number)`. */
static void define_param(ProcEm *x, Out *o, const char *name, int32_t kind) {
    out_w(&x->m, o, "#define %s %p\n", name, PARAM(kind, 0, 0));
}
#define DEFINE(kind) define_param(x, o, #kind, kind)
static void define_params(ProcEm *x, const RunForm *run, const ProcModule *out, Out *o) {
    x->m.proc = 0;
    DEFINE(PP_CALLS);
    DEFINE(PP_ORDER);
    DEFINE(PP_POS);
    DEFINE(PP_TYPES);
    DEFINE(PP_KINDS);
    DEFINE(PP_LAUNCH);
    DEFINE(PP_BLOCKED);
    DEFINE(PP_FAILED);
    DEFINE(PP_UNDO_AREA);
    DEFINE(PP_TICKET);
    DEFINE(PP_LANES);
    DEFINE(PP_LOCKED);
    DEFINE(PP_COUNTERS);
    DEFINE(PP_LOCK_START);
    DEFINE(PP_LOCK_STEP);
    DEFINE(PP_LOCKS);
    DEFINE(PP_DONE);
    DEFINE(PP_PART_AT);
    DEFINE(PP_PART_START);
    DEFINE(PP_PART_EACH);
    if (run->n_prefetched > 0 || run->n_foot_prefetched > 0) DEFINE(PP_FETCHES);
    if (!out->foot_reason) {
        DEFINE(PP_OPS);
        DEFINE(PP_USES);
        DEFINE(PP_OPS_MAX);
        DEFINE(PP_FOOT_WORDS);
        DEFINE(PP_FOOT_FAILED);
    }
    if (!out->by_statement) return;
    DEFINE(PP_STATEMENT_LOCKS);
    DEFINE(PP_USED);
    DEFINE(PP_LOG);
    DEFINE(PP_LOG_AT);
    DEFINE(PP_LOG_N);
    if (run->target->warp_functions) {
        DEFINE(PP_STRETCHES);
        DEFINE(PP_TOGETHER);
    }
    if (!x->mod.queues) return;
    DEFINE(PP_DEQUEUE_COUNTS);
    DEFINE(PP_QUEUE_ROWS);
}
/* Which procedures there are, and what differs between them. */
static void define_procs(ProcEm *x, const ProcModule *out, Out *o) {
    const int32_t n = out->n_procs;
    out_w(&x->m, o, "#define EACH_PROC(M)");
    for (int32_t k = 0; k + 1 < n; k++) out_w(&x->m, o, " M(case %d, %d)", k, k);
    out_w(&x->m, o, " M(default, %d)\n", n - 1);
    if (!out->by_statement) return;
    out_w(&x->m, o, "#define EACH_PARALLEL(M)");
    for (int32_t k = 0; k < n; k++)
        if (x->mod.parallel[k]) out_w(&x->m, o, " M(case %d, %d)", k, k);
    out_w(&x->m, o, "\n#define HOLDS_ALL(kind) (false");
    for (int32_t k = 0; k < n; k++)
        if (out->procs[k].holds_all) out_w(&x->m, o, " || (kind) == %d", k);
    out_w(&x->m, o, ")\n#define DEQUEUES(kind) (false");
    for (int32_t k = 0; k < n; k++)
        if (out->procs[k].dequeues) out_w(&x->m, o, " || ((kind) == %d && %p != 0)", k, out->procs[k].dequeues - 1);
    out_w(&x->m, o, ")\n");
}
/* What comes behind the prelude. */
static void assemble(ProcEm *x, const RunForm *run, ProcModule *out, Out *o) {
    define_params(x, run, out, o);
    define_procs(x, out, o);
    proc_include(x, o, KERNEL_PART(kp_base));
    proc_include(x, o, KERNEL_PART(kp_call_locks));
    proc_include(x, o, KERNEL_PART(kp_rows));
    proc_slots_define(x, o);
    proc_include(x, o, KERNEL_PART(kp_slots));
    if (out->makes) proc_include(x, o, KERNEL_PART(kc_make));
    if (x->mod.orders) proc_include(x, o, KERNEL_PART(kc_order));
    proc_include(x, o, KERNEL_PART(kp_calls));
    proc_include(x, o, KERNEL_PART(kp_hot));
    if (!out->foot_reason) proc_include(x, o, KERNEL_PART(kp_ops));
    if (out->by_statement) {
        proc_include(x, o, KERNEL_PART(kp_statement_locks));
        proc_include(x, o, KERNEL_PART(kp_parallel));
    }
    if (x->mod.queues) proc_include(x, o, KERNEL_PART(kp_dequeue));
    proc_append(x, o, &x->mod.funcs);
    if (out->by_statement) proc_include(x, o, KERNEL_PART(kp_run_statement));
    if (out->by_statement && run->target->warp_functions) proc_include(x, o, KERNEL_PART(kp_run_warp));
    proc_include(x, o, KERNEL_PART(kp_run));
    if (out->by_statement) proc_include(x, o, KERNEL_PART(kp_undo));
    if (out->foot_reason) return;
    out_w(&x->m, o, "#define EACH_SUM(M)");
    proc_append(x, o, &x->mod.sums);
    out_w(&x->m, o, "\n");
    proc_include(x, o, KERNEL_PART(kp_foot));
}
/* What comes before the prelude, and how parameters are read; written last, because it says how many there are. */
static void assemble_head(ProcEm *x, const RunForm *run, ProcModule *out, Out *o) {
    Em *m = &x->m;
    const EmitTarget *t = run->target;
    const int32_t n = (int32_t)m->params.len, direct = PROC_DIRECT;
    const bool one = t->group_size == 1;
    /* Functions that are not inlined would read a kernel's parameters through an address: two loads that depend on
     * each other for every one. */
    out->constants = t->constant_memory && (out->by_statement || n > DEV_PARAMS_MAX) && n <= PROC_CONSTANTS_MAX;
    out->param_table = out->constants || n > DEV_PARAMS_MAX;
    out_w(m, o, "#define KC_LONG 1\n#define N_PARAMS %d\n#define ERR_PARAM 0\n", out->param_table ? direct : n);
    if (!t->native_threads) out_w(m, o, "#define GROUP_SIZE %d\n", t->group_size);
    out_w(m, o, "#define TILE %d\n", !one ? 1 : x->mod.prefetch_each ? (int32_t)PROC_TILE_EACH : (int32_t)PROC_TILE);
    out_w(m, o, "#define FOOT_TILE %d\n#define UNDO_MAX %d\n", one ? (int32_t)FOOT_TILE : 1, out->undo_max);
    out_w(m, o, "#define PREFETCH_KEYS %d\n#define PREFETCH_TEXTS %d\n", run->n_prefetched,
          (int32_t)x->mod.prefetch_texts);
    out_w(m, o, "#define PREFETCH_FOOT_KEYS %d\n", run->n_foot_prefetched);
    out_w(m, o, "#define STATEMENT_LOCKS %d\n", (int32_t)out->by_statement);
    out_w(m, o, "#define RUN_CARRIES %d\n", (int32_t)(t->native_threads && !out->by_statement));
    out_w(m, o, "#define OPS_SHARED %d\n#define N_SUMS %d\n", (int32_t)run->strings, x->mod.n_sums + 1);
    out_w(m, o, "#define N_LAST %d\n", x->mod.most_last + 1);
    out_w(m, o, "#define ERROR_KNOWN_HERE %s\n", run->strings ? "0u" : "PROC_ERROR_KNOWN");
    out_w(m, o, "#define PIECES_AT %d\n", (int32_t)PROC_PIECES_AT(out->n_tables));
    proc_include(x, o, KERNEL_PRELUDE_INCLUDE);
    if (!out->param_table) return;
    out_w(m, o, "#undef P\n");
    if (out->constants) {
        out_w(m, o, "extern \"C\" { __constant__ u64 kc_table[%d]; }\n", n);
        out_w(m, o, "#define P(i) ((i) < %d ? kp.p[i] : kc_table[i])\n", direct);
        return;
    }
    out_w(m, o, "#if defined(KC_CUDA)\n");
    out_w(m, o, "#define P(i) ((i) < %d ? kp.p[i] : GRO(u64, kp.p[%d])[i])\n", direct - 1, direct - 1);
    out_w(m, o, "#else\n");
    out_w(m, o, "#define P(i) ((i) < %d ? kp[i] : GRO(u64, kp[%d])[i])\n", direct - 1, direct - 1);
    out_w(m, o, "#endif\n");
}
void proc_assemble(ProcEm *x, const RunForm *run, ProcModule *out, Out *text) {
    Out kernels = {0};
    assemble(x, run, out, &kernels);
    assemble_head(x, run, out, text);
    proc_append(x, text, &kernels);
    out_put(&x->m, text, "", 1);
}
