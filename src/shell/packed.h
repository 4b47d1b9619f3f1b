/* packed.h - files that zstd has compressed, as streams of the C library. */
#ifndef STELE_SHELL_PACKED_H
#define STELE_SHELL_PACKED_H

#include <stdio.h>

/* The last bytes that were read. */
typedef struct PackedTail {
    char bytes[256];
    size_t n;
} PackedTail;
/* A file, or standard input for "-", decompressed where it begins as zstd's do. What is cut or damaged ends in an error
 * of the stream (EBADMSG). tail: filled as it is read, as long as the stream is open; may be NULL. NULL: errno. */
FILE *packed_read(const char *path, PackedTail *tail);
/* Compressed, with a checksum. Closing writes the end, and syncs the file: EOF when one of these fails. */
FILE *packed_write(const char *path);

#endif
