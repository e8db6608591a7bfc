/* SPDX-License-Identifier: MIT */
/*
 * fuzz_uplink.c: the head survives, whatever strangers and a host that has the key send, in any
 * order, and a stranger never joins. Each line of the input is a step:
 *   s bytes               a stranger connects, and sends them
 *   h, two digits, bytes  the host sends a frame of that type, after HERE if it has sent that
 *   o, c                  the supervisor opens a channel to the host, or closes it
 *   w bytes               the supervisor sends them
 *   x                     the host's connection is closed, and it calls again
 *   O                     the supervisor opens a channel to a host below it
 * A "$" in bytes is the run of the last channel, as four bytes, and "#" the number of the host
 * below. If the input begins with a line "t", there is a tree (--fanout 2), else no such host.
 */
#include "launcher/wire/uplink/uplink_hub.h"

#include "common/log.h"
#include "common/net/address.h"
#include "common/net/tcp_seal.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST = 1, BELOW = 4, HOSTS = 5, LINE = 4096, STEPS = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[AUTH_SECRET] = {1};
static struct event_base *base;
static struct uplink_hub *hub;
static struct address where;

struct state {
    int host;              /* the host's end */
    struct tcp_seal *seal; /* for what it sends */
    int supervisor;        /* the channel's end; -1: there is none */
    int open;              /* to which host; -1: to none */
    bool is_tree;
    uint32_t run, runs[HOSTS];
    int calls, joined;
};

static void loop(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static int head_connect(void)
{
    struct pollfd p = {.events = POLLOUT};
    struct fault why;

    if (address_connect_start(&where, &p.fd, &why) || poll(&p, 1, 10000) != 1)
        abort();
    loop();
    return p.fd;
}

static void bytes_send(int fd, const void *bytes, size_t size)
{
    (void)!send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    loop();
}

static void handshake_take(int fd, struct auth *a, struct frame_reader *r,
                           enum auth_progress *progress)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint8_t bytes[2048];
    struct fault why;
    struct frame f;
    ssize_t n;

    loop();
    if (poll(&p, 1, 10) < 1)
        return;
    n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n <= 0 || frame_reader_feed(r, bytes, (size_t)n, &why))
        abort();
    while (*progress != AUTH_DONE && frame_reader_next(r, &f, &why) == 1)
        if (auth_input(a, &f, progress, &why))
            abort();
}

/* As uplink_call(), which blocks. */
static void host_call(struct state *s)
{
    const struct auth_identity me = {.purpose = UPLINK_PURPOSE, .rank = HOST, .group = HOSTS};
    enum auth_progress progress = AUTH_MORE;
    struct frame_reader *r;
    struct auth_keys keys;
    struct fault why;
    struct auth *a;
    size_t size;
    const void *out;

    s->host = head_connect();
    s->calls++;
    if (auth_create_connector(&a, UPLINK_PURPOSE, key, &me, &why) || auth_exchange_keys(a, &why) ||
        frame_reader_create(&r, FRAME_LIMIT_SMALL, &why))
        abort();
    out = auth_output(a, &size);
    bytes_send(s->host, out, size);
    for (int i = 0; i < 1000 && progress != AUTH_DONE; i++)
        handshake_take(s->host, a, r, &progress);
    if (progress != AUTH_DONE)
        abort();
    out = auth_output(a, &size);
    bytes_send(s->host, out, size);
    auth_derive_keys(a, &keys);
    if (tcp_seal_create(&s->seal, &keys, &why))
        abort();
    frame_reader_destroy(r);
    auth_destroy(a);
}

static void host_close(struct state *s)
{
    close(s->host);
    tcp_seal_destroy(s->seal);
    loop();
    loop(); /* what has ended is closed in the next turn */
}

static void host_send(struct state *s, int type, const uint8_t *bytes, size_t size)
{
    uint8_t frame[FRAME_HEADER + LINE];
    struct iovec part = {frame, FRAME_HEADER + size};

    frame_header(frame, (uint8_t)type, (uint32_t)size);
    memcpy(frame + FRAME_HEADER, bytes, size);
    (void)!tcp_seal_send(s->seal, s->host, &part, 1);
    loop();
}

static void on_joined(int index, const char *name, const char *from, void *arg)
{
    struct state *s = arg;

    (void)from;
    if (strlen(name) >= UPLINK_NAME || (index != HOST && (index != BELOW || !s->is_tree)))
        abort();
    if (index == HOST && ++s->joined > s->calls)
        abort();
}

static void on_refused(const char *text, void *arg)
{
    (void)text, (void)arg;
}

static void on_ready(int fd, const struct fault *why, void *arg)
{
    struct state *s = arg;

    if (why->code)
        abort(); /* the host has a minute */
    s->supervisor = fd;
    s->run = ++s->runs[s->open];
}

static void channel_close(struct state *s)
{
    if (s->open >= 0)
        uplink_hub_hang_up(hub, s->open);
    if (s->supervisor >= 0)
        close(s->supervisor);
    s->supervisor = -1;
    s->open = -1;
    loop();
}

static size_t expand(uint8_t *out, const uint8_t *line, size_t size, uint32_t run)
{
    const uint32_t words[] = {htonl(run), htonl(BELOW)};
    size_t n = 0;

    for (size_t i = 0; i < size && n + sizeof(run) < LINE; i++) {
        if (line[i] == '$' || line[i] == '#') {
            memcpy(out + n, &words[line[i] == '#'], sizeof(run));
            n += sizeof(run);
        } else {
            out[n++] = line[i];
        }
    }
    return n;
}

static void step(struct state *s, const uint8_t *line, size_t size)
{
    uint8_t bytes[LINE];
    size_t n = expand(bytes, line + 1, size - 1, s->run);
    int fd;

    if (*line == 's') {
        fd = head_connect();
        bytes_send(fd, bytes, n);
        close(fd);
    } else if (*line == 'h' && n >= 2) {
        host_send(s, (bytes[0] - '0') * 10 + bytes[1] - '0', bytes + 2, n - 2);
    } else if ((*line == 'o' || (*line == 'O' && s->is_tree)) && s->open < 0) {
        s->open = *line == 'o' ? HOST : BELOW;
        uplink_hub_reach(hub, s->open, on_ready, s);
    } else if (*line == 'c') {
        channel_close(s);
    } else if (*line == 'w' && s->supervisor >= 0) {
        bytes_send(s->supervisor, bytes, n);
    } else if (*line == 'x') {
        host_close(s);
        host_call(s);
    }
    loop();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;
    struct state s = {.supervisor = -1, .open = -1, .is_tree = size > 1 && !memcmp(data, "t\n", 2)};
    const struct uplink_hub_config config = {.ip = "127.0.0.1",
                                             .hosts = HOSTS,
                                             .fanout = s.is_tree ? 2 : 0,
                                             .limit_ms = 60000,
                                             .key = key};
    const struct uplink_hub_events events = {
        .on_joined = on_joined, .on_refused = on_refused, .arg = &s};
    struct fault why;

    log_open("fuzz_uplink", LOG_ERROR);
    if (!base)
        base = event_base_new();
    if (!base || uplink_hub_open(&hub, base, &config, &events, &why) ||
        address_parse(&where, uplink_hub_where(hub), &why))
        abort();
    host_call(&s);
    for (int steps = 0; data < end && steps < STEPS; data = next + 1, steps++) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next)
            next = end;
        if (next > data)
            step(&s, data, (size_t)(next - data));
    }
    channel_close(&s);
    host_close(&s);
    uplink_hub_close(hub, 0);
    return 0;
}
