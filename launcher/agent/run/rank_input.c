/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_input.h"

#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <unistd.h>

static void credit_send(struct agent_rank *r, size_t bytes)
{
    uint32_t rank = (uint32_t)r->job->rank, count = (uint32_t)bytes;
    uint8_t payload[] = {(uint8_t)(rank >> 24), (uint8_t)(rank >> 16),  (uint8_t)(rank >> 8),
                         (uint8_t)rank,         (uint8_t)(count >> 24), (uint8_t)(count >> 16),
                         (uint8_t)(count >> 8), (uint8_t)count};

    if (bytes > 0)
        frame_stream_send(r->agent->launcher.channel, AGENT_STDIN_CREDIT, payload, sizeof(payload));
}

void rank_input_close(struct agent_rank *r)
{
    struct rank_input *in = &r->in;

    if (in->event) {
        event_free(in->event);
        close(in->fd);
    }
    if (in->kept) {
        /* Nobody will read these bytes: they are credited as if they had been read. */
        credit_send(r, evbuffer_get_length(in->kept));
        evbuffer_free(in->kept);
    }
    *in = (struct rank_input){0};
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct agent_rank *r = arg;
    int n = 0;

    (void)what;
    if (evbuffer_get_length(r->in.kept) > 0)
        n = evbuffer_write(r->in.kept, fd);
    if (n > 0)
        credit_send(r, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        rank_input_close(r); /* the rank has closed its stdin */
    if (r->in.event && evbuffer_get_length(r->in.kept) == 0) {
        if (r->in.at_end)
            rank_input_close(r);
        else
            event_del(r->in.event);
    }
}

int rank_input_create(struct agent_rank *r, struct fault *why)
{
    r->in = (struct rank_input){.kept = evbuffer_new()};
    return r->in.kept ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory for its input");
}

int rank_input_open(struct agent_rank *r, int fd, struct fault *why)
{
    struct rank_input *in = &r->in;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    in->event = event_new(r->agent->base, fd, EV_WRITE | EV_PERSIST, on_writable, r);
    if (!in->event) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for its input");
    }
    in->fd = fd;
    if (in->at_end || evbuffer_get_length(in->kept) > 0)
        event_add(in->event, NULL);
    return 0;
}

/* A terminal has no end of file, so it is typed. */
static void input_end(struct agent_rank *r)
{
    uint8_t typed[RANK_PTY_END];

    if (r->agent->run.job->pty.rank == r->job->rank && !r->in.at_end)
        evbuffer_add(r->in.kept, typed, rank_pty_end_of_input(r, r->in.is_mid_line, typed));
    r->in.at_end = true;
}

int rank_input_take(struct agent_rank *r, const void *bytes, size_t size)
{
    struct rank_input *in = &r->in;

    if (!in->kept) {
        credit_send(r, size);
        return 0;
    }
    if (size == 0)
        input_end(r);
    else if (in->at_end || evbuffer_get_length(in->kept) + size > AGENT_STDIN_WINDOW)
        return -1;
    else
        evbuffer_add(in->kept, bytes, size);
    if (size > 0)
        in->is_mid_line = ((const char *)bytes)[size - 1] != '\n';
    if (in->event)
        event_add(in->event, NULL);
    return 0;
}
