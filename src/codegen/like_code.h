/* like_code.h - LIKE patterns as bytes that kernels match (prelude/kc_text.h has the format and the matcher). */
#ifndef STELE_CODEGEN_LIKE_CODE_H
#define STELE_CODEGEN_LIKE_CODE_H

#include "types/type.h"

/* Bytes that like_encode writes, a multiple of 8; 0 when kernels cannot match the pattern (ILIKE; 2 GB and more). */
int64_t like_encoded_bytes(const LikePattern *p);
/* Writes the encoding to `out`: like_encoded_bytes(p) > 0 bytes, to be placed at an address that is a multiple of 8. */
void like_encode(const LikePattern *p, void *out);

#endif
