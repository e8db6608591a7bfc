/* SPDX-License-Identifier: MIT */
/* test_late_return.c: an agent that was stopped holds its ranks until it knows whether mlaunch is
 * there. Times are FAILURE_MS, so that the test holds in each build. */
#include "launcher/base/machine/late_return_linux.h"

#include "common/failure_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { BEGAN = 1000000, LATE = AGENT_SILENCE_MS - AGENT_HEARTBEAT_MS };

/* At BEGAN it has looked; then it was stopped for that long, and a tick is the first event. */
static struct late_return returned_after(int64_t ms, enum late_return_order expected)
{
    struct late_return l = {0};

    assert_int_equal(late_return_look(&l, LATE_RETURN_TICK, BEGAN), LATE_RETURN_NOTHING);
    assert_int_equal(late_return_look(&l, LATE_RETURN_TICK, BEGAN + ms), expected);
    return l;
}

static void test_short_pause(void **state)
{
    struct late_return l = returned_after(LATE - 1, LATE_RETURN_NOTHING);

    (void)state;
    assert_int_equal(late_return_look(&l, LATE_RETURN_CHANNEL_END, BEGAN + LATE),
                     LATE_RETURN_NOTHING);
}

/* What comes at once was waiting here; what comes later was sent since. */
static void test_mlaunch_is_there(void **state)
{
    const int64_t back = BEGAN + LATE;
    struct late_return l = returned_after(LATE, LATE_RETURN_HOLD);

    (void)state;
    assert_int_equal(late_return_look(&l, LATE_RETURN_FRAME, back), LATE_RETURN_NOTHING);
    assert_int_equal(late_return_look(&l, LATE_RETURN_FRAME, back + AGENT_TICK_MS),
                     LATE_RETURN_NOTHING);
    assert_int_equal(late_return_look(&l, LATE_RETURN_FRAME, back + AGENT_TICK_MS + 1),
                     LATE_RETURN_GO_ON);
    assert_int_equal(late_return_look(&l, LATE_RETURN_CHANNEL_END, back + AGENT_TICK_MS + 2),
                     LATE_RETURN_NOTHING);
}

static void test_mlaunch_is_gone(void **state)
{
    const int64_t back = BEGAN + LATE;
    struct late_return l = returned_after(LATE, LATE_RETURN_HOLD);

    (void)state;
    assert_int_equal(late_return_look(&l, LATE_RETURN_TICK, back + AGENT_GAP_MS),
                     LATE_RETURN_NOTHING);
    assert_int_equal(late_return_look(&l, LATE_RETURN_TICK, back + AGENT_GAP_MS + 1),
                     LATE_RETURN_END);
    l = returned_after(LATE, LATE_RETURN_HOLD);
    assert_int_equal(late_return_look(&l, LATE_RETURN_CHANNEL_END, back), LATE_RETURN_END);
    /* The channel's end is the first that it sees. */
    l = (struct late_return){.looked_ms = BEGAN};
    assert_int_equal(late_return_look(&l, LATE_RETURN_CHANNEL_END, back), LATE_RETURN_END);
}

/* Stopped again while it waits: the time begins anew. */
static void test_twice(void **state)
{
    struct late_return l = returned_after(LATE, LATE_RETURN_HOLD);

    (void)state;
    assert_int_equal(late_return_look(&l, LATE_RETURN_TICK, BEGAN + 2 * LATE), LATE_RETURN_NOTHING);
    assert_int_equal(late_return_look(&l, LATE_RETURN_FRAME, BEGAN + 2 * LATE + AGENT_TICK_MS + 1),
                     LATE_RETURN_GO_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_pause),
        cmocka_unit_test(test_mlaunch_is_there),
        cmocka_unit_test(test_mlaunch_is_gone),
        cmocka_unit_test(test_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
