/* SPDX-License-Identifier: MIT */
/* test_container_removal.c: what is run for containers that are left, and when nothing is. */
#include "launcher/base/container/container_removal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/test_container_removal.XXXXXX";
static char said[sizeof(directory) + 8];

/* The file that the command has written: its words, one a line; "" if it did not run. */
static void said_read(char text[256])
{
    FILE *from = fopen(said, "r");
    size_t size = from ? fread(text, 1, 255, from) : 0;

    text[size] = '\0';
    if (from)
        fclose(from);
}

static void test_removal(void **state)
{
    char program[] = "sh", option[] = "-c", script[] = "printf '%s\\n' \"$@\" > \"$0\"";
    char *const command[] = {program, option, script, said, NULL};
    struct fault why = {0};
    char text[256];

    (void)state;
    container_removal_run(directory); /* a job without containers */
    if (container_removal_open(directory, command, &why))
        fail_msg("%s", why.text);
    container_removal_run(directory);
    said_read(text);
    assert_string_equal(text, ""); /* none is left */

    assert_int_equal(container_removal_add(directory, "mlaunch-a-0", &why), 0);
    assert_int_equal(container_removal_add(directory, "mlaunch-a-1", &why), 0);
    container_removal_drop(directory, "mlaunch-a-0");
    container_removal_run(directory);
    said_read(text);
    assert_string_equal(text, "mlaunch-a-1\n");
}

static void test_no_directory(void **state)
{
    char none[] = "true";
    char *const command[] = {none, NULL};
    struct fault why = {0};

    (void)state;
    assert_int_equal(container_removal_open("/no/such", command, &why), ML_ERR_SYSTEM);
    assert_string_equal(why.text, "cannot make /no/such/containers: No such file or directory");
    assert_int_equal(container_removal_add("/no/such", "a", &why), ML_ERR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_no_directory),
    };
    char remove[sizeof(directory) + 16];
    int failed;

    if (!mkdtemp(directory))
        return 1;
    snprintf(said, sizeof(said), "%s/said", directory);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(remove, sizeof(remove), "rm -r %s", directory);
    return system(remove) || failed;
}
