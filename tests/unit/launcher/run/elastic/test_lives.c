/* SPDX-License-Identifier: MIT */
/* test_lives.c: the states of hosts and ranks: what each event leads to in each state, and that the
 * counts of ranks follow. */
#include "launcher/run/elastic/lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The state that follows each state, a row an event: the letters of the columns, and "." where the
 * event changes nothing. */
static const char *const host_rows[HOST_EVENTS] = {
    /*                     OCPAFSXGDYNM */
    [HOST_EVENT_HELLO] = "C...........",    [HOST_EVENT_READY] = ".P..........",
    [HOST_EVENT_ANNOUNCE] = "..A.........", [HOST_EVENT_START] = "..SS........",
    [HOST_EVENT_CUT] = ".....XX.....",      [HOST_EVENT_MEND] = "......S.....",
    [HOST_EVENT_GIVE_UP] = ".....GG.....",  [HOST_EVENT_DONE] = ".....DDD....",
    [HOST_EVENT_STAY] = ".YY.....Y...",     [HOST_EVENT_FAIL] = "FFFFF.......",
    [HOST_EVENT_END] = "NNNNMNNNNN..",      [HOST_EVENT_MISS] = "MMM.M.......",
    [HOST_EVENT_COME] = "..........OO",
};

static const char *const rank_rows[RANK_EVENTS] = {
    /*                      RAPCNLE */
    [RANK_EVENT_KNOWN] = ".CC....",   [RANK_EVENT_PAUSE] = "...P...",
    [RANK_EVENT_REPLACE] = "CACC...", [RANK_EVENT_ADMIT] = "R..RRL.",
    [RANK_EVENT_LEAVE] = "L..L...",   [RANK_EVENT_NEEDLESS] = ".NNN...",
    [RANK_EVENT_END] = "EEEEEE.",
};

static void test_hosts(void **state)
{
    static const char letters[] = "OCPAFSXGDYNM";

    (void)state;
    for (int e = 0; e < HOST_EVENTS; e++)
        for (int s = 0; s < HOST_LIVES; s++) {
            struct live_host facts = {.life = (enum host_life)s};
            struct lives l = {.hosts = &facts};
            char expected = host_rows[e][s];

            if (expected == '.')
                expected = letters[s];
            lives_host(&l, 0, (enum host_event)e);
            if (letters[facts.life] != expected)
                fail_msg("event %d in state %c leads to %c, not %c", e, letters[s],
                         letters[facts.life], expected);
            assert_int_equal(lives_host_find((enum host_life)s, (enum host_event)e) != NULL,
                             host_rows[e][s] != '.');
        }
}

static bool is_coming(char letter)
{
    return strchr("APCN", letter) != NULL;
}

static void test_ranks(void **state)
{
    static const char letters[] = "RAPCNLE";

    (void)state;
    for (int e = 0; e < RANK_EVENTS; e++)
        for (int s = 0; s < RANK_LIVES; s++) {
            struct live_rank facts = {.life = (enum rank_life)s};
            struct lives l = {.ranks = &facts, .left = 5, .coming = 3};
            char expected = rank_rows[e][s];

            if (expected == '.')
                expected = letters[s];
            lives_rank(&l, 0, (enum rank_event)e);
            if (letters[facts.life] != expected)
                fail_msg("event %d in state %c leads to %c, not %c", e, letters[s],
                         letters[facts.life], expected);
            assert_int_equal(l.left, 5 - (expected == 'E' && letters[s] != 'E'));
            assert_int_equal(l.coming, 3 + is_coming(expected) - is_coming(letters[s]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
