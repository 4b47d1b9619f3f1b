/* search_path.c - see search_path.h. */
#include "base/search_path.h"

static _Thread_local const SearchPath *in_force;

const SearchPath *search_path_use(const SearchPath *p) {
    const SearchPath *was = in_force;
    in_force = p;
    return was;
}
const SearchPath *search_path_now(void) {
    static const SearchPath only_public = {.hash = 1, .pinned = true, .no_temp = true, .n = 1, .names = KEY_PUBLIC};
    return in_force ? in_force : &only_public;
}
const SearchPath *search_path_public(void) {
    static const SearchPath path = {.hash = 1, .pinned = true, .n = 1, .names = KEY_PUBLIC};
    return &path;
}
const SearchPath *search_path_none(void) {
    static const SearchPath none = {.hash = 3, .pinned = true, .no_temp = true};
    return &none;
}
int search_path_place(Slice schema) {
    const SearchPath *p = search_path_now();
    if (schema.len >= (int64_t)sizeof KEY_TEMPORARY && schema_is_temporary(schema.ptr)) return -1;
    for (int i = 0; i < p->n; i++)
        if (slice_eq(slice_of(search_path_name(p, i)), schema)) return i;
    return -1;
}
