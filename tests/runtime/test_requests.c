/* SPDX-License-Identifier: MIT */
/* test_requests.c: calls that are started: progress without calls, order, failures, the end.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { NOTICED_MS = 1000 };

static const struct job_config shm_pair = {.size = 2};
static const struct job_config tcp_pair = {.size = 2, .backend = "tcp", .local_net = true};
static const struct job_config shm_four = {.size = 4};
static const struct job_config tcp_four = {.size = 4, .backend = "tcp", .local_net = true};
static const struct job_config mixed = {.size = 4, .hosts = 2, .backend = "tcp"};
static const struct job_config *const pairs[] = {&shm_pair, &tcp_pair};
static const struct job_config *const fours[] = {&shm_four, &tcp_four, &mixed};

/* A way for ranks to tell each other something without the library. */
static int told[2];

static void tell(void)
{
    REQUIRE(write(told[1], "", 1) == 1);
}

static void hear(void)
{
    char byte;

    REQUIRE(read(told[0], &byte, 1) == 1);
}

static void fill(int64_t *v, size_t count, int64_t seed)
{
    for (size_t i = 0; i < count; i++)
        v[i] = seed + (int64_t)i;
}

/* Checks what fill() made, summed over `times` buffers whose seeds add up to `sum`. */
static void check(const int64_t *v, size_t count, int64_t sum, int64_t times)
{
    for (size_t i = 0; i < count; i++)
        REQUIRE(v[i] == sum + times * (int64_t)i);
}

/* How many threads of the library this process has. */
static int threads_of_ours(void)
{
    char path[64], name[32];
    const struct dirent *e;
    int n = 0;
    DIR *d = opendir("/proc/self/task");

    REQUIRE(d);
    while ((e = readdir(d))) {
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", e->d_name);
        f = fopen(path, "r");
        n += f && fgets(name, sizeof(name), f) && strcmp(name, "mlaunch\n") == 0;
        if (f)
            fclose(f);
    }
    closedir(d);
    return n;
}

/* --- overlap -----------------------------------------------------------------------------------
 */

/* Rank 0 starts a call and then makes no call until the others have the whole result: only its
 * thread can have done rank 0's part. */
static void overlap(struct job *j, int rank)
{
    const size_t count = (64 << 20) / sizeof(int64_t);
    int64_t *v = malloc(count * sizeof(*v));
    int n = j->config.size;
    ml_request *r;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    fill(v, count, rank);
    REQUIRE(ml_barrier(w) == 0 && threads_of_ours() == 0);
    REQUIRE(ml_start_all_reduce(w, v, v, count, ML_INT64, ML_SUM, &r) == 0);
    REQUIRE(threads_of_ours() == 1);
    if (rank == 0) {
        for (int i = 1; i < n; i++)
            hear();
        REQUIRE(ml_wait(r) == 0);
    } else {
        REQUIRE(ml_wait(r) == 0);
        tell();
    }
    check(v, count, n * (n - 1) / 2, n);
    REQUIRE(ml_finalize() == 0);
    while (threads_of_ours() > 0) /* a joined thread may be visible for a moment longer */
        sched_yield();
    free(v);
}

static void test_overlap(void **state)
{
    const struct job_config two_hosts = {.size = 3, .hosts = 2, .backend = "tcp"};

    (void)state;
    job_do(&shm_pair, overlap);
    job_do(&tcp_pair, overlap);
    job_do(&two_hosts, overlap);
}

/* --- messages in flight together ---------------------------------------------------------------
 */

enum { LONG = 3 << 20 };

/* All ranks receive before they send, in all four forms. */
static void crossing(struct job *j, int rank)
{
    char *out = malloc(LONG), *in = malloc(LONG);
    int other = 1 - rank;
    ml_request *r, *s;
    ml_group *w;

    (void)j;
    memset(out, 'a' + rank, LONG);
    REQUIRE(ml_init(&w) == 0);
    for (int form = 0; form < 4; form++) {
        memset(in, 0, LONG);
        if (form < 2)
            REQUIRE(ml_start_recv(w, in, LONG, other, &r) == 0);
        else
            REQUIRE(ml_start_send(w, out, LONG, other, &r) == 0);
        if (form == 0)
            REQUIRE(ml_start_send(w, out, LONG, other, &s) == 0 && ml_wait(s) == 0);
        else if (form == 1)
            REQUIRE(ml_send(w, out, LONG, other) == 0);
        else if (form == 2)
            REQUIRE(ml_recv(w, in, LONG, other) == 0);
        else
            REQUIRE(ml_start_recv(w, in, LONG, other, &s) == 0 && ml_wait(s) == 0);
        REQUIRE(ml_wait(r) == 0);
        REQUIRE(in[0] == 'a' + other && memcmp(in, in + 1, LONG - 1) == 0);
    }
    /* In place: what arrives doesn't overwrite what is sent. */
    REQUIRE(ml_start_sendrecv(w, out, LONG, other, out, LONG, other, &r) == 0);
    REQUIRE(ml_wait(r) == 0);
    REQUIRE(memcmp(out, in, LONG) == 0);
    REQUIRE(ml_finalize() == 0);
    free(out);
    free(in);
}

/* Rank 0 waits for rank 1 first; but rank 1 sends only when rank 0 has the message from rank 2,
 * whose receive rank 0 starts last, while the first one is under way and asleep. */
static void other_order(struct job *j, int rank)
{
    char a[100], *b = malloc(LONG);
    ml_request *first, *second;
    ml_group *w;

    (void)j;
    memset(a, rank, sizeof(a));
    memset(b, rank, LONG);
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 5; i++) {
        if (rank == 0) {
            REQUIRE(ml_start_recv(w, a, sizeof(a), 1, &first) == 0);
            job_be_busy(i % 2);
            REQUIRE(ml_start_recv(w, b, LONG, 2, &second) == 0);
            REQUIRE(ml_wait(second) == 0);
            REQUIRE(b[0] == 2 && b[LONG - 1] == 2);
            REQUIRE(ml_send(w, b, 10, 1) == 0);
            REQUIRE(ml_wait(first) == 0);
            REQUIRE(a[0] == 1 && a[99] == 1);
        } else if (rank == 1) {
            REQUIRE(ml_recv(w, b, 10, 0) == 0);
            REQUIRE(ml_send(w, a, sizeof(a), 0) == 0);
        } else if (rank == 2) {
            REQUIRE(ml_send(w, b, LONG, 0) == 0);
        }
    }
    REQUIRE(ml_finalize() == 0);
    free(b);
}

/* Messages between two ranks in one direction arrive in order, whichever is waited for first. */
static void many(struct job *j, int rank)
{
    enum { MANY = 300 };
    int64_t v[MANY][40];
    ml_request *r[MANY];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < MANY; i++) {
        size_t count = (size_t)(i % 40) + 1;

        fill(v[i], count, rank ? -1 : i);
        if (rank == 0)
            REQUIRE(ml_start_send(w, v[i], count * 8, 1, &r[i]) == 0);
        else
            REQUIRE(ml_start_recv(w, v[i], count * 8, 0, &r[i]) == 0);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        int done = 0;

        while (i % 3 == 0 && !done)
            REQUIRE(ml_test(r[i], &done) == 0);
        REQUIRE(ml_wait(r[i]) == 0);
        check(v[i], (size_t)(i % 40) + 1, i, 1);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_messages(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        job_do(pairs[i], crossing);
        job_do(pairs[i], many);
    }
    for (int i = 0; i < 3; i++)
        job_do(fours[i], other_order);
}

static void self(struct job *j, int rank)
{
    char a[10] = "123456789", b[10] = "";
    ml_request *r, *s;
    ml_group *w;
    int done = 1;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_start_recv(w, b, sizeof(b), rank, &r) == 0);
    REQUIRE(ml_test(r, &done) == 0 && done == 0);
    REQUIRE(ml_recv(w, b, 1, rank) == ML_ERR_ARGUMENT);
    REQUIRE(ml_start_send(w, a, sizeof(a), rank, &s) == 0);
    REQUIRE(ml_wait(r) == 0 && ml_wait(s) == 0);
    REQUIRE(strcmp(a, b) == 0);
    REQUIRE(ml_start_send(w, a, 5, rank, &s) == 0);
    REQUIRE(ml_recv(w, b + 1, 5, rank) == 0);
    REQUIRE(ml_wait(s) == 0 && memcmp(b + 1, a, 5) == 0);
    REQUIRE(ml_start_sendrecv(w, a, 5, ML_NOBODY, b, 5, ML_NOBODY, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(ml_start_barrier(w, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_self(void **state)
{
    const struct job_config one = {.size = 1};

    (void)state;
    job_do(&one, self);
}

/* --- order -------------------------------------------------------------------------------------
 */

/* Buckets one after the other, with blocking calls among them, on two groups at the same time. */
static void buckets(struct job *j, int rank)
{
    enum { BUCKETS = 20 };
    const size_t count = 5000;
    int64_t *v = malloc(BUCKETS * count * sizeof(*v)), one = rank, sum = 0;
    int n = j->config.size;
    ml_request *r[BUCKETS], *s;
    ml_group *w, *mine;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < BUCKETS / 2; i++) {
        fill(v + i * count, count, rank);
        REQUIRE(ml_start_all_reduce(w, v + i * count, v + i * count, count - i, ML_INT64, ML_SUM,
                                    &r[i]) == 0);
    }
    REQUIRE(ml_split(w, rank % 2, 0, &mine) == 0); /* carried out after them */
    check(v, count - 9, n * (n - 1) / 2, n);
    for (int i = BUCKETS / 2; i < BUCKETS; i++) {
        fill(v + i * count, count, rank);
        REQUIRE(ml_start_all_reduce(i % 2 ? w : mine, v + i * count, v + i * count, count, ML_INT64,
                                    ML_SUM, &r[i]) == 0);
    }
    REQUIRE(ml_start_broadcast(w, &sum, sizeof(sum), 0, &s) == 0);
    REQUIRE(ml_all_reduce(w, &one, &sum, 1, ML_INT64, ML_SUM) == 0);
    REQUIRE(sum == n * (n - 1) / 2);
    for (int i = BUCKETS - 1; i >= 0; i--) {
        bool is_mine = i >= BUCKETS / 2 && i % 2 == 0;
        int ranks = is_mine ? n / 2 : n;

        REQUIRE(ml_wait(r[i]) == 0);
        check(v + i * count, count - (i < BUCKETS / 2 ? (size_t)i : 0),
              is_mine ? (rank % 2 ? 4 : 2) : n * (n - 1) / 2, ranks);
    }
    REQUIRE(ml_wait(s) == 0);
    REQUIRE(ml_barrier(mine) == 0);
    ml_group_free(mine);
    REQUIRE(ml_finalize() == 0);
    free(v);
}

/* Some ranks make the blocking call, others start it: it is the same call. */
static void both_forms(struct job *j, int rank)
{
    int64_t v[1000], sum[1000];
    int n = j->config.size;
    ml_request *r;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 50; i++) {
        size_t count = i % 2 ? 1000 : 1;

        fill(v, count, rank + i);
        if ((rank + i) % 2) {
            REQUIRE(ml_all_reduce(w, v, sum, count, ML_INT64, ML_SUM) == 0);
        } else {
            REQUIRE(ml_start_all_reduce(w, v, sum, count, ML_INT64, ML_SUM, &r) == 0);
            REQUIRE(ml_wait(r) == 0);
        }
        check(sum, count, n * (n - 1) / 2 + n * i, n);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_order(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        job_do(fours[i], buckets);
        job_do(fours[i], both_forms);
    }
}

/* Each started call gives what the blocking form gives; invalid arguments are refused at once. */
static void every_call(struct job *j, int rank)
{
    char in[16], out[64], v[16];
    int n = j->config.size;
    ml_request *r = NULL;
    ml_group *w;
    int done = 0;

    REQUIRE(ml_init(&w) == 0);
    memset(in, rank, sizeof(in));
    REQUIRE(ml_start_reduce_scatter(w, in, v, 4, ML_UINT8, ML_SUM, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(v[0] == 6 && v[3] == 6);
    REQUIRE(ml_start_reduce(w, in, v, 16, ML_UINT8, ML_MAX, 1, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(rank != 1 || v[15] == 3);
    REQUIRE(ml_start_all_gather(w, in, out, 16, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(out[0] == 0 && out[63] == 3);
    REQUIRE(ml_start_all_to_all(w, out, out, 16, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(out[0] == rank && out[63] == rank);
    memset(v, rank, sizeof(v));
    REQUIRE(ml_start_broadcast(w, v, 16, 2, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(v[0] == 2 && v[15] == 2);
    REQUIRE(ml_start_gather(w, in, rank == 3 ? out : NULL, 16, 3, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(rank != 3 || (out[0] == 0 && out[63] == 3));
    REQUIRE(ml_start_scatter(w, rank == 3 ? out : NULL, v, 16, 3, &r) == 0 && ml_wait(r) == 0);
    REQUIRE(v[0] == rank && v[15] == rank);

    REQUIRE(ml_start_broadcast(w, v, 16, n, &r) == ML_ERR_ARGUMENT && r == NULL);
    REQUIRE_TEXT(ml_error(), "root is 4");
    REQUIRE(ml_start_send(w, NULL, 1, 0, &r) == ML_ERR_ARGUMENT && r == NULL);
    REQUIRE(ml_start_barrier(NULL, &r) == ML_ERR_ARGUMENT && r == NULL);
    REQUIRE(ml_start_barrier(w, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_wait(NULL) == 0 && ml_test(NULL, &done) == 0 && done == 1);
    REQUIRE(ml_start_barrier(w, &r) == 0);
    REQUIRE(ml_test(r, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_wait(r) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_every_call(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        job_do(fours[i], every_call);
}

/* --- failures ----------------------------------------------------------------------------------
 */

/* Rank 2 dies: everything that was started on the group ends with that error, whichever rank it was
 * with. */
static void bereaved(struct job *j, int rank)
{
    const size_t size = 8 << 20;
    char *a = calloc(1, size), *b = calloc(1, size), *c = calloc(1, size);
    ml_request *r[4];
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
    REQUIRE(ml_start_recv(w, a, size, 2, &r[0]) == 0);
    REQUIRE(ml_start_send(w, b, size, 2, &r[1]) == 0);
    REQUIRE(ml_start_all_reduce(w, c, c, size, ML_UINT8, ML_SUM, &r[2]) == 0);
    REQUIRE(ml_start_recv(w, c, 1, rank == 3 ? 0 : 3, &r[3]) == 0);
    for (int i = 0; i < 4; i++) {
        int k = (i + rank) % 4, done = 0;

        while (i == 1 && !done)
            REQUIRE(ml_test(r[k], &done) == (done ? ML_ERR_PEER : 0));
        REQUIRE(ml_wait(r[k]) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "rank 2");
    }
    REQUIRE_WITHIN(begin, 50 + NOTICED_MS);
    REQUIRE(ml_start_barrier(w, &r[0]) == ML_ERR_PEER && r[0] == NULL);
    REQUIRE(ml_barrier(w) == ML_ERR_PEER);
    REQUIRE(ml_finalize() == 0);
    free(a);
    free(b);
    free(c);
}

static void test_death(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct job j;

        job_open(&j, fours[i]);
        for (int rank = 0; rank < 4; rank++)
            job_spawn(&j, rank, bereaved);
        assert_int_equal(job_wait(&j, 2), SIGKILL);
        for (int rank = 0; rank < 4; rank++)
            if (rank != 2)
                assert_int_equal(job_wait(&j, rank), 0);
        job_close(&j);
    }
}

static void other_count(struct job *j, int rank)
{
    float v[8] = {0};
    ml_request *r, *s;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    REQUIRE(ml_start_all_reduce(w, v, v, rank == 3 ? 7 : 8, ML_FLOAT32, ML_SUM, &r) == 0);
    if (ml_start_barrier(w, &s) == 0)
        REQUIRE(ml_wait(s) == ML_ERR_MISMATCH);
    REQUIRE(ml_wait(r) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "all_reduce of 7 float32 (sum)");
    REQUIRE_TEXT(ml_error(), "all_reduce of 8 float32 (sum)");
    REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    REQUIRE(ml_finalize() == 0);
}

/* A receive is started where the others make a collective call; also if no thread waits for it. */
static void message_and_barrier(struct job *j, int rank)
{
    char v[8];
    ml_request *r = NULL;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank == 1)
        REQUIRE(ml_start_recv(w, v, 3, 0, &r) == 0);
    else
        REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    REQUIRE(rank != 1 || ml_wait(r) == ML_ERR_MISMATCH);
    REQUIRE_TEXT(ml_error(), "message of 3 bytes");
    REQUIRE_TEXT(ml_error(), "barrier");
    REQUIRE(ml_finalize() == 0);
}

static void test_mismatch(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        job_do(fours[i], other_count);
    job_do(&shm_four, message_and_barrier);
}

/* --- waiting -----------------------------------------------------------------------------------
 */

/* A receive that no thread waits for is no stall and costs nothing; once a thread waits for it, it
 * is one. */
static void patient(struct job *j, int rank)
{
    char v = 0;
    ml_request *r, *done;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 0) {
        int64_t begin = job_processor_ms();

        REQUIRE(ml_start_recv(w, &v, 1, 1, &r) == 0);
        hear();
        REQUIRE(job_processor_ms() - begin < 100);
        REQUIRE(j->seen->stalls == 0);
        REQUIRE(ml_wait(r) == 0 && v == 'x');
        /* Finished calls leave a thread that sleeps. */
        REQUIRE(ml_start_barrier(w, &done) == 0 && ml_wait(done) == 0);
        begin = job_processor_ms();
        hear();
        REQUIRE(job_processor_ms() - begin < 50);
    } else {
        job_be_busy(2600); /* longer than the notice takes, and then the stall */
        tell();
        while (j->seen->stalls == 0)
            sched_yield();
        REQUIRE(ml_send(w, "x", 1, 0) == 0);
        REQUIRE(ml_barrier(w) == 0);
        job_be_busy(200);
        tell();
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_patience(void **state)
{
    struct job_config config = {.size = 2, .stall_ms = 1200};
    struct job j;

    (void)state;
    job_open(&j, &config);
    job_run(&j, patient);
    assert_int_equal(j.seen->stalls, 1);
    assert_non_null(strstr(j.seen->stall, "in recv for rank 1"));
    job_close(&j);
}

static void *wait_for_it(void *request)
{
    return (void *)(intptr_t)(ml_wait(request) ? ml_error()[0] : 0);
}

/* Another thread waits, while this one starts more calls. */
static void threads(struct job *j, int rank)
{
    enum { THREADS = 8 };
    int64_t v[THREADS][100];
    pthread_t t[THREADS];
    int n = j->config.size;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < THREADS; i++) {
        ml_request *r;

        fill(v[i], 100, rank);
        REQUIRE(ml_start_all_reduce(w, v[i], v[i], 100, ML_INT64, ML_SUM, &r) == 0);
        REQUIRE(pthread_create(&t[i], NULL, wait_for_it, r) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;

        REQUIRE(pthread_join(t[i], &result) == 0 && !result);
        check(v[i], 100, n * (n - 1) / 2, n);
    }
    REQUIRE(ml_finalize() == 0);
}

/* The program's signals go to its own threads. */
static pthread_t main_thread;
static volatile sig_atomic_t strangers;

static void on_signal(int number)
{
    (void)number;
    if (!pthread_equal(pthread_self(), main_thread))
        strangers = 1;
}

static void signalled(struct job *j, int rank)
{
    struct sigaction action = {.sa_handler = on_signal};
    int64_t v[1000];
    int n = j->config.size;
    ml_group *w;

    main_thread = pthread_self();
    REQUIRE(ml_init(&w) == 0);
    sigaction(SIGALRM, &action, NULL);
    ualarm(1000, 500);
    for (int i = 0; i < 200; i++) {
        ml_request *r;

        fill(v, 1000, rank);
        REQUIRE(ml_start_all_reduce(w, v, v, 1000, ML_INT64, ML_SUM, &r) == 0);
        if (rank == i % n)
            job_be_busy(1);
        REQUIRE(ml_wait(r) == 0);
        check(v, 1000, n * (n - 1) / 2, n);
    }
    ualarm(0, 0);
    REQUIRE(!strangers);
    REQUIRE(ml_finalize() == 0);
}

static void test_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        job_do(fours[i], threads);
        job_do(fours[i], signalled);
    }
}

/* --- the end -----------------------------------------------------------------------------------
 */

/* A rank that leaves does its part first; its requests must still be waited for. */
static void leave_early(struct job *j, int rank)
{
    const size_t count = 300000;
    int64_t *v = malloc(count * sizeof(*v)), *u = malloc(count * sizeof(*u));
    int n = j->config.size;
    ml_request *r, *s;
    ml_group *w, *twin;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &twin) == 0);
    fill(v, count, rank);
    fill(u, count, rank);
    REQUIRE(ml_start_all_reduce(twin, u, u, count, ML_INT64, ML_SUM, &s) == 0);
    if (rank == 1)
        ml_group_free(twin);
    REQUIRE(ml_start_all_reduce(w, v, v, count, ML_INT64, ML_SUM, &r) == 0);
    if (rank % 2)
        REQUIRE(ml_finalize() == 0);
    REQUIRE(ml_wait(r) == 0);
    REQUIRE(ml_wait(s) == 0);
    check(v, count, n * (n - 1) / 2, n);
    check(u, count, n * (n - 1) / 2, n);
    REQUIRE(rank % 2 || ml_finalize() == 0);
    free(v);
    free(u);
}

/* A receive that never matches ends when the peer has left. */
static void never_sent(struct job *j, int rank)
{
    char v;
    ml_request *r;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        REQUIRE(ml_start_recv(w, &v, 1, 1, &r) == 0);
    REQUIRE(ml_finalize() == 0);
    if (rank == 0) {
        REQUIRE(ml_wait(r) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "rank 1 has left");
    }
}

static void test_finalize(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        job_do(fours[i], leave_early);
    for (int i = 0; i < 2; i++)
        job_do(pairs[i], never_sent);
}

/* A forked child gets an error, and its parent doesn't notice. */
static void forking(struct job *j, int rank)
{
    char v = (char)rank, got = 9;
    ml_request *r, *more;
    ml_group *w;
    int status, done;
    pid_t child;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_start_recv(w, &got, 1, 1 - rank, &r) == 0);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        REQUIRE(ml_wait(r) == ML_ERR_STATE);
        REQUIRE_TEXT(ml_error(), "forked child");
        REQUIRE(ml_test(r, &done) == ML_ERR_STATE && !done);
        REQUIRE(ml_start_barrier(w, &more) == ML_ERR_STATE && !more);
        ml_group_free(w);
        REQUIRE(ml_finalize() == ML_ERR_STATE);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(ml_send(w, &v, 1, 1 - rank) == 0);
    REQUIRE(ml_wait(r) == 0 && got == 1 - rank);
    REQUIRE(ml_finalize() == 0);
}

static void test_fork(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        job_do(pairs[i], forking);
}

/* Neither ml_abort nor the end of the program waits for what was started. */
static void aborting(struct job *j, int rank)
{
    char v;
    ml_request *r, *s;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_start_recv(w, &v, 1, (rank + 1) % 3, &r) == 0);
    REQUIRE(ml_start_barrier(w, &s) == 0);
    if (rank == 1)
        ml_abort(7, "no more to do");
    if (rank == 2)
        exit(0);
    REQUIRE(ml_wait(s) == ML_ERR_PEER);
    REQUIRE(ml_wait(r) == ML_ERR_PEER);
    REQUIRE(ml_finalize() == 0);
}

static void test_abort(void **state)
{
    const struct job_config three = {.size = 3};
    struct job j;
    int status;

    (void)state;
    job_open(&j, &three);
    for (int rank = 0; rank < 3; rank++)
        job_spawn(&j, rank, aborting);
    status = job_wait(&j, 1);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(job_wait(&j, 2), 0);
    assert_int_equal(job_wait(&j, 0), 0);
    job_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlap),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_self),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_every_call), cmocka_unit_test(test_death),
        cmocka_unit_test(test_mismatch),   cmocka_unit_test(test_patience),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_finalize),
        cmocka_unit_test(test_fork),       cmocka_unit_test(test_abort),
    };

    if (pipe(told) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
