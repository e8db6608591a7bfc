/* SPDX-License-Identifier: MIT */
/* test_uplink_tree.c: who calls whom, against the definition, for many shapes. */
#include "launcher/wire/uplink/stream/uplink_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_small(void **state)
{
    const struct uplink_tree t = {2, 1, 8};

    (void)state;
    assert_int_equal(uplink_tree_parent(&t, 1), UPLINK_HEAD);
    assert_int_equal(uplink_tree_parent(&t, 2), UPLINK_HEAD);
    assert_int_equal(uplink_tree_parent(&t, 3), 1);
    assert_int_equal(uplink_tree_parent(&t, 4), 1);
    assert_int_equal(uplink_tree_parent(&t, 5), 2);
    assert_int_equal(uplink_tree_parent(&t, 7), 3);
    assert_int_equal(uplink_tree_child_towards(&t, UPLINK_HEAD, 7), 1);
    assert_int_equal(uplink_tree_child_towards(&t, 1, 7), 3);
    assert_int_equal(uplink_tree_child_towards(&t, 3, 7), 7);
    assert_int_equal(uplink_tree_child_towards(&t, 2, 7), -1);
    assert_int_equal(uplink_tree_child_towards(&t, 7, 7), -1);
    assert_int_equal(uplink_tree_child_towards(&t, 1, 0), -1);
    assert_int_equal(uplink_tree_child_towards(&t, 1, 8), -1);
    assert_int_equal(uplink_tree_child_towards(&t, 1, INT32_MAX), -1);
}

static void test_flat(void **state)
{
    const struct uplink_tree t = {0, 0, 5};

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(uplink_tree_parent(&t, i), UPLINK_HEAD);
        assert_int_equal(uplink_tree_slot(&t, i), i);
        assert_false(uplink_tree_has_children(&t, i));
        assert_int_equal(uplink_tree_child_towards(&t, UPLINK_HEAD, i), i);
    }
    assert_int_equal(uplink_tree_width(&t), 5);
}

/* Each host has a parent with a smaller index, no two children of one have the same slot, and who
 * has children says so. */
static void shape_check(const struct uplink_tree *t)
{
    for (int i = t->first; i < t->count; i++) {
        int parent = uplink_tree_parent(t, i), children = 0;

        assert_true(parent == UPLINK_HEAD || (parent >= t->first && parent < i));
        assert_in_range(uplink_tree_slot(t, i), 0, uplink_tree_width(t) - 1);
        assert_int_equal(uplink_tree_child_towards(t, parent, i), i);
        for (int j = t->first; j < t->count; j++) {
            children += uplink_tree_parent(t, j) == i;
            if (j != i && uplink_tree_parent(t, j) == parent)
                assert_int_not_equal(uplink_tree_slot(t, j), uplink_tree_slot(t, i));
        }
        assert_true(children <= t->fanout);
        assert_int_equal(uplink_tree_has_children(t, i), children > 0);
    }
}

static void test_shapes(void **state)
{
    (void)state;
    for (int fanout = 2; fanout <= 9; fanout++)
        for (int first = 0; first <= 1; first++)
            for (int count = 1; count <= 60; count++)
                shape_check(&(struct uplink_tree){fanout, first, count});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
