/* bulk.c - bulks in the public interface: calls are gathered in columns, run by session/pool/bulk.h at once or by
 * session/pool/callpool.h with those of others, read one by one. */
#include "api/bulk_int.h"

#include <stdio.h>

#include "base/log.h"
#include "session/core/idle.h"
#include "sql/pl/pl.h"

static stele_status bulk_new(stele_conn *conn, const char *name, stele_bulk **out) {
    Session *s = conn->s;
    const Routine *r;
    LockMode before = s->lock;
    s->bulk.under_way = true; /* only definitions are looked at */
    Status locked = session_lock(s, LOCK_SHARED);
    s->bulk.under_way = false;
    if (locked != ST_OK) return STELE_ERROR;
    Arena *a = session_bulk_routine(s, slice_of(name), &r) == ST_OK ? arena_new(&s->account, &s->err) : NULL;
    stele_bulk *b = a ? arena_new_of(a, stele_bulk) : NULL;
    if (b) {
        int n = MAX_OF(r->n_params, 1);
        *b = (stele_bulk){.conn = conn, .routine = r->id, .arena = a};
        b->params = arena_array(a, BulkParam, n);
        b->vecs = arena_array(a, Vec, n);
        b->out_types = arena_array(a, Type, n);
        b->out_names = arena_array(a, const char *, n);
        b->type_names = arena_alloc(a, (int64_t)sizeof *b->type_names * n);
        b->cell = arena_new(&s->account, &s->err);
        b->texts = arena_new(&s->account, &s->err);
        b->signature = pl_signature_text(a, r);
        bool ok = b->signature && b->params && b->vecs && b->out_types && b->out_names && b->type_names && b->cell &&
                  b->texts;
        for (int i = 0; ok && i < r->n_params; i++) {
            Type t = r->param_types[i];
            if (r->param_modes[i] == 'i' || r->param_modes[i] == 'b') {
                type_name(t, &b->type_names[b->n_params]);
                b->params[b->n_params++] = (BulkParam){.type = t, .phys = type_phys(t)};
            }
            if (r->param_modes[i] == 'i') continue;
            b->out_types[b->n_outs] = t;
            ok = (b->out_names[b->n_outs++] = arena_strdup(a, r->param_names[i] ? r->param_names[i] : "")) != NULL;
        }
        if (ok && b->n_outs == 0 && r->ret.id != T_VOID) {
            b->out_types[0] = r->ret;
            ok = (b->out_names[b->n_outs++] = arena_strdup(a, r->name)) != NULL;
        }
        if (!ok) {
            (void)err_oom(&s->err);
            arena_free(b->cell);
            arena_free(b->texts);
            b = NULL;
        }
    }
    if (before == LOCK_NONE) session_unlock(s);
    if (!b) {
        if (!err_is_set(&s->err)) (void)err_oom(&s->err);
        arena_free(a);
        return STELE_ERROR;
    }
    *out = b;
    return STELE_OK;
}
stele_status stele_bulk_new(stele_conn *conn, const char *name, stele_bulk **out) {
    *out = NULL;
    err_clear(&conn->s->err);
    stele_status st = session_enter(conn->s) == ST_OK ? bulk_new(conn, name, out) : STELE_ERROR;
    session_leave(conn->s);
    return st;
}

static void forget_results(stele_bulk *b) {
    call_release(b->conn->s, &b->entry);
    if (b->result) bulk_result_free(b->result);
    b->result = NULL;
}
void stele_bulk_reset(stele_bulk *b) {
    forget_results(b);
    b->n = 0;
    arena_reset(b->texts);
}
void stele_bulk_free(stele_bulk *b) {
    if (!b) return;
    forget_results(b);
    MemAccount *acct = &b->conn->s->account;
    for (int i = 0; i < b->n_params; i++) {
        mem_free(acct, b->params[i].cells, b->cap * phys_size(b->params[i].phys));
        mem_free(acct, b->params[i].valid, b->cap);
    }
    arena_free(b->cell);
    arena_free(b->texts);
    arena_free(b->arena);
}

int64_t stele_bulk_param_count(const stele_bulk *b) { return b->n_params; }
const char *stele_bulk_param_type(const stele_bulk *b, int64_t i) {
    return i >= 0 && i < b->n_params ? b->type_names[i] : "";
}
int64_t stele_bulk_out_count(const stele_bulk *b) { return b->n_outs; }
const char *stele_bulk_out_name(const stele_bulk *b, int64_t i) {
    return i >= 0 && i < b->n_outs ? b->out_names[i] : "";
}
int64_t stele_bulk_count(const stele_bulk *b) { return b->n; }

Status api_bulk_reserve(stele_bulk *b, int64_t more) {
    Session *s = b->conn->s;
    if (b->result || atomic_load(&b->entry.state) != CALL_NEW)
        return err_set(&s->err, ERR_NOT_IN_STATE, "the bulk has run already or was submitted");
    if (b->n + more <= b->cap) return ST_OK;
    int64_t cap = MAX_OF(b->cap * 2, MAX_OF(b->n + more, INT64_C(1024)));
    for (int i = 0; i < b->n_params; i++) { /* all or none grow: cells first into fresh memory */
        BulkParam *c = &b->params[i];
        int64_t size = phys_size(c->phys);
        uint8_t *cells = mem_alloc(&s->account, cap * size, &s->err),
                *valid = cells ? mem_alloc(&s->account, cap, &s->err) : NULL;
        if (!valid) {
            mem_free(&s->account, cells, cap * size);
            for (int k = 0; k < i; k++) { /* those that have grown give back what they need not have */
                BulkParam *g = &b->params[k];
                g->cells = mem_realloc(&s->account, g->cells, cap * phys_size(g->phys),
                                       MAX_OF(b->cap, INT64_C(1)) * phys_size(g->phys), &s->err);
                g->valid = mem_realloc(&s->account, g->valid, cap, MAX_OF(b->cap, INT64_C(1)), &s->err);
            }
            return ST_ERROR;
        }
        if (b->n) memcpy(cells, c->cells, (size_t)(b->n * size)), memcpy(valid, c->valid, (size_t)b->n);
        mem_free(&s->account, c->cells, b->cap * size);
        mem_free(&s->account, c->valid, b->cap);
        c->cells = cells;
        c->valid = valid;
    }
    b->cap = cap;
    return ST_OK;
}

stele_status stele_bulk_add(stele_bulk *b, const char *const *values) {
    Session *s = b->conn->s;
    err_clear(&s->err);
    if (api_bulk_reserve(b, 1) != ST_OK) return STELE_ERROR;
    if (b->n == 0) session_begin_clock(s); /* for 'now' in texts */
    for (int i = 0; i < b->n_params; i++) {
        BulkParam *c = &b->params[i];
        uint8_t *cell = c->cells + b->n * phys_size(c->phys);
        c->valid[b->n] = values[i] != NULL;
        memset(cell, 0, (size_t)phys_size(c->phys));
        if (!values[i]) continue;
        Value v;
        Slice text = slice_of(values[i]);
        if (c->phys == PH_STR) { /* the caller's bytes may go */
            char *copy = arena_strndup(b->texts, text.ptr, text.len);
            if (!copy) return err_oom(&s->err), STELE_ERROR;
            text.ptr = copy;
        }
        if (value_from_text(c->type, text, &s->info, b->texts, &v, &s->err) != ST_OK) {
            err_context(&s->err, "parameter %d of call %lld", i + 1, (long long)b->n + 1);
            return STELE_ERROR;
        }
        memcpy(cell, value_cell(&v), (size_t)phys_size(c->phys));
    }
    b->n++;
    return STELE_OK;
}

stele_status stele_bulk_add_columns(stele_bulk *b, int64_t n, const void *const *columns,
                                    const unsigned char *const *valid) {
    Session *s = b->conn->s;
    err_clear(&s->err);
    for (int i = 0; i < b->n_params; i++) {
        Type t = b->params[i].type;
        if (t.id == T_NUMERIC || b->params[i].phys == PH_I128 || b->params[i].phys >= PH_STR)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "parameter %d of type %s cannot be given as a column of cells", i + 1, b->type_names[i]),
                   STELE_ERROR;
    }
    if (n < 0 || api_bulk_reserve(b, n) != ST_OK) return STELE_ERROR;
    for (int i = 0; i < b->n_params; i++) {
        BulkParam *c = &b->params[i];
        int64_t size = phys_size(c->phys);
        if (n) memcpy(c->cells + b->n * size, columns[i], (size_t)(n * size));
        if (valid && valid[i]) memcpy(c->valid + b->n, valid[i], (size_t)n);
        else memset(c->valid + b->n, 1, (size_t)n);
    }
    b->n += n;
    return STELE_OK;
}

static void make_vecs(stele_bulk *b) {
    for (int i = 0; i < b->n_params; i++)
        b->vecs[i] = (Vec){.data = b->params[i].cells,
                           .valid = b->params[i].valid,
                           .phys = (uint8_t)b->params[i].phys,
                           .type = b->params[i].type};
}

static stele_status run(stele_bulk *b) {
    Session *s = b->conn->s;
    if (api_bulk_reserve(b, 0) != ST_OK) return STELE_ERROR;
    if (s->state == 'E')
        return err_set(&s->err, ERR_FAILED_TRANSACTION,
                       "current transaction is aborted, commands ignored until end of transaction block"),
               STELE_ERROR;
    make_vecs(b);
    Status st = session_begin_bulk(s);
    const Routine *r = st == ST_OK ? catalog_routine_by_id(&s->db->catalog, b->routine) : NULL;
    if (st == ST_OK && !r) st = err_set(&s->err, ERR_UNDEFINED_FUNCTION, "the routine has been dropped or replaced");
    b->group = (BulkCalls){.routine = r, .n = b->n, .params = b->vecs};
    if (st == ST_OK) st = session_bulk_run_sliced(s, 1, &b->group, NULL, &b->result);
    if (st == ST_OK) session_bulk_notices(s, b->result, 0, 0, b->n);
    return session_end_statement(s, st) == ST_OK ? STELE_OK : STELE_ERROR;
}
stele_status stele_bulk_run(stele_bulk *b) {
    StackWatch before = session_call_begin(b->conn->s);
    stele_status st = session_enter(b->conn->s) == ST_OK ? run(b) : STELE_ERROR;
    session_leave(b->conn->s);
    stack_watch_end(before);
    return st;
}

/* ---- the pool ---------------------------------------------------------------------------------- */
/* Whether the routine can be compiled: a hint, asked for once. */
static Status find_serial(stele_bulk *b) {
    Session *s = b->conn->s;
    if ((b->looked && !s->path.temp.made) || s->state != 'I') return ST_OK; /* call_submit refuses */
    bool compilable = false;
    TRY(session_begin_bulk(s));
    Status st = session_bulk_compilable(s, b->routine, &compilable);
    if (st == ST_OK && session_bulk_names_temporary(s, b->routine))
        st = err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "calls that are submitted cannot use temporary tables");
    b->entry.serial = !compilable;
    b->looked = st == ST_OK;
    return session_end_statement(s, st);
}

static stele_status submit(stele_bulk *b) {
    Session *s = b->conn->s;
    if (api_bulk_reserve(b, 0) != ST_OK || find_serial(b) != ST_OK) return STELE_ERROR;
    make_vecs(b);
    b->entry.routine = b->routine;
    b->entry.n = b->n;
    b->entry.params = b->vecs;
    b->told = false;
    return call_submit(s, &b->entry, true) == ST_OK ? STELE_OK : STELE_ERROR;
}
stele_status stele_bulk_submit(stele_bulk *b) {
    StackWatch before = session_call_begin(b->conn->s);
    stele_status st = session_enter(b->conn->s) == ST_OK ? submit(b) : STELE_ERROR;
    session_leave(b->conn->s);
    stack_watch_end(before);
    b->conn->s->deadline_ns = 0; /* of this call, not of the calls */
    return st;
}

stele_status stele_bulk_wait(stele_bulk *b, int64_t timeout_us, bool *done) {
    Session *s = b->conn->s;
    bool over = false;
    StackWatch before = session_call_begin(s);
    Status st = b->result ? err_set(&s->err, ERR_NOT_IN_STATE, "the calls have not been submitted")
                          : call_wait(s, &b->entry, timeout_us, &over);
    stack_watch_end(before);
    s->deadline_ns = 0;
    if (done) *done = over;
    if (st != ST_OK) return STELE_ERROR;
    if (over && !b->told) call_entry_notices(s, &b->entry);
    b->told |= over;
    const Err *fault = over ? call_entry_fault(&b->entry) : NULL;
    if (!fault) return STELE_OK;
    err_copy(&s->err, fault);
    return STELE_ERROR;
}

void stele_pool_get_info(stele_conn *c, bool reset, stele_pool_info *out) {
    CallPoolStats t;
    call_pool_stats(c->s, reset, &t);
    *out = (stele_pool_info){.bulks = t.bulks,
                             .calls = t.calls,
                             .largest = t.largest,
                             .by_size = t.by_size,
                             .by_time = t.by_time,
                             .by_all = t.by_all,
                             .by_turn = t.by_turn,
                             .sent_ahead = t.sent_ahead,
                             .footprints_ahead = t.footprints_ahead,
                             .waiting = t.waiting,
                             .p50_ns = t.p50_ns,
                             .p99_ns = t.p99_ns,
                             .max_ns = t.max_ns};
}

/* ---- results ------------------------------------------------------------------------------------ */
static bool over(const stele_bulk *b) { return atomic_load(&b->entry.state) == CALL_DONE; }
const CallError *api_bulk_error(const stele_bulk *b, int64_t call) {
    if (b->result) return b->result->errors[0][call];
    return over(b) ? call_entry_error(&b->entry, call) : NULL;
}
const Vec *api_bulk_outs(const stele_bulk *b, int64_t *first) {
    *first = 0;
    if (b->result) return b->result->outs[0];
    return over(b) ? call_entry_outs(&b->entry, first) : NULL;
}

bool api_bulk_ran(const stele_bulk *b) { return b->result || (over(b) && !call_entry_fault(&b->entry)); }

stele_status stele_bulk_status(const stele_bulk *b, int64_t call, stele_error_info *error) {
    const CallError *e = call >= 0 && call < b->n ? api_bulk_error(b, call) : NULL;
    const Err *fault = over(b) ? call_entry_fault(&b->entry) : NULL;
    if (error) {
        memcpy(error->sqlstate, fault ? fault->sqlstate : e ? e->sqlstate : "00000", 6);
        error->message = fault ? fault->message : e && e->message ? e->message : "";
        error->detail = fault ? fault->detail : e && e->detail ? e->detail : "";
        error->hint = fault ? fault->hint : e && e->hint ? e->hint : "";
        error->context = "";
        error->position = 0;
        api_error_names(fault ? err_names_of(fault) : e && e->names ? *e->names : (ErrNames){0}, error);
        if (!fault && e && e->line > 0 && e->place) {
            char *to =
                ((stele_bulk *)(uintptr_t)b)->context; /* the text that stele_bulk_status gives is the handle's */
            snprintf(to, sizeof b->context, "%s%sPL/pgSQL function %s line %d at %s", e->context ? e->context : "",
                     e->context ? "\n" : "", b->signature, (int)e->line, e->place);
            error->context = to;
        }
    }
    return e || fault ? STELE_ERROR : STELE_OK;
}

const char *stele_bulk_value(stele_bulk *b, int64_t call, int64_t out, int64_t *len) {
    int64_t first;
    if (len) *len = 0;
    const Vec *outs = api_bulk_outs(b, &first);
    if (!outs || call < 0 || call >= b->n || out < 0 || out >= b->n_outs || api_bulk_error(b, call)) return NULL;
    const Vec *c = &outs[out];
    if (c->valid && !c->valid[first + call]) return NULL;
    Value v = {.type = b->out_types[out]};
    memcpy(value_cell(&v), (const char *)c->data + (first + call) * phys_size((Phys)c->phys),
           (size_t)phys_size((Phys)c->phys));
    arena_reset(b->cell);
    return value_to_text(b->cell, &v, len);
}

void stele_bulk_get_info(const stele_bulk *b, stele_bulk_info *info) {
    *info = (stele_bulk_info){.strategy = "", .executor = ""};
    const BulkStats *t = b->result ? &b->result->stats : over(b) ? call_entry_stats(&b->entry) : NULL;
    if (!t) return;
    *info = (stele_bulk_info){.calls = t->n_calls,
                              .failed = t->n_failed,
                              .depth = t->depth,
                              .width0 = t->width0,
                              .crossing = t->crossing,
                              .strategy = strategy_name(t->strategy),
                              .executor = t->executor ? t->executor : "vm",
                              .reason = t->reason,
                              .why = t->why,
                              .footprint_ns = t->footprint_ns,
                              .schedule_ns = t->schedule_ns,
                              .run_ns = t->run_ns,
                              .total_ns = t->total_ns};
    if (!over(b)) return;
    info->waited_ns = b->entry.begun_ns - b->entry.arrived_ns;
    info->latency_ns = b->entry.done_ns - b->entry.arrived_ns;
}
