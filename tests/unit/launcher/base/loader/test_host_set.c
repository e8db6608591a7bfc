/* SPDX-License-Identifier: MIT */
/* test_host_set.c: which set of files is for which kind of host. */
#include "launcher/base/loader/host_set.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Each set beside each kind of host, in the order of the sets. */
static void test_fits(void **state)
{
    static const char *const sets[] = {"aarch64-gnu2.28", "x86_64-gnu2.28", "x86_64-gnu2.5",
                                       "x86_64-musl"};
    static const struct {
        const char *machine, *libc, *fits;
    } hosts[] = {
        {"x86_64", "glibc 2.36", "0110"},
        {"x86_64", "glibc 2.28", "0110"},
        {"x86_64", "glibc 2.27", "0010"},
        {"x86_64", "glibc 2.4", "0000"},
        {"x86_64", "musl 1.2.3", "0001"},
        {"x86_64", "unknown ", "0000"},
        {"aarch64", "glibc 2.31", "1000"},
        {"aarch64", "musl 1.2.5", "0000"},
        {"x86", "glibc 2.36", "0000"},
        {"x86_64-gnu2.28", "glibc 2.36", "0000"},
        {"riscv64", "glibc 2.41", "0000"},
        {"", "glibc 2.41", "0000"},
        {"x86_64", "", "0000"},
    };

    (void)state;
    for (size_t h = 0; h < sizeof(hosts) / sizeof(*hosts); h++)
        for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++)
            assert_int_equal(host_set_fits(sets[s], hosts[h].machine, hosts[h].libc),
                             hosts[h].fits[s] == '1');
}

static void test_list(void **state)
{
    static const char *const names[] = {"x86_64-musl", "aarch64-gnu2.28", "no dash", "a-$HOME"};
    char root[] = "/tmp/test_host_set.XXXXXX", path[100];
    struct host_set sets[HOST_SETS_MOST];

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(host_set_list(sets, root), 2);
    assert_string_equal(sets[0].name, "aarch64-gnu2.28");
    assert_string_equal(sets[1].name, "x86_64-musl");
    snprintf(path, sizeof(path), "%s/x86_64-musl", root);
    assert_string_equal(sets[1].directory, path);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
    assert_int_equal(host_set_list(sets, root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits), cmocka_unit_test(test_list)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
