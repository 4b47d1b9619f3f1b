/* SHA-256, HMAC and PBKDF2 (base/sha256.h) with the vectors of FIPS 180-4, RFC 4231 and RFC 7914. */
#include "base/sha256.h"
#include "unit.h"
#include <stdio.h>
#include <string.h>

static void check(const uint8_t got[SHA256_BYTES], const char *want) {
    char text[2 * SHA256_BYTES + 1];
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", got[i]);
    assert_string_equal(text, want);
}

static void test_hash(void **state) {
    uint8_t out[SHA256_BYTES];
    char many[1000];
    (void)state;
    sha256("", 0, out);
    check(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256("abc", 3, out);
    check(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    check(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(many, 'a', sizeof many);
    sha256(many, sizeof many, out);
    check(out, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static void test_hmac(void **state) {
    uint8_t out[SHA256_BYTES], key[131];
    (void)state;
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out);
    check(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    hmac_sha256(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, out);
    check(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_pbkdf2(void **state) {
    uint8_t out[SHA256_BYTES];
    (void)state;
    pbkdf2_sha256("password", 8, (const uint8_t *)"salt", 4, 1, out);
    check(out, "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b");
    pbkdf2_sha256("password", 8, (const uint8_t *)"salt", 4, 4096, out);
    check(out, "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_pbkdf2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
