/* bulk_failures.c - calls that failed on a device: errors that are worded here, and calls that the virtual machine runs
 * again, because only it can word theirs. */
#include <stdlib.h>

#include "codegen/prelude/kc_codes.h"
#include "storage/row_errors.h"
#include "txn/device/bulk_device_int.h"

enum {
    WORD_SAMPLE = 1024,
    WORD_STEP = 1024 /* failures, */,
    WORD_KEYS = 64 /* or keys, before other workers are used */
};
#define WORDED UINT32_MAX /* instead of a failure's code */

static void machine_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    BulkDevice *v = b->device;
    int64_t step = MIN_OF(b->groups[v->failures.again_group].proc->body->vector_size,
                          MAX_OF(INT64_C(1), v->failures.n_again / b->workers));
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < v->failures.n_again;)
        bulk_chunk(b, worker, v->failures.again_group, MIN_OF(step, v->failures.n_again - i), v->failures.again + i);
}
/* These calls of a group, which do not conflict, on the virtual machine. */
static void on_machine(Bulk *b, int32_t group, int64_t n, uint32_t *calls) {
    BulkDevice *v = b->device;
    v->failures.again = calls;
    v->failures.n_again = n;
    v->failures.again_group = group;
    atomic_store(&b->next, 0);
    if (n < 64) machine_worker(b, 0);
    else bulk_parallel(b, machine_worker);
}
/* Gives a call its error, with the place of the instruction. NULL: no memory for it. */
static CallError *give_error(Bulk *b, int worker, int32_t group, int32_t pc, uint32_t call, const Err *e) {
    static CallError oom = {.sqlstate = "53200", .message = (char *)(uintptr_t) "out of memory for an error's message"};
    const Proc *proc = b->groups[group].group->proc;
    CallSink *k = &b->w[worker].sink;
    CallError *x = arena_new_of(k->arena, CallError);
    x = x && call_error_of(k->arena, e, x) ? call_error_place(k->arena, proc, pc, x) : NULL;
    k->errors[group][b->pos_of ? b->pos_of[call] : call] = x ? x : &oom;
    k->n_failed++;
    return x;
}
/* A RAISE with a constant message: its calls share the error. */
static void word_raise(Bulk *b, int32_t group, int32_t pc, uint32_t call) {
    CallError ***shared = &b->device->failures.raised[group];
    const Program *p = b->groups[group].group->proc->body;
    if (*shared && (*shared)[pc]) {
        CallSink *k = &b->w[0].sink;
        k->errors[group][b->pos_of ? b->pos_of[call] : call] = (*shared)[pc];
        k->n_failed++;
        return;
    }
    const RaiseSite *r = p->instrs[pc].aux;
    Err e = {0};
    char text[sizeof e.message];
    int64_t n = 0;
    for (const char *s = r->format; *s && n < (int64_t)sizeof text - 1; s++) {
        if (*s != '%') text[n++] = *s;
        else if (s[1] == '%') text[n++] = *s++;
    }
    text[n] = 0;
    err_set(&e, r->sqlstate, "%s", text);
    if (r->detail) err_detail(&e, "%s", r->detail);
    if (r->hint) err_hint(&e, "%s", r->hint);
    if (r->names) err_names(&e, r->names);
    CallError *x = give_error(b, 0, group, pc, call, &e);
    if (!*shared) *shared = arena_calloc(b->arena, (p->n_instrs + 1) * (int64_t)sizeof **shared);
    if (*shared) (*shared)[pc] = x;
}
/* A taken key, from the list of these. */
static void word_key(Bulk *b, int worker, const uint64_t *record) {
    uint32_t call = (uint32_t)record[0];
    int32_t group = bulk_type(b, call), pc = (int32_t)((uint32_t)record[1] >> 8) - 1;
    const RowInsert *ins = b->groups[group].group->proc->body->instrs[pc].aux;
    const Image *im = b->groups[group].proc->body->tables[ins->table].image;
    const ImageIndex *ix = &im->indexes[record[0] >> 32];
    const void **cells = b->device->failures.key_cells + worker * b->device->failures.key_cols;
    Err e = {0};
    for (int32_t c = 0; c < ix->n_cols; c++) cells[ix->cols[c]] = &record[2 + c];
    (void)row_key_error(im->table, ix->key, cells, &e);
    (void)give_error(b, worker, group, pc, call, &e);
}
/* Words an error that follows from its code: false when only the virtual machine can word it. */
static bool word_error(Bulk *b, int worker, int32_t group, uint32_t code, uint32_t call) {
    const Program *p = b->groups[group].group->proc->body;
    if ((code & PROC_ERROR_KNOWN) == 0) return false;
    code &= ~PROC_ERROR_KNOWN;
    int32_t pc = (int32_t)(code >> 8) - 1, kind = (int32_t)(code & 0xff);
    if (kind == PF_KEY) return true; /* its record in `keys` has the error */
    if (kind == PF_RAISED_PLAIN) {
        word_raise(b, group, pc, call);
        return true;
    }
    Err e = {0};
    emit_data_error(p, group, code, &e);
    for (int32_t i = pc - 1; i >= 0 && !op_is_control(p->instrs[i].op);
         i--) /* the virtual machine repeats a whole IF */
        if (p->instrs[i].op == OP_IF && p->instrs[p->instrs[i].jump].jump > pc) pc = i;
    (void)give_error(b, worker, group, pc, call, &e);
    return true;
}

int bulk_by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
/* Words duplicate keys, and failures that have not been worded. Errors that calls share exist already, or are left for
 * later, as are calls for the virtual machine. Memory is prefetched for some failures at a time. */
typedef struct Wording {
    Bulk *b;
    int64_t keys;
    uint32_t *left;
    _Atomic int64_t next, n_left;
} Wording;
enum { WORD_AT_A_TIME = 32 };
static void word_some(Wording *y, int worker, int n, const int64_t *which) {
    Bulk *b = y->b;
    BulkDevice *v = b->device;
    CallError **at[WORD_AT_A_TIME];
    int64_t worded = 0;
    for (int i = 0; i < n; i++) {
        uint32_t call = (uint32_t)v->failures.list[1 + which[i]];
        at[i] = &b->result->errors[bulk_type(b, call)][b->pos_of ? b->pos_of[call] : call];
        __builtin_prefetch(at[i], 1);
    }
    for (int i = 0; i < n; i++) {
        uint32_t call = (uint32_t)v->failures.list[1 + which[i]],
                 code = (uint32_t)(v->failures.list[1 + which[i]] >> 32);
        int32_t group = bulk_type(b, call), pc = (int32_t)((code & ~PROC_ERROR_KNOWN) >> 8) - 1;
        bool shared = (code & PROC_ERROR_KNOWN) != 0 && (code & 0xff) == PF_RAISED_PLAIN;
        CallError *x = shared && v->failures.raised[group] ? v->failures.raised[group][pc] : NULL;
        if (x) {
            *at[i] = x;
            worded++;
        } else if (shared || !word_error(b, worker, group, code, call)) {
            y->left[atomic_fetch_add(&y->n_left, 1)] = (uint32_t)which[i];
        }
    }
    b->w[worker].sink.n_failed += worded;
}
static void word_worker(void *ctx, int worker) {
    Wording *y = ctx;
    Bulk *b = y->b;
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failures.list[0];
    for (int64_t from; (from = atomic_fetch_add(&y->next, WORD_KEYS)) < y->keys;)
        for (int64_t i = from; i < MIN_OF(from + WORD_KEYS, y->keys); i++)
            word_key(b, worker, v->failures.keys + 2 + i * KEY_WORDS);
    for (int64_t from; (from = atomic_fetch_add(&b->next, WORD_STEP)) < n;) {
        int64_t which[WORD_AT_A_TIME], end = MIN_OF(from + WORD_STEP, n);
        for (int64_t i = from; i < end; i += WORD_AT_A_TIME) {
            int have = 0;
            for (int64_t k = i; k < MIN_OF(i + WORD_AT_A_TIME, end); k++) {
                uint32_t call = (uint32_t)v->failures.list[1 + k];
                if (v->failures.list[1 + k] >> 32 == WORDED) continue;
                if (b->type_of) __builtin_prefetch(&b->type_of[call]);
                if (b->pos_of) __builtin_prefetch(&b->pos_of[call]);
                which[have++] = k;
            }
            word_some(y, worker, have, which);
        }
    }
}
/* Words failures of a launch or batch, and returns the calls that the virtual machine has to run, in their order. */
int64_t bulk_word_failures(Bulk *b, uint32_t **calls) {
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failures.list[0], m = 0;
    Wording y = {.b = b, .keys = keys_listed(v)};
    *calls = v->failures.rest;
    if (n == 0) return 0;
    /* Errors that calls share are made from some failures all over the list: neighbours are often alike. */
    for (int64_t i = 0; i < n; i += MAX_OF(n / WORD_SAMPLE, INT64_C(1))) {
        uint32_t call = (uint32_t)v->failures.list[1 + i], code = (uint32_t)(v->failures.list[1 + i] >> 32);
        int32_t group = bulk_type(b, call), pc = (int32_t)((code & ~PROC_ERROR_KNOWN) >> 8) - 1;
        if ((code & PROC_ERROR_KNOWN) == 0 || (code & 0xff) != PF_RAISED_PLAIN ||
            (v->failures.raised[group] && v->failures.raised[group][pc]))
            continue;
        word_raise(b, group, pc, call);
        v->failures.list[1 + i] |= (uint64_t)WORDED << 32; /* worded */
    }
    atomic_store(&b->next, 0);
    y.left = v->failures.rest;
    if (b->workers > 1 && (n > WORD_STEP || y.keys > WORD_KEYS))
        pool_run(b->opt->query->pool, b->workers, word_worker, &y);
    else word_worker(&y, 0);
    for (int64_t k = 0; k < y.n_left; k++) { /* *calls has no more than it had before, and k */
        uint64_t entry = v->failures.list[1 + y.left[k]];
        if (!word_error(b, 0, bulk_type(b, (uint32_t)entry), (uint32_t)(entry >> 32), (uint32_t)entry))
            (*calls)[m++] = (uint32_t)entry;
    }
    if (m > 1) qsort(*calls, (size_t)m, sizeof **calls, bulk_by_number);
    return m;
}
/* These calls, which do not conflict, on the machine: procedure by procedure. */
Status bulk_run_failures(Bulk *b, int64_t n, const uint32_t *calls, Err *e) {
    uint32_t *some = arena_alloc(b->arena, n * 4 + 4);
    if (!some) return err_oom(e);
    b->device->launches.trip = true;
    for (int32_t k = 0; k < b->n_groups; k++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (bulk_type(b, calls[i]) == k) some[m++] = calls[i];
        if (m > 0) on_machine(b, k, m, some);
    }
    return ST_OK;
}
