/* SPDX-License-Identifier: MIT */
/* test_tags.c: messages with tags over every kind of link: which receive gets which message, what
 * waits for what, and how it ends when a peer dies, leaves or makes another call.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include "common/failure_times.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { LONG = 300000, ROUNDS = 300, TAGS = 5 };

static const struct job_config configs[] = {
    {.size = 3},
    {.size = 3, .backend = "tcp", .local_net = true},
    {.size = 3, .backend = "tcp", .local_net = true, .secure = true},
    {.size = 4, .hosts = 2, .backend = "tcp"},
};
enum { CONFIGS = sizeof(configs) / sizeof(configs[0]) };

static void do_all(rank_fn *fn)
{
    for (int i = 0; i < CONFIGS; i++)
        job_do(&configs[i], fn);
}

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

static void check_status(const ml_status *s, int from, int tag, size_t size)
{
    REQUIRE(s->from == from && s->tag == tag && s->size == size);
}

/* ---- order ---- */

static const size_t sizes[] = {0, 1, 31, 32, 100, 4096, 9000, LONG};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* Every rank gets messages from the one before it: last tag first, beside messages without a tag
 * and collective calls that come later. */
static void reversed(struct job *j, int rank)
{
    unsigned char *out[SIZES], *in = malloc(LONG + 1);
    int right = (rank + 1) % j->config.size, left = (rank + j->config.size - 1) % j->config.size;
    ml_request *sent[SIZES], *plain;
    ml_status s;
    long sum;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SIZES; i++) {
            out[i] = malloc(sizes[i] + 1);
            fill(out[i], sizes[i], i + (unsigned)rank);
            REQUIRE(ml_start_send_tag(w, out[i], sizes[i], right, (int)i * 1000, &sent[i]) == 0);
        }
        REQUIRE(ml_start_send(w, out[4], 100, right, &plain) == 0);
        if (round == 1) { /* past all of them */
            memset(in, 0, 100);
            REQUIRE(ml_recv(w, in, 100, left) == 0);
            check(in, 100, 4 + (unsigned)left);
        }
        for (unsigned i = SIZES; i-- > 0;) {
            memset(in, 0xee, LONG + 1);
            REQUIRE(ml_recv_tag(w, in, LONG, i % 2 ? ML_ANY : left, (int)i * 1000, &s) == 0);
            check_status(&s, left, (int)i * 1000, sizes[i]);
            check(in, sizes[i], i + (unsigned)left);
            REQUIRE(in[sizes[i]] == 0xee);
        }
        if (round != 1)
            REQUIRE(ml_recv(w, in, 100, left) == 0);
        REQUIRE(ml_wait(plain) == 0);
        for (unsigned i = 0; i < SIZES; i++) {
            REQUIRE(ml_wait(sent[i]) == 0);
            free(out[i]);
        }
        sum = rank;
        REQUIRE(ml_all_reduce(w, &sum, &sum, 1, ML_INT64, ML_SUM) == 0);
        REQUIRE(sum == j->config.size * (j->config.size - 1) / 2);
    }
    REQUIRE(ml_finalize() == 0);
    free(in);
}

static void test_reversed(void **state)
{
    (void)state;
    do_all(reversed);
}

/* Short messages are sent before collective calls of every kind, and received after them. */
static void across_collectives(struct job *j, int rank)
{
    int n = j->config.size, right = (rank + 1) % n, left = (rank + n - 1) % n;
    double *v = calloc((size_t)n, 20000 * sizeof(*v));
    int numbers[4];
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < 4; i++)
        REQUIRE(ml_send_tag(w, &i, sizeof(i), right, 10 + i) == 0);
    REQUIRE(ml_all_reduce(w, v, v, 20000, ML_FLOAT64, ML_SUM) == 0);
    REQUIRE(ml_all_gather(w, v, v, 160000) == 0);
    REQUIRE(ml_broadcast(w, v, 160000, n - 1) == 0);
    REQUIRE(ml_reduce_scatter(w, v, v, 100, ML_FLOAT64, ML_MAX) == 0);
    REQUIRE(ml_barrier(w) == 0);
    for (int i = 3; i >= 0; i--)
        REQUIRE(ml_recv_tag(w, &numbers[i], sizeof(int), left, 10 + i, NULL) == 0);
    for (int i = 0; i < 4; i++)
        REQUIRE(numbers[i] == i);
    REQUIRE(ml_finalize() == 0);
    free(v);
}

static void test_across_collectives(void **state)
{
    (void)state;
    do_all(across_collectives);
}

/* ---- any rank ---- */

struct letter {
    int from, tag, number;
};

/* The numbers of one rank's messages with one tag grow, whichever way they are received. */
static void note(int next[][TAGS], const struct letter *l, const ml_status *s, size_t size)
{
    check_status(s, l->from, l->tag, size);
    REQUIRE(l->number >= next[l->from][l->tag]);
    next[l->from][l->tag] = l->number + 1;
}

static void collect(ml_group *w, int count)
{
    int next[8][TAGS] = {{0}}, half = count / 2;
    struct letter letters[8];
    ml_request *requests[8];
    ml_status s[8];

    for (int i = 0; i < half; i++) {
        REQUIRE(ml_recv_tag(w, letters, sizeof(letters), ML_ANY, ML_ANY, s) == 0);
        note(next, letters, s, s->size);
    }
    for (int left = count - half, n; left > 0; left -= n) {
        n = left < 8 ? left : 8;
        for (int i = 0; i < n; i++)
            REQUIRE(ml_start_recv_tag(w, &letters[i], sizeof(letters[i]), ML_ANY, ML_ANY, &s[i],
                                      &requests[i]) == 0);
        for (int i = 0; i < n; i++) {
            REQUIRE(ml_wait(requests[i]) == 0);
            note(next, &letters[i], &s[i], sizeof(letters[i]));
        }
    }
}

static void from_any(struct job *j, int rank)
{
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        collect(w, ROUNDS * (j->config.size - 1));
    for (int i = 0; rank && i < ROUNDS; i++) {
        struct letter l = {rank, (i * 7 + i / 3) % TAGS, i};

        REQUIRE(ml_send_tag(w, &l, sizeof(l), 0, l.tag) == 0);
    }
    if (rank)
        REQUIRE(ml_finalize() == 0); /* nobody waits for the others */
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, NULL, 0, ML_ANY, 3, NULL) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "all others have left");
        REQUIRE(ml_finalize() == 0);
    }
}

static void test_from_any(void **state)
{
    (void)state;
    do_all(from_any);
}

/* One rank never stops sending: another one's message is received all the same. */
static void fair(struct job *j, int rank)
{
    int last = j->config.size - 1, n = 0, stop = 0;
    ml_request *request;
    ml_status s;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 1) {
        REQUIRE(ml_start_recv_tag(w, NULL, 0, 0, 9, NULL, &request) == 0);
        for (; !stop; n++) {
            REQUIRE(ml_send_tag(w, &n, sizeof(n), 0, 1) == 0);
            REQUIRE(ml_test(request, &stop) == 0);
        }
        REQUIRE(ml_wait(request) == 0);
        n = -1;
        REQUIRE(ml_send_tag(w, &n, sizeof(n), 0, 1) == 0);
    } else if (rank == last) {
        REQUIRE(ml_send_tag(w, NULL, 0, 0, 1) == 0);
    } else if (rank == 0) {
        do
            REQUIRE(ml_recv_tag(w, &n, sizeof(n), ML_ANY, 1, &s) == 0);
        while (s.from == 1);
        check_status(&s, last, 1, 0);
        REQUIRE(ml_send_tag(w, NULL, 0, 1, 9) == 0);
        while (n != -1)
            REQUIRE(ml_recv_tag(w, &n, sizeof(n), ML_ANY, ML_ANY, &s) == 0);
    }
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_fair(void **state)
{
    (void)state;
    do_all(fair);
}

/* A rank that is already in a collective call does not keep the others' receives busy. */
static void sleeps(struct job *j, int rank)
{
    int last = j->config.size - 1;
    int64_t used;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    if (rank == last)
        job_be_busy(600);
    if (rank == last)
        REQUIRE(ml_send_tag(w, NULL, 0, 0, 0) == 0);
    used = job_processor_ms();
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, NULL, 0, ML_ANY, 0, NULL) == 0);
        REQUIRE(job_processor_ms() - used < 300);
    }
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_sleeps(void **state)
{
    (void)state;
    do_all(sleeps);
}

/* ---- probes ---- */

static void probes(struct job *j, int rank)
{
    int last = j->config.size - 1, found = 7;
    unsigned char *buf = malloc(LONG);
    ml_request *request;
    ml_status s;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == last) {
        fill(buf, LONG, 5);
        REQUIRE(ml_start_send_tag(w, buf, LONG, 0, 5, &request) == 0);
        REQUIRE(ml_send_tag(w, buf, 10, 0, 6) == 0);
        REQUIRE(ml_recv_tag(w, NULL, 0, 0, 0, NULL) == 0);
        REQUIRE(ml_wait(request) == 0);
    } else if (rank == 0) {
        REQUIRE(ml_try_probe(w, last, 4, &found, &s) == 0 && found == 0);
        REQUIRE(ml_probe(w, ML_ANY, ML_ANY, &s) == 0);
        check_status(&s, last, 5, LONG);
        do
            REQUIRE(ml_try_probe(w, last, 5, &found, &s) == 0);
        while (!found);
        check_status(&s, last, 5, LONG);
        REQUIRE(ml_recv_tag(w, buf, s.size, s.from, s.tag, NULL) == 0);
        check(buf, LONG, 5);
        REQUIRE(ml_start_recv_tag(w, buf, 5, last, 99, NULL, &request) == 0); /* busy */
        REQUIRE(ml_probe(w, last, 6, &s) == 0);
        check_status(&s, last, 6, 10);
        do
            REQUIRE(ml_try_probe(w, ML_ANY, ML_ANY, &found, NULL) == 0);
        while (!found);
        REQUIRE(ml_recv_tag(w, buf, 10, last, 6, NULL) == 0);
        REQUIRE(ml_send_tag(w, NULL, 0, last, 0) == 0);
    }
    if (rank == last)
        REQUIRE(ml_send_tag(w, NULL, 0, 0, 99) == 0);
    if (rank == 0)
        REQUIRE(ml_wait(request) == 0);
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
    free(buf);
}

static void test_probes(void **state)
{
    (void)state;
    do_all(probes);
}

/* ---- itself, and nobody ---- */

static void self(struct job *j, int rank)
{
    int a = 1, b = 2, got = 0, found;
    ml_request *request;
    ml_status s;
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_send_tag(w, &a, sizeof(a), rank, 1) == 0);
    REQUIRE(ml_send_tag(w, &b, sizeof(b), rank, 2) == 0);
    REQUIRE(ml_recv_tag(w, &got, sizeof(got), rank, 2, &s) == 0 && got == 2);
    check_status(&s, rank, 2, sizeof(b));
    REQUIRE(ml_recv_tag(w, &got, sizeof(got), ML_ANY, ML_ANY, &s) == 0 && got == 1);
    REQUIRE(ml_recv_tag(w, &got, sizeof(got), rank, 1, NULL) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "has sent itself nothing that fits");
    REQUIRE(ml_start_recv_tag(w, &got, sizeof(got), ML_ANY, 7, &s, &request) == 0);
    REQUIRE(ml_send_tag(w, &b, sizeof(b), rank, 7) == 0);
    REQUIRE(ml_wait(request) == 0 && got == 2);
    check_status(&s, rank, 7, sizeof(b));
    REQUIRE(ml_try_probe(w, rank, ML_ANY, &found, NULL) == 0 && !found);
    REQUIRE(ml_recv_tag(w, &got, sizeof(got), ML_NOBODY, ML_ANY, &s) == 0);
    check_status(&s, ML_NOBODY, ML_ANY, 0);
    REQUIRE(ml_send_tag(w, &a, sizeof(a), ML_NOBODY, 1) == 0);
    REQUIRE(ml_send_tag(w, &a, sizeof(a), rank, ML_ANY) == ML_ERR_ARGUMENT);
    REQUIRE_TEXT(ml_error(), "tag is -2");
    REQUIRE(ml_send_tag(w, &a, sizeof(a), ML_ANY, 1) == ML_ERR_ARGUMENT);
    REQUIRE(ml_recv_tag(w, &a, sizeof(a), rank, -1, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_recv(w, &a, sizeof(a), ML_ANY) == ML_ERR_ARGUMENT);
    REQUIRE(ml_try_probe(w, rank, 1, NULL, NULL) == ML_ERR_ARGUMENT);
    REQUIRE(ml_finalize() == 0);
}

static void test_self(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 1}, self);
    job_do(&configs[0], self);
}

/* ---- errors ---- */

static void too_long(struct job *j, int rank)
{
    char buf[100] = "";
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        REQUIRE(ml_send_tag(w, buf, 100, 0, 3) == 0);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, buf, 99, ML_ANY, 3, NULL) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "rank 1's message of 100 bytes with tag 3 is longer than the 99");
    } else {
        REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    }
    ml_finalize();
}

static void other_types(struct job *j, int rank)
{
    char buf[8] = "";
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank < 2)
        REQUIRE(ml_next_type(w, rank ? ML_INT64 : ML_FLOAT64) == 0);
    if (rank == 1)
        REQUIRE(ml_send_tag(w, buf, 8, 0, 3) == 0);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, buf, 8, 1, 3, NULL) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "message of 8 bytes (int64) with tag 3");
    } else {
        REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    }
    ml_finalize();
}

/* One of two ranks says a type, and both wait for a third one that is late. */
static void one_type(struct job *j, int rank)
{
    int64_t mine = rank, all[4];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0)
        REQUIRE(ml_next_type(w, ML_INT64) == 0);
    if (rank == 2)
        job_be_busy(3 * WAITING_AFTER_MS);
    REQUIRE(ml_all_gather(w, &mine, all, sizeof(mine)) == 0);
    REQUIRE(all[0] == 0 && all[1] == 1 && all[2] == 2);
    REQUIRE(ml_finalize() == 0);
}

static void barrier_first(struct job *j, int rank)
{
    char buf[8];
    ml_group *w;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, buf, 8, 1, 3, NULL) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "rank 1's barrier met rank 0's receive of a message with a tag");
    } else {
        REQUIRE(ml_barrier(w) == ML_ERR_MISMATCH);
    }
    ml_finalize();
}

/* A look at a rank that is in a collective call, or has left, finds nothing, and harms nothing. */
static void tries(struct job *j, int rank)
{
    int found = 1;
    int64_t begin = job_now_ms();
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; rank == 0 && round < 2; round++) {
        do
            REQUIRE(ml_try_probe(w, 1, ML_ANY, &found, NULL) == 0 && !found);
        while (job_now_ms() - begin < 100 * (round + 1));
        if (round == 0)
            REQUIRE(ml_barrier(w) == 0);
    }
    if (rank)
        REQUIRE(ml_barrier(w) == 0);
    if (rank == j->config.size - 1) {
        job_be_busy(200);
        REQUIRE(ml_send_tag(w, NULL, 0, 0, 1) == 0);
    }
    if (rank == 0)
        REQUIRE(ml_recv_tag(w, NULL, 0, ML_ANY, 1, NULL) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_tries(void **state)
{
    (void)state;
    do_all(tries);
}

static void collective_first(struct job *j, int rank)
{
    char buf[8] = "";
    ml_group *w;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, buf, 8, 1, 3, NULL) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "broadcast of 8 bytes from rank 1 met rank 0's receive");
    } else {
        rc = ml_broadcast(w, buf, 8, 1);
        REQUIRE((rc ? rc : ml_barrier(w)) == ML_ERR_MISMATCH);
    }
    ml_finalize();
}

static void plain_first(struct job *j, int rank)
{
    char buf[8] = "";
    ml_group *w;
    int rc = 0;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, buf, 8, 1, 3, NULL) == ML_ERR_MISMATCH);
        REQUIRE_TEXT(ml_error(), "rank 1's message of 8 bytes met rank 0's receive");
    } else {
        /* The others hear of it in their barrier, and rank 1 maybe in its sends. */
        if (rank == 1) {
            rc = ml_send(w, buf, 8, 0);
            rc = rc ? rc : ml_send_tag(w, buf, 8, 0, 3);
        }
        REQUIRE((rc ? rc : ml_barrier(w)) == ML_ERR_MISMATCH);
    }
    ml_finalize();
}

static void test_mismatches(void **state)
{
    (void)state;
    do_all(too_long);
    do_all(other_types);
    job_do(&configs[0], one_type); /* it is the coordinator that compares */
    do_all(collective_first);
    job_do(&configs[0], barrier_first);
    do_all(plain_first);
}

/* More than may be kept: from any rank, the others' messages are received nevertheless; from this
 * rank they can't be. */
static void too_many(struct job *j, int rank)
{
    enum { BLOCK = 10 << 20, BLOCKS = 8 };
    char *buf = calloc(1, BLOCK);
    ml_request *requests[BLOCKS];
    ml_group *w;
    int rc;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    if (rank == 1) {
        for (int i = 0; i < BLOCKS; i++)
            REQUIRE(ml_start_send_tag(w, buf, BLOCK, 0, 1, &requests[i]) == 0);
        rc = ml_send_tag(w, buf, 1, 0, 2); /* 0: sockets hold all that is left */
        REQUIRE((rc ? rc : ml_barrier(w)) == ML_ERR_MEMORY);
        for (int i = 0; i < BLOCKS; i++)
            ml_wait(requests[i]);
    } else if (rank == 2) {
        REQUIRE(ml_recv_tag(w, NULL, 0, 0, 0, NULL) == 0);
        REQUIRE(ml_send_tag(w, buf, 1, 0, 3) == 0);
    } else if (rank == 0) {
        REQUIRE(ml_send_tag(w, NULL, 0, 2, 0) == 0);
        REQUIRE(ml_recv_tag(w, buf, 1, ML_ANY, 3, NULL) == 0);
        REQUIRE(ml_recv_tag(w, buf, 1, 1, 2, NULL) == ML_ERR_MEMORY);
        REQUIRE_TEXT(ml_error(), "more than 64 MiB");
    }
    ml_finalize();
    free(buf);
}

/* What a rank sends itself takes no room from others' messages. */
static void sends_itself(struct job *j, int rank)
{
    const size_t size = (64 << 20) + 1;
    char *long_text = calloc(1, size), byte = 0;
    ml_group *w;

    (void)j;
    REQUIRE(long_text && ml_init(&w) == 0);
    if (rank == 0) {
        REQUIRE(ml_send_tag(w, long_text, size, 0, 7) == 0);
        REQUIRE(ml_recv_tag(w, &byte, 1, 1, 2, NULL) == 0 && byte == 2);
        REQUIRE(ml_recv_tag(w, &byte, 1, 1, 1, NULL) == 0 && byte == 1);
        REQUIRE(ml_recv_tag(w, long_text, size, 0, 7, NULL) == 0);
    }
    for (int tag = 1; rank == 1 && tag <= 2; tag++) {
        byte = (char)tag;
        REQUIRE(ml_send_tag(w, &byte, 1, 0, tag) == 0);
    }
    REQUIRE(ml_finalize() == 0);
    free(long_text);
}

static void test_sends_itself(void **state)
{
    (void)state;
    job_do(&(struct job_config){.size = 2}, sends_itself);
}

static void test_too_many(void **state)
{
    (void)state;
    job_do(&configs[0], too_many);
    job_do(&configs[1], too_many);
}

/* ---- deaths ---- */

static void waits_for_any(struct job *j, int rank)
{
    ml_request *request;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank == 1)
        raise(SIGKILL);
    if (rank == 0) {
        REQUIRE(ml_recv_tag(w, NULL, 0, ML_ANY, 3, NULL) == ML_ERR_PEER);
    } else {
        REQUIRE(ml_start_recv_tag(w, NULL, 0, ML_ANY, 3, NULL, &request) == 0);
        REQUIRE(ml_wait(request) == ML_ERR_PEER);
    }
    REQUIRE_TEXT(ml_error(), "rank 1");
    _exit(0);
}

static void tries_for_any(struct job *j, int rank)
{
    int found = 0, rc = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_barrier(w) == 0);
    job_meet(j);
    if (rank == 1)
        raise(SIGKILL);
    while (!rc)
        rc = ml_try_probe(w, ML_ANY, ML_ANY, &found, NULL);
    REQUIRE(rc == ML_ERR_PEER && !found);
    _exit(0);
}

static void test_deaths(void **state)
{
    static rank_fn *const fns[] = {waits_for_any, tries_for_any};

    (void)state;
    for (int i = 0; i < 2 * CONFIGS; i++) {
        struct job j;

        job_open(&j, &configs[i / 2]);
        for (int r = 0; r < j.config.size; r++)
            job_spawn(&j, r, fns[i % 2]);
        assert_int_equal(WTERMSIG(job_wait(&j, 1)), SIGKILL);
        for (int r = 0; r < j.config.size; r++)
            if (r != 1)
                assert_int_equal(job_wait(&j, r), 0);
        job_close(&j);
    }
}

/* ---- stalls ---- */

static const struct {
    int from, tag;
    const char *said;
} late_receives[] = {
    {1, 7, "in recv_tag of tag 7 for rank 1 on host"},
    {ML_ANY, 7, "in recv_tag of tag 7 from any rank ("},
    {ML_ANY, ML_ANY, "in recv_tag of any tag from any rank ("},
};
static unsigned late_turn;

/* Rank 0 waits for a message, which rank 1 sends once that has been reported. */
static void late(struct job *j, int rank)
{
    char v = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        while (j->seen->stalls == 0)
            sched_yield();
    if (rank == 1)
        REQUIRE(ml_send_tag(w, "x", 1, 0, 7) == 0);
    if (rank == 0) {
        int from = late_receives[late_turn].from, tag = late_receives[late_turn].tag;

        REQUIRE(ml_recv_tag(w, &v, 1, from, tag, NULL) == 0 && v == 'x');
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_stall(void **state)
{
    struct job_config config = {.size = 2, .stall_ms = 600};
    struct job j;

    (void)state;
    for (late_turn = 0; late_turn < 3; late_turn++) {
        job_open(&j, &config);
        job_run(&j, late);
        assert_int_equal(j.seen->stalls, 1);
        if (!strstr(j.seen->stall, late_receives[late_turn].said))
            fail_msg("%s", j.seen->stall);
        job_close(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reversed),     cmocka_unit_test(test_across_collectives),
        cmocka_unit_test(test_from_any),     cmocka_unit_test(test_fair),
        cmocka_unit_test(test_sleeps),       cmocka_unit_test(test_probes),
        cmocka_unit_test(test_tries),        cmocka_unit_test(test_self),
        cmocka_unit_test(test_mismatches),   cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_deaths),       cmocka_unit_test(test_stall),
        cmocka_unit_test(test_sends_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
