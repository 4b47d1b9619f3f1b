/* parquet_nested.c - nested columns of Parquet files: rows are put together from the levels of their leaves.
 *
 * A leaf has entries, one for each of its values and for each place where a value is missing. As many entries as make
 * the rows are gathered, with the values that there are; then each field of the column is made by a walk over the
 * levels of one leaf within it (make_field):
 *
 *   an entry whose repetition level is at most node.rep begins a value of the field, if the definition level says that
 *   what it is within has one (node.outer); the value is NULL below node.there, and a list has no element below
 *   node.element; an entry of repetition level node.rep + 1 is a further element of the list.
 *
 * Every other leaf within the field has to give the same, so that what was made fits together: there are as many
 * elements as their list says, and no index has to be checked later.
 *
 * Entries may go on from one page to the next, also within a row: strings, which are views into pages, are copied when
 * a page is left. [S. Melnik et al., Dremel, VLDB 2010, section 4]
 */
#include "io/parquet_int.h"

enum { BLOCK = 1024, ENTRIES = 1 << 16, FIRST_ROWS = 64 };
static_assert((int)BLOCK <= (int)PARQUET_BATCH, "levels are read by batches");

typedef struct Room { /* that grows and keeps what is in it */
    void *p;
    int64_t cap;
} Room;

typedef struct Leaf {
    const ParquetColumn *c;
    ParquetPages pages;
    /* the entries of the rows that are read, and the values of those that have one */
    Room reps, defs, cells;
    int64_t n, n_cells;
    int64_t kept; /* cells whose strings have been copied */
    /* levels of the page that have been read ahead */
    uint8_t ahead_reps[BLOCK], ahead_defs[BLOCK];
    int64_t ahead, at;
} Leaf;

typedef struct Made { /* a field's values */
    Room valid, ends;
    int64_t n;
    bool nulls;
} Made;

struct ParquetNested {
    const ParquetTree *t;
    MemAccount *account;
    Leaf *leaves;
    Made *made; /* by field, these too: */
    NestedRows *rows;
    Made other; /* what another leaf gives */
    int64_t rows_next;
};

static Status need(ParquetNested *p, Room *r, int64_t bytes, Err *e) {
    if (bytes <= r->cap) return ST_OK;
    int64_t cap = MAX_OF(r->cap * 2, MAX_OF(bytes, INT64_C(4096)));
    void *q = mem_realloc(p->account, r->p, r->cap, cap, e);
    if (!q) return ST_ERROR;
    *r = (Room){q, cap};
    return ST_OK;
}

ParquetNested *parquet_nested_new(const ParquetTree *t, Arena *a, MemAccount *account, Codecs *codecs) {
    ParquetNested *p = arena_new_of(a, ParquetNested);
    if (!p) return NULL;
    *p = (ParquetNested){.t = t, .account = account};
    p->leaves = arena_array(a, Leaf, t->n_leaves + 1);
    p->made = arena_array(a, Made, t->n_nodes + 1);
    p->rows = arena_array(a, NestedRows, t->n_nodes + 1);
    if (!p->leaves || !p->made || !p->rows) return NULL;
    for (int32_t i = 0; i < t->n_leaves; i++) {
        p->leaves[i].c = &t->leaves[i];
        p->leaves[i].pages = (ParquetPages){.c = &t->leaves[i], .account = account, .codecs = codecs};
    }
    for (int32_t i = 0; i < t->n_nodes; i++)
        if (t->fields[i].n_children > 0) p->rows[i].rows = &p->rows[t->fields[i].children - t->fields];
    return p;
}

static void room_release(ParquetNested *p, Room *r) {
    if (r->p) mem_free(p->account, r->p, r->cap);
}
static void made_release(ParquetNested *p, Made *m) {
    room_release(p, &m->valid);
    room_release(p, &m->ends);
}
void parquet_nested_release(ParquetNested *p) {
    if (!p) return;
    for (int32_t i = 0; i < p->t->n_leaves; i++) {
        Leaf *l = &p->leaves[i];
        room_release(p, &l->reps);
        room_release(p, &l->defs);
        room_release(p, &l->cells);
        parquet_pages_release(&l->pages);
    }
    for (int32_t i = 0; i < p->t->n_nodes; i++) made_release(p, &p->made[i]);
    made_release(p, &p->other);
}

void parquet_nested_begin(ParquetNested *p, int32_t i, VfsFile *file, int32_t codec, int64_t start, int64_t end) {
    Leaf *l = &p->leaves[i];
    parquet_pages_begin(&l->pages, file, codec, start, end);
    l->ahead = l->at = 0;
    p->rows_next = FIRST_ROWS;
}

int64_t parquet_nested_rows(const ParquetNested *p) { return p->rows_next; }

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* The strings of a page that is left. */
static Status keep_strings(Leaf *l, Arena *strings, Err *e) {
    Str *cells = l->cells.p;
    if (type_phys(l->c->type) != PH_STR) return ST_OK;
    for (; l->kept < l->n_cells; l->kept++) {
        Str *s = &cells[l->kept];
        const char *copy = arena_strndup(strings, s->ptr, s->len);
        if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
        *s = str_make(copy, s->len);
    }
    return ST_OK;
}

/* Levels ahead; none where the column ends. */
static Status look_ahead(Leaf *l, Arena *strings, Err *e) {
    bool more = true;
    l->at = l->ahead = 0;
    if (l->pages.rows == 0) {
        TRY(keep_strings(l, strings, e));
        TRY(parquet_pages_more(&l->pages, &more, e));
        if (!more) return ST_OK;
    }
    int64_t n = MIN_OF(l->pages.rows, (int64_t)BLOCK);
    TRY(parquet_pages_levels(&l->pages, n, l->ahead_reps, l->ahead_defs, e));
    l->ahead = n;
    return ST_OK;
}

/* Takes n of the entries ahead. strings NULL: they are left out. */
static Status take_entries(ParquetNested *p, Leaf *l, int64_t n, const Arena *strings, Err *e) {
    const uint8_t *defs = l->ahead_defs + l->at;
    int64_t size = phys_size(type_phys(l->c->type)), there = 0;
    for (int64_t i = 0; i < n; i++) there += defs[i] == l->c->max_def;
    if (!strings) {
        l->at += n;
        return parquet_pages_values(&l->pages, there, NULL, e);
    }
    TRY(need(p, &l->reps, l->n + n, e));
    TRY(need(p, &l->defs, l->n + n, e));
    TRY(need(p, &l->cells, (l->n_cells + there + 1) * size, e));
    memcpy((uint8_t *)l->reps.p + l->n, l->ahead_reps + l->at, (size_t)n);
    memcpy((uint8_t *)l->defs.p + l->n, defs, (size_t)n);
    TRY(parquet_pages_values(&l->pages, there, (char *)l->cells.p + l->n_cells * size, e));
    l->at += n;
    l->n += n;
    l->n_cells += there;
    return ST_OK;
}

/* The entries of a number of rows. */
static Status read_rows(ParquetNested *p, Leaf *l, int64_t rows, Arena *strings, Err *e) {
    int64_t begun = 0;
    l->n = l->n_cells = l->kept = 0;
    for (;;) {
        if (l->at == l->ahead) TRY(look_ahead(l, strings, e));
        if (l->ahead == 0) break;
        int64_t k = l->at;
        if (begun == 0 && l->ahead_reps[k] != 0)
            return err_set(e, ERR_BAD_COPY, "a row begins with a value that belongs to the row before");
        for (; k < l->ahead && (l->ahead_reps[k] != 0 || begun < rows); k++) begun += l->ahead_reps[k] == 0;
        TRY(take_entries(p, l, k - l->at, strings, e));
        if (l->at < l->ahead) return ST_OK; /* the next row begins */
    }
    return begun == rows ? ST_OK : err_set(e, ERR_BAD_COPY, "a column has fewer rows than its row group");
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static Status do_not_fit(Err *e) {
    return err_set(e, ERR_BAD_COPY, "the levels of a nested column do not fit together");
}

/* Values of a field that is no list. */
static void make_values(const ParquetNode *node, const Leaf *l, Made *m) {
    const uint8_t *reps = l->reps.p, *defs = l->defs.p;
    uint8_t *valid = m->valid.p;
    int64_t n = 0, there = 0;
    for (int64_t i = 0; i < l->n; i++) {
        valid[n] = defs[i] >= node->there;
        bool begins = reps[i] <= node->rep && defs[i] >= node->outer;
        there += begins && valid[n];
        n += begins;
    }
    m->n = n;
    m->nulls = there < n;
}

static Status make_lists(const ParquetNode *node, const Leaf *l, Made *m, Err *e) {
    const uint8_t *reps = l->reps.p, *defs = l->defs.p;
    uint8_t *valid = m->valid.p;
    int64_t *ends = m->ends.p, n = 0, elements = 0;
    bool open = false; /* the value that was begun last has an element */
    ends[0] = 0;
    m->nulls = false;
    for (int64_t i = 0; i < l->n; i++) {
        bool element = defs[i] >= node->element;
        if (reps[i] <= node->rep) {
            open = element;
            if (defs[i] < node->outer) continue;
            valid[n++] = defs[i] >= node->there;
            m->nulls |= !valid[n - 1];
        } else if (reps[i] > node->rep + 1) {
            continue;
        } else if (!open || !element) {
            return do_not_fit(e);
        }
        elements += element;
        ends[n] = elements;
    }
    m->n = n;
    return ST_OK;
}

static Status make_by_leaf(ParquetNested *p, int32_t i, const Leaf *l, Made *m, Err *e) {
    bool list = p->t->fields[i].kind == NESTED_LIST || p->t->fields[i].kind == NESTED_MAP;
    TRY(need(p, &m->valid, l->n + 1, e));
    if (list) TRY(need(p, &m->ends, (l->n + 1) * 8, e));
    if (list) return make_lists(&p->t->nodes[i], l, m, e);
    make_values(&p->t->nodes[i], l, m);
    return ST_OK;
}

static bool same(const Made *x, const Made *y, bool list) {
    return x->n == y->n && memcmp(x->valid.p, y->valid.p, (size_t)x->n) == 0 &&
           (!list || memcmp(x->ends.p, y->ends.p, ((size_t)x->n + 1) * 8) == 0);
}

/* The values of field number i, by all leaves within it. */
static Status make_field(ParquetNested *p, int32_t i, Err *e) {
    const ParquetNode *node = &p->t->nodes[i];
    const NestedField *f = &p->t->fields[i];
    NestedRows *r = &p->rows[i];
    Made *m = &p->made[i];
    Leaf *first = &p->leaves[node->first_leaf];
    TRY(make_by_leaf(p, i, first, m, e));
    for (int32_t k = 1; k < node->n_leaves; k++) {
        TRY(make_by_leaf(p, i, &p->leaves[node->first_leaf + k], &p->other, e));
        if (!same(m, &p->other, f->kind == NESTED_LIST || f->kind == NESTED_MAP)) return do_not_fit(e);
    }
    r->n = m->n;
    r->valid = m->nulls ? m->valid.p : NULL;
    r->ends = m->ends.p;
    if (f->kind != NESTED_VALUE) return ST_OK;
    int64_t size = phys_size(type_phys(f->type));
    TRY(need(p, &first->cells, (m->n + 1) * size, e));
    if (m->nulls) parquet_spread(m->n, first->n_cells, m->valid.p, first->cells.p, size);
    r->cells = first->cells.p;
    return ST_OK;
}

Status parquet_nested_read(ParquetNested *p, int64_t n, Arena *strings, Str *cells, uint8_t *valid, Err *e) {
    int64_t entries = 0;
    for (int32_t i = 0; i < p->t->n_leaves; i++) {
        TRY(read_rows(p, &p->leaves[i], n, strings, e));
        entries = MAX_OF(entries, p->leaves[i].n);
    }
    for (int32_t i = 0; i < p->t->n_nodes; i++) TRY(make_field(p, i, e));
    int64_t rows = ENTRIES / MAX_OF(entries / MAX_OF(n, INT64_C(1)), INT64_C(1));
    p->rows_next = MAX_OF(MIN_OF(rows, (int64_t)PARQUET_BATCH), INT64_C(1));
    if (p->rows[0].n != n) return do_not_fit(e);
    return nested_cells(&p->t->fields[0], &p->rows[0], 0, n, strings, cells, valid, e);
}

Status parquet_nested_skip(ParquetNested *p, int64_t n, Err *e) {
    for (int32_t i = 0; i < p->t->n_leaves && n > 0; i++) TRY(read_rows(p, &p->leaves[i], n, NULL, e));
    return ST_OK;
}
