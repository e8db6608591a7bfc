/* SPDX-License-Identifier: MIT */
/* test_split.c: groups of a group: order, nesting, several at once, in one thread and in
 * several.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static const struct job_config all_shm = {.size = 6};
static const struct job_config all_tcp = {.size = 6, .backend = "tcp", .local_net = true};
static const struct job_config mixed = {.size = 6, .hosts = 2, .backend = "tcp"};

static int sum(ml_group *g, int v)
{
    REQUIRE(ml_all_reduce(g, &v, &v, 1, ML_INT32, ML_SUM) == 0);
    return v;
}

static void orders(struct job *j, int rank)
{
    ml_group *w, *odd, *backwards, *none, *pair;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank % 2, 0, &odd) == 0);
    REQUIRE(ml_size(odd) == 3 && ml_rank(odd) == rank / 2);
    REQUIRE(sum(odd, rank) == (rank % 2 ? 9 : 6));
    REQUIRE(ml_split(w, 5, -rank, &backwards) == 0);
    REQUIRE(ml_size(backwards) == 6 && ml_rank(backwards) == 5 - rank);
    REQUIRE(strcmp(ml_host(backwards, 0), ml_host(w, 5)) == 0);
    REQUIRE(sum(backwards, 1) == 6);
    REQUIRE(ml_split(w, rank < 4 ? -1 : 0, 0, &none) == 0);
    REQUIRE(rank < 4 ? !none : ml_size(none) == 2);
    /* A group of a group, used in turn with its parents. */
    REQUIRE(ml_split(odd, ml_rank(odd) == 1, 0, &pair) == 0);
    for (int i = 0; i < 10; i++) {
        REQUIRE(sum(pair, 1) == (ml_rank(odd) == 1 ? 1 : 2));
        REQUIRE(sum(odd, 1) == 3 && sum(w, 1) == 6);
    }
    ml_group_free(pair);
    ml_group_free(none);
    ml_group_free(w); /* ignored */
    for (int i = 0; i < 10; i++) {
        ml_group *short_lived;

        REQUIRE(ml_split(backwards, i % 2, rank, &short_lived) == 0);
        REQUIRE(sum(short_lived, 1) == 6);
        ml_group_free(short_lived);
    }
    REQUIRE(ml_finalize() == 0); /* frees the rest */
}

static void test_orders(void **state)
{
    (void)state;
    job_do(&all_shm, orders);
    job_do(&all_tcp, orders);
    job_do(&mixed, orders);
}

/* Two threads with a group each, in no common order; each also splits its group. */
static void *work(void *arg)
{
    ml_group *g = arg, *part;

    for (int i = 0; i < 300; i++) {
        if (i % 50 == 49) {
            REQUIRE(ml_split(g, ml_rank(g) % 2, 0, &part) == 0);
            REQUIRE(sum(part, 1) == ml_size(part));
            ml_group_free(part);
        }
        if (i % 60 == 7 * ml_rank(g))
            job_be_busy(2);
        REQUIRE(sum(g, i) == i * ml_size(g));
    }
    return NULL;
}

static void threads(struct job *j, int rank)
{
    ml_group *w, *groups[3];
    pthread_t t[3];

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(ml_split(w, 0, i % 2 ? rank : -rank, &groups[i]) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, work, groups[i]) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_join(t[i], NULL) == 0);
    REQUIRE(sum(w, 1) == 6);
    REQUIRE(ml_finalize() == 0);
}

static void test_threads(void **state)
{
    (void)state;
    job_do(&all_shm, threads);
    job_do(&all_tcp, threads);
}

/* A broken group does not affect the others, nor its parent. */
static void broken_part(struct job *j, int rank)
{
    ml_group *w, *part;
    char v[8] = {0};

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &part) == 0);
    REQUIRE(ml_broadcast(part, v, rank ? 8 : 7, 0) == ML_ERR_MISMATCH || rank == 0);
    REQUIRE(ml_barrier(part) == ML_ERR_MISMATCH);
    REQUIRE(sum(w, 1) == 6);
    ml_group_free(part);
    REQUIRE(ml_split(w, 0, 0, &part) == 0 && sum(part, 1) == 6);
    REQUIRE(ml_finalize() == 0);
}

static void test_broken_part(void **state)
{
    (void)state;
    job_do(&all_shm, broken_part);
    job_do(&mixed, broken_part);
}

/* A rank that can't join a new group reports the reason, in whatever bytes, and no other rank waits
 * for it. */
static void one_cannot(struct job *j, int rank)
{
    char dir[PATH_MAX], link[PATH_MAX + 8], other[2 * PATH_MAX];
    struct rlimit files, none;
    ml_group *w, *part;

    job_dir(j, j->host_of[rank], dir);
    /* No UTF-8, as the system's words in some languages. */
    snprintf(link, sizeof(link), "%s/\xfc", j->root);
    snprintf(other, sizeof(other), "%s%s", link, strrchr(dir, '/'));
    if (rank == 1)
        REQUIRE(symlink(".", link) == 0 && setenv("MLAUNCH_JOB_DIR", other, 1) == 0);
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
    none = files;
    none.rlim_cur = 3;
    if (rank == 1)
        REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    REQUIRE(ml_split(w, 0, 0, &part) == ML_ERR_SYSTEM);
    REQUIRE_TEXT(ml_error(), "rank 1 on host host0: cannot open the FIFO ");
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
    REQUIRE(sum(w, 1) == 6);
    REQUIRE(ml_split(w, 0, 0, &part) == 0 && sum(part, 1) == 6);
    REQUIRE(ml_finalize() == 0);
}

/* The last rank has descriptors for its bell and for one connection at most: it reports that with
 * the first call that needs more. */
static void one_cannot_accept(struct job *j, int rank)
{
    struct rlimit files, few;
    char out[6] = {0}, in[6];
    ml_group *w, *part;
    int fds[3];

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(sum(w, 1) == 6 && ml_barrier(w) == 0); /* the world has the links that it needs */
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
    few = files;
    for (int i = 0; i < 3; i++)
        REQUIRE((fds[i] = dup(STDERR_FILENO)) >= 0);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    few.rlim_cur = (rlim_t)fds[2];
    if (rank == 5)
        REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    REQUIRE(ml_split(w, 0, 0, &part) == 0);
    REQUIRE(ml_all_to_all(part, out, in, 1) == ML_ERR_LINK);
    REQUIRE_TEXT(ml_error(), "rank 5 on host host0 cannot ");
    REQUIRE_TEXT(ml_error(), "Too many open files");
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
    REQUIRE(sum(w, 1) == 6);
    REQUIRE(ml_finalize() == 0);
}

static void test_one_cannot(void **state)
{
    (void)state;
    job_do(&all_shm, one_cannot);
    job_do(&mixed, one_cannot);
    job_do(&all_tcp, one_cannot_accept);
}

/* Other users can list /dev/shm, and must not know how the next segment will be called: each name
 * ends in a key that follows from the job's secret. Stores the keys of this process's segments;
 * returns how many there are. */
static int find_keys(const struct job *j, char keys[2][17])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 256], prefix[128];
    int count = 0;

    REQUIRE(maps);
    snprintf(prefix, sizeof(prefix), "/dev/shm/mlaunch-%u-%s.", (unsigned)geteuid(), j->id);
    while (fgets(line, sizeof(line), maps)) {
        const char *name = strstr(line, prefix), *key = name ? strrchr(name, '.') + 1 : NULL;

        /* The rank's own counters and calls, for which it takes no file of another user. */
        if (!key || strstr(name, ".counters.") || strstr(name, ".calls."))
            continue;
        REQUIRE(strspn(key, "0123456789abcdef") == 16 && count < 2);
        snprintf(keys[count++], 17, "%.16s", key);
    }
    fclose(maps);
    return count;
}

static void unpredictable(struct job *j, int rank)
{
    char keys[2][17];
    ml_group *w, *all;

    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &all) == 0);
    REQUIRE(find_keys(j, keys) == 2 && strcmp(keys[0], keys[1]) != 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_names(void **state)
{
    static const struct job_config config = {.size = 3};

    (void)state;
    job_do(&config, unpredictable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_broken_part), cmocka_unit_test(test_one_cannot),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
