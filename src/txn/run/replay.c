/* replay.c - see replay.h. */
#include "txn/run/replay_int.h"

#include "base/hash.h"

enum {
    PIECE_CALLS = 4096 /* that a worker copies at a time, */,
    FIND_CALLS = 1 << 14 /* and looks through */,
    COLUMN_ALIGN = 64
};

Replay *replay_new(MemAccount *acct, Err *e) {
    Replay *r = mem_calloc(acct, (int64_t)sizeof *r, e);
    if (r) r->account = acct;
    return r;
}
static void free_bulk(Replay *r, ReplayBulk *x) {
    r->bytes -= x->bytes;
    r->bulks--;
    r->calls -= x->n_calls;
    mem_free(r->account, x->block, x->block_bytes);
    arena_free(x->arena);
}
void replay_clear(Replay *r) {
    if (!r) return;
    for (ReplayBulk *x = r->first, *next; x; x = next) {
        next = x->next;
        free_bulk(r, x);
    }
    r->first = r->last = r->before_last = NULL;
}
void replay_free(Replay *r) {
    if (!r) return;
    replay_clear(r);
    mem_free(r->account, r, (int64_t)sizeof *r);
}
int64_t replay_bytes(const Replay *r) { return r ? r->bytes : 0; }
int64_t replay_bulks(const Replay *r) { return r ? r->bulks : 0; }
int64_t replay_calls(const Replay *r) { return r ? r->calls : 0; }

bool replay_covers(const Proc *p) {
    for (int32_t i = 0; i < p->body->n_instrs; i++) {
        const FuncDef *f = p->body->instrs[i].op == OP_CALL ? ((const CallSite *)p->body->instrs[i].aux)->func
                                                            : NULL; /* NULL: a cast */
        if (f && strcmp(f->name, "current_setting") == 0) return false;
    }
    return true;
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}
/* Functions of the machine's mathematics, whose last bit is not the same everywhere. */
static bool is_library_math(const FuncDef *f) {
    static const char *const names[] = {"cbrt", "exp",  "ln",   "log",   "log10", "power", "pow",   "^",
                                        "sin",  "cos",  "tan",  "cot",   "asin",  "acos",  "atan",  "atan2",
                                        "sind", "cosd", "tand", "cotd",  "asind", "acosd", "atand", "atan2d",
                                        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", NULL};
    return f->ret == T_FLOAT8 && is_one_of(f->name, names);
}
/* Stable functions of what is kept: the transaction's time, the zone and forms of texts, the user. */
static bool is_of_kept(const FuncDef *f) {
    static const char *const names[] = {"now",
                                        "transaction_timestamp",
                                        "statement_timestamp",
                                        "current_timestamp",
                                        "current_date",
                                        "current_time",
                                        "localtime",
                                        "localtimestamp",
                                        "age",
                                        "make_timestamptz",
                                        "timezone",
                                        "date_trunc",
                                        "date_part",
                                        "extract",
                                        "to_char",
                                        "to_timestamp",
                                        "to_date",
                                        "current_user",
                                        "session_user",
                                        "user",
                                        "current_role",
                                        NULL};
    return is_one_of(f->name, names);
}
const char *replay_reason(const Proc *p, Arena *a) {
    for (int32_t i = 0; i < p->body->n_instrs; i++) {
        const Instr *in = &p->body->instrs[i];
        const FuncDef *f = in->op == OP_CALL ? ((const CallSite *)in->aux)->func : NULL; /* NULL: a cast */
        const int line = p->lines ? (int)p->lines[i] : 0;
        if (f && is_library_math(f)) return arena_printf(a, "line %d: %s() of a mathematical library", line, f->name);
        if (f && f->flags & FN_STABLE && !is_of_kept(f))
            return arena_printf(a, "line %d: what %s() gives is not among the inputs", line, f->name);
    }
    if (p->order_line > 0)
        return arena_printf(a, "line %d: rows in the order that they are stored in", (int)p->order_line);
    return NULL;
}

/* ---- keeping ------------------------------------------------------------------------------------------------- */
/* Pieces of a group's calls: strings are measured first, then all is copied. */
typedef struct Piece {
    const CallGroup *from;
    ReplayGroup *to;
    int64_t first, n, at /* of its strings in the block */;
} Piece;
typedef struct Copy {
    ReplayBulk *x;
    Piece *pieces;
    int64_t n;
    bool copies;
    _Atomic int64_t next;
} Copy;

static int64_t cells_of(const Vec *v, int64_t n) { return v->is_const ? 1 : n; }
static bool has_strings(const Proc *p) {
    for (int32_t i = 0; i < p->n_params; i++)
        if (p->vars[i].phys == PH_STR) return true;
    return false;
}
/* The piece's cells of a column; one cell that stands for all belongs to the first piece. */
static int64_t piece_cells(const Piece *k, const Vec *v) { return v->is_const ? k->first == 0 : k->n; }

static void measure_piece(Piece *k) {
    const Proc *p = k->to->proc;
    for (int32_t i = 0; i < p->n_params; i++) {
        const Vec *v = &k->from->params[i];
        const Str *s = (const Str *)v->data + (v->is_const ? 0 : k->first);
        const uint8_t *valid = v->valid ? v->valid + (v->is_const ? 0 : k->first) : NULL;
        for (int64_t c = 0; v->phys == PH_STR && c < piece_cells(k, v); c++) k->at += valid && !valid[c] ? 0 : s[c].len;
    }
}
static void copy_piece(const Piece *k, char *text) {
    const Proc *p = k->to->proc;
    if (k->to->calls) memcpy(k->to->calls + k->first, k->from->calls + k->first, (size_t)k->n * 4);
    for (int32_t i = 0; i < p->n_params; i++) {
        const Vec *v = &k->from->params[i];
        Vec *to = &k->to->params[i];
        const int64_t n = piece_cells(k, v), first = v->is_const ? 0 : k->first, size = phys_size((Phys)v->phys);
        if (n == 0) continue;
        memcpy((char *)to->data + first * size, (const char *)v->data + first * size, (size_t)(n * size));
        if (v->valid) memcpy(to->valid + first, v->valid + first, (size_t)n);
        if (v->phys != PH_STR) continue;
        Str *s = (Str *)to->data + first;
        for (int64_t c = 0; c < n; c++) {
            if (v->valid && !v->valid[first + c]) {
                s[c] = (Str){0};
                continue;
            }
            if (s[c].len) memcpy(text, s[c].ptr, s[c].len);
            s[c].ptr = text;
            text += s[c].len;
        }
    }
}
static void copy_worker(void *ctx, int worker) {
    Copy *c = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
        if (c->copies) copy_piece(&c->pieces[i], c->x->block + c->pieces[i].at);
        else if (has_strings(c->pieces[i].to->proc)) measure_piece(&c->pieces[i]);
    }
}
static void all_pieces(Copy *c, const QueryOptions *q, bool copies) {
    c->copies = copies;
    atomic_store(&c->next, 0);
    if (q->pool && c->n > 1 && q->threads > 1)
        pool_run(q->pool, (int)MIN_OF(MIN_OF((int64_t)q->threads, (int64_t)pool_threads(q->pool)), c->n), copy_worker,
                 c);
    else copy_worker(c, 0);
}

/* Places of columns in the block, or what they are: addresses are offsets from `base`. */
static int64_t place_columns(ReplayBulk *x, const CallGroup *groups, char *base) {
    int64_t at = 0;
    for (int32_t k = 0; k < x->n_groups; k++) {
        ReplayGroup *to = &x->groups[k];
        const CallGroup *from = &groups[to->number];
        if (from->calls) {
            if (base) to->calls = (uint32_t *)(void *)(base + at);
            at += align_up(from->n * 4, COLUMN_ALIGN);
        }
        for (int32_t i = 0; i < to->proc->n_params; i++) {
            const Vec *v = &from->params[i];
            const int64_t n = cells_of(v, from->n);
            to->params[i] = *v;
            if (base) to->params[i].data = base + at;
            at += align_up(n * phys_size((Phys)v->phys), COLUMN_ALIGN);
            if (!v->valid) continue;
            if (base) to->params[i].valid = (uint8_t *)base + at;
            at += align_up(n, COLUMN_ALIGN);
        }
    }
    return at;
}
static Status copy_bulk(ReplayBulk *x, int32_t n_groups, const CallGroup *groups, const QueryOptions *q,
                        MemAccount *account, Err *e) {
    Copy c = {.x = x};
    for (int32_t k = 0; k < n_groups; k++) {
        x->n_calls += groups[k].n;
        if (!groups[k].proc->writes || groups[k].n == 0) continue;
        ReplayGroup *to = &x->groups[x->n_groups++];
        *to = (ReplayGroup){.proc = groups[k].proc,
                            .number = k,
                            .n = groups[k].n,
                            .params = arena_array(x->arena, Vec, groups[k].proc->n_params + 1)};
        if (!to->params) return err_oom(e);
        c.n += (groups[k].n + PIECE_CALLS - 1) / PIECE_CALLS;
    }
    if (!(c.pieces = mem_alloc(account, (c.n + 1) * (int64_t)sizeof *c.pieces, e))) return ST_ERROR;
    int64_t at = 0, texts;
    for (int32_t k = 0; k < x->n_groups; k++)
        for (int64_t i = 0; i < x->groups[k].n; i += PIECE_CALLS)
            c.pieces[at++] = (Piece){.from = &groups[x->groups[k].number],
                                     .to = &x->groups[k],
                                     .first = i,
                                     .n = MIN_OF((int64_t)PIECE_CALLS, x->groups[k].n - i)};
    all_pieces(&c, q, false);
    texts = place_columns(x, groups, NULL);
    for (int64_t i = 0; i < c.n; i++) {
        int64_t bytes = c.pieces[i].at;
        c.pieces[i].at = texts;
        texts += bytes;
    }
    x->block_bytes = MAX_OF(texts, INT64_C(1));
    x->block = mem_alloc_raw(account, x->block_bytes, e);
    if (x->block) {
        (void)place_columns(x, groups, x->block);
        all_pieces(&c, q, true);
    }
    mem_free(account, c.pieces, (c.n + 1) * (int64_t)sizeof *c.pieces);
    return x->block ? ST_OK : ST_ERROR;
}
static bool copy_session(ReplayBulk *x, const SessionInfo *s) {
    if (!s) return true;
    x->session = *s;
    x->session.user = s->user ? arena_strdup(x->arena, s->user) : NULL;
    x->session.session_user = s->session_user ? arena_strdup(x->arena, s->session_user) : NULL;
    x->session.database = s->database ? arena_strdup(x->arena, s->database) : NULL;
    x->session.set_setting = NULL;
    x->session.setting = NULL; /* the session may be gone then */
    x->session.setting_ctx = NULL;
    x->session.call_routine = NULL;
    x->session.call_routine_rows = NULL;
    return (x->session.user || !s->user) && (x->session.database || !s->database);
}
void replay_append(Replay *r, ReplayBulk *x) {
    arena_set_err(x->arena, NULL);
    x->bytes = x->block_bytes + arena_bytes(x->arena);
    r->bytes += x->bytes;
    r->bulks++;
    r->calls += x->n_calls;
    r->before_last = r->last;
    if (r->last) r->last->next = x;
    else r->first = x;
    r->last = x;
}
Status replay_add(Replay *r, int32_t n_groups, const CallGroup *groups, const QueryOptions *q, Err *e) {
    Arena *a = arena_new(r->account, e);
    ReplayBulk *x = a ? arena_new_of(a, ReplayBulk) : NULL;
    if (x) x->arena = a;
    Status st = x && (x->groups = arena_array(a, ReplayGroup, n_groups + 1)) && copy_session(x, q->session)
                    ? ST_OK
                    : err_oom(e);
    if (st == ST_OK) st = copy_bulk(x, n_groups, groups, q, r->account, e);
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    replay_append(r, x);
    return ST_OK;
}
void replay_drop_last(Replay *r) {
    ReplayBulk *x = r->last;
    if (!x) return;
    r->last = r->before_last;
    r->before_last = NULL; /* only the last entry can be dropped */
    if (r->last) r->last->next = NULL;
    else r->first = NULL;
    free_bulk(r, x);
}

/* Calls of a group that failed: pieces count theirs; then each knows where its own go. */
typedef struct FailedPiece {
    ReplayGroup *group;
    CallError *const *errors;
    int64_t from, to, n;
    uint32_t *out; /* NULL: they are counted */
} FailedPiece;
typedef struct FindFailed {
    FailedPiece *pieces;
    int64_t n;
    _Atomic int64_t next;
} FindFailed;
static void count_failed(FailedPiece *x) {
    for (int64_t i = x->from; i < x->to; i++) x->n += x->errors[i] != NULL;
}
static void put_failed(const FailedPiece *x) {
    uint32_t *out = x->out;
    for (int64_t i = x->from; i < x->to; i++)
        if (x->errors[i]) *out++ = (uint32_t)i;
}
static void find_failed(void *ctx, int worker) {
    FindFailed *f = ctx;
    (void)worker;
    for (int64_t k; (k = atomic_fetch_add(&f->next, 1)) < f->n;) {
        if (f->pieces[k].out) put_failed(&f->pieces[k]);
        else count_failed(&f->pieces[k]);
    }
}
static void all_failed(FindFailed *f, const QueryOptions *q) {
    atomic_store(&f->next, 0);
    if (q->pool && f->n > 1 && q->threads > 1)
        pool_run(q->pool, (int)MIN_OF(MIN_OF((int64_t)q->threads, (int64_t)pool_threads(q->pool)), f->n), find_failed,
                 f);
    else find_failed(f, 0);
}
/* Where the bulk has listed them. */
static Status take_failed(ReplayBulk *x, const BulkResult *b, Err *e) {
    uint32_t *failed = arena_alloc(x->arena, b->n_listed * 4 + 4);
    if (!failed) return err_oom(e);
    for (int32_t k = 0; k < x->n_groups; k++) {
        ReplayGroup *p = &x->groups[k];
        p->failed = failed;
        for (int64_t i = 0; i < b->n_listed; i++)
            if (b->failed[i].group == p->number) p->failed[p->n_failed++] = b->failed[i].call;
        failed += p->n_failed;
    }
    return ST_OK;
}
static Status list_failed(ReplayBulk *x, const BulkResult *b, const QueryOptions *q, Err *e) {
    int64_t most = 0, total = 0;
    for (int32_t k = 0; k < x->n_groups; k++) most += (x->groups[k].n + FIND_CALLS - 1) / FIND_CALLS;
    FindFailed f = {.pieces = arena_array(b->arena, FailedPiece, most + 1)};
    if (!f.pieces) return err_oom(e);
    for (int32_t k = 0; k < x->n_groups; k++)
        for (int64_t i = 0; i < x->groups[k].n; i += FIND_CALLS)
            f.pieces[f.n++] = (FailedPiece){.group = &x->groups[k],
                                            .errors = b->errors[x->groups[k].number],
                                            .from = i,
                                            .to = MIN_OF(i + FIND_CALLS, x->groups[k].n)};
    all_failed(&f, q);
    for (int64_t k = 0; k < f.n; k++) {
        total += f.pieces[k].n;
        f.pieces[k].group->n_failed += f.pieces[k].n;
    }
    if (total == 0) return ST_OK;
    uint32_t *failed = arena_alloc(x->arena, total * 4), *out = failed;
    if (!failed) return err_oom(e);
    for (int64_t k = 0; k < f.n; out += f.pieces[k++].n) f.pieces[k].out = out;
    all_failed(&f, q);
    for (int32_t k = 0; k < x->n_groups; k++) {
        x->groups[k].failed = failed;
        failed += x->groups[k].n_failed;
    }
    return ST_OK;
}
Status replay_ran(Replay *r, const BulkResult *b, const QueryOptions *q, Err *e) {
    ReplayBulk *x = r->last;
    if (!x) return ST_OK;
    const int64_t had = arena_bytes(x->arena);
    if (b->stats.n_failed > 0) TRY(b->failed ? take_failed(x, b, e) : list_failed(x, b, q, e));
    x->any_order = b->group_order != NULL;
    for (int32_t at = 0, k = 0; x->any_order && at < x->n_groups;
         k++) /* all that are here have a place in that order */
        for (int32_t i = at; i < x->n_groups; i++) {
            if (x->groups[i].number != b->group_order[k]) continue;
            ReplayGroup p = x->groups[i];
            x->groups[i] = x->groups[at];
            x->groups[at++] = p;
            break;
        }
    const int64_t more = arena_bytes(x->arena) - had;
    x->bytes += more;
    r->bytes += more;
    return ST_OK;
}

/* ---- running them again -------------------------------------------------------------------------------------- */
/* The group without calls that failed. */
static Status without_failed(const ReplayGroup *p, Arena *a, CallGroup *out, uint32_t **calls, Err *e) {
    const int64_t n = p->n - p->n_failed;
    *out = (CallGroup){.proc = p->proc, .n = n, .params = p->params, .guess = 0};
    uint8_t *failed = arena_calloc(a, p->n + 1);
    if (!failed || !(*calls = arena_alloc(a, (n + 1) * 4))) return err_oom(e);
    for (int64_t i = 0; i < p->n_failed; i++) failed[p->failed[i]] = 1;
    for (int64_t i = 0, at = 0; i < p->n; i++) {
        if (!failed[i]) (*calls)[at++] = p->calls ? p->calls[i] : (uint32_t)i;
    }
    if (p->n_failed == 0) return ST_OK;
    Vec *params = arena_array(a, Vec, p->proc->n_params + 1);
    if (!params) return err_oom(e);
    for (int32_t k = 0; k < p->proc->n_params; k++) {
        const int64_t size = phys_size((Phys)p->params[k].phys);
        params[k] = p->params[k];
        if (params[k].is_const) continue;
        params[k].data = arena_alloc(a, (n + 1) * size);
        if (params[k].valid) params[k].valid = arena_alloc(a, n + 1);
        if (!params[k].data || (p->params[k].valid && !params[k].valid)) return err_oom(e);
        for (int64_t i = 0, at = 0; i < p->n; i++) {
            if (failed[i]) continue;
            memcpy((char *)params[k].data + at * size, (const char *)p->params[k].data + i * size, (size_t)size);
            if (params[k].valid) params[k].valid[at] = p->params[k].valid[i];
            at++;
        }
    }
    out->params = params;
    return ST_OK;
}
/* Numbers of calls from 0 on: by group, or in the order of those that they had. */
static Status number_again(const ReplayBulk *x, Arena *a, int32_t n_groups, const CallGroup *groups,
                           uint32_t *const *calls, Err *e) {
    if (x->any_order) {
        uint32_t next = 0;
        for (int32_t k = 0; k < n_groups; k++)
            for (int64_t i = 0; i < groups[k].n; i++) calls[k][i] = next++;
        return ST_OK;
    }
    uint32_t *rank = arena_calloc(a, (x->n_calls + 1) * 4), next = 0;
    if (!rank) return err_oom(e);
    for (int32_t k = 0; k < n_groups; k++)
        for (int64_t i = 0; i < groups[k].n; i++) rank[calls[k][i]] = 1;
    for (int64_t i = 0; i < x->n_calls; i++) {
        uint32_t here = rank[i];
        rank[i] = next;
        next += here;
    }
    for (int32_t k = 0; k < n_groups; k++)
        for (int64_t i = 0; i < groups[k].n; i++) calls[k][i] = rank[calls[k][i]];
    return ST_OK;
}
static Status run_again(const ReplayBulk *x, Arena *a, ImageSet *images, const Catalog *c, const QueryOptions *q,
                        Err *e) {
    CallGroup *groups = arena_array(a, CallGroup, x->n_groups + 1);
    const Proc **procs = arena_array(a, const Proc *, x->n_groups + 1);
    uint32_t **calls = arena_array(a, uint32_t *, x->n_groups + 1);
    int32_t n = 0;
    if (!groups || !procs || !calls) return err_oom(e);
    for (int32_t k = 0; k < x->n_groups; k++) {
        if (x->groups[k].n == x->groups[k].n_failed) continue;
        TRY(without_failed(&x->groups[k], a, &groups[n], &calls[n], e));
        groups[n].calls = calls[n];
        procs[n++] = x->groups[k].proc;
    }
    if (n == 0) return ST_OK;
    TRY(number_again(x, a, n, groups, calls, e));
    QueryOptions query = *q;
    query.session = &x->session;
    BulkOptions opt = {.query = &query, .strategy = STRATEGY_AUTO};
    BulkResult *r = NULL;
    TRY(images_get(images, c, n, procs, q->pool, e));
    TRY(bulk_run(images, n, groups, &opt, &r, e));
    Status st = r->stats.n_failed == 0 && !r->stats.short_of_rows ? ST_OK : ST_ERROR;
    if (st != ST_OK) {
        err_set(e, ERR_SYSTEM, "of %lld calls that had succeeded %lld did not when they were run again",
                (long long)r->n_calls, (long long)r->stats.n_failed);
        for (int32_t k = 0; k < n; k++)
            for (int64_t i = 0; i < groups[k].n; i++)
                if (r->errors[k][i])
                    err_detail(e, "%s: %s (%s)", procs[k]->name, r->errors[k][i]->message, r->errors[k][i]->sqlstate);
    }
    bulk_result_free(r);
    return st;
}
Status replay_run(const Replay *r, ImageSet *images, const Catalog *c, const QueryOptions *q, Err *e) {
    Arena *a = arena_new(q->account, e);
    if (!a) return ST_ERROR;
    Status st = ST_OK;
    for (const ReplayBulk *x = r ? r->first : NULL; x && st == ST_OK; x = x->next) {
        st = run_again(x, a, images, c, q, e);
        arena_reset(a);
    }
    arena_free(a);
    return st;
}

/* ---- what they have left ---- */
/* The columns of the table that the procedure's calls may set; *rows: they insert or delete rows. */
static bool changed_columns(const Proc *p, int32_t table, const Image *im, bool *cols) {
    bool rows = false;
    for (int32_t i = 0; i < p->body->n_instrs; i++) {
        const Instr *in = &p->body->instrs[i];
        if (in->op == OP_ROW_INSERT && ((const RowInsert *)in->aux)->table == table) {
            memset(cols, 1, (size_t)im->n_cols);
            rows = true;
        } else if (in->op == OP_ROW_PUT || in->op == OP_ROW_ADD || in->op == OP_ROW_DELETE) {
            const RowCol *c = in->aux;
            rows |= c->table == table;
            if (c->table == table && c->col >= 0) cols[c->col] = true;
        }
    }
    return rows;
}
static uint64_t row_hash(const Image *im, const bool *cols, int64_t row) {
    uint64_t h = 1;
    for (int32_t c = 0; c < im->n_cols; c++) {
        const ImageColumn *x = &im->cols[c];
        if (!cols[c] || !x->used) continue;
        const bool valid = !x->valid || x->valid[row * x->stride];
        h = hash_combine(h, valid ? cell_hash((Phys)x->phys, x->cells + row * x->stride) : 0);
    }
    return h;
}
static uint64_t proc_hash(const ImageSet *images, const Proc *p) {
    uint64_t h = 0;
    for (int32_t t = 0; t < p->n_tables; t++) {
        enum { COLS = 1600 };
        bool cols[COLS] = {false};
        const Image *im = images_find((ImageSet *)(uintptr_t)images, p->tables[t].table_id);
        const int64_t rows = im ? atomic_load(&im->rows) : 0;
        uint64_t sum = 0;
        if (!im || im->n_cols > COLS || !changed_columns(p, t, im, cols)) continue;
        for (int64_t r = 0; r < rows; r++)
            if (im->live[r] == ROW_LIVE) sum += row_hash(im, cols, r);
        h = hash_combine(h, hash_combine((uint64_t)p->tables[t].table_id, sum));
    }
    return h;
}
uint64_t replay_hash_calls(const ImageSet *images, int32_t n_groups, const CallGroup *groups) {
    uint64_t h = 0;
    for (int32_t k = 0; k < n_groups; k++)
        if (groups[k].proc->writes && groups[k].n > 0) h = hash_combine(h, proc_hash(images, groups[k].proc));
    return h;
}
uint64_t replay_hash(const Replay *r, const ImageSet *images) {
    uint64_t h = 0;
    for (int32_t k = 0; r->last && k < r->last->n_groups; k++)
        h = hash_combine(h, proc_hash(images, r->last->groups[k].proc));
    return h;
}
