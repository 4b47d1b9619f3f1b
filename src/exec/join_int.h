/* join_int.h - what join.c (build), join_map.c (the finished map) and join_probe.c share; no other file includes it.
 *
 * A finished build side is one contiguous array of rows, grouped by key, and a map from key to rows:
 *
 *   FULL      every value of the domain is there once: row number = key - min
 *   RANK      a bit per value of the domain with running counts, 32 values per 64-bit word:
 *               word = count of set bits before it << 32 | bits;  row number = count + popcount(bits below)
 *             A quarter byte per value: the map of millions of keys stays in the second-level cache, a probe reads one
 *             word, and rows in key order are as dense as they can be.
 *   *_DUP     the same number, called group, indexes `starts`: rows starts[g] .. starts[g+1]-1
 *   HASH1     one integer key. Directory of 2^k entries, row number << 16 | tags: bucket b (top bits of the hash) owns
 *             rows dir[b]>>16 .. dir[b+1]>>16, and bit (hash & 15) of its tags is set for each of its rows
 *   HASHN     the same for any keys; rows carry their hash
 *   BITMAP    existence only: one bit per value, no rows
 *
 * Rows whose key can never match (NULL) come last and belong to no group.
 */
#ifndef STELE_EXEC_JOIN_INT_H
#define STELE_EXEC_JOIN_INT_H

#include "base/hash.h"
#include "base/mutex.h"
#include "base/vfs.h"
#include "exec/join.h"
#include "exec/rows_int.h"

/* CASE(P) for every phys that a key may have: loops over keys are compiled once for each. */
#define EACH_KEY_PHYS(CASE) \
    CASE(PH_BOOL)           \
    CASE(PH_I16)            \
    CASE(PH_I32)            \
    CASE(PH_I64)            \
    CASE(PH_I128)           \
    CASE(PH_F32)            \
    CASE(PH_F64)            \
    CASE(PH_STR)            \
    CASE(PH_INTERVAL)       \
    CASE(PH_UUID)

#if defined(__x86_64__)
#define TARGET_V3 __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2")))
#else
#define TARGET_V3
#endif

typedef enum JoinForm { JF_EMPTY, JF_BITMAP, JF_FULL, JF_RANK, JF_FULL_DUP, JF_RANK_DUP, JF_HASH1, JF_HASHN } JoinForm;

typedef struct JoinMap {
    JoinForm form;
    bool unique;
    bool null_slot;    /* dense forms: index `dom` stands for NULL */
    uint64_t min, dom; /* dense forms: index = key - min < dom */
    uint64_t *words;   /* BITMAP: 64 values each; RANK: 32 values and their count */
    int64_t words_bytes;
    uint32_t *starts;
    int64_t starts_bytes;
    uint64_t *dir;
    int64_t dir_bytes;
    int shift;
    char *rows;
    int64_t rows_bytes, width;
    int64_t n_rows, n_keyed;
} JoinMap;

typedef struct JoinWorker {
    int64_t min, max; /* of single integer keys */
    int64_t n, orphans;
    bool null_key;
    uint64_t *hash;
    int32_t *sel;
    uint8_t *null;
    int64_t cap; /* rows the buffers above have room for */
    Vec *cols;
    char pad[64];
} JoinWorker;

enum { JOIN_PARTS_MAX = 64, JOIN_MORSEL = 16384, JOIN_BLOCK = 16384 };

struct JoinTable {
    const JoinSpec *spec;
    const QueryStop *stop;
    Arena *arena;
    MemAccount *acct; /* &own */
    MemAccount own;   /* below the query's; with a reserve while a partition is loaded */
    Vfs *vfs;
    const char *temp_dir;
    Pool *pool;
    int workers, threads;
    RowLayout l; /* keys, payload, then hash and mark if any */
    int32_t n_keys, n_payload;
    int32_t hash_col, mark_col; /* -1 = none. Mark: place in its partition << 1 | matched */
    bool single_int;            /* one key of phys BOOL, I16, I32, I64 */
    bool exists, eager;         /* eager: bits are set while building */
    bool null_equal_any;
    bool v3, v4; /* instruction sets: AVX2 with popcnt, AVX-512 with vpopcntdq */
    JoinWorker *w;
    RowStore *staged;
    JoinMap map;
    bool finished;
    int64_t n_rows; /* all partitions */
    bool null_key;
    int64_t mark_zero;
    /* partitions */
    Mutex lock;
    _Atomic bool partitioned;
    int32_t n_parts;
    int64_t part_page_bytes;
    RowStore *part[JOIN_PARTS_MAX];
    uint64_t *matched[JOIN_PARTS_MAX]; /* of partitions that were resident, bits by place */
    int64_t matched_bytes[JOIN_PARTS_MAX];
    int32_t resident;
    RowRun *pins; /* pages of the resident partition whose strings are in use */
    int64_t n_pins, cap_pins;
};

/* A block of build rows to make the map from, small enough to be shared out. `page` is that of the last block of a page
 * and NULL for all others (and for pages that are not released once their rows are copied). */
typedef struct JoinSrc {
    char *rows;
    int64_t n;
    RowStore *store;
    RowPage *page;
} JoinSrc;

ALWAYS_INLINE int64_t load_int(const void *p, uint8_t phys) {
    switch (phys) {
    case PH_BOOL: return *(const uint8_t *)p;
    case PH_I16: return *(const int16_t *)p;
    case PH_I32: return *(const int32_t *)p;
    default: return *(const int64_t *)p;
    }
}
static inline uint64_t join_hash_int(int64_t key) { return hash_constant ? 0 : hash_u64((uint64_t)key); }
/* Bits apart from those that pick a bucket (top) or a tag (lowest four). */
static inline int32_t join_part_of_hash(const JoinTable *j, uint64_t h) {
    return (int32_t)(h >> 8 & (uint64_t)(j->n_parts - 1));
}

/* join_map.c. Makes the map from n_src blocks holding n rows of which `orphans` cannot match; min and max over the keys
 * of all others. On failure nothing is left. */
Status join_map_build(JoinTable *j, JoinSrc *src, int64_t n_src, int64_t n, int64_t orphans, int64_t min, int64_t max,
                      Err *e);
void join_map_free(JoinTable *j);
/* Bytes the map will take on top of the staged rows. */
int64_t join_map_need(const JoinTable *j, int64_t n);
/* Hashes of rows from .. from+n-1; NULLs (of null_equal keys) hash alike. */
void join_hash_keys(const JoinTable *j, int64_t from, int64_t n, const Vec *keys, uint64_t *out);
/* True when row b has the keys of row a. */
bool join_rows_equal(const JoinTable *j, const char *a, const char *b);
bool join_float_eq(uint8_t phys, const void *a, const void *b);

#endif
