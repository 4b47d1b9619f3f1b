/* prelude.c - the prelude and its parts in their places. */
#include "codegen/prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

typedef struct Text {
    const char *line; /* which stands for it in a source */
    const char *text;
} Text;
#define PART(name) {KERNEL_PART(name), kernel_##name##_text},
static const Text texts[] = {{KERNEL_PRELUDE_INCLUDE, kernel_prelude_text}, KERNEL_PARTS(PART)};
#undef PART
enum { TEXTS = sizeof texts / sizeof *texts, BACK_MAX = 48 /* bytes of the line that leads back to the source */ };

/* What the line at `at` stands for; NULL: only itself. */
static const Text *text_at(const char *at) {
    for (int i = 0; i < TEXTS; i++)
        if (strncmp(at, texts[i].line, strlen(texts[i].line)) == 0) return &texts[i];
    return NULL;
}
/* Copies source to `to` with all such lines replaced, and returns the bytes that this takes at most; `to` NULL: only
 * counts them. */
static size_t expand(const char *source, char *to) {
    size_t n = 0;
    int line = 1;
    for (const char *at = source, *end; *at; at = end, line++) {
        const Text *t = *at == '#' ? text_at(at) : NULL;
        end = strchr(at, '\n');
        end = end ? end + 1 : at + strlen(at);
        const char *from = t ? t->text : at;
        size_t bytes = t ? strlen(t->text) : (size_t)(end - at);
        if (to) memcpy(to + n, from, bytes);
        n += bytes;
        if (!t || strncmp(from, "#line", 5) != 0) continue;
        n += to ? (size_t)snprintf(to + n, BACK_MAX, "#line %d \"kernel.c\"\n", line + 1) : BACK_MAX;
    }
    if (to) to[n] = '\0';
    return n + 1;
}
char *kernel_source_expand(const char *source) {
    char *out = malloc(expand(source, NULL));
    if (out) expand(source, out);
    return out;
}
uint64_t kernel_texts_hash(void) {
    uint64_t hash = 0;
    for (int i = 0; i < TEXTS; i++) hash = XXH3_64bits_withSeed(texts[i].text, strlen(texts[i].text), hash);
    return hash;
}
