/* bulk_redo.c - see bulk_redo.h. */
#include "session/pool/bulk_redo.h"

#include "base/hash.h"
#include "db/redo.h"
#include "session/pl/pl_run.h"
#include "session/pool/hub.h"
#include "storage/redo.h"

/* ---- logging ---- */
const char *bulk_redo_reason(Session *s, const BulkOptions *opt) {
    if (s->state != 'I') return "it stands in a transaction";
    if (s->bulk.undo != BULK_STANDS || pl_in_call(s)) return "its statement goes on behind it";
    if ((s->undo && undo_mark(s->undo) > 0) || s->catalog_undo) return "its statement has changed something before it";
    if (opt->any_order) return "bulk_order is any";
    return NULL;
}
uint64_t bulk_redo_digest(const Routine *r) {
    uint64_t h = checksum64(r->sql, (int64_t)strlen(r->sql));
    return r->path ? hash_combine(h, checksum64(r->path, (int64_t)strlen(r->path))) : h;
}
static void table_synced(void *ctx, const Table *t, const RowNumbers *numbers) {
    const BulkState *x = ctx;
    if (!x->quiet) redo_numbers(x->db, t, numbers);
}
void bulk_redo_watch(BulkState *x, ImageSet *images) {
    if (x->db->redo) (void)images_watch(images, (ImagesWatch){.synced = table_synced, .ctx = x});
}
Status bulk_redo_begin(Session *s, BulkLogged *l, int32_t n, const CallGroup *groups, const BulkOptions *opt) {
    if (!l->names || l->by_cells || l->begun) return ST_OK;
    BytesOut inputs = {.acct = &s->db->parts[DB_LOG], .e = &s->err};
    replay_put(n, groups, l->names, opt->query, &inputs);
    const Status st = inputs.failed ? ST_ERROR : redo_bulk(s->db, &inputs, &l->at, &s->err);
    bytes_out_release(&inputs);
    l->begun = st == ST_OK;
    return st;
}

/* With log_verify, what the bulk has left in the tables that its calls may change, on the host. */
static void put_hash(const ImageSet *images, int32_t n, const CallGroup *groups, bool wanted, BytesOut *out) {
    wanted &= !images_on_device(images);
    bytes_put_bool(out, wanted);
    if (wanted) bytes_put_i64(out, (int64_t)replay_hash_calls(images, n, groups));
}
Status bulk_redo_ran(Session *s, BulkLogged *l, ImageSet *images, int32_t n, const CallGroup *groups,
                     const BulkResult *b) {
    if (!l->begun) return ST_OK;
    BytesOut outcome = {.acct = &s->db->parts[DB_LOG], .e = &s->err};
    const int64_t reserve = atomic_exchange(&s->db->account.reserve, INT64_MAX);
    put_hash(images, n, groups, s->settings.txn.log_verify, &outcome);
    replay_put_outcome(n, groups, b, &outcome);
    atomic_store(&s->db->account.reserve, reserve);
    const Status st = redo_bulk_ran(s->db, l->at, &outcome, &s->block.lsn, &s->err);
    bytes_out_release(&outcome);
    return st;
}

/* ---- recovery ---- */
typedef struct Recovery {
    Database *db;
    Session *s;
    BulkHub *hub;
    Arena *arena;
    Replay *replay;
    VEC(const Proc *) procs; /* of all bulks of the log */
} Recovery;

static void recovery_free(void *p) {
    Recovery *x = p;
    BulkHub *h = x->db->bulk_hub;
    replay_free(x->replay);
    if (h) x->db->bulk_hub_ops->free(h);
    x->db->bulk_hub = NULL;
    if (x->s) session_unlock(x->s);
    session_free(x->s);
    arena_free(x->arena);
    mem_free(NULL, x, (int64_t)sizeof *x);
}
static Status begin(Recovery *x, Err *e) {
    if (!(x->arena = arena_new(&x->db->parts[DB_CALLS], e))) return ST_ERROR;
    if (!(x->replay = replay_new(&x->db->parts[DB_INPUTS], e))) return ST_ERROR;
    TRY(session_new(x->db, &x->s, e));
    TRY(session_pool_lock(x->s, 0, NULL, e));
    if (hub_get(x->s, &x->hub) == ST_OK) return ST_OK;
    err_copy(e, &x->s->err);
    return ST_ERROR;
}
static Status recovery_begin(Database *db, void **out, Err *e) {
    Recovery *x = *out = mem_calloc(NULL, (int64_t)sizeof *x, e);
    if (!x) return ST_ERROR;
    x->db = db;
    return begin(x, e);
}

static const Proc *find_proc(void *ctx, const ReplayProc *name, Err *e) {
    const Recovery *x = ctx;
    const Routine *r = catalog_routine_by_id(&x->db->catalog, name->id);
    if (!r || bulk_redo_digest(r) != name->digest) {
        (void)err_set(e, ERR_DATA_CORRUPTED, "the redo log has calls of a routine that is not the catalog's: %s",
                      r ? r->name : "it is not there");
        return NULL;
    }
    const Proc *p = hub_code(x->hub, r);
    if (p && !p->reason) return p;
    (void)err_set(e, ERR_DATA_CORRUPTED, "the redo log has a bulk of \"%s\", which cannot run in bulk: %s", r->name,
                  p ? p->reason : "it cannot be read");
    return NULL;
}
static const Proc *note_proc(void *ctx, const ReplayProc *name, Err *e) {
    Recovery *x = ctx;
    const Proc *p = find_proc(x, name, e);
    int64_t i = 0;
    while (i < x->procs.len && x->procs.items[i] != p) i++;
    if (p && i == x->procs.len && !vec_push(x->arena, &x->procs, p)) return (void)err_oom(e), NULL;
    return p;
}
static Status recovery_look(void *p, BytesIn *in, Err *e) {
    Recovery *x = p;
    bool valid;
    BytesIn head = *in;
    head.arena = x->arena;
    const char *engine = replay_get_engine(&head);
    if (!engine) return err_corrupted(e, x->db->path, 0, "inputs of a bulk in the redo log are invalid");
    if (strcmp(engine, REPLAY_ENGINE) != 0) {
        (void)err_set(e, ERR_FEATURE_NOT_SUPPORTED, "\"%s\" was not closed, and its redo log has bulks of version %s",
                      x->db->path, engine);
        err_detail(e, "Only the version that has logged their inputs runs them again; this is version %s.",
                   REPLAY_ENGINE);
        err_hint(e,
                 "Open and close it with version %s. Without the file \"log\" of its generation it opens as it was "
                 "saved last.",
                 engine);
        return ST_ERROR;
    }
    head = *in;
    head.arena = x->arena;
    TRY(replay_get_procs(&head, &(ReplayFind){note_proc, x}, &valid, e));
    return valid ? ST_OK : err_corrupted(e, x->db->path, 0, "inputs of a bulk in the redo log are invalid");
}

static Status run(Recovery *x, BytesIn *in, BytesIn *outcome, bool *valid, Err *e) {
    ImageSet *images = x->hub->state.images;
    const QueryOptions q = {.pool = x->db->pool,
                            .threads = pool_threads(x->db->pool),
                            .account = &x->db->parts[DB_CALLS],
                            .vfs = x->db->vfs};
    const int32_t n = (int32_t)x->procs.len;
    const bool verify = bytes_get_bool(outcome);
    const uint64_t hash = verify ? (uint64_t)bytes_get_i64(outcome) : 0;
    if (images_ahead(images) && !images_fit(images, &x->db->catalog, n, x->procs.items))
        return err_internal(e, "images of bulks do not fit those of the redo log");
    TRY(images_get(images, &x->db->catalog, n, x->procs.items, q.pool, e));
    if (!images_ahead(images)) TRY(images_settle(images, n, x->procs.items, e));
    TRY(replay_get(x->replay, in, outcome, &(ReplayFind){find_proc, x}, valid, e));
    if (!*valid) return ST_OK;
    atomic_store(&x->hub->state.unapplied, true);
    TRY(replay_run(x->replay, images, &x->db->catalog, &q, e));
    if (verify && replay_hash(x->replay, images) != hash)
        return err_set(e, ERR_DATA_CORRUPTED,
                       "a bulk of the redo log did not leave what it had left when it was logged");
    replay_clear(x->replay);
    return ST_OK;
}
static Status recovery_run(void *p, BytesIn *in, BytesIn *outcome, bool *valid, Err *e) {
    BytesIn inputs = *in;
    return run(p, &inputs, outcome, valid, e);
}

/* The numbers that rows of the table get here, and those of the log. */
typedef struct Renumber {
    RedoPlaces *places;
    BytesIn *in;
    bool *valid, done;
    Status st;
    Err *e;
} Renumber;
static void renumber(void *ctx, const Table *t, const RowNumbers *x) {
    Renumber *r = ctx;
    (void)t;
    r->done = true;
    r->st = redo_renumber(r->places, x, r->in, r->valid, r->e);
}
static Status recovery_numbers(void *p, Table *t, RedoPlaces *places, BytesIn *in, bool *valid, Err *e) {
    Recovery *x = p;
    ImageSet *images = x->hub->state.images;
    Renumber r = {.places = places, .in = in, .valid = valid, .e = e};
    const ImagesWatch before = images_watch(images, (ImagesWatch){.synced = renumber, .ctx = &r});
    const Status st = images_sync_table(images, t->id, NULL, e);
    (void)images_watch(images, before);
    TRY(st);
    if (!r.done) renumber(&r, t, &(RowNumbers){.arena = x->arena});
    return r.st;
}
static Status recovery_end(void *p, Err *e) {
    Recovery *x = p;
    return bulk_state_sync(&x->hub->state, NULL, e);
}
const RedoBulkOps bulk_redo_ops = {.begin = recovery_begin,
                                   .look = recovery_look,
                                   .run = recovery_run,
                                   .numbers = recovery_numbers,
                                   .end = recovery_end,
                                   .free = recovery_free};
