/* arrow_file.h - Arrow files and streams (.arrow, .feather of version 2) as tables. */
#ifndef STELE_IO_ARROW_FILE_H
#define STELE_IO_ARROW_FILE_H

#include "io/files.h"

/* A stream over files, whose columns are those of the first. In the arena. 22P04, 0A000: arrow_ipc.h. */
Status arrow_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                  Err *e);

#endif
