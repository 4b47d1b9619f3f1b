/* dump_dir.h - what a dump that is a directory says of itself in its MANIFEST (dump_dir.c). */
#ifndef STELE_SHELL_DUMP_DIR_H
#define STELE_SHELL_DUMP_DIR_H

#include <stddef.h>
#include <stdint.h>

#define MANIFEST_FIRST "stele dump directory 1\n"
#define MANIFEST_LAST "complete " /* and the checksum of all before this line, in 16 hexadecimal digits */

uint64_t manifest_checksum(const char *text, size_t n); /* FNV-1a */

#endif
