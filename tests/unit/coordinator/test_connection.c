/* SPDX-License-Identifier: MIT */
/* test_connection.c: connections without a proof, and members that send malformed messages. */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "coordinator/protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_refused_connections(void **state)
{
    static const uint8_t other[AUTH_SECRET] = {9};
    static const char http[] = "GET / HTTP/1.1\r\n\r\n";
    struct fixture *f = fixture_start(2, 0);
    struct client *c = NULL;
    struct address to;
    struct fault why;
    char rest[256];
    int fd;

    (void)state;
    assert_int_equal(
        client_open(&c, f->address, NULL, "job", other, 0, 1, clock_ms() + PATIENCE_MS, &why),
        ML_ERR_REFUSED);
    expect_report(f, "refused the coordinator refused a connection from 127.0.0.1:");
    assert_int_equal(client_open(&c, f->address, NULL, "x", fixture_secret, 0, 1,
                                 clock_ms() + PATIENCE_MS, &why),
                     ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "another job"));
    expect_report(f, "(2 so far): it belongs to another job");
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(send(fd, http, sizeof(http), MSG_NOSIGNAL), sizeof(http));
    expect_report(f, "(3 so far)");
    shutdown(fd, SHUT_WR);
    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS) == 1 &&
           recv(fd, rest, sizeof(rest), 0) > 0)
        ;
    close(fd);
    /* The job is not affected. */
    for (int i = 0; i < 2; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 1);
        fixture_join(f, i, PATIENCE_MS);
    }
    json_decref(expect_frame(f->ranks[0], COORD_WELCOME));
    fixture_stop(f);
}

/* Takes 10 s, the time limit for the handshake. */
static void test_silent_connection(void **state)
{
    struct fixture *f;
    struct address to;
    struct fault why;
    char rest[16];
    int fd;

    (void)state;
    f = fixture_start(2, 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    expect_report(f, "it did not prove within 10 s that it belongs to this job");
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(recv(fd, rest, sizeof(rest), 0), 0);
    close(fd);
    fixture_stop(f);
}

static void test_malformed_messages(void **state)
{
    struct fixture *f = fixture_start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_SPLIT, "[1, 2]");
    expect_report(
        f, "refused the coordinator cut off rank 1 on host b: message 18 is not a JSON object");
    expect_closed(f->ranks[1]);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b");
    send_blobs(f->ranks[2], 0, 1, 2, (const char *const[]){"two", "of three"});
    expect_report(f, "cut off rank 2 on host c: its EXCHANGE is malformed");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 on host c");
    fixture_stop(f);
}

/* A coordinator's port at which connections end as they do in a flood of strangers: the first by a
 * reset, the second closed, the third when it has sent its proof, which the coordinator has not
 * read. The fourth is passed on to the coordinator. */
struct gate {
    int listener;
    struct address coordinator;
    pthread_t thread;
    int connections;
};

static int gate_connect(struct gate *g)
{
    struct fault why;
    int fd;

    assert_int_equal(address_connect(&g->coordinator, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    return fd;
}

/* Passes bytes on until one side closes, or until the client has answered the coordinator. */
static void gate_pass_on(struct gate *g, int client, bool until_proof)
{
    int server = gate_connect(g);
    struct pollfd p[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    bool is_answered = false;
    char bytes[4096];

    while (poll(p, 2, -1) > 0) {
        int from = p[0].revents ? 0 : 1;
        ssize_t n = recv(p[from].fd, bytes, sizeof(bytes), 0);

        if (n <= 0 || (until_proof && is_answered && from == 0))
            break;
        is_answered |= from == 1;
        if (send(p[1 - from].fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    }
    close(server);
}

static void *gate_run(void *arg)
{
    static const struct linger reset = {.l_onoff = 1};
    struct gate *g = arg;

    while (g->connections < 4) {
        struct pollfd p = {.fd = g->listener, .events = POLLIN};
        int fd = poll(&p, 1, PATIENCE_MS) == 1 ? address_accept(g->listener) : -1;

        if (fd < 0)
            break;
        g->connections++;
        if (g->connections == 1)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        if (g->connections > 2)
            gate_pass_on(g, fd, g->connections == 3);
        close(fd);
    }
    return NULL;
}

/* Puts it before the fixture's coordinator. */
static void gate_open(struct gate *g, struct fixture *f)
{
    struct address bound;
    struct fault why;

    *g = (struct gate){0};
    assert_int_equal(address_parse(&g->coordinator, f->address, &why), 0);
    assert_int_equal(address_listen("127.0.0.1", 0, 8, &g->listener, &bound, &why), 0);
    address_format(&bound, f->address);
    assert_int_equal(pthread_create(&g->thread, NULL, gate_run, g), 0);
}

static void gate_close(struct gate *g)
{
    pthread_join(g->thread, NULL);
    close(g->listener);
    assert_int_equal(g->connections, 4);
}

static void test_rank_tries_again(void **state)
{
    struct fixture *f = fixture_start(1, 0);
    struct gate g;

    (void)state;
    gate_open(&g, f);
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    fixture_join(f, 0, PATIENCE_MS);
    json_decref(expect_frame(f->ranks[0], COORD_WELCOME));
    fixture_close_rank(f, 0);
    gate_close(&g);
    fixture_stop(f);
}

static void test_agent_tries_again(void **state)
{
    struct fixture *f = fixture_start(2, 0);
    struct gate g;

    (void)state;
    f->ranks[0] = fixture_open_rank(f, 0, 1);
    fixture_join(f, 0, PATIENCE_MS);
    gate_open(&g, f);
    fixture_tell(f, "link 1");
    fixture_tell(f, "tell 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_PEER, "rank 1 was killed by signal 9");
    fixture_tell(f, "unlink");
    gate_close(&g);
    fixture_stop(f);
}

static void *hang_up(void *arg)
{
    int fd;

    while ((fd = accept(*(int *)arg, NULL, NULL)) >= 0)
        close(fd);
    return NULL;
}

static void test_rank_gives_up(void **state)
{
    struct address bound;
    char address[ADDRESS_TEXT];
    struct client *c = NULL;
    struct fault why;
    pthread_t thread;
    int listener;

    (void)state;
    assert_int_equal(address_listen("127.0.0.1", 0, 8, &listener, &bound, &why), 0);
    assert_int_equal(fcntl(listener, F_SETFL, 0), 0);
    address_format(&bound, address);
    pthread_create(&thread, NULL, hang_up, &listener);
    assert_int_equal(
        client_open(&c, address, NULL, "job", fixture_secret, 0, 1, clock_ms() + 300, &why),
        ML_ERR_TIMEOUT);
    assert_non_null(strstr(why.text, "connections before this rank could prove that it belongs"));
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    /* There is nobody: that is known at once. */
    assert_int_equal(
        client_open(&c, address, NULL, "job", fixture_secret, 0, 1, clock_ms() + PATIENCE_MS, &why),
        ML_ERR_PEER);
}

/* A process that connects to the coordinator without a word, and holds the connections until its
 * standard input ends. Returns once all of them are made. */
static pid_t strangers_start(const char *address, int count, int *end)
{
    struct rlimit files;
    struct address to;
    struct fault why;
    int in[2], made[2], fd;
    char byte;
    pid_t pid;

    assert_int_equal(address_parse(&to, address, &why), 0);
    assert_int_equal(pipe(in) | pipe(made), 0);
    pid = fork();
    if (pid == 0) {
        close(in[1]);
        getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        while (count-- > 0) {
            if (address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why))
                _exit(1);
        }
        (void)!write(made[1], "m", 1);
        (void)!read(in[0], &byte, 1);
        _exit(0);
    }
    close(in[0]);
    close(made[1]);
    assert_int_equal(read(made[0], &byte, 1), 1);
    close(made[0]);
    *end = in[1];
    return pid;
}

static void strangers_end(pid_t pid, int end)
{
    int status;

    close(end);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The strangers take all descriptors that the coordinator may have. */
static void test_no_descriptors(void **state)
{
    struct fixture *f = fixture_start(1, 0);
    struct rlimit files, few;
    int status, end, next = dup(0);
    pid_t strangers, rank;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &files);
    few = files;
    few.rlim_cur = (rlim_t)next + 30;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    strangers = strangers_start(f->address, 200, &end);
    expect_report(f, "too many connections are in the handshake");
    rank = fork();
    if (rank == 0) { /* with a table of its own; earlier than strangers time out */
        struct client *c;
        struct fault why;

        setrlimit(RLIMIT_NOFILE, &files);
        close(f->control[0]);
        _exit(client_open(&c, f->address, NULL, "job", fixture_secret, 0, 1, clock_ms() + 8000,
                          &why) != 0);
    }
    assert_int_equal(waitpid(rank, &status, 0), rank);
    assert_int_equal(status, 0);
    strangers_end(strangers, end);
    setrlimit(RLIMIT_NOFILE, &files);
    close(next);
    fixture_stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_connections), cmocka_unit_test(test_malformed_messages),
        cmocka_unit_test(test_rank_tries_again),    cmocka_unit_test(test_agent_tries_again),
        cmocka_unit_test(test_rank_gives_up),       cmocka_unit_test(test_no_descriptors),
    };
    static const struct CMUnitTest long_tests[] = {
        cmocka_unit_test(test_silent_connection),
    };

    if (getenv("MLAUNCH_TEST_LONG"))
        return cmocka_run_group_tests_name("connection, long", long_tests, NULL, NULL);
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
