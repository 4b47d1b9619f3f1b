/* window_space.c - the memory of a batch.
 *
 * A partition with all its columns and results may be larger than the memory that the query may have. Blocks come from
 * an arena as long as the account has room for them beside what others need; after that they are pieces of a temporary
 * file, mapped: the system writes them back and reads them again as it has to. Room in the file is taken before it is
 * mapped, so that a full disk is an error of the query. Functions read and write such rows as any others; most go
 * through them in order.
 */
#include "base/vfs.h"
#include "exec/window_int.h"

enum { SMALL = 64 << 10, TEXT_BLOCK = 256 << 10 };

Status win_space_init(WinSpace *s, const WindowEnv *env, Err *e) {
    int64_t room = mem_headroom(env->account);
    *s = (WinSpace){.env = env, .reserve = room == INT64_MAX ? 0 : room / 2};
    return (s->a = arena_new(env->account, e)) ? ST_OK : ST_ERROR;
}

static void unmap_all(WinSpace *s) {
    for (int64_t i = 0; i < s->maps.len; i++) s->env->vfs->unmap(s->maps.items[i].p, s->maps.items[i].size);
    s->maps.len = s->maps.cap = 0;
    s->maps.items = NULL;
}

void win_space_free(WinSpace *s) {
    unmap_all(s);
    if (s->file) s->env->vfs->close(s->file, NULL);
    arena_free(s->a);
}

void win_space_reset(WinSpace *s) {
    unmap_all(s);
    if (s->file) s->env->vfs->close(s->file, NULL); /* and the disk has its room back */
    s->file = NULL;
    s->file_end = 0;
    s->text = NULL;
    s->text_left = 0;
    arena_reset(s->a);
}

static void *map_file(WinSpace *s, int64_t bytes, Err *e) {
    enum { PAGE = 64 << 10 }; /* a multiple of every system's */
    WinMap m = {.size = align_up(bytes, PAGE)};
    if (!s->file && vfs_open_temp(s->env->vfs, s->env->temp_dir, &s->file, e) != ST_OK) return NULL;
    if (!vec_push(s->a, &s->maps, m)) return NULL;
    if (s->env->vfs->map_shared(s->file, s->file_end, m.size, &m.p, e) != ST_OK) {
        s->maps.len--;
        return NULL;
    }
    s->maps.items[s->maps.len - 1] = m;
    s->file_end += m.size;
    return m.p;
}

void *win_alloc(WinSpace *s, int64_t bytes, Err *e) {
    if (bytes <= SMALL || !s->env->vfs) return arena_alloc(s->a, bytes);
    int64_t room = mem_headroom(s->env->account);
    if (room != INT64_MAX && room - s->reserve < bytes) return map_file(s, bytes, e);
    return arena_alloc(s->a, bytes);
}

Status win_copy_str(WinSpace *s, Str *str, Err *e) {
    if (!str->len) return ST_OK;
    if (s->text_left < (int64_t)str->len) {
        int64_t bytes = MAX_OF((int64_t)str->len, (int64_t)TEXT_BLOCK);
        if (!(s->text = win_alloc(s, bytes, e))) return ST_ERROR;
        s->text_left = bytes;
    }
    memcpy(s->text, str->ptr, str->len);
    str->ptr = s->text;
    s->text += str->len;
    s->text_left -= str->len;
    return ST_OK;
}
