/* SPDX-License-Identifier: MIT */
/*
 * test_coordinator.c: a server on a loop in a thread of its own, ranks' clients and raw sockets in
 * the test's thread. What the server reports comes over a socket as lines; what an agent would tell
 * it goes the other way.
 */
#include "coordinator/server.h"

#include "common/clock.h"
#include "common/number.h"
#include "coordinator/agent_link.h"
#include "coordinator/client.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, RANKS_MAX = 64, HOST_PID = 1000 };

static const uint8_t secret[AUTH_SECRET] = {1, 2, 3};
static const char *const names[] = {"a", "b", "c", "d"};

struct fixture {
    struct event_base *base;
    struct server *server;
    struct agent_link *link;
    pthread_t thread;
    int control[2]; /* [0] the test's end, [1] the loop's */
    struct event *on_control;
    char address[ADDRESS_TEXT];
    char lines[8192]; /* of the server's reports, not read yet */
    int size;
    int host_of[RANKS_MAX];
    struct client *ranks[RANKS_MAX];
    int split_group; /* of the last split() */
};

/* In the loop's thread. A message is a datagram, so that none is cut. */
static void say(struct fixture *f, const char *kind, const char *text)
{
    char line[1024];

    snprintf(line, sizeof(line), "%s %s", kind, text);
    assert_true(send(f->control[1], line, strlen(line), 0) > 0);
}

static void on_abort(int rank, int status, const char *why, void *arg)
{
    char text[256];

    snprintf(text, sizeof(text), "%d %d %s", rank, status, why);
    say(arg, "abort", text);
}

static void on_stall(const char *text, void *arg)
{
    say(arg, "stall", text);
}

static void on_refused(const char *text, void *arg)
{
    say(arg, "refused", text);
}

static void on_lost(const char *text, void *arg)
{
    say(arg, "lost", text);
}

/* "exited RANK PID TEXT": the server's own agent; "link HOST", "tell RANK PID TEXT", "unlink":
 * another host's; "quit". */
static void on_control(evutil_socket_t fd, short what, void *arg)
{
    struct fixture *f = arg;
    char line[512], command[16];
    struct fault why;
    int rank = 0, pid = 0, at = 0;
    ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

    (void)what;
    if (n <= 0)
        return;
    line[n] = '\0';
    sscanf(line, "%15s %d %d %n", command, &rank, &pid, &at);
    if (strcmp(command, "exited") == 0)
        server_rank_exited(f->server, rank, pid, line + at);
    else if (strcmp(command, "tell") == 0)
        agent_link_exited(f->link, rank, pid, line + at);
    else if (strcmp(command, "link") == 0)
        assert_int_equal(
            agent_link_open(&f->link, f->base, f->address, "job", secret, rank, on_lost, f, &why),
            0);
    else if (strcmp(command, "quit") == 0)
        event_base_loopbreak(f->base);
    if (strcmp(command, "unlink") == 0 || strcmp(command, "quit") == 0) {
        agent_link_close(f->link);
        f->link = NULL;
    }
}

static void *run_loop(void *arg)
{
    struct fixture *f = arg;

    event_base_dispatch(f->base);
    return NULL;
}

static struct fixture *start(int size, int stall_ms)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct server_events events = {on_abort, on_stall, on_refused, f};
    struct server_config config = {.job = "job",
                                   .secret = secret,
                                   .size = size,
                                   .hosts = 4,
                                   .host_of = f->host_of,
                                   .host_names = names,
                                   .stall_ms = stall_ms,
                                   .bind_ip = "127.0.0.1"};
    struct fault why;

    f->size = size;
    for (int i = 0; i < size; i++)
        f->host_of[i] = i % 4;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->control), 0);
    f->base = event_base_new();
    assert_int_equal(server_open(&f->server, f->base, &config, &events, &why), 0);
    address_format(server_address(f->server), f->address);
    f->on_control = event_new(f->base, f->control[1], EV_READ | EV_PERSIST, on_control, f);
    event_add(f->on_control, NULL);
    assert_int_equal(pthread_create(&f->thread, NULL, run_loop, f), 0);
    return f;
}

static void tell(struct fixture *f, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    assert_true(send(f->control[0], line, strlen(line), 0) > 0);
}

static void stop(struct fixture *f)
{
    tell(f, "quit");
    pthread_join(f->thread, NULL);
    for (int i = 0; i < RANKS_MAX; i++)
        client_close(f->ranks[i]);
    server_close(f->server);
    event_free(f->on_control);
    event_base_free(f->base);
    close(f->control[0]);
    close(f->control[1]);
    free(f);
}

/* The server's next report. */
static void heard(struct fixture *f, const char *expected)
{
    struct pollfd p = {.fd = f->control[0], .events = POLLIN};
    char line[1024] = "";

    if (poll(&p, 1, PATIENCE_MS) == 1)
        line[recv(p.fd, line, sizeof(line) - 1, 0)] = '\0';
    if (!strstr(line, expected))
        fail_msg("heard \"%s\" instead of \"%s\"", line, expected);
}

static void heard_nothing(struct fixture *f)
{
    struct pollfd p = {.fd = f->control[0], .events = POLLIN};

    assert_int_equal(poll(&p, 1, 0), 0);
}

static struct client *open_rank(struct fixture *f, int rank, uint32_t generation)
{
    struct fault why = {0};
    struct client *c;

    if (client_open(&c, f->address, "job", secret, rank, generation, clock_ms() + PATIENCE_MS,
                    &why))
        fail_msg("%s", why.text);
    return c;
}

static void send_text(struct client *c, uint8_t type, const char *format, ...)
{
    char text[1024];
    struct fault why;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert_int_equal(client_send(c, type, text, (uint32_t)strlen(text), &why), 0);
}

static void next_frame(struct client *c, struct frame *out)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    struct fault why;
    int rc;

    while ((rc = client_poll(c, out, &why)) == 0) {
        struct pollfd p = {.fd = client_fd(c), .events = POLLIN};

        if (poll(&p, 1, clock_left_ms(deadline)) == 0)
            fail_msg("nothing came from the coordinator");
    }
    if (rc < 0)
        fail_msg("%s", why.text);
}

static json_t *expect(struct client *c, uint8_t type)
{
    struct frame f;

    next_frame(c, &f);
    if (f.type != type)
        fail_msg("frame %u instead of %u: %s", f.type, type, f.payload);
    return json_loadb((char *)f.payload, f.size, 0, NULL);
}

/* A frame of that type whose "text" holds `text` (its "rank" or "code" is `number`). */
static void expect_text(struct client *c, uint8_t type, const char *key, int number,
                        const char *text)
{
    json_t *message = expect(c, type);
    const char *got = json_string_value(json_object_get(message, "text"));

    assert_int_equal(json_integer_value(json_object_get(message, key)), number);
    if (!got || !strstr(got, text))
        fail_msg("\"%s\" instead of \"%s\"", got, text);
    json_decref(message);
}

static void expect_rank(struct client *c, uint8_t type, int rank)
{
    json_t *message = expect(c, type);

    assert_int_equal(json_integer_value(json_object_get(message, "rank")), rank);
    json_decref(message);
}

/* Nothing is on its way: what the server answers to a BREAK of no interest comes next. */
static void expect_closed(struct client *c)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    struct fault why;
    struct frame f;
    int rc;

    while ((rc = client_poll(c, &f, &why)) == 0) {
        struct pollfd p = {.fd = client_fd(c), .events = POLLIN};

        if (poll(&p, 1, clock_left_ms(deadline)) == 0)
            fail_msg("the coordinator did not close the connection");
    }
    assert_int_equal(rc, ML_ERR_PEER);
}

static void join(struct fixture *f, int rank, int timeout_ms)
{
    send_text(f->ranks[rank], COORD_JOIN, "{\"pid\": %d, \"timeout_ms\": %d}", HOST_PID + rank,
              timeout_ms);
}

static struct fixture *start_joined(int size, int stall_ms)
{
    struct fixture *f = start(size, stall_ms);

    for (int i = 0; i < size; i++) {
        f->ranks[i] = open_rank(f, i, 1);
        join(f, i, PATIENCE_MS);
    }
    for (int i = 0; i < size; i++)
        json_decref(expect(f->ranks[i], COORD_WELCOME));
    return f;
}

static void close_rank(struct fixture *f, int rank)
{
    client_close(f->ranks[rank]);
    f->ranks[rank] = NULL;
}

static void test_join(void **state)
{
    struct fixture *f = start(3, 0);
    json_t *welcome;

    (void)state;
    for (int i = 0; i < 3; i++) {
        f->ranks[i] = open_rank(f, i, 7);
        join(f, i, PATIENCE_MS);
    }
    for (int i = 0; i < 3; i++) {
        welcome = expect(f->ranks[i], COORD_WELCOME);
        assert_int_equal(json_integer_value(json_object_get(welcome, "size")), 3);
        assert_int_equal(json_array_size(json_object_get(welcome, "hosts")), 3);
        assert_int_equal(json_integer_value(json_array_get(json_object_get(welcome, "hosts"), 2)),
                         2);
        assert_string_equal(json_string_value(json_array_get(json_object_get(welcome, "names"), 1)),
                            "b");
        json_decref(welcome);
    }
    stop(f);
}

static void test_generations_are_independent(void **state)
{
    struct fixture *f = start_joined(2, 0);
    struct client *next[2] = {open_rank(f, 0, 2), open_rank(f, 1, 2)};

    (void)state;
    for (int i = 0; i < 2; i++)
        send_text(next[i], COORD_JOIN, "{\"pid\": 5, \"timeout_ms\": %d}", PATIENCE_MS);
    for (int i = 0; i < 2; i++)
        json_decref(expect(next[i], COORD_WELCOME));
    /* A death in the first one is none in the second: that hears only of its own break. */
    close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b (pid 1001) has ended");
    send_text(next[0], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"mine\"}");
    expect_text(next[0], COORD_BROKEN, "code", -4, "mine");
    expect_text(next[1], COORD_BROKEN, "code", -4, "mine");
    client_close(next[0]);
    client_close(next[1]);
    stop(f);
}

static void test_held_twice(void **state)
{
    struct fixture *f = start_joined(2, 0);
    struct client *second = open_rank(f, 1, 1);

    (void)state;
    send_text(second, COORD_JOIN, "{\"pid\": 5, \"timeout_ms\": 1000}");
    expect_text(second, COORD_FAILED, "code", ML_ERR_STATE,
                "rank 1 on host b is held by another process (pid 1001)");
    client_close(second);
    stop(f);
}

static void test_unknown_rank(void **state)
{
    struct fixture *f = start(2, 0);
    struct client *c = open_rank(f, 2, 1);

    (void)state;
    expect_text(c, COORD_FAILED, "code", ML_ERR_REFUSED, "expects no rank 2");
    heard(f, "expects no rank 2");
    client_close(c);
    stop(f);
}

static void test_time_out(void **state)
{
    struct fixture *f = start(9, 0);

    (void)state;
    f->ranks[0] = open_rank(f, 0, 1);
    f->ranks[1] = open_rank(f, 1, 1);
    join(f, 1, PATIENCE_MS);
    join(f, 0, 50);
    for (int i = 0; i < 2; i++)
        expect_text(
            f->ranks[i], COORD_FAILED, "code", ML_ERR_TIMEOUT,
            "rank 2 on host c, rank 3 on host d, rank 4 on host a, rank 5 on host b, rank 6 "
            "on host c and 2 more have not called ml_init within 0.05 s");
    /* Who comes too late hears at once. */
    f->ranks[2] = open_rank(f, 2, 1);
    join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_TIMEOUT, "have not called ml_init");
    stop(f);
}

static void test_one_missing(void **state)
{
    struct fixture *f = start(2, 0);

    (void)state;
    f->ranks[0] = open_rank(f, 0, 1);
    join(f, 0, 0);
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_TIMEOUT,
                "rank 1 on host b has not called ml_init within 0 s");
    stop(f);
}

static void test_exited_without_joining(void **state)
{
    static const char text[] =
        "rank 1 exited with status 0 on host b (pid 9) without calling ml_init";
    struct fixture *f = start(3, 0);

    (void)state;
    f->ranks[0] = open_rank(f, 0, 1);
    join(f, 0, PATIENCE_MS);
    tell(f, "exited 1 9 exited with status 0 on host b (pid 9)");
    expect_text(f->ranks[0], COORD_FAILED, "code", ML_ERR_PEER, text);
    f->ranks[2] = open_rank(f, 2, 2);
    join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_PEER, text);
    stop(f);
}

static void test_died_while_others_join(void **state)
{
    static const char text[] =
        "rank 0 was killed by signal 9 (Killed) on host a (pid 1000) before all ranks had called "
        "ml_init";
    struct fixture *f = start(3, 0);

    (void)state;
    for (int i = 0; i < 2; i++) {
        f->ranks[i] = open_rank(f, i, 1);
        join(f, i, PATIENCE_MS);
    }
    close_rank(f, 0);
    tell(f, "exited 0 1000 was killed by signal 9 (Killed) on host a (pid 1000)");
    expect_text(f->ranks[1], COORD_FAILED, "code", ML_ERR_PEER, text);
    f->ranks[2] = open_rank(f, 2, 1);
    join(f, 2, PATIENCE_MS);
    expect_text(f->ranks[2], COORD_FAILED, "code", ML_ERR_PEER, text);
    stop(f);
}

static void test_death(void **state)
{
    struct fixture *f = start_joined(4, 0);

    (void)state;
    /* The agent's word comes before the end of the connection, after it, or not at all. */
    tell(f, "exited 1 1001 exited with status 3 on host b (pid 1001)");
    close_rank(f, 1);
    for (int i = 0; i < 4; i++) {
        if (i != 1)
            expect_text(f->ranks[i], COORD_DEAD, "rank", 1,
                        "rank 1 exited with status 3 on host b (pid 1001)");
    }
    close_rank(f, 2);
    tell(f, "exited 2 1002 was killed by signal 11 (Segmentation fault) on host c (pid 1002)");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 was killed by signal 11");
    expect_text(f->ranks[3], COORD_DEAD, "rank", 2, "rank 2 was killed by signal 11");
    close_rank(f, 3);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 3,
                "rank 3 on host d (pid 1003) has ended without calling ml_finalize");
    stop(f);
}

static void test_socket_outlives_process(void **state)
{
    struct fixture *f = start_joined(2, 0);

    (void)state;
    /* As if a forked child held the socket: nothing is closed. */
    tell(f, "exited 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    expect_closed(f->ranks[1]);
    stop(f);
}

static void test_child_holds_the_claim(void **state)
{
    struct fixture *f = start_joined(2, 0);

    (void)state;
    /* The first process (another pid) has ended, the holder has not: it still takes part. */
    tell(f, "exited 1 77 exited with status 0 on host b (pid 77)");
    send_text(f->ranks[1], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"alive\"}");
    expect_text(f->ranks[0], COORD_BROKEN, "code", -4, "alive");
    close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b (pid 1001) has ended");
    stop(f);
}

static void test_leave(void **state)
{
    struct fixture *f = start_joined(2, 0);
    uint8_t exchange[16] = {[7] = 1, [11] = 1};
    struct fault why;

    (void)state;
    send_text(f->ranks[1], COORD_LEAVE, "{}");
    expect_rank(f->ranks[1], COORD_LEFT, 1);
    expect_rank(f->ranks[0], COORD_LEFT, 1);
    /* Its end is no death: what comes next is the answer to an exchange that lacks it. */
    close_rank(f, 1);
    tell(f, "exited 1 1001 exited with status 0 on host b (pid 1001)");
    assert_int_equal(client_send(f->ranks[0], COORD_EXCHANGE, exchange, sizeof(exchange), &why), 0);
    expect_text(f->ranks[0], COORD_BROKEN, "code", ML_ERR_PEER,
                "rank 1 on host b has called ml_finalize");
    stop(f);
}

/* A payload of `count` blobs: blob i is text[i]. */
static void send_blobs(struct client *c, uint32_t group, uint32_t seq, int count,
                       const char *const *text)
{
    uint8_t payload[4096], *end = payload + 12;
    uint32_t word[3] = {htonl(group), htonl(seq), htonl((uint32_t)count)};
    struct fault why;

    memcpy(payload, word, 12);
    for (int i = 0; i < count; i++) {
        uint32_t size = htonl((uint32_t)strlen(text[i]));

        memcpy(end, &size, 4);
        memcpy(end + 4, text[i], strlen(text[i]));
        end += 4 + strlen(text[i]);
    }
    assert_int_equal(client_send(c, COORD_EXCHANGE, payload, (uint32_t)(end - payload), &why), 0);
}

/* EXCHANGED, its blobs joined with commas. */
static void expect_blobs(struct client *c, uint32_t seq, int count, const char *expected)
{
    char text[4096] = "";
    const uint8_t *at, *end;
    uint32_t word[3];
    struct frame f;

    next_frame(c, &f);
    assert_int_equal(f.type, COORD_EXCHANGED);
    memcpy(word, f.payload, 12);
    assert_int_equal(ntohl(word[1]), seq);
    assert_int_equal(ntohl(word[2]), count);
    end = f.payload + f.size;
    for (at = f.payload + 12; at < end;) {
        uint32_t size;

        memcpy(&size, at, 4);
        size = ntohl(size);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s,", (int)size, at + 4);
        at += 4 + size;
    }
    assert_string_equal(text, expected);
}

static void test_exchange(void **state)
{
    struct fixture *f = start_joined(3, 0);

    (void)state;
    for (int i = 0; i < 3; i++)
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){i == 1 ? "" : "x"});
    for (int i = 0; i < 3; i++)
        expect_blobs(f->ranks[i], 1, 3, "x,,x,");
    /* One for each: rank i's blob for rank j is "ij". Rank 2 has one for all. */
    send_blobs(f->ranks[0], 0, 2, 3, (const char *const[]){"00", "01", "02"});
    send_blobs(f->ranks[1], 0, 2, 3, (const char *const[]){"10", "1one", "12"});
    send_blobs(f->ranks[2], 0, 2, 1, (const char *const[]){"2"});
    expect_blobs(f->ranks[0], 2, 3, "00,10,2,");
    expect_blobs(f->ranks[1], 2, 3, "01,1one,2,");
    expect_blobs(f->ranks[2], 2, 3, "02,12,2,");
    stop(f);
}

static void test_exchange_of_many(void **state)
{
    struct fixture *f = start_joined(RANKS_MAX, 0);
    char expected[RANKS_MAX * 4 + 1] = "", blob[4];

    (void)state;
    for (int i = 0; i < RANKS_MAX; i++) {
        snprintf(blob, sizeof(blob), "%d", i);
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%d,", i);
        send_blobs(f->ranks[i], 0, 1, 1, (const char *const[]){blob});
    }
    for (int i = 0; i < RANKS_MAX; i++)
        expect_blobs(f->ranks[i], 1, RANKS_MAX, expected);
    stop(f);
}

static void test_large_exchange(void **state)
{
    struct fixture *f = start_joined(2, 0);
    uint32_t size = 3 << 20;
    uint8_t *payload = calloc(1, 16 + size);
    uint32_t word[4] = {0, htonl(1), htonl(1), htonl(size)};
    struct frame got;
    struct fault why;

    (void)state;
    memset(payload + 16, 'x', size);
    memcpy(payload, word, 16);
    for (int i = 0; i < 2; i++)
        assert_int_equal(client_send(f->ranks[i], COORD_EXCHANGE, payload, 16 + size, &why), 0);
    for (int i = 0; i < 2; i++) {
        next_frame(f->ranks[i], &got);
        assert_int_equal(got.type, COORD_EXCHANGED);
        assert_int_equal(got.size, 12 + 2 * (4 + size));
        assert_memory_equal(got.payload + 16, payload + 16, size);
    }
    free(payload);
    stop(f);
}

static void test_exchange_with_the_dead(void **state)
{
    struct fixture *f = start_joined(3, 0);

    (void)state;
    send_blobs(f->ranks[0], 0, 1, 1, (const char *const[]){"x"});
    close_rank(f, 2);
    /* Who waits, and who comes later. */
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 on host c");
    expect_text(f->ranks[0], COORD_BROKEN, "code", ML_ERR_PEER, "rank 2 on host c");
    expect_text(f->ranks[1], COORD_DEAD, "rank", 2, "rank 2 on host c");
    send_blobs(f->ranks[1], 0, 1, 1, (const char *const[]){"x"});
    expect_text(f->ranks[1], COORD_BROKEN, "code", ML_ERR_PEER, "rank 2 on host c");
    stop(f);
}

static void split(struct fixture *f, int rank, int group, int color, int key)
{
    f->split_group = group;
    send_text(f->ranks[rank], COORD_SPLIT,
              "{\"group\": %d, \"seq\": 4, \"color\": %d, \"key\": %d}", group, color, key);
}

static json_int_t expect_split(struct fixture *f, int rank, const char *expected)
{
    json_t *message = expect(f->ranks[rank], COORD_SPLITTED);
    json_int_t group = json_integer_value(json_object_get(message, "group"));
    char *members = json_dumps(json_object_get(message, "members"), JSON_COMPACT);

    assert_string_equal(members, expected);
    assert_int_equal(json_integer_value(json_object_get(message, "seq")), 4);
    assert_int_equal(json_integer_value(json_object_get(message, "parent")), f->split_group);
    free(members);
    json_decref(message);
    return group;
}

static void test_split(void **state)
{
    struct fixture *f = start_joined(5, 0);
    json_int_t even, odd;

    (void)state;
    split(f, 0, 0, 2, -1);
    split(f, 1, 0, 1, 9);
    split(f, 2, 0, 2, -5);
    split(f, 3, 0, 1, 9);
    split(f, 4, 0, -1, 0);
    even = expect_split(f, 0, "[2,0]");
    odd = expect_split(f, 1, "[1,3]");
    assert_int_equal(expect_split(f, 2, "[2,0]"), even);
    assert_int_equal(expect_split(f, 3, "[1,3]"), odd);
    assert_int_equal(expect_split(f, 4, "[]"), -1);
    assert_true(even > 0 && odd > 0 && even != odd);
    /* The groups work, apart from each other, in their own order. */
    send_blobs(f->ranks[0], (uint32_t)even, 1, 2, (const char *const[]){"to 2", "to 0"});
    send_blobs(f->ranks[2], (uint32_t)even, 1, 1, (const char *const[]){"two"});
    expect_blobs(f->ranks[2], 1, 2, "two,to 2,");
    expect_blobs(f->ranks[0], 1, 2, "two,to 0,");
    /* Freed by one, broken by the other; then gone. */
    send_text(f->ranks[1], COORD_FREE, "{\"group\": %d}", (int)odd);
    send_text(f->ranks[3], COORD_FREE, "{\"group\": %d}", (int)odd);
    split(f, 0, (int)even, 0, 0);
    split(f, 2, (int)even, 0, 0);
    assert_true(expect_split(f, 0, "[2,0]") != even);
    stop(f);
}

static void test_break(void **state)
{
    struct fixture *f = start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_BREAK, "{\"group\": 0, \"code\": -4, \"text\": \"first\"}");
    for (int i = 0; i < 3; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", -4, "first");
    /* The first word counts, for ever. */
    send_text(f->ranks[0], COORD_BREAK, "{\"group\": 0, \"code\": -5, \"text\": \"second\"}");
    expect_text(f->ranks[0], COORD_BROKEN, "code", -4, "first");
    split(f, 2, 0, 0, 0);
    expect_text(f->ranks[2], COORD_BROKEN, "code", -4, "first");
    stop(f);
}

static void test_relay(void **state)
{
    struct fixture *f = start_joined(3, 0);
    json_t *message, *word;

    (void)state;
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 2, \"word\": {\"rail\": 3}}");
    message = expect(f->ranks[2], COORD_RELAYED);
    word = json_object_get(message, "word");
    assert_int_equal(json_integer_value(json_object_get(message, "group")), 0);
    assert_int_equal(json_integer_value(json_object_get(message, "from")), 1);
    assert_int_equal(json_integer_value(json_object_get(word, "rail")), 3);
    json_decref(message);
    /* To one who has left: nobody hears it, and nobody is blamed. */
    send_text(f->ranks[2], COORD_LEAVE, "{}");
    expect_rank(f->ranks[1], COORD_LEFT, 2);
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 2, \"word\": {}}");
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 1, \"word\": {}}");
    json_decref(expect(f->ranks[1], COORD_RELAYED));
    send_text(f->ranks[1], COORD_RELAY, "{\"group\": 0, \"to\": 3, \"word\": {}}");
    heard(f, "refused the coordinator cut off rank 1 on host b: its RELAY is malformed");
    send_text(f->ranks[0], COORD_RELAY, "{\"group\": 7, \"to\": 0, \"word\": {}}");
    heard(f, "refused the coordinator cut off rank 0 on host a: its RELAY names a group that it is "
             "not in");
    stop(f);
}

static void wait_in(struct fixture *f, int rank, int seq, const char *call, const char *signature,
                    const char *peers)
{
    send_text(
        f->ranks[rank], COORD_WAITING,
        "{\"group\": 0, \"seq\": %d, \"call\": \"%s\", \"signature\": \"%s\", \"peers\": [%s]}",
        seq, call, signature, peers);
}

static void test_mismatch(void **state)
{
    struct fixture *f = start_joined(3, 0);

    (void)state;
    wait_in(f, 0, 5, "barrier", "barrier()", "");
    wait_in(f, 1, 6, "all_reduce", "all_reduce(3 x float32, sum)", "");
    wait_in(f, 2, 6, "all_gather", "all_gather(12 bytes)", "");
    for (int i = 0; i < 3; i++)
        expect_text(f->ranks[i], COORD_BROKEN, "code", ML_ERR_MISMATCH,
                    "rank 1 on host b is in all_reduce(3 x float32, sum), rank 2 on host c in "
                    "all_gather(12 bytes) (call 6 of the world group)");
    stop(f);
}

static void test_stall(void **state)
{
    struct fixture *f =
        start_joined(4, 1900); /* 0.9 s after the first word of it: all have said it */

    (void)state;
    for (int i = 0; i < 3; i++)
        wait_in(f, i, 17, "all_reduce", "all_reduce(3 x float32, sum)", "");
    heard(f,
          "stall rank 3 on host d has not come to all_reduce (call 17 of the world group); ranks "
          "0, 1, 2 have waited 1 s for it");
    /* Once a stall; a new one, in which rank 2 waits for somebody else, is a line of its own. */
    for (int i = 0; i < 3; i++)
        send_text(f->ranks[i], COORD_MOVING, "{\"group\": 0}");
    wait_in(f, 2, 0, "recv", "recv(8 bytes)", "3");
    heard(f,
          "stall rank 2 on host c has waited 1 s in recv for rank 3 on host d (the world group)");
    wait_in(f, 0, 18, "broadcast", "broadcast", "2");
    heard(f,
          "stall rank 2 on host c has not come to broadcast (call 18 of the world group); rank 0 "
          "has waited 1 s for it; it waits itself in recv for rank 3");
    heard_nothing(f);
    stop(f);
}

static void test_abort(void **state)
{
    struct fixture *f = start_joined(2, 0);

    (void)state;
    send_text(f->ranks[1], COORD_ABORT, "{\"status\": 7, \"why\": \"no data\"}");
    expect_rank(f->ranks[1], COORD_LEFT, 1);
    heard(f, "abort 1 7 no data");
    close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b called ml_abort: no data");
    stop(f);
}

static void test_agent_link(void **state)
{
    struct fixture *f = start_joined(4, 0);

    (void)state;
    tell(f, "link 1");
    tell(f, "tell 1 1001 was killed by signal 9 (Killed) on host b (pid 1001)");
    close_rank(f, 1);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    expect_text(f->ranks[2], COORD_DEAD, "rank", 1, "rank 1 was killed by signal 9 (Killed)");
    stop(f);
}

static void test_lost_host(void **state)
{
    struct auth_identity me = {.purpose = "agent", .rank = 2};
    struct fixture *f = start_joined(4, 0);
    struct frame_reader *r;
    struct address to;
    struct fault why;
    int fd;

    (void)state;
    assert_int_equal(frame_reader_create(&r, FRAME_LIMIT, &why), 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(auth_connect(fd, r, "job", secret, &me, clock_ms() + PATIENCE_MS, &why), 0);
    close(fd);
    frame_reader_destroy(r);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_text(f->ranks[1], COORD_DEAD, "rank", 2, "rank 2 is gone: host c was lost");
    expect_closed(f->ranks[2]);
    stop(f);
}

static void test_strangers(void **state)
{
    static const uint8_t other[AUTH_SECRET] = {9};
    static const char http[] = "GET / HTTP/1.1\r\n\r\n";
    struct fixture *f = start(2, 0);
    struct client *c = NULL;
    struct address to;
    struct fault why;
    char rest[256];
    int fd;

    (void)state;
    assert_int_equal(
        client_open(&c, f->address, "job", other, 0, 1, clock_ms() + PATIENCE_MS, &why),
        ML_ERR_REFUSED);
    heard(f, "refused the coordinator refused a connection from 127.0.0.1:");
    assert_int_equal(client_open(&c, f->address, "x", secret, 0, 1, clock_ms() + PATIENCE_MS, &why),
                     ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "another job"));
    heard(f, "(2 so far): it belongs to another job");
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    assert_int_equal(send(fd, http, sizeof(http), MSG_NOSIGNAL), sizeof(http));
    heard(f, "(3 so far)");
    shutdown(fd, SHUT_WR);
    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS) == 1 &&
           recv(fd, rest, sizeof(rest), 0) > 0)
        ;
    close(fd);
    /* The job goes on. */
    for (int i = 0; i < 2; i++) {
        f->ranks[i] = open_rank(f, i, 1);
        join(f, i, PATIENCE_MS);
    }
    json_decref(expect(f->ranks[0], COORD_WELCOME));
    stop(f);
}

/* Takes the 10 s that a stranger gets. */
static void test_silent_stranger(void **state)
{
    struct fixture *f;
    struct address to;
    struct fault why;
    char rest[16];
    int fd;

    (void)state;
    f = start(2, 0);
    assert_int_equal(address_parse(&to, f->address, &why), 0);
    assert_int_equal(address_connect(&to, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    heard(f, "it did not prove within 10 s that it belongs to this job");
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
    assert_int_equal(recv(fd, rest, sizeof(rest), 0), 0);
    close(fd);
    stop(f);
}

static void test_nonsense_of_a_rank(void **state)
{
    struct fixture *f = start_joined(3, 0);

    (void)state;
    send_text(f->ranks[1], COORD_SPLIT, "[1, 2]");
    heard(f, "refused the coordinator cut off rank 1 on host b: message 18 is not a JSON object");
    expect_closed(f->ranks[1]);
    expect_text(f->ranks[0], COORD_DEAD, "rank", 1, "rank 1 on host b");
    send_blobs(f->ranks[2], 0, 1, 2, (const char *const[]){"two", "of three"});
    heard(f, "cut off rank 2 on host c: its EXCHANGE is malformed");
    expect_text(f->ranks[0], COORD_DEAD, "rank", 2, "rank 2 on host c");
    stop(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_generations_are_independent),
        cmocka_unit_test(test_held_twice),
        cmocka_unit_test(test_unknown_rank),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_one_missing),
        cmocka_unit_test(test_exited_without_joining),
        cmocka_unit_test(test_died_while_others_join),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_socket_outlives_process),
        cmocka_unit_test(test_child_holds_the_claim),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_exchange_of_many),
        cmocka_unit_test(test_large_exchange),
        cmocka_unit_test(test_exchange_with_the_dead),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_break),
        cmocka_unit_test(test_relay),
        cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_agent_link),
        cmocka_unit_test(test_lost_host),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_nonsense_of_a_rank),
    };

    static const struct CMUnitTest long_tests[] = {
        cmocka_unit_test(test_silent_stranger),
    };

    if (getenv("MLAUNCH_TEST_LONG"))
        return cmocka_run_group_tests_name("coordinator, long", long_tests, NULL, NULL);
    return cmocka_run_group_tests_name("coordinator", tests, NULL, NULL);
}
