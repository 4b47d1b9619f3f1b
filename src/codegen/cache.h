/* cache.h - compiled kernels, in memory and on disk.
 *
 * Key: hash (xxh3-128) of source, options, device arch and compiler version. A kernel is looked up in memory, then in the directory
 * (STELE_CACHE_DIR, else $XDG_CACHE_HOME/stele, else ~/.cache/stele; "" or unwritable = memory only, said once in the log), then compiled. Files are
 * written to a temporary name and renamed; each has a header with magic, version, the full key and a checksum, so that a torn, foreign or damaged file is
 * a miss and never loaded. Several processes share the directory without locks: the worst case is compiling twice. When the directory
 * exceeds its limit (settings: code_cache_size, default 256 MiB), least recently used files go (mtime is touched on use, at most once a minute).
 *
 * Compiling beside execution: code_get with wait = false starts a compilation on the cache's own thread and returns CODE_PENDING
 * at once; a later call finds the module. A failed compilation is remembered (with its error) until the process ends, so that it is not tried over
 * and over. Identical requests while one is under way share it.
 *
 * Modules are loaded once per device and stay loaded, least recently used ones are unloaded beyond `modules_max` when nobody holds them
 * (code_release). Thread rules: every function from any thread.
 */
#ifndef STELE_CODEGEN_CACHE_H
#define STELE_CODEGEN_CACHE_H

#include "device/device.h"

typedef struct CodeCache CodeCache;
typedef enum CodeState { CODE_READY, CODE_PENDING, CODE_FAILED } CodeState;
typedef struct CodeStats { int64_t memory_hits, disk_hits, compiled, failed, pending, compile_ns, disk_bytes; } CodeStats;

/* dir NULL: from the environment as above. */
Status code_cache_new(const char *dir, int64_t max_bytes, CodeCache **out, Err *e);
/* Waits for a running compilation. All modules must have been released; the devices must still be open. */
void code_cache_free(CodeCache *c);
void code_cache_set_limit(CodeCache *c, int64_t max_bytes);

typedef struct CodeRef { /* a loaded module, held until code_release */
    DevModule *module;
    bool from_memory, from_disk; /* neither: compiled by this call or beside it */
    int64_t compile_ns;          /* what compiling it took, when it happened in this process */
    struct CodeEntry *entry;
} CodeRef;
/* `source` is copied when needed. READY: *out is filled. PENDING only when !wait. FAILED: *e has the compiler's error (every time). */
CodeState code_get(CodeCache *c, Device *d, const char *source, const char *options, bool wait, CodeRef *out, Err *e);
void code_release(CodeCache *c, CodeRef *ref);
/* Forgets modules of a device that is about to be closed. */
void code_cache_drop_device(CodeCache *c, Device *d);
/* Waits until nothing is pending (tests, benchmarks). */
void code_cache_drain(CodeCache *c);
void code_cache_stats(CodeCache *c, CodeStats *out);

#endif
