/* store_int.h - what the files of an image share: image.c, garbage.c, home.c, home_save.c, image_index.c,
 * device_copy.c, image_order.c, device_kernels.c, image_sync.c, image_texts.c, rowids.c, texts.c only. */
#ifndef STELE_TXN_STORE_STORE_INT_H
#define STELE_TXN_STORE_STORE_INT_H

#include "base/mutex.h"
#include "storage/row_home.h"
#include "txn/store/image.h"

enum { ENTRY_ROW_BITS = 40, IMAGE_KEY_COLS = 32, IMAGE_BATCH = 256 };
#define ENTRY_ROW_MASK ((UINT64_C(1) << ENTRY_ROW_BITS) - 1)

/* A chunk of strings: its bytes follow. */
typedef struct TextChunk {
    struct TextChunk *next;
    int64_t size;       /* bytes that follow */
    int64_t used;       /* atomic; beyond size when a request did not fit */
    int64_t held, most; /* bytes of memory with this, and of addresses (mem_span_new); most 0: not a span */
} TextChunk;
/* The strings of an image that are not the table's (texts.c). Tablets whose cells refer to them may outlive it. */
typedef struct TextHeap {
    HomeTexts base; /* first */
    MemAccount *account;
    TextChunk *chunks; /* newest first: the one being filled; atomic */
} TextHeap;
TextHeap *text_heap_new(MemAccount *a, Err *e);
void text_chunks_free(TextHeap *h, TextChunk *c); /* and all behind it */
int64_t text_heap_used(const TextHeap *h);        /* bytes of strings that were put there */
bool text_heap_has(const TextHeap *h, const char *p);
/* The chunks of `from`, which only its image has, go to h. No call running. */
void text_heap_join(TextHeap *h, TextHeap *from);
/* Tablets have it, too: chunks stay while they may refer to them. */
static inline bool text_heap_is_shared(const TextHeap *h) { return atomic_load(&h->base.refs) > 1; }
/* What the piece of all strings has room for, behind them, goes back, on both sides (image_texts.c). */
void texts_trim(Image *im);
/* The host has cells as the device had them: pieces before the gathered one are not wanted any more (image_texts.c). */
void image_drop_texts(Image *im);

/* The memory of an image's pieces of rows, which tablets may have their cells in (home.c). */
typedef struct ImageHome {
    RowHome base; /* first */
    MemAccount *account;
    uint8_t *rows[ROW_PIECES];
    int64_t bytes[ROW_PIECES];
} ImageHome;

struct ImageImpl {
    bool *writes;           /* by column: image_sync updates these */
    int64_t *at, *valid_at; /* by column: where the cell is in its piece of the row, and the byte that says whether it
                               has a value */
    /* What arrays have room for, in rows: image->cap or more, when a growth failed half way. */
    int64_t pieces_cap[ROW_PIECES];
    int64_t live_cap, dirty_cap;
    int64_t rowids_cap;         /* in runs */
    int64_t *next_cap;          /* by index */
    int64_t rows_seen;          /* image->rows when image_reserve looked last */
    ImageHome *home;            /* of the pieces of rows */
    struct HomeTablet *tablets; /* by tablet: those whose rows lie in the image in their order */
    int64_t tablets_cap;
    int64_t synced_rows; /* rows from here on came since the table was last brought up to date */
    bool alone;          /* no tablet has cells in rows of an image before */
    bool settled;        /* the table's tablets have their cells here */
    int32_t calm;        /* bulks without a way back to come before it settles again */
    Mutex heap_lock;
    TextChunk *gathered;              /* has all strings while it is the newest one; NULL: not yet */
    int64_t text_bytes, text_rows;    /* what it had when it was made, of so many rows */
    int64_t rows_looked, text_looked; /* rows, and bytes of strings, when garbage_bytes looked last */
    bool moved;                       /* ... on a device: chunks before it are for the host's cells, which are older */
    Arena *arena;
    Pool *pool; /* of image_make, for making indexes larger; NULL: none */
};

static inline TextHeap *text_heap(const Image *im) { return (TextHeap *)(void *)im->impl->home->base.texts; }

int64_t count_live(const uint8_t *live, int64_t rows);
/* Bytes of the strings that a newer copy on a device needs; false: the device could not say. */
bool texts_there(const Image *im, int64_t *bytes);

/* home.c */
Status home_new(Image *im, Err *e);
/* The first n rows of a tablet are the image's from `row` on; -1: they are not there in their order. */
Status home_note_tablet(Image *im, int64_t tablet, int64_t row, int64_t n, Err *e);
int64_t home_first_row(const Image *im, int64_t tablet); /* -1: its rows are not there in their order */
/* ... of a tablet that has cells here: also when it has lost rows since. */
int64_t home_row_of(const Image *im, int64_t tablet);
void home_free(Image *im);                     /* what the image has of it */
void home_forget_tablets(Image *im);           /* rows have got other numbers */
void home_moved(Image *im);                    /* pieces of rows have other addresses */
bool home_takes(const Image *im, int32_t col); /* a column whose cells tablets may have here */
HomeCells home_cells(const Image *im, int32_t col, int64_t row);
/* The tablet's rows come just before this one, with all columns that can have their cells here. */
bool home_ends_at(const Image *im, int64_t tablet, int64_t row);
/* Its rows lie in the image in their order, with all columns that bulks write and that can have their cells here. */
bool home_has_tablet(const Image *im, int64_t tablet);

/* rowids.c: which rows of the table the image's are. */
/* Rows [row, row + n) may get the numbers from `first` on. Changes no row's. 53200. */
Status rowids_room(Image *im, int64_t row, int64_t n, int64_t first, Err *e);
/* ... may get any numbers. 53200. */
Status rowids_room_any(Image *im, int64_t row, int64_t n, Err *e);
/* A number that there is room for; -1: a row that is dead, and has no mark as soon as this counts. */
void rowids_put(Image *im, int64_t row, int64_t rowid);
/* Those of the rows that stay when gaps between `rows` rows are closed, rowids_cap runs. 53200. */
Status rowids_without_gaps(const Image *im, int64_t rows, RowidRun **out, Err *e);
void rowids_free(MemAccount *a, RowidRun *runs, int64_t cap);
/* Neither there, nor to be deleted from the table when it is brought up to date (image.c). */
bool row_is_gap(const Image *im, int64_t row);

/* The columns of a key, of one row or of many. */
typedef struct KeyCols {
    int32_t n;
    struct {
        const char *data;
        const uint8_t *valid;
        int64_t stride, valid_stride;
        uint8_t phys;
        const char *cells;
        int64_t row_stride;
    } col[IMAGE_KEY_COLS];
} KeyCols;
void image_key_cols(const Image *im, const ImageIndex *x, const void *const *keys, KeyCols *k);

ALWAYS_INLINE uint64_t entry_make(uint64_t hash, int64_t row) { return (hash & ~ENTRY_ROW_MASK) | ((uint64_t)row + 1); }
ALWAYS_INLINE int64_t entry_row(uint64_t entry) { return (int64_t)(entry & ENTRY_ROW_MASK) - 1; }
ALWAYS_INLINE bool entry_is(uint64_t entry, uint64_t hash) { return ((entry ^ hash) & ~ENTRY_ROW_MASK) == 0; }
ALWAYS_INLINE uint8_t row_state(const Image *im, int64_t row) {
    return __atomic_load_n(&im->live[row], __ATOMIC_ACQUIRE);
}

/* Hashes of keys first .. first + n - 1 of k (n <= IMAGE_BATCH); skip[i] = it has a NULL, or its row is not live: cells
 * of dead rows may be anything. `live` by key, NULL: all are. */
void image_hash_keys(const KeyCols *k, const uint8_t *live, int64_t first, int64_t n, uint64_t *hash, bool *skip);
/* Looks at the keys of all rows: which of the first ones need no entries (ImageIndex.dense). Packed: as it will be when
 * there are no gaps any more (row_is_gap). No call running, and no row that is dead comes back. */
int64_t index_dense_rows(const Image *im, const ImageIndex *x, bool packed, uint64_t *first_key);
/* The row whose number follows from the key, whether it lives or not; -1: none. */
int64_t index_dense_row(const Image *im, const ImageIndex *x, const void *const *keys);
/* Enters live rows [first, last) that need entries. `shared`: other threads enter rows of the same index. */
void image_enter_rows(Image *im, ImageIndex *x, int64_t first, int64_t last, bool shared);
/* Slots that are taken; the entries of n slots to x, whose slots have room and are another table. No call running. */
int64_t image_count_entries(const ImageIndex *x);
void image_move_entries(const Image *im, ImageIndex *x, const uint64_t *from, int64_t n);
/* A row that is pending: false when a live row has the key. Waits for rows that are pending with the same key. */
bool image_enter_unique(Image *im, ImageIndex *x, int64_t row);
void image_enter_group(Image *im, ImageIndex *x, int64_t row);
/* A row that was dead is there again: ordered groups find it again. */
void image_back_in_order(const Image *im, int64_t row);

/* image_order.c: rows of an ordered group, by its anchor. */
/* The first row of a group, before its slot says so. */
void order_begin(const ImageIndex *x, int64_t row);
void order_enter(const Image *im, const ImageIndex *x, int64_t anchor, int64_t row);
/* For a row that was entered before. */
void order_again(const Image *im, const ImageIndex *x, int64_t anchor, int64_t row);
int64_t order_first(const Image *im, const ImageIndex *x, int64_t anchor); /* live; -1 none */
int64_t order_next(const Image *im, const ImageIndex *x, int64_t row);
int64_t order_after(const Image *im, const ImageIndex *x, int64_t anchor, int64_t value, bool at);
/* *live: rows of the group that are there. */
Status order_verify(const Image *im, const ImageIndex *x, int64_t anchor, int64_t *live, Err *e);
/* Before the first copy on a device: indexes as empty as devices want them. No call runs. 53200. */
Status indexes_spread(Image *im, Err *e);
ALWAYS_INLINE int64_t slot_at(const ImageIndex *x, uint64_t hash, uint64_t n) {
    return (int64_t)SLOT_AT(hash, n, (uint64_t)x->mask);
}
/* How full an index's slots may be: the fuller they are, the longer searches get, and the emptier, the more memory it
 * takes. On a device, where a search reads 4 slots at a time and one that finds nothing goes on to a free one, 0.7 cost
 * TM-1 a sixth of its rate. */
static inline int64_t entries_fit(int64_t slots, bool device) { return device ? slots / 2 : slots / 10 * 7; }
static inline bool slots_suffice(int64_t slots, int64_t entries, bool device) {
    return entries <= entries_fit(slots, device);
}
/* Slots for so many entries. */
static inline int64_t image_slots_for(int64_t entries, bool device) {
    int64_t n = 64;
    while (!slots_suffice(n, entries, device)) n *= 2;
    return n;
}

#endif
