/* hub.c - procedures compiled, and kept while what they were made from is unchanged. See hub.h. */
#include "session/pool/hub.h"

#include "base/stack.h"
#include "session/pl/pl_run.h"
#include "session/pool/bulk_redo.h"
#include "sql/pl/pl.h"

/* ---- the hub ---- */
static void drop_procs(BulkHub *h) {
    for (int64_t i = 0; i < h->n; i++) hub_proc_drop(h, &h->procs[i]);
    h->n = 0;
    arena_free(h->kept_arena);
    h->kept_arena = NULL;
    h->kept = NULL;
    atomic_store(&h->definitions, 0);
}
static Status hub_save(BulkHub *h, Err *e) { return bulk_state_sync(&h->state, NULL, e); }
static void hub_free(BulkHub *h) {
    call_pool_free(h->pool);
    hub_statements_free(h);
    drop_procs(h);
    bulk_state_clear(&h->state);
    mem_free(&h->db->parts[DB_CALLS], h->procs, h->cap * (int64_t)sizeof *h->procs);
    bulk_log_free(&h->log);
    mutex_destroy(&h->state.views);
    mem_free(NULL, h, (int64_t)sizeof *h);
}
static const BulkHubOps hub_ops = {.save = hub_save, .free = hub_free};

Status hub_make(Session *s, BulkHub **out) {
    Database *db = s->db;
    BulkHub *h = *out = db->bulk_hub;
    if (h) return ST_OK;
    if (!(h = mem_calloc(NULL, (int64_t)sizeof *h, &s->err))) return ST_ERROR;
    h->db = h->state.db = db;
    bulk_log_init(&h->log);
    mutex_init(&h->state.views, RANK_DEVICE_ROWS);
    db->bulk_hub_ops = &hub_ops;
    db->bulk_hub = *out = h;
    return ST_OK;
}

bool hub_guesses_rows(const Proc *p) {
    for (int32_t i = 0; i < p->n_tables; i++)
        if (p->tables[i].guessed) return true;
    return false;
}
HubProc *hub_proc(BulkHub *h, int64_t id) {
    if (id < 0) {
        HubStatement *q = hub_statement(h, id);
        return q && q->code.proc ? &q->code : NULL;
    }
    for (int64_t i = 0; i < h->n; i++)
        if (h->procs[i].id == id) return h->procs[i].proc ? &h->procs[i] : NULL;
    return NULL;
}

/* ---- is it good still ---- */
static bool procs_hold(BulkHub *h) {
    const Catalog *c = &h->db->catalog;
    if (h->n != c->n_routines) return false;
    for (int64_t i = 0; i < h->n; i++)
        if (h->procs[i].id != c->routines[i]->id || !name_deps_hold(&h->procs[i].deps, c)) return false;
    return true;
}
bool hub_is_current(BulkHub *h) {
    if (!h || !h->kept || !h->state.images) return false;
    const int64_t now = catalog_definitions(&h->db->catalog);
    if (atomic_load(&h->definitions) == now) return true;
    if (!procs_hold(h) || !hub_statements_hold(h)) return false;
    atomic_store(&h->definitions, now);
    return true;
}

/* ---- compiling ---- */
Status hub_batch_new(BulkHub *h, HubBatch **out, Err *e) {
    Arena *a = arena_new(&h->db->parts[DB_CALLS], e);
    if (!a) return ST_ERROR;
    HubBatch *b = *out = arena_new_of(a, HubBatch);
    if (!b) {
        arena_free(a);
        return err_oom(e);
    }
    b->arena = a;
    return ST_OK;
}
void hub_proc_drop(BulkHub *h, HubProc *p) {
    if (p->batch && h->state.images) images_forget_proc(h->state.images, p->proc);
    if (p->batch && --p->batch->refs == 0) arena_free(p->batch->arena);
    arena_free(p->own);
    p->batch = NULL;
    p->proc = NULL;
    p->own = NULL;
    p->deps = (NameDeps){0};
}
Status hub_compile(Session *s, const PlSources *x, HubBatch *b, PlCompiled *out) {
    /* Not interrupted: all sessions use the result, and a procedure that was cut short would count as refused. */
    StackWatch watch = stack_watch_begin(NULL, 0);
    Status st = pl_compile(x, b->arena, out, &s->err);
    stack_watch_end(watch);
    if (st == ST_OK && !out->misfit) ((BulkHub *)s->db->bulk_hub)->n_compiled += x->n;
    return st;
}
Status hub_keep(BulkHub *h, const PlRegistry *made, Err *e) {
    if (h->kept && !pl_registry_grows(h->kept, made)) return ST_OK;
    Arena *a = arena_new(&h->db->parts[DB_CALLS], e);
    const PlRegistry *r = a ? pl_registry_join(h->kept, made, a) : NULL;
    if (!r) {
        arena_free(a);
        return err_oom(e);
    }
    arena_free(h->kept_arena);
    h->kept_arena = a;
    h->kept = r;
    return ST_OK;
}
Status hub_share(BulkHub *h, const PlRegistry *made, Err *e) {
    if (h->with && !pl_registry_grows(h->with, made)) return ST_OK;
    Arena *a = arena_new(&h->db->parts[DB_CALLS], e);
    const PlRegistry *r = a ? pl_registry_join(hub_base(h), made, a) : NULL;
    NameReads reads;
    NameDeps deps;
    name_reads_begin(&reads, &h->db->catalog);
    if (r) pl_registry_read(r);
    name_reads_end(&reads);
    if (!r || !name_deps_keep(&reads, a, &deps)) {
        arena_free(a);
        return err_oom(e);
    }
    arena_free(h->with_arena);
    h->with_arena = a;
    h->with = r;
    h->with_tables = deps;
    return ST_OK;
}

/* Routines that are compiled together. */
typedef struct Sources {
    int32_t n;
    const PlFunction **functions;
    HubProc **to;
    NameReads *reads; /* of each: its tree, then its code */
} Sources;
/* The tree of a routine; the entry has none when it cannot be read: calling it says why. */
static Status read_routine(Session *s, HubBatch *b, const Routine *r, HubProc *to, Sources *x) {
    const Catalog *c = &s->db->catalog;
    PlFunction *f = NULL;
    Err e = {0};
    NameReads *reads = &x->reads[x->n];
    name_reads_begin(reads, c);
    (void)catalog_routine_by_id(c, r->id);
    bool ok = !routine_is_polymorphic(r) && pl_of_routine(b->arena, c, r, &f, &e) == ST_OK;
    name_reads_end(reads);
    if (ok) {
        x->functions[x->n] = f;
        x->to[x->n++] = to;
        return ST_OK;
    }
    if (!(to->own = arena_new(&s->db->parts[DB_CALLS], &s->err)) || !name_deps_keep(reads, to->own, &to->deps))
        return err_oom(&s->err);
    return ST_OK;
}
/* Compiles entries of the list without code; *fits false: with `kept` they cannot be. */
static Status compile_new(Session *s, BulkHub *h, const PlRegistry *kept, bool *fits, const PlRegistry **made,
                          HubBatch **batch) {
    const Catalog *c = &s->db->catalog;
    HubBatch *b;
    PlCompiled out;
    TRY(hub_batch_new(h, &b, &s->err));
    *batch = b;
    int64_t n = 0;
    for (int64_t i = 0; i < h->n; i++) n += !h->procs[i].proc && !h->procs[i].own;
    Sources x = {.functions = arena_array(b->arena, const PlFunction *, n + 1),
                 .to = arena_array(b->arena, HubProc *, n + 1),
                 .reads = arena_array(b->arena, NameReads, n + 1)};
    if (!x.functions || !x.to || !x.reads) return err_oom(&s->err);
    for (int64_t i = 0; i < h->n; i++)
        if (!h->procs[i].proc && !h->procs[i].own) {
            h->procs[i].digest = bulk_redo_digest(c->routines[i]);
            TRY(read_routine(s, b, c->routines[i], &h->procs[i], &x));
        }
    const PlSources in = {
        .catalog = c, .session = &s->info, .kept = kept, .n = x.n, .functions = x.functions, .reads = x.reads};
    TRY(hub_compile(s, &in, b, &out));
    *fits = out.misfit == 0;
    if (!*fits) return ST_OK;
    *made = out.registry;
    for (int32_t i = 0; i < x.n; i++) {
        HubProc *p = x.to[i];
        if (!name_deps_keep(&x.reads[i], b->arena, &p->deps)) return err_oom(&s->err);
        p->batch = b;
        p->proc = &out.procs[i];
        p->by_cells = !p->proc->reason && p->proc->writes ? replay_reason(p->proc, b->arena) : NULL;
        b->refs++;
    }
    return ST_OK;
}
static void batch_end(BulkHub *h, HubBatch *b, Status st) {
    for (int64_t i = 0; st != ST_OK && b && i < h->n; i++)
        if (h->procs[i].batch == b || !h->procs[i].proc)
            h->procs[i].batch = NULL, h->procs[i].proc = NULL, h->procs[i].deps = (NameDeps){0};
    if (b && (st != ST_OK || b->refs == 0)) arena_free(b->arena);
}
/* Those, with what they do to tables. */
static Status add_new(Session *s, BulkHub *h, const PlRegistry *kept, bool *fits) {
    const PlRegistry *made = NULL;
    HubBatch *b = NULL;
    Status st = compile_new(s, h, kept, fits, &made, &b);
    if (st == ST_OK && *fits) st = hub_keep(h, made, &s->err);
    if (st == ST_OK && *fits) st = hub_share(h, h->kept, &s->err);
    batch_end(h, b, st);
    return st;
}
/* The list of routines as the catalog has it; what was compiled stays with its entry. */
static Status list_routines(Session *s, BulkHub *h) {
    const Catalog *c = &s->db->catalog;
    MemAccount *account = &h->db->parts[DB_CALLS];
    const int64_t size = (int64_t)sizeof(HubProc);
    HubProc *list = mem_calloc(account, (c->n_routines + 1) * size, &s->err);
    if (!list) return ST_ERROR;
    for (int64_t i = 0; i < c->n_routines; i++) {
        list[i] = (HubProc){.id = c->routines[i]->id, .guess = GUESS_FIRST};
        for (int64_t k = 0; k < h->n; k++) {
            if (h->procs[k].id != list[i].id) continue;
            list[i] = h->procs[k];
            h->procs[k] = (HubProc){.id = 0};
        }
    }
    for (int64_t k = 0; k < h->n; k++) hub_proc_drop(h, &h->procs[k]);
    mem_free(account, h->procs, h->cap * size);
    h->procs = list;
    h->n = c->n_routines;
    h->cap = c->n_routines + 1;
    return ST_OK;
}
static bool catalog_has(const Catalog *c, int64_t id) {
    for (int64_t i = 0; i < c->n_routines; i++)
        if (c->routines[i]->id == id) return true;
    return false;
}
/* Whether procedures stay as they are: none that is compiled has changed or gone. Entries without code are read anew
 * where names have changed. */
static bool procs_stay(BulkHub *h) {
    const Catalog *c = &h->db->catalog;
    bool stay = h->kept != NULL;
    for (int64_t i = 0; i < h->n && stay; i++) {
        HubProc *p = &h->procs[i];
        if (catalog_has(c, p->id) && name_deps_hold(&p->deps, c)) continue;
        stay = !p->proc || p->proc->reason;
        if (stay) hub_proc_drop(h, p);
    }
    return stay;
}
static const ImageNeed *need_of(const void *ctx, int64_t table_id) { return pl_registry_need(ctx, table_id); }
static Status compile_all(Session *s, BulkHub *h) {
    bool fits;
    hub_statements_drop(h, true);
    for (int64_t i = 0; i < h->n; i++) hub_proc_drop(h, &h->procs[i]);
    arena_free(h->kept_arena);
    h->kept_arena = NULL;
    h->kept = NULL;
    TRY(list_routines(s, h));
    TRY(add_new(s, h, NULL, &fits));
    images_forget_unneeded(h->state.images, need_of, h->kept);
    return ST_OK;
}
static Status update(Session *s, BulkHub *h) {
    bool fits = false;
    bulk_state_forget_inputs(&h->state); /* nothing is ahead, and procedures of them may go */
    atomic_store(&h->definitions, 0);
    if (!procs_stay(h)) {
        TRY(compile_all(s, h));
        atomic_fetch_add(&h->generation, 1);
        return ST_OK;
    }
    hub_statements_check(h);
    TRY(list_routines(s, h));
    TRY(add_new(s, h, hub_base(h), &fits));
    if (fits) return ST_OK;
    atomic_fetch_add(&h->generation, 1);
    hub_statements_drop(h, false);
    TRY(add_new(s, h, h->kept, &fits));
    return fits ? ST_OK : compile_all(s, h);
}
Status hub_get(Session *s, BulkHub **out) {
    TRY(hub_make(s, out));
    BulkHub *h = *out;
    if (hub_is_current(h)) return ST_OK;
    if (atomic_load(&h->state.unapplied))
        return err_internal(&s->err, "definitions changed while bulks were ahead of their tables");
    if (!h->state.images && !(h->state.images = bulk_state_images(&h->state, &s->err))) return ST_ERROR;
    NameReads *reads = name_reads_pause();
    const TempSchema *temp = temp_schema_use(NULL); /* code is all sessions' */
    Status st = update(s, h);
    (void)temp_schema_use(temp);
    name_reads_continue(reads);
    if (st != ST_OK) return st;
    atomic_store(&h->definitions, catalog_definitions(&h->db->catalog));
    return ST_OK;
}
