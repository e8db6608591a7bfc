/* SPDX-License-Identifier: MIT */
/* test_remote_alike.c: which hosts a configuration does not tell apart, and where that is in
 * doubt. */
#include "launcher/wire/ssh/reach/remote_alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/test_remote_alike.XXXXXX";

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

enum told { ALIKE, APART, DOUBTFUL };

static enum told tell(const char *text, const char *one, const char *other)
{
    FILE *f = fopen(path, "w");
    struct remote_alike a = {0};
    char *first, *second;
    enum told told;

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    remote_alike_scan(&a, path);
    first = remote_alike_signature(&a, one);
    second = remote_alike_signature(&a, other);
    told = !first || !second ? DOUBTFUL : strcmp(first, second) == 0 ? ALIKE : APART;
    free(first);
    free(second);
    remote_alike_clear(&a);
    return told;
}

static void test_lines(void **state)
{
    static const struct {
        const char *text;
        enum told told;
    } cases[] = {
        {"", ALIKE},
        {"Host *\n User u\n", ALIKE},
        {"Host node*\n User u\n", ALIKE},
        {"Host node1\n User u\n", APART},
        {"  hOsT=node1\n", APART},
        {"\tHost\tother node2\r\n", APART},
        {"Host * !node1\n", APART},
        {"Host other # node1\n", APART}, /* ssh takes no pattern from there; it costs a question */
        {"# Host node1\n", ALIKE},
        {"HostName node1\nUser node1\n", ALIKE},
        {"Host \"node1\"\n", DOUBTFUL},
        {"Host nod\\e1\n", DOUBTFUL},
        {"Match all\n", ALIKE},
        {"Match final all\n", ALIKE},
        {"Match canonical\n", ALIKE},
        {"Match host node*,!x\n", ALIKE},
        {"Match host x,node1\n", APART},
        {"Match originalhost node1 user u\n", APART},
        {"Match !host node1\n", APART},
        {"Match host=node1\n", APART},
        {"Match user a,b localuser c\n", ALIKE},
        {"Match exec true\n", DOUBTFUL},
        {"Match user a exec true\n", DOUBTFUL},
        {"Match exec \"test %h = node1\"\n", DOUBTFUL},
        {"Match newer thing\n", DOUBTFUL},
        {"Match host\n", DOUBTFUL},
        {"Include ~/.ssh/other\n", ALIKE},
        {"Include ~/.ssh/%h\n", DOUBTFUL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (tell(cases[i].text, "node1", "node2") != cases[i].told)
            fail_msg("%s", cases[i].text);
    }
}

static void test_capitals(void **state)
{
    (void)state;
    assert_int_equal(tell("", "node1", "Node2"), DOUBTFUL);
    assert_int_equal(tell("Host NODE1\n", "node1", "node2"), APART);
}

static void test_no_file(void **state)
{
    struct remote_alike a = {0};

    (void)state;
    remote_alike_scan(&a, "/proc/no such file");
    assert_true(a.is_doubtful);
    assert_null(remote_alike_signature(&a, "h"));
    remote_alike_clear(&a);
}

static void test_algorithms(void **state)
{
    struct remote_alike a = {0};

    (void)state;
    assert_int_equal(tell("Host x\n HostKeyAlgorithms +ssh-rsa\n", "node1", "node2"), ALIKE);
    remote_alike_scan(&a, path);
    assert_true(a.sets_algorithms);
    remote_alike_clear(&a);
    assert_int_equal(tell("Host x\n Cipher a\n", "node1", "node2"), ALIKE);
    remote_alike_scan(&a, path);
    assert_false(a.sets_algorithms);
    remote_alike_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_capitals),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_algorithms),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
