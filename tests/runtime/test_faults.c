/* SPDX-License-Identifier: MIT */
/* test_faults.c: death, departure, mismatched calls, stalls and aborts, as the remaining ranks see
 * them.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOTICED_MS = 1000 };

static const struct job_config pair = {.size = 2};
static const struct job_config all_shm = {.size = 4};
static const struct job_config all_tcp = {.size = 4, .backend = "tcp", .local_net = true};
static const struct job_config all_secure = {
    .size = 4, .backend = "tcp", .local_net = true, .secure = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp"};

/* Each rank makes calls of its own, one of which never matches: the group breaks for all ranks, for
 * good. */
static void expect_broken(ml_group *w, int code, const char *part)
{
    char first[512];
    int v = 0;

    REQUIRE_TEXT(ml_error(), part);
    snprintf(first, sizeof(first), "%s", ml_error());
    REQUIRE(ml_barrier(w) == code);
    REQUIRE(strcmp(first, ml_error()) == 0);
    REQUIRE(ml_send(w, &v, sizeof(v), ml_rank(w)) == code);
    REQUIRE(ml_finalize() == 0);
}

/* Rank 2 is killed while the others wait for it. */
static void waiting_for_two(struct job *j, int rank)
{
    int64_t begin;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    begin = job_now_ms();
    if (rank == 2) {
        job_be_busy(50); /* so that the others are asleep */
        raise(SIGKILL);
    }
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE_WITHIN(begin, 50 + NOTICED_MS);
    expect_broken(w, ML_ERR_PEER, "rank 2");
    REQUIRE(job_has_broken_mark(j, rank));
}

static void kill_one(const struct job_config *config)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < 4; i++)
        job_spawn(&j, i, waiting_for_two);
    assert_int_equal(job_wait(&j, 2), SIGKILL);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

static void test_killed(void **state)
{
    (void)state;
    kill_one(&all_shm);
    kill_one(&all_tcp);
    kill_one(&all_secure);
    kill_one(&mixed);
}

/* Rank 0 is killed in the midst of a split, by its attempt to make the new group's memory. */
static void split_with_zero(struct job *j, int rank)
{
    const struct rlimit none = {0, 0};
    ml_group *w, *part;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    REQUIRE(ml_split(w, 0, 0, &part) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 0");
    REQUIRE(job_has_broken_mark(j, rank));
    REQUIRE(ml_finalize() == 0);
}

static void test_killed_in_split(void **state)
{
    static const struct job_config *const configs[] = {&all_shm, &mixed};
    struct job j;

    (void)state;
    for (int i = 0; i < 2; i++) {
        job_open(&j, configs[i]);
        for (int rank = 0; rank < 4; rank++)
            job_spawn(&j, rank, split_with_zero);
        assert_int_equal(WTERMSIG(job_wait(&j, 0)), SIGXFSZ); /* with a core file or without */
        for (int rank = 1; rank < 4; rank++)
            assert_int_equal(job_wait(&j, rank), 0);
        job_remove_segments(&j);
        job_close(&j);
    }
}

/* Only rank 1 needs the dead rank; ranks 0 and 3 learn of its death from rank 1's error. A forked
 * child of the dead rank holds its descriptors open for a while. */
static void chain(struct job *j, int rank)
{
    char buf[8] = "";
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank == 2) {
        if (fork() == 0) {
            job_be_busy(1500);
            _exit(0);
        }
        _exit(0);
    }
    if (rank == 1)
        REQUIRE(ml_recv(w, buf, sizeof(buf), 2) == ML_ERR_PEER);
    else
        REQUIRE(ml_recv(w, buf, sizeof(buf), 1) == ML_ERR_PEER);
    expect_broken(w, ML_ERR_PEER, "rank 2");
}

static void test_exit_without_finalize(void **state)
{
    (void)state;
    job_do(&all_shm, chain);
    job_do(&all_tcp, chain);
}

/* A sender dies in the middle of a large message; so does a receiver. */
static void half_a_message(struct job *j, int rank)
{
    size_t size = 64 << 20;
    char *buf = calloc(1, size);
    ml_group *w;
    int rc;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank >= 2)
        signal(SIGALRM, SIG_DFL);
    if (rank >= 2)
        ualarm(3000, 0); /* killed in the middle */
    switch (rank) {
    case 0:
        while ((rc = ml_recv(w, buf, size, 2)) == 0)
            continue;
        break;
    case 1:
        while ((rc = ml_send(w, buf, size, 3)) == 0)
            continue;
        break;
    case 2:
        for (;;)
            ml_send(w, buf, size, 0);
    default:
        for (;;)
            ml_recv(w, buf, size, 1);
    }
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE(ml_finalize() == 0);
    free(buf);
}

static void die_amid(const struct job_config *config)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < 4; i++)
        job_spawn(&j, i, half_a_message);
    assert_int_equal(job_wait(&j, 2), SIGALRM);
    assert_int_equal(job_wait(&j, 3), SIGALRM);
    assert_int_equal(job_wait(&j, 0), 0);
    assert_int_equal(job_wait(&j, 1), 0);
    job_close(&j);
}

static void test_half_a_message(void **state)
{
    (void)state;
    die_amid(&all_shm);
    die_amid(&all_tcp);
}

/* A rank that has left in good order is reported to a rank that still needs it. */
static void left(struct job *j, int rank)
{
    char byte;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank != 1) {
        REQUIRE(ml_recv(w, &byte, 1, 1) == ML_ERR_PEER);
        expect_broken(w, ML_ERR_PEER, "rank 1 has left");
    } else {
        REQUIRE(ml_finalize() == 0);
    }
}

static void test_left(void **state)
{
    (void)state;
    job_do(&all_shm, left);
    job_do(&all_tcp, left);
}

/* The last calls of a job: a rank that has got what it needs must not fail because others have
 * already left. */
static void last_call(struct job *j, int rank)
{
    int v = rank;
    ml_group *w;

    (void)j;
    for (int i = 0; i < 20; i++) {
        REQUIRE(ml_init(&w) == 0);
        REQUIRE(ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_MAX) == 0 && v == 3);
        REQUIRE(ml_broadcast(w, &v, sizeof(v), i % 4) == 0);
        REQUIRE(ml_finalize() == 0);
    }
}

static void test_last_call(void **state)
{
    (void)state;
    job_do(&all_shm, last_call);
    job_do(&all_tcp, last_call);
    job_do(&mixed, last_call);
}

/* Calls that differ: every rank gets the same sentence, which names both calls. */
static void other_count(struct job *j, int rank)
{
    float v[8] = {0};
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_all_reduce(w, v, v, rank == 3 ? 7 : 8, ML_FLOAT32, ML_SUM) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "all_reduce of 7 float32 (sum)");
    expect_broken(w, ML_ERR_MISMATCH, "all_reduce of 8 float32 (sum)");
}

/* Even a call without bytes must match. */
static void zero_count(struct job *j, int rank)
{
    float v[8] = {0};
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_all_reduce(w, v, v, 0, ML_FLOAT32, ML_SUM) == 0);
    job_meet(j);
    REQUIRE(ml_all_reduce(w, v, v, rank ? 8 : 0, ML_FLOAT32, ML_SUM) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "all_reduce of 0 float32");
    expect_broken(w, ML_ERR_MISMATCH, "all_reduce of 8 float32");
}

static void other_call(struct job *j, int rank)
{
    char v[64] = {0};
    ml_group *w;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    rc = rank == 1 ? ml_all_gather(w, v, v + 16, 4) : ml_barrier(w);
    REQUIRE(rc == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "all_gather of 4 bytes");
    expect_broken(w, ML_ERR_MISMATCH, "barrier");
}

/* A split is a call like any other, though the coordinator carries it out. */
static void split_and_barrier(struct job *j, int rank)
{
    ml_group *w, *part;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    rc = rank == 1 ? ml_split(w, 0, 0, &part) : ml_barrier(w);
    REQUIRE(rc == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "split");
    expect_broken(w, ML_ERR_MISMATCH, "barrier");
}

/* Roots that wait for each other never see a message: the coordinator compares their calls. */
static void other_root(struct job *j, int rank)
{
    char v = 0, all[2];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_gather(w, &v, all, 1, rank) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "gather of 1 bytes to rank 0");
    expect_broken(w, ML_ERR_MISMATCH, "gather of 1 bytes to rank 1");
}

static void other_size(struct job *j, int rank)
{
    char v[64] = {0};
    ml_group *w;
    int rc = 0;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        rc = ml_send(w, v, 10, 1);
    else if (rank == 1)
        rc = ml_recv(w, v, 11, 0);
    REQUIRE(rc == (rank == 1 ? ML_ERR_MISMATCH : 0));
    /* The others make another call, and learn of it there. */
    REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "message of 10 bytes");
    expect_broken(w, ML_ERR_MISMATCH, "message of 11 bytes");
}

/* One rank waits for a message while all others are in a collective call. */
static void message_and_barrier(struct job *j, int rank)
{
    char v[64] = {0};
    ml_group *w;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    rc = rank == 1 ? ml_recv(w, v, 3, 0) : ml_barrier(w);
    REQUIRE(rc == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "message of 3 bytes");
    expect_broken(w, ML_ERR_MISMATCH, "barrier");
}

static void test_mismatch(void **state)
{
    static const struct job_config *const configs[] = {&all_shm, &all_tcp, &mixed};

    (void)state;
    for (int i = 0; i < 3; i++) {
        job_do(configs[i], other_count);
        job_do(configs[i], zero_count);
        job_do(configs[i], other_call);
        job_do(configs[i], split_and_barrier);
        job_do(configs[i], other_size);
    }
    job_do(&all_shm, message_and_barrier);
    job_do(&pair, other_root);
}

/* Ranks wait, asleep, for a rank that is late, which is reported once. */
static void late(struct job *j, int rank)
{
    int64_t begin;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    begin = job_processor_ms();
    if (rank == 3)
        while (j->seen->stalls == 0)
            sched_yield();
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(rank == 3 || job_processor_ms() - begin < 50);
    REQUIRE(ml_finalize() == 0);
}

static void test_stall(void **state)
{
    struct job_config config = {.size = 4, .stall_ms = 1500};
    struct job j;

    (void)state;
    job_open(&j, &config);
    job_run(&j, late);
    assert_int_equal(j.seen->stalls, 1);
    assert_non_null(strstr(j.seen->stall, "barrier"));
    assert_non_null(strstr(j.seen->stall, "3"));
    job_close(&j);
}

/* A rank that is late in calling ml_init is reported in the same way, and those that wait for it
 * have left a note by then. */
static void late_init(struct job *j, int rank)
{
    char dir[PATH_MAX], path[PATH_MAX + 32], note[256] = "";
    ml_group *w;
    FILE *f;

    job_dir(j, 0, dir);
    snprintf(path, sizeof(path), "%s/rank.0.waiting.0", dir);
    if (rank == 3) {
        while (j->seen->stalls == 0)
            sched_yield();
        f = fopen(path, "r");
        REQUIRE(f && fgets(note, sizeof(note), f));
        fclose(f);
        REQUIRE_TEXT(note, "\"name\":\"init\"");
    }
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(access(path, F_OK) != 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_stall_in_init(void **state)
{
    struct job_config config = {.size = 4, .stall_ms = 1500};
    struct job j;

    (void)state;
    job_open(&j, &config);
    job_run(&j, late_init);
    assert_int_equal(j.seen->stalls, 1);
    assert_non_null(strstr(j.seen->stall, "rank 3 on host host0 has not called ml_init; ranks 0"));
    job_close(&j);
}

static void aborting(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        ml_abort(7, "the input is empty");
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
    REQUIRE(ml_finalize() == 0);
}

static void test_abort(void **state)
{
    struct job j;
    int status;

    (void)state;
    job_open(&j, &pair);
    job_spawn(&j, 0, aborting);
    job_spawn(&j, 1, aborting);
    status = job_wait(&j, 1);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(job_wait(&j, 0), 0);
    assert_int_equal(j.seen->abort_rank, 1);
    assert_int_equal(j.seen->abort_status, 7);
    assert_string_equal(j.seen->why, "the input is empty");
    job_close(&j);
}

/* The program gets signals of its own all the time, and its handlers don't restart system calls. */
static void on_signal(int number)
{
    (void)number;
}

static void interrupted(struct job *j, int rank)
{
    struct sigaction action = {.sa_handler = on_signal};
    char *buf = calloc(1, 1 << 20);
    ml_group *w;

    (void)j;
    sigaction(SIGALRM, &action, NULL);
    ualarm(1000, 500);
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 200; i++) {
        if (rank == i % 4)
            job_be_busy(1);
        REQUIRE(ml_broadcast(w, buf, 1 << 18, i % 4) == 0);
    }
    REQUIRE(ml_finalize() == 0);
    free(buf);
}

static void test_signals(void **state)
{
    (void)state;
    job_do(&all_shm, interrupted);
    job_do(&all_tcp, interrupted);
}

/* A second thread in a group costs that thread's call, and nothing else. */
struct other_thread {
    ml_group *group;
    _Atomic int number;
    int rc;
};

static void *other_main(void *arg)
{
    struct other_thread *t = arg;

    t->number = (int)syscall(SYS_gettid);
    t->rc = ml_barrier(t->group);
    return NULL;
}

/* True once the thread sleeps, which it only does in its call. */
static bool other_sleeps(const struct other_thread *t)
{
    char path[64], line[256] = "";
    FILE *f;

    if (!t->number)
        return false;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", t->number);
    f = fopen(path, "r");
    REQUIRE(f && fgets(line, sizeof(line), f));
    fclose(f);
    return strstr(line, ") S ");
}

static void two_threads(struct job *j, int rank)
{
    struct other_thread other = {0};
    ml_request *request = NULL;
    pthread_t thread;

    REQUIRE(ml_init(&other.group) == 0);
    if (rank == 0) {
        REQUIRE(pthread_create(&thread, NULL, other_main, &other) == 0);
        while (!other_sleeps(&other))
            sched_yield();
        REQUIRE(ml_barrier(other.group) == ML_ERR_STATE);
        REQUIRE_TEXT(ml_error(), "another thread");
        REQUIRE_TEXT(ml_error(), "barrier");
        REQUIRE(ml_start_barrier(other.group, &request) == ML_ERR_STATE && !request);
        job_meet(j);
        REQUIRE(pthread_join(thread, NULL) == 0 && other.rc == 0);
    } else {
        job_meet(j);
        REQUIRE(ml_barrier(other.group) == 0);
    }
    REQUIRE(ml_barrier(other.group) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_two_threads(void **state)
{
    const struct job_config tcp = {.size = 2, .backend = "tcp", .local_net = true};

    (void)state;
    job_do(&pair, two_threads);
    job_do(&tcp, two_threads);
}

/* Rank 0 leaves a call by longjmp() while it waits for rank 1, which is never to call. The call's
 * transfers lay in a part of the stack that is used again. */
static sigjmp_buf before_call;

static void leave_call(int signal)
{
    (void)signal;
    siglongjmp(before_call, 1);
}

static void left_by_longjmp(struct job *j, int rank, size_t size)
{
    char *buf = calloc(2, size);
    ml_request *request = NULL;
    ml_group *w, *other;

    REQUIRE(buf && ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &other) == 0);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == 0) {
        signal(SIGALRM, leave_call);
        if (sigsetjmp(before_call, 1) == 0) {
            ualarm(50000, 0);
            ml_sendrecv(w, buf, size, 1, buf + size, size, 1);
            REQUIRE(!"the call returns");
        }
        REQUIRE(ml_barrier(w) == ML_ERR_STATE);
        REQUIRE_TEXT(ml_error(), "sendrecv");
        REQUIRE_TEXT(ml_error(), "longjmp()");
        REQUIRE(ml_start_send(w, buf, size, 1, &request) == ML_ERR_STATE && !request);
        REQUIRE(ml_split(w, 0, 0, &other) == ML_ERR_STATE);
        job_meet(j);
    } else {
        job_meet(j);
        /* Rank 0's words, or its message, which comes first. */
        REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "rank 0");
    }
    REQUIRE(ml_barrier(other) == 0); /* other groups work */
    REQUIRE(ml_finalize() == 0);
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
    free(buf);
}

static void left_short(struct job *j, int rank)
{
    left_by_longjmp(j, rank, 8);
}

static void left_long(struct job *j, int rank)
{
    left_by_longjmp(j, rank, 8 << 20);
}

static void test_longjmp(void **state)
{
    const struct job_config tcp = {.size = 2, .backend = "tcp", .local_net = true};

    (void)state;
    job_do(&pair, left_short);
    job_do(&pair, left_long);
    job_do(&tcp, left_short);
    job_do(&tcp, left_long);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_killed_in_split),
        cmocka_unit_test(test_exit_without_finalize),
        cmocka_unit_test(test_half_a_message),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_last_call),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_stall_in_init),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_longjmp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
