/* password.c - passwords of roles as they are kept: verifiers of SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL
 * writes them. The password itself is nowhere kept; it is taken byte by byte, without SASLprep. */
#include <sys/random.h>

#include "base/sha256.h"
#include "session/ddl/access.h"

enum { SALT_BYTES = 16, ROUNDS = 4096 };

static char *put_base64(char *to, const uint8_t *p, int n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < n; i += 3) {
        const uint32_t v =
            (uint32_t)p[i] << 16 | (uint32_t)(i + 1 < n ? p[i + 1] : 0) << 8 | (i + 2 < n ? p[i + 2] : 0);
        *to++ = digits[v >> 18];
        *to++ = digits[v >> 12 & 63];
        *to++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digits[v & 63] : '=';
    }
    *to = 0;
    return to;
}
static bool is_verifier(const char *p) {
    if (strncmp(p, "SCRAM-SHA-256$", 14) == 0 && strchr(p + 14, ':')) return true;
    return strlen(p) == 35 && strncmp(p, "md5", 3) == 0 && strspn(p + 3, "0123456789abcdef") == 32;
}
const char *password_verifier(Arena *a, const char *password, Err *e) {
    uint8_t salt[SALT_BYTES], salted[SHA256_BYTES], client[SHA256_BYTES], stored[SHA256_BYTES], server[SHA256_BYTES];
    char text[3][64];
    if (is_verifier(password)) return password;
    if (getrandom(salt, sizeof salt, 0) != (ssize_t)sizeof salt) {
        err_set(e, ERR_SYSTEM, "could not generate random salt");
        return NULL;
    }
    pbkdf2_sha256(password, (int64_t)strlen(password), salt, SALT_BYTES, ROUNDS, salted);
    hmac_sha256(salted, SHA256_BYTES, "Client Key", 10, client);
    sha256(client, SHA256_BYTES, stored);
    hmac_sha256(salted, SHA256_BYTES, "Server Key", 10, server);
    put_base64(text[0], salt, SALT_BYTES);
    put_base64(text[1], stored, SHA256_BYTES);
    put_base64(text[2], server, SHA256_BYTES);
    return arena_printf(a, "SCRAM-SHA-256$%d:%s$%s:%s", ROUNDS, text[0], text[1], text[2]);
}
