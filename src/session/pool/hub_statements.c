/* hub_statements.c - SQL statements that bulks run: known by their text, compiled without their procedures being
 * compiled anew. See hub.h. */
#include "base/log.h"
#include "session/pool/hub.h"
#include "sql/pl/pl.h"

enum { EVICTED = 16 /* at a time: tables may have to be brought up to date for it */ };

/* ids: -1 - slot, less STATEMENTS_MAX for each statement that was there before. */
static int32_t slot_of(int64_t id) { return (int32_t)((-1 - id) % STATEMENTS_MAX); }
HubStatement *hub_statement(const BulkHub *h, int64_t id) {
    HubStatement *q = id < 0 ? h->statements[slot_of(id)] : NULL;
    return q && q->routine.id == id ? q : NULL;
}

/* ---- what is kept ---- */
static void drop_code(BulkHub *h, HubStatement *q) {
    hub_proc_drop(h, &q->code);
    q->state = STATEMENT_NEW;
    q->extends = false;
}
static void forget_with(BulkHub *h) {
    arena_free(h->with_arena);
    h->with_arena = NULL;
    h->with = NULL;
    h->with_tables = (NameDeps){0};
}
void hub_statements_drop(BulkHub *h, bool all) {
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (h->statements[i] && (all || h->statements[i]->extends)) drop_code(h, h->statements[i]);
    forget_with(h);
}
static bool holds(BulkHub *h, HubStatement *q) {
    return q->state == STATEMENT_NEW || name_deps_hold(&q->code.deps, &h->db->catalog);
}
bool hub_statements_hold(BulkHub *h) {
    if (!h->with || !name_deps_hold(&h->with_tables, &h->db->catalog)) return false;
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (h->statements[i] && !holds(h, h->statements[i])) return false;
    return true;
}
void hub_statements_check(BulkHub *h) {
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (h->statements[i] && !holds(h, h->statements[i])) drop_code(h, h->statements[i]);
    if (h->with && !name_deps_hold(&h->with_tables, &h->db->catalog)) hub_statements_drop(h, false);
}
static void forget(BulkHub *h, HubStatement *q) {
    h->statements[slot_of(q->routine.id)] = NULL;
    drop_code(h, q);
    arena_free(q->arena);
}
void hub_statements_free(BulkHub *h) {
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (h->statements[i]) forget(h, h->statements[i]);
    forget_with(h);
}

/* ---- finding one, and a place for another ---- */
static HubStatement *find(const BulkHub *h, const BulkText *x) {
    const uint64_t path = search_path_now()->hash;
    for (int32_t i = 0; i < STATEMENTS_MAX; i++) {
        HubStatement *q = h->statements[i];
        bool same = q && q->path == path && slice_eq(q->sql, x->sql) && q->n_ins == x->n_params;
        for (int32_t k = 0; same && k < x->n_params; k++) same = type_eq(q->routine.param_types[k], x->param_types[k]);
        if (same) return q;
    }
    return NULL;
}
static int32_t free_slot(const BulkHub *h) {
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (!h->statements[i]) return i;
    return -1;
}
/* Those that were not used for longest go. Inputs of bulks may have to be run by them: tables have to have the changes.
 */
static Status evict(Session *s, BulkHub *h) {
    TRY(session_bulk_sync(s));
    bulk_state_forget_inputs(&h->state);
    for (int32_t n = 0; n < EVICTED; n++) {
        HubStatement *oldest = NULL;
        for (int32_t i = 0; i < STATEMENTS_MAX; i++) {
            HubStatement *q = h->statements[i];
            if (q && (!oldest || atomic_load(&q->used) < atomic_load(&oldest->used))) oldest = q;
        }
        if (oldest) forget(h, oldest);
    }
    return ST_OK;
}

/* The statement as a routine: its parameters, then OUT "rows" and its results. */
static Status make_routine(Arena *a, const BulkText *x, int64_t id, Routine *r) {
    const int n = x->n_params + 1 + x->n_results;
    *r = (Routine){.id = id,
                   .name = (char *)(uintptr_t) "SQL statement",
                   .is_procedure = true,
                   .may_write = true,
                   .volatility = 'v',
                   .n_params = n,
                   .n_args = n,
                   .ret = type_make(T_VOID),
                   .language = (char *)(uintptr_t) "plpgsql",
                   .param_names = arena_calloc(a, n * (int64_t)sizeof(char *) + 8),
                   .param_modes = arena_calloc(a, n + 1),
                   .param_types = arena_array(a, Type, n + 1)};
    if (!r->param_names || !r->param_modes || !r->param_types) return ST_ERROR;
    for (int i = 0; i < n; i++) {
        int k = i - x->n_params;
        r->param_modes[i] = k < 0 ? 'i' : 'o';
        r->param_types[i] = k < 0 ? x->param_types[i] : k == 0 ? type_make(T_INT8) : x->result_types[k - 1];
        if (k >= 0 && !(r->param_names[i] = k == 0 ? arena_strdup(a, "rows") : arena_printf(a, "result %d", k)))
            return ST_ERROR;
    }
    return (r->sql = pl_signature_text(a, r)) ? ST_OK : ST_ERROR;
}
static Status add(Session *s, BulkHub *h, const BulkText *x, HubStatement **out) {
    if (free_slot(h) < 0) TRY(evict(s, h));
    const int32_t slot = free_slot(h);
    Arena *a = arena_new(&h->db->parts[DB_CALLS], &s->err);
    HubStatement *q = a ? arena_new_of(a, HubStatement) : NULL;
    if (!q || !(q->sql.ptr = arena_strndup(a, x->sql.ptr, x->sql.len)) ||
        make_routine(a, x, -1 - slot - STATEMENTS_MAX * h->n_named, &q->routine) != ST_OK) {
        arena_free(a);
        return err_oom(&s->err);
    }
    arena_set_err(a, NULL);
    q->arena = a;
    q->sql.len = x->sql.len;
    q->path = search_path_now()->hash;
    q->n_ins = x->n_params;
    q->code = (HubProc){.id = q->routine.id, .guess = GUESS_FIRST};
    h->n_named++;
    h->statements[slot] = *out = q;
    return ST_OK;
}

/* ---- compiling ---- */
/* Statements that are compiled together, and what they became. */
typedef struct Trial {
    int32_t n;
    HubStatement *of[STATEMENTS_MAX];
    HubBatch *batch;
    NameReads *reads;
    PlCompiled out;
    bool good; /* all have code, and fit */
} Trial;
/* Places where a call names all of a table. */
static int64_t coarse_items(const Proc *p) {
    int64_t n = 0;
    for (int32_t i = 0; p->footprint && i < p->footprint->n_instrs; i++)
        n += p->footprint->instrs[i].op == OP_ITEM && ((const ItemSite *)p->footprint->instrs[i].aux)->n == 0;
    return n;
}
static bool is_good(const Proc *p, const Proc *before) {
    return !p->reason && !hub_guesses_rows(p) && (!before || coarse_items(p) <= coarse_items(before));
}
static void trial_end(Trial *x) {
    if (x->batch && x->batch->refs == 0) arena_free(x->batch->arena);
    x->batch = NULL;
}
/* An error of the statement's text makes it no good; only want of memory is an error here. */
static Status trial_run(Session *s, BulkHub *h, const PlRegistry *kept, Trial *x) {
    const Catalog *c = &h->db->catalog;
    TRY(hub_batch_new(h, &x->batch, &s->err));
    Arena *a = x->batch->arena;
    const PlFunction **f = arena_array(a, const PlFunction *, x->n + 1);
    if (!f || !(x->reads = arena_array(a, NameReads, x->n + 1))) return err_oom(&s->err);
    x->good = true;
    for (int32_t i = 0; i < x->n; i++) {
        PlFunction *made = NULL;
        Err e = {0};
        name_reads_begin(&x->reads[i], c);
        x->good &= pl_of_statement(a, c, &x->of[i]->routine, x->of[i]->sql, &made, &e) == ST_OK;
        name_reads_end(&x->reads[i]);
        f[i] = made;
        if (strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) == 0) return err_copy(&s->err, &e), ST_ERROR;
    }
    if (!x->good) return ST_OK;
    const PlSources in = {
        .catalog = c, .session = &s->info, .kept = kept, .n = x->n, .functions = f, .reads = x->reads};
    TRY(hub_compile(s, &in, x->batch, &x->out));
    for (int32_t i = 0; i < x->n && !x->out.misfit; i++) x->good &= is_good(&x->out.procs[i], x->of[i]->code.proc);
    x->good &= x->out.misfit == 0;
    return ST_OK;
}
/* They have the code; what they had goes. */
static Status trial_take(BulkHub *h, Trial *x, HubState state, Err *e) {
    for (int32_t i = 0; i < x->n; i++) {
        HubStatement *q = x->of[i];
        NameDeps deps;
        if (!name_deps_keep(&x->reads[i], x->batch->arena, &deps)) return err_oom(e);
        drop_code(h, q);
        q->state = state;
        q->code.batch = x->batch;
        q->code.proc = &x->out.procs[i];
        q->code.deps = deps;
        x->batch->refs++;
        for (int32_t t = 0; t < q->code.proc->n_tables; t++)
            q->extends |= state == STATEMENT_SHARED && !pl_registry_has(h->kept, q->code.proc->tables[t].table_id);
    }
    return ST_OK;
}
/* Alone: its writes must leave the columns that rows of images are looked up by. */
static bool may_be_alone(const BulkHub *h, const Proc *p) {
    for (int32_t t = 0; t < p->n_tables; t++) {
        const ImageNeed *d = &p->tables[t].need;
        if (d->n_groups > 0) return false;
        for (int32_t c = 0; c < d->table->n_cols; c++)
            if (d->writes[c] && pl_registry_looks_up(hub_base(h), d->table->id, c)) return false;
    }
    return true;
}
static Status refuse(BulkHub *h, HubStatement *q, const Trial *x, Err *e) {
    drop_code(h, q);
    q->state = STATEMENT_REFUSED;
    if (!(q->code.own = arena_new(&h->db->parts[DB_CALLS], e)) ||
        !name_deps_keep(&x->reads[0], q->code.own, &q->code.deps))
        return err_oom(e);
    return ST_OK;
}

/* With the procedures, and with all statements as they are. */
static Status share(Session *s, BulkHub *h, HubStatement *q, int64_t *misfit) {
    Trial x = {.n = 1, .of = {q}};
    Status st = trial_run(s, h, hub_base(h), &x);
    *misfit = x.out.misfit;
    if (st == ST_OK && x.good) st = hub_share(h, x.out.registry, &s->err);
    if (st == ST_OK && x.good) st = trial_take(h, &x, STATEMENT_SHARED, &s->err);
    trial_end(&x);
    return st;
}
/* With the procedures; statements that use tables which these do not are compiled anew with it. */
static Status share_anew(Session *s, BulkHub *h, HubStatement *q) {
    Trial x = {.n = 1, .of = {q}};
    for (int32_t i = 0; i < STATEMENTS_MAX; i++)
        if (h->statements[i] && h->statements[i] != q && h->statements[i]->extends) x.of[x.n++] = h->statements[i];
    Status st = trial_run(s, h, h->kept, &x);
    if (st == ST_OK && x.good) st = session_bulk_sync(s);
    if (st == ST_OK && x.good) {
        bulk_state_forget_inputs(&h->state);
        atomic_fetch_add(&h->generation, 1);
        forget_with(h);
        st = hub_share(h, x.out.registry, &s->err);
        if (st == ST_OK) st = trial_take(h, &x, STATEMENT_SHARED, &s->err);
        if (st != ST_OK) hub_statements_drop(h, false);
    }
    trial_end(&x);
    return st;
}
static Status leave_alone(Session *s, BulkHub *h, HubStatement *q) {
    Trial x = {.n = 1, .of = {q}};
    Status st = trial_run(s, h, NULL, &x);
    const bool good = st == ST_OK && x.good && may_be_alone(h, &x.out.procs[0]);
    if (good) st = trial_take(h, &x, STATEMENT_ALONE, &s->err);
    else if (st == ST_OK) st = refuse(h, q, &x, &s->err);
    trial_end(&x);
    return st;
}
static Status compile(Session *s, BulkHub *h, HubStatement *q) {
    int64_t misfit;
    TRY(share(s, h, q, &misfit));
    if (q->state == STATEMENT_NEW && misfit && !pl_registry_has(h->kept, misfit)) TRY(share_anew(s, h, q));
    if (q->state == STATEMENT_NEW) TRY(leave_alone(s, h, q));
    return ST_OK;
}

/* ---- for others ---- */
Status session_bulk_statement(Session *s, const BulkText *x, bool learn, bool *known, const Routine **out) {
    BulkHub *h = s->db->bulk_hub;
    HubStatement *q = h ? find(h, x) : NULL;
    *out = NULL;
    *known = q && hub_is_current(h) && q->state != STATEMENT_NEW;
    if (!*known && learn) {
        *known = true;
        if (!hub_is_current(h)) TRY(session_bulk_sync(s));
        TRY(hub_get(s, &h));
        if (!q) TRY(add(s, h, x, &q));
        if (q->state == STATEMENT_NEW) {
            NameReads *reads = name_reads_pause();          /* others may be compiled with it */
            const TempSchema *temp = temp_schema_use(NULL); /* code is all sessions' */
            Status st = compile(s, h, q);
            (void)temp_schema_use(temp);
            name_reads_continue(reads);
            if (st != ST_OK) return st;
        }
    }
    if (!*known) return ST_OK;
    atomic_store(&q->used, atomic_fetch_add(&h->clock, 1) + 1);
    name_deps_read(&q->code.deps);
    if (q->state != STATEMENT_REFUSED) *out = &q->routine;
    return ST_OK;
}
const Routine *session_bulk_routine_by_id(const Database *db, int64_t id) {
    if (id >= 0) return catalog_routine_by_id(&db->catalog, id);
    BulkHub *h = db->bulk_hub;
    HubStatement *q = h && hub_is_current(h) ? hub_statement(h, id) : NULL;
    return q && q->code.proc ? &q->routine : NULL;
}
int64_t session_bulk_apart(const Database *db, int64_t id) {
    const BulkHub *h = db->bulk_hub;
    const HubStatement *q = h ? hub_statement(h, id) : NULL;
    return q && q->state == STATEMENT_ALONE ? id : 0;
}
