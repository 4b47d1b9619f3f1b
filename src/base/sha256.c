/* sha256.c - see sha256.h. */
#include "base/sha256.h"

#include <string.h>

typedef struct Sha256 {
    uint32_t h[8];
    uint8_t block[64];
    int64_t n; /* bytes so far */
} Sha256;

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }
static void add_block(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] =
            w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t t =
            v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
        const uint32_t u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}
static void begin(Sha256 *s) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof start);
    s->n = 0;
}
static void add(Sha256 *s, const void *data, int64_t n) {
    const uint8_t *p = data;
    for (int64_t i = 0; i < n; i++) {
        s->block[s->n++ & 63] = p[i];
        if ((s->n & 63) == 0) add_block(s->h, s->block);
    }
}
static void end(Sha256 *s, uint8_t out[SHA256_BYTES]) {
    const uint64_t bits = (uint64_t)s->n * 8;
    add(s, "\x80", 1);
    while ((s->n & 63) != 56) add(s, "", 1);
    for (int i = 56; i >= 0; i -= 8) add(s, &(uint8_t){(uint8_t)(bits >> i)}, 1);
    for (int i = 0; i < SHA256_BYTES; i++) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *data, int64_t n, uint8_t out[SHA256_BYTES]) {
    Sha256 s;
    begin(&s);
    add(&s, data, n);
    end(&s, out);
}
void sha224(const void *data, int64_t n, uint8_t out[SHA224_BYTES]) {
    static const uint32_t start[8] = {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939,
                                      0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4};
    uint8_t whole[SHA256_BYTES];
    Sha256 s;
    begin(&s);
    memcpy(s.h, start, sizeof start);
    add(&s, data, n);
    end(&s, whole);
    memcpy(out, whole, SHA224_BYTES);
}
void hmac_sha256(const void *key, int64_t key_n, const void *data, int64_t n, uint8_t out[SHA256_BYTES]) {
    uint8_t inner[64] = {0}, outer[64];
    Sha256 s;
    if (key_n > 64) sha256(key, key_n, inner);
    else memcpy(inner, key, (size_t)key_n);
    for (int i = 0; i < 64; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    begin(&s);
    add(&s, inner, 64);
    add(&s, data, n);
    end(&s, out);
    begin(&s);
    add(&s, outer, 64);
    add(&s, out, SHA256_BYTES);
    end(&s, out);
}
void pbkdf2_sha256(const void *password, int64_t n, const uint8_t *salt, int64_t salt_n, int rounds,
                   uint8_t out[SHA256_BYTES]) {
    uint8_t first[64 + 4] = {0}, u[SHA256_BYTES];
    memcpy(first, salt, (size_t)salt_n);
    first[salt_n + 3] = 1; /* the number of the block */
    hmac_sha256(password, n, first, salt_n + 4, u);
    memcpy(out, u, sizeof u);
    for (int i = 1; i < rounds; i++) {
        hmac_sha256(password, n, u, SHA256_BYTES, u);
        for (int k = 0; k < SHA256_BYTES; k++) out[k] ^= u[k];
    }
}
