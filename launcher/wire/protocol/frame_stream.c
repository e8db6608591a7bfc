/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/frame_stream.h"

#include "common/net/address.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    READ_SIZE = 256 << 10,
    DIRECT_SIZE = 16 << 10, /* from this size on, a system call of its own is cheaper than a copy */
};

struct frame_stream {
    struct frame_stream_events events;
    struct frame_reader *reader;
    struct evbuffer *kept;
    struct event *readable, *writable;
    int in, out;
    bool ended, is_mute; /* mute: the peer reads no more, but what it has sent is still read */
    unsigned frames;
};

#ifdef M_TRIM_THRESHOLD
void frame_stream_keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}
#else
void frame_stream_keep_memory(void)
{
} /* musl has no such limits */
#endif

void frame_stream_fail(struct frame_stream *s, const char *why)
{
    if (s->ended)
        return;
    s->ended = true;
    event_del(s->readable);
    event_del(s->writable);
    evbuffer_drain(s->kept, evbuffer_get_length(s->kept));
    s->events.on_end(why, s->events.arg);
}

/* The reason for the end; NULL: the peer is gone. */
static const char *error_words(int err)
{
    return address_is_dropped(err) ? NULL : strerror(err);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct frame_stream *s = arg;
    struct fault why = {0};
    struct frame frame;
    uint8_t *room;
    ssize_t n;
    int rc = frame_reader_room(s->reader, READ_SIZE, &room, &why);

    (void)what;
    if (rc) {
        frame_stream_fail(s, why.text);
        return;
    }
    n = read(fd, room, READ_SIZE);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        frame_stream_fail(s, n == 0 ? NULL : error_words(errno));
        return;
    }
    frame_reader_add(s->reader, (size_t)n);
    while (!rc && (rc = frame_reader_next(s->reader, &frame, &why)) > 0) {
        s->frames++;
        s->events.on_frame(&frame, s->events.arg);
        if (s->ended)
            return;
        rc = 0;
    }
    if (rc < 0)
        frame_stream_fail(s, why.text);
}

static bool error_is_final(int err)
{
    return err != EAGAIN && err != EINTR;
}

/* A peer that is gone may have said why it ends, or that all is done: that is read first, up to the
 * end of the channel. */
static void write_fail(struct frame_stream *s, int err)
{
    if (!address_is_dropped(err)) {
        frame_stream_fail(s, strerror(err));
        return;
    }
    s->is_mute = true;
    event_del(s->writable);
    evbuffer_drain(s->kept, evbuffer_get_length(s->kept));
}

/* True if nothing is kept any more. */
static bool kept_write(struct frame_stream *s)
{
    if (evbuffer_write(s->kept, s->out) < 0 && error_is_final(errno)) {
        write_fail(s, errno);
        return false;
    }
    if (evbuffer_get_length(s->kept) > 0)
        return false;
    event_del(s->writable);
    return true;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct frame_stream *s = arg;

    (void)fd, (void)what;
    if (kept_write(s) && s->events.on_written)
        s->events.on_written(s->events.arg);
}

void frame_stream_flush(struct frame_stream *s)
{
    if (!s->ended && evbuffer_get_length(s->kept) > 0)
        kept_write(s);
}

static int descriptor_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int frame_stream_open(struct frame_stream **out, struct event_base *base, int in, int out_fd,
                      const struct frame_stream_events *events, struct fault *why)
{
    struct frame_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->events = *events;
    s->in = in;
    s->out = out_fd;
    rc = frame_reader_create(&s->reader, FRAME_LIMIT, why);
    if (rc)
        goto fail;
    s->kept = evbuffer_new();
    s->readable = event_new(base, in, EV_READ | EV_PERSIST, on_readable, s);
    s->writable = event_new(base, out_fd, EV_WRITE | EV_PERSIST, on_writable, s);
    if (!s->kept || !s->readable || !s->writable) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto fail;
    }
    if (descriptor_set_nonblocking(in) || descriptor_set_nonblocking(out_fd) ||
        event_add(s->readable, NULL)) {
        rc = fault_set(why, ML_ERR_SYSTEM, "standard input is not a channel to mlaunch");
        goto fail;
    }
    *out = s;
    return 0;
fail:
    s->in = s->out = -1; /* the caller keeps them */
    frame_stream_close(s);
    return rc;
}

void frame_stream_close(struct frame_stream *s)
{
    if (!s)
        return;
    if (s->readable)
        event_free(s->readable);
    if (s->writable)
        event_free(s->writable);
    if (s->kept)
        evbuffer_free(s->kept);
    frame_reader_destroy(s->reader);
    if (s->in >= 0)
        close(s->in);
    if (s->out >= 0 && s->out != s->in)
        close(s->out);
    free(s);
}

/* Keeps the bytes of the parts after the first `written` ones. */
static void rest_keep(struct frame_stream *s, const struct iovec *parts, int count, size_t written)
{
    bool was_empty = evbuffer_get_length(s->kept) == 0;

    for (int i = 0; i < count; i++) {
        size_t skip = written < parts[i].iov_len ? written : parts[i].iov_len;

        written -= skip;
        if (skip < parts[i].iov_len) /* an empty part may be at NULL, to which nothing is added */
            evbuffer_add(s->kept, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
    }
    if (was_empty && evbuffer_get_length(s->kept) > 0)
        event_add(s->writable, NULL);
}

void frame_stream_send_parts(struct frame_stream *s, int type, const void *head, size_t head_size,
                             const void *body, size_t body_size)
{
    uint8_t header[FRAME_HEADER];
    struct iovec parts[] = {{header, sizeof(header)},
                            {(void *)(uintptr_t)head, head_size},
                            {(void *)(uintptr_t)body, body_size}};
    ssize_t n = 0;

    if (s->ended || s->is_mute)
        return;
    frame_header(header, (uint8_t)type, (uint32_t)(head_size + body_size));
    /* Small frames are collected and written once in a turn of the loop. */
    if (body_size >= DIRECT_SIZE && evbuffer_get_length(s->kept) == 0) {
        n = writev(s->out, parts, 3);
        if (n < 0 && error_is_final(errno)) {
            write_fail(s, errno);
            return;
        }
    }
    rest_keep(s, parts, 3, n > 0 ? (size_t)n : 0);
}

void frame_stream_send(struct frame_stream *s, int type, const void *payload, size_t size)
{
    frame_stream_send_parts(s, type, NULL, 0, payload, size);
}

void frame_stream_send_json(struct frame_stream *s, int type, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

    /* Without memory for one frame the process cannot go on, and the peer sees the end. */
    if (text)
        frame_stream_send(s, type, text, strlen(text));
    else
        frame_stream_fail(s, "out of memory");
    free(text);
    json_decref(object);
}

size_t frame_stream_kept(const struct frame_stream *s)
{
    return evbuffer_get_length(s->kept);
}

bool frame_stream_has_ended(const struct frame_stream *s)
{
    return s->ended;
}

unsigned frame_stream_frames(struct frame_stream *s)
{
    unsigned frames = s->frames;

    s->frames = 0;
    return frames;
}
