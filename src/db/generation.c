/* generation.c - see generation.h. */
#include "db/generation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "storage/table_parts.h"

enum { CURRENT_FORMAT = 2, CURRENT_ROOM = 256, NAME_ROOM = 64 };

/* ---- paths ---- */
char *generation_file(Arena *a, const char *dir, int64_t generation, const char *name) {
    if (generation <= 0) return arena_printf(a, "%s/%s", dir, name ? name : "");
    if (!name) return arena_printf(a, "%s/g%" PRId64, dir, generation);
    return arena_printf(a, "%s/g%" PRId64 "/%s", dir, generation, name);
}
char *generation_path(Arena *a, const Database *db, int64_t generation, const char *name) {
    return generation_file(a, db->path, generation, name);
}
char *generation_table(Arena *a, const Database *db, int64_t generation, int64_t id) {
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "%" PRId64 ".tab", id);
    return generation_path(a, db, generation, name);
}
char *generation_part(Arena *a, const Database *db, int64_t generation, int64_t id, uint64_t seal) {
    char name[PART_NAME_ROOM];
    table_part_name(name, id, seal);
    return generation_path(a, db, generation, name);
}
char *generation_logged_table(Arena *a, const Database *db, int64_t generation, int64_t lsn, int64_t id) {
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "%" PRIx64 "-%" PRId64 ".tab", (uint64_t)lsn, id);
    return generation_path(a, db, generation, name);
}

/* ---- CURRENT ---- */
static int64_t with_checksum(char *text, int64_t n) {
    return n + snprintf(text + n, CURRENT_ROOM - (size_t)n, "checksum %016" PRIx64 "\n", checksum64(text, n));
}
/* Format 1 has the generation only. */
static int64_t current_text(const Current *c, char *text) {
    if (c->database == 0)
        return with_checksum(text, snprintf(text, CURRENT_ROOM, "stele 1\ngeneration %" PRId64 "\n", c->generation));
    return with_checksum(text, snprintf(text, CURRENT_ROOM,
                                        "stele %d\ngeneration %" PRId64 "\ndatabase %016" PRIx64 "\ntimeline %" PRId64
                                        "\nlsn %" PRId64 "\nlog %s\n",
                                        CURRENT_FORMAT, c->generation, (uint64_t)c->database, c->timeline, c->lsn,
                                        c->has_log ? "yes" : "no"));
}
static Status new_number(int64_t *out, Err *e) {
    while (*out == 0)
        if (getrandom(out, sizeof *out, 0) != (ssize_t)sizeof *out)
            return err_set(e, ERR_SYSTEM, "could not generate random values");
    return ST_OK;
}
Status current_write(const Database *db, Arena *a, Current *c, Err *e) {
    char text[CURRENT_ROOM];
    TRY(new_number(&c->database, e));
    c->timeline = MAX_OF(c->timeline, INT64_C(1));
    c->lsn = MAX_OF(c->lsn, (int64_t)FIRST_LSN);
    const int64_t n = current_text(c, text);
    char *tmp = generation_path(a, db, 0, "CURRENT.tmp"), *path = generation_path(a, db, 0, "CURRENT");
    if (!tmp || !path) return ST_ERROR;
    TRY(vfs_write_file(db->vfs, tmp, text, n, e));
    TRY(db->vfs->rename(db->vfs, tmp, path, e));
    return db->vfs->sync_dir(db->vfs, db->path, e);
}
/* The number behind a word; 0: there is none. That it was all of the line is found out by writing the text again. */
static int64_t number_of(const char *text, const char *word, int base) {
    const char *at = strstr(text, word);
    return at ? (int64_t)strtoull(at + strlen(word), NULL, base) : 0;
}
Status current_read(Vfs *vfs, const char *dir, Arena *a, Current *out, bool *there, Err *e) {
    char *path = generation_file(a, dir, 0, "CURRENT"), *p = NULL, want[CURRENT_ROOM];
    int64_t len;
    *out = (Current){0};
    if (!path) return ST_ERROR;
    TRY(vfs_read_file(vfs, a, path, &p, &len, e));
    *there = len >= 0;
    if (!*there) return ST_OK;
    out->generation = number_of(p, "\ngeneration ", 10);
    out->database = number_of(p, "\ndatabase ", 16);
    out->timeline = number_of(p, "\ntimeline ", 10);
    out->lsn = number_of(p, "\nlsn ", 10);
    out->has_log = strstr(p, "\nlog yes\n") != NULL;
    if (out->generation < 0 || current_text(out, want) != len || memcmp(want, p, (size_t)len) != 0)
        return err_corrupted(e, path, 0, "not a valid generation");
    return ST_OK;
}

/* ---- directories ---- */
bool generation_of_name(const char *name, int64_t *out) {
    if (name[0] != 'g' || !name[1] || strlen(name) > 18) return false;
    *out = 0;
    for (const char *p = name + 1; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        *out = *out * 10 + (*p - '0');
    }
    return *out > 0;
}
typedef struct Listing {
    Arena *a;
    GenerationList *generations;
} Listing;
static Status each_generation(void *ctx, const char *name, Err *e) {
    const Listing *l = ctx;
    int64_t g;
    if (!generation_of_name(name, &g)) return ST_OK;
    if (!vec_push(l->a, l->generations, g)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    return ST_OK;
}
static int by_number(const void *a, const void *b) {
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}
Status generations_list(Vfs *vfs, const char *dir, Arena *a, GenerationList *out, Err *e) {
    Listing l = {a, out};
    TRY(vfs->list(vfs, dir, each_generation, &l, e));
    if (out->len > 1) qsort(out->items, (size_t)out->len, sizeof *out->items, by_number);
    return ST_OK;
}

typedef struct Names {
    Arena *a;
    VEC(char *) v;
} Names;
static Status each_name(void *ctx, const char *name, Err *e) {
    Names *n = ctx;
    char *copy = arena_strdup(n->a, name);
    if (!copy || !vec_push(n->a, &n->v, copy)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    return ST_OK;
}
/* <id>.tab, <id>-<checksum>.part, catalog */
static bool is_saved(const char *name) {
    const char *p = name, *end = strrchr(name, '.');
    while (*p >= '0' && *p <= '9') p++;
    return (p > name && strcmp(p, ".tab") == 0) || (end && strcmp(end, ".part") == 0) || strcmp(name, "catalog") == 0;
}
static void remove_files(const Database *db, Arena *a, int64_t generation, bool all) {
    Err ignored = {0};
    bool there = false;
    char *dir = generation_path(a, db, generation, NULL);
    if (!dir || generation <= 0 || db->vfs->exists(db->vfs, dir, &there, &ignored) != ST_OK || !there) return;
    Names n = {.a = a};
    db->vfs->list(db->vfs, dir, each_name, &n, &ignored);
    for (int64_t i = 0; i < n.v.len; i++) {
        char *p = generation_path(a, db, generation, n.v.items[i]);
        err_clear(&ignored);
        if (p && (all || is_saved(n.v.items[i]))) db->vfs->remove(db->vfs, p, &ignored);
    }
    err_clear(&ignored);
    if (all) db->vfs->remove(db->vfs, dir, &ignored);
}
void generation_remove(const Database *db, Arena *a, int64_t generation) { remove_files(db, a, generation, true); }
void generation_remove_saved(const Database *db, Arena *a, int64_t generation) {
    remove_files(db, a, generation, false);
}
