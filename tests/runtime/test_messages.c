/* SPDX-License-Identifier: MIT */
/* test_messages.c: point-to-point calls over every kind of link, in every pattern that programs
 * use.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

static const struct job_config shm_pair = {.size = 2};
static const struct job_config tcp_pair = {.size = 2, .backend = "tcp", .local_net = true};
static const struct job_config shm_seven = {.size = 7};
static const struct job_config tcp_seven = {.size = 7, .backend = "tcp", .local_net = true};
static const struct job_config mixed = {.size = 5, .hosts = 2, .backend = "tcp"};

static void fill(unsigned char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

static void check(const unsigned char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        REQUIRE(at[i] == (unsigned char)(seed * 31 + i * 7 + (i >> 8)));
}

/* All ranks pass blocks of every interesting size around a ring, at odd addresses. */
static void ring(struct job *j, int rank)
{
    static const size_t sizes[] = {0,
                                   1,
                                   15,
                                   16,
                                   17,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   65,
                                   1000,
                                   4096,
                                   65537,
                                   (1 << 20) - 1,
                                   (1 << 20) + 7,
                                   5 << 20};
    int n = j->config.size, right = (rank + 1) % n, left = (rank + n - 1) % n;
    unsigned char *out = malloc((5 << 20) + 3), *in = malloc((5 << 20) + 5);
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_rank(w) == rank && ml_size(w) == n);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(out + 3, sizes[i], (unsigned)rank + (unsigned)i);
        memset(in, 0xee, sizes[i] + 5);
        REQUIRE(ml_sendrecv(w, out + 3, sizes[i], right, in + 1, sizes[i], left) == 0);
        check(in + 1, sizes[i], (unsigned)left + (unsigned)i);
        REQUIRE(in[0] == 0xee && in[sizes[i] + 1] == 0xee);
    }
    REQUIRE(ml_finalize() == 0);
    free(out);
    free(in);
}

static void test_ring(void **state)
{
    (void)state;
    job_do(&shm_pair, ring);
    job_do(&tcp_pair, ring);
    job_do(&shm_seven, ring);
    job_do(&tcp_seven, ring);
    job_do(&mixed, ring);
}

#if defined(SYS_process_vm_readv)
/* The kernel forbids reading another process's memory, as in some containers. */
static void forbid_reading(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

static void ring_forbidden(struct job *j, int rank)
{
    forbid_reading();
    ring(j, rank);
}

static void ring_forbidden_to_some(struct job *j, int rank)
{
    if (rank % 2)
        forbid_reading();
    ring(j, rank);
}

static void test_forbidden(void **state)
{
    (void)state;
    job_do(&shm_pair, ring_forbidden);
    job_do(&shm_seven, ring_forbidden_to_some);
}
#else
static void test_forbidden(void **state)
{
    (void)state;
    print_message("# skipped: needs seccomp filters for this processor\n");
}
#endif

/* Many small messages at once, without the receiver's help as long as there is room; then in
 * order. */
static void burst(struct job *j, int rank)
{
    unsigned char buf[300];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (unsigned i = 0; i < 20000; i++) {
        size_t size = i % sizeof(buf);

        if (rank == 0) {
            fill(buf, size, i);
            REQUIRE(ml_send(w, buf, size, 1) == 0);
        } else {
            REQUIRE(ml_recv(w, buf, size, 0) == 0);
            check(buf, size, i);
        }
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_burst(void **state)
{
    (void)state;
    job_do(&shm_pair, burst);
    job_do(&tcp_pair, burst);
}

/* A rank that has sent may leave at once, and its message still arrives, if the two have exchanged
 * messages before: over TCP the first one waits until the receiver's process is in some call. */
static void send_and_leave(struct job *j, int rank)
{
    size_t size = 8000; /* ml_send may wait with longer messages */
    unsigned char *buf = malloc(size);
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == 0) {
        fill(buf, size, 5);
        REQUIRE(ml_send(w, buf, size, 1) == 0);
    } else {
        char dir[PATH_MAX], path[PATH_MAX];

        /* Wait until the sender has left. */
        job_dir(j, 0, dir);
        snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-%s.bell.0.1.0", (unsigned)geteuid(),
                 strrchr(dir, '/') + 1);
        while (access(path, F_OK) == 0)
            sched_yield();
        REQUIRE(ml_recv(w, buf, size, 0) == 0);
        check(buf, size, 5);
    }
    REQUIRE(ml_finalize() == 0);
    free(buf);
}

static void test_send_and_leave(void **state)
{
    (void)state;
    job_do(&shm_pair, send_and_leave);
    job_do(&tcp_pair, send_and_leave);
}

static void self(struct job *j, int rank)
{
    unsigned char a[100], b[100];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (unsigned i = 0; i < 10; i++) {
        fill(a, sizeof(a), i);
        REQUIRE(ml_send(w, a, i * 10, rank) == 0);
    }
    for (unsigned i = 0; i < 10; i++) {
        REQUIRE(ml_recv(w, b, i * 10, rank) == 0);
        check(b, i * 10, i);
    }
    fill(a, sizeof(a), 77);
    REQUIRE(ml_sendrecv(w, a, sizeof(a), rank, b, sizeof(b), rank) == 0);
    check(b, sizeof(b), 77);
    REQUIRE(ml_sendrecv(w, a, 0, rank, b, 0, rank) == 0);
    REQUIRE(ml_recv(w, b, 1, rank) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "has sent itself nothing");
    REQUIRE(ml_send(w, a, 10, rank) == 0);
    REQUIRE(ml_recv(w, b, 9, rank) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "message of 10 bytes");
    REQUIRE(ml_finalize() == 0);
}

static void test_self(void **state)
{
    struct job_config one = {.size = 1};

    (void)state;
    job_do(&one, self);
}

/* In place, with ML_NOBODY, with different sizes each way. */
static void shapes(struct job *j, int rank)
{
    unsigned char *a = malloc(3 << 20), *b = malloc(3 << 20);
    int other = 1 - rank;
    size_t mine = rank ? 3 << 20 : 100, theirs = rank ? 100 : 3 << 20;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    fill(a, mine, (unsigned)rank);
    REQUIRE(ml_sendrecv(w, a, mine, other, b, theirs, other) == 0);
    check(b, theirs, (unsigned)other);
    fill(a, 2 << 20, (unsigned)rank);
    REQUIRE(ml_sendrecv(w, a, 2 << 20, other, a, 2 << 20, other) == 0);
    check(a, 2 << 20, (unsigned)other);
    REQUIRE(ml_sendrecv(w, a, 5, ML_NOBODY, b, 5, ML_NOBODY) == 0);
    REQUIRE(ml_sendrecv(w, a, 5, rank ? ML_NOBODY : 1, b, 5, rank ? 0 : ML_NOBODY) == 0);
    REQUIRE(ml_sendrecv(w, a, 50, other, a + 49, 50, other) == ML_ERR_ARGUMENT);
    REQUIRE(ml_send(w, NULL, 0, other) == 0 && ml_recv(w, NULL, 0, other) == 0);
    REQUIRE(ml_send(w, NULL, 1, other) == ML_ERR_ARGUMENT);
    REQUIRE(ml_send(w, a, 1, 2) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "ranks 0 to 1");
    REQUIRE(ml_send(NULL, a, 1, 2) == ML_ERR_ARGUMENT);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
    free(a);
    free(b);
}

static void test_shapes(void **state)
{
    (void)state;
    job_do(&shm_pair, shapes);
    job_do(&tcp_pair, shapes);
}

/* Sums of integers over mixed links, with more ranks than processors, so that some sleep. */
static void sums(struct job *j, int rank)
{
    int n = j->config.size;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; round < 20; round++) {
        size_t count = (size_t)round * 1000 + 1;
        int64_t *v = malloc(count * sizeof(*v));

        for (size_t i = 0; i < count; i++)
            v[i] = (int64_t)i * (rank + 1);
        if (rank == round % n)
            job_be_busy(3); /* late, so that others go to sleep */
        REQUIRE(ml_all_reduce(w, v, v, count, ML_INT64, ML_SUM) == 0);
        for (size_t i = 0; i < count; i++)
            REQUIRE(v[i] == (int64_t)i * n * (n + 1) / 2);
        free(v);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_sums(void **state)
{
    struct job_config many = {.size = 32};

    (void)state;
    job_do(&shm_seven, sums);
    job_do(&tcp_seven, sums);
    job_do(&mixed, sums);
    job_do(&many, sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),           cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_burst),          cmocka_unit_test(test_self),
        cmocka_unit_test(test_send_and_leave), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
