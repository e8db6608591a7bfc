/* SPDX-License-Identifier: MIT */
/* test_mapped.c: all_reduce of long vectors in memory of ml_alloc, which ranks of a host read in
 * each other's memory: when they do so, when they can't, and what happens to the memory.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { COUNT = 300007 /* float32: some chunks, the last one ragged */ };

static const struct job_config two = {.size = 2};
static const struct job_config three = {.size = 3};
static const struct job_config four = {.size = 4};

static float *take(size_t count)
{
    void *memory = NULL;

    REQUIRE(ml_alloc(count * sizeof(float), &memory) == 0);
    return memory;
}

/* How many pieces of other processes' memory are mapped here. */
static int views(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    int n = 0;

    REQUIRE(maps);
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, " r--s ") && strstr(line, "memfd:mlaunch");
    fclose(maps);
    return n;
}

/* The file of this process's ml_alloc memory; -1: there is none. */
static int find_file(void)
{
    struct dirent *e;
    DIR *d = opendir("/proc/self/fd");
    int found = -1;

    REQUIRE(d);
    while ((e = readdir(d))) {
        char text[PATH_MAX] = "";

        if (readlinkat(dirfd(d), e->d_name, text, sizeof(text) - 1) > 0 &&
            strstr(text, "memfd:mlaunch"))
            found = atoi(e->d_name);
    }
    closedir(d);
    return found;
}

static long pages_in_file(void)
{
    struct stat st;

    REQUIRE(fstat(find_file(), &st) == 0);
    return (long)st.st_blocks;
}

/* Values whose sums are rounded, so that the order of ranks shows in the bits. */
static float operand(int rank, size_t i, unsigned seed)
{
    return (float)((i * 2654435761u + (unsigned)rank * 40503u + seed * 97u) % 100003u) / 7.0f;
}

static void fill(float *v, size_t count, int rank, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        v[i] = operand(rank, i, seed);
}

static uint32_t bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

static void check(const float *v, size_t count, int ranks, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        float sum = operand(0, i, seed);

        for (int r = 1; r < ranks; r++)
            sum += operand(r, i, seed);
        REQUIRE(bits(v[i]) == bits(sum));
    }
}

/* The result has the bits that the order of ranks gives, in place or not. */
static void sum(ml_group *g, float *in, float *out, size_t count, unsigned seed)
{
    fill(in, count, ml_rank(g), seed);
    REQUIRE(ml_all_reduce(g, in, out, count, ML_FLOAT32, ML_SUM) == 0);
    check(out, count, ml_size(g), seed);
    if (in != out)
        REQUIRE(in[count - 1] == operand(ml_rank(g), count - 1, seed));
}

/* --- when they do ------------------------------------------------------------------------------
 */

static void places(struct job *j, int rank)
{
    ml_group *w;
    float *a = take(COUNT + 5), *b, *both;
    int n = j->config.size;

    REQUIRE(ml_init(&w) == 0);
    b = take(COUNT + 1000);
    both = take(2 * COUNT + 3);
    sum(w, a, b, COUNT, 1);
    REQUIRE(views() == 2 * (n - 1));
    sum(w, a + 5, b + 3, COUNT, 2); /* not where a piece of memory or a cache line begins */
    sum(w, a + 1, a + 1, COUNT, 3);
    sum(w, rank % 2 ? b : a, b, COUNT, 4); /* in place at some */
    REQUIRE(views() == 2 * (n - 1));
    sum(w, both + 1, both + 2 + COUNT, COUNT, 5); /* in and out in one piece */
    REQUIRE(views() == 3 * (n - 1));
    sum(w, a, a, 40000, 6);
    ml_free(a);
    ml_free(b);
    ml_free(both);
    REQUIRE(ml_finalize() == 0);
    REQUIRE(views() == 0);
}

static void test_places(void **state)
{
    (void)state;
    job_do(&two, places);
    job_do(&three, places);
    job_do(&four, places);
}

/* Elements of 1 and of 8 bytes, at odd addresses. */
static void types(struct job *j, int rank)
{
    size_t size = 1000003;
    void *memory = NULL;
    unsigned char *bytes;
    int n = j->config.size;
    double *wide;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_alloc(8 * size + 1, &memory) == 0);
    wide = memory;
    bytes = (unsigned char *)memory + 1;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i + (size_t)rank) % 50);
    REQUIRE(ml_all_reduce(w, bytes, bytes, size, ML_UINT8, ML_MAX) == 0);
    for (size_t i = 0; i < size; i++)
        REQUIRE(bytes[i] == (i % 50 + (size_t)n - 1 < 50 ? i % 50 + (size_t)n - 1 : 49));
    for (size_t i = 0; i < size; i++)
        wide[i] = (double)i + rank;
    REQUIRE(ml_all_reduce(w, wide, wide, size, ML_FLOAT64, ML_SUM) == 0);
    for (size_t i = 0; i < size; i++)
        REQUIRE(wide[i] == (double)n * (double)i + (double)n * (n - 1) / 2);
    REQUIRE(views() == n - 1);
    ml_free(memory);
    REQUIRE(ml_finalize() == 0);
}

static void test_types(void **state)
{
    (void)state;
    job_do(&two, types);
    job_do(&three, types);
}

/* Memory that is freed and allocated again, mostly at the same address, is other memory. Freed
 * memory is free at once, even though the others have it mapped, and not everything that was ever
 * mapped stays mapped. */
static void turnover(struct job *j, int rank)
{
    enum { TURNS = 60, KEPT = 40 };
    float *kept[KEPT], *last = NULL, *v;
    ml_group *w;
    int same = 0, n = j->config.size;

    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    for (unsigned i = 0; i < TURNS; i++) {
        v = take(COUNT / 2);
        same += v == last;
        REQUIRE(v[0] == 0 && v[COUNT / 2 - 1] == 0);
        sum(w, v, v, COUNT / 2, i);
        ml_free(v);
        last = v;
    }
    REQUIRE(same > 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(pages_in_file() == 0);
    REQUIRE(views() <= 32 * (n - 1));
    for (unsigned i = 0; i < 2 * KEPT; i++) {
        if (i < KEPT)
            kept[i] = take(COUNT / 4);
        sum(w, kept[i % KEPT], kept[(i + 1) % (i < KEPT ? i + 1 : KEPT)], COUNT / 4, i);
    }
    REQUIRE(views() == 32 * (n - 1));
    for (int i = 0; i < KEPT; i++)
        ml_free(kept[i]);
    REQUIRE(ml_finalize() == 0);
    REQUIRE(pages_in_file() == 0);
}

static void test_turnover(void **state)
{
    (void)state;
    job_do(&two, turnover);
    job_do(&three, turnover);
}

/* Groups used in turn, and pairs that work at the same time as others. */
static void groups(struct job *j, int rank)
{
    float *a = take(COUNT), *b = take(COUNT);
    ml_group *w, *pair, *three_of_them;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, rank / 2, -rank, &pair) == 0);
    REQUIRE(ml_split(w, rank == 1 ? -1 : 0, 0, &three_of_them) == 0);
    for (unsigned i = 0; i < 5 + (rank / 2) * 3u; i++)
        sum(pair, a, i % 2 ? a : b, COUNT, i);
    if (three_of_them)
        sum(three_of_them, b, a, COUNT, 50);
    sum(w, a, b, COUNT, 60);
    ml_group_free(pair);
    sum(w, b, b, COUNT, 61);
    REQUIRE(ml_finalize() == 0);
    ml_free(a);
    ml_free(b);
}

static void test_groups(void **state)
{
    (void)state;
    job_do(&four, groups);
}

static void *sum_often(void *arg)
{
    ml_group *g = arg;
    float *v = take(COUNT / 2), *fresh;

    for (unsigned i = 0; i < 10; i++) {
        sum(g, v, v, COUNT / 2, i);
        fresh = take(COUNT / 2);
        sum(g, v, fresh, COUNT / 2, i);
        ml_free(v);
        v = fresh;
    }
    ml_free(v);
    return NULL;
}

/* Two threads, each with a group of its own, allocate, sum and free. */
static void threads(struct job *j, int rank)
{
    ml_group *w, *other;
    pthread_t thread;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &other) == 0);
    REQUIRE(pthread_create(&thread, NULL, sum_often, other) == 0);
    sum_often(w);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_threads(void **state)
{
    (void)state;
    job_do(&two, threads);
}

/* --- when they can't ---------------------------------------------------------------------------
 */

/* The result is right, and no rank has mapped anything. */
static void sum_through_cells(float *in, float *out)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (unsigned i = 0; i < 3; i++)
        sum(w, in, out, COUNT, i);
    sum(w, out, out, COUNT, 7);
    REQUIRE(ml_finalize() == 0);
}

/* Memory of ml_alloc on some ranks only, or for only one of the two vectors. */
static void mixed_memory(struct job *j, int rank)
{
    float *mine = take(COUNT), *other = rank % 2 ? take(COUNT) : malloc(COUNT * sizeof(float));
    ml_group *w;

    (void)j;
    REQUIRE(other);
    sum_through_cells(other, mine);
    REQUIRE(ml_init(&w) == 0);
    sum(w, mine, other, COUNT, 1);
    REQUIRE(views() == 0);
    sum(w, mine, mine, COUNT, 2); /* from this call on all can */
    REQUIRE(views() > 0);
    sum(w, mine, other, COUNT, 3);
    REQUIRE(ml_finalize() == 0);
    ml_free(mine);
    if (rank % 2)
        ml_free(other);
    else
        free(other);
}

static void test_mixed_memory(void **state)
{
    (void)state;
    job_do(&two, mixed_memory);
    job_do(&four, mixed_memory);
}

/* From now on the kernel refuses that call if its second argument is `second`; always if that is
 * -1. */
static void forbid(int call, int second)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)second, 0, second < 0 ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};

    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

/* One rank may not map the others' memory: all of them use cells. */
static void forbidden_to_one(struct job *j, int rank)
{
    float *a = take(COUNT), *b = take(COUNT);

    REQUIRE(find_file() >= 0);
    if (rank == j->config.size - 1)
        forbid(SYS_fcntl, F_GET_SEALS);
    sum_through_cells(a, b);
    ml_free(a);
    ml_free(b);
}

/* Such files can't be made at all: plain memory is used. */
static void forbidden_to_make(struct job *j, int rank)
{
    float *a, *b;

    (void)j;
    (void)rank;
    forbid(SYS_memfd_create, -1);
    a = take(COUNT);
    b = take(COUNT);
    REQUIRE(find_file() < 0);
    sum_through_cells(a, b);
    REQUIRE(views() == 0);
    ml_free(a);
    ml_free(b);
}

/* Files must be smaller than that: a larger one would raise SIGXFSZ. */
static void limited(struct job *j, int rank)
{
    struct rlimit limit = {1 << 30, 1 << 30};
    float *a, *b;

    (void)j;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    a = take(COUNT);
    REQUIRE(find_file() < 0);
    b = rank ? a : take(COUNT);
    sum_through_cells(a, b);
}

static void test_forbidden(void **state)
{
    (void)state;
    job_do(&two, forbidden_to_one);
    job_do(&three, forbidden_to_one);
    job_do(&three, forbidden_to_make);
    job_do(&two, limited);
}

/* A program closes descriptors that it doesn't know, and opens files of its own in their place. */
static void closed(struct job *j, int rank)
{
    float *a = take(COUNT), *b, *c;
    char path[PATH_MAX];
    struct stat st;
    int fd = find_file(), mine;
    ml_group *w;

    REQUIRE(fd > 2);
    job_dir(j, 0, path);
    snprintf(path + strlen(path), 32, "/own.%d", rank);
    mine = open(path, O_RDWR | O_CREAT, 0600);
    REQUIRE(mine >= 0 && unlink(path) == 0);
    REQUIRE(rank == 0 || dup2(mine, fd) == fd);
    b = take(COUNT);
    c = take(0);
    sum_through_cells(a, b);
    REQUIRE(ml_init(&w) == 0);
    sum(w, a, a, COUNT, 9);
    REQUIRE(rank == 1 || views() == 0); /* rank 1 has lost its file */
    REQUIRE(ml_finalize() == 0);
    ml_free(a);
    ml_free(b);
    ml_free(c);
    REQUIRE(fstat(mine, &st) == 0 && st.st_size == 0 && st.st_blocks == 0);
    REQUIRE(rank == 0 || (fcntl(fd, F_GETFD) >= 0));
}

static void test_closed(void **state)
{
    (void)state;
    job_do(&two, closed);
}

/* --- what becomes of the memory ----------------------------------------------------------------
 */

/* A child shares the memory that there is. What it frees is not lost to its parent, and what it
 * allocates is its own. */
static void forks(struct job *j, int rank)
{
    float *a = take(COUNT), *b = take(COUNT);
    ml_group *w;
    pid_t child;
    int status;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    sum(w, a, b, COUNT, 1);
    a[7] = (float)rank;
    child = fork();
    if (child == 0) {
        float *own;

        REQUIRE(views() == 0 && find_file() < 0 && a[7] == (float)rank);
        own = take(COUNT);
        REQUIRE(find_file() >= 0);
        own[0] = 1;
        b[3] = 77;
        ml_free(a);
        ml_free(b);
        ml_free(own);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(a[7] == (float)rank && b[3] == 77);
    sum(w, a, b, COUNT, 2);
    sum(w, b, b, COUNT, 3);
    REQUIRE(ml_finalize() == 0);
    ml_free(a);
    ml_free(b);
    REQUIRE(pages_in_file() == 0);
}

static void test_forks(void **state)
{
    (void)state;
    job_do(&three, forks);
}

/* Once it is given back, even memory that the program has locked or made read-only is free. */
static void locked(struct job *j, int rank)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    float *a = take(COUNT), *b = take(COUNT);

    (void)j;
    (void)rank;
    a[0] = b[0] = 1;
    REQUIRE(mlock(a, page) == 0 && mprotect(b, page, PROT_READ) == 0);
    REQUIRE(pages_in_file() > 0);
    ml_free(a);
    ml_free(b);
    REQUIRE(pages_in_file() == 0);
}

static void test_locked(void **state)
{
    (void)state;
    job_do(&two, locked);
}

/* A rank is killed in the middle of a call; the others free their memory at once. */
static void killed(struct job *j, int rank)
{
    size_t count = 4 << 20;
    float *a = take(count), *b = take(count);
    ml_group *w;
    int rc = 0;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == 1) {
        signal(SIGALRM, SIG_DFL);
        ualarm(100000, 0);
    }
    while (!rc)
        rc = ml_all_reduce(w, a, b, count, ML_FLOAT32, ML_SUM);
    ml_free(a);
    ml_free(b);
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
    REQUIRE(ml_finalize() == 0);
}

static void kill_amid(const struct job_config *config)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < config->size; i++)
        job_spawn(&j, i, killed);
    assert_int_equal(job_wait(&j, 1), SIGALRM);
    for (int i = 0; i < config->size; i++)
        if (i != 1)
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

/* Another count, another call, with such memory or without: the sentence names both calls, and no
 * rank hangs. */
static void mismatched(struct job *j, int rank)
{
    float *a = take(COUNT), *plain = calloc(COUNT, sizeof(float));
    ml_group *w, *g;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 3; i++) {
        REQUIRE(ml_split(w, 0, rank, &g) == 0);
        sum(g, a, a, COUNT, 1);
        job_meet(j);
        if (rank > 0)
            rc = ml_all_reduce(g, a, a, COUNT, ML_FLOAT32, ML_SUM);
        else if (i == 0)
            rc = ml_all_reduce(g, a, a, COUNT - 1, ML_FLOAT32, ML_SUM);
        else if (i == 1)
            rc = ml_barrier(g);
        else
            rc = ml_all_reduce(g, plain, plain, COUNT, ML_FLOAT32, ML_MAX);
        REQUIRE(rc == ML_ERR_MISMATCH);
        ml_free(a);
        a = take(COUNT);
        ml_group_free(g);
    }
    sum(w, a, a, COUNT, 2);
    REQUIRE(ml_finalize() == 0);
    ml_free(a);
    free(plain);
}

/* Ranks wait, asleep, for a late rank. */
static void late(struct job *j, int rank)
{
    float *a = take(COUNT);
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    sum(w, a, a, COUNT, 1);
    for (unsigned i = 0; i < 3; i++) {
        if (rank == (int)i)
            job_be_busy(150);
        sum(w, a, a, COUNT, i);
    }
    REQUIRE(ml_finalize() == 0);
    ml_free(a);
}

static void test_faults(void **state)
{
    (void)state;
    kill_amid(&two);
    kill_amid(&four);
    job_do(&two, mismatched);
    job_do(&three, mismatched);
    job_do(&three, late);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),    cmocka_unit_test(test_types),
        cmocka_unit_test(test_turnover),  cmocka_unit_test(test_groups),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_mixed_memory),
        cmocka_unit_test(test_forbidden), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_forks),     cmocka_unit_test(test_locked),
        cmocka_unit_test(test_faults),
    };

    return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
