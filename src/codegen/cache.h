/* cache.h - compiled kernels, in memory and on disk.
 *
 * Key: hash (xxh3-128) of source, prelude, options, device arch and compiler version. Lines KERNEL_PRELUDE_INCLUDE and
 * KERNEL_PART in the source are replaced by the prelude and its parts when it is compiled (codegen/prelude.h). A kernel
 * is looked up in memory, then in the directory (STELE_CACHE_DIR, else $XDG_CACHE_HOME/stele, else ~/.cache/stele),
 * then compiled. The directory is made when missing, readable for its owner only. When there is none ("" or nothing
 * set), when it cannot be written, belongs to another user, or can be written by everybody, kernels are kept in memory
 * only, logged once. Files are written to a temporary name and renamed; each has a header with magic, version,
 * the full key and a checksum, so that a torn, foreign or damaged file is a miss and never loaded; so is one that the
 * device refuses to load. Several processes share the directory without locks: the worst case is compiling twice. When
 * the directory exceeds its limit (settings: code_cache_size, default 256 MiB), least recently used files go (mtime is
 * touched on use, at most once a minute).
 *
 * Compiling beside execution: code_get with wait = false looks in memory and in the directory, starts a compilation on
 * the cache's own thread and returns CODE_PENDING; a later call finds the module. A failed compilation is remembered
 * (with its error) until the process ends, so that it is not tried over and over; only failures for want of memory or
 * of the device itself are reported once and then tried again. Identical requests while one is under way share it:
 * those that wait get the same module; one that waits for a compilation not yet begun does it itself, out of turn.
 *
 * Bounds: 1024 loaded modules (least recently used ones without a reference are unloaded beyond that), 256 remembered
 * failures, 256 compilations in the queue: a request beyond those is not queued, CODE_PENDING then means "ask again".
 *
 * Looking up costs a hash over the source (some 10 us for 100 KB). A caller that runs the same code again and again
 * should keep its CodeRef.
 *
 * Thread rules: every function from any thread, code_cache_free after all others.
 */
#ifndef STELE_CODEGEN_CACHE_H
#define STELE_CODEGEN_CACHE_H

#include "device/device.h"

typedef struct CodeCache CodeCache;
typedef enum CodeState { CODE_READY, CODE_PENDING, CODE_FAILED } CodeState;
typedef struct CodeStats { /* since code_cache_new */
    int64_t memory_hits, disk_hits;
    int64_t compiled, failed; /* attempts, each once however many asked */
    int64_t pending;          /* now: queued or under way */
    int64_t compile_ns;
    int64_t disk_bytes; /* of the directory, as last seen: other processes change it too */
    const char *path;   /* the directory; "" when none is named. Valid as long as the cache */
    const char *why;    /* why kernels are kept in memory only; NULL: they are in the directory */
} CodeStats;

/* dir NULL: from the environment as above; "": memory only. max_bytes of the directory's files: 0 keeps none, negative
 * is no limit. Fails only for want of memory. */
Status code_cache_new(const char *dir, int64_t max_bytes, CodeCache **out, Err *e);
/* Waits for a running compilation. All modules must have been released; the devices must still be open. */
void code_cache_free(CodeCache *c);
void code_cache_set_limit(CodeCache *c, int64_t max_bytes);

typedef struct CodeRef { /* a loaded module, held until code_release */
    DevModule *module;
    bool from_memory, from_disk; /* neither: compiled while this call lasted, by it or beside it */
    int64_t compile_ns;          /* what compiling it took, when it happened in this process; else 0 */
    struct CodeEntry *entry;
} CodeRef;
/* `source` is copied when needed; `options` NULL is "". READY: *out is filled. PENDING only when !wait. FAILED: *e has
 * the compiler's error (every time). */
CodeState code_get(CodeCache *c, Device *d, const char *source, const char *options, bool wait, CodeRef *out, Err *e);
/* Kernels whose text is a part of the library. */
typedef struct KernelSet {
    const char *text; /* what comes behind the prelude */
    const char *const *names;
    int32_t n; /* of these */
    int32_t n_params;
    int32_t group_size;  /* 0: the device's group_rows */
    const char *defines; /* lines in front of the prelude, NULL: none */
} KernelSet;
/* The same for these: kernels[i] is that called names[i], until *out is released; NULL: only the module is wanted. A
 * module that *out has already is not looked up again. Memory for the source is `account`'s. */
CodeState code_get_set(CodeCache *c, Device *d, MemAccount *account, const KernelSet *set, bool wait, CodeRef *out,
                       DevKernel **kernels, Err *e);
CodeRef code_again(CodeCache *c, const CodeRef *ref); /* another reference to the same code */
void code_release(CodeCache *c, CodeRef *ref);
/* Says that a reference that was kept is used again: unused files go first. Takes some 0.1 us, and more once
 * a minute. */
void code_used(CodeCache *c, const CodeRef *ref);
/* Forgets the modules of a device that is about to be closed, after its running compilation. No code_get for it may be
 * under way; a module still held is unloaded by its code_release, which must come before the device closes. */
void code_cache_drop_device(CodeCache *c, Device *d);
/* Waits until nothing is pending (tests, benchmarks). */
void code_cache_drain(CodeCache *c);
void code_cache_stats(CodeCache *c, CodeStats *out);

#endif
