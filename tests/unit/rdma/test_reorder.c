/* SPDX-License-Identifier: MIT */
/*
 * test_reorder.c: chunks that arrive out of order after a rail was lost. The rails have no device:
 * the test sets what has arrived on them.
 */
#include "rdma/reorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rails rails;
static struct reorder buffer;

static int setup(void **state)
{
    (void)state;
    rails = (struct rails){.count = 2};
    buffer = (struct reorder){0};
    for (int i = 0; i < 2; i++) {
        rails.all[i] = calloc(1, sizeof(*rails.all[i]));
        assert_non_null(rails.all[i]);
        rails.all[i]->memory.bytes = calloc(1, MEMORY_SIZE);
        assert_non_null(rails.all[i]->memory.bytes);
        rails.all[i]->failed.code = ML_ERR_LINK; /* so that no credit is sent */
    }
    rails_start(&rails);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    reorder_clear(&buffer);
    for (int i = 0; i < 2; i++) {
        free(rails.all[i]->memory.bytes);
        free(rails.all[i]);
    }
    return 0;
}

/* Chunk `number` arrives on rail i: its text, or, if that is NULL, in announced memory. */
static void arrive(int i, uint64_t number, const char *text)
{
    struct rail *r = rails.all[i];
    size_t slot = r->arrived % MEMORY_SLOTS;

    r->in[slot] = (struct rail_chunk){.size = text ? (uint32_t)strlen(text) + 1 : MEMORY_SLOT,
                                      .number = (uint32_t)(number & RAIL_NUMBER_MASK),
                                      .is_direct = !text};
    if (text)
        memcpy(r->memory.bytes + MEMORY_IN + slot * MEMORY_SLOT, text, strlen(text) + 1);
    r->arrived++;
}

/* Chunk `number` is in the buffer with that text (NULL: in announced memory), and is released. */
static void assert_buffered(uint64_t number, const char *text)
{
    struct rail_chunk what;
    const void *bytes = reorder_find(&buffer, number, &what);

    assert_non_null(bytes);
    assert_int_equal(what.is_direct, !text);
    if (text)
        assert_string_equal(bytes, text);
    reorder_release(&buffer, number);
    assert_null(reorder_find(&buffer, number, &what));
}

static void test_in_order(void **state)
{
    struct fault why;

    (void)state;
    arrive(0, 8, "eight");
    /* Nothing is sent again: chunks stay in their slots. */
    assert_int_equal(reorder_take(&buffer, &rails, 7, &why), 0);
    assert_null(buffer.first);
    /* Up to chunk 20 some may be, but the next one is here. */
    buffer.until = 20;
    arrive(1, 7, "seven");
    assert_int_equal(reorder_take(&buffer, &rails, 7, &why), 0);
    assert_null(buffer.first);
    assert_int_equal(rails.all[0]->taken, 0);
}

static void test_behind_later_ones(void **state)
{
    struct rail_chunk what;
    const void *bytes;
    struct fault why;

    (void)state;
    buffer.until = 20;
    arrive(0, 8, "eight");
    arrive(0, 10, NULL);
    arrive(0, 7, "seven");
    arrive(1, 9, "nine");
    assert_int_equal(reorder_take(&buffer, &rails, 7, &why), 0);
    /* Chunk 7 can be taken from its slot, the ones before it on that rail are in the buffer. */
    assert_ptr_equal(rails_find(&rails, 7, &what, &bytes), rails.all[0]);
    assert_string_equal(bytes, "seven");
    assert_int_equal(rails.all[0]->taken, 2);
    assert_buffered(8, "eight");
    assert_buffered(10, NULL);
}

static void test_not_there_yet(void **state)
{
    struct fault why;

    (void)state;
    buffer.until = 20;
    arrive(0, 8, "eight");
    arrive(1, 9, "nine");
    /* Chunk 7 has not arrived: all others make room for it. */
    assert_int_equal(reorder_take(&buffer, &rails, 7, &why), 0);
    assert_int_equal(rails.all[0]->taken, 1);
    assert_int_equal(rails.all[1]->taken, 1);
    arrive(1, 7, "seven");
    assert_int_equal(reorder_take(&buffer, &rails, 7, &why), 0);
    assert_int_equal(rails.all[1]->taken, 1);
    assert_buffered(9, "nine");
    assert_buffered(8, "eight");
}

static void test_numbers_wrap(void **state)
{
    uint64_t last = RAIL_NUMBER_MASK;
    struct fault why;

    (void)state;
    buffer.until = last + 10;
    arrive(0, last + 1, "zero");
    assert_int_equal(reorder_take(&buffer, &rails, last, &why), 0);
    assert_buffered(last + 1, "zero");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_behind_later_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_there_yet, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_wrap, setup, teardown),
    };

    return cmocka_run_group_tests_name("reorder", tests, NULL, NULL);
}
