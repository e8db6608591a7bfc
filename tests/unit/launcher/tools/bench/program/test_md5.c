/* SPDX-License-Identifier: MIT */
/* test_md5.c: the digests of RFC 1321, and of all lengths around those where a block ends. */
#include "launcher/tools/bench/program/md5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_md5(const char *data, const char *hex)
{
    unsigned char digest[MD5_SIZE];
    char text[2 * MD5_SIZE + 1];

    md5_sum(digest, data, strlen(data));
    for (size_t i = 0; i < MD5_SIZE; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

static void test_known(void **state)
{
    (void)state;
    assert_md5("", "d41d8cd98f00b204e9800998ecf8427e");
    assert_md5("a", "0cc175b9c0f1b6a831c399e269772661");
    assert_md5("abc", "900150983cd24fb0d6963f7d28e17f72");
    assert_md5("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
    assert_md5("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b");
    assert_md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
               "d174ab98d277d9f5a5611c2c9f419d9f");
    assert_md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890",
               "57edf4a22be3c955ac49da2e2107b67a");
}

/* The digest of the digests of 0 to 255 bytes, each of which is its index (Python's hashlib). */
static void test_lengths(void **state)
{
    unsigned char bytes[256], digests[256][MD5_SIZE], digest[MD5_SIZE];
    static const unsigned char expected[MD5_SIZE] = {0xbf, 0xd5, 0x08, 0x30, 0xba, 0x3e,
                                                     0xbc, 0x1d, 0xf2, 0x78, 0xc0, 0x26,
                                                     0x97, 0x79, 0xa0, 0x3e};

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof(bytes); i++)
        md5_sum(digests[i], bytes, i);
    md5_sum(digest, digests, sizeof(digests));
    assert_memory_equal(digest, expected, sizeof(digest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
