/* SPDX-License-Identifier: MIT */
/* test_rings.c: rings of shared memory that are made at their first message: from both sides at
 * once, only those that are used, without room, all at the start, and by ranks that die meanwhile.
 * /dev/shm is this program's own, where that is allowed.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { RING = 1 << 20, PARTS_OF_FOUR = 4116 << 10 }; /* bytes, as shm_segment.c has them */

static const struct job_config two = {.size = 2};
static const struct job_config four = {.size = 4};
static const struct job_config many = {.size = 24};

static bool has_own_shm;

static bool write_line(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);

    if (fd >= 0)
        close(fd);
    return good;
}

/* Mounts a tmpfs on /dev/shm for this process and its children. */
static bool own_shm(void)
{
    char users[64], groups[64];

    snprintf(users, sizeof(users), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof(groups), "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    if (unshare(CLONE_NEWNS) != 0 &&
        (unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0 || !write_line("/proc/self/setgroups", "deny") ||
         !write_line("/proc/self/uid_map", users) || !write_line("/proc/self/gid_map", groups)))
        return false;
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64m") == 0;
}

static bool is_skipped(void)
{
    if (!has_own_shm) /* cmocka's skip() says "not ok" in TAP */
        print_message("# skipped: no mount namespaces\n");
    return !has_own_shm;
}

static int64_t shm_used(bool wants_free)
{
    struct statvfs v;

    REQUIRE(statvfs("/dev/shm", &v) == 0);
    return (int64_t)v.f_frsize * (int64_t)(wants_free ? v.f_bfree : v.f_blocks - v.f_bfree);
}

/* Leaves `rest` bytes of /dev/shm. */
static void shm_fill(int64_t rest)
{
    int fd = open("/dev/shm/full", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0 && posix_fallocate(fd, 0, shm_used(true) - rest) == 0);
    close(fd);
}

/* --- both sides at once ----------------------------------------------------------------------- */

/* Each pair makes its rings from both sides in a new group; what each has sent comes in order. */
static void at_once(struct job *j, int rank)
{
    int size = j->config.size, rounds = getenv("MLAUNCH_TEST_LONG") ? 10000 : 200;
    ml_group *w, *g;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < rounds; i++) {
        int out[3][4], in[3][4];

        REQUIRE(ml_split(w, 0, 0, &g) == 0);
        job_meet(j);
        if (i % 3 == 2 && (rank + i) % 2)
            job_be_busy(1 + i % 4); /* the other side has gone to sleep by then, or has not */
        for (int n = 0; n < 3; n++) {
            for (int k = 0; k < size; k++)
                out[n][k] = 1000 * i + 100 * n + 10 * rank + k;
            REQUIRE(ml_all_to_all(g, out[n], in[n], sizeof(int)) == 0);
        }
        for (int n = 0; n < 3; n++)
            for (int k = 0; k < size; k++)
                REQUIRE(in[n][k] == 1000 * i + 100 * n + 10 * k + rank);
        ml_group_free(g);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_at_once(void **state)
{
    (void)state;
    job_do(&two, at_once);
    job_do(&four, at_once);
}

/* The first message to a rank that sleeps in a receive from any rank. */
static void to_a_sleeper(struct job *j, int rank)
{
    int v = rank, sum = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank > 0) {
        job_be_busy(20 * rank);
        REQUIRE(ml_send_tag(w, &v, sizeof(v), 0, 7) == 0);
    }
    for (int i = 1; rank == 0 && i < j->config.size; i++) {
        ml_status s;

        REQUIRE(ml_recv_tag(w, &v, sizeof(v), ML_ANY, 7, &s) == 0 && v == s.from);
        sum += v;
    }
    REQUIRE(rank > 0 || sum == 6);
    REQUIRE(ml_finalize() == 0);
}

static void test_to_a_sleeper(void **state)
{
    (void)state;
    job_do(&four, to_a_sleeper);
}

/* --- who pays --------------------------------------------------------------------------------- */

/* What the calls on the board need is there from the start, and each first message takes a ring. */
static void only_used(struct job *j, int rank)
{
    int64_t before, taken;
    int v = rank;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    before = shm_used(false);
    job_meet(j);
    for (int i = 0; i < 3; i++)
        REQUIRE(ml_barrier(w) == 0 && ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_MAX) == 0);
    REQUIRE(shm_used(false) == before);
    job_meet(j);
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            REQUIRE(ml_send(w, &v, sizeof(v), 2) == 0);
        if (rank == 2)
            REQUIRE(ml_recv(w, &v, sizeof(v), 0) == 0);
        job_meet(j);
        taken = shm_used(false) - before;
        REQUIRE(taken >= RING && taken < RING + 16384);
        job_meet(j);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_only_used(void **state)
{
    (void)state;
    if (!is_skipped())
        job_do(&four, only_used);
}

/* --- no room ---------------------------------------------------------------------------------- */

/* Rank 0 can send to the one rank to which it has sent, and not to another: all learn why. */
static void no_room(struct job *j, int rank)
{
    int size = j->config.size, next = (rank + 1) % size, last = (rank + size - 1) % size, rc;
    char *out = malloc(3 * RING), *in = malloc(3 * RING), v = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_sendrecv(w, &v, 1, next, &v, 1, last) == 0);
    job_meet(j);
    if (rank == 0)
        shm_fill(RING / 2);
    job_meet(j);
    memset(out, rank, 3 * RING);
    REQUIRE(ml_sendrecv(w, out, 3 * RING, next, in, 3 * RING, last) == 0);
    REQUIRE(in[0] == last && in[3 * RING - 1] == last);
    for (int i = 0; i < 3 * RING / 4096; i++)
        REQUIRE(ml_sendrecv(w, out, 4096, next, in, 4096, last) == 0 && in[4095] == last);
    job_meet(j);
    if (rank == 0)
        rc = ml_send(w, &v, 1, 2);
    else if (rank == 2)
        rc = ml_recv(w, &v, 1, 0);
    else
        rc = ml_barrier(w);
    REQUIRE(rc == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "rank 0 on host host0 cannot send to rank 2: /dev/shm has no room "
                             "for the 1024 KiB of messages to one more rank");
    REQUIRE(ml_finalize() == 0);
    free(out);
    free(in);
}

static void test_no_room(void **state)
{
    (void)state;
    if (is_skipped())
        return;
    job_do(&four, no_room);
    assert_int_equal(unlink("/dev/shm/full"), 0);
}

/* --- all at the start ------------------------------------------------------------------------- */

static void eager(struct job *j, int rank)
{
    int size = j->config.size, out[4] = {rank, rank, rank, rank}, in[4];
    ml_group *w;

    setenv("MLAUNCH_EAGER", "1", 1);
    REQUIRE(ml_init(&w) == 0);
    job_meet(j);
    if (rank == 0)
        shm_fill(0);
    job_meet(j);
    REQUIRE(ml_all_to_all(w, out, in, sizeof(int)) == 0);
    for (int i = 0; i < size; i++)
        REQUIRE(in[i] == i);
    REQUIRE(ml_finalize() == 0);
}

/* There is room for the parts and for some of the rings, or for some parts and some rings. */
static void eager_without_room(struct job *j, int rank)
{
    ml_group *w;

    (void)j;
    (void)rank;
    setenv("MLAUNCH_EAGER", "1", 1);
    REQUIRE(ml_init(&w) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), " on host host0: /dev/shm has no room for the ");
}

static void test_eager(void **state)
{
    (void)state;
    if (is_skipped())
        return;
    job_do(&four, eager);
    assert_int_equal(unlink("/dev/shm/full"), 0);
    shm_fill(PARTS_OF_FOUR + 5 * RING);
    job_do(&four, eager_without_room);
    assert_int_equal(unlink("/dev/shm/full"), 0);
}

/* --- a rank dies ------------------------------------------------------------------------------ */

static int dying_us;

/* Rank 1 dies at some time about its first message; rank 0 gets that message or learns of it. */
static void dies(struct job *j, int rank)
{
    struct itimerval t = {.it_value.tv_usec = dying_us};
    char v = 0;
    ml_group *w;
    int rc;

    REQUIRE(ml_init(&w) == 0);
    job_meet(j);
    if (rank == 1) {
        signal(SIGALRM, SIG_DFL);
        REQUIRE(setitimer(ITIMER_REAL, &t, NULL) == 0);
        (void)ml_send(w, &v, 1, 0);
        for (;;)
            pause();
    }
    rc = ml_recv(w, &v, 1, 1);
    REQUIRE(rc == 0 || rc == ML_ERR_PEER);
    REQUIRE(ml_recv(w, &v, 1, 1) == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1 was killed by signal 14");
    REQUIRE(ml_finalize() == 0);
}

static void test_dies(void **state)
{
    (void)state;
    for (dying_us = 1; dying_us < 500; dying_us += 25) {
        struct job j;

        job_open(&j, &two);
        job_spawn(&j, 0, dies);
        job_spawn(&j, 1, dies);
        assert_int_equal(WTERMSIG(job_wait(&j, 1)), SIGALRM);
        assert_int_equal(job_wait(&j, 0), 0);
        job_close(&j);
    }
}

/* A rank that has never sent ends, and so does one to which nobody has sent. */
static void never(struct job *j, int rank)
{
    int v = rank;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 3)
        REQUIRE(ml_send(w, &v, sizeof(v), 5) == 0);
    if (rank == 5)
        REQUIRE(ml_recv(w, &v, sizeof(v), 3) == 0 && v == 3);
    REQUIRE(ml_finalize() == 0);
}

static void test_never(void **state)
{
    (void)state;
    job_do(&many, never);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),   cmocka_unit_test(test_to_a_sleeper),
        cmocka_unit_test(test_only_used), cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_eager),     cmocka_unit_test(test_dies),
        cmocka_unit_test(test_never),
    };

    has_own_shm = own_shm();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
