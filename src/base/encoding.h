/* encoding.h - the encodings of texts that PostgreSQL knows, by its names for them. The C library converts (iconv).
 */
#ifndef STELE_BASE_ENCODING_H
#define STELE_BASE_ENCODING_H

#include "base/base.h"

typedef struct TextEncoding {
    const char *name, *iconv; /* as PostgreSQL shows it, and as iconv has it; NULL: UTF-8, or bytes as they are */
} TextEncoding;
/* By a name in any spelling that PostgreSQL takes; NULL: there is no such encoding. */
const TextEncoding *encoding_named(const char *given);

enum { ENCODING_SHOWN_MAX = 24 };
/* The bytes of the character at `at`, of n bytes, for messages: "0xe6 0x97". utf8: as many as its first byte says; else
 * one. */
void encoding_show(const char *at, int64_t n, bool utf8, char out[ENCODING_SHOWN_MAX]);

#endif
