/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_pump.h"

#include "launcher/wire/uplink/stream/uplink_gather.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_SIZE = 32 << 10,
    /* What the agent's protocol can have under way: one frame of any size, and its windows. More
     * comes only from a side that keeps to nothing. */
    BACKLOG_MOST = FRAME_LIMIT + (16 << 20),
};

struct uplink_pump {
    struct uplink_route to;
    int host;
    uint32_t run;
    int fd;
    uplink_pump_end_fn *on_end;
    void *arg;
    struct event *readable, *writable;
    size_t frame_left;        /* bytes of `fd` until the next frame begins, where that matters */
    struct evbuffer *backlog; /* for `fd` */
    bool is_shut;             /* the other side sends no more */
    bool at_end;              /* `fd` has given end of file */
};

static void backlog_write(struct uplink_pump *p)
{
    while (evbuffer_get_length(p->backlog) > 0 && evbuffer_write(p->backlog, p->fd) > 0)
        ;
    if (evbuffer_get_length(p->backlog) > 0 && (errno == EAGAIN || errno == EINTR)) {
        event_add(p->writable, NULL);
        return;
    }
    /* Nobody reads any more: the end of file is what tells. */
    evbuffer_drain(p->backlog, evbuffer_get_length(p->backlog));
    event_del(p->writable);
    if (p->is_shut)
        shutdown(p->fd, SHUT_WR);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    backlog_write(arg);
}

/* How many of the bytes are sent together: whole frames, or a piece of one. So the same frames make
 * the same pieces for all hosts, whatever comes before and after them. Only that depends on the
 * frames; the bytes may be any. */
static size_t piece_size(struct uplink_pump *p, const uint8_t *bytes, size_t size)
{
    size_t at = p->frame_left < size ? p->frame_left : size;
    size_t frame = 0;
    uint32_t length;

    p->frame_left -= at;
    if (at > 0)
        return at;
    while (size - at >= FRAME_HEADER) {
        memcpy(&length, bytes + at, sizeof(length));
        frame = FRAME_HEADER + (size_t)ntohl(length);
        if (frame > size - at)
            break;
        at += frame;
    }
    if (at > 0)
        return at;
    p->frame_left = frame > size ? frame - size : 0;
    return size;
}

static void bytes_send(const struct uplink_pump *p, const void *bytes, size_t size)
{
    if (p->to.gather)
        uplink_gather_add(p->to.gather, p->host, p->run, bytes, size);
    else
        uplink_route_send_tagged(&p->to, UPLINK_DATA, p->run, bytes, size);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct uplink_pump *p = arg;
    uint8_t bytes[READ_SIZE];
    ssize_t n;

    (void)what;
    if (uplink_stream_kept(p->to.stream) >= UPLINK_KEPT) {
        event_del(p->readable);
        return;
    }
    n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | (p->to.gather ? MSG_PEEK : 0));
    if (n > 0 && p->to.gather)
        n = recv(fd, bytes, piece_size(p, bytes, (size_t)n), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        bytes_send(p, bytes, (size_t)n);
        return;
    }
    p->at_end = true;
    event_del(p->readable);
    p->on_end(p->arg);
}

int uplink_pump_open(struct uplink_pump **out, struct event_base *base,
                     const struct uplink_route *to, int host, uint32_t run, int fd,
                     uplink_pump_end_fn *on_end, void *arg, struct fault *why)
{
    struct uplink_pump *p = calloc(1, sizeof(*p));

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *p = (struct uplink_pump){
        .to = *to, .host = host, .run = run, .fd = -1, .on_end = on_end, .arg = arg};
    p->backlog = evbuffer_new();
    p->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, p);
    p->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, p);
    if (!p->backlog || !p->readable || !p->writable || event_add(p->readable, NULL)) {
        uplink_pump_close(p);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    p->fd = fd;
    *out = p;
    return 0;
}

void uplink_pump_close(struct uplink_pump *p)
{
    if (!p)
        return;
    if (p->readable)
        event_free(p->readable);
    if (p->writable)
        event_free(p->writable);
    if (p->backlog)
        evbuffer_free(p->backlog);
    if (p->fd >= 0)
        close(p->fd);
    free(p);
}

uint32_t uplink_pump_run(const struct uplink_pump *p)
{
    return p->run;
}

int uplink_pump_take(struct uplink_pump *p, const void *bytes, size_t size, struct fault *why)
{
    if (p->is_shut || evbuffer_get_length(p->backlog) + size > BACKLOG_MOST)
        return fault_set(why, ML_ERR_REFUSED, "the other side sent more than it may");
    if (evbuffer_add(p->backlog, bytes, size))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    backlog_write(p);
    return 0;
}

void uplink_pump_take_shut(struct uplink_pump *p)
{
    p->is_shut = true;
    backlog_write(p);
}

void uplink_pump_shut(struct uplink_pump *p)
{
    uplink_route_send_tagged(&p->to, UPLINK_SHUT, p->run, NULL, 0);
}

void uplink_pump_resume(struct uplink_pump *p)
{
    if (!p->at_end)
        event_add(p->readable, NULL);
}
