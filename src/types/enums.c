/* enums.c - see enums.h. */
#include "types/enums.h"

#include "types/func.h"
#include "types/numbers.h"

const EnumType *enum_of(Type t) { return t.id == T_ENUM ? type_number_get(t.length) : NULL; }

/* ---- the types of a database ---- */

Status enum_space_new(MemAccount *account, EnumSpace **out, Err *e) {
    EnumSpace *s = mem_calloc(account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->account = account;
    mutex_init(&s->lock, RANK_ENUMS);
    *out = s;
    return ST_OK;
}
void enum_space_free(EnumSpace *s) {
    if (!s) return;
    while (s->made) {
        EnumType *x = s->made;
        s->made = x->older;
        type_number_put(x->number, NULL);
        mem_free(s->account, x, x->bytes);
    }
    mem_free(s->account, s->items, s->cap * (int64_t)sizeof *s->items);
    mutex_destroy(&s->lock);
    mem_free(s->account, s, (int64_t)sizeof *s);
}

static const char *put(char **at, const char *text) {
    const size_t n = strlen(text) + 1;
    char *p = *at;
    memcpy(p, text, n);
    *at += n;
    return p;
}

Status enum_make(EnumSpace *s, int32_t number, const char *name, int32_t n, const EnumLabel *labels,
                 const EnumType **out, Err *e) {
    if (number == 0) TRY(type_number_new(&number, e));
    const int64_t head = (int64_t)sizeof(EnumType) + n * (int64_t)sizeof(EnumLabel), len = (int64_t)strlen(name);
    int64_t bytes = head + (len + 1) + named_bytes(name);
    for (int32_t i = 0; i < n; i++) bytes += (int64_t)strlen(labels[i].text) + 1;
    EnumType *x = mem_calloc(s->account, bytes, e);
    if (!x) return ST_ERROR;
    char *at = (char *)x + head;
    x->bytes = bytes;
    x->number = number;
    x->n = n;
    for (int32_t i = 0; i < n; i++)
        x->labels[i] = (EnumLabel){put(&at, labels[i].text), labels[i].code, labels[i].fresh};
    x->name = put(&at, name);
    named_put(&at, x->name, &x->shown, &x->array_shown);
    mutex_lock(&s->lock);
    x->older = s->made;
    s->made = x;
    mutex_unlock(&s->lock);
    *out = x;
    return ST_OK;
}

Status enum_put(EnumSpace *s, const EnumType *from, const EnumType *to, Err *e) {
    Status st = ST_OK;
    mutex_lock(&s->lock);
    int64_t at = 0;
    while (at < s->n && s->items[at] != from) at++;
    if (at == s->n && s->n == s->cap) {
        const int64_t cap = s->cap ? s->cap * 2 : 8, size = (int64_t)sizeof *s->items;
        const EnumType **p = mem_realloc(s->account, s->items, s->cap * size, cap * size, e);
        if (p) s->items = p, s->cap = cap;
        else st = ST_ERROR;
    }
    if (st == ST_OK && to) {
        if (at == s->n) s->n++;
        s->items[at] = to;
        type_number_put(to->number, to);
    } else if (st == ST_OK && at < s->n) { /* its number stays known: older snapshots may have values */
        s->items[at] = s->items[--s->n];
    }
    mutex_unlock(&s->lock);
    return st;
}

const EnumType *enum_find(EnumSpace *s, Slice name) {
    const EnumType *found = NULL;
    if (!s) return NULL;
    mutex_lock(&s->lock);
    for (int64_t i = 0; i < s->n && !found; i++)
        if (slice_eq(name, slice_of(s->items[i]->name))) found = s->items[i];
    mutex_unlock(&s->lock);
    return found;
}
int64_t enum_count(EnumSpace *s) {
    if (!s) return 0;
    mutex_lock(&s->lock);
    const int64_t n = s->n;
    mutex_unlock(&s->lock);
    return n;
}

const EnumType *enum_nth(EnumSpace *s, int64_t i) {
    if (!s) return NULL;
    mutex_lock(&s->lock);
    const EnumType *x = i < s->n ? s->items[i] : NULL;
    mutex_unlock(&s->lock);
    return x;
}

/* ---- labels ---- */

const EnumLabel *enum_label(const EnumType *x, int32_t code) {
    int32_t lo = 0, hi = x ? x->n : 0;
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2;
        if (x->labels[mid].code == code) return &x->labels[mid];
        if (x->labels[mid].code < code) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}
int32_t enum_index(const EnumType *x, Slice text) {
    for (int32_t i = 0; x && i < x->n; i++)
        if (slice_eq(text, slice_of(x->labels[i].text))) return i;
    return -1;
}
Status enum_check_use(const EnumType *x, const EnumLabel *l, Err *e) {
    if (!atomic_load_explicit(&l->fresh, memory_order_relaxed)) return ST_OK;
    err_set(e, ERR_UNSAFE_NEW_ENUM_VALUE, "unsafe use of new value \"%s\" of enum type %s", l->text, x->name);
    err_hint(e, "New enum values must be committed before they can be used.");
    return ST_ERROR;
}
