/* SPDX-License-Identifier: MIT */
#include "tests/runtime/mesh/mesh_cases.h"

#include "runtime/steps/algorithm_table.h"
#include "tests/runtime/mesh/thread_mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

void mesh_count(int rc, int *failures)
{
    if (rc < 0)
        _exit(1);
    *failures += rc;
}

/* Elements of the program, some of them longer than a cell, and vectors of many cells. */
static void run_operators(const struct subject *s, int *failures)
{
    static const size_t sizes[] = {1, 8, 24, 100, 4095, 5000}, counts[] = {0, 1, 7, 400};

    for (size_t e = 0; e < sizeof(sizes) / sizeof(sizes[0]); e++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
                for (int i = 0; i < 8 && (i < 2 || sizes[e] * counts[n] < 100000); i++) {
                    struct collective_case c = {.call = (enum case_call)call,
                                                .count = counts[n],
                                                .root = (int)(e + n) % s->size,
                                                .place = (enum case_place)(i / 2),
                                                .seed = (unsigned)n,
                                                .element = sizes[e],
                                                .is_commutative = i % 2};

                    mesh_count(case_run(s, &c), failures);
                }
}

void mesh_reductions(const struct subject *s, int *failures)
{
    static const size_t counts[] = {0, 1, 2, 3, 67, 1000, 5000};
    static const struct {
        ml_type type;
        ml_op op;
    } pairs[] = {{ML_FLOAT32, ML_SUM}, {ML_BFLOAT16, ML_MAX},   {ML_INT8, ML_PROD},
                 {ML_BOOL, ML_XOR},    {ML_COMPLEX64, ML_PROD}, {ML_FLOAT64, ML_MIN}};

    for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++)
        for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
            for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
                for (int place = PLACE_APART; place <= PLACE_MIXED; place++) {
                    struct collective_case c = {(enum case_call)call,
                                                pairs[p].type,
                                                pairs[p].op,
                                                counts[n],
                                                (int)n % s->size,
                                                (enum case_place)place,
                                                (unsigned)n,
                                                0,
                                                false};

                    mesh_count(case_run(s, &c), failures);
                    if (call == CASE_ALL_REDUCE && pairs[p].type >= ML_FLOAT16)
                        mesh_count(case_same_bits(s, &c), failures);
                }
    run_operators(s, failures);
}

void mesh_movements(const struct subject *s, int *failures)
{
    static const size_t sizes[] = {0, 1, 7, 1000, 40000};

    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++)
        for (int call = CASE_ALL_GATHER; call < CASE_CALLS; call++)
            for (int place = 0; place < PLACES; place++) {
                struct collective_case c = {
                    (enum case_call)call,   ML_UINT8,    ML_SUM, sizes[n], (int)(n + 1) % s->size,
                    (enum case_place)place, (unsigned)n, 0,      false};

                mesh_count(case_run(s, &c), failures);
            }
}

/* Many chunks, which keep the pipelines full. */
void mesh_large(const struct subject *s, int *failures)
{
    for (int call = 0; call < CASE_CALLS; call++)
        for (int place = PLACE_APART; place <= PLACE_MIXED; place += 2) {
            struct collective_case c = {(enum case_call)call,
                                        ML_INT64,
                                        ML_SUM,
                                        call <= CASE_REDUCE ? 100003 : 700001,
                                        s->size / 2,
                                        (enum case_place)place,
                                        7,
                                        0,
                                        false};

            if (call == CASE_REDUCE_SCATTER)
                c.count /= 2;
            mesh_count(case_run(s, &c), failures);
        }
}

void mesh_random(const struct subject *s, int *failures)
{
    uint64_t state = 42;

    for (int i = 0; i < (s->size > 9 ? 25 : 100); i++) {
        struct collective_case c = case_random(&state, s->size, 1 << 17);

        mesh_count(case_run(s, &c), failures);
    }
}

void mesh_check(const char *algorithms, const int *sizes,
                void (*body)(const struct subject *s, int *failures))
{
    for (; *sizes; sizes++) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            setenv("MLAUNCH_ALGO", algorithms, 1);
            algorithm_read(NULL); /* the parent may have read another one */
            alarm(300);           /* a hang is a failure */
            _exit(mesh_run(*sizes, body) != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status)
            fail_msg("%d ranks, MLAUNCH_ALGO='%s': status %#x", *sizes, algorithms, status);
    }
}

static const struct mesh_sizes every_size = {{1, 2, 3, 4, 7, 9}, {4, 6, 9, 10}, {3, 5, 8, 11},
                                             {2, 3, 5, 8},       {2, 3, 4},     {16, 17, 33}},
                               some_sizes = {{1, 2, 3, 7}, {4, 6}, {3, 5}, {2, 5}, {3}, {17}},
                               least_sizes = {{1, 2, 3}, {6}, {5}, {3}, {3}, {17}};

const struct mesh_sizes *mesh_sizes_chosen(void)
{
    const char *sanitize = getenv("SANITIZE");

    if (sanitize && strcmp(sanitize, "no") != 0)
        return &least_sizes;
    return getenv("MLAUNCH_TEST_LONG") ? &every_size : &some_sizes;
}
