/* SPDX-License-Identifier: MIT */
/* test_rank_list.c: how messages name several ranks. */
#include "common/text/rank_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_text(void **state)
{
    static const struct {
        int ranks[8]; /* up to a -1 */
        const char *text;
    } cases[] = {
        {{3, -1}, "rank 3"},
        {{0, 1, -1}, "ranks 0,1"},
        {{0, 1, 2, -1}, "ranks 0-2"},
        {{0, 2, 3, 4, 5, 6, 7, -1}, "ranks 0,2-7"},
        {{0, 2, 4, 5, 9, -1}, "ranks 0,2,4,5,9"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rank_list l = {0};

        for (int j = 0; cases[i].ranks[j] >= 0; j++)
            rank_list_add(&l, cases[i].ranks[j]);
        assert_string_equal(rank_list_end(&l), cases[i].text);
    }
}

/* However many there are, the text ends in time, and says that it was cut. */
static void test_many(void **state)
{
    (void)state;
    for (int count = 1; count < 400; count++) {
        struct rank_list l = {0};
        const char *text;
        size_t size;

        for (int i = 0; i < count; i++)
            rank_list_add(&l, 1000000 + 2 * i);
        text = rank_list_end(&l);
        size = strlen(text);
        assert_true(size < RANK_LIST_TEXT);
        assert_memory_equal(text, "rank", 4);
        if (count > 40)
            assert_string_equal(text + size - 4, ",...");
        else if (count < 20)
            assert_int_equal(text[size - 1], '0' + (count - 1) * 2 % 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_many)};

    return cmocka_run_group_tests_name("rank_list", tests, NULL, NULL);
}
