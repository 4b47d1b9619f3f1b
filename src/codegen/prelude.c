/* prelude.c - the prelude in its place. */
#include "codegen/prelude.h"

#include <stdlib.h>
#include <string.h>

char *kernel_source_expand(const char *source) {
    const char *at = strstr(source, KERNEL_PRELUDE_INCLUDE);
    size_t head = at ? (size_t)(at - source) : strlen(source), prelude = at ? strlen(kernel_prelude_text) : 0;
    const char *rest = at ? at + strlen(KERNEL_PRELUDE_INCLUDE) : "";
    char *out = malloc(head + prelude + strlen(rest) + 1);
    if (!out) return NULL;
    memcpy(out, source, head);
    memcpy(out + head, kernel_prelude_text, prelude);
    memcpy(out + head + prelude, rest, strlen(rest) + 1);
    return out;
}
