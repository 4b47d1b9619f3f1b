/* bulk.c - bulks of procedure calls from sessions. See bulk.h. */
#include "exec/device/dev.h"
#include "session/pool/bulk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "session/pool/bulk_forms.h"
#include "session/pool/bulk_redo.h"
#include "session/pool/bulk_slices.h"
#include "session/pool/hub.h"
#include "session/pl/pl_run.h"
#include "session/core/constraints.h"
#include "session/core/transaction.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "txn/store/device_copy.h"

enum { FOLLOW_MAX = 4096 /* rows of a change that images are to keep up with */ };
enum { GROUP_BITS = 16 /* all, where nothing was measured */ };
enum { GUESS_MORE = 8, GUESS_MAX = 1 << 20, GUESS_ROWS_MAX = 1 << 22 /* of a bulk */, WASTE_MIN = 1 << 16 };

bool session_bulk_unapplied(const Session *s) {
    BulkHub *h = s->db->bulk_hub;
    return h && atomic_load(&h->state.unapplied);
}

bool session_bulk_uses(const Session *s, const Table *t) {
    BulkHub *h = s->db->bulk_hub;
    return h && h->state.images && images_in_use(h->state.images, t->id);
}

void session_bulk_trim(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    if (!h || bulk_state_trim(s, &h->state) == ST_OK) return;
    log_write(LOG_WARNING, "tables could not be packed: %s", s->err.message);
    err_clear(&s->err);
}
bool session_give_back(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    return bulk_state_give_back(s, h ? &h->state : NULL);
}
bool session_bulk_has_image(const Session *s, const Table *t) {
    BulkHub *h = s->db->bulk_hub;
    return h && h->state.images && images_current(h->state.images, t);
}
int64_t session_bulk_device_bytes(const Session *s, const Table *t, const struct Device **of) {
    BulkHub *h = s->db->bulk_hub;
    const Image *im = h && h->state.images ? images_find(h->state.images, t->id) : NULL;
    *of = NULL;
    return im ? device_copy_bytes(im, of) : 0;
}

void session_bulk_drop(const Session *s, const Table *t) {
    BulkHub *h = s->db->bulk_hub;
    if (!h || !h->state.images) return;
    images_drop(h->state.images, t->id);
    images_drop_kept(h->state.images);
}
Status session_bulk_spare(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    return h && h->state.images ? images_trim(h->state.images, &s->err) : ST_OK;
}

static bool reads_ahead(const Session *s, const PlanCtx *c) {
    if (c->calls_routine || c->reads_system) return true;
    for (int64_t i = 0; i < c->relations.len; i++) {
        const Table *t = catalog_table(&s->db->catalog, slice_of(c->relations.items[i]));
        if (t && images_find(s->db->bulk_hub->state.images, t->id)) return true;
    }
    return false;
}
/* The more bulks are ahead, the more memory bringing tables up to date will take. */
static bool is_short_of_memory(const Session *s) {
    int64_t limit = atomic_load(&s->db->account.limit);
    return limit > 0 && mem_headroom(&s->db->account) < limit / 4;
}
Status session_bulk_sync_for(Session *s, const PlanCtx *c) {
    return session_bulk_unapplied(s) && (reads_ahead(s, c) || is_short_of_memory(s)) ? session_bulk_sync(s) : ST_OK;
}

bool session_bulk_on_device(const Session *s) {
    BulkHub *h = s->db->bulk_hub;
    return session_bulk_unapplied(s) && images_on_device(h->state.images);
}
Status session_bulk_view(Session *s, Table *t, const Table **out, bool *there) {
    BulkHub *h = s->db->bulk_hub;
    mutex_lock(&h->state.views);
    Status st = table_versions_enable(t, s->db->epochs, &s->err);
    if (st == ST_OK) st = images_view(h->state.images, t, out, there, &s->err);
    if (st == ST_OK && *out) device_rows_keep(*out);
    mutex_unlock(&h->state.views);
    return st;
}
BulkRow session_bulk_row(const Session *s, const Table *t) {
    BulkHub *h = s->db->bulk_hub;
    Image *im = session_bulk_unapplied(s) ? images_find(h->state.images, t->id) : NULL;
    if (!im || im->table != t || im->version != t->content) return (BulkRow){.at = NULL};
    return (BulkRow){.at = im, .on_device = images_only_there(im), .views = &h->state.views};
}
Status bulk_row_find(BulkRow *r, int key, const void *const *cells, Arena *a, Err *e) {
    if (!r->on_device) {
        r->row = image_find(r->at, key, cells);
        return ST_OK;
    }
    mutex_lock(r->views);
    Status st = device_rows_find(r->at, key, cells, a, &r->there, e);
    mutex_unlock(r->views);
    r->row = r->there.row;
    return st;
}
Status bulk_row_cell(const BulkRow *r, int col, Arena *a, const void **cell, bool *null, bool *there, Err *e) {
    const ImageColumn *c = &r->at->cols[col];
    *there = c->used;
    if (!c->used) return ST_OK;
    if (r->on_device) {
        mutex_lock(r->views);
        Status st = device_rows_cell(r->at, &r->there, col, a, cell, null, e);
        mutex_unlock(r->views);
        return st;
    }
    *cell = image_cell(c, r->row);
    *null = !image_is_valid(c, r->row);
    return ST_OK;
}
int64_t bulk_row_rowid(const BulkRow *r) {
    bool stored = r->on_device ? r->there.stored : image_is_stored(r->at, r->row);
    return stored ? stored_rowid(r->at, r->row) : -1;
}

Status session_bulk_sync(Session *s) {
    if (!session_bulk_unapplied(s)) return ST_OK;
    BulkHub *h = s->db->bulk_hub;
    UndoLog *log = NULL; /* tells what transactions must know */
    if (transaction_bulk_begin(s) && !(log = undo_new(&s->db->parts[DB_UNDO], &s->err))) return ST_ERROR;
    Status st = bulk_state_sync(&h->state, log, &s->err);
    transaction_bulk_done(s, log, st == ST_OK);
    return st;
}

void session_bulk_follow(Session *s) {
    if (s->lock != LOCK_EXCLUSIVE || !s->undo) return;
    BulkHub *h = s->db->bulk_hub;
    int64_t n;
    NetChange *net;
    if (!h || !h->state.images || atomic_load(&h->state.unapplied)) return;
    int64_t rows = undo_rows(s->undo);
    if (rows == 0 || rows > FOLLOW_MAX) return;
    Arena *a = arena_new(&s->db->account, NULL);
    if (a && undo_net(s->undo, a, &n, &net) == ST_OK) images_follow(h->state.images, n, net);
    arena_free(a);
}

Status session_bulk_routine(Session *s, Slice name, const Routine **out) {
    Arena *a = arena_new(&s->account, &s->err);
    if (!a) return ST_ERROR;
    Status st = sql_named_routine(&s->db->catalog, a, name, out, &s->err);
    if (st == ST_OK && (*out)->returns_set)
        st = err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "function \"%s\" returns a set, and cannot be called in a bulk",
                     (*out)->name);
    else if (st == ST_OK && routine_is_polymorphic(*out))
        st = err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "%s \"%s\" is polymorphic, and cannot be called in a bulk",
                     (*out)->is_procedure ? "procedure" : "function", (*out)->name);
    arena_free(a);
    return st;
}

/* ---- one call at a time ----------------------------------------------------------------------- */
static char *keep_text(Arena *a, const char *t) { return t[0] ? arena_printf(a, "%s", t) : NULL; }

/* From an error's context: where the routine itself was, and those that it called. */
static void keep_place(Arena *a, const char *context, const Routine *r, CallError *e) {
    const char *signature = pl_signature_text(a, r),
               *what = signature ? arena_printf(a, "PL/pgSQL function %s line ", name_of_key(signature)) : NULL;
    const char *at = NULL; /* the outermost one is the call's */
    for (const char *p = what ? strstr(context, what) : NULL; p; p = strstr(p + 1, what)) at = p;
    if (!at) return;
    char *end;
    long line = strtol(at + strlen(what), &end, 10);
    if (strncmp(end, " at ", 4) != 0) return;
    e->line = (int32_t)line;
    e->place = arena_printf(a, "%.*s", (int)strcspn(end + 4, "\n"), end + 4);
    if (at > context) e->context = arena_printf(a, "%.*s", (int)(at - 1 - context), context);
}

int bulk_out_count(const Routine *r) {
    int n = 0;
    for (int i = 0; i < r->n_params; i++) n += r->param_modes[i] != 'i';
    return n == 0 && r->ret.id != T_VOID ? 1 : n;
}
Status bulk_out_columns(Arena *a, const Routine *r, int64_t n, Vec **out) {
    int n_outs = bulk_out_count(r), k = 0;
    Vec *v = arena_array(a, Vec, n_outs + 1);
    if (!v) return ST_ERROR;
    for (int i = 0; i < MAX_OF(r->n_params, 1) && k < n_outs; i++) {
        bool param = i < r->n_params && r->param_modes[i] != 'i';
        if (!param && i < r->n_params - 1) continue;
        Type t = param ? r->param_types[i] : r->ret;
        Phys ph = type_phys(t);
        v[k] = (Vec){.phys = (uint8_t)ph,
                     .type = t,
                     .data = arena_calloc(a, (n + 1) * phys_size(ph)),
                     .valid = arena_calloc(a, n + 1)};
        if (!v[k].data || !v[k].valid) return ST_ERROR;
        k++;
    }
    *out = v;
    return ST_OK;
}

/* What calls have to say is kept, as from bulks. */
typedef struct SerialNotices {
    Arena *arena;
    int32_t group;
    int64_t call;
    bool failed;
    VEC(CallNotice) all;
} SerialNotices;
static void keep_notice(void *ctx, const SessionNotice *x) {
    SerialNotices *k = ctx;
    CallNotice n = {.group = k->group,
                    .call = k->call,
                    .seq = k->all.len,
                    .severity = arena_strdup(k->arena, x->severity),
                    .context = arena_strdup(k->arena, x->context),
                    .detail = keep_text(k->arena, x->detail),
                    .hint = keep_text(k->arena, x->hint),
                    .message = arena_strdup(k->arena, x->message)};
    snprintf(n.sqlstate, sizeof n.sqlstate, "%s", x->sqlstate);
    k->failed |= !n.severity || !n.context || !n.message || !vec_push(k->arena, &k->all, n);
}

/* Arguments of parameters of domains are ones of these. */
static Status check_domains(Session *s, const Routine *r, const Value *args) {
    for (int k = 0, n = 0; r->param_domains && k < r->n_params; k++) {
        if (r->param_modes[k] != 'i' && r->param_modes[k] != 'b') continue;
        if (r->param_domains[k]) TRY(pl_check_domain(s, r->param_domains[k], &args[n], &s->err));
        n++;
    }
    return ST_OK;
}
/* Exact numbers as their parameters have them. */
static Status declared_args(Session *s, Arena *a, const Routine *r, Value *args) {
    for (int k = 0, n = 0; k < r->n_params; k++)
        if (r->param_modes[k] == 'i' || r->param_modes[k] == 'b')
            TRY(bulk_value_as(a, r->param_types[k], &args[n++], &s->err));
    return ST_OK;
}
/* Call i of a group by the reference; what it did before it failed is undone. */
static Status serial_call(Session *s, BulkResult *b, int32_t group, const BulkCalls *p, int64_t i, Value *args) {
    const Routine *r = p->routine;
    int n_ins = 0, n_outs = bulk_out_count(r);
    for (int k = 0; k < r->n_params; k++) {
        if (r->param_modes[k] != 'i' && r->param_modes[k] != 'b') continue;
        const Vec *v = &p->params[n_ins];
        args[n_ins] = (Value){.type = v->type, .is_null = v->valid && !v->valid[i]};
        int64_t size = phys_size((Phys)v->phys);
        if (!args[n_ins].is_null) memcpy(value_cell(&args[n_ins]), (const char *)v->data + i * size, (size_t)size);
        n_ins++;
    }
    Arena *a = arena_new(&s->db->parts[DB_CALLS], &s->err);
    if (!a) return ST_ERROR;
    Value *vals = NULL;
    int32_t n_vals = 0;
    int64_t mark = undo_mark(s->undo);
    CatalogUndo *before = s->catalog_undo;
    Status st = declared_args(s, a, r, args);
    if (st == ST_OK) st = check_domains(s, r, args);
    if (st == ST_OK) st = pl_call_once(s, r, n_ins, args, a, &n_vals, &vals);
    bool fatal = st != ST_OK &&
                 (strcmp(s->err.sqlstate, ERR_QUERY_CANCELED) == 0 || strcmp(s->err.sqlstate, ERR_OUT_OF_MEMORY) == 0);
    if (st == ST_OK) {
        for (int k = 0; st == ST_OK && k < n_vals && k < n_outs; k++) {
            Vec *v = &b->outs[group][k];
            Value kept;
            v->valid[i] = !vals[k].is_null;
            if (vals[k].is_null) continue;
            if (value_copy(b->arena, &vals[k], &kept) != ST_OK) st = err_oom(&s->err);
            else
                memcpy((char *)v->data + i * phys_size((Phys)v->phys), value_cell(&kept),
                       (size_t)phys_size((Phys)v->phys));
        }
    } else if (!fatal) {
        undo_rollback(s->undo, mark);
        catalog_undo_to(s, before);
        CallError *e = arena_new_of(b->arena, CallError);
        if (e && !call_error_of(b->arena, &s->err, e)) e = NULL;
        if (e) keep_place(b->arena, s->err.context, r, e);
        b->errors[group][i] = e;
        b->stats.n_failed++;
        err_clear(&s->err);
        st = e ? ST_OK : err_oom(&s->err);
    }
    arena_free(a);
    return st;
}

/* The routine has a name that means a temporary table of the session: code of bulks, which is all sessions', has none
 * of those. What looks like one of its names counts, too. */
static const char *const temporary_reason = "it names a temporary table of this session";
static bool names_in(const Session *s, const NameDeps *d, const char *name) {
    const Catalog *c = &s->db->catalog;
    char key[1024];
    bool has = name_deps_may_have(d, slice_of(name));
    for (int64_t i = -1; i < c->n_schemas && !has; i++) {
        const char *schema = i < 0 ? SCHEMA_TEMP : c->schemas[i]->name;
        const int n = snprintf(key, sizeof key, "%c%s%c%s", KEY_MARK, schema, KEY_MARK, name);
        has = name_deps_may_have(d, (Slice){key, MIN_OF(n, (int)sizeof key - 1)});
    }
    return has;
}
bool session_bulk_names_temporary(const Session *s, int64_t routine) {
    const Catalog *c = &s->db->catalog;
    const HubProc *p = s->path.temp.made && s->db->bulk_hub ? hub_proc(s->db->bulk_hub, routine) : NULL;
    bool has = false;
    for (int64_t i = 0; p && i < c->n_tables && !has; i++)
        has =
            key_is_in(c->tables[i]->name, s->path.temp.name) && names_in(s, &p->deps, name_of_key(c->tables[i]->name));
    for (int64_t i = 0; p && i < c->n_views && !has; i++)
        has = key_is_in(c->views[i]->name, s->path.temp.name) && names_in(s, &p->deps, name_of_key(c->views[i]->name));
    return has;
}

static Status run_serial(Session *s, int32_t n_groups, const BulkCalls *groups, const char *reason, BulkResult **out) {
    int64_t started = clock_ns(), n = 0;
    Arena *a = arena_new(&s->db->parts[DB_CALLS], &s->err);
    BulkResult *b = a ? arena_new_of(a, BulkResult) : NULL;
    int64_t *at = a ? arena_calloc(a, n_groups * (int64_t)sizeof *at + 8) : NULL;
    Value *args = a ? arena_array(a, Value, PL_MAX_PARAMS + 1) : NULL;
    for (int32_t k = 0; k < n_groups; k++) n += groups[k].n;
    Status st = b && at && args ? ST_OK : err_oom(&s->err);
    if (st == ST_OK) {
        *b = (BulkResult){
            .n_calls = n,
            .arena = a,
            .stats = {.n_calls = n, .strategy = STRATEGY_SERIAL, .executor = "one at a time", .reason = reason}};
        b->outs = arena_array(a, Vec *, n_groups + 1);
        b->errors = arena_array(a, CallError **, n_groups + 1);
        if (!b->outs || !b->errors) st = err_oom(&s->err);
    }
    for (int32_t k = 0; st == ST_OK && k < n_groups; k++)
        if (!(b->errors[k] = arena_calloc(a, (groups[k].n + 1) * (int64_t)sizeof(CallError *))) ||
            bulk_out_columns(a, groups[k].routine, groups[k].n, &b->outs[k]) != ST_OK)
            st = err_oom(&s->err);
    SerialNotices notices = {.arena = a};
    void (*notice)(void *, const SessionNotice *) = s->client.notice;
    void *notice_ctx = s->client.notice_ctx;
    s->client.notice = keep_notice;
    s->client.notice_ctx = &notices;
    for (int64_t c = 0; st == ST_OK && c < n; c++)
        for (int32_t k = 0; k < n_groups; k++) {
            if (at[k] >= groups[k].n || (groups[k].calls && groups[k].calls[at[k]] != c)) continue;
            notices.group = k;
            notices.call = at[k];
            st = serial_call(s, b, k, &groups[k], at[k]++, args);
            break;
        }
    s->client.notice = notice;
    s->client.notice_ctx = notice_ctx;
    if (st == ST_OK && notices.failed) st = err_oom(&s->err);
    bulk_sort_notices(notices.all.len, notices.all.items);
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    b->n_notices = notices.all.len;
    b->notices = notices.all.items;
    b->stats.run_ns = b->stats.total_ns = clock_ns() - started;
    *out = b;
    return ST_OK;
}

/* ---- a bulk ------------------------------------------------------------------------------------- */
Status session_begin_bulk(Session *s) {
    s->bulk.under_way = true;
    Status st = session_begin_write(s);
    s->bulk.under_way = false;
    return st;
}

/* For a transaction: the table as a whole. */
static Status bulk_reads(Session *s, int64_t table) {
    for (int64_t i = 0; i < s->db->catalog.n_tables; i++)
        if (s->db->catalog.tables[i]->id == table) return transaction_reads_table(s, s->db->catalog.tables[i]);
    return ST_OK;
}

static int32_t lanes_of(int64_t n) { /* a power of two */
    while (n & (n - 1)) n &= n - 1;
    return (int32_t)n;
}
/* What the settings leave to measurements. Under the lock held alone. */
static int32_t group_bits_of(double groups) {
    int32_t bits = 0;
    while (bits < GROUP_BITS && groups >= (double)(INT64_C(2) << bits)) bits++;
    return groups > 0 ? bits : GROUP_BITS;
}
static void use_measured(Session *s, BulkHub *h, BulkOptions *opt) {
    if (!h->vm_known) h->vm = session_bulk_measured(s, NULL);
    h->vm_known = true;
    opt->set_min_vm = (int64_t)h->vm.set_min;
    opt->group_bits = (int32_t)s->settings.bulk.group_bits;
    if (!opt->compiled || !opt->query->device.runtime) return;
    BulkMeasured m = session_bulk_measured(s, opt->query->device.runtime);
    opt->set_min_device = (int64_t)m.set_min;
    if (opt->group_bits < 0) opt->group_bits = group_bits_of(m.groups);
}

/* ---- calls that find out how many rows they insert ----
 * Rows are numbered by call before anything runs, so there is room for a guess. When it was too little the images are
 * thrown away, the tables being what they were before the bulk, and the bulk runs again with more; too many rows for
 * that, and the calls run one at a time. */
static const char *const guess_reason = "only running it tells how many rows a call inserts";

/* The tables are what a bulk goes back to; images that are mostly room for rows that never came are made anew. */
static Status before_guesses(Session *s, BulkHub *h, int32_t n, const Proc *const *procs) {
    TRY(session_bulk_sync(s));
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < procs[k]->n_tables; i++) {
            const ProcTable *t = &procs[k]->tables[i];
            Image *im = t->guessed ? images_find(h->state.images, t->table_id) : NULL;
            if (im && atomic_load(&im->rows) > 2 * im->table->live_rows + WASTE_MIN)
                images_forget(h->state.images, t->table_id);
        }
    return ST_OK;
}
/* False: there is no sense in a further try. */
static bool guess_more(BulkHub *h, int32_t n, const BulkCalls *calls, CallGroup *p) {
    bool more = true;
    for (int32_t k = 0; k < n; k++) {
        for (int32_t i = 0; i < p[k].proc->n_tables; i++) images_forget(h->state.images, p[k].proc->tables[i].table_id);
        if (!hub_guesses_rows(p[k].proc)) continue;
        int64_t *guess = &hub_proc(h, calls[k].routine->id)->guess;
        if (p[k].guess * GUESS_MORE <= GUESS_MAX && p[k].guess * GUESS_MORE * p[k].n <= GUESS_ROWS_MAX)
            p[k].guess = *guess = MAX_OF(*guess, p[k].guess * GUESS_MORE);
        else more = false;
    }
    return more;
}
/* Runs the bulk; *alone: its calls are to be run one at a time. */
static Status run_guessing(Session *s, BulkHub *h, int32_t n, const BulkCalls *calls, CallGroup *p,
                           const Proc *const *procs, BulkOptions *opt, bool *alone, int64_t *retries,
                           BulkResult **out) {
    *alone = false;
    TRY(before_guesses(s, h, n, procs));
    if (opt->compiled && opt->query->device.strict)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "the bulk cannot run compiled: %s", guess_reason);
    bool compiled = opt->compiled;
    opt->compiled = false;
    for (int32_t k = 0; k < n; k++)
        p[k].guess = MIN_OF(hub_proc(h, calls[k].routine->id)->guess,
                            MAX_OF(GUESS_ROWS_MAX / MAX_OF(p[k].n, INT64_C(1)), INT64_C(1)));
    for (;;) {
        TRY(images_get(h->state.images, &s->db->catalog, n, procs, s->db->pool, &s->err));
        TRY(images_leave(h->state.images, n, procs, &s->err)); /* there is a way back */
        TRY(bulk_run(h->state.images, n, p, opt, out, &s->err));
        if (!(*out)->stats.short_of_rows) break;
        bulk_result_free(*out);
        *out = NULL;
        ++*retries;
        if (!guess_more(h, n, calls, p)) return *alone = true, ST_OK;
    }
    if (compiled && !(*out)->stats.reason) (*out)->stats.reason = guess_reason;
    return ST_OK;
}

static const char *const unfit_reason =
    "an argument of numeric has more than 22 digits before the point or 16 behind it, or is NaN or infinite";

/* ---- a bulk --------------------------------------------------------------------------------------------- */
/* The next bulk's calls as groups. */
typedef struct NextGroups {
    BulkHub *h;
    CallPipeline *pipeline;
    Arena *arena;
} NextGroups;
static void groups_sent(void *ctx) {
    NextGroups *x = ctx;
    if (x->pipeline->sent) x->pipeline->sent(x->pipeline->ctx);
}
static bool make_groups(NextGroups *x, int32_t n, const BulkCalls *calls, const CallGroup **groups) {
    Err e = {0};
    x->arena = arena_new(&x->h->db->parts[DB_CALLS], &e);
    CallGroup *p = x->arena ? arena_array(x->arena, CallGroup, n + 1) : NULL;
    for (int32_t k = 0; p && k < n; k++) {
        const Proc *proc = hub_code(x->h, calls[k].routine);
        if (!proc || proc->reason || hub_guesses_rows(proc)) return false;
        p[k] = (CallGroup){.proc = proc, .n = calls[k].n, .params = calls[k].params, .calls = calls[k].calls};
        bool fit;
        if (bulk_form_params(x->arena, &p[k], &fit, &e) != ST_OK || !fit) return false;
    }
    *groups = p;
    return p != NULL;
}
static bool next_groups(void *ctx, int32_t *n_groups, const CallGroup **groups) {
    NextGroups *x = ctx;
    const BulkCalls *calls;
    if (!x->pipeline->next(x->pipeline->ctx, n_groups, &calls)) return false;
    if (make_groups(x, *n_groups, calls, groups)) return true;
    groups_sent(x);
    return false;
}

static Status bulk_options(Session *s, BulkHub *h, const BulkStop *stop, QueryOptions *q, BulkOptions *opt) {
    const Settings *set = &s->settings;
    *q = (QueryOptions){.pool = s->db->pool,
                        .threads = (int)set->exec.threads,
                        .vector_size = set->exec.vector_size,
                        .account = &s->db->parts[DB_CALLS],
                        .session = &s->info,
                        .vfs = s->db->vfs};
    if (!stop) q->cancel = &s->cancel, q->deadline_ns = s->deadline_ns;
    Strategy strategy = STRATEGY_AUTO;
    (void)strategy_from_name(slice_of(set->bulk.strategy), &strategy); /* settings know the names */
    *opt = (BulkOptions){.query = q,
                         .strategy = strategy,
                         .any_order = strcmp(set->bulk.order, "any") == 0,
                         .partitions = set->bulk.partitions,
                         .set_min = set->bulk.set_min,
                         .figures = set->bulk.figures,
                         .release = strcmp(set->bulk.release, "statement") == 0 ? RELEASE_STATEMENT
                                    : strcmp(set->bulk.release, "call") == 0    ? RELEASE_CALL
                                                                                : RELEASE_AUTO,
                         .lanes = lanes_of(set->bulk.lanes),
                         .copies = set->bulk.copies,
                         .step_limit = set->bulk.step_limit,
                         .stop = stop};
    if (strcmp(set->exec.executor, "compiled") == 0) {
        TRY(session_device_use(s, NULL, &q->device));
        opt->compiled = true;
    }
    use_measured(s, h, opt);
    return ST_OK;
}

static bool has_handlers(const Proc *p) {
    int32_t i = 0;
    while (i < p->body->n_instrs && p->body->instrs[i].op != OP_P_TRY) i++;
    return i < p->body->n_instrs;
}
/* How the bulk is logged; names: room for its procedures. */
static void choose_log(Session *s, BulkHub *h, int32_t n, const BulkCalls *calls, bool guesses, const BulkOptions *opt,
                       ReplayProc *names, BulkLogged *out) {
    *out = (BulkLogged){.by_cells = guesses ? guess_reason : bulk_redo_reason(s, opt), .names = names};
    for (int32_t k = 0; k < n; k++) {
        const HubProc *p = hub_proc(h, calls[k].routine->id);
        names[k] = (ReplayProc){.id = p->id, .digest = p->digest};
        if (out->by_cells || !p->proc->writes) continue;
        out->by_cells = p->id > 0 ? p->by_cells : "it has statements";
        if (opt->step_limit > 0 && has_handlers(p->proc))
            out->by_cells = "handlers may see that bulk_step_limit is reached";
    }
}

static Status run_groups(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                         BulkResult **out) {
    Status st;
    if (pipeline) pipeline->next_ticket = 0;
    TRY(session_begin_bulk(s));
    BulkHub *h = s->db->bulk_hub;
    if (!hub_is_current(h) || s->state == 'T') TRY(session_bulk_sync(s));
    TRY(hub_get(s, &h));
    TRY(bulk_state_trim(s, &h->state));
    enum { FEW = 16 };
    CallGroup few[FEW], *p = few;
    const Proc *few_procs[FEW], **procs = few_procs;
    ReplayProc few_names[FEW], *names = few_names;
    BulkLogged logged = {.begun = false};
    Arena *a = NULL;
    if (n_groups > FEW) {
        if (!(a = arena_new(&s->db->parts[DB_CALLS], &s->err))) return ST_ERROR;
        p = arena_array(a, CallGroup, n_groups);
        procs = arena_array(a, const Proc *, n_groups);
        names = arena_array(a, ReplayProc, n_groups);
        if (!p || !procs || !names) return arena_free(a), err_oom(&s->err);
    }
    bool writes = false, guesses = false, alone = false, fit = true;
    int64_t retries = 0;
    const char *reason = constraints_deferred(s) ? "the transaction defers constraints" : NULL;
    for (int32_t k = 0; k < n_groups && !reason; k++) {
        procs[k] = hub_code(h, groups[k].routine);
        reason = session_bulk_names_temporary(s, groups[k].routine->id) ? temporary_reason
                 : procs[k]                                             ? procs[k]->reason
                                                                        : "it cannot be read";
        if (reason) break;
        writes |= procs[k]->writes;
        guesses |= hub_guesses_rows(procs[k]);
        p[k] = (CallGroup){.proc = procs[k], .n = groups[k].n, .params = groups[k].params, .calls = groups[k].calls};
        if (bulk_params_formed(&p[k])) continue;
        if (!a && !(a = arena_new(&s->db->parts[DB_CALLS], &s->err))) return ST_ERROR;
        if (bulk_form_params(a, &p[k], &fit, &s->err) != ST_OK) return arena_free(a), ST_ERROR;
        if (!fit) reason = unfit_reason;
    }
    for (int32_t k = 1; k < n_groups; k++)
        if (session_bulk_apart(s->db, groups[k].routine->id) != session_bulk_apart(s->db, groups[0].routine->id))
            return arena_free(a), err_internal(&s->err, "a statement that is alone in its bulks is in one with others");
    if (reason) {
        st = session_bulk_sync(s);
        if (st == ST_OK) st = run_serial(s, n_groups, groups, reason, out);
        arena_free(a);
        return st;
    }
    QueryOptions q;
    BulkOptions opt;
    st = bulk_options(s, h, pipeline ? pipeline->stop : NULL, &q, &opt);
    opt.apart = pipeline && pipeline->apart;
    if (st == ST_OK && s->db->redo) choose_log(s, h, n_groups, groups, guesses, &opt, names, &logged);
    for (int32_t k = 0; st == ST_OK && s->txn && k < n_groups; k++)
        for (int32_t i = 0; st == ST_OK && i < procs[k]->n_tables; i++)
            st = bulk_reads(s, procs[k]->tables[i].table_id);
    if (st == ST_OK && guesses) st = run_guessing(s, h, n_groups, groups, p, procs, &opt, &alone, &retries, out);
    if (st == ST_OK && alone) st = run_serial(s, n_groups, groups, guess_reason, out);
    NextGroups next = {.h = h, .pipeline = pipeline};
    BulkPipeline stage = {.next = pipeline && pipeline->next ? next_groups : NULL,
                          .sent = groups_sent,
                          .ctx = &next,
                          .ticket = pipeline ? pipeline->ticket : 0};
    if (pipeline) opt.pipeline = &stage;
    if (st == ST_OK && !guesses) st = bulk_state_run(s, &h->state, n_groups, p, procs, &opt, &logged, out);
    if (pipeline) pipeline->next_ticket = stage.next_ticket;
    arena_free(next.arena);
    arena_free(a);
    if (st == ST_OK) {
        (*out)->stats.n_retries = retries;
        (*out)->stats.any_order = opt.any_order && !alone;
        (*out)->stats.log = !writes || !s->db->redo ? NULL : logged.begun ? "inputs" : "cells";
        (*out)->stats.log_why = alone ? guess_reason : logged.by_cells;
    }
    if (alone) return st;
    if (st != ST_OK || !writes) return st;
    if (guesses) {
        s->db->dirty = true;
        atomic_store(&h->state.unapplied, true);
        if (s->bulk.undo == BULK_UNDO_IMAGES) h->state.undo.back = BACK_TABLES;
    }
    /* its ROLLBACK undoes the tables; or its commit is logged by what has changed there */
    if (s->state == 'T' || logged.by_cells) st = session_bulk_to_tables(s);
    if (st != ST_OK) {
        bulk_result_free(*out);
        *out = NULL;
        session_bulk_forget(s);
    }
    return st;
}

bool bulk_is_remote(Session *s) {
    DeviceUse d = {0};
    if (strcmp(s->settings.exec.executor, "compiled") != 0) return false;
    if (session_device_use(s, NULL, &d) == ST_OK)
        return d.runtime && !dev_runtime_device(d.runtime)->info.shares_memory;
    err_clear(&s->err); /* the bulk will say so */
    return false;
}
double bulk_call_ns(double before, const BulkStats *x) {
    const int64_t ns = x->total_ns - x->phase_ns[BP_PREPARE] - x->phase_ns[BP_PLACE];
    const double now = x->n_calls > 0 ? MAX_OF((double)ns, 0.0) / (double)x->n_calls : 0;
    return before > 0 ? MIN_OF(now, before * 1.25) : now;
}
static void note_call_ns(BulkHub *h, int32_t n_groups, const BulkCalls *groups, const BulkStats *x) {
    const double call_ns = bulk_call_ns(0, x);
    for (int32_t k = 0; x->n_calls >= bulk_slice_min(call_ns) && k < n_groups; k++) {
        HubProc *p = hub_proc(h, groups[k].routine->id);
        if (p) p->call_ns = bulk_call_ns(p->call_ns, x);
    }
}
double bulk_expected_ns(const Session *s, int32_t n_groups, const BulkCalls *groups) {
    BulkHub *h = s->db->bulk_hub;
    double sum = 0;
    for (int32_t k = 0; k < n_groups; k++) {
        const HubProc *p = hub_is_current(h) ? hub_proc(h, groups[k].routine->id) : NULL;
        if (!p || p->call_ns <= 0) return 0;
        sum += p->call_ns * (double)groups[k].n;
    }
    return sum;
}
Status bulk_run_slice(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline, BulkResult **out) {
    TRY(run_groups(s, n_groups, groups, pipeline, out));
    note_call_ns(s->db->bulk_hub, n_groups, groups, &(*out)->stats);
    return ST_OK;
}
void bulk_note(const Session *s, const BulkStats *stats, const char *why_cut) {
    BulkHub *h = s->db->bulk_hub;
    bulk_log_add(&h->log, stats, why_cut, NULL);
}
void bulk_note_failure(const Session *s, int32_t n_groups, const BulkCalls *groups, int64_t started,
                       const char *why_cut) {
    BulkHub *h = s->lock == LOCK_EXCLUSIVE ? s->db->bulk_hub : NULL; /* NULL: it failed before it began */
    BulkStats none = {.reason = s->err.message, .total_ns = clock_ns() - started};
    for (int32_t k = 0; k < n_groups; k++) none.n_calls += groups[k].n;
    if (h) bulk_log_add(&h->log, &none, why_cut, s->err.sqlstate);
}
Status session_bulk_run(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                        BulkResult **out) {
    const int64_t started = clock_ns();
    const char *why_cut = pipeline ? pipeline->why_cut : "statement";
    Status st = bulk_run_slice(s, n_groups, groups, pipeline, out);
    if (st == ST_OK) bulk_note(s, &(*out)->stats, why_cut);
    else bulk_note_failure(s, n_groups, groups, started, why_cut);
    return st;
}
int64_t session_bulks_list(const Session *s, BulkLogEntry *out, int64_t most) {
    BulkHub *h = s->db->bulk_hub;
    return h ? bulk_log_list(&h->log, out, most) : 0;
}

/* ---- what calls are going to do ---- */
/* What footprints are made from changes with definitions, and with rows that others than bulks change. Bringing a table
 * up to date counts as well: that is nothing but time. */
uint64_t session_bulk_state(const Session *s) {
    const Catalog *c = &s->db->catalog;
    uint64_t state = hash_combine(hash_u64((uint64_t)catalog_definitions(c)), session_bulk_generation(s));
    for (int64_t i = 0; i < c->n_tables; i++)
        state = hash_combine(hash_combine(state, (uint64_t)c->tables[i]->id), (uint64_t)c->tables[i]->content);
    return state;
}
Status session_bulk_ready(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    TRY(session_begin_bulk(s));
    if (!hub_is_current(h)) TRY(session_bulk_sync(s));
    return hub_get(s, &h);
}
Status session_bulk_plan(Session *s, uint64_t *state) {
    TRY(session_bulk_ready(s));
    *state = session_bulk_state(s);
    return ST_OK;
}
static bool reads_time(const CallSite *x) {
    if (x->func) return x->func->flags & (FN_STABLE | FN_VOLATILE);
    bool text = false; /* words such as 'today' */
    for (int32_t i = 0; i < x->n_args; i++) text |= type_phys(x->arg_types[i]) == PH_STR;
    if (x->ret.id == T_TIMETZ) return true; /* the zone's offset of today */
    return text && (x->ret.id == T_DATE || x->ret.id == T_TIME || x->ret.id == T_TIMESTAMP ||
                    x->ret.id == T_TIMESTAMPTZ || x->ret.id == T_ARRAY);
}
bool session_bulk_bounded(const Session *s, int64_t routine) {
    BulkHub *h = s->db->bulk_hub;
    const HubProc *x = hub_is_current(h) && !session_bulk_apart(s->db, routine) ? hub_proc(h, routine) : NULL;
    const Proc *p = x ? x->proc : NULL;
    if (!p || p->reason || hub_guesses_rows(p)) return false;
    for (int32_t i = 0; i < p->footprint->n_instrs; i++)
        if (p->footprint->instrs[i].op == OP_CALL && reads_time(p->footprint->instrs[i].aux)) return false;
    return true;
}
Status session_bulk_ops(Session *s, int32_t n_groups, const BulkCalls *groups, const BulkStop *stop, Arena *a,
                        BulkOps *out) {
    BulkHub *h = s->db->bulk_hub;
    const Proc **procs = arena_array(a, const Proc *, n_groups + 1);
    CallGroup *p = arena_array(a, CallGroup, n_groups + 1);
    if (!procs || !p) return err_oom(&s->err);
    for (int32_t k = 0; k < n_groups; k++) {
        procs[k] = hub_code(h, groups[k].routine);
        if (!procs[k] || procs[k]->reason)
            return err_internal(&s->err, "%s: its operations are not known before it runs", groups[k].routine->name);
        p[k] = (CallGroup){.proc = procs[k], .n = groups[k].n, .params = groups[k].params, .calls = groups[k].calls};
        bool fit;
        TRY(bulk_form_params(a, &p[k], &fit, &s->err));
        if (!fit) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "%s", unfit_reason);
    }
    QueryOptions q;
    BulkOptions opt;
    TRY(bulk_options(s, h, stop, &q, &opt));
    return bulk_state_footprints(s, &h->state, n_groups, p, procs, &opt, a, out);
}

Status session_bulk_to_tables(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    if (!session_bulk_unapplied(s)) return ST_OK;
    h->state.quiet = true;
    const Status st = bulk_state_sync(&h->state, s->undo, &s->err);
    h->state.quiet = false;
    return st;
}

/* ---- the bulk of a statement that goes on behind it ---- */
Status session_bulk_from(Session *s, PlanCtx *c) {
    c->bulk_stays = s->state == 'I' && !s->db->redo && c->n_bulks == 1 && !c->calls_routine && !c->reads_system;
    return c->bulk_stays ? session_bulk_sync_for(s, c) : session_bulk_sync(s);
}
bool session_bulk_is_read(const Session *s, const PlanCtx *c, const Routine *r) {
    BulkHub *h = s->db->bulk_hub;
    const Proc *p = hub_is_current(h) ? hub_code(h, r) : NULL;
    if (c->relations.len > 0 && !p) return true; /* what it will use is not known yet */
    for (int64_t i = 0; i < c->relations.len; i++) {
        const Table *t = catalog_table(&s->db->catalog, slice_of(c->relations.items[i]));
        for (int32_t k = 0; t && k < p->n_tables; k++)
            if (p->tables[k].table_id == t->id) return true;
    }
    return false;
}
static BulkState *undoable(const Session *s) {
    BulkHub *h = s->lock == LOCK_EXCLUSIVE ? s->db->bulk_hub : NULL;
    return h && h->state.undo.back != BACK_NONE ? &h->state : NULL;
}
void session_bulk_stands(Session *s) {
    BulkState *x = undoable(s);
    if (x) bulk_state_stands(s, x);
}
void session_bulk_go_back(Session *s) {
    BulkState *x = undoable(s);
    Err why;
    if (!x) return;
    err_copy(&why, &s->err);
    err_clear(&s->err);
    if (bulk_state_go_back(x, &s->err) == ST_OK) err_copy(&s->err, &why); /* else what is lost matters more */
}

void session_bulk_forget(Session *s) {
    BulkHub *h = s->db->bulk_hub;
    if (!session_bulk_unapplied(s)) return;
    bulk_state_clear(&h->state);
    atomic_store(&h->state.unapplied, false);
}

/* ---- the pool of calls (callpool.h) -------------------------------------------------------------------- */
CallPool *session_call_pool(const Session *s) {
    BulkHub *h = s->db->bulk_hub;
    return h ? h->pool : NULL;
}
Status session_call_pool_make(Session *s, CallPool **out) {
    if ((*out = session_call_pool(s))) return ST_OK;
    BulkHub *h;
    bool held = s->lock != LOCK_NONE;
    TRY(session_begin_bulk(s));
    Status st = hub_make(s, &h);
    if (st == ST_OK && !h->pool) h->pool = call_pool_new(s->db, &s->err);
    if (st == ST_OK && !(*out = h->pool)) st = stack_failed(&s->err);
    return held ? st : session_end_statement(s, st);
}
bool session_bulk_known(const Session *s, int64_t routine, bool *yes) {
    BulkHub *h = s->db->bulk_hub;
    *yes = false;
    if (!hub_is_current(h)) return false;
    const HubProc *p = hub_proc(h, routine);
    if (p) name_deps_read(&p->deps);
    if (p) *yes = !p->proc->reason;
    return true;
}
uint64_t session_bulk_generation(const Session *s) {
    const BulkHub *h = s->db->bulk_hub;
    return h ? atomic_load(&h->generation) : 0;
}
void session_bulk_made(const Session *s, int64_t *compiled, int64_t *images) {
    const BulkHub *h = s->db->bulk_hub;
    *compiled = h ? h->n_compiled : 0;
    *images = h && h->state.images ? images_made(h->state.images) : 0;
}
void session_bulk_forget_table(const Session *s, int64_t table_id) {
    BulkHub *h = s->db->bulk_hub;
    if (h && h->state.images) images_forget(h->state.images, table_id);
}
Status session_bulk_compilable(Session *s, int64_t routine, bool *yes) {
    CallPool *pool;
    TRY(session_call_pool_make(s, &pool));
    BulkHub *h = s->db->bulk_hub;
    if (!hub_is_current(h)) TRY(session_bulk_sync(s));
    TRY(hub_get(s, &h));
    (void)session_bulk_known(s, routine, yes);
    return ST_OK;
}
Status session_pool_lock(Session *s, int64_t timeout_ms, _Atomic bool *cancel, Err *e) {
    TRY(txn_lock_acquire(s->db->txn_lock, s->lock, LOCK_EXCLUSIVE, timeout_ms, cancel, e));
    s->lock = LOCK_EXCLUSIVE;
    bool again;
    return transaction_enter(s, false, &again); /* nothing of open transactions stays in the tables */
}

void session_bulk_notices(Session *s, const BulkResult *b, int32_t group, int64_t first, int64_t n) {
    int64_t lo = 0, hi = b->n_notices;
    while (lo < hi) { /* the first one that is not before them */
        int64_t mid = lo + (hi - lo) / 2;
        const CallNotice *x = &b->notices[mid];
        if (x->group < group || (x->group == group && x->call < first)) lo = mid + 1;
        else hi = mid;
    }
    for (const CallNotice *x = b->notices + lo; lo < b->n_notices && x->group == group && x->call < first + n;
         lo++, x++)
        session_notice(s, &(SessionNotice){x->severity, x->sqlstate, x->message, x->detail ? x->detail : "",
                                           x->hint ? x->hint : "", x->context});
}

/* ---- EXPLAIN --------------------------------------------------------------------------------------------- */
static Status explain_line(Statement *st, const char *line) {
    const char *cell[1] = {line};
    return line ? statement_text_row(st, cell) : ST_ERROR;
}
static Status explain_lines(Statement *st, char *text) {
    for (char *at = text; at && *at;) {
        char *end = strchr(at, '\n');
        if (end) *end = 0;
        TRY(explain_line(st, arena_printf(st->run_arena, "    %s", at)));
        at = end ? end + 1 : NULL;
    }
    return text ? ST_OK : ST_ERROR;
}

static const Table *table_of(const Session *s, int64_t id) {
    for (int64_t t = 0; t < s->db->catalog.n_tables; t++)
        if (s->db->catalog.tables[t]->id == id) return s->db->catalog.tables[t];
    return NULL;
}
static const char *table_name(const Session *s, int64_t id) {
    const Table *t = table_of(s, id);
    return t ? t->name : "?";
}
/* "insert and delete" */
static const char *words_of(Arena *a, const ItemSite *x) {
    static const char *const kinds[] = {"read", "add", "write"}, *const words[] = {"write", "take", "insert", "delete"};
    const char *t = NULL;
    if ((x->kind == OPK_READ && !x->deletes) || !(x->does & ~DOES_ROWS)) return kinds[x->kind];
    for (int i = 0; i < (int)ARRAY_LEN(words); i++)
        if (x->does >> i & 1 && !(t = arena_printf(a, "%s%s%s", t ? t : "", t ? " and " : "", words[i]))) return NULL;
    return t;
}
/* "rows of t by t_key": what an operation is on; the main one of several keys goes without saying. */
static const char *subject_of(const Session *s, Arena *a, const ItemSite *x, int64_t table_id) {
    const Table *t = table_of(s, table_id);
    const char *name = t ? t->name : "?";
    const bool coarse = item_is_coarse(x->group);
    const uint32_t group = coarse ? (x->group - ITEM_COARSE) / 2 : x->group,
                   key = coarse ? group - ITEM_GROUPS_MAX : group - ITEM_KEY;
    if (!(x->does & DOES_ROWS)) return arena_printf(a, "column group %d of %s", (int)group, name);
    if (x->group == ITEM_ROWS || !t || t->n_keys <= 1) return arena_printf(a, "rows of %s", name);
    return arena_printf(a, "rows of %s by %s", name, t->keys[key].name);
}
/* What the footprint's operations are, table by table. */
static Status explain_items(Session *s, Statement *st, const Proc *p) {
    Arena *a = st->run_arena;
    const char *last = "";
    for (int32_t i = 0; i < p->footprint->n_instrs; i++) {
        const Instr *in = &p->footprint->instrs[i];
        if (in->op != OP_ITEM) continue;
        const ItemSite *x = in->aux;
        if (x->kind > OPK_WRITE || (x->covered && x->inexact)) continue;
        if (item_is_coarse(x->group) && x->kind == OPK_ADD && !x->has_amount)
            continue; /* says only that a fine item follows */
        const char *words = words_of(a, x), *subject = subject_of(s, a, x, p->tables[x->table].table_id);
        char *line = words && subject
                         ? arena_printf(a, "  %s %s, %s", words, subject,
                                        x->n > 0 ? arena_printf(a, "key of %d columns", (int)x->n) : "whole table")
                         : NULL;
        if (line && x->does & DOES_FETCH_ADD && x->why)
            line = arena_printf(a, "%s, planned as a write: %s", line, x->why);
        if (line && x->inexact) line = arena_printf(a, "%s, where an amount is not exact", line);
        if (line && strcmp(line, last) == 0) continue; /* one operation may have several items */
        TRY(explain_line(st, line));
        last = line;
    }
    return ST_OK;
}

/* What keeps it from kernels where it is in the program's form; what calls of functions do, bulks tell
 * (BulkStats.reason).
 */
static Status explain_executor(Statement *st, const Proc *p) {
    const Program *b = p->body;
    for (int32_t i = 0; i < b->n_instrs; i++)
        if (b->instrs[i].op == OP_BUF_CLEAR)
            return explain_line(st, arena_printf(st->run_arena,
                                                 "On the virtual machine: line %d collects the rows of a query",
                                                 p->lines ? (int)p->lines[i] : 0));
    return ST_OK;
}

/* What calls have to themselves: program/proc.h, Queues. */
static Status explain_dequeue(Session *s, Statement *st, const Proc *p) {
    static const char *const forms[] = {[DEQUEUE_ROWS] = "  the first row of %s in a group, which is deleted",
                                        [DEQUEUE_KEYED] = "  rows of %s, by the key of that row",
                                        [DEQUEUE_ADDED] = "  additions to %s"};
    if (p->queue < 0) return ST_OK;
    TRY(explain_line(st, "Queue"));
    for (int how = DEQUEUE_ROWS; how <= DEQUEUE_ADDED; how++)
        for (int32_t t = 0; t < p->n_tables; t++)
            if (p->tables[t].dequeue == how)
                TRY(explain_line(st, arena_printf(st->run_arena, forms[how], table_name(s, p->tables[t].table_id))));
    return ST_OK;
}

Status session_bulk_explain(Session *s, Statement *st, const Routine *r, bool verbose) {
    BulkHub *h;
    TRY(session_begin_write(s)); /* brings tables up to date */
    TRY(hub_get(s, &h));
    static const char *const names[] = {"QUERY PLAN"};
    TRY(statement_text_columns(st, 1, names));
    const Proc *p = hub_code(h, r);
    const bool temporary = session_bulk_names_temporary(s, r->id);
    if (r->returns_set)
        return explain_line(
            st, arena_printf(st->run_arena, "Function %s cannot be called in a bulk: it returns a set", r->name));
    if (!p || p->reason || temporary)
        return explain_line(st, arena_printf(st->run_arena, "%s %s runs one call at a time: %s",
                                             r->is_procedure ? "Procedure" : "Function", r->name,
                                             temporary ? temporary_reason
                                             : p       ? p->reason
                                                       : "it cannot be read"));
    TRY(explain_line(
        st, arena_printf(st->run_arena, "%s %s runs in bulk%s%s", r->is_procedure ? "Procedure" : "Function", r->name,
                         p->writes ? "" : ", read only", p->writes && p->undo ? ", changes are logged for undo" : "")));
    TRY(explain_executor(st, p));
    const char *by_cells = hub_proc(h, r->id)->by_cells;
    if (by_cells) TRY(explain_line(st, arena_printf(st->run_arena, "Logged by changed cells: %s", by_cells)));
    TRY(explain_line(st, "Operations"));
    TRY(explain_items(s, st, p));
    TRY(explain_dequeue(s, st, p));
    if (!verbose) return ST_OK;
    TRY(explain_line(st, "Program"));
    TRY(explain_lines(st, program_text(p->body, st->run_arena)));
    TRY(explain_line(st, "Footprint"));
    return explain_lines(st, program_text(p->footprint, st->run_arena));
}
