/* SPDX-License-Identifier: MIT */
/*
 * test_unlike.c: every pair of calls that differ in anything: kind, count, type, operation, root;
 * in the short form every third pair, from another one on with each number of ranks. One rank makes
 * one of them and the others make the other one, each pair in a new group. All ranks must get the
 * mismatch: from that call, or, where it had nothing to wait for, from the next one. The same where
 * the calls move data and only its types differ, if ml_next_type has said them.
 * TEST_TIER=full
 */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    THREADS = 24, /* each with groups of its own: most pairs only wait */
    SHORT = 8,    /* bytes, or elements */
    LONG = 60000, /* more than fits in a ring or passes through it as a whole */
};

enum kind {
    BARRIER,
    SPLIT,
    ALL_REDUCE,
    REDUCE_SCATTER,
    REDUCE,
    SCAN,
    EXCLUSIVE_SCAN,
    ALL_REDUCE_WITH,
    SCAN_WITH,
    ALL_GATHER,
    ALL_TO_ALL,
    ALL_GATHER_V,
    ALL_TO_ALL_V,
    BROADCAST,
    GATHER,
    SCATTER
};

static const struct unlike_call {
    enum kind kind;
    const char *name; /* as errors have it */
    size_t count;
    int root; /* for calls with sizes, the rank whose block is twice as long; with an operator of
               * the program, bytes of an element */
    ml_type type;
    ml_op op; /* with an operator of the program: whether it is commutative */
} calls[] = {
    {BARRIER, "barrier", 0, 0, 0, 0},
    {SPLIT, "split", 0, 0, 0, 0},
    {ALL_REDUCE, "all_reduce", SHORT, 0, ML_INT32, ML_SUM},
    {ALL_REDUCE, "all_reduce", SHORT + 1, 0, ML_INT32, ML_SUM},
    {ALL_REDUCE, "all_reduce", SHORT, 0, ML_FLOAT32, ML_SUM},
    {ALL_REDUCE, "all_reduce", SHORT, 0, ML_INT32, ML_MAX},
    {ALL_REDUCE, "all_reduce", LONG, 0, ML_INT32, ML_SUM},
    {ALL_REDUCE, "all_reduce", LONG, 0, ML_FLOAT32, ML_SUM},
    {REDUCE_SCATTER, "reduce_scatter", SHORT, 0, ML_INT32, ML_SUM},
    {REDUCE_SCATTER, "reduce_scatter", LONG, 0, ML_INT32, ML_SUM},
    {REDUCE_SCATTER, "reduce_scatter", LONG, 0, ML_INT32, ML_MAX},
    {REDUCE, "reduce", SHORT, 0, ML_INT32, ML_SUM},
    {REDUCE, "reduce", SHORT, 1, ML_INT32, ML_SUM},
    {REDUCE, "reduce", SHORT, 1, ML_INT32, ML_MIN},
    {REDUCE, "reduce", LONG, 0, ML_INT32, ML_SUM},
    {REDUCE, "reduce", LONG, 1, ML_INT32, ML_SUM},
    {SCAN, "scan", SHORT, 0, ML_INT32, ML_SUM},
    {SCAN, "scan", SHORT, 0, ML_FLOAT32, ML_SUM},
    {SCAN, "scan", SHORT, 0, ML_INT32, ML_MAX},
    {SCAN, "scan", LONG, 0, ML_INT32, ML_SUM},
    {EXCLUSIVE_SCAN, "exclusive_scan", SHORT, 0, ML_INT32, ML_SUM},
    {EXCLUSIVE_SCAN, "exclusive_scan", SHORT + 1, 0, ML_INT32, ML_SUM},
    {EXCLUSIVE_SCAN, "exclusive_scan", LONG, 0, ML_INT32, ML_SUM},
    {ALL_REDUCE_WITH, "all_reduce", SHORT, 4, 0, 0},
    {ALL_REDUCE_WITH, "all_reduce", SHORT, 4, 0, 1},
    {ALL_REDUCE_WITH, "all_reduce", SHORT / 2, 8, 0, 0},
    {ALL_REDUCE_WITH, "all_reduce", LONG, 4, 0, 1},
    {SCAN_WITH, "scan", SHORT, 4, 0, 0},
    {ALL_GATHER, "all_gather", SHORT, 0, 0, 0},
    {ALL_GATHER, "all_gather", LONG, 0, 0, 0},
    {ALL_TO_ALL, "all_to_all", SHORT, 0, 0, 0},
    {ALL_TO_ALL, "all_to_all", LONG, 0, 0, 0},
    {ALL_GATHER_V, "all_gather_v", SHORT, 0, 0, 0},
    {ALL_GATHER_V, "all_gather_v", SHORT, 1, 0, 0},
    {ALL_GATHER_V, "all_gather_v", SHORT + 1, 0, 0, 0},
    {ALL_GATHER_V, "all_gather_v", LONG, 0, 0, 0},
    {ALL_GATHER_V, "all_gather_v", LONG, 1, 0, 0},
    {ALL_TO_ALL_V, "all_to_all_v", SHORT, 0, 0, 0},
    {ALL_TO_ALL_V, "all_to_all_v", SHORT, 1, 0, 0},
    {ALL_TO_ALL_V, "all_to_all_v", LONG, 0, 0, 0},
    {ALL_TO_ALL_V, "all_to_all_v", LONG, 1, 0, 0},
    {BROADCAST, "broadcast", SHORT, 0, 0, 0},
    {BROADCAST, "broadcast", SHORT, 1, 0, 0},
    {BROADCAST, "broadcast", SHORT + 1, 1, 0, 0},
    {BROADCAST, "broadcast", LONG, 0, 0, 0},
    {BROADCAST, "broadcast", LONG, 1, 0, 0},
    {GATHER, "gather", SHORT, 0, 0, 0},
    {GATHER, "gather", SHORT, 1, 0, 0},
    {GATHER, "gather", LONG, 0, 0, 0},
    {GATHER, "gather", LONG, 1, 0, 0},
    {SCATTER, "scatter", SHORT, 0, 0, 0},
    {SCATTER, "scatter", SHORT, 1, 0, 0},
    {SCATTER, "scatter", LONG, 0, 0, 0},
    {SCATTER, "scatter", LONG, 1, 0, 0},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void keep_first(void *inout, const void *in, size_t count, void *context)
{
    (void)inout, (void)in, (void)count, (void)context;
}

static int make_call(ml_group *g, const struct unlike_call *c, void *in, void *out)
{
    size_t shares[4], same[4]; /* by rank; those of rank `root` are longer */
    ml_operator with = {keep_first, (size_t)c->root, c->op, NULL};
    ml_group *part;

    for (int r = 0; r < 4; r++) {
        shares[r] = c->count << (r == c->root);
        same[r] = c->count << (ml_rank(g) == c->root);
    }
    switch (c->kind) {
    case BARRIER:
        return ml_barrier(g);
    case SPLIT:
        return ml_split(g, 0, 0, &part);
    case ALL_REDUCE:
        return ml_all_reduce(g, in, out, c->count, c->type, c->op);
    case REDUCE_SCATTER:
        return ml_reduce_scatter(g, in, out, c->count, c->type, c->op);
    case REDUCE:
        return ml_reduce(g, in, out, c->count, c->type, c->op, c->root);
    case SCAN:
        return ml_scan(g, in, out, c->count, c->type, c->op);
    case EXCLUSIVE_SCAN:
        return ml_exclusive_scan(g, in, out, c->count, c->type, c->op);
    case ALL_REDUCE_WITH:
        return ml_all_reduce_with(g, in, out, c->count, &with);
    case SCAN_WITH:
        return ml_scan_with(g, in, out, c->count, &with);
    case ALL_GATHER:
        return ml_all_gather(g, in, out, c->count);
    case ALL_TO_ALL:
        return ml_all_to_all(g, in, out, c->count);
    case ALL_GATHER_V:
        return ml_all_gather_v(g, in, out, shares, NULL);
    case ALL_TO_ALL_V:
        return ml_all_to_all_v(g, in, same, NULL, out, shares, NULL);
    case BROADCAST:
        return ml_broadcast(g, out, c->count, c->root);
    case GATHER:
        return ml_gather(g, in, out, c->count, c->root);
    case SCATTER:
        return ml_scatter(g, in, out, c->count, c->root);
    }
    return 0;
}

/* A thread of a rank, and what it walks through. */
struct walker {
    ml_group *home;
    int first, failures;
    int64_t longest_ms;
};

/* The kinds of both calls are named. A difference that was noticed only by the next call can't be:
 * its messages tell that earlier calls differed, not which. */
static bool is_well_said(const char *error, const struct unlike_call *a,
                         const struct unlike_call *b)
{
    return strstr(error, "an earlier call") || (strstr(error, a->name) && strstr(error, b->name)) ||
           strstr(error, "collective call number");
}

static void walk_pair(struct walker *w, int i, int j, void *in, void *out)
{
    int odd = (i + j) % ml_size(w->home);
    const struct unlike_call *mine = &calls[ml_rank(w->home) == odd ? i : j];
    int64_t begin, took;
    ml_group *g;
    int rc;

    REQUIRE(ml_split(w->home, 0, 0, &g) == 0);
    begin = job_now_ms();
    rc = make_call(g, mine, in, out);
    if (!rc)
        rc = ml_barrier(g);
    took = job_now_ms() - begin;
    if (took > w->longest_ms)
        w->longest_ms = took;
    if (rc != ML_ERR_MISMATCH || !is_well_said(ml_error(), &calls[i], &calls[j])) {
        fprintf(stderr,
                "rank %d of %d: call %d by rank %d, call %d by the others: %d after %d ms: %s\n",
                ml_rank(w->home), ml_size(w->home), i, odd, j, rc, (int)took,
                rc ? ml_error() : "no error");
        w->failures++;
    }
    ml_group_free(g);
}

static void *walk(void *arg)
{
    struct walker *w = arg;
    size_t room = LONG * sizeof(int) * (size_t)ml_size(w->home);
    void *in = calloc(1, room), *out = calloc(1, room);
    int step = getenv("MLAUNCH_TEST_LONG") ? 1 : 3;
    int first = ml_size(w->home) % step + step * w->first, pair = 0;

    for (int i = 0; i < CALLS; i++)
        for (int j = i + 1; j < CALLS; j++)
            if (pair++ % (step * THREADS) == first)
                walk_pair(w, i, j, in, out);
    free(in);
    free(out);
    return NULL;
}

static void walk_all(struct job *j, int rank)
{
    struct walker walkers[THREADS] = {0};
    pthread_t threads[THREADS];
    int64_t longest_ms = 0;
    int failures = 0;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < THREADS; i++) {
        walkers[i].first = i;
        REQUIRE(ml_split(w, 0, 0, &walkers[i].home) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, walk, &walkers[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        failures += walkers[i].failures;
        if (walkers[i].longest_ms > longest_ms)
            longest_ms = walkers[i].longest_ms;
    }
    REQUIRE(failures == 0);
    if (rank == 0)
        printf("# %d ranks: the slowest pair after %d ms\n", ml_size(w), (int)longest_ms);
    REQUIRE(ml_finalize() == 0);
}

/* The short form has fewer sizes of group. */
static void test_shm(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size += getenv("MLAUNCH_TEST_LONG") ? 1 : 2)
        job_do(&(struct job_config){.size = size}, walk_all);
}

static void test_tcp(void **state)
{
    bool is_long = getenv("MLAUNCH_TEST_LONG");

    (void)state;
    for (int size = is_long ? 2 : 3; size <= (is_long ? 4 : 3); size++)
        job_do(&(struct job_config){.size = size, .backend = "tcp", .local_net = true}, walk_all);
}

static void test_secure(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 3, .backend = "tcp", .local_net = true, .secure = true},
           walk_all);
}

static void test_mixed(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 4, .hosts = 2, .backend = "tcp"}, walk_all);
}

/* Rank `odd` says another type than the others of what the next call moves. */
static void say_types(ml_group *g, int odd, ml_type its, ml_type others)
{
    REQUIRE(ml_next_type(g, ml_rank(g) == odd ? its : others) == 0);
}

static void require_types_differ(ml_group *g, int rc)
{
    if (!rc)
        rc = ml_barrier(g); /* for the ranks that only sent */
    REQUIRE(rc == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "(int64)");
    REQUIRE_TEXT(ml_error(), "(float64)");
    ml_group_free(g);
}

static void collectives_of_types(ml_group *w, void *in, void *out)
{
    for (int i = 0; i < CALLS; i++) {
        int odd = i % ml_size(w);
        ml_group *g;

        if (calls[i].kind < ALL_GATHER)
            continue;
        REQUIRE(ml_split(w, 0, 0, &g) == 0);
        say_types(g, odd, ML_UINT8, ML_FLOAT64); /* bytes, which fit */
        REQUIRE(make_call(g, &calls[i], in, out) == 0);
        if (ml_rank(g) == odd) /* it holds for one call, also if that moves nothing */
            REQUIRE(ml_next_type(g, ML_INT64) == 0);
        REQUIRE(ml_barrier(g) == 0);
        if (ml_rank(g) != odd)
            REQUIRE(ml_next_type(g, ML_FLOAT64) == 0);
        REQUIRE(make_call(g, &calls[i], in, out) == 0);
        REQUIRE(ml_barrier(w) == 0); /* nobody is in a call on g when it breaks */
        say_types(g, odd, ML_INT64, ML_FLOAT64);
        require_types_differ(g, make_call(g, &calls[i], in, out));
    }
}

static void messages_of_types(ml_group *w, void *in, void *out)
{
    int rank = ml_rank(w), size = ml_size(w), right = (rank + 1) % size;
    int left = (rank + size - 1) % size, rc;
    ml_request *request;
    ml_group *g;

    REQUIRE(ml_split(w, 0, 0, &g) == 0);
    say_types(g, 0, ML_UINT8, ML_FLOAT64);
    REQUIRE(ml_sendrecv(g, in, LONG, right, out, LONG, left) == 0);
    REQUIRE(ml_barrier(w) == 0);
    say_types(g, 0, ML_INT64, ML_FLOAT64);
    require_types_differ(g, ml_sendrecv(g, in, LONG, right, out, LONG, left));

    REQUIRE(ml_split(w, 0, 0, &g) == 0);
    say_types(g, 0, ML_INT64, ML_FLOAT64);
    REQUIRE(ml_start_recv(g, out, SHORT, left, &request) == 0);
    say_types(g, 0, ML_INT64, ML_FLOAT64);
    rc = ml_send(g, in, SHORT, right);
    REQUIRE(rc == 0 || rc == ML_ERR_MISMATCH);
    require_types_differ(g, ml_wait(request));
}

static void walk_types(struct job *j, int rank)
{
    ml_group *w;
    void *in, *out;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    in = calloc((size_t)ml_size(w), 2 * LONG);
    out = calloc((size_t)ml_size(w), 2 * LONG);
    REQUIRE(ml_next_type(w, (ml_type)99) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "there is no ml_type 99");
    REQUIRE(ml_next_type(NULL, ML_INT8) == ML_ERR_ARGUMENT);
    collectives_of_types(w, in, out);
    messages_of_types(w, in, out);
    REQUIRE(ml_finalize() == 0);
    free(in);
    free(out);
}

static void test_types(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        job_do(&(struct job_config){.size = size}, walk_types);
        job_do(&(struct job_config){.size = size, .backend = "tcp", .local_net = true}, walk_types);
    }
    job_do(&(struct job_config){.size = 4, .hosts = 2, .backend = "tcp"}, walk_types);
}

/* Every call differs, and none waits for what the other ranks send, until nothing more has room. */
static void roots_for_ever(struct job *j, int rank)
{
    char v[64] = {0};
    ml_group *w;
    int rc = 0;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    while (!rc)
        rc = ml_broadcast(w, v, sizeof(v), rank);
    REQUIRE(rc == ML_ERR_MISMATCH);
    REQUIRE(ml_finalize() == 0);
}

static void test_for_ever(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 2}, roots_for_ever);
    job_do(&(struct job_config){.size = 2, .backend = "tcp", .local_net = true}, roots_for_ever);
}

/* No call follows but the last one. */
static void roots_at_the_end(struct job *j, int rank)
{
    char v[64] = {0};
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_broadcast(w, v, sizeof(v), rank) == 0);
    job_meet(j);
    REQUIRE(ml_finalize() == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "broadcast of 64 bytes from rank 0");
    REQUIRE_TEXT(ml_error(), "broadcast of 64 bytes from rank 1");
}

static void test_at_the_end(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 2}, roots_at_the_end);
    job_do(&(struct job_config){.size = 2, .backend = "tcp", .local_net = true, .secure = true},
           roots_at_the_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shm),        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_secure),     cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_types),      cmocka_unit_test(test_for_ever),
        cmocka_unit_test(test_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
