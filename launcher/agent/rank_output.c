/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank_output.h"

#include "launcher/agent/agent.h"
#include "launcher/agent/job_report.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    CHUNK = 128 << 10,     /* bytes of one read and of one frame */
    PIPE_SIZE = 256 << 10, /* requested if there are few ranks, to wake both sides less often */
    FEW_RANKS = 64,
    REOPEN_BELOW = AGENT_OUTPUT_WINDOW / 2,
    KEPT_HIGH =
        1 << 20, /* bytes in the stream that the channel does not take: heartbeats wait there too */
    OUTPUT_HEADER = 5,
};

/* Stops or starts to read from all pipes, beginning with rank `next`. */
static void window_set(struct agent *a, bool is_closed)
{
    int count = a->job->rank_count;

    if (a->window.is_closed == is_closed)
        return;
    a->window.is_closed = is_closed;
    for (int i = 0; i < count; i++) {
        struct agent_rank *r = &a->ranks[(a->window.next + i) % count];

        for (int k = 0; k < 2; k++) {
            if (r->out[k].event && is_closed)
                event_del(r->out[k].event);
            else if (r->out[k].event)
                event_add(r->out[k].event, NULL);
        }
    }
}

/* Either amount closes the window at its high mark; it opens when both are below their low
 * marks. */
static void window_check(struct agent *a)
{
    struct rank_output_window *w = &a->window;
    size_t kept = frame_stream_kept(a->channel);

    if (w->unacknowledged + AGENT_OUTPUT_EXTRA >= AGENT_OUTPUT_WINDOW)
        w->is_full = true;
    else if (w->unacknowledged <= REOPEN_BELOW)
        w->is_full = false;
    if (kept >= KEPT_HIGH)
        w->is_backed_up = true;
    else if (kept == 0)
        w->is_backed_up = false;
    window_set(a, w->is_full || w->is_backed_up);
}

static void rank_output_end(struct rank_output *o)
{
    event_free(o->event);
    o->event = NULL;
    close(o->fd);
    o->due = 0;
}

static void rank_output_send(struct rank_output *o, const char *bytes, size_t size)
{
    struct agent *a = o->rank->agent;
    uint32_t rank = htonl((uint32_t)o->rank->job->rank);
    uint8_t header[OUTPUT_HEADER];

    memcpy(header, &rank, sizeof(rank));
    header[sizeof(rank)] = (uint8_t)o->stream;
    frame_stream_send_parts(a->channel, AGENT_OUTPUT, header, sizeof(header), bytes, size);
    a->window.unacknowledged += agent_output_cost(size);
    o->due -= size < o->due ? size : o->due;
    a->window.next = (int)(o->rank - a->ranks) + 1;
    window_check(a);
}

static void rank_output_is_broken(struct rank_output *o, int error)
{
    char text[160];

    snprintf(text, sizeof(text), "what rank %d has written cannot be read: %s", o->rank->job->rank,
             strerror(error));
    job_report_lost(o->rank->agent, text);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char buffer[CHUNK];
    struct rank_output *o = arg;
    struct agent *a = o->rank->agent;
    size_t room = AGENT_OUTPUT_WINDOW - AGENT_OUTPUT_EXTRA - a->window.unacknowledged;
    ssize_t n;

    (void)what;
    if (a->window.is_closed)
        return; /* closed by another pipe in the same turn of the loop */
    n = read(fd, buffer, room < sizeof(buffer) ? room : sizeof(buffer));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 && o->rank->pty < 0) /* a terminal that is hung up gives EIO */
        rank_output_is_broken(o, errno);
    if (n <= 0)
        rank_output_end(o);
    if (frame_stream_has_ended(a->channel))
        o->due = 0;
    else
        rank_output_send(o, buffer, n > 0 ? (size_t)n : 0);
    agent_check_soon(a);
}

static int rank_output_open_one(struct agent_rank *r, struct rank_output *o, int fd, uint8_t stream,
                                struct fault *why)
{
    struct agent *a = r->agent;

    *o = (struct rank_output){.rank = r, .fd = fd, .stream = stream};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (a->job->rank_count <= FEW_RANKS)
        fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE); /* may fail at the user's limit, which does no harm */
    o->event = event_new(a->base, fd, EV_READ | EV_PERSIST, on_readable, o);
    if (!o->event) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for its output");
    }
    if (!a->window.is_closed)
        event_add(o->event, NULL);
    return 0;
}

int rank_output_open(struct agent_rank *r, int out, int err, struct fault *why)
{
    int rc = rank_output_open_one(r, &r->out[0], out, 1, why);

    if (rc) {
        if (err >= 0)
            close(err);
        return rc;
    }
    if (err >= 0)
        rc = rank_output_open_one(r, &r->out[1], err, 2, why);
    if (rc)
        rank_output_close(r);
    return rc;
}

void rank_output_close(struct agent_rank *r)
{
    for (int k = 0; k < 2; k++) {
        if (r->out[k].event)
            rank_output_end(&r->out[k]);
    }
}

/* On a terminal, poll() first fetches what the kernel has not passed on yet. */
static size_t pipe_bytes(const struct rank_output *o)
{
    int n = 0;

    if (o->event)
        poll(&(struct pollfd){.fd = o->fd, .events = POLLIN}, 1, 0);
    return o->event && ioctl(o->fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

void rank_output_rank_ended(struct agent_rank *r)
{
    for (int k = 0; k < 2; k++)
        r->out[k].due = pipe_bytes(&r->out[k]);
}

bool rank_output_has_due(const struct agent_rank *r)
{
    return r->out[0].due > 0 || r->out[1].due > 0;
}

void rank_output_acknowledge(struct agent *a, size_t bytes)
{
    a->window.unacknowledged -= bytes < a->window.unacknowledged ? bytes : a->window.unacknowledged;
    window_check(a);
}

void rank_output_on_written(struct agent *a)
{
    if (a->job)
        window_check(a);
}

void rank_output_abandon(struct agent *a)
{
    a->window.unacknowledged = 0;
    if (a->job)
        window_check(a);
}

bool rank_output_finish(struct agent *a)
{
    bool is_finished = true;

    for (int i = 0; i < a->spawned; i++) {
        for (int k = 0; k < 2; k++) {
            struct rank_output *o = &a->ranks[i].out[k];

            if (!o->event)
                continue;
            if (pipe_bytes(o) > 0) {
                is_finished = false;
            } else {
                rank_output_send(o, NULL, 0);
                rank_output_end(o);
            }
        }
    }
    return is_finished;
}

size_t rank_output_close_all(struct agent *a)
{
    size_t dropped = 0;

    for (int i = 0; i < a->spawned; i++) {
        dropped += pipe_bytes(&a->ranks[i].out[0]) + pipe_bytes(&a->ranks[i].out[1]);
        rank_output_close(&a->ranks[i]);
    }
    return dropped;
}
