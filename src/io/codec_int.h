/* codec_int.h - between codec.c and codec_snappy.c only. */
#ifndef STELE_IO_CODEC_INT_H
#define STELE_IO_CODEC_INT_H

#include "io/codec.h"

/* False: n bytes at `from` are not `size` bytes. */
bool codec_snappy(const uint8_t *from, int64_t n, uint8_t *to, int64_t size);

#endif
