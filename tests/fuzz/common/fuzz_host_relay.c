/* SPDX-License-Identifier: MIT */
/*
 * fuzz_host_relay.c: an agent that relays for its ranks survives, whatever they and the coordinator
 * send, in any order. Each line of the input is a step:
 *   0 or 1, two digits, payload   that rank's connection sends a frame of that type
 *   c, two digits, payload        so does the coordinator
 *   x, 0, 1 or c                  that connection is closed; o: a rank's is opened (again)
 */
#include "coordinator/host/host_relay.h"

#include "common/net/address.h"
#include "coordinator/protocol.h"

#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RANKS = 2, COORDINATOR = RANKS, CONNECTIONS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t secret[AUTH_SECRET] = {1};
static struct event_base *base;

struct state {
    struct agent_client *client;
    struct host_relay *relay;
    char directory[64];
    int fd[CONNECTIONS]; /* -1: not open */
};

static void loop(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static void write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return; /* closed by the agent */
        at += n;
        size -= (size_t)n;
        loop();
    }
}

/* Either side of a handshake with the agent, which answers on its loop. */
static void shake_hands(int fd, struct auth *a)
{
    enum auth_progress progress = AUTH_MORE;
    struct frame_reader *r;
    uint8_t bytes[4096];
    struct fault why;
    struct frame f;
    size_t size;
    const void *out;

    if (frame_reader_create(&r, FRAME_LIMIT_SMALL, &why))
        abort();
    for (int i = 0; i < 100 && progress != AUTH_DONE; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        out = auth_output(a, &size);
        write_all(fd, out, size);
        loop();
        if (poll(&p, 1, 10) < 1)
            continue;
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n <= 0 || frame_reader_feed(r, bytes, (size_t)n, &why))
            abort();
        while (progress != AUTH_DONE && frame_reader_next(r, &f, &why) == 1) {
            if (auth_input(a, &f, &progress, &why))
                abort();
        }
    }
    if (progress != AUTH_DONE)
        abort();
    out = auth_output(a, &size);
    write_all(fd, out, size);
    loop();
    frame_reader_destroy(r);
    auth_destroy(a);
}

static void open_rank(struct state *s, int rank)
{
    struct auth_identity me = {.purpose = "rank", .rank = rank, .generation = 1};
    struct address at;
    struct fault why;
    struct auth *a;

    if (s->fd[rank] >= 0)
        return;
    if (address_make_local(&at, s->directory, COORD_SOCKET, &why) ||
        address_connect_start(&at, &s->fd[rank], &why) ||
        auth_create_connector(&a, "job", secret, &me, &why))
        abort();
    if (s->fd[COORDINATOR] < 0) { /* the agent refuses it */
        auth_destroy(a);
        loop();
        return;
    }
    shake_hands(s->fd[rank], a);
}

static void close_connection(struct state *s, int which)
{
    if (s->fd[which] >= 0)
        close(s->fd[which]);
    s->fd[which] = -1;
}

static void on_lost(const char *text, void *arg)
{
    struct state *s = arg;

    (void)text;
    host_relay_lost(s->relay);
}

static void on_exchanged(uint32_t number, const void *bytes, size_t size, void *arg)
{
    (void)number, (void)bytes, (void)size, (void)arg;
}

static void on_named(int ask, bool is_done, const char *port, void *arg)
{
    (void)ask, (void)is_done, (void)port, (void)arg;
}

static void on_passed(int host, const void *bytes, size_t size, void *arg)
{
    (void)host, (void)bytes, (void)size, (void)arg;
}

static void on_to_ranks(const uint8_t *channels, uint32_t count, uint8_t type, const void *payload,
                        size_t size, void *arg)
{
    struct state *s = arg;

    host_relay_to_ranks(s->relay, channels, count, type, payload, size);
}

static void on_rank_dropped(uint32_t channel, void *arg)
{
    struct state *s = arg;

    host_relay_rank_dropped(s->relay, channel);
}

static void on_drained(void *arg)
{
    struct state *s = arg;

    host_relay_drained(s->relay);
}

static int rank_of_process(pid_t pid, void *arg)
{
    (void)pid, (void)arg;
    return -1;
}

static void send_frame(struct state *s, int which, const uint8_t *line, size_t size)
{
    uint8_t header[FRAME_HEADER];

    if (s->fd[which] < 0 || size < 2)
        return;
    frame_header(header, (uint8_t)((line[0] - '0') * 10 + (line[1] - '0')), (uint32_t)(size - 2));
    write_all(s->fd[which], header, sizeof(header));
    write_all(s->fd[which], line + 2, size - 2);
}

static void start(struct state *s)
{
    static const int host_of[RANKS] = {1, 1};
    static const char *const names[] = {"a", "b"};
    const struct agent_client_events events = {on_lost,     on_exchanged,    on_named,   on_passed,
                                               on_to_ranks, on_rank_dropped, on_drained, s};
    struct host_relay_config config = {.job = "job",
                                       .secret = secret,
                                       .size = RANKS,
                                       .hosts = 2,
                                       .host_of = host_of,
                                       .host_names = names,
                                       .host = 1,
                                       .directory = s->directory,
                                       .unread_most = 65536,
                                       .rank_of_process = rank_of_process};
    char text[ADDRESS_TEXT];
    struct address bound;
    struct fault why;
    struct auth *a;
    int listener;

    signal(SIGPIPE, SIG_IGN);
    if (!base)
        base = event_base_new();
    snprintf(s->directory, sizeof(s->directory), "/tmp/mlaunch-fuzz.XXXXXX");
    if (!base || !mkdtemp(s->directory) ||
        address_listen("127.0.0.1", 0, 8, &listener, &bound, &why))
        abort();
    address_format(&bound, text);
    if (agent_client_open(&s->client, base, text, "job", secret, 1, 0, 60000, &events, &why) ||
        host_relay_open(&s->relay, base, s->client, &config, &why))
        abort();
    while ((s->fd[COORDINATOR] = address_accept(listener)) < 0)
        loop();
    close(listener);
    if (auth_create_acceptor(&a, "job", secret, &why))
        abort();
    shake_hands(s->fd[COORDINATOR], a);
    send_frame(s, COORDINATOR, (const uint8_t *)"72{}", 4); /* ADMITTED */
    for (int i = 0; i < RANKS; i++) {
        s->fd[i] = -1;
        open_rank(s, i);
    }
}

static void stop(struct state *s)
{
    struct address at;

    for (int i = 0; i < CONNECTIONS; i++)
        close_connection(s, i);
    loop();
    host_relay_close(s->relay);
    agent_client_close(s->client);
    if (address_make_local(&at, s->directory, COORD_SOCKET, NULL) == 0)
        unlink(((struct sockaddr_un *)&at.storage)->sun_path);
    rmdir(s->directory);
}

static int connection_of(uint8_t c)
{
    if (c >= '0' && c < '0' + RANKS)
        return c - '0';
    return c == 'c' ? COORDINATOR : -1;
}

static void step(struct state *s, const uint8_t *line, size_t size)
{
    int which = connection_of(line[0]), other = size > 1 ? connection_of(line[1]) : -1;

    if (which >= 0)
        send_frame(s, which, line + 1, size - 1);
    else if (line[0] == 'x' && other >= 0)
        close_connection(s, other);
    else if (line[0] == 'o' && other >= 0 && other < RANKS)
        open_rank(s, other);
}

/* Only the coordinator reads all that comes; rank 1 does not. */
static void drain(struct state *s)
{
    uint8_t bytes[4096];

    for (int i = 0; i < CONNECTIONS; i++) {
        while (i != 1 && s->fd[i] >= 0 && recv(s->fd[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
            loop();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;
    struct state s = {0};

    start(&s);
    for (; data < end; data = next + 1) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next)
            next = end;
        if (next > data)
            step(&s, data, (size_t)(next - data));
        loop();
        drain(&s);
    }
    stop(&s);
    return 0;
}
