/* SPDX-License-Identifier: MIT */
/* test_threads.c: a thread makes calls on a group of its own while another thread of the rank ends
 * that group.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct job_config shm = {.size = 2, .elastic = true};
static const struct job_config tcp = {
    .size = 2, .backend = "tcp", .local_net = true, .elastic = true};

static int turns(void)
{
    return getenv("MLAUNCH_TEST_LONG") ? 60 : 5;
}

/* The side thread makes these until one fails. */
static int looks(ml_group *g)
{
    int found, rc = ml_try_probe(g, ML_ANY, ML_ANY, &found, NULL);

    return rc ? rc : found;
}

static int asks(ml_group *g)
{
    int rc = ml_id(g, 1), rank = ml_rank(g), size = ml_size(g);

    REQUIRE(rank < 2 && size <= 2 && rc <= 1);
    if (!ml_host(g, 0) || rank < 0 || size < 0)
        return ml_id(g, 1); /* it has failed, and goes on to do so */
    return rc < 0 ? rc : 0;
}

static int starts(ml_group *g)
{
    ml_request *r = NULL;
    int rank = ml_rank(g), rc = ml_start_send_tag(g, &rank, sizeof(rank), rank, 0, &r);

    if (!rc)
        rc = ml_wait(r);
    return rc ? rc : ml_recv_tag(g, &rank, sizeof(rank), rank, 0, NULL);
}

/* For ever, as the other rank's thread sends nothing. */
static int receives(ml_group *g)
{
    char byte;

    return ml_recv(g, &byte, 1, 1 - ml_rank(g));
}

static int creates(ml_group *g)
{
    ml_group *made;
    int ranks[] = {ml_rank(g)}, rc = ml_group_create(g, ranks, 1, 0, 0, &made);

    if (!rc)
        ml_group_free(made);
    return rc;
}

static int (*const calls[])(ml_group *g) = {looks, asks, starts, receives, creates};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

struct side {
    int (*call)(ml_group *g);
    ml_group *group;
    pthread_t thread;
    _Atomic bool has_begun;
    int rc;
    char text[512];
};

static void *side_main(void *arg)
{
    struct side *s = arg;

    do {
        s->rc = s->call == receives && !s->has_begun ? 0 : s->call(s->group);
        s->has_begun = true;
    } while (!s->rc);
    snprintf(s->text, sizeof(s->text), "%s", ml_error());
    return NULL;
}

static void side_start(struct side *s, ml_group *w, int (*call)(ml_group *g))
{
    memset(s, 0, sizeof(*s));
    s->call = call;
    REQUIRE(ml_split(w, 0, 0, &s->group) == 0);
    REQUIRE(pthread_create(&s->thread, NULL, side_main, s) == 0);
    while (!s->has_begun)
        continue;
}

/* Its last call has ended with one of the two. */
static void side_await(struct side *s, int either, int or)
{
    REQUIRE(pthread_join(s->thread, NULL) == 0);
    if (s->rc != either && s->rc != or)
        fprintf(stderr, "the thread's call has returned %d: %s\n", s->rc, s->text);
    REQUIRE(s->rc == either || s->rc == or);
}

/* --- ml_repair -------------------------------------------------------------------------------- */

static void repairs(struct job *j, int rank)
{
    ml_group *w, *next;
    struct side s;

    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    for (int turn = 0; turn < turns() * CALLS; turn++) {
        side_start(&s, w, calls[turn % CALLS]);
        job_meet(j);
        job_be_busy(turn % 3);
        REQUIRE(ml_repair(w, &next, NULL) == 0);
        side_await(&s, 0, ML_ERR_PEER);
        w = next;
        job_meet(j);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_repairs(void **state)
{
    (void)state;
    job_do(&shm, repairs);
    job_do(&tcp, repairs);
}

/* --- ml_group_free and ml_finalize ------------------------------------------------------------ */

/* What ends the group: 1: ml_group_free, 0: ml_finalize. */
static int frees;

static void ends(struct job *j, int rank)
{
    ml_group *w;
    struct side s;

    (void)rank;
    for (int turn = 0; turn < turns() * CALLS; turn++) {
        REQUIRE(ml_init(&w) == 0);
        side_start(&s, w, calls[turn % CALLS]);
        job_meet(j);
        job_be_busy(turn % 3);
        if (frees)
            ml_group_free(s.group);
        REQUIRE(ml_finalize() == 0);
        /* The other rank may have closed its end of the link first. */
        side_await(&s, s.call == asks ? 0 : ML_ERR_PEER, ML_ERR_STATE);
        job_meet(j);
    }
}

static void test_frees(void **state)
{
    (void)state;
    frees = 1;
    job_do(&shm, ends);
    job_do(&tcp, ends);
}

static void test_finalizes(void **state)
{
    (void)state;
    frees = 0;
    job_do(&shm, ends);
    job_do(&tcp, ends);
}

/* --- ml_revoke -------------------------------------------------------------------------------- */

/* One rank's thread ends the calls of all ranks' other threads, blocking or started, or made just
 * then. */
static void revokes(struct job *j, int rank)
{
    ml_group *w, *g;
    ml_request *r;
    struct side s;
    char byte;

    REQUIRE(ml_init(&w) == 0);
    for (int turn = 0; turn < turns(); turn++) {
        side_start(&s, w, turn % 2 ? looks : receives);
        REQUIRE(ml_split(w, 0, 0, &g) == 0);
        REQUIRE(ml_start_recv(g, &byte, 1, 1 - rank, &r) == 0);
        job_meet(j);
        job_be_busy(turn % 3);
        if (rank == 0) {
            REQUIRE(ml_revoke(s.group, "it takes too long") == 0);
            REQUIRE(ml_revoke(g, "it takes too long") == 0);
        }
        side_await(&s, 0, ML_ERR_PEER);
        REQUIRE_TEXT(s.text, "rank 0 on host host0 has called ml_revoke: it takes too long");
        REQUIRE(ml_wait(r) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "has called ml_revoke");
        REQUIRE(ml_barrier(g) == ML_ERR_PEER && ml_barrier(w) == 0);
        ml_group_free(s.group);
        ml_group_free(g);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_revokes(void **state)
{
    (void)state;
    job_do(&shm, revokes);
    job_do(&tcp, revokes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_frees),
        cmocka_unit_test(test_finalizes),
        cmocka_unit_test(test_revokes),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
