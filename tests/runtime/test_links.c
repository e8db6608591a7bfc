/* SPDX-License-Identifier: MIT */
/* test_links.c: links over TCP that come up with their first message: from both sides at once,
 * late, never, and not at all; and random messages over every kind of link.
 * TEST_TIER=quick */
#include "tests/runtime/test_job.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { NOTICED_MS = 1000, MESSAGES = 40, LONGEST = 20000 };

static const struct job_config two = {.size = 2, .backend = "tcp", .local_net = true};
static const struct job_config four = {.size = 4, .backend = "tcp", .local_net = true};
static const struct job_config secure = {
    .size = 3, .backend = "tcp", .local_net = true, .secure = true};

static int long_or(int many, int few)
{
    return getenv("MLAUNCH_TEST_LONG") ? many : few;
}

/* How many of this process's sockets are `listening`, or connected. If `closes`, closes them. */
static int sockets_count(bool listening, bool closes)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    int count = 0;

    REQUIRE(d != NULL);
    while ((e = readdir(d))) {
        int fd = atoi(e->d_name), value = 0;
        socklen_t size = sizeof(value);
        struct stat st;

        if (e->d_name[0] == '.' || fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
            continue;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) != 0 || !value != !listening)
            continue;
        count++;
        if (closes)
            close(fd);
    }
    closedir(d);
    return count;
}

/* --- both sides at once ----------------------------------------------------------------------- */

/* Each pair connects from both sides in a new group, and what each side has sent comes in order. */
static void at_once(struct job *j, int rank)
{
    int size = j->config.size, rounds = long_or(10000, 150);
    ml_group *w, *g;

    REQUIRE(ml_init(&w) == 0);
    for (int i = 0; i < rounds; i++) {
        int out[3][4], in[3][4];

        REQUIRE(ml_split(w, 0, 0, &g) == 0);
        job_meet(j);
        if (i % 3 == 2)
            job_be_busy((rank + i) % 2); /* sometimes one side is later */
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
    job_do(&secure, at_once);
}

/* --- few ------------------------------------------------------------------------------------- */

static int peers_most(int ranks)
{
    int log2 = 0;

    while (1 << log2 < ranks)
        log2++;
    return 2 * log2 + 4;
}

/* One call of each kind, in a group of its own. */
static int one_call(ml_group *g, int kind)
{
    enum { EACH = 3000 };
    static int in[EACH * JOB_RANKS], out[EACH * JOB_RANKS];
    int size = ml_size(g), count = EACH * size;

    switch (kind) {
    case 0:
        return ml_barrier(g);
    case 1:
        return ml_all_reduce(g, in, out, 1, ML_INT32, ML_SUM);
    case 2:
        return ml_all_reduce(g, in, out, (size_t)count, ML_INT32, ML_SUM);
    case 3:
        return ml_reduce(g, in, out, (size_t)count, ML_INT32, ML_SUM, 3);
    case 4:
        return ml_reduce_scatter(g, in, out, EACH, ML_INT32, ML_SUM);
    case 5:
        return ml_reduce_scatter(g, in, out, 1, ML_INT32, ML_SUM);
    case 6:
        return ml_all_gather(g, in, out, EACH);
    case 7:
        return ml_broadcast(g, in, sizeof(in[0]) * (size_t)count, 5);
    case 8:
        return ml_scan(g, in, out, 10, ML_INT32, ML_SUM);
    default:
        return 1;
    }
}

static void few_connections(struct job *j, int rank)
{
    int rc = 0;
    ml_group *w, *g;

    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(sockets_count(true, false) == 1);
    REQUIRE(sockets_count(false, false) == 1); /* to the coordinator */
    job_meet(j);
    for (int kind = 0; !rc; kind++) {
        int before;

        REQUIRE(ml_split(w, 0, 0, &g) == 0);
        job_meet(j);
        before = sockets_count(false, false);
        job_meet(j);
        rc = one_call(g, kind);
        REQUIRE(rc >= 0);
        REQUIRE(sockets_count(false, false) <= before + peers_most(j->config.size));
        job_meet(j);
        ml_group_free(g);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_few_connections(void **state)
{
    static const int all[] = {17, 32, 64, 0}, some[] = {17, 0};

    (void)state;
    for (const int *n = long_or(1, 0) ? all : some; *n; n++) {
        struct job_config config = {.size = *n, .backend = "tcp", .local_net = true};

        job_do(&config, few_connections);
    }
}

/* Ranks that never talk to another end cleanly; two others talk. */
static void some_are_silent(struct job *j, int rank)
{
    int v = rank;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        REQUIRE(ml_send(w, &v, sizeof(v), 2) == 0);
    if (rank == 2)
        REQUIRE(ml_recv(w, &v, sizeof(v), 1) == 0 && v == 1);
    REQUIRE(sockets_count(false, false) == (rank == 1 || rank == 2 ? 2 : 1));
    job_meet(j);
    REQUIRE(ml_finalize() == 0);
}

static void test_silent(void **state)
{
    (void)state;
    job_do(&four, some_are_silent);
}

/* --- late ------------------------------------------------------------------------------------ */

/* Rank 1 computes for longer than any deadline before it answers. */
static void late(struct job *j, int rank)
{
    int v = 7;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    job_meet(j);
    if (rank == 0)
        REQUIRE(ml_send(w, &v, sizeof(v), 1) == 0);
    if (rank == 1) {
        sleep((unsigned)long_or(60, 3));
        v = 0;
        REQUIRE(ml_recv(w, &v, sizeof(v), 0) == 0 && v == 7);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_late(void **state)
{
    struct job_config config = two;
    struct job j;

    (void)state;
    config.init_timeout_ms = 2000;
    config.stall_ms = 1500;
    job_open(&j, &config);
    job_run(&j, late);
    assert_int_equal(j.seen->stalls, 1);
    assert_non_null(strstr(j.seen->stall, "rank 1"));
    job_close(&j);
}

/* Rank 1 waits in a call of another group, and for a message that comes only after rank 0 has sent
 * its own: so it has to answer for a group whose calls it does not make. */
static void answered_elsewhere(struct job *j, int rank)
{
    char big[1000] = "a";
    ml_group *w, *a, *b;
    int v = rank;

    (void)j;
    REQUIRE(ml_init(&w) == 0);
    REQUIRE(ml_split(w, 0, 0, &a) == 0 && ml_split(w, 0, 0, &b) == 0);
    if (rank == 0) {
        REQUIRE(ml_send(a, big, sizeof(big), 1) == 0);
        REQUIRE(ml_send(w, &v, sizeof(v), 2) == 0);
    }
    if (rank == 2) {
        REQUIRE(ml_recv(w, &v, sizeof(v), 0) == 0);
        REQUIRE(ml_send(b, &v, sizeof(v), 1) == 0);
    }
    if (rank == 1) {
        REQUIRE(ml_recv(b, &v, sizeof(v), 2) == 0 && v == 0);
        big[0] = 0;
        REQUIRE(ml_recv(a, big, sizeof(big), 0) == 0 && big[0] == 'a');
    }
    REQUIRE(ml_barrier(w) == 0);
    REQUIRE(ml_finalize() == 0);
}

static void test_answered_elsewhere(void **state)
{
    (void)state;
    job_do(&four, answered_elsewhere);
}

/* --- failures -------------------------------------------------------------------------------- */

/* Rank 1 dies while rank 0's connection waits for its answer. */
static void dies(struct job *j, int rank)
{
    int64_t begin;
    int v = 0, rc;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    job_meet(j);
    begin = job_now_ms();
    if (rank == 1) {
        job_be_busy(200);
        raise(SIGKILL);
    }
    rc = rank == 0 ? ml_send(w, &v, sizeof(v), 1) : ml_recv(w, &v, sizeof(v), 1);
    REQUIRE(rc == ML_ERR_PEER);
    REQUIRE_TEXT(ml_error(), "rank 1");
    REQUIRE_WITHIN(begin, 200 + NOTICED_MS);
    REQUIRE(ml_finalize() == 0);
}

static void test_dies(void **state)
{
    struct job j;

    (void)state;
    job_open(&j, &four);
    for (int i = 0; i < 4; i++)
        job_spawn(&j, i, dies);
    assert_int_equal(job_wait(&j, 1), SIGKILL);
    for (int i = 0; i < 4; i++)
        if (i != 1)
            assert_int_equal(job_wait(&j, i), 0);
    job_close(&j);
}

/* Rank 1 does not listen any more. */
static void refused(struct job *j, int rank)
{
    int v = 0, rc;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        REQUIRE(sockets_count(true, true) == 1);
    job_meet(j);
    rc = rank == 0 ? ml_send(w, &v, sizeof(v), 1) : ml_recv(w, &v, sizeof(v), 0);
    REQUIRE(rc == ML_ERR_LINK);
    REQUIRE_TEXT(ml_error(), "rank 0 on host ");
    REQUIRE_TEXT(ml_error(), " cannot connect to rank 1 on host ");
    REQUIRE_TEXT(ml_error(), "Connection refused");
    REQUIRE(ml_barrier(w) == ML_ERR_LINK);
    REQUIRE(ml_finalize() == 0);
}

/* Puts a socket without a connection into the place of the last that is connected. */
static void disconnect_last(void)
{
    int bare = socket(AF_INET, SOCK_STREAM, 0), last = -1;
    struct sockaddr_storage peer;

    for (int fd = 0; fd < 100; fd++) {
        socklen_t size = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0)
            last = fd;
    }
    REQUIRE(bare >= 0 && last >= 0 && dup2(bare, last) == last);
    close(bare);
}

/* The system ends a connection for another reason than that the peer has closed it. Only rank 1
 * sends before, so that no second connection from rank 0 waits behind the door. */
static void lost(struct job *j, int rank)
{
    int v = 0;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == 1)
        REQUIRE(ml_send(w, &v, sizeof(v), 0) == 0);
    else
        REQUIRE(ml_recv(w, &v, sizeof(v), 1) == 0);
    job_meet(j);
    if (rank == 0) {
        disconnect_last();
        REQUIRE(ml_recv(w, &v, sizeof(v), 1) == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "rank 0 on host ");
        REQUIRE_TEXT(ml_error(), ": its connection to rank 1 on host ");
        REQUIRE_TEXT(ml_error(), "not connected");
    }
    job_meet(j);
    REQUIRE(ml_finalize() == 0);
}

static void fill_table(void)
{
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};

    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(STDERR_FILENO) >= 0)
        continue;
    REQUIRE(errno == EMFILE);
}

/* The rank `full` has no descriptor left when the first message is sent. */
static void no_descriptor(struct job *j, int rank, int full, const char *part)
{
    int v = 0, rc;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    if (rank == full)
        fill_table();
    job_meet(j);
    rc = rank == 0 ? ml_send(w, &v, sizeof(v), 1) : ml_recv(w, &v, sizeof(v), 0);
    REQUIRE(rc == ML_ERR_LINK);
    REQUIRE_TEXT(ml_error(), part);
    REQUIRE_TEXT(ml_error(), "Too many open files");
    REQUIRE(ml_finalize() == 0);
}

static void sender_is_full(struct job *j, int rank)
{
    no_descriptor(j, rank, 0, "cannot connect to rank 1 on host ");
}

static void receiver_is_full(struct job *j, int rank)
{
    no_descriptor(j, rank, 1, "rank 1 on host host0 cannot accept a connection at ");
}

static void test_lost(void **state)
{
    (void)state;
    job_do(&two, lost);
}

static void test_no_connection(void **state)
{
    (void)state;
    job_do(&two, refused);
    job_do(&two, sender_is_full);
    job_do(&two, receiver_is_full);
}

/* --- random ---------------------------------------------------------------------------------- */

struct letter {
    int from, to;
    size_t size;
    unsigned char value;
};

static struct letter letter_next(uint64_t *state, int ranks)
{
    struct letter l;

    *state = *state * 6364136223846793005u + 1442695040888963407u;
    l.from = (int)(*state >> 33) % ranks;
    l.to = (int)(*state >> 43) % ranks;
    l.size = (*state >> 53) % 8 ? (size_t)(*state >> 40) % 200 : (size_t)(*state >> 40) % LONGEST;
    l.value = (unsigned char)(*state >> 56);
    return l;
}

static void letters_check(const unsigned char *got, const struct letter *l)
{
    for (size_t i = 0; i < l->size; i++)
        REQUIRE(got[i] == (unsigned char)(l->value + i));
}

/* All ranks know all letters. Between two ranks they go in order. */
static void letters(struct job *j, int rank)
{
    static unsigned char out[MESSAGES][LONGEST], in[MESSAGES][LONGEST];
    static struct letter expected[MESSAGES];
    int rounds = long_or(1000000, 2000) / MESSAGES, ranks = j->config.size;
    uint64_t state = 42;
    ml_group *w;

    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; round < rounds; round++) {
        ml_request *requests[2 * MESSAGES];
        int n = 0, received = 0;

        for (int i = 0; i < MESSAGES; i++) {
            struct letter l = letter_next(&state, ranks);

            if (l.from == l.to)
                continue;
            if (l.from == rank) {
                for (size_t k = 0; k < l.size; k++)
                    out[i][k] = (unsigned char)(l.value + k);
                REQUIRE(ml_start_send(w, out[i], l.size, l.to, &requests[n++]) == 0);
            }
            if (l.to == rank) {
                expected[received] = l;
                REQUIRE(ml_start_recv(w, in[received++], l.size, l.from, &requests[n++]) == 0);
            }
        }
        for (int i = 0; i < n; i++)
            REQUIRE(ml_wait(requests[i]) == 0);
        for (int i = 0; i < received; i++)
            letters_check(in[i], &expected[i]);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_letters(void **state)
{
    static const struct job_config nine[] = {
        {.size = 9, .backend = "tcp", .local_net = true},
        {.size = 9, .backend = "tcp"},             /* over shared memory */
        {.size = 9, .hosts = 3, .backend = "tcp"}, /* over both */
    };

    (void)state;
    for (int i = 0; i < 3; i++)
        job_do(&nine[i], letters);
    job_do(&secure, letters);
}

/* --- threads --------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    ml_group *group;
};

static void *worker_main(void *arg)
{
    struct worker *x = arg;
    int size = ml_size(x->group), rank = ml_rank(x->group), in[4], out[4];

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < size; k++)
            out[k] = 10 * rank + k;
        REQUIRE(ml_all_to_all(x->group, out, in, sizeof(int)) == 0);
        for (int k = 0; k < size; k++)
            REQUIRE(in[k] == 10 * k + rank);
    }
    return NULL;
}

/* Several groups connect at the same time, each used by a thread of its own, and all answer for
 * each other. */
static void threads(struct job *j, int rank)
{
    struct worker workers[4];
    int rounds = long_or(300, 15);
    ml_group *w;

    (void)j;
    (void)rank;
    REQUIRE(ml_init(&w) == 0);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 4; i++)
            REQUIRE(ml_split(w, 0, 0, &workers[i].group) == 0);
        for (int i = 0; i < 4; i++)
            REQUIRE(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
        for (int i = 0; i < 4; i++) {
            pthread_join(workers[i].thread, NULL);
            ml_group_free(workers[i].group);
        }
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_threads(void **state)
{
    (void)state;
    job_do(&four, threads);
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct {
    bool early; /* the message that nobody receives is sent before the link is closed */
    bool frees; /* by ml_group_free, or else by ml_finalize */
} unread_way;

/* What rank 0 has sent arrives, although it leaves without having received all. */
static void unread(struct job *j, int rank)
{
    static uint8_t bytes[300000], out[100];
    ml_group *w, *g;

    REQUIRE(ml_init(&w) == 0 && ml_split(w, 0, 0, &g) == 0);
    REQUIRE(ml_sendrecv(g, out, 1, 1 - rank, bytes, 1, 1 - rank) == 0); /* they are connected */
    if (rank == 1 && unread_way.early)
        REQUIRE(ml_send(g, out, sizeof(out), 0) == 0);
    job_meet(j);
    if (rank == 0) {
        memset(bytes, 7, sizeof(bytes));
        REQUIRE(ml_send(g, bytes, sizeof(bytes), 1) == 0);
        if (unread_way.frees)
            ml_group_free(g);
    } else {
        job_be_busy(50); /* the link is being closed by now */
        if (!unread_way.early)
            REQUIRE(ml_send(g, out, sizeof(out), 0) == 0);
        REQUIRE(ml_recv(g, bytes, sizeof(bytes), 0) == 0);
        REQUIRE(bytes[0] == 7 && bytes[sizeof(bytes) - 1] == 7);
    }
    REQUIRE(ml_finalize() == 0);
}

static void test_unread(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        unread_way.early = i % 2;
        unread_way.frees = i / 2;
        job_do(&two, unread);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_few_connections),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_answered_elsewhere),
        cmocka_unit_test(test_dies),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_no_connection),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_unread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
