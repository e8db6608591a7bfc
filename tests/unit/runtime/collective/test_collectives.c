/* SPDX-License-Identifier: MIT */
/*
 * The diagonal of the collective calls, on a mesh of threads: every call with every algorithm that
 * the table has for it, and with every type. Another test is that each is met. All of them at many
 * sizes: tests/runtime/mesh; over the real transports: tests/runtime/collectives.t.
 */
#include "common/rank_counters.h"
#include "runtime/steps/algorithm_table.h"
#include "tests/runtime/mesh/mesh_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const char *const algorithm_names[RANK_COUNTERS_ALGORITHMS] = RANK_COUNTERS_ALGORITHM_NAMES;

/* Hosts have equally many of four ranks, and unequally many of five and seven (thread_mesh.c). */
static const int sizes[] = {4, 5, 7, 0};

/* What the diagonal has met, in memory that the children of mesh_check share. */
static struct met {
    bool algorithm[CALL_KINDS][RANK_COUNTERS_ALGORITHMS];
    bool type[CASE_CALLS][ML_COMPLEX64 + 1], op[CASE_CALLS][ML_XOR + 1];
    bool place[CASE_CALLS][PLACES];
    bool operator_is_commutative[CASE_CALLS][2];
} * met;
static int round_number;

static bool is_in_table(int call, int algorithm)
{
    char text[64];

    snprintf(text, sizeof(text), "%s:%s", call_names[call], algorithm_names[algorithm]);
    setenv("MLAUNCH_ALGO", text, 1);
    return algorithm_read(NULL) == 0;
}

/* Writes MLAUNCH_ALGO for a round: the algorithm of that number of each call, and again the first
 * behind the last. Returns false if all calls have had all of theirs. */
static bool round_choose(int round, char *text, size_t room)
{
    bool is_new = false;
    size_t used = 0;

    for (int call = 1; call < CALL_KINDS; call++) {
        int known[RANK_COUNTERS_ALGORITHMS], count = 0;

        for (int a = 1; a < RANK_COUNTERS_ALGORITHMS; a++)
            if (is_in_table(call, a))
                known[count++] = a;
        is_new |= round < count;
        if (count)
            used += (size_t)snprintf(text + used, room - used, "%s%s:%s", used ? "," : "",
                                     call_names[call], algorithm_names[known[round % count]]);
    }
    return is_new;
}

static void note_case(const struct subject *s, const struct collective_case *c)
{
    const struct group *g = (const struct group *)s->group;

    met->place[c->call][c->place] = true;
    if (c->element) {
        met->operator_is_commutative[c->call][c->is_commutative] = true;
    } else {
        met->type[c->call][c->type] = true;
        met->op[c->call][c->op] = true;
    }
    for (int a = 1; g->words.algorithm && a < RANK_COUNTERS_ALGORITHMS; a++)
        if (strcmp(g->words.algorithm, algorithm_names[a]) == 0)
            met->algorithm[g->call.kind][a] = true;
}

static void diagonal(const struct subject *s, int *failures)
{
    for (int i = 0; i < DIAGONAL_CASES; i++) {
        struct collective_case c = case_diagonal(i, round_number, s->size);

        mesh_count(case_run(s, &c), failures);
        if (s->rank == 0)
            note_case(s, &c);
    }
}

static void test_diagonal(void **state)
{
    char algorithms[512];

    (void)state;
    for (; round_choose(round_number, algorithms, sizeof(algorithms)); round_number++)
        mesh_check(algorithms, sizes, diagonal);
    assert_true(round_number > 0);
}

static void test_every_algorithm(void **state)
{
    int count = 0;

    (void)state;
    for (int call = 1; call < CALL_KINDS; call++)
        for (int a = 1; a < RANK_COUNTERS_ALGORITHMS; a++) {
            if (!is_in_table(call, a))
                continue;
            count++;
            if (!met->algorithm[call][a])
                fail_msg("%s:%s is never met", call_names[call], algorithm_names[a]);
        }
    assert_true(count > 0);
}

static void check_all(const bool *row, int count, const char *what, int call)
{
    for (int i = 0; i < count; i++)
        if (!row[i])
            fail_msg("call %d of enum case_call never meets %s %d", call, what, i);
}

static void test_every_case(void **state)
{
    (void)state;
    for (int call = 0; call < CASE_CALLS; call++) {
        check_all(met->place[call], PLACES, "place", call);
        if (call > CASE_EXCLUSIVE_SCAN)
            continue;
        check_all(met->type[call], ML_COMPLEX64 + 1, "type", call);
        check_all(met->op[call], ML_XOR + 1, "operation", call);
        check_all(met->operator_is_commutative[call], 2, "operators with is_commutative", call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_every_algorithm),
        cmocka_unit_test(test_every_case),
    };

    met = mmap(NULL, sizeof(*met), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (met == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
