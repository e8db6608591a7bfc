/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/rank_output.h"

#include "common/clock.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    CHUNK = 128 << 10,     /* bytes of one read and of one frame */
    FOLD_CHUNK = 8 << 10,  /* bytes of one read that is folded: no rank gets far ahead */
    PIPE_SIZE = 256 << 10, /* requested if there are few ranks, to wake both sides less often */
    FEW_RANKS = 64,
    REOPEN_BELOW = AGENT_OUTPUT_WINDOW / 2,
    KEPT_HIGH =
        1 << 20, /* bytes in the stream that the channel does not take: heartbeats wait there too */
    OUTPUT_HEADER = 5,
    FOLDED_RANGES = 512, /* a frame has at most as many; more go into another with the same lines */
};

static void folds_write(struct agent *a);

/* Stops or starts to read from all pipes, beginning with rank `next`. */
static void window_set(struct agent *a, bool is_closed)
{
    int count = a->run.job->rank_count;

    if (a->run.output.window.is_closed == is_closed)
        return;
    a->run.output.window.is_closed = is_closed;
    for (int i = 0; i < count; i++) {
        struct agent_rank *r = &a->run.ranks.all[(a->run.output.window.next + i) % count];

        for (int k = 0; k < 2; k++) {
            if (r->out[k].event && is_closed)
                event_del(r->out[k].event);
            else if (r->out[k].event)
                event_add(r->out[k].event, NULL);
        }
    }
}

/* Each amount closes the window at its high mark; it opens when all are below their low marks. */
static void window_check(struct agent *a)
{
    struct rank_output_window *w = &a->run.output.window;
    size_t kept = frame_stream_kept(a->launcher.channel);

    if (w->unacknowledged + AGENT_OUTPUT_EXTRA >= AGENT_OUTPUT_WINDOW)
        w->is_full = true;
    else if (w->unacknowledged <= REOPEN_BELOW)
        w->is_full = false;
    if (kept >= KEPT_HIGH)
        w->is_backed_up = true;
    else if (kept == 0)
        w->is_backed_up = false;
    w->is_heaped = false;
    for (int k = 0; k < 2 && a->run.output.folds[k]; k++)
        w->is_heaped |= line_fold_held(a->run.output.folds[k]) >= LINE_FOLD_HELD;
    window_set(a, w->is_full || w->is_backed_up || w->is_heaped);
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
    frame_stream_send_parts(a->launcher.channel, AGENT_OUTPUT, header, sizeof(header), bytes, size);
    a->run.output.window.unacknowledged += agent_output_cost(size);
    o->due -= size < o->due ? size : o->due;
    a->run.output.window.next = (int)(o->rank - a->run.ranks.all) + 1;
    window_check(a);
}

/* --- folds -------------------------------------------------------------------------------------
 */

/* Local ranks are few, so the rank is searched. */
static struct rank_output *output_find(struct agent *a, int rank, int stream)
{
    for (int i = 0; i < a->run.job->rank_count; i++)
        if (a->run.ranks.all[i].job->rank == rank)
            return &a->run.ranks.all[i].out[stream - 1];
    return NULL;
}

static bool fold_may_write(size_t size, void *arg)
{
    const struct agent *a = arg;
    size_t most = size + OUTPUT_HEADER + FOLDED_RANGES * sizeof(struct line_range);

    return !a->run.output.window.is_full && !a->run.output.window.is_backed_up &&
           a->run.output.window.unacknowledged + agent_output_cost(most) <= AGENT_OUTPUT_WINDOW;
}

static void folded_send(struct agent *a, uint8_t stream, const struct line_range *ranges,
                        uint32_t count, const char *bytes, size_t size)
{
    uint8_t head[OUTPUT_HEADER + FOLDED_RANGES * sizeof(*ranges)];
    uint32_t word = htonl(count);
    size_t at = OUTPUT_HEADER;

    head[0] = stream;
    memcpy(head + 1, &word, sizeof(word));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t words[2] = {htonl(ranges[i].first), htonl(ranges[i].last)};

        memcpy(head + at, words, sizeof(words));
        at += sizeof(words);
    }
    frame_stream_send_parts(a->launcher.channel, AGENT_FOLDED, head, at, bytes, size);
    a->run.output.window.unacknowledged += agent_output_cost(at + size);
    window_check(a);
}

static void fold_write(struct agent *a, uint8_t stream, const struct line_ranks *ranks,
                       bool is_piece, const char *bytes, size_t size)
{
    if (frame_stream_has_ended(a->launcher.channel))
        return;
    if (is_piece) {
        rank_output_send(output_find(a, (int)ranks->ranges[0].first, stream), bytes, size);
        return;
    }
    for (uint32_t i = 0; i < ranks->count; i += FOLDED_RANGES) {
        uint32_t left = ranks->count - i;

        folded_send(a, stream, ranks->ranges + i, left < FOLDED_RANGES ? left : FOLDED_RANGES,
                    bytes, size);
    }
}

static void on_fold_out(const struct line_ranks *ranks, bool is_piece, const char *bytes,
                        size_t size, int owner, uint32_t cost, void *arg)
{
    (void)owner, (void)cost;
    fold_write(arg, 1, ranks, is_piece, bytes, size);
}

static void on_fold_err(const struct line_ranks *ranks, bool is_piece, const char *bytes,
                        size_t size, int owner, uint32_t cost, void *arg)
{
    (void)owner, (void)cost;
    fold_write(arg, 2, ranks, is_piece, bytes, size);
}

static void on_fold_out_end(int rank, void *arg)
{
    rank_output_send(output_find(arg, rank, 1), NULL, 0);
}

static void on_fold_err_end(int rank, void *arg)
{
    rank_output_send(output_find(arg, rank, 2), NULL, 0);
}

/* Writes what is due, and waits for the rest. */
static void folds_write(struct agent *a)
{
    int64_t now = clock_ms();
    int next = a->run.job->fold_ms;

    for (int k = 0; k < 2; k++) {
        int left = line_fold_write(a->run.output.folds[k], now);

        next = left >= 0 && left < next ? left : next;
    }
    if (!evtimer_pending(a->run.output.fold_timer, NULL) || next < a->run.job->fold_ms) {
        const struct timeval wait = {0, (next > 0 ? next : 1) * 1000};

        evtimer_add(a->run.output.fold_timer, &wait);
    }
    window_check(a);
}

static void on_fold_timer(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    int64_t now = clock_ms();
    bool is_waiting = false;

    (void)fd, (void)what;
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        for (int k = 0; k < 2; k++) {
            struct line_cut *c = &a->run.ranks.all[i].out[k].cut;

            line_cut_tick(c, a->run.output.folds[k], a->run.ranks.all[i].job->rank,
                          a->run.job->fold_ms, now);
            is_waiting |= c->size > 0;
        }
    }
    is_waiting |=
        line_fold_held(a->run.output.folds[0]) + line_fold_held(a->run.output.folds[1]) > 0;
    if (is_waiting)
        folds_write(a);
    agent_check_soon(a);
}

static int folds_open(struct agent *a, struct fault *why)
{
    const struct line_fold_events events[2] = {{fold_may_write, on_fold_out, on_fold_out_end, a},
                                               {fold_may_write, on_fold_err, on_fold_err_end, a}};

    a->run.output.fold_timer = evtimer_new(a->base, on_fold_timer, a);
    for (int k = 0; k < 2; k++)
        a->run.output.folds[k] =
            line_fold_create(a->run.job->most, a->run.job->fold_ms, &events[k]);
    if (!a->run.output.fold_timer || !a->run.output.folds[0] || !a->run.output.folds[1]) {
        rank_output_release(a);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for its output");
    }
    /* Also of ranks that have yet to start: what others write waits for them. */
    for (int i = 0; i < a->run.job->rank_count; i++)
        for (int k = 0; k < 2 && a->run.ranks.all[i].job->rank != a->run.job->pty.rank; k++)
            line_fold_begin(a->run.output.folds[k], a->run.ranks.all[i].job->rank);
    return 0;
}

void rank_output_release(struct agent *a)
{
    for (int i = 0; a->run.ranks.all && i < a->run.job->rank_count; i++)
        for (int k = 0; k < 2; k++)
            free(a->run.ranks.all[i].out[k].cut.held);
    for (int k = 0; k < 2; k++) {
        line_fold_destroy(a->run.output.folds[k]);
        a->run.output.folds[k] = NULL;
    }
    if (a->run.output.fold_timer)
        event_free(a->run.output.fold_timer);
    a->run.output.fold_timer = NULL;
}

/* NULL: what it writes is sent as it is. */
static struct line_fold *fold_of(const struct rank_output *o)
{
    return o->rank->pty >= 0 ? NULL : o->rank->agent->run.output.folds[o->stream - 1];
}

/* A rank that has failed is not reported before its last line is written. */
static void failure_hurry(struct agent_rank *r)
{
    if (r->pty >= 0 || !r->agent->run.output.folds[0] || r->state != RANK_ENDED || r->status == 0 ||
        !rank_output_has_due(r))
        return;
    for (int k = 0; k < 2; k++) {
        struct line_fold *f = r->agent->run.output.folds[k];

        if (r->out[k].due > 0)
            continue;
        line_cut_end(&r->out[k].cut, f, r->job->rank, clock_ms());
        line_fold_hurry(f, r->job->rank);
    }
}

/* Bytes from the pipe, or with size 0 its end. */
static void rank_output_take(struct rank_output *o, const char *bytes, size_t size)
{
    struct line_fold *f = fold_of(o);

    if (!f) {
        rank_output_send(o, bytes, size);
        return;
    }
    o->due -= size < o->due ? size : o->due;
    o->rank->agent->run.output.window.next = (int)(o->rank - o->rank->agent->run.ranks.all) + 1;
    if (size) {
        line_cut_add(&o->cut, f, o->rank->job->rank, bytes, size, clock_ms());
    } else {
        line_cut_end(&o->cut, f, o->rank->job->rank, clock_ms());
        line_fold_end(f, o->rank->job->rank);
    }
    failure_hurry(o->rank);
    /* Once for all pipes that are read in this turn of the loop. */
    event_active(o->rank->agent->run.output.fold_timer, EV_TIMEOUT, 0);
}

/* --- pipes -------------------------------------------------------------------------------------
 */

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
    size_t room = AGENT_OUTPUT_WINDOW - AGENT_OUTPUT_EXTRA - a->run.output.window.unacknowledged;
    size_t most;
    ssize_t n;

    (void)what;
    if (a->run.output.window.is_closed)
        return; /* closed by another pipe in the same turn of the loop */
    most = fold_of(o) ? FOLD_CHUNK : room < sizeof(buffer) ? room : sizeof(buffer);
    n = read(fd, buffer, most);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 && o->rank->pty < 0) /* a terminal that is hung up gives EIO */
        rank_output_is_broken(o, errno);
    if (n <= 0)
        rank_output_end(o);
    if (frame_stream_has_ended(a->launcher.channel))
        o->due = 0;
    else
        rank_output_take(o, buffer, n > 0 ? (size_t)n : 0);
    agent_check_soon(a);
}

static int rank_output_open_one(struct agent_rank *r, struct rank_output *o, int fd, uint8_t stream,
                                struct fault *why)
{
    struct agent *a = r->agent;

    *o = (struct rank_output){.rank = r, .fd = fd, .stream = stream};
    if (a->run.job->fold_ms && !a->run.output.folds[0] && folds_open(a, why)) {
        close(fd);
        return why->code;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (a->run.job->rank_count <= FEW_RANKS)
        fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE); /* may fail at the user's limit, which does no harm */
    o->event = event_new(a->base, fd, EV_READ | EV_PERSIST, on_readable, o);
    if (!o->event) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for its output");
    }
    if (!a->run.output.window.is_closed)
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

void rank_output_renew(struct agent_rank *r)
{
    for (int k = 0; k < 2; k++) {
        struct rank_output *o = &r->out[k];

        if (o->event) {
            rank_output_take(o, NULL, 0);
            rank_output_end(o);
        }
        free(o->cut.held);
        o->cut = (struct line_cut){0};
        if (r->agent->run.output.folds[k])
            line_fold_begin(r->agent->run.output.folds[k], r->job->rank);
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
    failure_hurry(r);
    if (r->agent->run.output.folds[0])
        folds_write(r->agent);
}

void rank_output_leave_out(struct agent_rank *r)
{
    for (int k = 0; k < 2; k++)
        if (r->agent->run.output.folds[k])
            line_fold_end(r->agent->run.output.folds[k], r->job->rank);
}

bool rank_output_has_due(const struct agent_rank *r)
{
    for (int k = 0; k < 2; k++) {
        const struct rank_output *o = &r->out[k];

        if (o->due > 0 ||
            (o->rank && fold_of(o) && (o->cut.size > 0 || line_fold_has(fold_of(o), r->job->rank))))
            return true;
    }
    return false;
}

void rank_output_acknowledge(struct agent *a, size_t bytes)
{
    a->run.output.window.unacknowledged -=
        bytes < a->run.output.window.unacknowledged ? bytes : a->run.output.window.unacknowledged;
    window_check(a);
    if (!a->run.output.folds[0])
        return;
    folds_write(a);
    agent_check_soon(a);
}

void rank_output_on_written(struct agent *a)
{
    if (a->run.job)
        window_check(a);
    if (!a->run.job || !a->run.output.folds[0])
        return;
    folds_write(a);
    agent_check_soon(a);
}

/* Nothing that is held waits any longer. */
static void folds_hurry(struct agent *a)
{
    if (!a->run.output.folds[0])
        return;
    for (int k = 0; k < 2; k++)
        line_fold_hurry(a->run.output.folds[k], -1);
    folds_write(a);
}

void rank_output_abandon(struct agent *a)
{
    a->run.output.window.unacknowledged = 0;
    if (a->run.job)
        window_check(a);
    folds_hurry(a);
}

bool rank_output_finish(struct agent *a)
{
    bool is_finished = true;

    for (int i = 0; i < a->run.ranks.spawned; i++) {
        for (int k = 0; k < 2; k++) {
            struct rank_output *o = &a->run.ranks.all[i].out[k];

            if (!o->event)
                continue;
            if (pipe_bytes(o) > 0) {
                is_finished = false;
            } else {
                rank_output_take(o, NULL, 0);
                rank_output_end(o);
            }
        }
    }
    if (is_finished) /* what has yet to be read may join what is held */
        folds_hurry(a);
    for (int k = 0; k < 2 && a->run.output.folds[k]; k++)
        is_finished &= line_fold_held(a->run.output.folds[k]) == 0;
    return is_finished;
}

size_t rank_output_close_all(struct agent *a)
{
    size_t dropped = 0;

    for (int i = 0; i < a->run.ranks.spawned; i++) {
        dropped +=
            pipe_bytes(&a->run.ranks.all[i].out[0]) + pipe_bytes(&a->run.ranks.all[i].out[1]);
        rank_output_close(&a->run.ranks.all[i]);
    }
    for (int k = 0; k < 2 && a->run.output.folds[k]; k++)
        dropped += line_fold_held(a->run.output.folds[k]);
    return dropped;
}
