/* SPDX-License-Identifier: MIT */
/*
 * test_next_world.c: who is in the next world, case by case.
 *
 * Each rank of a case is a word, its state, with what else is true behind a "+" each: "called"
 * (it has called ml_repair), "ended" (its process is gone), "open" (somebody may still come to take
 * its place), "newcomer" (who has come for it waits). "ready" is short for "joined+called".
 */
#include "coordinator/next_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MOST = 8, WORD_MOST = 64, WAIT_MS = 5000 };

enum patience {
    PATIENT,   /* newcomers are waited for, and have not been yet */
    WAITED,    /* … and have been for as long as may be */
    IMPATIENT, /* newcomers are not waited for at all */
};

static const struct next_world_case {
    const char *name;
    const char *ranks;
    enum patience patience;
    const char *expected;
} cases[] = {
    /* The living. */
    {"all that have called are the next world", "ready ready ready", PATIENT, "world 0 1 2"},
    {"a single rank is a world", "ready", PATIENT, "world 0"},
    {"a rank that has not called is awaited", "ready joined", PATIENT, "await the living"},
    {"nobody has called, so all are awaited", "joined joined", PATIENT, "await the living"},
    {"the last of many is awaited", "ready ready ready joined", PATIENT, "await the living"},
    {"a dying rank is awaited until it is known to be dead", "ready dying", PATIENT,
     "await the living"},
    {"a dying rank that has called is awaited", "ready dying+called", PATIENT, "await the living"},
    {"a dying rank is awaited even if its place is open", "ready dying+open", PATIENT,
     "await the living"},
    {"a rank that a new coordinator has not seen is awaited", "ready absent", PATIENT,
     "await the living"},
    {"an unseen rank is awaited before its place is", "ready absent+open", PATIENT,
     "await the living"},
    {"the living are awaited after the wait for newcomers", "ready joined dead+open", WAITED,
     "await the living"},

    /* Those that are left out. */
    {"a dead rank is left out", "ready dead ready", PATIENT, "world 0 2"},
    {"a dead first rank is left out", "dead ready ready", PATIENT, "world 1 2"},
    {"one of many may be all that is left", "dead ready dead left", PATIENT, "world 1"},
    {"a rank that has called and died is left out", "ready dead+called", PATIENT, "world 0"},
    {"a rank that has left is left out", "ready left", PATIENT, "world 0"},
    {"a rank that has called and left is left out", "left+called ready", PATIENT, "world 1"},
    {"an unseen rank whose process has ended is left out", "ready absent+ended", PATIENT,
     "world 0"},

    /* Nobody is left that has called. */
    {"all are dead, so the repair ends", "dead dead", PATIENT, "end"},
    {"all have left, so the repair ends", "left left", PATIENT, "end"},
    {"some are dead and some have left, so the repair ends", "dead left", PATIENT, "end"},
    {"no unseen rank can come any more, so the repair ends", "absent+ended absent+ended", PATIENT,
     "end"},
    {"nobody is left that could wait for newcomers", "dead+open left", PATIENT, "end"},
    {"a newcomer alone makes no world", "dead+newcomer dead", PATIENT, "end"},

    /* Places. */
    {"a newcomer is awaited for an open place", "ready dead+open", PATIENT, "await newcomers 5000"},
    {"a newcomer is awaited for each of several places", "ready dead+open dead+open", PATIENT,
     "await newcomers 5000"},
    {"a newcomer is awaited in place of an unseen rank that has ended", "ready absent+ended+open",
     PATIENT, "await newcomers 5000"},
    {"one place is taken and the other is awaited", "ready dead+open+newcomer dead+open", PATIENT,
     "await newcomers 5000"},
    {"the living are awaited before newcomers", "ready joined dead+open", PATIENT,
     "await the living"},
    {"an open place is left empty after the wait", "ready dead+open", WAITED, "world 0"},
    {"an unseen rank's place is left empty after the wait", "ready absent+ended+open", WAITED,
     "world 0"},
    {"nobody waits where no time is given for it", "ready dead+open", IMPATIENT, "world 0"},
    {"a rank that has left has no place to take", "ready left+open", PATIENT, "world 0"},
    {"the place of a rank that lives is not empty", "ready ready+open", PATIENT, "world 0 1"},
    {"places that are closed for ever are not awaited", "ready dead dead", PATIENT, "world 0"},

    /* Newcomers. */
    {"a newcomer is in the next world", "ready dead+newcomer", PATIENT, "world 0 1"},
    {"a newcomer need not call ml_repair", "ready dead+open+newcomer", PATIENT, "world 0 1"},
    {"newcomers have their numbers' places in the order", "dead+newcomer ready dead+newcomer ready",
     PATIENT, "world 0 1 2 3"},
    {"who has come in time is in, and the other place is empty",
     "ready dead+open+newcomer dead+open", WAITED, "world 0 1"},
    {"a newcomer that waits is in where nobody is awaited", "ready dead+open+newcomer dead+open",
     IMPATIENT, "world 0 1"},
    {"a newcomer of a dying rank waits for its end", "ready dying+newcomer", PATIENT,
     "await the living"},
    {"the newcomer of an unseen rank is in its stead", "ready absent+newcomer", PATIENT,
     "world 0 1"},
    {"the newcomer of an unseen rank that has ended is in", "ready absent+ended+newcomer", PATIENT,
     "world 0 1"},
    {"the newcomer of a rank that has left is in", "ready left+newcomer", PATIENT, "world 0 1"},
    {"a newcomer does not hasten the living", "joined dead+newcomer", PATIENT, "await the living"},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void say(struct next_world_rank *r, const char *word)
{
    static const char *const states[] = {
        [RANK_ABSENT] = "absent", [RANK_JOINED] = "joined", [RANK_DYING] = "dying",
        [RANK_LEFT] = "left",     [RANK_DEAD] = "dead",
    };

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(word, states[i]) == 0) {
            r->state = (enum rank_state)i;
            return;
        }
    if (strcmp(word, "called") == 0)
        r->has_repaired = true;
    else if (strcmp(word, "ended") == 0)
        r->has_ended = true;
    else if (strcmp(word, "open") == 0)
        r->is_open = true;
    else if (strcmp(word, "newcomer") == 0)
        r->has_newcomer = true;
    else if (strcmp(word, "ready") == 0)
        *r = (struct next_world_rank){.state = RANK_JOINED, .has_repaired = true};
    else
        fail_msg("a case has the word \"%s\"", word);
}

/* Returns how many ranks the text names. */
static int ranks_read(struct next_world_rank *ranks, const char *text)
{
    char copy[256], *word, *part, *rest, *rest_of_word;
    int count = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_in_range(count, 0, RANKS_MOST - 1);
        ranks[count] = (struct next_world_rank){0};
        for (part = strtok_r(word, "+", &rest_of_word); part;
             part = strtok_r(NULL, "+", &rest_of_word))
            say(&ranks[count], part);
        count++;
    }
    return count;
}

static void decision_write(const struct next_world *next, const int *ranks, char *text, size_t size)
{
    switch (next->step) {
    case NEXT_WORLD_AWAIT_LIVING:
        snprintf(text, size, "await the living");
        break;
    case NEXT_WORLD_AWAIT_NEWCOMERS:
        snprintf(text, size, "await newcomers %d", next->wait_ms);
        break;
    case NEXT_WORLD_MAKE:
        snprintf(text, size, "world");
        for (int i = 0; i < next->count; i++)
            snprintf(text + strlen(text), size - strlen(text), " %d", ranks[i]);
        break;
    case NEXT_WORLD_END:
        snprintf(text, size, "end");
        break;
    }
}

static void test_case(void **state)
{
    const struct next_world_case *c = *state;
    struct next_world_rank ranks[RANKS_MOST];
    struct next_world_facts facts = {.ranks = ranks,
                                     .count = ranks_read(ranks, c->ranks),
                                     .newcomers_ms = c->patience == IMPATIENT ? 0 : WAIT_MS,
                                     .has_waited = c->patience == WAITED};
    int members[RANKS_MOST];
    struct next_world next = next_world_decide(&facts, members);
    char text[256] = "";

    decision_write(&next, members, text, sizeof(text));
    assert_string_equal(text, c->expected);
}

int main(void)
{
    struct CMUnitTest tests[CASES];

    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_case,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return cmocka_run_group_tests_name("next_world", tests, NULL, NULL);
}
