/* chars.h - single characters of texts that are read: hexadecimal digits, code points as UTF-8. */
#ifndef STELE_TYPES_CHARS_H
#define STELE_TYPES_CHARS_H

#include <stdint.h>

/* The value of a hexadecimal digit, -1 of others. */
static inline int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A code point in up to 4 bytes, unchecked; returns what is behind them. */
static inline char *utf8_put(char *out, uint32_t c) {
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(lead[more] | c >> (6 * more));
    while (more-- > 0) *out++ = (char)(0x80 | (c >> (6 * more) & 0x3F));
    return out;
}

#endif
