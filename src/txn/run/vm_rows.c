/* vm_rows.c - the opcodes of procedures on vectors of calls: variables, rows of images, errors, operations; and the log
 * of changes.
 *
 * Calls that run at the same time never use the same cell, except by ROW_ADD to a column that is `shared` in this bulk:
 * that is atomic, and its sums are known to stay in range. All other additions check their result.
 *
 * Marking a row dirty is a plain store: calls that mark it at the same time store the same bit (a delete conflicts with
 * every update of its row).
 */
#include "base/hash.h"
#include "storage/row_errors.h"
#include "txn/run/calls_int.h"
#include "types/range_errors.h"

enum { ROW_KEYS_MAX = 32, INSERTS_MAX = 1 << 20 /* of a call into a table */ };

static inline const TableUse *table_use(const CallFrame *c, int32_t table) { return &c->pr->tables[table]; }
static inline bool vec_null(const Vec *v, int64_t i) { return v->valid && !v->valid[v->is_const ? 0 : i]; }
static inline const void *vec_cell(const Vec *v, int64_t i) {
    return (const char *)v->data + (v->is_const ? 0 : i << size_class(v->phys));
}
static inline void drop_valid(Vec *d, int64_t n) {
    if (d->valid && !memchr(d->valid, 0, (size_t)n)) d->valid = NULL;
}

/* ---- variables ---------------------------------------------------------------------------- */
static RunResult step_load_var(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const CallVar *v = &c->vars[s->in->imm];
    Vec *d = &f->regs[s->dst];
    int64_t n = f->n, first = f->first;
    d->is_const = false;
    d->valid = NULL;
    if (n == 1 && !c->pr->copy_load[s->pc]) { /* a call alone needs no gathering */
        int64_t p = f->pos ? f->pos[0] : first;
        d->data = (char *)(uintptr_t)v->cells + (p << v->size);
        if (v->valid && !v->valid[p]) d->valid = (uint8_t *)(uintptr_t)v->valid + p;
        return RUN_NEXT;
    }
    if (!f->pos && !c->pr->copy_load[s->pc]) {
        d->data = (char *)(uintptr_t)v->cells + (first << v->size);
        if (v->valid) d->valid = (uint8_t *)(uintptr_t)v->valid + first;
        return RUN_NEXT;
    }
    if (UNLIKELY(!(d->data = frame_home(f, s->dst)))) return RUN_FAILED;
    if (v->valid && UNLIKELY(!(d->valid = frame_valid(f, s->dst)))) return RUN_FAILED;
    if (!f->pos) {
        memcpy(d->data, (const char *)v->cells + (first << v->size), (size_t)(n << v->size));
        if (v->valid) memcpy(d->valid, v->valid + first, (size_t)n);
    } else {
        f->k->gather[v->size](n, v->cells, f->pos, d->data);
        if (v->valid) f->k->gather[SZ_1](n, v->valid, f->pos, d->valid);
    }
    drop_valid(d, n);
    return RUN_NEXT;
}

static void scatter(uint8_t size, int64_t n, const Vec *a, const int32_t *pos, void *out) {
#define SCATTER(T)                                               \
    {                                                            \
        const T *x = a->data;                                    \
        T *d = out;                                              \
        int64_t step = a->is_const ? 0 : 1;                      \
        for (int64_t i = 0; i < n; i++) d[pos[i]] = x[i * step]; \
        break;                                                   \
    }
    switch (size) {
    case SZ_1: SCATTER(uint8_t)
    case SZ_2: SCATTER(uint16_t)
    case SZ_4: SCATTER(uint32_t)
    case SZ_8: SCATTER(uint64_t)
    default: SCATTER(Interval)
    }
#undef SCATTER
}

static RunResult step_store_var(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    CallVar *v = &c->vars[s->in->imm];
    const Vec *a = &f->regs[s->a];
    int64_t n = f->n;
    if (!f->pos && n == c->n) {
        if (a->is_const) f->k->fill[v->size](n, a->data, v->home);
        else memcpy(v->home, a->data, (size_t)(n << v->size));
        v->cells = v->home;
        if (!a->valid) v->valid = NULL;
        else if (a->is_const) v->valid = memset(v->home_valid, 0, (size_t)n);
        else v->valid = memcpy(v->home_valid, a->valid, (size_t)n);
        return RUN_NEXT;
    }
    if (v->cells != v->home) v->cells = memcpy(v->home, v->cells, (size_t)(c->n << v->size));
    if (v->valid && v->valid != v->home_valid) v->valid = memcpy(v->home_valid, v->valid, (size_t)c->n);
    if (n == 1) memcpy((char *)v->home + ((int64_t)f->pos[0] << v->size), a->data, (size_t)cell_bytes(v->size));
    else scatter(v->size, n, a, f->pos, v->home);
    if (!a->valid && !v->valid) return RUN_NEXT;
    if (!v->valid) v->valid = memset(v->home_valid, 1, (size_t)c->n);
    for (int64_t i = 0; i < n; i++) v->home_valid[f->pos[i]] = !vec_null(a, i);
    return RUN_NEXT;
}

static inline int128_t int_cell(uint8_t phys, const void *p) {
    switch (phys) {
    case PH_I16: return *(const int16_t *)p;
    case PH_I32: return *(const int32_t *)p;
    case PH_I64: return *(const int64_t *)p;
    default: return *(const int128_t *)p;
    }
}

/* ---- lookups ----------------------------------------------------------------------------------- */
/* The row of a group that is in no order, of which `row` is the first in the list, that comes first by a column: of
 * equals the one with the smallest number, as in groups in order. */
static int64_t best_row(const Image *im, int32_t index, int64_t row, const RowKey *k) {
    const ImageColumn *col = &im->cols[k->order - 1];
    int64_t best = row, value = 0;
    for (bool first = true; row >= 0; row = image_next(im, index, row), first = false) {
        const void *cell = image_cell(col, row);
        int64_t v = col->phys == PH_I16   ? *(const int16_t *)cell
                    : col->phys == PH_I32 ? *(const int32_t *)cell
                                          : *(const int64_t *)cell;
        if (!first && (v == value ? row > best : (v > value) != k->desc)) continue;
        best = row;
        value = v;
    }
    return best;
}

static RunResult rows_found(CallFrame *c, const int64_t *rows) {
    int64_t found = 0;
    for (int64_t i = 0; i < c->f->n; i++) found += rows[i] >= 0;
    if (c->pr->is_body) c->sink->rows_read += found;
    return RUN_NEXT;
}
static RunResult find_rows(Frame *f, const Step *s, bool unique) {
    CallFrame *c = f->owner;
    const RowKey *k = s->in->aux;
    const TableUse *t = table_use(c, k->table);
    int32_t index = t->index[k->index];
    Vec *d = &f->regs[s->dst];
    int64_t *rows = frame_home(f, s->dst), n = f->n;
    Vec keys[ROW_KEYS_MAX];
    if (UNLIKELY(!rows)) return RUN_FAILED;
    if (UNLIKELY(k->n + k->bounded > ROW_KEYS_MAX)) {
        err_internal(&f->err, "a key of %d columns", (int)k->n);
        return RUN_FAILED;
    }
    d->data = rows;
    d->valid = NULL;
    d->is_const = false;
    for (int32_t i = 0; i < k->n + k->bounded; i++) {
        const Vec *v = frame_dense(f, k->args[i]);
        if (UNLIKELY(!v)) return RUN_FAILED;
        keys[i] = *v;
    }
    if (unique && n > 1) {
        image_find_many(t->image, index, n, keys, rows);
        return rows_found(c, rows);
    }
    for (int64_t i = 0; i < n; i++) {
        const void *cells[ROW_KEYS_MAX];
        bool null = false;
        for (int32_t j = 0; j < k->n; j++) {
            cells[j] = vec_cell(&keys[j], i);
            null |= vec_null(&keys[j], i);
        }
        if (k->bounded) {
            rows[i] = null || vec_null(&keys[k->n], i)
                          ? -1
                          : image_first_after(t->image, index, cells,
                                              (int64_t)int_cell(keys[k->n].phys, vec_cell(&keys[k->n], i)), k->at);
            continue;
        }
        rows[i] = null ? -1 : unique ? image_find(t->image, index, cells) : image_first(t->image, index, cells);
        if (k->order && rows[i] >= 0 && !t->image->indexes[index].order)
            rows[i] = best_row(t->image, index, rows[i], k);
    }
    return rows_found(c, rows);
}
static RunResult step_row_find(Frame *f, const Step *s) { return find_rows(f, s, true); }
static RunResult step_row_first(Frame *f, const Step *s) { return find_rows(f, s, false); }

static RunResult step_row_next(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowKey *k = s->in->aux;
    const TableUse *t = table_use(c, k->table);
    const Vec *a = frame_dense(f, s->a);
    Vec *d = &f->regs[s->dst];
    int64_t *out = frame_home(f, s->dst);
    if (UNLIKELY(!a || !out)) return RUN_FAILED;
    const int64_t *rows = a->data;
    for (int64_t i = 0; i < f->n; i++)
        out[i] = vec_null(a, i) || rows[i] < 0 ? -1 : image_next(t->image, t->index[k->index], rows[i]);
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return rows_found(c, out);
}

/* ---- fetch-adds ---- */
static inline FetchAddCell *fetch_add_cell(const CallFrame *c, const RowCol *rc, int64_t i) {
    return &c->pr->fetch_adds[rc->fetch_add - 1].cells[call_number(c, row_pos(c->f, i))];
}
static inline bool fetch_adds_here(const CallFrame *c, const RowCol *rc) {
    return UNLIKELY(rc->fetch_add > 0) && c->pr->fetch_adds && c->pr->fetch_adds[rc->fetch_add - 1].cells;
}
/* What those before it leave. Out of the column's range: one of them does not add the amount of its footprint, and the
 * bulk is run again. */
static void add_before(const CallFrame *c, const RowCol *rc, const int64_t *rows, int64_t n, Vec *d) {
    const ColumnUse *use = &table_use(c, rc->table)->cols[rc->col];
    for (int64_t i = 0; i < n; i++) {
        FetchAddCell *x = fetch_add_cell(c, rc, i);
        if (rows[i] < 0 || !x->shared) continue;
        x->row = rows[i];
        if (vec_null(d, i)) continue;
        void *cell = (char *)d->data + (i << size_class(d->phys));
        const int128_t v = int_cell(d->phys, cell) + x->before;
        if (v < use->lo || v > use->hi) continue;
        if (d->phys == PH_I16) *(int16_t *)cell = (int16_t)v;
        else if (d->phys == PH_I32) *(int32_t *)cell = (int32_t)v;
        else *(int64_t *)cell = (int64_t)v;
    }
}
/* The call's fetch-add is done; the set's sum is added to the cell at its end. */
static void note_fetch_add(FetchAddCell *x, const ImageColumn *ic, int64_t row, const void *value) {
    bool right = image_is_valid(ic, row) == (value != NULL);
    if (right && value)
        right = int_cell(ic->phys, value) == int_cell(ic->phys, image_cell(ic, row)) + x->before + x->amount;
    x->fetched = right && x->fetched == FETCHED_NOTHING && x->row == row ? FETCHED_AS_PLANNED : FETCHED_OTHERWISE;
}

/* ---- reading -------------------------------------------------------------------------------------- */
static RunResult step_row_get(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowCol *rc = s->in->aux;
    const ImageColumn *ic = &table_use(c, rc->table)->image->cols[rc->col];
    const Vec *a = frame_dense(f, s->a);
    Vec *d = &f->regs[s->dst];
    void *out = frame_home(f, s->dst);
    if (UNLIKELY(!a || !out)) return RUN_FAILED;
    const int64_t *rows = a->data;
    int64_t n = f->n, any = 0;
    if (a->valid) { /* a row that is NULL is no row */
        for (int64_t i = 0; i < n; i++) f->longs[i] = a->valid[i] ? rows[i] : -1;
        rows = f->longs;
    }
#define GET(T)                                                                              \
    {                                                                                       \
        T *o = out;                                                                         \
        static const T none;                                                                \
        for (int64_t i = 0; i < n; i++) {                                                   \
            any |= rows[i];                                                                 \
            o[i] = rows[i] >= 0 ? *(const T *)(const void *)image_cell(ic, rows[i]) : none; \
        }                                                                                   \
        break;                                                                              \
    }
    switch (s->size) {
    case SZ_1: GET(uint8_t)
    case SZ_2: GET(uint16_t)
    case SZ_4: GET(uint32_t)
    case SZ_8: GET(uint64_t)
    default: GET(Interval)
    }
#undef GET
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    if (ic->valid || any < 0) {
        if (UNLIKELY(!(d->valid = frame_valid(f, s->dst)))) return RUN_FAILED;
        for (int64_t i = 0; i < n; i++) d->valid[i] = rows[i] >= 0 && image_is_valid(ic, rows[i]);
        drop_valid(d, n);
    }
    if (fetch_adds_here(c, rc)) add_before(c, rc, rows, n, d);
    return RUN_NEXT;
}

/* ---- the log of changes ----------------------------------------------------------------------------- */
/* Room for one more entry before anything is changed; NULL sets f->err. */
static CallUndo *undo_next(CallFrame *c) {
    if (LIKELY(c->n_undo < c->cap_undo)) return &c->undo[c->n_undo];
    int64_t cap = c->cap_undo ? c->cap_undo * 2 : 64, size = (int64_t)sizeof(CallUndo);
    CallUndo *u = mem_realloc(c->pr->vm->env.account, c->undo, c->cap_undo * size, cap * size, &c->f->err);
    if (!u) return NULL;
    c->undo = u;
    c->cap_undo = cap;
    return &c->undo[c->n_undo];
}

static void take_back(const CallUndo *u) {
    Image *im = u->image;
    if (u->kind == CALL_UNDO_INSERT) {
        image_delete(im, u->row);
        return;
    }
    if (u->kind == CALL_UNDO_DELETE) {
        image_undelete(im, u->row);
        return;
    }
    ImageColumn *ic = &im->cols[u->col];
    int64_t bytes = cell_bytes(size_class(u->phys));
    uint8_t *cell = image_cell(ic, u->row);
    if (u->kind == CALL_UNDO_PUT) {
        memcpy(cell, u->cell, (size_t)bytes);
        image_set_valid(ic, u->row, u->valid);
        return;
    }
    switch (u->phys) { /* others may have added meanwhile */
    case PH_I16:
        __atomic_fetch_sub((int16_t *)(void *)cell, *(const int16_t *)(const void *)u->cell, __ATOMIC_RELAXED);
        break;
    case PH_I32:
        __atomic_fetch_sub((int32_t *)(void *)cell, *(const int32_t *)(const void *)u->cell, __ATOMIC_RELAXED);
        break;
    case PH_I64:
        __atomic_fetch_sub((int64_t *)(void *)cell, *(const int64_t *)(const void *)u->cell, __ATOMIC_RELAXED);
        break;
    default: *(int128_t *)(void *)cell -= *(const int128_t *)(const void *)u->cell; /* never shared */
    }
}

static void doubt_key(CallFrame *c, Image *im, int64_t row, int32_t key) {
    KeyDoubt d = {im, row, key};
    if (!vec_push(c->sink->arena, &c->sink->doubts, d)) c->sink->doubtful = true;
}
/* Whether the change is of a call that has failed, or has left for the handlers of the P_TRY in hand, where it was
 * made. */
static inline bool undone(const CallFrame *c, const CallUndo *u, int32_t caught) {
    int32_t to = c->goes[u->pos];
    return to == GO_FAILED || (to == caught && u->seq >= c->try_from);
}
void undo_failed(CallFrame *c) {
    int64_t n = c->n_undo, m = c->undo_from;
    int32_t caught = c->try_at >= 0 ? c->pr->p->instrs[c->try_at].jump + 1 : GO_FAILED;
    if (n == m) return;
    for (int64_t i = n - 1; i >= m; i--)
        if (undone(c, &c->undo[i], caught)) {
            if (c->sink->doubts_keys && c->undo[i].kind == CALL_UNDO_INSERT)
                doubt_key(c, c->undo[i].image, c->undo[i].row, -1);
            take_back(&c->undo[i]);
        }
    for (int64_t i = m; i < n; i++)
        if (!undone(c, &c->undo[i], caught)) c->undo[m++] = c->undo[i];
    c->n_undo = m;
}
void undo_set(CallFrame *c, uint32_t set) {
    while (c->n_undo > 0 && c->undo[c->n_undo - 1].set == set) take_back(&c->undo[--c->n_undo]);
}
static inline void undo_keep(CallFrame *c) {
    c->undo[c->n_undo].set = c->sink->set;
    c->undo[c->n_undo++].seq = c->n_changes++;
}

static inline void mark_dirty(Image *im, int64_t row) {
    uint8_t old = __atomic_load_n(&im->dirty[row], __ATOMIC_RELAXED);
    if (!(old & DIRTY_UPDATED)) __atomic_store_n(&im->dirty[row], (uint8_t)(old | DIRTY_UPDATED), __ATOMIC_RELAXED);
}

/* Logs a cell as it is. False: no memory, f->err is set. */
static bool log_cell(CallFrame *c, int64_t i, Image *im, int64_t row, int32_t col, uint8_t phys) {
    CallUndo *u = undo_next(c);
    if (!u) return false;
    const ImageColumn *ic = &im->cols[col];
    int64_t bytes = cell_bytes(size_class(phys));
    *u = (CallUndo){
        .image = im, .row = row, .pos = (int32_t)row_pos(c->f, i), .col = col, .kind = CALL_UNDO_PUT, .phys = phys};
    memcpy(u->cell, image_cell(ic, row), (size_t)bytes);
    u->valid = image_is_valid(ic, row);
    undo_keep(c);
    return true;
}
static bool log_row(CallFrame *c, int64_t i, Image *im, int64_t row, uint8_t kind) {
    CallUndo *u = undo_next(c);
    if (!u) return false;
    *u = (CallUndo){.image = im, .row = row, .pos = (int32_t)row_pos(c->f, i), .kind = kind};
    undo_keep(c);
    return true;
}

/* ---- errors ------------------------------------------------------------------------------------------- */
static void set_range_error(Err *e, Type t) {
    if (t.id != T_NUMERIC) {
        err_set(e, ERR_NUMERIC_RANGE, "%s out of range",
                t.id == T_INT2   ? "smallint"
                : t.id == T_INT4 ? "integer"
                                 : "bigint");
        return;
    }
    (void)numeric_range_error(e, t.precision < NUMERIC_MAX_PRECISION ? t.precision : 0, t.scale);
}

/* ---- changing -------------------------------------------------------------------------------------------- */
static inline int128_t abs_int(int128_t v) { return v < 0 ? (v == INT128_MIN ? INT128_MAX : -v) : v; }

/* Remembers the greatest value put into a column that is added to. */
static inline void track(CallFrame *c, const ColumnUse *u, uint8_t phys, const void *cell) {
    int128_t v = abs_int(int_cell(phys, cell));
    if (v > c->sink->bounds[u->slot]) c->sink->bounds[u->slot] = v;
}

static RunResult finish(CallFrame *c, const Step *s, int64_t before) {
    return c->departures == before ? RUN_NEXT : calls_dropped(c, s->pc + 1);
}

static RunResult step_row_put(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowCol *rc = s->in->aux;
    const TableUse *t = table_use(c, rc->table);
    const ColumnUse *use = &t->cols[rc->col];
    Image *im = t->image;
    ImageColumn *ic = &im->cols[rc->col];
    const Vec *a = frame_dense(f, s->a), *b = &f->regs[s->b];
    if (UNLIKELY(!a)) return RUN_FAILED;
    const int64_t *rows = a->data;
    int64_t before = c->departures, bytes = cell_bytes(size_class(s->phys));
    const bool fetch_add = fetch_adds_here(c, rc);
    for (int64_t i = 0; i < f->n; i++) {
        int64_t row = rows[i];
        if (row < 0 || vec_null(a, i)) continue;
        const void *cell = vec_cell(b, i);
        bool null = vec_null(b, i);
        Str text;
        if (UNLIKELY(null && !ic->valid)) {
            (void)row_null_error(im->table, rc->col, NULL, &f->err);
            call_fail(c, i, s->pc);
            continue;
        }
        if (fetch_add) {
            FetchAddCell *x = fetch_add_cell(c, rc, i);
            if (x->shared) {
                note_fetch_add(x, ic, row, null ? NULL : cell);
                continue;
            }
        }
        if (s->phys == PH_STR && !null) {
            memcpy(&text, cell, sizeof text);
            const char *p = row_text_put(im, text.ptr, text.len, NULL);
            if (UNLIKELY(!p)) {
                err_oom(&f->err);
                call_fail(c, i, s->pc);
                continue;
            }
            text.ptr = p;
            cell = &text;
        }
        if (c->pr->undo && UNLIKELY(!log_cell(c, i, im, row, rc->col, s->phys))) {
            call_fail(c, i, s->pc);
            continue;
        }
        if (null) memset(image_cell(ic, row), 0, (size_t)bytes);
        else memcpy(image_cell(ic, row), cell, (size_t)bytes);
        if (use->tracked && !null) track(c, use, s->phys, cell);
        image_set_valid(ic, row, !null);
        mark_dirty(im, row);
    }
    return finish(c, s, before);
}

/* cell += delta, or -= delta, without other writers; false: out of the type's range. */
static inline bool add_checked(uint8_t phys, const ColumnUse *use, void *cell, const void *delta, bool minus) {
    int128_t old = int_cell(phys, cell), by = int_cell(phys, delta), sum;
    if ((minus ? __builtin_sub_overflow(old, by, &sum) : __builtin_add_overflow(old, by, &sum)) || sum > use->hi ||
        sum < use->lo)
        return false;
    switch (phys) {
    case PH_I16: *(int16_t *)cell = (int16_t)sum; break;
    case PH_I32: *(int32_t *)cell = (int32_t)sum; break;
    case PH_I64: *(int64_t *)cell = (int64_t)sum; break;
    default: *(int128_t *)cell = sum;
    }
    return true;
}
/* What is added instead of subtracting it: of the least integer that is itself, as sums that are not checked, or taken
 * back, go round. */
static inline void negated(uint8_t phys, const void *delta, void *out) {
    uint128_t v = 0 - (uint128_t)int_cell(phys, delta);
    memcpy(out, &v, (size_t)cell_bytes(size_class(phys))); /* little endian */
}
static inline void add_shared(uint8_t phys, void *cell, const void *delta) {
    switch (phys) {
    case PH_I16: __atomic_fetch_add((int16_t *)cell, *(const int16_t *)delta, __ATOMIC_RELAXED); break;
    case PH_I32: __atomic_fetch_add((int32_t *)cell, *(const int32_t *)delta, __ATOMIC_RELAXED); break;
    default: __atomic_fetch_add((int64_t *)cell, *(const int64_t *)delta, __ATOMIC_RELAXED);
    }
}

/* Additions to few rows are summed up before they go to memory that all workers write. */
enum { HOT_SLOTS = 16, HOT_SAMPLE = 32 };
typedef struct HotAdds {
    int64_t row[HOT_SLOTS];
    uint64_t sum[HOT_SLOTS];
} HotAdds;

static bool few_rows(int64_t n, const int64_t *rows) {
    int64_t seen[HOT_SLOTS / 2];
    int k = 0;
    if (n < 2 * HOT_SAMPLE) return false;
    for (int64_t i = 0; i < HOT_SAMPLE; i++) {
        int j = 0;
        while (j < k && seen[j] != rows[i]) j++;
        if (j < k) continue;
        if (k == HOT_SLOTS / 2) return false;
        seen[k++] = rows[i];
    }
    return true;
}
static void hot_flush(HotAdds *h, int slot, uint8_t phys, ImageColumn *ic) {
    if (h->row[slot] < 0) return;
    alignas(8) uint8_t delta[8];
    int16_t s = (int16_t)h->sum[slot];
    int32_t w = (int32_t)h->sum[slot];
    if (phys == PH_I16) memcpy(delta, &s, sizeof s);
    else if (phys == PH_I32) memcpy(delta, &w, sizeof w);
    else memcpy(delta, &h->sum[slot], 8);
    add_shared(phys, image_cell(ic, h->row[slot]), delta);
    h->row[slot] = -1;
}
static inline void hot_add(HotAdds *h, uint8_t phys, ImageColumn *ic, int64_t row, const void *delta) {
    int slot = (int)(row & (HOT_SLOTS - 1));
    if (UNLIKELY(h->row[slot] != row)) {
        hot_flush(h, slot, phys, ic);
        h->row[slot] = row;
        h->sum[slot] = 0;
    }
    h->sum[slot] += (uint64_t)int_cell(phys, delta);
}

static RunResult step_row_add(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowCol *rc = s->in->aux;
    const TableUse *t = table_use(c, rc->table);
    const ColumnUse *use = &t->cols[rc->col];
    Image *im = t->image;
    ImageColumn *ic = &im->cols[rc->col];
    const Vec *a = frame_dense(f, s->a), *b = &f->regs[s->b];
    if (UNLIKELY(!a)) return RUN_FAILED;
    const int64_t *rows = a->data;
    int64_t n = f->n, before = c->departures, bytes = cell_bytes(size_class(s->phys));
    bool undo = c->pr->undo, hot = use->shared && few_rows(n, rows);
    HotAdds h;
    for (int i = 0; hot && i < HOT_SLOTS; i++) h.row[i] = -1;
    if (n > 4 && !hot) /* atomics wait for each other's misses */
        for (int64_t i = 0; i < n; i++) {
            if (rows[i] < 0) continue;
            __builtin_prefetch(image_cell(ic, rows[i]), 1);
            __builtin_prefetch(im->dirty + rows[i], 1);
        }
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows[i];
        if (row < 0 || vec_null(a, i)) continue;
        if (UNLIKELY(!image_is_valid(ic, row))) continue; /* NULL stays NULL */
        uint8_t *cell = image_cell(ic, row);
        const void *by = vec_cell(b, i), *delta = by;
        alignas(16) uint8_t less[16];
        if (UNLIKELY(vec_null(b, i))) {
            if (!ic->valid) {
                (void)row_null_error(im->table, rc->col, NULL, &f->err);
                call_fail(c, i, s->pc);
            } else if (undo && !log_cell(c, i, im, row, rc->col, s->phys)) {
                call_fail(c, i, s->pc);
            } else {
                image_set_valid(ic, row, false);
                memset(cell, 0, (size_t)bytes);
                mark_dirty(im, row);
            }
            continue;
        }
        if (rc->minus) negated(s->phys, by, less), delta = less;
        if (undo) {
            CallUndo *u = undo_next(c);
            if (UNLIKELY(!u)) {
                call_fail(c, i, s->pc);
                continue;
            }
            *u = (CallUndo){.image = im,
                            .row = row,
                            .pos = (int32_t)row_pos(f, i),
                            .col = rc->col,
                            .kind = CALL_UNDO_ADD,
                            .phys = s->phys};
            memcpy(u->cell, delta, (size_t)bytes);
        }
        if (hot) {
            hot_add(&h, s->phys, ic, row, delta);
        } else if (use->shared) {
            add_shared(s->phys, cell, delta);
        } else if (UNLIKELY(!add_checked(s->phys, use, cell, by, rc->minus))) {
            set_range_error(&f->err, im->table->cols[rc->col].type);
            call_fail(c, i, s->pc);
            continue;
        } else if (use->tracked) {
            track(c, use, s->phys, cell);
        }
        if (undo) undo_keep(c);
        mark_dirty(im, row);
    }
    for (int i = 0; hot && i < HOT_SLOTS; i++) hot_flush(&h, i, s->phys, ic);
    return finish(c, s, before);
}

/* At the next of the rows that are the call's. */
static int64_t insert_row(CallFrame *c, const TableUse *t, int32_t table, int64_t i, const void *const *cells,
                          int32_t *conflict) {
    int64_t pos = row_pos(c->f, i), call = call_number(c, pos), k = c->inserted[table][pos]++;
    if (UNLIKELY(k >= (t->counts ? (int64_t)t->counts[call] : t->stride))) {
        c->sink->short_of_rows |= c->pr->proc->tables[table].guessed;
        err_internal(&c->f->err, "%s inserts more rows into \"%s\" than it said", c->pr->proc->name,
                     t->image->table->name);
        return -1;
    }
    int64_t row = t->base + (t->starts ? (int64_t)t->starts[call] : call * t->stride) + k;
    int64_t done = image_insert_at(t->image, row, cells, conflict, &c->f->err);
    if (UNLIKELY(done < 0 && c->sink->doubts_keys)) {
        if (*conflict >= 0) doubt_key(c, t->image, row, *conflict);
        else c->sink->doubtful = true; /* out of memory */
    }
    return done;
}

static RunResult step_row_insert(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowInsert *ins = s->in->aux;
    const TableUse *t = table_use(c, ins->table);
    Image *im = t->image;
    const Table *table = im->table;
    Vec *d = &f->regs[s->dst];
    int64_t *out = frame_home(f, s->dst), before = c->departures;
    int32_t n_cols = im->n_cols;
    const void **cells = c->cells;
    if (UNLIKELY(!out)) return RUN_FAILED;
    for (int64_t i = 0; i < f->n; i++) {
        int32_t conflict = -1, bad = -1;
        if (f->n > 4 && (i & 63) == 0) image_prefetch_keys(im, i, MIN_OF(64, f->n - i), f->regs, ins->n, ins->args);
        for (int32_t k = 0; k < n_cols; k++) {
            const Vec *v = k < ins->n && ins->args[k] ? &f->regs[ins->args[k]] : NULL;
            cells[k] = !v || vec_null(v, i) ? NULL : vec_cell(v, i);
            if (!cells[k] && table->cols[k].not_null && bad < 0) bad = k;
        }
        out[i] = -1;
        if (UNLIKELY(bad >= 0)) {
            (void)row_null_error(table, bad, cells, &f->err);
            call_fail(c, i, s->pc);
            continue;
        }
        if (c->pr->undo && UNLIKELY(!undo_next(c))) {
            call_fail(c, i, s->pc);
            continue;
        }
        out[i] = insert_row(c, t, ins->table, i, cells, &conflict);
        if (UNLIKELY(out[i] < 0)) {
            if (conflict >= 0 && ins->skip) continue;
            if (conflict >= 0) (void)row_key_error(table, conflict, cells, &f->err);
            else if (!err_is_set(&f->err)) err_oom(&f->err);
            call_fail(c, i, s->pc);
            continue;
        }
        if (c->pr->undo) log_row(c, i, im, out[i], CALL_UNDO_INSERT);
        if (t->tracks_inserts)
            for (int32_t k = 0; k < n_cols; k++)
                if (t->cols[k].tracked && cells[k]) track(c, &t->cols[k], im->cols[k].phys, cells[k]);
    }
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return finish(c, s, before);
}

static RunResult step_row_delete(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RowCol *rc = s->in->aux;
    Image *im = table_use(c, rc->table)->image;
    const Vec *a = frame_dense(f, s->a);
    if (UNLIKELY(!a)) return RUN_FAILED;
    const int64_t *rows = a->data;
    int64_t before = c->departures;
    for (int64_t i = 0; i < f->n; i++) {
        if (rows[i] < 0 || vec_null(a, i) || !im->live[rows[i]]) continue;
        if (c->pr->undo && UNLIKELY(!log_row(c, i, im, rows[i], CALL_UNDO_DELETE))) {
            call_fail(c, i, s->pc);
            continue;
        }
        image_delete(im, rows[i]);
    }
    return finish(c, s, before);
}

/* The message for row i: each % is the next argument, %% is one. */
static Slice raise_text(Frame *f, const RaiseSite *r, int64_t i, char *buf, int64_t cap) {
    int64_t len = 0;
    int32_t arg = 0;
    for (const char *p = r->format; *p && len < cap; p++) {
        Slice t = {p, 1};
        if (*p != '%') {
            t.len = (int64_t)strcspn(p, "%");
            p += t.len - 1;
        } else if (p[1] == '%') {
            p++;
        } else if (arg < r->n) {
            const Vec *v = &f->regs[r->args[arg++]];
            const Str *s = vec_cell(v, i);
            t = vec_null(v, i) ? slice_of("<NULL>") : (Slice){s->ptr, s->len};
        }
        t.len = MIN_OF(t.len, cap - len);
        if (t.len > 0) memcpy(buf + len, t.ptr, (size_t)t.len);
        len += MAX_OF(t.len, INT64_C(0));
    }
    return (Slice){buf, len};
}

/* The error of a row, or of a key, that a constraint refuses. */
static CallError *raise_row(CallFrame *c, int32_t pc, const RaiseSite *r, int64_t i) {
    Err e = {0};
    for (int32_t k = 0; k < r->n; k++) {
        const Vec *v = &c->f->regs[r->args[k]];
        c->cells[k] = vec_null(v, i) ? NULL : vec_cell(v, i);
    }
    err_set(&e, r->sqlstate, "%s", r->format);
    if (r->key) row_key_detail(r->n, r->key->names, r->key->types, c->cells, r->key->after, &e);
    else row_failing_detail(r->row_of, c->cells, &e);
    const RaiseSite site = {
        .sqlstate = r->sqlstate, .detail = e.detail[0] ? e.detail : NULL, .hint = r->hint, .names = r->names};
    return call_error_raised(c, pc, &site, slice_of(e.message)); /* which shows keys as names */
}
static RunResult step_raise(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const RaiseSite *r = s->in->aux;
    CallError *x = NULL;
    char buf[1023]; /* as long as an Err's message */
    for (int64_t i = 0; i < f->n; i++) {
        if (c->pr->is_body && (r->row_of || r->key)) x = raise_row(c, s->pc, r, i);
        else if (c->pr->is_body && (!x || r->n > 0))
            x = call_error_raised(c, s->pc, r, raise_text(f, r, i, buf, (int64_t)sizeof buf));
        call_fail_with(c, i, x);
    }
    return calls_dropped(c, s->pc + 1);
}

static RunResult step_notice(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const NoticeSite *x = s->in->aux;
    CallSink *k = c->sink;
    int64_t before = c->departures;
    char buf[1023];
    for (int64_t i = 0; i < f->n; i++) {
        Slice text = raise_text(f, &x->say, i, buf, (int64_t)sizeof buf);
        CallNotice n = {.group = k->group,
                        .call = call_number(c, row_pos(f, i)),
                        .seq = k->notices.len,
                        .severity = x->severity,
                        .context = x->context,
                        .detail = x->say.detail,
                        .hint = x->say.hint};
        memcpy(n.sqlstate, x->say.sqlstate, sizeof n.sqlstate);
        if ((n.message = arena_strndup(k->arena, text.ptr, text.len)) && vec_push(k->arena, &k->notices, n)) continue;
        err_oom(&f->err);
        call_fail(c, i, s->pc);
    }
    return finish(c, s, before);
}

/* ---- what was caught -------------------------------------------------------------------------------------- */
static const char *caught_text(const CallError *x, int what) {
    switch (what) {
    case CAUGHT_SQLSTATE: return x->sqlstate;
    case CAUGHT_MESSAGE: return x->message;
    case CAUGHT_DETAIL: return x->detail;
    case CAUGHT_HINT: return x->hint;
    default: return x->names ? x->names->of[what - CAUGHT_NAME] : NULL;
    }
}
static RunResult step_caught(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    CallError *const *caught = c->caught[s->in->imm >> CAUGHT_BITS];
    Vec *d = &f->regs[s->dst];
    Str *out = frame_home(f, s->dst);
    if (UNLIKELY(!out)) return RUN_FAILED;
    for (int64_t i = 0; i < f->n; i++) {
        const char *text = caught_text(caught[row_pos(f, i)], (int)(s->in->imm & ((1 << CAUGHT_BITS) - 1)));
        out[i] = str_make(text ? text : "", text ? (int64_t)strlen(text) : 0);
    }
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return RUN_NEXT;
}
/* As session/pl/pl_stmt.c says it. */
static bool catches(const CatchSite *h, const char *state) {
    for (int32_t i = 0; i < h->n; i++) {
        const char *x = h->states[i];
        if (strcmp(x, "others") == 0) {
            if (strcmp(state, ERR_QUERY_CANCELED) != 0 && strcmp(state, ERR_ASSERT_FAILURE) != 0) return true;
        } else if (strcmp(x, state) == 0 || (strcmp(x + 2, "000") == 0 && memcmp(x, state, 2) == 0)) {
            return true;
        }
    }
    return false;
}
static RunResult step_catches(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const CatchSite *h = s->in->aux;
    Vec *d = &f->regs[s->dst];
    uint8_t *out = frame_home(f, s->dst);
    if (UNLIKELY(!out)) return RUN_FAILED;
    for (int64_t i = 0; i < f->n; i++) out[i] = catches(h, c->caught[h->number][row_pos(f, i)]->sqlstate);
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return RUN_NEXT;
}
static RunResult step_reraise(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    for (int64_t i = 0; i < f->n; i++) call_fail_with(c, i, c->caught[s->in->imm][row_pos(f, i)]);
    return calls_dropped(c, s->pc + 1);
}

/* ---- operations for the schedule --------------------------------------------------------------------------- */
static inline uint64_t hash_int(uint64_t h, int128_t v) {
    h = hash_key(h, (uint64_t)v);
    return (int64_t)v == v ? h : hash_key(h, (uint64_t)(v >> 64));
}
/* Adds one key column to the hashes. Equal values hash alike whatever the width of their integers. */
static void hash_column(int64_t n, const Vec *v, uint64_t *h) {
#define EACH(expr)                                                 \
    if (!v->is_const && !v->valid) {                               \
        for (int64_t i = 0, k = 0; i < n; k = ++i) h[i] = (expr);  \
        break;                                                     \
    }                                                              \
    for (int64_t i = 0; i < n; i++) {                              \
        int64_t k = v->is_const ? 0 : i;                           \
        h[i] = v->valid && !v->valid[k] ? hash_u64(h[i]) : (expr); \
    }                                                              \
    break
    const void *x = v->data;
    switch (v->phys) {
    case PH_BOOL: EACH(hash_key(h[i], ((const uint8_t *)x)[k]));
    case PH_I16: EACH(hash_key(h[i], (uint64_t)((const int16_t *)x)[k]));
    case PH_I32: EACH(hash_key(h[i], (uint64_t)((const int32_t *)x)[k]));
    case PH_I64: EACH(hash_key(h[i], ((const uint64_t *)x)[k]));
    case PH_I128: EACH(hash_int(h[i], ((const int128_t *)x)[k]));
    case PH_STR:
    case PH_UUID: { /* as kernels do */
        const char *cells = x;
        EACH(hash_key(h[i], key_hash(1, &v->phys, (const void *[]){cells + (k << size_class(v->phys))})));
    }
    default: EACH(hash_key(h[i], cell_hash((Phys)v->phys, (const char *)x + (k << size_class(v->phys)))));
    }
#undef EACH
}

static RunResult grow_ops(CallSink *k, int64_t more, Err *e) {
    int64_t cap = MAX_OF(k->cap_ops * 2, k->n_ops + more + 1024), size = (int64_t)sizeof(TxnOp);
    TxnOp *ops = mem_realloc(k->account, k->ops, k->cap_ops * size, cap * size, e);
    if (!ops) return RUN_FAILED;
    k->ops = ops;
    k->cap_ops = cap;
    return RUN_NEXT;
}

/* Sums |amount|; rows without one get a write instead of an add (ops NULL: they have one already). */
static void sum_amounts(CallSink *k, int32_t slot, int64_t n, const Vec *v, TxnOp *ops) {
    uint128_t sum = 0, most = (uint128_t)INT128_MAX;
    if (v->phys == PH_I32 && !v->valid && !v->is_const) { /* no vector's sum is too large for 64 bits */
        const int32_t *x = v->data;
        int64_t s = 0;
        for (int64_t i = 0; i < n; i++) s += x[i] < 0 ? -(int64_t)x[i] : (int64_t)x[i];
        k->sums[slot] = MIN_OF(k->sums[slot] + (uint128_t)s, most);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (vec_null(v, i) && ops) ops[i].kind = OPK_WRITE;
        else if (!vec_null(v, i)) sum = MIN_OF(sum + (uint128_t)abs_int(int_cell(v->phys, vec_cell(v, i))), most);
    }
    k->sums[slot] = MIN_OF(k->sums[slot] + sum, most);
}

static bool any_null(const Vec *v, int64_t n) {
    if (!v->valid) return false;
    if (v->is_const) return n > 0 && !v->valid[0];
    int64_t i = 0;
    while (i < n && v->valid[i]) i++;
    return i < n;
}

/* Notes the amounts of fetch-adds; of a NULL amount there is none, and it is a write. */
static void note_amounts(const CallFrame *c, FetchAddCell *cells, int64_t n, const Vec *v, const uint64_t *h,
                         TxnOp *ops) {
    for (int64_t i = 0; i < n; i++) {
        if (vec_null(v, i)) continue;
        ops[i].kind = OPK_FETCH_ADD;
        cells[call_number(c, row_pos(c->f, i))] = (FetchAddCell){
            .item = h[i], .amount = (int64_t)int_cell(v->phys, vec_cell(v, i)), .row = -1, .known = true};
    }
}

static RunResult step_item(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const ItemSite *it = s->in->aux;
    CallSink *k = c->sink;
    int64_t n = f->n;
    if (it->kind == OPK_INSERTED) {
        uint32_t *counts = table_use(c, (int32_t)it->table)->counts;
        const Vec *v = &f->regs[it->args[0]];
        for (int64_t i = 0; counts && i < n; i++) {
            int128_t rows = vec_null(v, i) ? 0 : int_cell(v->phys, vec_cell(v, i));
            uint32_t *to = &counts[call_number(c, row_pos(f, i))];
            if (rows > 0) *to += (uint32_t)MIN_OF(rows, (int128_t)INSERTS_MAX);
        }
        return RUN_NEXT;
    }
    int32_t slot = c->pr->add_slot[s->pc];
    FetchAddCell *cells = c->pr->fetch_adds && it->fetch_add > 0 ? c->pr->fetch_adds[it->fetch_add - 1].cells : NULL;
    const bool left_out = c->pr->left_out[s->pc];
    if (it->covered || left_out) {
        if (slot >= 0) sum_amounts(k, slot, n, &f->regs[it->args[it->n]], NULL);
        if (left_out && slot >= 0) k->null_amount |= any_null(&f->regs[it->args[it->n]], n);
        return RUN_NEXT;
    }
    uint64_t *h = (uint64_t *)f->longs,
             base = hash_combine(hash_u64((uint64_t)c->pr->proc->tables[it->table].table_id), it->group);
    for (int64_t i = 0; i < n; i++) h[i] = base;
    for (int32_t i = 0; i < it->n; i++) hash_column(n, &f->regs[it->args[i]], h);
    if (UNLIKELY(hash_constant)) memset(h, 0, (size_t)n * 8);
    if (UNLIKELY(k->n_ops + n > k->cap_ops) && grow_ops(k, n, &f->err) != RUN_NEXT) return RUN_FAILED;
    TxnOp *ops = k->ops + k->n_ops;
    uint8_t kind = it->kind == OPK_ADD && slot == ADD_EXCLUSIVE ? OPK_WRITE
                   : it->insert && c->pr->fetch_adds            ? OPK_FETCH_ADD
                                                                : it->kind;
    for (int64_t i = 0; i < n; i++) ops[i] = (TxnOp){h[i], (uint32_t)row_pos(f, i), kind};
    if (kind == OPK_ADD && slot >= 0) sum_amounts(k, slot, n, &f->regs[it->args[it->n]], ops);
    if (cells) note_amounts(c, cells, n, &f->regs[it->args[it->n]], h, ops);
    k->n_ops += n;
    return RUN_NEXT;
}

StepFn call_step_fn(const Instr *in) {
    switch (in->op) {
    case OP_LOAD: return step_load_var;
    case OP_STORE: return step_store_var;
    case OP_ROW_FIND: return step_row_find;
    case OP_ROW_FIRST: return step_row_first;
    case OP_ROW_NEXT: return step_row_next;
    case OP_ROW_GET: return step_row_get;
    case OP_ROW_PUT: return step_row_put;
    case OP_ROW_ADD: return step_row_add;
    case OP_ROW_INSERT: return step_row_insert;
    case OP_ROW_DELETE: return step_row_delete;
    case OP_RAISE: return step_raise;
    case OP_RERAISE: return step_reraise;
    case OP_NOTICE: return step_notice;
    case OP_CAUGHT: return step_caught;
    case OP_CATCHES: return step_catches;
    case OP_ITEM: return step_item;
    default: return buffer_step_fn(in->op); /* NULL: statements, vm_calls.c walks them */
    }
}
