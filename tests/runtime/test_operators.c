/* SPDX-License-Identifier: MIT */
/* test_operators.c: reductions by operators of the program: what is refused, what an operator must
 * not do, and how it ends when one never returns. What they compute is in collective_cases.c.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { COUNT = 50000 };

static const struct job_config configs[] = {
    {.size = 3},
    {.size = 3, .backend = "tcp", .local_net = true},
    {.size = 4, .hosts = 2, .backend = "tcp"},
};
enum { CONFIGS = sizeof(configs) / sizeof(configs[0]) };

static void do_all(rank_fn *fn)
{
    for (int i = 0; i < CONFIGS; i++)
        job_do(&configs[i], fn);
}

/* ---- what it is for ---- */

/* The largest number, and the lowest rank that has it. */
struct place {
    double value;
    int rank;
};

static void largest(void *inout, const void *in, size_t count, void *context)
{
    struct place *a = inout;
    const struct place *b = in;

    (void)context;
    for (size_t i = 0; i < count; i++)
        if (b[i].value > a[i].value || (b[i].value == a[i].value && b[i].rank < a[i].rank))
            a[i] = b[i];
}

static void find_largest(struct job *j, int rank)
{
    const ml_operator op = {largest, sizeof(struct place), 1, NULL};
    struct place *v = calloc(COUNT, sizeof(*v));
    int n = j->config.size;
    ml_request *request;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            v[i] = (struct place){(double)((i + rank) % n), rank};
        if (round == 0) {
            REQUIRE(ml_all_reduce_with(w, v, v, COUNT, &op) == 0);
        } else {
            ml_operator gone = op; /* it is not needed once the call is started */

            REQUIRE(ml_start_all_reduce_with(w, v, v, COUNT, &gone, &request) == 0);
            memset(&gone, 0, sizeof(gone));
            REQUIRE(ml_wait(request) == 0);
        }
        for (int i = 0; i < COUNT; i++)
            REQUIRE(v[i].value == n - 1 && v[i].rank == (2 * n - 1 - i % n) % n);
    }
    REQUIRE(ml_finalize() == 0);
    free(v);
}

static void test_largest(void **state)
{
    (void)state;
    do_all(find_largest);
}

/* ---- arguments ---- */

static void refuse(struct job *j, int rank)
{
    ml_operator op = {largest, sizeof(struct place), 1, NULL};
    struct place v = {0};
    ml_request *request = (ml_request *)&v;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_all_reduce_with(w, &v, &v, 1, NULL) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "the operator is NULL, or has no function");
    REQUIRE(ml_all_reduce_with(w, &v, &v, SIZE_MAX / 8, &op) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "more than memory can hold");
    REQUIRE(ml_reduce_scatter_with(w, &v, &v, SIZE_MAX / 40, &op) == ML_ERR_ARGUMENT);
    REQUIRE(ml_reduce_with(w, &v, &v, 1, &op, 99) == ML_ERR_ARGUMENT);
    REQUIRE(ml_scan_with(w, NULL, &v, 1, &op) == ML_ERR_ARGUMENT);
    REQUIRE(ml_exclusive_scan_with(NULL, &v, &v, 1, &op) == ML_ERR_ARGUMENT);
    op.size = 0;
    REQUIRE(ml_start_all_reduce_with(w, &v, &v, 1, &op, &request) == ML_ERR_ARGUMENT);
    REQUIRE(!request);
    REQUIRE_TEXT(ml_error(), "the operator's elements have 0 bytes");
    op = (ml_operator){largest, sizeof(v), 1, NULL};
    v = (struct place){1, rank};
    REQUIRE(ml_reduce_with(w, &v, &v, 1, &op, 1) == 0); /* the group is unharmed */
    REQUIRE(rank != 1 || v.rank == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_arguments(void **state)
{
    (void)state;
    job_do(&configs[0], refuse);
}

/* The sentence names what differs. */
static void differ(struct job *j, int rank)
{
    ml_operator op = {largest, rank == 0 ? sizeof(struct place) : 24, 1, NULL};
    struct place v[6] = {{0}};
    ml_group *w, *g;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &g) == 0);
    REQUIRE(ml_all_reduce_with(g, v, v, rank == 0 ? 6 : 4, &op) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(),
                 "all_reduce of 6 elements of 16 bytes (the program's operator, commutative)");
    REQUIRE_TEXT(ml_error(), "all_reduce of 4 elements of 24 bytes");
    op = (ml_operator){largest, sizeof(v[0]), rank == 0, NULL};
    REQUIRE(ml_all_reduce_with(w, v, v, 6, &op) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "operator, not commutative)");
    REQUIRE(ml_finalize() == 0);
}

static void test_differ(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct job_config two = configs[i];

        two.size = 2;
        job_do(&two, differ);
    }
}

/* ---- calls in an operator ---- */

struct caller {
    ml_group *group, *other;
    ml_request **request; /* for the call that runs the operator, or NULL */
    int calls;
};

static void require_forbidden(int rc)
{
    REQUIRE(rc == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "an operator of the program can't make this call");
}

static void call_library(void *inout, const void *in, size_t count, void *context)
{
    struct caller *c = context;
    ml_request *request;
    ml_group *w;
    char byte = 0;
    int done;

    require_forbidden(ml_barrier(c->group));
    require_forbidden(ml_all_reduce(c->other, &byte, &byte, 1, ML_UINT8, ML_SUM));
    require_forbidden(ml_send(c->group, &byte, 1, 0));
    require_forbidden(ml_start_barrier(c->group, &request));
    require_forbidden(ml_split(c->other, 0, 0, &w));
    require_forbidden(ml_init(&w));
    require_forbidden(ml_finalize());
    ml_group_free(c->other);
    if (c->request) {
        require_forbidden(ml_test(*c->request, &done));
        require_forbidden(ml_wait(*c->request));
    }
    REQUIRE(ml_rank(c->group) >= 0); /* which only asks */
    for (size_t i = 0; i < count; i++)
        ((char *)inout)[i] = (char)(((char *)inout)[i] + ((const char *)in)[i]);
    c->calls++;
}

static void forbid(struct job *j, int rank)
{
    struct caller c = {0};
    const ml_operator op = {call_library, 1, 1, &c};
    ml_request *request;
    char v[100] = {1, 2, 3};

    REQUIRE(ml_init(&c.group) == 0);
    REQUIRE(ml_split(c.group, 0, 0, &c.other) == 0);
    REQUIRE(ml_all_reduce_with(c.group, v, v, sizeof(v), &op) == 0);
    REQUIRE(v[2] == 3 * j->config.size && (c.calls || rank > 0)); /* another rank may do it all */
    c.request = &request;
    REQUIRE(ml_barrier(c.group) == 0); /* all have begun nothing else */
    REQUIRE(ml_start_all_reduce_with(c.group, v, v, sizeof(v), &op, &request) == 0);
    REQUIRE(ml_wait(request) == 0);
    REQUIRE(ml_barrier(c.other) == 0); /* it was not freed */
    REQUIRE(ml_finalize() == 0);
}

static void test_forbidden(void **state)
{
    (void)state;
    job_do(&configs[0], forbid);
    job_do(&configs[1], forbid);
}

/* ---- operators that never return ---- */

static jmp_buf back;

static void leave(void *inout, const void *in, size_t count, void *context)
{
    (void)inout, (void)in, (void)count;
    if (*(int *)context == 0)
        longjmp(back, 1);
}

/* As from any other call: its next one says so, and all ranks hear of it. */
static void jump(struct job *j, int rank)
{
    const ml_operator op = {leave, 4, 1, &rank};
    volatile int rc = 0;
    int v[100] = {0};
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (setjmp(back) == 0)
        rc = ml_all_reduce_with(w, v, v, 100, &op);
    if (!rc)
        rc = ml_barrier(w);
    REQUIRE(rc == (rank == 0 ? ML_ERR_STATE : ML_ERR_MISMATCH));
    REQUIRE_TEXT(ml_error(), "longjmp()");
    _exit(0);
}

static void test_longjmp(void **state)
{
    (void)state;
    job_do(&configs[0], jump);
    job_do(&configs[1], jump);
}

static void die(void *inout, const void *in, size_t count, void *context)
{
    (void)inout, (void)in, (void)count;
    if (*(int *)context == 1)
        raise(SIGKILL);
}

static void lose_one(struct job *j, int rank)
{
    const ml_operator op = {die, 4, 0, &rank};
    int *v = calloc(COUNT, sizeof(*v)), rc;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    rc = ml_all_reduce_with(w, v, v, COUNT, &op);
    if (!rc) /* it had reduced all that this rank needs */
        rc = ml_barrier(w);
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
    _exit(0);
}

static void test_death(void **state)
{
    (void)state;
    for (int i = 0; i < CONFIGS; i++) {
        struct job j;

        job_open(&j, &configs[i]);
        for (int r = 0; r < configs[i].size; r++)
            job_spawn(&j, r, lose_one);
        assert_int_equal(WTERMSIG(job_wait(&j, 1)), SIGKILL);
        for (int r = 0; r < configs[i].size; r++)
            if (r != 1)
                assert_int_equal(job_wait(&j, r), 0);
        job_close(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_differ),  cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_longjmp), cmocka_unit_test(test_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
