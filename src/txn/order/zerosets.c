/* zerosets.c - the 0-set of a changing pool of calls [GPUTx §5.3].
 *
 * Every item has the list of the operations on it, in timestamp order. The first group of the list (a run of reads, a
 * run of adds, or one write) is granted, the others wait. A call counts its operations that wait; when there is none it
 * is ready, and goes to a heap by timestamp. Adding and finishing a call cost time for its own operations and for those
 * that become granted by it: nothing is planned anew.
 *
 * Nodes, items and calls are in arrays with free lists. zerosets_add allocates everything first; so zerosets_take and
 * zerosets_done cannot fail.
 *
 * Thread rules: one thread at a time.
 */
#include "txn/order/schedule.h"

enum { NONE = -1 };

/* From a key to a number: open addressing by the hash's upper bits; removal closes the gap. */
typedef struct Entry {
    uint64_t key;
    int64_t value;
} Entry; /* value NONE = free */
typedef struct Map {
    Entry *slots;
    int bits;
    int64_t used;
} Map;

typedef struct Node {   /* an operation of a waiting call */
    int64_t prev, next; /* in the item's list */
    int64_t sibling;    /* the call's next operation; the next free node */
    int64_t item, call; /* their places */
    uint8_t kind;       /* OpKind + 1: read | add = write */
    bool granted;
} Node;
typedef struct Item {
    uint64_t name;
    int64_t head, tail; /* head: next free item */
    int64_t granted;
} Item;
typedef struct Call {
    uint64_t id;
    void *who;
    int64_t first; /* operation; next free call */
    int64_t waits;
} Call;

struct ZeroSets {
    MemAccount *acct;
    uint64_t last; /* call added */
    bool any;
    Map items_by_name, calls_by_id;
    Node *nodes;
    Item *items;
    Call *calls;
    int64_t *heap;                                      /* ready calls; room for all */
    int64_t n_nodes, cap_nodes, free_node, spare_nodes; /* used so far, room, list of freed ones and its length */
    int64_t n_items, cap_items, free_item, spare_items;
    int64_t n_calls, cap_calls, free_call, spare_calls;
    int64_t ready, cap_heap;
};

/* ---- map ---- */
static int64_t home_of(const Map *m, uint64_t key) {
    return (int64_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - m->bits));
}
static int64_t map_at(const Map *m, uint64_t key) { /* of the key, or of the free slot for it */
    int64_t mask = (INT64_C(1) << m->bits) - 1, i = home_of(m, key);
    while (m->slots[i].value != NONE && m->slots[i].key != key) i = (i + 1) & mask;
    return i;
}
static Status map_reserve(Map *m, int64_t more, MemAccount *acct, Err *e) {
    if (m->slots && (m->used + more) * 2 <= INT64_C(1) << m->bits) return ST_OK;
    Map g = {.bits = MAX_OF(m->bits + 1, 6), .used = m->used};
    while (INT64_C(1) << g.bits < (m->used + more) * 2) g.bits++;
    g.slots = mem_alloc(acct, (int64_t)sizeof(Entry) << g.bits, e);
    if (!g.slots) return ST_ERROR;
    for (int64_t i = 0; i < INT64_C(1) << g.bits; i++) g.slots[i].value = NONE;
    for (int64_t i = 0; m->slots && i < INT64_C(1) << m->bits; i++)
        if (m->slots[i].value != NONE) g.slots[map_at(&g, m->slots[i].key)] = m->slots[i];
    if (m->slots) mem_free(acct, m->slots, (int64_t)sizeof(Entry) << m->bits);
    *m = g;
    return ST_OK;
}
static int64_t map_find(const Map *m, uint64_t key) { return m->slots ? m->slots[map_at(m, key)].value : NONE; }
static void map_put(Map *m, uint64_t key, int64_t value) {
    m->slots[map_at(m, key)] = (Entry){key, value};
    m->used++;
}
static void map_remove(Map *m, uint64_t key) {
    int64_t mask = (INT64_C(1) << m->bits) - 1, gap = map_at(m, key);
    for (int64_t i = (gap + 1) & mask; m->slots[i].value != NONE; i = (i + 1) & mask) {
        int64_t home = home_of(m, m->slots[i].key);
        if (((i - home) & mask) < ((i - gap) & mask)) continue; /* its home lies behind the gap */
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap].value = NONE;
    m->used--;
}

/* ---- rooms ---- */
ZeroSets *zerosets_new(MemAccount *acct, Err *e) {
    ZeroSets *z = mem_calloc(acct, (int64_t)sizeof *z, e);
    if (!z) return NULL;
    z->acct = acct;
    z->free_node = z->free_item = z->free_call = NONE;
    return z;
}
void zerosets_free(ZeroSets *z) {
    if (!z) return;
    MemAccount *a = z->acct;
    mem_free(a, z->items_by_name.slots, (int64_t)sizeof(Entry) << z->items_by_name.bits);
    mem_free(a, z->calls_by_id.slots, (int64_t)sizeof(Entry) << z->calls_by_id.bits);
    mem_free(a, z->nodes, z->cap_nodes * (int64_t)sizeof(Node));
    mem_free(a, z->items, z->cap_items * (int64_t)sizeof(Item));
    mem_free(a, z->calls, z->cap_calls * (int64_t)sizeof(Call));
    mem_free(a, z->heap, z->cap_heap * 8);
    mem_free(a, z, (int64_t)sizeof *z);
}
/* Room for `want` things; false when there is none. */
static bool grow(ZeroSets *z, void **p, int64_t *cap, int64_t want, int64_t size, Err *e) {
    if (want <= *cap) return true;
    int64_t to = MAX_OF(want, MAX_OF(*cap * 2, 64));
    void *q = mem_realloc(z->acct, *p, *cap * size, to * size, e);
    if (!q) return false;
    *p = q;
    *cap = to;
    return true;
}
static Status reserve(ZeroSets *z, int64_t n, Err *e) {
    TRY(map_reserve(&z->items_by_name, n, z->acct, e));
    TRY(map_reserve(&z->calls_by_id, 1, z->acct, e));
    bool ok =
        grow(z, (void **)&z->nodes, &z->cap_nodes, z->n_nodes + MAX_OF(n - z->spare_nodes, 0), (int64_t)sizeof(Node),
             e) &&
        grow(z, (void **)&z->items, &z->cap_items, z->n_items + MAX_OF(n - z->spare_items, 0), (int64_t)sizeof(Item),
             e) &&
        grow(z, (void **)&z->calls, &z->cap_calls, z->n_calls + (z->spare_calls == 0), (int64_t)sizeof(Call), e) &&
        grow(z, (void **)&z->heap, &z->cap_heap, z->cap_calls, 8, e);
    return ok ? ST_OK : ST_ERROR;
}

/* ---- ready calls ---- */
static bool earlier(const ZeroSets *z, int64_t a, int64_t b) { return z->calls[a].id < z->calls[b].id; }
static void push_ready(ZeroSets *z, int64_t call) {
    int64_t i = z->ready++;
    for (int64_t up; i > 0 && earlier(z, call, z->heap[up = (i - 1) / 2]); i = up) z->heap[i] = z->heap[up];
    z->heap[i] = call;
}
static int64_t pop_ready(ZeroSets *z) {
    int64_t top = z->heap[0], call = z->heap[--z->ready], i = 0;
    for (int64_t child; (child = 2 * i + 1) < z->ready; i = child) {
        if (child + 1 < z->ready && earlier(z, z->heap[child + 1], z->heap[child])) child++;
        if (!earlier(z, z->heap[child], call)) break;
        z->heap[i] = z->heap[child];
    }
    if (z->ready > 0) z->heap[i] = call;
    return top;
}

/* ---- calls ---- */
static int64_t new_node(ZeroSets *z) {
    int64_t k = z->free_node;
    if (k == NONE) return z->n_nodes++;
    z->free_node = z->nodes[k].sibling;
    z->spare_nodes--;
    return k;
}
static int64_t new_item(ZeroSets *z, uint64_t name) {
    int64_t k = z->free_item;
    if (k == NONE) {
        k = z->n_items++;
    } else {
        z->free_item = z->items[k].head;
        z->spare_items--;
    }
    z->items[k] = (Item){.name = name, .head = NONE, .tail = NONE};
    map_put(&z->items_by_name, name, k);
    return k;
}
static int64_t new_call(ZeroSets *z, uint64_t id, void *who) {
    int64_t k = z->free_call;
    if (k == NONE) {
        k = z->n_calls++;
    } else {
        z->free_call = z->calls[k].first;
        z->spare_calls--;
    }
    z->calls[k] = (Call){.id = id, .who = who, .first = NONE};
    map_put(&z->calls_by_id, id, k);
    return k;
}
/* An operation comes to the end of its item's list. */
static void enter_op(ZeroSets *z, int64_t call, const TxnOp *op) {
    int64_t item = map_find(&z->items_by_name, op->item);
    if (item == NONE) item = new_item(z, op->item);
    Item *it = &z->items[item];
    uint8_t kind = (uint8_t)((op->kind == OPK_FETCH_ADD ? OPK_WRITE : op->kind) +
                             1); /* calls that are taken out run at once, in any order */
    if (it->tail != NONE && z->nodes[it->tail].call == call) {
        z->nodes[it->tail].kind |= kind;
        return;
    }
    int64_t k = new_node(z);
    z->nodes[k] = (Node){
        .prev = it->tail, .next = NONE, .sibling = z->calls[call].first, .item = item, .call = call, .kind = kind};
    z->calls[call].first = k;
    if (it->tail == NONE) it->head = k;
    else z->nodes[it->tail].next = k;
    it->tail = k;
}
static bool commutes(const Node *a, const Node *b) { return a->kind == b->kind && a->kind != OPK_WRITE + 1; }

Status zerosets_add(ZeroSets *z, uint64_t call, void *who, int64_t n, const TxnOp *ops, Err *e) {
    if (z->any && call <= z->last)
        return err_internal(e, "call %llu comes after call %llu", (unsigned long long)call,
                            (unsigned long long)z->last);
    TRY(reserve(z, n, e));
    z->any = true;
    z->last = call;
    int64_t c = new_call(z, call, who);
    for (int64_t i = 0; i < n; i++) enter_op(z, c, &ops[i]);
    for (int64_t k = z->calls[c].first; k != NONE; k = z->nodes[k].sibling) {
        Node *node = &z->nodes[k];
        /* What is granted is one group at the head: joining its last member is joining it. */
        node->granted = node->prev == NONE || (z->nodes[node->prev].granted && commutes(&z->nodes[node->prev], node));
        if (node->granted) z->items[node->item].granted++;
        else z->calls[c].waits++;
    }
    if (z->calls[c].waits == 0) push_ready(z, c);
    return ST_OK;
}

int64_t zerosets_take(ZeroSets *z, int64_t max, uint64_t *calls, void **who) {
    int64_t n = 0;
    for (; n < max && z->ready > 0; n++) {
        const Call *c = &z->calls[pop_ready(z)];
        calls[n] = c->id;
        if (who) who[n] = c->who;
    }
    return n;
}

/* The head's group may go. */
static void grant(ZeroSets *z, Item *it) {
    for (int64_t k = it->head; k != NONE; k = z->nodes[k].next) {
        Node *node = &z->nodes[k];
        if (k != it->head && !commutes(&z->nodes[it->head], node)) return;
        node->granted = true;
        it->granted++;
        if (--z->calls[node->call].waits == 0) push_ready(z, node->call);
    }
}
static void leave_op(ZeroSets *z, int64_t k) {
    Node *node = &z->nodes[k];
    Item *it = &z->items[node->item];
    if (node->prev == NONE) it->head = node->next;
    else z->nodes[node->prev].next = node->next;
    if (node->next == NONE) it->tail = node->prev;
    else z->nodes[node->next].prev = node->prev;
    it->granted--;
    if (it->head == NONE) {
        map_remove(&z->items_by_name, it->name);
        it->head = z->free_item;
        z->free_item = node->item;
        z->spare_items++;
    } else if (it->granted == 0) {
        grant(z, it);
    }
    node->sibling = z->free_node;
    z->free_node = k;
    z->spare_nodes++;
}

void zerosets_done(ZeroSets *z, int64_t n, const uint64_t *calls) {
    for (int64_t i = 0; i < n; i++) {
        int64_t c = map_find(&z->calls_by_id, calls[i]);
        dbg_assert(c != NONE && z->calls[c].waits == 0);
        if (c == NONE) continue;
        for (int64_t k = z->calls[c].first, next; k != NONE; k = next) {
            next = z->nodes[k].sibling;
            leave_op(z, k);
        }
        map_remove(&z->calls_by_id, calls[i]);
        z->calls[c].first = z->free_call;
        z->free_call = c;
        z->spare_calls++;
    }
}
