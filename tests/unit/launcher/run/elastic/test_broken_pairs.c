/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/broken_pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { HOSTS = 4 };

static void add(struct broken_pairs *b, int host, int other)
{
    char text[] = "no route";
    const struct broken_pair pair = {
        .rank = host, .peer = other, .hosts = {host, other}, .text = text};

    broken_pairs_add(b, &pair);
}

static void test_choice(void **state)
{
    static const int alike[HOSTS] = {2, 2, 2, 2}, few[HOSTS] = {2, 1, 2, 2};
    struct broken_pairs b = {0};

    (void)state;
    assert_int_equal(broken_pairs_choose(&b, alike, HOSTS), -1);
    add(&b, 2, 1);
    assert_int_equal(broken_pairs_choose(&b, alike, HOSTS), 2); /* the last */
    assert_int_equal(broken_pairs_choose(&b, few, HOSTS), 1);   /* that with fewer ranks */
    add(&b, 2, 0);
    assert_int_equal(broken_pairs_choose(&b, few, HOSTS), 2); /* that of both pairs */
    add(&b, 3, 0);
    add(&b, 3, 1);
    assert_int_equal(broken_pairs_choose(&b, few, HOSTS), 1);
    broken_pairs_clear(&b);
    assert_int_equal(broken_pairs_choose(&b, few, HOSTS), -1);
}

static void test_list(void **state)
{
    struct broken_pairs b = {0};

    (void)state;
    add(&b, 0, 1);
    add(&b, 1, 0); /* the same two */
    add(&b, 0, 2);
    assert_int_equal(b.count, 2);
    assert_string_equal(b.pairs[1].text, "no route");
    broken_pairs_remove(&b, 0);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.pairs[0].hosts[1], 2);
    broken_pairs_clear(&b);
    assert_int_equal(b.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
