/* SPDX-License-Identifier: MIT */
/*
 * test_uplink_hub.c: the head and the hosts that call it, over real sockets: who is let in, who is
 * not, and what a channel carries. The hosts' ends are on the same loop; only the handshake, which
 * blocks, is done in a thread.
 */
#include "launcher/wire/uplink/uplink_hub.h"

#include "common/clock.h"
#include "common/net/address.h"
#include "common/net/stranger_limits.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/stream/uplink_stream.h"
#include "launcher/wire/uplink/uplink_call.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 3, PATIENCE_MS = 30000, FLOOD = 600, GUESTS_MOST = STRANGERS_UPLINK + 2 * HOSTS };

static const uint8_t key[AUTH_SECRET] = {1, 2, 3};
static const uint8_t other_key[AUTH_SECRET] = {1, 2, 4};

static struct event_base *base;
static struct uplink_hub *hub;
static char joined[256], refused[4096]; /* what the head has been told */
static unsigned refusals;

/* One host that calls. */
struct caller {
    struct uplink_call call;
    int fd, rc;
    struct auth_keys keys;
    struct fault why;
    atomic_bool is_done;
    struct uplink_stream *stream;
    char name[32];
    const char *door; /* where it says that it waits for others; NULL: nowhere */
    char told[2048];  /* the frames that have come, as words */
    char data[4096];  /* what DATA frames had */
    size_t data_size;
    bool ended;
};

static void on_joined(int index, const char *name, const char *from, void *arg)
{
    size_t used = strlen(joined);

    (void)from, (void)arg;
    snprintf(joined + used, sizeof(joined) - used, "%d %s; ", index, name);
}

static void on_refused(const char *text, void *arg)
{
    size_t used = strlen(refused);

    (void)arg;
    refusals++;
    snprintf(refused + used, sizeof(refused) - used, "%s\n", text);
}

static int port(void)
{
    return atoi(strrchr(uplink_hub_where(hub), ':') + 1);
}

static void hub_start_tree(int first, int limit_ms, int fanout)
{
    const struct uplink_hub_config config = {.ip = "127.0.0.1",
                                             .hosts = HOSTS,
                                             .first = first,
                                             .fanout = fanout,
                                             .limit_ms = limit_ms,
                                             .key = key};
    const struct uplink_hub_events events = {.on_joined = on_joined, .on_refused = on_refused};
    struct fault why;

    assert_int_equal(uplink_hub_open(&hub, base, &config, &events, &why), 0);
}

static void hub_start(int first, int limit_ms)
{
    hub_start_tree(first, limit_ms, 0);
}

static int set_up(void **state)
{
    (void)state;
    joined[0] = refused[0] = '\0';
    refusals = 0;
    base = event_base_new();
    hub_start(0, PATIENCE_MS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uplink_hub_close(hub, 0);
    hub = NULL;
    event_base_free(base);
    return 0;
}

/* Runs the loop until `condition` holds. */
#define LOOP_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int64_t until_ = clock_ms() + PATIENCE_MS;                                                 \
                                                                                                   \
        while (!(condition)) {                                                                     \
            if (clock_ms() > until_)                                                               \
                fail_msg("never: %s (refused: %s)", #condition, refused);                          \
            loop_once();                                                                           \
        }                                                                                          \
    } while (0)

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
}

static void loop_once(void)
{
    static const struct timeval tick = {.tv_usec = 5000};

    event_base_once(base, -1, EV_TIMEOUT, on_tick, NULL, &tick);
    event_base_loop(base, EVLOOP_ONCE);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void *call_run(void *arg)
{
    struct caller *c = arg;

    c->rc = uplink_call(&c->fd, &c->keys, &c->call, &c->why);
    c->is_done = true;
    return NULL;
}

static struct caller *caller_create(int index, const uint8_t *with)
{
    struct caller *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->fd = -1;
    c->call = (struct uplink_call){.host = "127.0.0.1",
                                   .port = port(),
                                   .index = index,
                                   .hosts = HOSTS,
                                   .key = with,
                                   .limit_ms = PATIENCE_MS};
    snprintf(c->name, sizeof(c->name), "n%d", index);
    return c;
}

static void caller_call(struct caller *c)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, call_run, c), 0);
    LOOP_UNTIL(c->is_done);
    pthread_join(thread, NULL);
}

static void told(struct caller *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void told(struct caller *c, const char *format, ...)
{
    size_t used = strlen(c->told);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(c->told + used, sizeof(c->told) - used, format, arguments);
    va_end(arguments);
}

static void on_caller_frame(const struct frame *f, void *arg)
{
    struct caller *c = arg;
    const uint8_t *rest = f->payload;
    size_t size = f->size;
    uint32_t word = 0;
    struct frame inner;

    if (f->type == UPLINK_ADMITTED) {
        told(c, "admitted; ");
        if (c->door)
            uplink_stream_send(c->stream, UPLINK_DOOR, c->door, strlen(c->door));
        uplink_stream_send(c->stream, UPLINK_HERE, c->name, strlen(c->name));
    } else if (f->type == UPLINK_REFUSED) {
        told(c, "refused %s; ", (const char *)f->payload);
    } else if (f->type == UPLINK_GO) {
        told(c, "go %s; ", (const char *)f->payload);
    } else if (f->type == UPLINK_ROUTED) {
        assert_true(uplink_route_take(f, &word, &inner));
        told(c, "to %u: %d; ", word, inner.type);
    } else if (f->type == UPLINK_PING) {
        uplink_stream_send(c->stream, UPLINK_PONG, NULL, 0);
    } else if (uplink_stream_word(f, &word, &rest, &size) && f->type == UPLINK_DATA) {
        assert_true(c->data_size + size < sizeof(c->data));
        memcpy(c->data + c->data_size, rest, size);
        c->data_size += size;
    } else {
        told(c, "%s %u; ",
             f->type == UPLINK_OPEN     ? "open"
             : f->type == UPLINK_SHUT   ? "shut"
             : f->type == UPLINK_CLOSE  ? "close"
             : f->type == UPLINK_STATUS ? "status"
                                        : "?",
             word);
    }
}

static void on_caller_end(const char *why, void *arg)
{
    (void)why;
    ((struct caller *)arg)->ended = true;
}

static void caller_listen(struct caller *c)
{
    const struct uplink_stream_events events = {on_caller_frame, on_caller_end, NULL, c};

    if (c->rc)
        fail_msg("%s", c->why.text);
    assert_int_equal(uplink_stream_open(&c->stream, base, c->fd, &c->keys, &events, &c->why), 0);
}

static struct caller *caller_join(int index)
{
    struct caller *c = caller_create(index, key);
    char text[64];

    caller_call(c);
    caller_listen(c);
    snprintf(text, sizeof(text), "%d n%d; ", index, index);
    LOOP_UNTIL(strstr(joined, text));
    return c;
}

static void caller_free(struct caller *c)
{
    uplink_stream_close(c->stream);
    free(c);
}

/* --- the head's channels ---------------------------------------------------------------------- */

struct reached {
    int fd;
    bool is_done;
    struct fault why;
};

static void on_ready(int fd, const struct fault *why, void *arg)
{
    struct reached *r = arg;

    assert_false(r->is_done);
    *r = (struct reached){fd, true, *why};
}

static size_t bytes_read(int fd, char *out, size_t size)
{
    size_t used = 0;
    int64_t until = clock_ms() + PATIENCE_MS;

    while (used < size && clock_ms() < until) {
        ssize_t n = recv(fd, out + used, size - used, MSG_DONTWAIT);

        if (n == 0)
            break;
        if (n > 0)
            used += (size_t)n;
        else
            loop_once();
    }
    return used;
}

static void test_join(void **state)
{
    struct reached r = {0}, again = {0};
    struct caller *c = caller_join(1);
    char bytes[16];

    (void)state;
    uplink_hub_reach(hub, 1, on_ready, &r);
    assert_true(r.is_done);
    assert_int_equal(r.why.code, 0);
    assert_int_equal(send(r.fd, "to the agent", 12, 0), 12);
    LOOP_UNTIL(c->data_size == 12);
    assert_memory_equal(c->data, "to the agent", 12);
    uplink_stream_send_tagged(c->stream, UPLINK_DATA, 1, "back", 4);
    assert_int_equal(bytes_read(r.fd, bytes, 4), 4);
    assert_memory_equal(bytes, "back", 4);
    /* The head has said all, the agent has not. */
    shutdown(r.fd, SHUT_WR);
    LOOP_UNTIL(strstr(c->told, "shut 1; "));
    uplink_stream_send_tagged(c->stream, UPLINK_DATA, 1, "last", 4);
    uplink_stream_send_tagged(c->stream, UPLINK_ENDED, 1, "it exited\033[2J", 13);
    uplink_stream_send_tagged(c->stream, UPLINK_SHUT, 1, NULL, 0);
    assert_int_equal(bytes_read(r.fd, bytes, sizeof(bytes)), 4);
    assert_string_equal(uplink_hub_reason(hub, 1), "it exited?[2J");
    close(r.fd);
    uplink_hub_hang_up(hub, 1);
    LOOP_UNTIL(strstr(c->told, "close 1; "));
    /* A further agent over the same uplink; what is said about the first does not reach it. */
    uplink_hub_reach(hub, 1, on_ready, &again);
    LOOP_UNTIL(strstr(c->told, "open 2; "));
    uplink_stream_send_tagged(c->stream, UPLINK_DATA, 1, "late", 4);
    uplink_stream_send_tagged(c->stream, UPLINK_DATA, 2, "next", 4);
    assert_int_equal(bytes_read(again.fd, bytes, 4), 4);
    assert_memory_equal(bytes, "next", 4);
    close(again.fd);
    uplink_hub_hang_up(hub, 1);
    /* As the job ends; the host closes once it knows, or is not waited for. */
    uplink_hub_close(hub, 7);
    hub = NULL;
    assert_non_null(strstr(c->told, "status 7; "));
    assert_int_equal(refusals, 0);
    caller_free(c);
}

/* A channel that is wanted before the host has called. */
static void test_wait(void **state)
{
    struct reached r = {0};
    struct caller *c;

    (void)state;
    uplink_hub_reach(hub, 2, on_ready, &r);
    assert_false(r.is_done);
    c = caller_join(2);
    assert_true(r.is_done);
    assert_int_equal(r.why.code, 0);
    close(r.fd);
    caller_free(c);
}

static void test_never_comes(void **state)
{
    struct reached r = {0};

    (void)state;
    uplink_hub_close(hub, 0);
    hub_start(0, 100);
    uplink_hub_reach(hub, 2, on_ready, &r);
    LOOP_UNTIL(r.is_done);
    assert_int_equal(r.why.code, ML_ERR_TIMEOUT);
    assert_non_null(strstr(r.why.text, "has not joined within 0 s"));
    assert_non_null(strstr(r.why.text, "--index 2"));
}

/* Nothing is called after hanging up. */
static void test_hang_up_before(void **state)
{
    struct reached r = {0};
    struct caller *c;

    (void)state;
    uplink_hub_reach(hub, 0, on_ready, &r);
    uplink_hub_hang_up(hub, 0);
    c = caller_join(0);
    assert_false(r.is_done);
    caller_free(c);
}

static void test_lost_and_back(void **state)
{
    struct reached r = {0}, again = {0};
    struct caller *c = caller_join(1);
    char byte;

    (void)state;
    uplink_hub_reach(hub, 1, on_ready, &r);
    caller_free(c);
    assert_int_equal(bytes_read(r.fd, &byte, 1), 0);
    assert_non_null(strstr(uplink_hub_reason(hub, 1), "its connection was lost"));
    close(r.fd);
    uplink_hub_hang_up(hub, 1);
    uplink_hub_reach(hub, 1, on_ready, &again);
    assert_false(again.is_done);
    joined[0] = '\0';
    c = caller_join(1);
    assert_true(again.is_done);
    close(again.fd);
    caller_free(c);
}

/* --- who is not let in ------------------------------------------------------------------------ */

static void test_wrong_key(void **state)
{
    struct caller *c = caller_create(1, other_key);

    (void)state;
    caller_call(c);
    assert_int_equal(c->rc, ML_ERR_REFUSED);
    assert_non_null(strstr(c->why.text, "proof of the job's secret is wrong"));
    LOOP_UNTIL(refusals == 1);
    assert_string_equal(joined, "");
    caller_free(c);
    caller_free(caller_join(1)); /* the place is still free */
}

static void expect_refusal(struct caller *c, const char *words)
{
    caller_call(c);
    caller_listen(c);
    LOOP_UNTIL(c->ended);
    if (!strstr(c->told, words) || !strstr(refused, words))
        fail_msg("%s, %s", c->told, refused);
    assert_null(strstr(c->told, "admitted"));
    caller_free(c);
}

static void test_not_wanted(void **state)
{
    struct caller *first = caller_join(1), *c;

    (void)state;
    expect_refusal(caller_create(1, key), "index 1 has joined already, from 127.0.0.1:");
    expect_refusal(caller_create(HOSTS, key), "the indices 0 to 2, not for 3");
    c = caller_create(2, key);
    c->call.hosts = 5;
    expect_refusal(c, "--hosts 5, and the head with 3");
    assert_false(first->ended);
    caller_free(first);
}

static void test_head_is_index_0(void **state)
{
    (void)state;
    uplink_hub_close(hub, 0);
    hub_start(1, PATIENCE_MS);
    expect_refusal(caller_create(0, key), "the indices 1 to 2, not for 0");
}

static int stranger_connect(void)
{
    struct address a;
    struct fault why;
    int fd;

    assert_int_equal(address_parse(&a, uplink_hub_where(hub), &why), 0);
    assert_int_equal(address_connect(&a, clock_ms() + PATIENCE_MS, &fd, &why), 0);
    return fd;
}

/* The head closes the connection, also if it says something before. */
static void expect_closed(int fd)
{
    char bytes[1024];
    ssize_t n = -1;

    LOOP_UNTIL((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) == 0 ||
               (n < 0 && errno != EAGAIN));
    close(fd);
}

static void test_other_purpose(void **state)
{
    const struct auth_identity me = {.purpose = "mesh", .rank = 1, .group = HOSTS};
    struct auth *a;
    struct fault why;
    struct frame_reader *r;
    enum auth_progress progress = AUTH_MORE;
    int fd = stranger_connect();
    size_t size;

    (void)state;
    assert_int_equal(auth_create_connector(&a, UPLINK_PURPOSE, key, &me, &why), 0);
    assert_int_equal(frame_reader_create(&r, STRANGER_FRAME, &why), 0);
    while (progress != AUTH_DONE) {
        const void *bytes = auth_output(a, &size);
        uint8_t in[1024];
        struct frame f;
        ssize_t n = -1;

        assert_int_equal(send(fd, bytes, size, 0), size);
        LOOP_UNTIL((n = recv(fd, in, sizeof(in), MSG_DONTWAIT)) >= 0);
        assert_int_equal(frame_reader_feed(r, in, (size_t)n, &why), 0);
        assert_int_equal(frame_reader_next(r, &f, &why), 1);
        assert_int_equal(auth_input(a, &f, &progress, &why), 0);
    }
    assert_int_equal(send(fd, auth_output(a, &size), size, 0), size);
    LOOP_UNTIL(strstr(refused, "something else than to join"));
    expect_closed(fd);
    frame_reader_destroy(r);
    auth_destroy(a);
}

/* What a host has sent, sent again. */
static void test_replay(void **state)
{
    struct caller *c;
    uint8_t hello[1024], proof[1024], answer[2048];
    struct auth_identity me = {.purpose = UPLINK_PURPOSE, .rank = 1, .group = HOSTS};
    enum auth_progress progress;
    struct frame_reader *r;
    struct frame f;
    struct fault why;
    struct auth *a;
    size_t hello_size, proof_size;
    ssize_t n = -1;
    int fd = stranger_connect();

    (void)state;
    assert_int_equal(auth_create_connector(&a, UPLINK_PURPOSE, key, &me, &why), 0);
    assert_int_equal(auth_exchange_keys(a, &why), 0);
    assert_int_equal(frame_reader_create(&r, STRANGER_FRAME, &why), 0);
    memcpy(hello, auth_output(a, &hello_size), sizeof(hello));
    assert_int_equal(send(fd, hello, hello_size, 0), hello_size);
    LOOP_UNTIL((n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) > 0);
    assert_int_equal(frame_reader_feed(r, answer, (size_t)n, &why), 0);
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    assert_int_equal(auth_input(a, &f, &progress, &why), 0);
    memcpy(proof, auth_output(a, &proof_size), sizeof(proof));
    close(fd); /* the recorded proof never came there */

    fd = stranger_connect();
    assert_int_equal(send(fd, hello, hello_size, 0), hello_size);
    assert_int_equal(send(fd, proof, proof_size, 0), proof_size);
    LOOP_UNTIL(strstr(refused, "could not prove"));
    expect_closed(fd);
    assert_string_equal(joined, "");
    frame_reader_destroy(r);
    auth_destroy(a);
    c = caller_join(1);
    caller_free(c);
}

static void test_other_build(void **state)
{
    static const char hello[] = "{\"build\":\"b0\"}";
    uint8_t header[FRAME_HEADER];
    int fd = stranger_connect();

    (void)state;
    frame_header(header, AUTH_FRAME_HELLO, sizeof(hello) - 1);
    assert_int_equal(send(fd, header, sizeof(header), 0), sizeof(header));
    assert_int_equal(send(fd, hello, sizeof(hello) - 1, 0), sizeof(hello) - 1);
    LOOP_UNTIL(strstr(refused, "it is build b0, but this is build"));
    expect_closed(fd);
    assert_string_equal(joined, "");
}

static void test_truncated(void **state)
{
    uint8_t header[FRAME_HEADER];

    (void)state;
    frame_header(header, AUTH_FRAME_HELLO, 100);
    for (size_t size = 0; size <= FRAME_HEADER; size += FRAME_HEADER / 2) {
        int fd = stranger_connect();

        assert_int_equal(send(fd, header, size, 0), size);
        shutdown(fd, SHUT_WR);
        expect_closed(fd);
    }
    assert_string_equal(joined, "");
    caller_free(caller_join(0));
}

static void test_oversize(void **state)
{
    static uint8_t bytes[1 << 20];
    uint8_t header[FRAME_HEADER];
    int fd = stranger_connect();

    (void)state;
    frame_header(header, AUTH_FRAME_HELLO, 1 << 16);
    assert_int_equal(send(fd, header, sizeof(header), 0), sizeof(header));
    LOOP_UNTIL(refusals == 1);
    /* Refused, it goes on: it is not read for long. */
    send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
    expect_closed(fd);
    caller_free(caller_join(0));
}

/* More strangers than there is room for push each other out, and keep no host away. */
static void test_flood(void **state)
{
    int fd[FLOOD], open = 0;
    char byte;

    (void)state;
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = stranger_connect();
        /* Who says nothing at all stays in the kernel. */
        send(fd[i], i > FLOOD / 2 ? "GET / HTTP/1.1\r\n" : "\0", i > FLOOD / 2 ? 16 : 1,
             MSG_NOSIGNAL);
        loop_once();
    }
    LOOP_UNTIL(strstr(refused, "too many connections"));
    for (int i = 0; i < HOSTS; i++)
        caller_free(caller_join(i));
    for (int i = 0; i < FLOOD; i++) {
        if (recv(fd[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
            open++;
        close(fd[i]);
    }
    assert_true(open <= GUESTS_MOST);
    assert_true(refusals < 30); /* and not each has a line of its own */
}

static void output_send(struct auth *a, int fd)
{
    size_t size;
    const void *bytes = auth_output(a, &size);

    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static struct auth *hello_send(int fd, const uint8_t *with)
{
    const struct auth_identity me = {.purpose = UPLINK_PURPOSE, .rank = 1, .group = HOSTS};
    struct auth *a;
    struct fault why;

    assert_int_equal(auth_create_connector(&a, UPLINK_PURPOSE, with, &me, &why), 0);
    assert_int_equal(auth_exchange_keys(a, &why), 0);
    output_send(a, fd);
    return a;
}

/* HELLOs without the key take no places. */
static void test_flood_of_hellos(void **state)
{
    int fd[FLOOD];

    (void)state;
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = stranger_connect();
        auth_destroy(hello_send(fd[i], other_key));
        loop_once();
    }
    caller_free(caller_join(1));
    LOOP_UNTIL(strstr(refused, "could not prove"));
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
}

/* Strangers at a host's own address repeat HELLOs that they have seen, more than there is room for,
 * while the host's proof is on its way: the host gets in, and so do those that call later. */
static void test_flood_of_old_hellos(void **state)
{
    enum auth_progress progress;
    int fd[FLOOD], far = stranger_connect();
    struct caller *c = caller_create(1, key);
    struct auth *a = hello_send(far, key);
    struct frame_reader *r;
    struct frame f;
    struct fault why;
    uint8_t in[1024];
    ssize_t n = -1;

    (void)state;
    LOOP_UNTIL((n = recv(far, in, sizeof(in), MSG_DONTWAIT)) > 0);
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = stranger_connect();
        auth_destroy(hello_send(fd[i], key));
        loop_once();
    }
    LOOP_UNTIL(strstr(refused, "too many connections"));
    assert_int_equal(frame_reader_create(&r, STRANGER_FRAME, &why), 0);
    assert_int_equal(frame_reader_feed(r, in, (size_t)n, &why), 0);
    assert_int_equal(frame_reader_next(r, &f, &why), 1);
    assert_int_equal(auth_input(a, &f, &progress, &why), 0);
    assert_int_equal(progress, AUTH_DONE);
    output_send(a, far);
    c->fd = far;
    auth_derive_keys(a, &c->keys);
    caller_listen(c);
    LOOP_UNTIL(strstr(joined, "n1"));
    caller_free(caller_join(2));
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    caller_free(c);
    frame_reader_destroy(r);
    auth_destroy(a);
}

/* --- a host that has the key, and keeps to nothing -------------------------------------------- */

static void expect_cut(int type, const void *bytes, size_t size, bool is_early)
{
    struct caller *c = caller_create(1, key);

    joined[0] = '\0';
    caller_call(c);
    caller_listen(c);
    LOOP_UNTIL(is_early || *joined);
    uplink_stream_send(c->stream, type, bytes, size);
    LOOP_UNTIL(c->ended);
    caller_free(c);
}

static void test_out_of_turn(void **state)
{
    static const uint8_t zeros[8];
    struct reached r = {0};
    struct caller *c;

    (void)state;
    expect_cut(UPLINK_DATA, zeros, sizeof(zeros), true);
    expect_cut(UPLINK_HERE, "again", 5, false);
    expect_cut(UPLINK_DATA, zeros, 3, false);
    /* While a channel is open. */
    joined[0] = '\0';
    c = caller_join(1);
    uplink_hub_reach(hub, 1, on_ready, &r);
    uplink_stream_send_tagged(c->stream, UPLINK_STATUS, 1, NULL, 0);
    LOOP_UNTIL(c->ended);
    assert_non_null(strstr(uplink_hub_reason(hub, 1), "it sent a message of type"));
    close(r.fd);
    caller_free(c);
}

/* --- a tree, here a chain: host 1 is below host 0, and host 2 below host 1 -------------------- */

static struct caller *caller_join_tree(int index)
{
    struct caller *c = caller_create(index, key);

    c->door = "127.0.0.1:9";
    caller_call(c);
    caller_listen(c);
    return c;
}

static void host_below_send(struct caller *by, int host, int type, const char *text)
{
    const struct uplink_route from = {.stream = by->stream, .host = host};

    uplink_route_send(&from, type, text, strlen(text));
}

static void test_tree(void **state)
{
    struct reached r[HOSTS] = {0};
    struct caller *below, *top;
    char bytes[16];

    (void)state;
    uplink_hub_close(hub, 0);
    hub_start_tree(0, PATIENCE_MS, 1);
    for (int i = 0; i < HOSTS; i++)
        uplink_hub_reach(hub, i, on_ready, &r[i]);
    below = caller_join_tree(1);
    loop_once();
    assert_string_equal(below->told, ""); /* the one above is not there */
    expect_refusal(caller_create(1, key), "index 1 has joined already, from 127.0.0.1:");
    top = caller_join_tree(0);
    LOOP_UNTIL(below->ended);
    assert_string_equal(below->told, "go 127.0.0.1:9; ");
    assert_true(r[0].is_done && !r[1].is_done);
    host_below_send(top, 1, UPLINK_DOOR, "127.0.0.1:8");
    host_below_send(top, 1, UPLINK_HERE, "n1");
    host_below_send(top, 2, UPLINK_HERE, "n2");
    LOOP_UNTIL(r[1].is_done && r[2].is_done);
    LOOP_UNTIL(strstr(top->told, "to 2: 19; ")); /* OPEN */
    assert_int_equal(send(r[2].fd, "x", 1, 0), 1);
    LOOP_UNTIL(strstr(top->told, "to 2: 20; ")); /* DATA */
    host_below_send(top, 2, UPLINK_DATA, "nope");
    assert_true(recv(r[2].fd, bytes, 1, MSG_DONTWAIT) < 0); /* there is no such run */
    /* The loss of one is that of those below it, and not of the one above. */
    host_below_send(top, 1, UPLINK_LOST, "cut\033");
    assert_int_equal(bytes_read(r[2].fd, bytes, 1), 0);
    assert_string_equal(uplink_hub_reason(hub, 1), "its connection was lost: cut?");
    assert_string_equal(uplink_hub_reason(hub, 2),
                        "host n1, above it in the tree of --fanout, was lost: cut?");
    assert_int_equal(bytes_read(r[1].fd, bytes, 1), 0);
    assert_true(uplink_hub_has(hub, 0) && !uplink_hub_has(hub, 1) && !uplink_hub_has(hub, 2));
    for (int i = 0; i < HOSTS; i++) {
        close(r[i].fd);
        uplink_hub_hang_up(hub, i);
    }
    caller_free(below);
    caller_free(top);
}

/* The channel of the host that was lost ends before those of the hosts below it. */
static void test_order_of_loss(void **state)
{
    struct reached r[HOSTS] = {0};
    struct caller *top;
    char byte;

    (void)state;
    uplink_hub_close(hub, 0);
    hub_start_tree(0, PATIENCE_MS, 1);
    for (int i = 0; i < HOSTS; i++)
        uplink_hub_reach(hub, i, on_ready, &r[i]);
    top = caller_join_tree(0);
    host_below_send(top, 1, UPLINK_HERE, "n1");
    host_below_send(top, 2, UPLINK_HERE, "n2");
    LOOP_UNTIL(r[0].is_done && r[2].is_done);
    caller_free(top);
    while (recv(r[0].fd, &byte, 1, MSG_DONTWAIT) != 0) {
        assert_true(recv(r[1].fd, &byte, 1, MSG_DONTWAIT) < 0);
        assert_true(recv(r[2].fd, &byte, 1, MSG_DONTWAIT) < 0);
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(bytes_read(r[1].fd, &byte, 1), 0);
    assert_int_equal(bytes_read(r[2].fd, &byte, 1), 0);
    assert_non_null(strstr(uplink_hub_reason(hub, 2), "host n0, above it"));
    for (int i = 0; i < HOSTS; i++) {
        close(r[i].fd);
        uplink_hub_hang_up(hub, i);
    }
}

static void expect_absence(int index, const char *words)
{
    struct reached r = {0};

    uplink_hub_reach(hub, index, on_ready, &r);
    LOOP_UNTIL(r.is_done);
    assert_int_equal(r.why.code, ML_ERR_TIMEOUT);
    if (!strstr(r.why.text, words))
        fail_msg("%s", r.why.text);
}

static void test_tree_never_comes(void **state)
{
    struct caller *below, *top;

    (void)state;
    uplink_hub_close(hub, 0);
    hub_start_tree(0, 100, 1);
    below = caller_join_tree(1);
    expect_absence(1, "has called, but host 0, above it in the tree");
    top = caller_join_tree(0);
    LOOP_UNTIL(below->ended);
    expect_absence(1, "was sent to host n0 at 127.0.0.1:9, above it");
    caller_free(below);
    caller_free(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_never_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hang_up_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lost_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_head_is_index_0, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_purpose, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_build, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_oversize, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood_of_hellos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flood_of_old_hellos, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_of_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tree_never_comes, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
