/* SPDX-License-Identifier: MIT */
/*
 * fuzz_coordinator.c: the coordinator survives, whatever ranks, agents and strangers send, in any
 * order. Each line of the input is a step:
 *   0 … 3, two digits, payload   that rank's connection sends a frame of that type
 *   a, two digits, payload       so does the agent of host 1
 *   s, bytes                     an unauthenticated connection sends bytes
 *   x, 0 … 3 or a                that connection is closed; o: it is opened (again)
 *   e, 0 … 3                     that rank's first process has ended
 *   h, bytes                     the agent of host 0 shares in exchange 1
 */
#include "coordinator/connection.h"
#include "coordinator/service/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, AGENT = RANKS, STRANGER, CONNECTIONS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t secret[AUTH_SECRET] = {1};
static struct event_base *base;

struct state {
    struct server *server;
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
            return; /* closed by the server */
        at += n;
        size -= (size_t)n;
        loop();
    }
}

static void shake_hands(int fd, const struct auth_identity *me)
{
    struct frame_reader *r;
    enum auth_progress progress = AUTH_MORE;
    uint8_t bytes[4096];
    struct fault why;
    struct auth *a;
    struct frame f;
    size_t size;
    const void *out;
    ssize_t n;

    if (auth_create_connector(&a, "job", secret, me, &why) ||
        frame_reader_create(&r, FRAME_LIMIT_SMALL, &why))
        abort();
    out = auth_output(a, &size);
    write_all(fd, out, size);
    loop();
    n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n <= 0 || frame_reader_feed(r, bytes, (size_t)n, &why) ||
        frame_reader_next(r, &f, &why) != 1 || auth_input(a, &f, &progress, &why) ||
        progress != AUTH_DONE)
        abort();
    out = auth_output(a, &size);
    write_all(fd, out, size);
    loop();
    frame_reader_destroy(r);
    auth_destroy(a);
}

static void open_connection(struct state *s, int which)
{
    struct auth_identity me = {.generation = 1};
    int pair[2];

    if (s->fd[which] >= 0)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
        abort();
    connection_accept(s->server, pair[1]);
    s->fd[which] = pair[0];
    if (which == STRANGER)
        return;
    snprintf(me.purpose, sizeof(me.purpose), which == AGENT ? "agent" : "rank");
    me.rank = which == AGENT ? 1 : which;
    shake_hands(pair[0], &me);
}

static void close_connection(struct state *s, int which)
{
    if (s->fd[which] >= 0)
        close(s->fd[which]);
    s->fd[which] = -1;
}

static int connection_of(uint8_t c)
{
    if (c >= '0' && c < '0' + RANKS)
        return c - '0';
    return c == 'a' ? AGENT : c == 's' ? STRANGER : -1;
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

static void step(struct state *s, const uint8_t *line, size_t size)
{
    struct fault why;
    int which = connection_of(line[0]), other = size > 1 ? connection_of(line[1]) : -1;

    if (which == STRANGER) {
        open_connection(s, STRANGER);
        write_all(s->fd[STRANGER], line + 1, size - 1);
    } else if (which >= 0) {
        send_frame(s, which, line + 1, size - 1);
    } else if (line[0] == 'x' && other >= 0) {
        close_connection(s, other);
    } else if (line[0] == 'o' && other >= 0) {
        open_connection(s, other);
    } else if (line[0] == 'h') {
        server_share(s->server, 1, line + 1, size - 1, &why);
    } else if (line[0] == 'e' && other >= 0 && other < RANKS) {
        server_rank_exited(s->server, other, other, "exited with status 1 on host a (pid 1)");
    }
}

/* What the server says is read and dropped. */
static void drain(struct state *s)
{
    uint8_t bytes[4096];

    for (int i = 0; i < CONNECTIONS; i++) {
        while (s->fd[i] >= 0 && recv(s->fd[i], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
            loop();
    }
}

static void start(struct state *s)
{
    static const int host_of[RANKS] = {0, 0, 1, 1};
    static const char *const names[] = {"a", "b"};
    static const struct server_events events = {0};
    struct server_config config = {.job = "job",
                                   .secret = secret,
                                   .size = RANKS,
                                   .hosts = 2,
                                   .host_of = host_of,
                                   .host_names = names,
                                   .stall_ms = 1,
                                   .bind_ip = "127.0.0.1"};
    struct fault why;

    signal(SIGPIPE, SIG_IGN);
    if (!base)
        base = event_base_new();
    if (!base || server_open(&s->server, base, &config, &events, &why))
        abort();
    for (int i = 0; i < CONNECTIONS; i++)
        s->fd[i] = -1;
    for (int i = 0; i < STRANGER; i++)
        open_connection(s, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;
    struct state s;

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
    for (int i = 0; i < CONNECTIONS; i++)
        close_connection(&s, i);
    loop();
    server_close(s.server);
    return 0;
}
