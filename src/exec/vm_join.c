/* vm_join.c - joins seen from the probe side: PROBE, PROBE_BEGIN .. PROBE_END, and REPEAT.
 *
 * Three ways through a probe:
 *   first match   unique builds, SEMI, ANTI, MARK: one pass gives a build row or -1 per row; rows are filtered in place
 *   batches       several matches per row: (probe index, build row) pairs in batches of at most vector_size; the rest
 *                 of the program runs on each batch (frame_run_from)
 *   candidates    a residual condition: pairs are first run through the body; those that pass are collected until they
 *                 fill a vector (INNER, LEFT) or only leave a mark on their probe row (the other kinds)
 *
 * Partitioned joins: rows whose partition of the build side is on disk are appended to the step's row store for that
 * partition, with every register the rest of the program needs, and leave the vector. query.c replays them later,
 * starting at this instruction. The program was rearranged so that nothing after the first
 * such probe reads the source (see query.c).
 */
#include "exec/rows_int.h"
#include "exec/vm_frame.h"

typedef struct ProbeState {
    JoinProbe *probe;
    Moved body;       /* captures */
    Moved rest;       /* carried registers */
    int32_t *idx;     /* probe indices of a batch */
    int64_t *match;   /* build row per probe row */
    int64_t *rows;    /* instead of the row register's home, when the rows are not read */
    int32_t *acc_idx; /* candidates that passed */
    int64_t *acc_rows;
    int64_t acc_n;
    uint8_t *matched, *unknown;
    int32_t *part;
    Vec *keys, *split;
} ProbeState;

Status vm_prepare_probe(Vm *vm, Step *s, Err *e) {
    const Program *p = vm->p;
    const ProbeSite *site = s->in->aux;
    if (!(s->join = vm->env.joins[site->join]))
        return err_internal(e, "join %d is used before it is built", (int)site->join);
    s->join_spec = &vm->env.plan->joins[site->join];
    s->unique = join_is_unique(s->join);
    s->partitioned = join_is_partitioned(s->join);
    if (!s->partitioned) return ST_OK;
    vm->has_partitioned = true;
    int32_t depth = 0;
    for (int32_t i = 0; i < s->pc; i++) {
        uint16_t op = p->instrs[i].op;
        depth += (op == OP_IF || op == OP_PROBE_BEGIN) - (op == OP_ENDIF || op == OP_PROBE_END);
    }
    if (depth > 0) { /* rows of a body cannot be set aside */
        err_set(e, ERR_LIMIT_EXCEEDED, "a join inside a conditional expression does not fit into memory");
        err_hint(e, "Increase memory_limit.");
        return ST_ERROR;
    }
    /* Registers a stored row needs: carried ones, what the body captures, and the keys. */
    const Instr *end = s->in->op == OP_PROBE_BEGIN ? &p->instrs[s->in->jump] : s->in;
    uint8_t *seen = arena_calloc(vm->arena, p->n_regs);
    if (!seen) return ST_ERROR;
    for (int32_t i = 0; i < end->n_carry; i++) seen[end->carry[i]] = 1;
    if (s->in->op == OP_PROBE_BEGIN)
        for (int32_t i = 0; i < s->in->n_carry; i++) seen[s->in->carry[i]] = 1;
    for (int32_t i = 0; i < site->n_keys; i++)
        if (!p->regs[site->keys[i]].is_const) seen[site->keys[i]] = 1;
    s->split = arena_array(vm->arena, Reg, p->n_regs);
    s->split_cols = arena_array(vm->arena, CellSpec, p->n_regs);
    int32_t parts = join_n_partitions(s->join);
    s->parts = arena_array(vm->arena, RowStore *, parts);
    RowLayout *layout = arena_new_of(vm->arena, RowLayout);
    if (!s->split || !s->split_cols || !s->parts || !layout) return ST_ERROR;
    for (Reg r = 1; r < p->n_regs; r++) {
        if (!seen[r]) continue;
        const RegInfo *ri = &p->regs[r];
        /* Row registers and what depends on an outer join may be NULL whatever the plan proved. */
        s->split_cols[s->n_split] =
            (CellSpec){.phys = ri->phys, .type = ri->type, .nullable = true, .stable_str = ri->stable_str};
        s->split[s->n_split++] = r;
    }
    TRY(row_layout_init(layout, vm->arena, s->n_split, s->split_cols, 0));
    /* All partitions together may fill a quarter of what is left with half-full pages. */
    int64_t page = mem_headroom(vm->env.account) / 4 / ((int64_t)parts * vm->env.workers);
    page = MAX_OF(INT64_C(1024), MIN_OF(page, INT64_C(65536)));
    for (int32_t i = 0; i < parts; i++) {
        TRY(rows_new(layout, vm->env.workers, vm->env.account, vm->env.vfs, vm->env.temp_dir, &s->parts[i], e));
        rows_set_page_bytes(s->parts[i], page, page);
    }
    return ST_OK;
}

static ProbeState *state_new(Frame *f, const Step *s) {
    const VmEnv *env = &f->vm->env;
    int64_t vs = env->vector_size;
    const ProbeSite *site = s->in->aux;
    ProbeState *st = frame_alloc(f, (int64_t)sizeof *st);
    if (!st) return NULL;
    memset(st, 0, sizeof *st);
    bool body = s->in->op == OP_PROBE_BEGIN;
    const Instr *end = body ? &f->vm->p->instrs[s->in->jump] : s->in;
    bool ok = moved_init(f, &st->rest, end, true) == ST_OK;
    f->priv[s->pc] = st;
    if (ok && body) ok = moved_init(f, &st->body, s->in, true) == ST_OK;
    ok = ok && (st->idx = frame_alloc(f, vs * 4 + 64)) && (st->match = frame_alloc(f, vs * 8 + 64)) &&
         (st->matched = frame_alloc(f, vs + 64)) &&
         (st->keys = frame_alloc(f, (int64_t)sizeof(Vec) * (site->n_keys + 1)));
    if (ok && body)
        ok = (st->acc_idx = frame_alloc(f, vs * 8 + 64)) && (st->acc_rows = frame_alloc(f, vs * 16 + 64)) &&
             (st->unknown = frame_alloc(f, vs + 64));
    if (ok && !s->dst) ok = (st->rows = frame_alloc(f, vs * 8 + 64)) != NULL;
    if (ok && s->partitioned)
        ok = (st->part = frame_alloc(f, vs * 4 + 64)) &&
             (st->split = frame_alloc(f, (int64_t)sizeof(Vec) * (s->n_split + 1)));
    ok = ok && join_probe_new(s->join, vs, env->account, &st->probe, &f->err) == ST_OK;
    return ok ? st : NULL;
}

void vm_join_release(Frame *f) {
    const Vm *vm = f->vm;
    for (int32_t i = 0; i < vm->p->n_instrs; i++) {
        uint16_t op = vm->p->instrs[i].op;
        if ((op != OP_PROBE && op != OP_PROBE_BEGIN && op != OP_REPEAT) || !f->priv[i]) continue;
        ProbeState *st = f->priv[i];
        if (st->probe) join_probe_free(st->probe);
        if (st->rest.batch) arena_free(st->rest.batch);
        if (st->body.batch) arena_free(st->body.batch);
    }
}

/* The keys as plain vectors; NULL for cross joins. */
static bool probe_keys(Frame *f, const ProbeSite *site, ProbeState *st, const Vec **out) {
    *out = NULL;
    for (int32_t i = 0; i < site->n_keys; i++) {
        const Vec *v = frame_dense(f, site->keys[i]);
        if (!v) return false;
        st->keys[i] = *v;
        *out = st->keys;
    }
    return true;
}

static void mark_rows(Frame *f, const Step *s, int64_t n, const int64_t *rows) {
    if (!s->join_spec->track_matched) return;
    int64_t k = 0;
    int64_t *some = f->longs2;
    for (int64_t i = 0; i < n; i++) { /* outer probes have -1 among them */
        some[k] = rows[i];
        k += rows[i] >= 0;
    }
    if (k > 0) join_mark_matched(s->join, k, some);
}

static void set_rows(Frame *f, Reg r, int64_t *rows) {
    if (!r) return;
    Vec *d = &f->regs[r];
    d->data = rows;
    d->valid = NULL;
    d->is_const = false;
}

/* The rest of the program on output rows (idx[i], rows[i]); for REPEAT rows are the numbers of the copies. */
static Status run_batch(Frame *f, Moved *m, int32_t pc, Reg dst, int64_t n, const int32_t *idx, const int64_t *rows) {
    TRY(stack_check_depth(&f->err));
    if (UNLIKELY(frame_stopped(f))) return ST_ERROR;
    moved_begin(f, m);
    Status st = moved_gather(f, m, idx, n);
    if (st == ST_OK && dst) {
        int64_t *home = frame_home(f, dst);
        if (home) {
            if (home != rows) memcpy(home, rows, (size_t)n * 8);
            set_rows(f, dst, home);
        } else {
            st = ST_ERROR;
        }
    }
    if (st == ST_OK) st = frame_run_from(f, pc);
    moved_end(f, m);
    return st;
}

/* MARK's result from matches; *unknown: rows whose residual was NULL. */
static RunResult set_mark(Frame *f, const Step *s, Reg dst, const Vec *keys, const uint8_t *matched,
                          const uint8_t *unknown) {
    const ProbeSite *site = s->in->aux;
    int64_t n = f->n;
    uint8_t *out = frame_home(f, dst);
    if (!out) return RUN_FAILED;
    Vec *d = &f->regs[dst];
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    if (out != matched) memcpy(out, matched, (size_t)n);
    bool null_rule = s->join_spec->has_null_mark;
    bool any_null = null_rule && join_has_null_key(s->join);
    bool key_nulls = false;
    if (null_rule && (any_null || join_rows(s->join) > 0))
        for (int32_t i = 0; i < site->n_keys; i++) key_nulls |= keys[i].valid != NULL;
    if (!any_null && !key_nulls && !unknown) return RUN_NEXT;
    uint8_t *valid = frame_valid(f, dst);
    if (!valid) return RUN_FAILED;
    if (any_null) {
        memcpy(valid, out, (size_t)n);
    } else {
        memset(valid, 1, (size_t)n);
        for (int32_t i = 0; key_nulls && i < site->n_keys; i++)
            if (keys[i].valid)
                for (int64_t k = 0; k < n; k++) valid[k] &= keys[i].valid[k] | out[k];
        if (unknown)
            for (int64_t k = 0; k < n; k++) valid[k] &= (unknown[k] ^ 1) | out[k];
    }
    d->valid = memchr(valid, 0, (size_t)n) ? valid : NULL;
    return RUN_NEXT;
}

static RunResult too_many_rows(Frame *f) {
    err_set(&f->err, ERR_CARDINALITY, "more than one row returned by a subquery used as an expression");
    return RUN_FAILED;
}

/* ---- partitioned joins ------------------------------------------------------------------------ */
/* Stores the rows of partitions that are on disk and keeps the others. */
static RunResult split_rows(Frame *f, const Step *s, ProbeState *st) {
    const ProbeSite *site = s->in->aux;
    const Vec *keys;
    if (!probe_keys(f, site, st, &keys)) return RUN_FAILED;
    int64_t n = f->n, kept = 0, m;
    join_partition_of(s->join, n, keys, st->part);
    for (int64_t i = 0; i < n; i++)
        if (st->part[i] < 0 || join_partition_resident(s->join, st->part[i])) {
            f->sel[kept++] = (int32_t)i;
            st->part[i] = -1;
        }
    if (kept == n) return RUN_NEXT;
    int32_t parts = join_n_partitions(s->join);
    Vec *cols = st->split;
    int32_t *sel = st->idx;
    for (int32_t c = 0; c < s->n_split; c++) {
        const Vec *v = frame_dense(f, s->split[c]);
        if (!v) return RUN_FAILED;
        cols[c] = *v;
    }
    for (int32_t p = 0; p < parts; p++) {
        m = 0;
        for (int64_t i = 0; i < n; i++) {
            sel[m] = (int32_t)i;
            m += st->part[i] == p;
        }
        if (m == 0) continue;
        if (rows_append_sel(s->parts[p], f->worker, 0, m, cols, sel, &f->err) != ST_OK) return RUN_FAILED;
    }
    if (kept == 0) return RUN_DONE;
    if (frame_compact_regs(f, s->n_split, s->split, f->sel, kept) != RUN_NEXT) return RUN_FAILED;
    f->n = kept;
    return RUN_NEXT;
}

/* ---- PROBE ---------------------------------------------------------------------------------------- */
RunResult step_probe(Frame *f, const Step *s) {
    ProbeState *st = f->priv[s->pc];
    if (UNLIKELY(!st) && !(st = state_new(f, s))) return RUN_FAILED;
    const ProbeSite *site = s->in->aux;
    if (UNLIKELY(s->partitioned)) {
        RunResult r = split_rows(f, s, st);
        if (r != RUN_NEXT) return r;
    }
    const Vec *keys;
    if (!probe_keys(f, site, st, &keys)) return RUN_FAILED;
    int64_t n = f->n, m;
    int64_t cap = f->vm->env.vector_size;
    switch (site->kind) {
    case PK_SEMI:
    case PK_ANTI:
        join_probe_first(st->probe, n, keys, st->match);
        m = (site->kind == PK_SEMI ? f->k->ge0_rows : f->k->lt0_rows)(n, st->match, f->sel);
        if (m == n) return RUN_NEXT;
        return m == 0 ? RUN_DONE : frame_compact(f, s->in, f->sel, m);
    case PK_MARK:
        join_probe_first(st->probe, n, keys, st->match);
        f->k->match_bool(n, st->match, st->matched);
        return set_mark(f, s, s->dst, keys, st->matched, NULL);
    case PK_MARK_BUILD:
        join_probe_begin(st->probe, n, keys);
        while ((m = join_probe_next(st->probe, cap, st->idx, st->match)) > 0) join_mark_matched(s->join, m, st->match);
        return RUN_DONE;
    default: break;
    }
    int64_t *rows = s->dst ? frame_home(f, s->dst) : st->rows;
    if (!rows) return RUN_FAILED;
    if (s->unique) {
        if (site->kind != PK_INNER) {
            join_probe_first(st->probe, n, keys, rows);
            mark_rows(f, s, n, rows);
            set_rows(f, s->dst, rows);
            return RUN_NEXT;
        }
        join_probe_first(st->probe, n, keys, rows);
        set_rows(f, s->dst, rows);
        m = f->k->ge0_rows(n, rows, f->sel);
        if (m == 0) return RUN_DONE;
        if (m < n) {
            f->k->gather[SZ_8](m, rows, f->sel, rows);
            if (frame_compact(f, s->in, f->sel, m) != RUN_NEXT) return RUN_FAILED;
        }
        mark_rows(f, s, m, rows);
        return RUN_NEXT;
    }
    join_probe_begin(st->probe, n, keys);
    if (site->kind == PK_SINGLE) {
        int64_t *match = st->match;
        memset(match, 0xff, (size_t)n * 8);
        while ((m = join_probe_next(st->probe, cap, st->idx, rows)) > 0)
            for (int64_t i = 0; i < m; i++) {
                if (match[st->idx[i]] >= 0) return too_many_rows(f);
                match[st->idx[i]] = rows[i];
            }
        mark_rows(f, s, n, match);
        memcpy(rows, match, (size_t)n * 8);
        set_rows(f, s->dst, rows);
        return RUN_NEXT;
    }
    bool left = site->kind == PK_LEFT;
    if (left) memset(st->matched, 0, (size_t)n);
    while ((m = join_probe_next(st->probe, cap, st->idx, rows)) > 0) {
        mark_rows(f, s, m, rows);
        if (left)
            for (int64_t i = 0; i < m; i++) st->matched[st->idx[i]] = 1;
        if (run_batch(f, &st->rest, s->pc + 1, s->dst, m, st->idx, rows) != ST_OK) return RUN_FAILED;
    }
    if (left) {
        for (int64_t i = 0; i < n; i++) st->matched[i] ^= 1;
        m = f->k->true_rows(n, st->matched, NULL, st->idx);
        if (m > 0) {
            memset(rows, 0xff, (size_t)m * 8);
            if (run_batch(f, &st->rest, s->pc + 1, s->dst, m, st->idx, rows) != ST_OK) return RUN_FAILED;
        }
    }
    return RUN_DONE;
}

/* ---- PROBE_BEGIN ------------------------------------------------------------------------------------ */
static Status flush_pairs(Frame *f, const Step *s, ProbeState *st, int64_t n) {
    if (n == 0) return ST_OK;
    Status r = run_batch(f, &st->rest, s->in->jump + 1, s->dst, n, st->acc_idx, st->acc_rows);
    st->acc_n -= n;
    memmove(st->acc_idx, st->acc_idx + n, (size_t)st->acc_n * 4);
    memmove(st->acc_rows, st->acc_rows + n, (size_t)st->acc_n * 8);
    return r;
}

/* Runs the body on m candidates; sel = those that pass, unknown marks those whose condition is NULL. */
static RunResult run_candidates(Frame *f, const Step *s, ProbeState *st, int64_t m, int64_t *rows, bool want_unknown,
                                int64_t *passed) {
    const Step *end = &f->vm->steps[s->in->jump];
    if (UNLIKELY(frame_stopped(f))) return RUN_FAILED;
    moved_begin(f, &st->body);
    RunResult r = RUN_FAILED;
    if (stack_check_depth(&f->err) == ST_OK && moved_gather(f, &st->body, st->idx, m) == ST_OK) {
        set_rows(f, s->dst, rows);
        r = frame_run_range(f, s->pc + 1, s->in->jump);
    }
    if (r == RUN_NEXT) {
        const Vec *c = &f->regs[end->a];
        if (c->is_const) {
            *passed = !c->valid && *(const uint8_t *)c->data ? m : 0;
            for (int64_t i = 0; i < *passed; i++) f->sel[i] = (int32_t)i;
            if (c->valid && want_unknown)
                for (int64_t i = 0; i < m; i++) st->unknown[st->idx[i]] = 1;
        } else {
            *passed = f->k->true_rows(m, c->data, c->valid, f->sel);
            if (c->valid && want_unknown)
                for (int64_t i = 0; i < m; i++) st->unknown[st->idx[i]] |= c->valid[i] ^ 1;
        }
    }
    moved_end(f, &st->body);
    return r;
}

RunResult step_probe_begin(Frame *f, const Step *s) {
    ProbeState *st = f->priv[s->pc];
    if (UNLIKELY(!st) && !(st = state_new(f, s))) return RUN_FAILED;
    const ProbeSite *site = s->in->aux;
    const Instr *end = &f->vm->p->instrs[s->in->jump];
    if (UNLIKELY(s->partitioned)) {
        RunResult r = split_rows(f, s, st);
        if (r != RUN_NEXT) return r;
    }
    const Vec *keys;
    int64_t *rows = s->dst ? frame_home(f, s->dst) : st->rows;
    if (!rows || !probe_keys(f, site, st, &keys)) return RUN_FAILED;
    int64_t n = f->n, m, passed = 0, cap = f->vm->env.vector_size;
    uint8_t kind = site->kind;
    bool emits = kind == PK_INNER || kind == PK_LEFT;
    memset(st->matched, 0, (size_t)n);
    memset(st->unknown, 0, (size_t)n);
    if (kind == PK_SINGLE) memset(st->match, 0xff, (size_t)n * 8);
    st->acc_n = 0;
    join_probe_begin(st->probe, n, keys);
    while ((m = join_probe_next(st->probe, cap, st->idx, rows)) > 0) {
        RunResult r = run_candidates(f, s, st, m, rows, kind == PK_MARK, &passed);
        if (r != RUN_NEXT) return r;
        const int32_t *sel = f->sel;
        int64_t at = st->acc_n;
        for (int64_t i = 0; i < passed; i++) {
            int32_t p = st->idx[sel[i]];
            if (kind == PK_SINGLE) {
                if (st->match[p] >= 0) return too_many_rows(f);
                st->match[p] = rows[sel[i]];
            }
            st->matched[p] = 1;
            st->acc_idx[at + i] = p;
            st->acc_rows[at + i] = rows[sel[i]];
        }
        if (kind == PK_MARK_BUILD) {
            if (passed) join_mark_matched(s->join, passed, st->acc_rows);
            continue;
        }
        if (kind == PK_INNER || kind == PK_LEFT || kind == PK_SINGLE) mark_rows(f, s, passed, st->acc_rows + at);
        if (!emits) continue;
        st->acc_n += passed;
        if (st->acc_n >= cap && flush_pairs(f, s, st, cap) != ST_OK) return RUN_FAILED;
    }
    f->jump = s->in->jump + 1;
    switch (kind) {
    case PK_MARK_BUILD: return RUN_DONE;
    case PK_MARK: return set_mark(f, s, end->dst, keys, st->matched, st->unknown) == RUN_NEXT ? RUN_JUMP : RUN_FAILED;
    case PK_SINGLE:
        memcpy(rows, st->match, (size_t)n * 8);
        set_rows(f, s->dst, rows);
        return RUN_JUMP;
    case PK_ANTI:
        for (int64_t i = 0; i < n; i++) st->matched[i] ^= 1; /* fall through */
    case PK_SEMI:
        m = f->k->true_rows(n, st->matched, NULL, f->sel);
        if (m == 0) return RUN_DONE;
        if (m < n && frame_compact(f, end, f->sel, m) != RUN_NEXT) return RUN_FAILED;
        return RUN_JUMP;
    default: break;
    }
    while (st->acc_n > 0)
        if (flush_pairs(f, s, st, MIN_OF(st->acc_n, cap)) != ST_OK) return RUN_FAILED;
    if (kind == PK_LEFT) {
        for (int64_t i = 0; i < n; i++) st->matched[i] ^= 1;
        m = f->k->true_rows(n, st->matched, NULL, st->idx);
        memset(rows, 0xff, (size_t)m * 8);
        if (m > 0 && run_batch(f, &st->rest, s->in->jump + 1, s->dst, m, st->idx, rows) != ST_OK) return RUN_FAILED;
    }
    return RUN_DONE;
}

/* ---- REPEAT ------------------------------------------------------------------------------------------- */
RunResult step_repeat(Frame *f, const Step *s) {
    ProbeState *st = f->priv[s->pc];
    if (!st) {
        if (!(st = f->priv[s->pc] = frame_alloc(f, (int64_t)sizeof *st))) return RUN_FAILED;
        memset(st, 0, sizeof *st);
        if (moved_init(f, &st->rest, s->in, true) != ST_OK ||
            !(st->idx = frame_alloc(f, f->vm->env.vector_size * 4 + 64)) ||
            !(st->rows = frame_alloc(f, f->vm->env.vector_size * 8 + 64)))
            return RUN_FAILED;
    }
    const Vec *a = frame_dense(f, s->a);
    if (!a) return RUN_FAILED;
    const int64_t *times = a->data;
    int64_t n = f->n, cap = f->vm->env.vector_size, k = 0;
    bool ones = !a->valid;
    for (int64_t i = 0; ones && i < n; i++) ones = times[i] == 1;
    if (ones) {
        int64_t *first = s->dst ? frame_home(f, s->dst) : NULL;
        if (s->dst && !first) return RUN_FAILED;
        if (first) memset(first, 0, (size_t)n * 8);
        set_rows(f, s->dst, first);
        return RUN_NEXT;
    }
    /* times[] is not a carried register's home once the batch runs elsewhere: it stays as it is. */
    for (int64_t i = 0; i < n; i++) {
        if (a->valid && !a->valid[i]) continue;
        for (int64_t left = times[i]; left > 0;) {
            int64_t take = MIN_OF(left, cap - k);
            for (int64_t j = 0; j < take; j++) {
                st->idx[k + j] = (int32_t)i;
                st->rows[k + j] = times[i] - left + j;
            }
            k += take;
            left -= take;
            if (k < cap) continue;
            if (run_batch(f, &st->rest, s->pc + 1, s->dst, k, st->idx, st->rows) != ST_OK) return RUN_FAILED;
            k = 0;
        }
    }
    if (k > 0 && run_batch(f, &st->rest, s->pc + 1, s->dst, k, st->idx, st->rows) != ST_OK) return RUN_FAILED;
    return RUN_DONE;
}
