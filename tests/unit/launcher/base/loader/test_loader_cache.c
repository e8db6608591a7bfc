/* SPDX-License-Identifier: MIT */
/* test_loader_cache.c: a cache as ldconfig writes it, alone and behind one of the old format. */
#include "launcher/base/loader/loader_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct entry_bytes {
    int32_t flags;
    uint32_t name, path, os_version;
    uint64_t hardware;
};

struct cache_bytes {
    char magic[20];
    uint32_t count, texts, unused[5];
    struct entry_bytes entries[4];
    char text[64];
};

/* liba for one kind of processor and for all, libb, and an entry whose texts are outside. */
static const struct cache_bytes good = {.magic = {'g', 'l', 'i', 'b', 'c', '-', 'l', 'd', '.', 's',
                                                  'o', '.', 'c', 'a', 'c', 'h', 'e', '1', '.', '1'},
                                        .count = 4,
                                        .entries = {{.name = 144, .path = 149, .hardware = 1},
                                                    {.name = 144, .path = 158},
                                                    {.name = 165, .path = 170},
                                                    {.name = UINT32_MAX, .path = UINT32_MAX}},
                                        .text = "liba\0/hw/liba\0/liba\0\0libb\0/libb"};

static void cache_make(struct loader_cache *c, const void *before, size_t before_size,
                       const void *bytes, size_t size)
{
    char path[] = "/tmp/loader_cache.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_true(write(fd, before, before_size) == (ssize_t)before_size);
    assert_true(write(fd, bytes, size) == (ssize_t)size);
    close(fd);
    loader_cache_open(c, path);
    unlink(path);
}

static void check_good(const struct loader_cache *c)
{
    uint32_t at = 0;

    assert_string_equal(loader_cache_next(c, "liba", &at), "/liba");
    assert_string_equal(loader_cache_next(c, "liba", &at), "/hw/liba");
    assert_null(loader_cache_next(c, "liba", &at));
    at = 0;
    assert_string_equal(loader_cache_next(c, "libb", &at), "/libb");
    assert_null(loader_cache_next(c, "libb", &at));
    at = 0;
    assert_null(loader_cache_next(c, "lib", &at));
}

static void reads_what_ldconfig_writes(void **state)
{
    struct loader_cache c;
    char old[32] = "ld.so-1.7.0"; /* with one entry, to the next multiple of eight */
    uint32_t one = 1;

    (void)state;
    assert_int_equal(offsetof(struct cache_bytes, text), 144);
    cache_make(&c, "", 0, &good, sizeof(good));
    check_good(&c);
    loader_cache_close(&c);
    memcpy(old + 12, &one, sizeof(one));
    cache_make(&c, old, sizeof(old), &good, sizeof(good));
    check_good(&c);
    loader_cache_close(&c);
}

static void is_empty_otherwise(void **state)
{
    struct cache_bytes bad = good;
    struct loader_cache c;
    uint32_t at = 0;

    (void)state;
    for (size_t size = 0; size < offsetof(struct cache_bytes, text); size++) {
        cache_make(&c, "", 0, &good, size);
        assert_null(loader_cache_next(&c, "liba", &at));
        loader_cache_close(&c);
    }
    bad.count = UINT32_MAX;
    cache_make(&c, "", 0, &bad, sizeof(bad));
    assert_null(loader_cache_next(&c, "liba", &at));
    loader_cache_close(&c);
    loader_cache_open(&c, "/nowhere/ld.so.cache");
    assert_null(loader_cache_next(&c, "liba", &at));
    loader_cache_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_ldconfig_writes),
        cmocka_unit_test(is_empty_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
