/* SPDX-License-Identifier: MIT */
/*
 * test_repair.c: ranks die, and those that live go on (ml_repair): who is in the next world, what
 * becomes of what was of the old one, and what happens if ranks die or do not come meanwhile.
 * TEST_TIER=quick
 */
#include "tests/runtime/test_job.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config all_shm = {.size = 4, .elastic = true};
static const struct job_config all_tcp = {
    .size = 4, .backend = "tcp", .local_net = true, .elastic = true};
static const struct job_config all_secure = {
    .size = 4, .backend = "tcp", .local_net = true, .secure = true, .elastic = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp", .elastic = true};
static const struct job_config *const every[] = {&all_shm, &all_tcp, &all_secure, &mixed};
enum { KINDS = sizeof(every) / sizeof(every[0]) };

/* --- oracles ---------------------------------------------------------------------------------- */

/* A bit for each id in w. */
static uint64_t ids_of(const ml_group *w)
{
    uint64_t ids = 0;

    for (int i = 0; i < ml_size(w); i++)
        ids |= 1ull << ml_id(w, i);
    return ids;
}

/* A sum over w, to which each rank gives the bit of its id: it has every member, once. */
static int sum_ids(ml_group *w)
{
    uint64_t mine = 1ull << ml_id(w, ml_rank(w)), sum = 0;
    int rc = ml_all_reduce(w, &mine, &sum, 1, ML_UINT64, ML_SUM);

    if (!rc)
        REQUIRE(sum == ids_of(w));
    return rc;
}

/* The whole of `w` works, and its ids, which are ascending, are these. */
static void require_works(ml_group *w, uint64_t ids)
{
    int size = ml_size(w), rank = ml_rank(w), from = -1;

    REQUIRE(ids_of(w) == ids);
    REQUIRE(ml_id(w, rank) == atoi(getenv("MLAUNCH_RANK")));
    for (int i = 1; i < size; i++)
        REQUIRE(ml_id(w, i) > ml_id(w, i - 1));
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(sum_ids(w) == 0);
    REQUIRE(ml_sendrecv(w, &rank, sizeof(rank), (rank + 1) % size, &from, sizeof(from),
                        (rank + size - 1) % size) == 0);
    REQUIRE(from == (rank + size - 1) % size);
}

static void leave(void)
{
    REQUIRE(ml_finalize() == 0);
}

/* Runs `fn`; the ranks in `dead` end by SIGKILL, the others with 0. */
static void run_with_dead(const struct job_config *config, uint64_t dead, rank_fn *fn)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < config->size; i++)
        job_spawn(&j, i, fn);
    for (int i = 0; i < config->size; i++)
        if (dead >> i & 1)
            assert_int_equal(job_wait(&j, i), SIGKILL);
    for (int i = 0; i < config->size; i++)
        if (!(dead >> i & 1))
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

/* --- one dies --------------------------------------------------------------------------------- */

static int dying;

static void without_one(struct job *j, int rank)
{
    ml_group *w, *next = NULL, *again;
    ml_change change;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    REQUIRE(ml_changed(w) == 0);
    job_meet(j);
    if (rank == dying) {
        job_be_busy(20); /* so that the others wait */
        raise(SIGKILL);
    }
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE(ml_changed(w) == 1);
    REQUIRE(ml_repair(w, &next, &change) == 0);
    REQUIRE(change.membership == 1 && change.left_count == 1 && change.left[0] == dying);
    REQUIRE(change.came_count == 0);
    REQUIRE(ml_changed(next) == 0);
    REQUIRE(!job_has_broken_mark(j, rank));
    require_works(next, 0xf & ~(1ull << dying));
    /* The old handle stays broken, and ml_init has the new one. */
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "membership 0");
    REQUIRE(ml_rank(w) == ML_ERR_PEER);
    REQUIRE(ml_repair(w, &again, NULL) == ML_ERR_PEER);
    REQUIRE(ml_init(&again) == 0 && again == next);
    leave();
    require_works(next, 0xf & ~(1ull << dying));
    leave();
}

static void test_one_dies(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (dying = 0; dying < 4; dying += 3)
            run_with_dead(every[kind], 1ull << dying, without_one);
    }
}

/* One after the other, until one rank is left. */
static void down_to_one(struct job *j, int rank)
{
    uint64_t ids = 0xf;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int next = 3; next > 0; next--) {
        int rc;

        require_works(w, ids);
        if (rank == next)
            job_meet_absent(j, 3 - next);
        job_meet(j);
        if (rank == next)
            raise(SIGKILL);
        while ((rc = ml_barrier(w)) == 0)
            continue;
        REQUIRE(rc == ML_ERR_PEER);
        REQUIRE(ml_repair(w, &w, NULL) == 0);
        ids &= ~(1ull << next);
    }
    require_works(w, 1);
    REQUIRE(ml_repair(w, &w, NULL) == 0); /* it is alone */
    require_works(w, 1);
    leave();
}

static void test_down_to_one(void **state)
{
    (void)state;
    run_with_dead(&all_shm, 0xe, down_to_one);
    run_with_dead(&mixed, 0xe, down_to_one);
}

/* --- nobody dies ------------------------------------------------------------------------------ */

static void because_one_asks(struct job *j, int rank)
{
    ml_group *w, *next;
    ml_change change;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    job_meet(j);
    if (rank != 1) {
        REQUIRE(ml_barrier(w) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "rank 1 on host");
        REQUIRE_TEXT(ml_error(), "has called ml_repair");
    }
    REQUIRE(ml_repair(w, &next, &change) == 0);
    REQUIRE(change.membership == 1 && change.left_count == 0 && change.came_count == 0);
    require_works(next, 0xf);
    job_meet(j);
    leave();
}

static void test_one_asks(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        run_with_dead(every[kind], 0, because_one_asks);
}

/* A rank that has left is no member of the next world. */
static void one_leaves(struct job *j, int rank)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    job_meet(j);
    if (rank != 1) {
        REQUIRE(ml_barrier(w) == ML_ERR_PEER);
        REQUIRE(ml_repair(w, &w, NULL) == 0);
        require_works(w, 0xd);
    }
    leave();
}

static void test_one_leaves(void **state)
{
    (void)state;
    run_with_dead(&all_tcp, 0, one_leaves);
}

static void refused(struct job *j, int rank)
{
    ml_group *w, *half, *next;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    REQUIRE(ml_repair(w, &next, NULL) == ML_ERR_STATE);
    REQUIRE_TEXT(ml_error(), "--elastic");
    REQUIRE(ml_repair(half, &next, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_repair(w, NULL, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_repair(NULL, &next, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_id(w, 4) == ML_ERR_ARGUMENT && ml_id(half, 0) == rank % 2);
    REQUIRE(ml_agree(w, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_barrier(w) == 0);
    leave();
}

static void test_refused(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 4}, refused);
}

/* --- some do not come ------------------------------------------------------------------------- */

static void one_is_late(struct job *j, int rank)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    job_meet(j);
    if (rank != 3) {
        REQUIRE(ml_repair(w, &w, NULL) == ML_ERR_TIMEOUT);
        REQUIRE_TEXT(ml_error(), "rank 3 on host");
        REQUIRE_TEXT(ml_error(), "has not called ml_repair in time");
        REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    }
    job_meet(j);
    REQUIRE(ml_repair(w, &w, NULL) == 0);
    require_works(w, 0xf);
    leave();
}

static void test_late(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 4, .elastic = true, .init_timeout_ms = 1000}, one_is_late);
}

/* Rank 0 dies in the midst of a repair, by its attempt to make the next world's memory. */
static void dies_in_repair(struct job *j, int rank)
{
    const struct rlimit none = {0, 0};
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    job_meet(j); /* else it dies while others are still in a call of require_works() */
    if (rank == 3)
        raise(SIGKILL);
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    if (rank == 0) {
        signal(SIGXFSZ, SIG_DFL);
        REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    }
    REQUIRE(ml_repair(w, &w, NULL) == 0);
    require_works(w, 0x6);
    leave();
}

static void test_dies_in_repair(void **state)
{
    struct job j;

    (void)state;
    job_open(&j, &all_shm);
    for (int rank = 0; rank < 4; rank++)
        job_spawn(&j, rank, dies_in_repair);
    assert_int_equal(job_wait(&j, 3), SIGKILL);
    assert_int_equal(WTERMSIG(job_wait(&j, 0)), SIGXFSZ);
    for (int rank = 1; rank < 3; rank++)
        assert_int_equal(job_wait(&j, rank), 0);
    job_remove_segments(&j);
    job_close(&j);
}

/* --- what was of the old world ---------------------------------------------------------------- */

static void *waits_in_group(void *arg)
{
    REQUIRE(ml_barrier(arg) == ML_ERR_PEER);
    return NULL;
}

static void old_things(struct job *j, int rank)
{
    static uint8_t long_text[64 << 20]; /* no ring takes it */
    ml_group *w, *half, *all, *old;
    ml_request *started, *receive;
    ml_window *window;
    pthread_t thread;
    uint64_t word = 0;
    void *memory;
    int v = 0;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    REQUIRE(ml_split(w, 0, 0, &all) == 0);
    REQUIRE(ml_alloc(4096, &memory) == 0);
    REQUIRE(ml_window_create(w, NULL, 4096, &window) == 0);
    REQUIRE(ml_put(window, &rank, sizeof(rank), (rank + 1) % 4, 0) == 0);
    REQUIRE(ml_flush(window, ML_ALL) == 0);
    require_works(w, 0xf);
    job_meet(j);
    if (rank == 2) {
        job_meet(j);
        job_be_busy(20);
        raise(SIGKILL);
    }
    /* A thread waits in another group, where nobody has died; calls are under way on the world. */
    if (rank != 3)
        REQUIRE(pthread_create(&thread, NULL, waits_in_group, all) == 0);
    REQUIRE(ml_start_send(w, long_text, sizeof(long_text), (rank + 1) % 4, &started) == 0);
    REQUIRE(ml_start_recv(w, &v, sizeof(v), (rank + 2) % 4, &receive) == 0);
    job_meet(j); /* else one that repairs early refuses the others' calls */
    old = w;
    REQUIRE(ml_repair(w, &w, NULL) == 0);
    if (rank != 3)
        REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(ml_wait(started) == ML_ERR_PEER);
    REQUIRE(ml_wait(receive) == ML_ERR_PEER);
    REQUIRE(ml_barrier(half) == ML_ERR_PEER);
    REQUIRE(ml_barrier(old) == ML_ERR_PEER);
    REQUIRE(ml_put(window, &rank, sizeof(rank), 0, 0) == ML_ERR_PEER);
    REQUIRE(ml_fetch_add(window, 0, 0, 1, &word) == ML_ERR_PEER);
    REQUIRE(!ml_window_memory(window, 0, NULL));
    REQUIRE_TEXT(ml_error(), "membership");
    REQUIRE(ml_window_free(window) == ML_ERR_PEER);
    ml_group_free(half);
    ml_group_free(all);
    memset(memory, 1, 4096);
    require_works(w, 0xb);
    /* The new world has its own. */
    REQUIRE(ml_split(w, 0, -rank, &half) == 0);
    REQUIRE(ml_size(half) == 3 && ml_id(half, 0) == 3);
    REQUIRE(sum_ids(half) == 0);
    REQUIRE(ml_window_create(w, NULL, 4096, &window) == 0);
    REQUIRE(ml_fetch_add(window, 0, 0, 1, &word) == 0);
    REQUIRE(ml_window_free(window) == 0);
    ml_free(memory);
    leave();
}

static void test_old_things(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        run_with_dead(every[kind], 1ull << 2, old_things);
}

/* --- agree and revoke ------------------------------------------------------------------------- */

static void agrees(struct job *j, int rank)
{
    uint64_t value = ~(1ull << (rank + 60)), own = value;
    ml_group *w, *half;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_agree(w, &value) == 0);
    REQUIRE(value == ~(0xfull << 60));
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    value = own;
    REQUIRE(ml_agree(half, &value) == 0);
    REQUIRE(value == ~((rank % 2 ? 0xaull : 0x5ull) << 60));
    job_meet(j);
    if (rank == 1)
        raise(SIGKILL);
    value = own;
    REQUIRE(ml_agree(w, &value) == 0); /* also while it dies */
    REQUIRE(value == ~(0xdull << 60));
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    value = own;
    REQUIRE(ml_agree(w, &value) == 0); /* also when the group is broken */
    REQUIRE(value == ~(0xdull << 60));
    if (rank == 0)
        REQUIRE(ml_agree(w, &value) == ML_ERR_PEER); /* the others repair instead */
    REQUIRE(ml_repair(w, &w, NULL) == 0);
    value = own;
    REQUIRE(ml_agree(w, &value) == 0);
    REQUIRE(value == ~(0xdull << 60));
    leave();
}

static void test_agree(void **state)
{
    (void)state;
    run_with_dead(&all_shm, 1ull << 1, agrees);
    run_with_dead(&mixed, 1ull << 1, agrees);
}

static void revokes(struct job *j, int rank)
{
    ml_group *w, *half;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    require_works(w, 0xf);
    job_meet(j);
    if (rank == 3)
        REQUIRE(ml_revoke(w, "its input is gone") == 0);
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 3 on host");
    REQUIRE_TEXT(ml_error(), "has called ml_revoke: its input is gone");
    REQUIRE(ml_barrier(half) == 0); /* another group */
    job_meet(j);
    REQUIRE(ml_repair(w, &w, NULL) == 0);
    require_works(w, 0xf);
    leave();
}

static void test_revoke(void **state)
{
    (void)state;
    job_do(&all_tcp, revokes);
}

/* --- newcomers -------------------------------------------------------------------------------- */

/* The ranks go on until all processes of this round have met; a dead one gets a successor. */
static void replaced(struct job *j, int rank)
{
    bool is_newcomer = atoi(getenv("MLAUNCH_RESTART")) > 0;
    ml_group *w, *next, *half;
    ml_change change;

    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    if (!is_newcomer) {
        job_meet(j);
        if (rank == dying)
            raise(SIGKILL);
        REQUIRE(ml_barrier(w) == ML_ERR_PEER);
        REQUIRE(ml_repair(w, &next, &change) == 0);
        REQUIRE(change.membership == 1 && change.left_count == 1 && change.came_count == 1);
        REQUIRE(change.left[0] == dying && change.came[0] == dying);
        w = next;
        require_works(w, 0xf);
    }
    REQUIRE(ml_changed(w) == 0);
    /* They have the same numbers for what they make from now on, and may do it all again. */
    REQUIRE(ml_split(w, rank % 2, 0, &half) == 0);
    REQUIRE(sum_ids(half) == 0);
    job_meet(j);
    REQUIRE(ml_repair(w, &w, &change) == 0 && change.membership == 2);
    REQUIRE(change.left_count == 0 && change.came_count == 0);
    require_works(w, 0xf);
    leave();
    REQUIRE(ml_init(&w) == 0);
    require_works(w, 0xf);
    leave();
}

static void test_replaced(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (dying = 0; dying < 4; dying += 3) {
            struct job_config config = *every[kind];
            struct job j;

            config.replace_ms = JOB_WAIT_MS;
            job_open(&j, &config);
            for (int i = 0; i < 4; i++)
                job_spawn(&j, i, replaced);
            assert_int_equal(job_wait(&j, dying), SIGKILL);
            job_spawn_again(&j, dying, 1, replaced);
            for (int i = 0; i < 4; i++)
                assert_int_equal(job_wait(&j, i), 0);
            job_close(&j);
        }
    }
}

/* Each process makes a group of one, and all but the last die with it. */
enum { PROCESSES = 4 };

static void replaced_alone(struct job *j, int rank)
{
    int number = atoi(getenv("MLAUNCH_RESTART"));
    ml_group *w, *alone;

    REQUIRE(ml_init(&w) == 0);
    for (;;) {
        REQUIRE(ml_rank(w) == rank);
        REQUIRE(ml_barrier(w) == 0);
        REQUIRE(ml_group_create(w, &rank, 1, 0, 0, &alone) == 0);
        REQUIRE(ml_barrier(alone) == 0);
        REQUIRE(ml_barrier(w) == 0);
        job_meet(j);
        if (rank == 1 && number + 1 < PROCESSES)
            raise(SIGKILL);
        if (++number == PROCESSES)
            break;
        REQUIRE(ml_barrier(w) == ML_ERR_PEER);
        REQUIRE(ml_repair(w, &w, NULL) == 0);
    }
    leave();
}

static void test_replaced_alone(void **state)
{
    struct job j;

    (void)state;
    job_open(&j, &(struct job_config){.size = 2, .elastic = true, .replace_ms = JOB_WAIT_MS});
    job_spawn(&j, 0, replaced_alone);
    job_spawn(&j, 1, replaced_alone);
    for (int number = 1; number < PROCESSES; number++) {
        assert_int_equal(job_wait(&j, 1), SIGKILL);
        job_spawn_again(&j, 1, number, replaced_alone);
    }
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(job_wait(&j, rank), 0);
    job_close(&j);
}

/* --- little memory ---------------------------------------------------------------------------- */

/* /dev/shm has room for one world, but not for two. */
/* By the board, which is there from the beginning. */
static int sum_of_ids(ml_group *w)
{
    int id = ml_id(w, ml_rank(w)), rc = ml_all_reduce(w, &id, &id, 1, ML_INT32, ML_SUM);

    return rc ? rc : id;
}

static void in_little_memory(struct job *j, int rank)
{
    ml_group *w, *old;

    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(sum_of_ids(w) == 3);
    for (int turn = 0; turn < 3; turn++) {
        job_meet(j);
        old = w;
        REQUIRE(ml_repair(w, &w, NULL) == 0);
        REQUIRE(sum_of_ids(w) == 3);
        REQUIRE(ml_barrier(old) == ML_ERR_PEER);
    }
    leave();
}

static void test_little_memory(void **state)
{
    int outside = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    (void)state;
    if (outside < 0 || unshare(CLONE_NEWNS) != 0)
        skip();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4m") != 0)
        skip();
    job_do(&(struct job_config){.size = 3, .elastic = true}, in_little_memory);
    assert_int_equal(umount2("/dev/shm", MNT_DETACH), 0);
    assert_int_equal(setns(outside, CLONE_NEWNS), 0);
    close(outside);
}

/* --- at random -------------------------------------------------------------------------------- */

enum { CROWD = 8 };
static unsigned seed;

static bool is_due(unsigned *state, unsigned one_in)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % one_in == 0;
}

/* Every rank dies at random, now and then in a repair, until two are left. */
static void dies_at_random(struct job *j, int rank)
{
    unsigned own = seed * 131u + (unsigned)rank * 7919u;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    while (ml_size(w) > 2) {
        int rc = sum_ids(w);

        if (!rc && rank > 1 && is_due(&own, 40))
            raise(SIGKILL);
        if (rc && rank > 1 && is_due(&own, 5))
            raise(SIGKILL); /* while the others repair */
        REQUIRE(rc == 0 || rc == ML_ERR_PEER);
        while (rc == ML_ERR_PEER)
            rc = ml_repair(w, &w, NULL);
        REQUIRE(rc == 0);
    }
    REQUIRE(ids_of(w) == 3 && sum_ids(w) == 0);
    leave();
}

static void test_random(void **state)
{
    static const struct job_config configs[] = {
        {.size = CROWD, .elastic = true},
        {.size = CROWD, .backend = "tcp", .local_net = true, .elastic = true},
        {.size = CROWD, .hosts = 3, .backend = "tcp", .elastic = true}};
    int turns = getenv("MLAUNCH_TEST_LONG") ? 60 : 1;

    (void)state;
    for (int turn = 0; turn < 3 * turns; turn++) {
        seed = (unsigned)turn;
        run_with_dead(&configs[turn % 3], ((1ull << CROWD) - 1) & ~3ull, dies_at_random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_dies),       cmocka_unit_test(test_down_to_one),
        cmocka_unit_test(test_one_asks),       cmocka_unit_test(test_one_leaves),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_late),
        cmocka_unit_test(test_dies_in_repair), cmocka_unit_test(test_old_things),
        cmocka_unit_test(test_agree),          cmocka_unit_test(test_revoke),
        cmocka_unit_test(test_replaced),       cmocka_unit_test(test_replaced_alone),
        cmocka_unit_test(test_little_memory),  cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("repair", tests, NULL, NULL);
}
