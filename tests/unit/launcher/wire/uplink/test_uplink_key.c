/* SPDX-License-Identifier: MIT */
/* test_uplink_key.c: key files that are written, mounted in several ways, or none at all. */
#include "launcher/wire/uplink/uplink_key.h"

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

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[2][128];
    static int next;

    next = !next;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/mlaunch-key.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"key", "other", "link", "pipe"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path_of(name), 0600), 0);
}

static void expect_no_key(const char *name, const char *words)
{
    uint8_t key[AUTH_SECRET];
    struct fault why;
    char *warning;

    assert_true(uplink_key_read(key, path_of(name), &warning, &why) < 0);
    assert_null(warning);
    if (!strstr(why.text, words))
        fail_msg("%s", why.text);
}

static void test_new(void **state)
{
    uint8_t keys[3][AUTH_SECRET];
    struct fault why;
    struct stat s;
    char *warning;

    (void)state;
    umask(0);
    assert_int_equal(uplink_key_create(path_of("key"), &why), 0);
    assert_int_equal(uplink_key_create(path_of("other"), &why), 0);
    assert_int_equal(stat(path_of("key"), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(uplink_key_read(keys[0], path_of("key"), &warning, &why), 0);
    assert_null(warning);
    assert_int_equal(uplink_key_read(keys[1], path_of("key"), &warning, &why), 0);
    assert_int_equal(uplink_key_read(keys[2], path_of("other"), &warning, &why), 0);
    assert_memory_equal(keys[0], keys[1], AUTH_SECRET);
    assert_memory_not_equal(keys[0], keys[2], AUTH_SECRET);
}

/* A key that is in use is never overwritten, nor is a link followed. */
static void test_new_over_another(void **state)
{
    uint8_t before[AUTH_SECRET], after[AUTH_SECRET];
    struct fault why;
    char *warning;

    (void)state;
    assert_int_equal(uplink_key_create(path_of("key"), &why), 0);
    assert_int_equal(uplink_key_read(before, path_of("key"), &warning, &why), 0);
    assert_int_equal(uplink_key_create(path_of("key"), &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "is there already"));
    assert_int_equal(symlink(path_of("other"), path_of("link")), 0);
    assert_int_equal(uplink_key_create(path_of("link"), &why), ML_ERR_SYSTEM);
    assert_int_equal(access(path_of("other"), F_OK), -1);
    assert_int_equal(uplink_key_read(after, path_of("key"), &warning, &why), 0);
    assert_memory_equal(before, after, AUTH_SECRET);
}

/* As a Secret is mounted: a link to a file that others can read. */
static void test_mounted(void **state)
{
    static const mode_t modes[] = {0440, 0644, 0604};
    uint8_t key[AUTH_SECRET], again[AUTH_SECRET];
    struct fault why;
    char *warning;

    (void)state;
    assert_int_equal(uplink_key_create(path_of("key"), &why), 0);
    assert_int_equal(uplink_key_read(key, path_of("key"), &warning, &why), 0);
    assert_int_equal(symlink("key", path_of("link")), 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        char mode[16];

        assert_int_equal(chmod(path_of("key"), modes[i]), 0);
        assert_int_equal(uplink_key_read(again, path_of("link"), &warning, &why), 0);
        assert_memory_equal(key, again, AUTH_SECRET);
        snprintf(mode, sizeof(mode), "mode %04o", (unsigned)modes[i]);
        assert_non_null(warning);
        assert_non_null(strstr(warning, mode));
        free(warning);
    }
    assert_int_equal(chmod(path_of("key"), 0400), 0);
    assert_int_equal(uplink_key_read(again, path_of("link"), &warning, &why), 0);
    assert_null(warning);
    if (geteuid() != 0 || chown(path_of("key"), 1000, 0))
        return;
    assert_int_equal(chmod(path_of("key"), 0440), 0);
    assert_int_equal(uplink_key_read(again, path_of("link"), &warning, &why), 0);
    assert_null(warning);
}

static void test_no_key(void **state)
{
    char digits[80];

    (void)state;
    expect_no_key("none", "No such file");
    write_text("key", "");
    expect_no_key("key", "is no key file");
    write_text("key", "a password");
    expect_no_key("key", "is no key file");
    memset(digits, 'a', sizeof(digits));
    digits[63] = '\0';
    write_text("key", digits);
    expect_no_key("key", "is no key file");
    digits[63] = 'a';
    digits[65] = '\0';
    write_text("key", digits);
    expect_no_key("key", "is no key file");
    digits[64] = '\0';
    digits[10] = 'g';
    write_text("key", digits);
    expect_no_key("key", "is no key file");
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    expect_no_key("pipe", "no plain file");
    expect_no_key(".", "no plain file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_over_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mounted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_key, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
