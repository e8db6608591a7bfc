/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_control.h"

#include "common/clock.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <event2/buffer.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 256 << 10 };

int sync_control_open(struct sync_control *c, int fd, struct fault *why)
{
    *c = (struct sync_control){.fd = fd, .fed = evbuffer_new()};
    if (!c->fed)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return frame_reader_create(&c->reader, 2 * SYNC_FRAME_MOST, why);
}

/* Nobody is left to report to. */
_Noreturn static void control_end(void)
{
    _exit(0);
}

/* Reads what has come; blocks if nothing has. */
static void control_fill(struct sync_control *c)
{
    uint8_t *at;
    ssize_t n;

    if (frame_reader_room(c->reader, ROOM, &at, NULL))
        control_end();
    do
        n = read(c->fd, at, ROOM);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        control_end();
    frame_reader_add(c->reader, (size_t)n);
}

static bool control_next(struct sync_control *c, struct frame *f)
{
    int rc = frame_reader_next(c->reader, f, NULL);

    if (rc < 0)
        control_end();
    return rc > 0;
}

static void control_handle(struct sync_control *c, const struct frame *f)
{
    if (f->type == SYNC_LINK) {
        if (sync_order_parse_place(&c->place, (const char *)f->payload, f->size, NULL))
            control_end();
        c->has_moved = true;
        evbuffer_drain(c->fed, evbuffer_get_length(c->fed));
    } else if (f->type == SYNC_FEED && f->size >= 4) {
        /* What belongs to an older round is dropped, and is not acknowledged either. */
        if (packed_get(f->payload, 4) == c->place.round && c->place.is_fed &&
            evbuffer_add(c->fed, f->payload + 4, f->size - 4))
            control_end();
    } else {
        control_end();
    }
}

int sync_control_begin(struct sync_control *c, struct sync_order *out, struct fault *why)
{
    struct frame f;

    while (!control_next(c, &f))
        control_fill(c);
    if (f.type != SYNC_BEGIN)
        control_end();
    return sync_order_parse(out, (const char *)f.payload, f.size, why);
}

void sync_control_poll(struct sync_control *c, struct pollfd *polls, int count, int64_t deadline_ms)
{
    struct frame f;

    polls[0] = (struct pollfd){.fd = c->fd, .events = POLLIN};
    if (poll(polls, (nfds_t)count, deadline_ms < 0 ? -1 : clock_left_ms(deadline_ms)) <= 0) {
        for (int i = 0; i < count; i++)
            polls[i].revents = 0;
        return;
    }
    if (!polls[0].revents)
        return;
    control_fill(c);
    while (control_next(c, &f))
        control_handle(c, &f);
}

bool sync_control_wait(struct sync_control *c, int fd, short events, int64_t deadline_ms)
{
    struct pollfd polls[] = {{.fd = -1}, {.fd = fd, .events = events}};

    sync_control_poll(c, polls, 2, deadline_ms);
    return polls[1].revents != 0;
}

size_t sync_control_take(struct sync_control *c, void *bytes, size_t size)
{
    int n = evbuffer_remove(c->fed, bytes, size);

    return n > 0 ? (size_t)n : 0;
}

void sync_control_send(struct sync_control *c, int type, const void *payload, size_t size)
{
    if (frame_send(c->fd, (uint8_t)type, payload, (uint32_t)size, -1, NULL))
        control_end();
}

void sync_control_send_json(struct sync_control *c, int type, json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

    if (text)
        sync_control_send(c, type, text, strlen(text));
    else
        control_end();
    free(text);
    json_decref(object);
}
