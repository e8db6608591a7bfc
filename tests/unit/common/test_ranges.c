/* SPDX-License-Identifier: MIT */
#include "common/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct piece_of_memory {
    struct range range;
    int number;
};

static unsigned char memory[4096];

static void add(struct ranges *r, size_t offset, size_t size, int number)
{
    struct piece_of_memory p = {.range = {memory + offset, size}, .number = number};

    assert_true(ranges_reserve(r));
    ranges_add(r, &p);
}

/* The number of the item that contains these bytes; -1: there is none. */
static int find(const struct ranges *r, size_t offset, size_t size)
{
    const struct piece_of_memory *p = ranges_find(r, memory + offset, size);

    return p ? p->number : -1;
}

static void test_find(void **state)
{
    struct ranges r = {.item_size = sizeof(struct piece_of_memory)};

    (void)state;
    assert_null(ranges_find(&r, memory, 0));
    assert_null(ranges_find_base(&r, memory));
    add(&r, 300, 100, 3); /* in any order */
    add(&r, 100, 100, 1);
    add(&r, 200, 100, 2);
    assert_int_equal(r.count, 3);
    for (size_t i = 0; i < r.count; i++)
        assert_int_equal(((struct piece_of_memory *)ranges_item(&r, i))->number, (int)i + 1);

    assert_int_equal(find(&r, 99, 1), -1);
    assert_int_equal(find(&r, 99, 2), -1);
    assert_int_equal(find(&r, 100, 100), 1);
    assert_int_equal(find(&r, 100, 101), -1); /* into the next item */
    assert_int_equal(find(&r, 199, 1), 1);
    assert_int_equal(find(&r, 200, 0), 2);
    assert_int_equal(find(&r, 250, 50), 2);
    assert_int_equal(find(&r, 399, 1), 3);
    assert_int_equal(find(&r, 399, 2), -1);
    assert_int_equal(find(&r, 400, 0), 3); /* just behind the last byte */
    assert_int_equal(find(&r, 401, 0), -1);
    assert_int_equal(find(&r, 350, SIZE_MAX), -1);
    free(r.items);
}

static void test_remove(void **state)
{
    struct ranges r = {.item_size = sizeof(struct piece_of_memory)};

    (void)state;
    for (int i = 0; i < 3; i++)
        add(&r, (size_t)i * 10, 10, i);
    assert_null(ranges_find_base(&r, memory + 11)); /* in an item, but not its beginning */
    ranges_remove(&r, ranges_find_base(&r, memory + 10));
    assert_int_equal(r.count, 2);
    assert_int_equal(find(&r, 5, 1), 0);
    assert_int_equal(find(&r, 15, 1), -1);
    assert_int_equal(find(&r, 25, 1), 2);
    ranges_remove(&r, ranges_find_base(&r, memory + 20)); /* the last one */
    ranges_remove(&r, ranges_find_base(&r, memory));
    assert_int_equal(r.count, 0);
    assert_int_equal(find(&r, 5, 1), -1);
    free(r.items);
}

/* More items than there is room for at first, from the highest address down. */
static void test_growth(void **state)
{
    struct ranges r = {.item_size = sizeof(struct piece_of_memory)};
    enum { MANY = 100, SIZE = 16 };

    (void)state;
    for (int i = MANY - 1; i >= 0; i--)
        add(&r, (size_t)i * SIZE, SIZE, i);
    assert_int_equal(r.count, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(find(&r, (size_t)i * SIZE + 3, SIZE - 3), i);
    free(r.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
