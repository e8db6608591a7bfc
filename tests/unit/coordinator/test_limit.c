/* SPDX-License-Identifier: MIT */
/* test_limit.c: limits of time, and pauses. */
#include "common/clock.h"
#include "coordinator/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SHORT_MS = 20, LONG_MS = 3600000 };

static int ends; /* the calls of on_end */

static void on_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    ends++;
}

static void open_limits(struct limits *all)
{
    *all = (struct limits){.base = event_base_new()};
    assert_non_null(all->base);
    ends = 0;
}

static void set(struct limit *l, struct limits *all, int64_t ms)
{
    assert_int_equal(limit_start(l, all, ms, on_end, NULL), 0);
}

/* Lets the loop run until all that was due in `ms` must have come. */
static void run_for(struct limits *all, int64_t ms)
{
    int64_t end_ms = clock_ms() + ms + 1;

    while (clock_ms() < end_ms)
        event_base_loop(all->base, EVLOOP_NONBLOCK);
    event_base_loop(all->base, EVLOOP_NONBLOCK);
}

static void test_pause(void **state)
{
    struct limits all;
    struct limit before = {0}, within = {0}, cleared = {0};
    int64_t now;

    (void)state;
    open_limits(&all);
    set(&before, &all, SHORT_MS);
    set(&cleared, &all, SHORT_MS);
    limits_pause(&all);
    now = limits_now_ms(&all);
    set(&within, &all, SHORT_MS);
    limits_pause(&all); /* nothing new */
    run_for(&all, 2 * SHORT_MS);
    assert_int_equal(ends, 0);
    assert_int_equal(limits_now_ms(&all), now);
    assert_true(limit_is_set(&before) && limit_is_set(&within));
    limit_clear(&cleared);
    assert_false(limit_is_set(&cleared));
    limits_resume(&all);
    assert_true(limits_now_ms(&all) < now + LONG_MS && limits_now_ms(&all) >= now);
    assert_true(clock_ms() - limits_now_ms(&all) >= 2 * SHORT_MS);
    run_for(&all, SHORT_MS);
    assert_int_equal(ends, 2);
    assert_false(limit_is_set(&before) || limit_is_set(&within));

    /* What has ended does not come again. */
    limits_pause(&all);
    limits_resume(&all);
    run_for(&all, SHORT_MS);
    assert_int_equal(ends, 2);
    limit_free(&within);
    limit_free(&before);
    limit_free(&cleared);
    assert_null(all.first);
    event_base_free(all.base);
}

static void test_set_again(void **state)
{
    struct limits all;
    struct limit limit = {0}, unset = {0};

    (void)state;
    open_limits(&all);
    assert_false(limit_is_set(&unset));
    limit_clear(&unset);
    limit_free(&unset);
    set(&limit, &all, SHORT_MS);
    set(&limit, &all, LONG_MS);
    run_for(&all, SHORT_MS);
    assert_int_equal(ends, 0);
    assert_true(limit_is_set(&limit));
    set(&limit, &all, 0);
    run_for(&all, SHORT_MS);
    assert_int_equal(ends, 1);
    limit_free(&limit);
    event_base_free(all.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_set_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
