/* SPDX-License-Identifier: MIT */
/* test_late_failures.c: after ml_init a program takes away what the runtime might still want to
 * open. Calls on groups that exist go on, and what needs more says so: no rank sleeps for ever.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { BIG = 256 * 1024, ROUNDS = 20, LATE_MS = 5, NOBODY = 65534, GROUPS = 70 };

static const struct job_config all_shm = {.size = 4};

/* Calls on the board, through rings and by offers. In each round one rank is late, so that the
 * others are asleep when it comes. */
static void use(ml_group *w)
{
    int rank = ml_rank(w), size = ml_size(w), v, last;
    char *big = calloc(1, BIG);

    for (int i = 0; i < ROUNDS; i++) {
        if (rank == i % size)
            job_be_busy(LATE_MS);
        v = i + rank;
        REQUIRE(ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_MAX) == 0 && v == i + size - 1);
        if (rank == i % size)
            job_be_busy(LATE_MS);
        REQUIRE(ml_sendrecv(w, &i, sizeof(i), (rank + 1) % size, &last, sizeof(last),
                            (rank + size - 1) % size) == 0);
        REQUIRE(last == i);
        big[BIG - 1] = (char)(rank == i % size ? i : -1);
        REQUIRE(ml_broadcast(w, big, BIG, i % size) == 0 && big[BIG - 1] == i);
    }
    free(big);
}

/* Takes all descriptors that are left, and leaves room for none. */
static void fill_table(void)
{
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};

    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(STDERR_FILENO) >= 0)
        continue;
    REQUIRE(errno == EMFILE);
}

/* Memory of ml_alloc that peers can't map reaches them as copies. */
static void use_memory(ml_group *w, char *block)
{
    memset(block, ml_rank(w), BIG);
    REQUIRE(ml_all_reduce(w, block, block, BIG / sizeof(int), ML_INT32, ML_MAX) == 0);
    REQUIRE(block[BIG - 1] == ml_size(w) - 1);
}

static void full_table(struct job *j, int rank)
{
    ml_request *r;
    ml_group *w, *half;
    char *early, *late;
    int v;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_alloc(BIG, (void **)&early) == 0);
    fill_table();
    use(w);
    /* What needs another descriptor fails on all ranks, and the world is unharmed. */
    REQUIRE(ml_split(w, rank / 2, 0, &half) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "Too many open files");
    REQUIRE(ml_start_all_reduce(w, &rank, &v, 1, ML_INT32, ML_MAX, &r) == ML_ERR_SYSTEM && !r);
    REQUIRE_TEXT(ml_error(), "Too many open files");
    use_memory(w, early); /* peers can't open its file */
    REQUIRE(ml_alloc(BIG, (void **)&late) == 0);
    use_memory(w, late);
    ml_free(early);
    ml_free(late);
    use(w);
    REQUIRE(ml_finalize() == 0);
}

/* One rank alone has no descriptors left; so it is the only one that can't split. */
static void one_full_table(struct job *j, int rank)
{
    ml_group *w, *half;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        fill_table();
    use(w);
    REQUIRE(ml_split(w, rank / 2, 0, &half) == (rank < 2 ? ML_ERR_SYSTEM : 0));
    REQUIRE(rank >= 2 || strstr(ml_error(), "Too many open files"));
    use(w);
    REQUIRE(ml_finalize() == 0);
}

static void test_full_table(void **state)
{
    (void)state;
    job_do(&all_shm, full_table);
    job_do(&all_shm, one_full_table);
}

/* Groups that are only kept leave most descriptors to the program, and the last one works. */
static void many_groups(struct job *j, int rank)
{
    struct rlimit limit = {.rlim_cur = 256, .rlim_max = 256};
    ml_group *w, *kept[GROUPS];

    (void)j;
    (void)rank;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < GROUPS; i++)
        REQUIRE(ml_split(w, 0, 0, &kept[i]) == 0);
    use(kept[0]);
    use(kept[GROUPS - 1]);
    REQUIRE(ml_finalize() == 0);
}

static void test_many_groups(void **state)
{
    (void)state;
    job_do(&all_shm, many_groups);
}

/* The table is full before ml_init: then that fails, with a sentence, whatever is missing. */
static void early_full_table(struct job *j, int rank)
{
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = 64};
    int v = rank, rc, next = dup(STDERR_FILENO);
    ml_group *w;

    close(next);
    limit.rlim_cur = (rlim_t)next + (rlim_t)j->seen->met; /* met: how many are left */
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    rc = ml_init(&w);
    if (rc) {
        REQUIRE(*ml_error());
        return;
    }
    job_be_busy(rank * LATE_MS);
    REQUIRE(ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_MAX) == 0 && v == 3);
    REQUIRE(ml_finalize() == 0);
}

static void test_early_full_table(void **state)
{
    (void)state;
    for (int left = 1; left <= 12; left++) {
        struct job j;

        job_open(&j, &all_shm);
        j.seen->met = left;
        job_run(&j, early_full_table);
        job_close(&j);
    }
}

/* --- the job's directory ---------------------------------------------------------------------- */

static void remove_files(const struct job *j, int rank)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d;

    job_dir(j, j->host_of[rank], path);
    d = opendir(path);
    REQUIRE(d);
    while ((e = readdir(d)))
        (void)unlinkat(dirfd(d), e->d_name, 0); /* refuses "." and ".." */
    closedir(d);
}

static void cleaned(struct job *j, int rank)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        remove_files(j, rank);
    job_meet(j);
    use(w);
    REQUIRE(ml_finalize() == 0);
}

static void test_cleaned_directory(void **state)
{
    (void)state;
    job_do(&all_shm, cleaned);
}

/* --- another file has the name of a rank's bell ----------------------------------------------- */

static void taken_name(struct job *j, int rank)
{
    char dir[PATH_MAX], path[PATH_MAX];
    ml_group *w;

    job_dir(j, 0, dir);
    snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-%s.bell.%d.1.0", (unsigned)geteuid(),
             strrchr(dir, '/') + 1, rank);
    if (rank % 2)
        close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
    REQUIRE(ml_init(&w) == 0);
    use(w);
    REQUIRE(ml_finalize() == 0);
    unlink(path);
}

static void test_taken_name(void **state)
{
    (void)state;
    job_do(&all_shm, taken_name);
}

/* --- another user, another root --------------------------------------------------------------- */

static void other_user(struct job *j, int rank)
{
    ml_group *w, *half;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank % 2)
        REQUIRE(setuid(NOBODY) == 0);
    use(w);
    REQUIRE(ml_split(w, 0, 0, &half) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "Permission denied");
    use(w);
    REQUIRE(ml_finalize() == 0);
}

static void other_root_directory(struct job *j, int rank)
{
    ml_group *w, *half;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(chroot("/proc") == 0 && chdir("/") == 0);
    use(w);
    REQUIRE(ml_split(w, 0, 0, &half) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "cannot make the FIFO");
    use(w);
    REQUIRE(ml_finalize() == 0);
    _exit(0); /* the leak sanitizer, which runs in exit(), needs /proc */
}

static void test_other_user(void **state)
{
    (void)state;
    if (geteuid() != 0) { /* cmocka's skip() says "not ok" in TAP */
        print_message("# skipped: needs root\n");
        return;
    }
    job_do(&all_shm, other_user);
    job_do(&all_shm, other_root_directory);
}

/* --- descriptors that the program did not open ------------------------------------------------ */

/* Closes the bells of all other ranks: `count` of them. */
static void close_bells(int rank, int count)
{
    char own[32], path[64], target[PATH_MAX];
    int closed = 0;

    snprintf(own, sizeof(own), ".bell.%d.", rank);
    for (int fd = 3; fd < 1024; fd++) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (strstr(target, ".bell.") && !strstr(target, own))
            closed += close(fd) == 0;
    }
    REQUIRE(closed == count);
}

/* Rank 1 can no longer wake anybody: the group breaks, for all ranks. */
static void closed_bells(struct job *j, int rank)
{
    int v = rank, rc = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank == 1)
        close_bells(rank, 3);
    while (!rc) {
        if (rank == 1)
            job_be_busy(LATE_MS);
        rc = ml_all_reduce(w, &v, &v, 1, ML_INT32, ML_MAX);
    }
    REQUIRE(rc == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "rank 1 on host host0: cannot wake rank");
    REQUIRE(ml_finalize() == 0);
}

/* The same when a group is freed for which another rank still waits. */
static void closed_bells_at_free(struct job *j, int rank)
{
    char byte;
    ml_group *w, *all;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &all) == 0);
    REQUIRE(ml_barrier(all) == 0);
    job_meet(j);
    if (rank == 1) {
        close_bells(rank, 6);
        job_be_busy(20 * LATE_MS);
        ml_group_free(all);
    } else {
        REQUIRE(ml_recv(all, &byte, 1, 1) < 0);
    }
    job_meet(j);
    REQUIRE(ml_finalize() == 0);
}

static void test_closed_bells(void **state)
{
    (void)state;
    job_do(&all_shm, closed_bells);
    job_do(&all_shm, closed_bells_at_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_table),        cmocka_unit_test(test_early_full_table),
        cmocka_unit_test(test_cleaned_directory), cmocka_unit_test(test_taken_name),
        cmocka_unit_test(test_other_user),        cmocka_unit_test(test_closed_bells),
        cmocka_unit_test(test_many_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
