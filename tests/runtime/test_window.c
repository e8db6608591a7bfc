/* SPDX-License-Identifier: MIT */
/* test_window.c: windows: what each call does, over shared memory, TCP and both.
 * TEST_TIER=quick */
#include "common/clock.h"
#include "tests/runtime/test_job.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct job_config all_shm = {.size = 4};
static const struct job_config all_tcp = {.size = 4, .backend = "tcp", .local_net = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp"};

static void on_all(rank_fn *fn)
{
    job_do(&all_shm, fn);
    job_do(&all_tcp, fn);
    job_do(&mixed, fn);
}

static void calls(struct job *j, int rank)
{
    uint64_t old, mine = (uint64_t)rank + 1;
    unsigned char piece[100], back[100];
    int next = (rank + 1) % 4, last = (rank + 3) % 4;
    ml_group *g;
    ml_window *w;
    size_t size;
    uint64_t *part;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_window_create(g, NULL, 1000 + 8 * (size_t)rank, &w) == 0);
    part = ml_window_memory(w, rank, &size);
    REQUIRE(part && size == 1000 + 8 * (size_t)rank && !part[0]);
    REQUIRE(ml_barrier(g) == 0);
    ml_window_memory(w, next, &size);
    REQUIRE(size == 1000 + 8 * (size_t)next);

    /* Unaligned, and read back by its writer. */
    for (int i = 0; i < 100; i++)
        piece[i] = (unsigned char)(rank * 50 + i);
    REQUIRE(ml_put(w, piece, 77, next, 801) == 0);
    REQUIRE(ml_flush(w, next) == 0);
    REQUIRE(ml_get(w, back, 77, next, 801) == 0 && memcmp(back, piece, 77) == 0);

    /* A put's signal says that its bytes are there. */
    REQUIRE(ml_put_signal(w, &mine, sizeof(mine), next, 8, 0, 5) == 0);
    REQUIRE(ml_wait_signal(w, 0, 5, -1) == 0);
    REQUIRE(part[1] == (uint64_t)last + 1);
    REQUIRE(ml_wait_signal(w, 0, 6, 0) == ML_ERR_TIMEOUT);
    REQUIRE(ml_wait_signal(w, 0, 6, 10) == ML_ERR_TIMEOUT);
    REQUIRE_TEXT(ml_error(), "offset 0 did not reach 6 within 10 ms: it is 5");

    for (int i = 0; i < 10; i++)
        REQUIRE(ml_fetch_add(w, 0, 16, 2, NULL) == 0);
    REQUIRE(ml_barrier(g) == 0);
    REQUIRE(ml_fetch_add(w, 0, 16, 0, &old) == 0 && old == 80);
    REQUIRE(ml_compare_swap(w, 0, 24, 0, mine, &old) == 0 && old <= 4);
    if (old)
        REQUIRE(ml_compare_swap(w, 0, 24, old + 10, 77, &mine) == 0 && mine == old);
    REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_put(w, piece, 1, next, 0) == ML_ERR_STATE);
    REQUIRE(ml_finalize() == 0);
}

static void test_calls(void **state)
{
    (void)state;
    on_all(calls);
}

/* --- arguments and ends ----------------------------------------------------------------------- */

static void slips(struct job *j, int rank)
{
    unsigned char bytes[64] = {0};
    ml_window *w, *empty, *left;
    ml_request *request = (ml_request *)&w;
    ml_group *g, *copy;
    void *memory, *more;
    ml_pool *pool;
    size_t size;
    pid_t child;
    int status;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_window_create(NULL, NULL, 8, &w) == ML_ERR_ARGUMENT);
    REQUIRE(ml_window_create(g, NULL, 8, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_window_create(g, bytes, 8, &w) == ML_ERR_ARGUMENT);
    REQUIRE(ml_alloc(100, &memory) == 0);
    REQUIRE(ml_window_create(g, memory, 1 << 20, &w) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "one block of ml_alloc");
    REQUIRE(ml_window_create(g, (char *)memory + 4, 8, &w) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "8-byte aligned");

    /* The window outlives its group; one part is in the middle of a block, one is empty. */
    REQUIRE(ml_split(g, 0, 0, &copy) == 0);
    REQUIRE(ml_window_create(copy, (char *)memory + 8, rank == 1 ? 0 : 64, &w) == 0);
    ml_group_free(copy);
    REQUIRE(ml_window_memory(w, rank, &size) == (rank == 1 ? NULL : (char *)memory + 8) ||
            rank == 1);
    REQUIRE(ml_window_memory(w, 4, &size) == NULL && size == 0);
    for (int to = 0; to < 4; to++) {
        REQUIRE(ml_put(w, bytes, 16, to, 16 * (size_t)rank) == (to == 1 ? ML_ERR_ARGUMENT : 0));
        REQUIRE(ml_put(w, NULL, 0, to, to == 1 ? 0 : 64) == 0);
        REQUIRE(ml_put(w, bytes, 1, to, 64) == ML_ERR_ARGUMENT);
        REQUIRE(ml_put(w, bytes, SIZE_MAX, to, 8) == ML_ERR_ARGUMENT);
        REQUIRE(ml_get(w, bytes, 8, to, SIZE_MAX - 3) == ML_ERR_ARGUMENT);
        REQUIRE(ml_get(w, NULL, 8, to, 0) == ML_ERR_ARGUMENT);
        REQUIRE(ml_start_put(w, bytes, 65, to, 0, &request) == ML_ERR_ARGUMENT && !request);
        REQUIRE(ml_start_get(w, bytes, 65, to, 0, &request) == ML_ERR_ARGUMENT && !request);
        REQUIRE(ml_fetch_add(w, to, 60, 1, NULL) == ML_ERR_ARGUMENT);
        REQUIRE(ml_fetch_add(w, to, 4, 1, NULL) == ML_ERR_ARGUMENT);
        REQUIRE(ml_compare_swap(w, to, 64, 1, 2, NULL) == ML_ERR_ARGUMENT);
        REQUIRE(ml_put_signal(w, bytes, 1, to, 0, 64, 1) == ML_ERR_ARGUMENT);
    }
    REQUIRE(ml_put(w, bytes, 1, 4, 0) == ML_ERR_ARGUMENT);
    REQUIRE(ml_get(w, bytes, 1, -1, 0) == ML_ERR_ARGUMENT);
    REQUIRE(ml_flush(w, -1) == ML_ERR_ARGUMENT);
    REQUIRE(ml_flush(w, ML_ALL) == 0);
    REQUIRE(ml_put(NULL, bytes, 1, 0, 0) == ML_ERR_ARGUMENT);
    REQUIRE(ml_window_free(NULL) == 0);
    child = fork();
    if (child == 0)
        _exit(ml_put(w, bytes, 1, 0, 0) == ML_ERR_STATE && ml_window_free(w) == ML_ERR_STATE ? 0
                                                                                             : 1);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_window_free(w) == ML_ERR_STATE);
    REQUIRE(ml_window_memory(w, 0, &size) == NULL);
    ml_free(memory);

    /* Memory of a window that lives is not freed, nor given out again: peers may still write it. */
    REQUIRE(ml_alloc(100, &memory) == 0);
    REQUIRE(ml_window_create(g, (char *)memory + 8, 64, &w) == 0);
    ml_free(memory);
    REQUIRE_TEXT(ml_error(), "window's: free the window first");
    REQUIRE(ml_barrier(g) == 0 && ml_put(w, bytes, 64, (rank + 1) % 4, 0) == 0);
    REQUIRE(ml_alloc(100, &more) == 0 && more != memory);
    ml_free(more);
    REQUIRE(ml_window_free(w) == 0);
    ml_free(memory);
    REQUIRE(ml_pool_create(4096, 0, &pool) == 0 && ml_pool_alloc(pool, 64, &memory) == 0);
    REQUIRE(ml_window_create(g, memory, 64, &w) == 0);
    ml_pool_destroy(pool);
    REQUIRE_TEXT(ml_error(), "window's: free the window first");
    REQUIRE(ml_window_free(w) == 0);
    ml_pool_destroy(pool);

    REQUIRE(ml_window_create(g, NULL, 0, &empty) == 0);
    REQUIRE(ml_window_create(g, NULL, 64, &left) == 0);
    REQUIRE(ml_window_free(empty) == 0);
    REQUIRE(ml_put(left, bytes, 8, (rank + 1) % 4, 0) == 0);
    REQUIRE(ml_barrier(g) == 0);
    REQUIRE(ml_finalize() == 0);
    REQUIRE(ml_put(left, bytes, 8, 0, 0) == ML_ERR_STATE);
}

static void test_slips(void **state)
{
    (void)state;
    on_all(slips);
}

/* The handle of a window, or a group, that is gone is an error for long, whatever came after it. */
static void stale(struct job *j, int rank)
{
    ml_window *gone[3], *w;
    ml_group *g, *old, *young;
    uint64_t one = 1;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(ml_window_create(g, NULL, 8, &gone[i]) == 0 && ml_window_free(gone[i]) == 0);
    REQUIRE(ml_window_create(g, NULL, 8, &w) == 0);
    for (int i = 0; i < 3; i++) {
        REQUIRE(ml_put(gone[i], &one, 8, rank, 0) == ML_ERR_STATE);
        REQUIRE(ml_window_free(gone[i]) == ML_ERR_STATE);
    }
    REQUIRE(ml_put(w, &one, 8, rank, 0) == 0 && ml_window_free(w) == 0);
    REQUIRE(ml_split(g, 0, 0, &old) == 0);
    ml_group_free(old);
    REQUIRE(ml_split(g, 0, 0, &young) == 0);
    REQUIRE(ml_barrier(old) == ML_ERR_STATE && ml_barrier(young) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_stale(void **state)
{
    (void)state;
    job_do(&all_shm, stale);
    job_do(&all_tcp, stale);
}

/* So many descriptors this process can still open. */
static void leave_descriptors(int left)
{
    struct rlimit limit;
    int fds[64];

    REQUIRE(left < 64 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i <= left; i++)
        REQUIRE((fds[i] = dup(STDERR_FILENO)) >= 0);
    for (int i = 0; i <= left; i++)
        close(fds[i]);
    limit.rlim_cur = (rlim_t)fds[left];
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Creates a window while rank 1 may open `left` more descriptors; sees that all get the same. */
static int create_with(int left, ml_group *g, int rank, ml_window **w)
{
    struct rlimit all;
    int codes[4], rc;

    REQUIRE(getrlimit(RLIMIT_NOFILE, &all) == 0);
    if (rank == 1)
        leave_descriptors(left);
    rc = ml_window_create(g, NULL, 64, w);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &all) == 0);
    if (rc) {
        REQUIRE(rc == ML_ERR_SYSTEM);
        REQUIRE_TEXT(ml_error(), "rank 1 on host ");
        REQUIRE_TEXT(ml_error(), "Too many open files");
    }
    REQUIRE(ml_all_gather(g, &rc, codes, sizeof(rc)) == 0);
    for (int i = 0; i < 4; i++)
        REQUIRE(codes[i] == rc);
    return rc;
}

/* Whatever step of it rank 1 has no descriptor for: all ranks get the same error, with the cause,
 * and the parent is unharmed. How many are just enough depends on whether others sleep, as each
 * rank that rank 1 wakes takes one: so that is tried often. */
static void few_descriptors(struct job *j, int rank)
{
    enum { TIMES = 100 };
    char out[4] = {0}, in[4];
    int left = 0;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_all_to_all(g, out, in, 1) == 0); /* its links have their descriptors */
    while (create_with(left, g, rank, &w) != 0)
        left++;
    REQUIRE(left > 0 && ml_window_free(w) == 0);
    for (int i = 0; i < TIMES; i++)
        if (create_with(left, g, rank, &w) == 0)
            REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_few_descriptors(void **state)
{
    (void)state;
    on_all(few_descriptors);
}

/* --- little address space --------------------------------------------------------------------- */

enum { STEP = 256 * 1024, SPACE_MOST = 64 * 1024 * 1024 };

/* So many bytes more of address space this process can still take. */
static void leave_space(size_t left)
{
    struct rlimit limit;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    REQUIRE(f && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + left;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Whatever rank 1 has no space for, its memory or its thread's stack: all ranks get one error, with
 * the cause, and the parent is unharmed. */
static void little_space(struct job *j, int rank)
{
    struct rlimit all;
    int codes[4], rc = -1;
    size_t left = 0;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && getrlimit(RLIMIT_AS, &all) == 0);
    for (; rc && left < SPACE_MOST; left += STEP) {
        if (rank == 1)
            leave_space(left);
        rc = ml_window_create(g, NULL, STEP, &w);
        REQUIRE(setrlimit(RLIMIT_AS, &all) == 0);
        if (rc)
            REQUIRE_TEXT(ml_error(), "rank 1 on host ");
        REQUIRE(ml_all_gather(g, &rc, codes, sizeof(rc)) == 0);
        for (int i = 0; i < 4; i++)
            REQUIRE(codes[i] == rc);
    }
    REQUIRE(rc == 0 && left > STEP && ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_little_space(void **state)
{
    const char *sanitize = getenv("SANITIZE");

    (void)state;
    /* Neither qemu-user nor the sanitizers keep to such a limit; cmocka's skip() says "not ok". */
    if (getenv("MLAUNCH_TEST_EMULATED") || (sanitize && strcmp(sanitize, "no") != 0)) {
        print_message("# skipped: an address space has no limit here\n");
        return;
    }
    on_all(little_space);
}

static void alone(struct job *j, int rank)
{
    uint64_t old = 0;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    REQUIRE(ml_put_signal(w, &old, 8, rank, 8, 0, 3) == 0 && ml_wait_signal(w, 0, 3, -1) == 0);
    REQUIRE(ml_fetch_add(w, rank, 0, 1, &old) == 0 && old == 3);
    REQUIRE(ml_flush(w, ML_ALL) == 0 && ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_alone(void **state)
{
    static const struct job_config one = {.size = 1};

    (void)state;
    job_do(&one, alone);
}

/* --- many operations -------------------------------------------------------------------------- */

enum { AREA = 3000, PIECE = 700, OPERATIONS = 1500, FLIGHTS = 8 };

static int operations(void)
{
    return getenv("MLAUNCH_TEST_LONG") ? 84 * 1000 : OPERATIONS;
}

/* Rank `rank` alone writes area `rank` of each part, and knows what is in it. */
struct model {
    ml_window *window;
    unsigned char areas[4][AREA];
    int rank;
    unsigned seed;
    struct flight {
        ml_request *request;
        unsigned char bytes[PIECE], expected[PIECE];
        size_t size;
        bool is_get;
    } flights[FLIGHTS];
};

static unsigned draw(struct model *m, unsigned below)
{
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % below;
}

static void land(struct flight *f)
{
    REQUIRE(ml_wait(f->request) == 0);
    REQUIRE(!f->is_get || memcmp(f->bytes, f->expected, f->size) == 0);
    *f = (struct flight){0};
}

static void one_operation(struct model *m)
{
    int at = (int)draw(m, 4);
    size_t size = draw(m, 4) ? draw(m, PIECE) : draw(m, 40), offset = draw(m, AREA - PIECE);
    unsigned char *area = m->areas[at] + offset, bytes[PIECE];
    size_t place = (size_t)m->rank * AREA + offset;
    struct flight *f = &m->flights[draw(m, FLIGHTS)];

    switch (draw(m, 6)) {
    case 0:
        for (size_t i = 0; i < size; i++)
            area[i] = bytes[i] = (unsigned char)draw(m, 256);
        REQUIRE(ml_put(m->window, bytes, size, at, place) == 0);
        memset(bytes, 0xee, size);
        REQUIRE(ml_flush(m->window, draw(m, 2) ? at : ML_ALL) == 0);
        break;
    case 1:
        REQUIRE(ml_get(m->window, bytes, size, at, place) == 0);
        REQUIRE(memcmp(bytes, area, size) == 0);
        break;
    case 2: /* a get in flight while others go on */
        land(f);
        f->is_get = true;
        f->size = size;
        memcpy(f->expected, area, size);
        REQUIRE(ml_start_get(m->window, f->bytes, size, at, place, &f->request) == 0);
        land(f);
        break;
    case 3: /* several puts in flight, to areas of their own */
        land(f);
        f->size = size;
        for (size_t i = 0; i < size; i++)
            area[i] = f->bytes[i] = (unsigned char)draw(m, 256);
        REQUIRE(ml_start_put(m->window, f->bytes, size, at, place, &f->request) == 0);
        land(f);
        REQUIRE(ml_flush(m->window, at) == 0);
        break;
    default:
        REQUIRE(ml_fetch_add(m->window, at, 4 * AREA, 1, NULL) == 0);
        REQUIRE(ml_fetch_add(m->window, at, 4 * AREA + 8 * (1 + (size_t)m->rank), 1, NULL) == 0);
    }
}

static void many(struct job *j, int rank)
{
    static struct model m;
    uint64_t all = 0, one, sum = 0;
    const unsigned char *part;
    ml_group *g;

    (void)j;
    m.rank = rank;
    m.seed = (unsigned)rank * 7919 + 1;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_window_create(g, NULL, 4 * AREA + 64, &m.window) == 0);
    for (int i = 0; i < operations(); i++)
        one_operation(&m);
    for (int i = 0; i < 4; i++)
        REQUIRE(ml_put_signal(m.window, NULL, 0, i, 0, 4 * AREA + 40, 1) == 0);
    REQUIRE(ml_wait_signal(m.window, 4 * AREA + 40, 4, -1) == 0);
    part = ml_window_memory(m.window, rank, NULL);
    for (int i = 0; i < 4; i++) {
        unsigned char theirs[4][AREA];

        memcpy(theirs, m.areas, sizeof(theirs));
        REQUIRE(ml_broadcast(g, theirs, sizeof(theirs), i) == 0);
        REQUIRE(memcmp(part + (size_t)i * AREA, theirs[rank], AREA) == 0);
        REQUIRE(ml_fetch_add(m.window, rank, 4 * AREA + 8 * (1 + (size_t)i), 0, &one) == 0);
        sum += one;
    }
    REQUIRE(ml_fetch_add(m.window, rank, 4 * AREA, 0, &all) == 0 && all == sum && all > 0);
    REQUIRE(ml_window_free(m.window) == 0 && ml_finalize() == 0);
}

static void test_many(void **state)
{
    (void)state;
    on_all(many);
}

/* With a limit on the size of files ml_alloc's memory is in none, so no other process can map it:
 * even on one host, each part is served. */
static void limit_files(void)
{
    struct rlimit limit = {1 << 30, 1 << 30};

    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void unmapped_calls(struct job *j, int rank)
{
    limit_files();
    calls(j, rank);
}

static void unmapped_many(struct job *j, int rank)
{
    limit_files();
    many(j, rank);
}

static void test_unmapped(void **state)
{
    (void)state;
    job_do(&all_shm, unmapped_calls);
    job_do(&all_shm, unmapped_many);
}

/* --- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 40, SLICE = 3000 };

struct worker {
    ml_window *window;
    int rank, number;
};

static void *work(void *arg)
{
    const struct worker *me = arg;
    int next = (me->rank + 1) % 4;
    size_t place = 64 + (size_t)me->number * SLICE;
    unsigned char out[SLICE], back[SLICE];

    for (int i = 0; i < ROUNDS; i++) {
        memset(out, i + me->number, sizeof(out));
        REQUIRE(ml_put(me->window, out, sizeof(out), next, place) == 0);
        REQUIRE(ml_fetch_add(me->window, i % 4, 0, 1, NULL) == 0);
        REQUIRE(ml_flush(me->window, next) == 0);
        REQUIRE(ml_get(me->window, back, sizeof(back), next, place) == 0);
        REQUIRE(memcmp(out, back, sizeof(out)) == 0);
        REQUIRE(ml_put_signal(me->window, NULL, 0, next, 0, 8 + 8 * (size_t)me->number, 1) == 0);
        REQUIRE(ml_wait_signal(me->window, 8 + 8 * (size_t)me->number, (uint64_t)i + 1, -1) == 0);
    }
    return NULL;
}

static void threads(struct job *j, int rank)
{
    struct worker workers[THREADS];
    pthread_t ids[THREADS];
    ml_window *w;
    ml_group *g;
    uint64_t old;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    REQUIRE(ml_window_create(g, NULL, 64 + THREADS * SLICE, &w) == 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){w, rank, i};
        REQUIRE(pthread_create(&ids[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    REQUIRE(ml_barrier(g) == 0);
    REQUIRE(ml_fetch_add(w, rank, 0, 0, &old) == 0 && old == THREADS * ROUNDS);
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_threads(void **state)
{
    (void)state;
    on_all(threads);
}

/* --- much data, and a rank that computes ------------------------------------------------------ */

enum { MUCH = 6 * 1000 * 1000 + 3 };

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 31 + seed + (i >> 8));
}

static void much(struct job *j, int rank)
{
    int next = (rank + 1) % 4, last = (rank + 3) % 4;
    unsigned char *out = malloc(MUCH), *back = malloc(MUCH), *part;
    ml_request *requests[2];
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(out && back && ml_init(&g) == 0);
    REQUIRE(ml_window_create(g, NULL, MUCH + 16, &w) == 0);
    part = ml_window_memory(w, rank, NULL);
    fill(out, MUCH, (unsigned)rank);
    /* All at once, both ways. */
    REQUIRE(ml_put_signal(w, out, MUCH, next, 13, 0, 1) == 0);
    REQUIRE(ml_wait_signal(w, 0, 1, -1) == 0);
    fill(back, MUCH, (unsigned)last);
    REQUIRE(memcmp(part + 13, back, MUCH) == 0);
    REQUIRE(ml_barrier(g) == 0);
    REQUIRE(ml_start_get(w, back, MUCH, next, 13, &requests[0]) == 0);
    REQUIRE(ml_start_put(w, out, MUCH, next, 13, &requests[1]) == 0);
    REQUIRE(ml_wait(requests[1]) == 0 && ml_wait(requests[0]) == 0);
    REQUIRE(memcmp(out, back, MUCH) == 0);
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
    free(out);
    free(back);
}

static void test_much(void **state)
{
    (void)state;
    on_all(much);
}

/* More gets than a rank may ask another one for at once: the rest are sent as replies come. */
static void in_flight(struct job *j, int rank)
{
    enum { GETS = 100 };
    uint64_t numbers[GETS] = {0}, *part;
    ml_request *requests[GETS];
    int next = (rank + 1) % 4;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, sizeof(numbers), &w) == 0);
    part = ml_window_memory(w, rank, NULL);
    for (uint64_t i = 0; i < GETS; i++)
        part[i] = i * 4 + (uint64_t)rank;
    REQUIRE(ml_barrier(g) == 0);
    for (int i = 0; i < GETS; i++)
        REQUIRE(ml_start_get(w, &numbers[i], 8, next, 8 * (size_t)i, &requests[i]) == 0);
    for (int i = 0; i < GETS; i++)
        REQUIRE(ml_wait(requests[i]) == 0 && numbers[i] == (uint64_t)(i * 4 + next));
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_in_flight(void **state)
{
    (void)state;
    on_all(in_flight);
}

/* Rank 0 waits outside of the library while rank 1 uses its part. */
static void computing(struct job *j, int rank)
{
    uint64_t old = 0;
    ml_window *w;
    ml_group *g;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 1000, &w) == 0);
    if (rank == 1) {
        for (int i = 0; i < 100; i++) {
            REQUIRE(ml_fetch_add(w, 0, 0, 1, &old) == 0 && old == (uint64_t)i);
            REQUIRE(ml_get(w, &old, 8, 0, 0) == 0 && old == (uint64_t)i + 1);
        }
        REQUIRE(ml_put_signal(w, &old, 8, 0, 8, 16, 1) == 0 && ml_flush(w, 0) == 0);
    }
    job_meet(j);
    REQUIRE(rank || ml_wait_signal(w, 16, 1, 0) == 0);
    if (rank == 0)
        REQUIRE(((const uint64_t *)ml_window_memory(w, 0, NULL))[1] == 100);
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int ping_pipes[2][2]; /* to each of the two ranks */

static void pipe_wait(int rank)
{
    char byte;

    REQUIRE(read(ping_pipes[rank][0], &byte, 1) == 1);
}

/* Signals to and fro, as a program's handshake: no wait for a time to pass is in them, which would
 * be in each of them. How long a rank waits for a processor is seen from a byte through a pipe,
 * which goes to and fro in turns with them. */
static void ping(struct job *j, int rank)
{
    enum { TIMES = 2000, SLOWER = 20 };
    static int64_t took_ns[TIMES], pipe_ns[TIMES];
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    REQUIRE(ml_barrier(g) == 0);
    for (uint64_t i = 1; i <= TIMES && rank < 2; i++) {
        took_ns[i - 1] = -clock_ns();
        if (rank == 1)
            REQUIRE(ml_wait_signal(w, 0, i, -1) == 0);
        REQUIRE(ml_put_signal(w, &i, 8, 1 - rank, 8, 0, 1) == 0);
        if (rank == 0)
            REQUIRE(ml_wait_signal(w, 0, i, -1) == 0);
        took_ns[i - 1] += clock_ns();
        pipe_ns[i - 1] = -clock_ns();
        if (rank == 1)
            pipe_wait(rank);
        REQUIRE(write(ping_pipes[1 - rank][1], "", 1) == 1);
        if (rank == 0)
            pipe_wait(rank);
        pipe_ns[i - 1] += clock_ns();
    }
    qsort(took_ns, TIMES, sizeof(took_ns[0]), compare_ns);
    qsort(pipe_ns, TIMES, sizeof(pipe_ns[0]), compare_ns);
    REQUIRE(took_ns[TIMES / 10] <= SLOWER * pipe_ns[TIMES / 10]);
    REQUIRE(ml_window_free(w) == 0 && ml_finalize() == 0);
}

static void test_progress(void **state)
{
    (void)state;
    on_all(computing);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pipe(ping_pipes[i]), 0);
    on_all(ping);
    for (int i = 0; i < 2; i++) {
        close(ping_pipes[i][0]);
        close(ping_pipes[i][1]);
    }
}

/* --- nothing is left behind ------------------------------------------------------------------- */

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    while (dir && readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Counts mappings of the library's shared memory, because the C library's own come and go. */
static int mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (f && fgets(line, sizeof(line), f))
        n += strstr(line, "memfd:mlaunch") || strstr(line, "/dev/shm/");
    fclose(f);
    return n;
}

static void again(struct job *j, int rank)
{
    int times = getenv("MLAUNCH_TEST_LONG") ? 1000 : 40, fds = 0, maps = 0, threads_before = 0;
    uint64_t one = 1;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0);
    for (int i = 0; i < times; i++) {
        REQUIRE(ml_window_create(g, NULL, 5000, &w) == 0);
        REQUIRE(ml_put_signal(w, &one, 8, (rank + 1) % 4, 64, 0, 1) == 0);
        REQUIRE(ml_wait_signal(w, 0, 1, -1) == 0);
        REQUIRE(ml_window_free(w) == 0);
        if (i == 10) {
            fds = entries("/proc/self/fd");
            maps = mappings();
            threads_before = entries("/proc/self/task");
        }
    }
    REQUIRE(entries("/proc/self/fd") == fds);
    REQUIRE(entries("/proc/self/task") == threads_before);
    REQUIRE(mappings() == maps);
    REQUIRE(ml_finalize() == 0);
}

static void test_again(void **state)
{
    (void)state;
    on_all(again);
}

/* How often the windows' threads of this process have gone to sleep so far. */
static unsigned long sleeps(void)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    unsigned long all = 0, n;

    while (dir && (entry = readdir(dir))) {
        char path[300], line[200];
        bool is_ours = false;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        f = fopen(path, "r");
        while (f && fgets(line, sizeof(line), f)) {
            is_ours |= strcmp(line, "Name:\tmlaunch\n") == 0;
            if (is_ours && sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
                all += n;
        }
        if (f)
            fclose(f);
    }
    closedir(dir);
    return all;
}

/* A window that is made or freed doesn't wake the threads of all others. */
static void crowd(struct job *j, int rank)
{
    enum { WINDOWS = 100, MORE = 20 };
    unsigned long before;
    ml_window *w;
    ml_group *g;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&g) == 0);
    for (int i = 0; i < WINDOWS; i++)
        REQUIRE(ml_window_create(g, NULL, 8, &w) == 0);
    before = sleeps();
    for (int i = 0; i < MORE; i++)
        REQUIRE(ml_window_create(g, NULL, 8, &w) == 0);
    REQUIRE(sleeps() - before < (unsigned long)WINDOWS * MORE);
    REQUIRE(ml_finalize() == 0);
}

static void test_crowd(void **state)
{
    (void)state;
    job_do(&all_shm, crowd);
}

/* --- death ------------------------------------------------------------------------------------ */

enum { NOTICED_MS = 2000 };

static enum kind { PUT, GET, ADD, SIGNAL, FREE, KINDS } dying_in;

static int call_once(ml_window *w, int rank)
{
    unsigned char bytes[2000] = {0};
    int rc;

    switch (dying_in) {
    case PUT:
        rc = ml_put(w, bytes, sizeof(bytes), 2, 64);
        return rc ? rc : ml_flush(w, ML_ALL);
    case GET:
        return ml_get(w, bytes, sizeof(bytes), 2, 64);
    case ADD:
        return ml_fetch_add(w, 2, 0, 1, NULL);
    case SIGNAL:
        return ml_wait_signal(w, 8, 1, -1);
    default:
        return rank == 2 ? 0 : ml_window_free(w);
    }
}

/* What another thread may just be writing: the race is the subject. */
__attribute__((no_sanitize("thread"))) static unsigned char peek(const volatile unsigned char *at)
{
    return *at;
}

/* Short puts are sent together: before a flush, a signal and a long put, and if nothing follows. */
static void short_puts(struct job *j, int rank)
{
    enum { SPAN = 60000, MOST = 300 };
    int next = (rank + 1) % 4, last = (rank + 3) % 4;
    volatile unsigned char *part;
    unsigned char piece[MOST];
    size_t size, at = 8;
    ml_group *g;
    ml_window *w;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, SPAN, &w) == 0);
    part = ml_window_memory(w, rank, NULL);
    for (size_t i = 0; size = 1 + i * 7 % MOST, at + size < SPAN; i++, at += size) {
        memset(piece, (int)i % 50 + 1 + rank * 50, size);
        REQUIRE(ml_put(w, piece, size, next, at) == 0);
        if (i % 97 == 0)
            REQUIRE(ml_flush(w, i % 2 ? next : ML_ALL) == 0);
    }
    REQUIRE(ml_put_signal(w, NULL, 0, next, 0, 0, 1) == 0);
    REQUIRE(ml_wait_signal(w, 0, 1, -1) == 0);
    at = 8;
    for (size_t i = 0; size = 1 + i * 7 % MOST, at + size < SPAN; i++, at += size)
        for (size_t k = 0; k < size; k++)
            REQUIRE(part[at + k] == i % 50 + 1 + (size_t)last * 50);
    REQUIRE(ml_barrier(g) == 0);
    piece[0] = 255;
    REQUIRE(ml_put(w, piece, 1, next, SPAN - 1) == 0);
    while (peek(part + SPAN - 1) != 255)
        job_be_busy(1);
    REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_short_puts(void **state)
{
    (void)state;
    on_all(short_puts);
}

/* Short gets that wait to be sent with others go even if no call follows. */
static void short_gets(struct job *j, int rank)
{
    enum { GETS = 3 };
    volatile unsigned char bytes[GETS] = {0};
    ml_request *requests[GETS];
    int next = (rank + 1) % 4;
    ml_window *w;
    ml_group *g;

    (void)j;
    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 64, &w) == 0);
    memset(ml_window_memory(w, rank, NULL), rank + 1, 64);
    REQUIRE(ml_barrier(g) == 0);
    for (int i = 0; i < GETS; i++)
        REQUIRE(ml_start_get(w, (void *)&bytes[i], 1, next, (size_t)i, &requests[i]) == 0);
    for (int i = GETS - 1; i >= 0; i--)
        while (peek(&bytes[i]) != next + 1)
            job_be_busy(1);
    for (int i = 0; i < GETS; i++)
        REQUIRE(ml_wait(requests[i]) == 0);
    REQUIRE(ml_window_free(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_short_gets(void **state)
{
    (void)state;
    on_all(short_gets);
}

/* Rank 2 is killed while all others are in such calls, for which it makes none. */
static void dying(struct job *j, int rank)
{
    int64_t begin;
    ml_window *w, *other;
    ml_group *g, *pair;
    int rc = 0;

    REQUIRE(ml_init(&g) == 0 && ml_window_create(g, NULL, 4000, &w) == 0);
    REQUIRE(ml_split(g, rank == 2 ? -1 : 0, 0, &pair) == 0);
    if (rank != 2)
        REQUIRE(ml_window_create(pair, NULL, 64, &other) == 0);
    REQUIRE(ml_barrier(g) == 0);
    job_meet(j);
    begin = job_now_ms();
    if (rank == 2) {
        job_be_busy(50);
        raise(SIGKILL);
    }
    while (!rc)
        rc = call_once(w, rank);
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 2");
    REQUIRE_WITHIN(begin, NOTICED_MS);
    if (dying_in != FREE) {
        REQUIRE(ml_put(w, &rc, sizeof(rc), rank, 0) == ML_ERR_PEER);
        REQUIRE(ml_window_free(w) == ML_ERR_PEER);
    }
    REQUIRE(ml_put(w, &rc, sizeof(rc), rank, 0) == ML_ERR_STATE);
    /* A window of those that live is not touched. */
    REQUIRE(ml_put_signal(other, NULL, 0, (ml_rank(pair) + 1) % 3, 0, 0, 1) == 0);
    REQUIRE(ml_wait_signal(other, 0, 1, -1) == 0);
    REQUIRE(ml_window_free(other) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void kill_one(const struct job_config *config)
{
    struct job j;

    job_open(&j, config);
    for (int i = 0; i < 4; i++)
        job_spawn(&j, i, dying);
    assert_int_equal(job_wait(&j, 2), SIGKILL);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

static void test_death(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        dying_in = (enum kind)i;
        kill_one(&all_shm);
        kill_one(&all_tcp);
        kill_one(&mixed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_stale),        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_little_space), cmocka_unit_test(test_alone),
        cmocka_unit_test(test_many),         cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_much),
        cmocka_unit_test(test_progress),     cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_again),        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_short_puts),   cmocka_unit_test(test_short_gets),
        cmocka_unit_test(test_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
