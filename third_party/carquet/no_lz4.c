/* no_lz4.c - in place of carquet's compression/lz4.c, so that liblz4 is not needed: pages in LZ4 are refused. */
#include <carquet/error.h>
#include <stddef.h>
#include <stdint.h>

#define REFUSE(name)                                                                                              \
    carquet_status_t name(const uint8_t *src, size_t src_size, uint8_t *dst, size_t dst_capacity, size_t *dst_size); \
    carquet_status_t name(const uint8_t *src, size_t src_size, uint8_t *dst, size_t dst_capacity, size_t *dst_size) {  \
        (void)src;                                                                                                \
        (void)src_size;                                                                                           \
        (void)dst;                                                                                                \
        (void)dst_capacity;                                                                                       \
        (void)dst_size;                                                                                           \
        return CARQUET_ERROR_UNSUPPORTED_CODEC;                                                                   \
    }
REFUSE(carquet_lz4_decompress)
REFUSE(carquet_lz4_hadoop_decompress)
REFUSE(carquet_lz4_compress)
REFUSE(carquet_lz4_hadoop_compress)

size_t carquet_lz4_compress_bound(size_t src_size);
size_t carquet_lz4_compress_bound(size_t src_size) { return src_size; }
size_t carquet_lz4_hadoop_compress_bound(size_t src_size);
size_t carquet_lz4_hadoop_compress_bound(size_t src_size) { return src_size; }
