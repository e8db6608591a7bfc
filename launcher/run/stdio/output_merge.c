/* SPDX-License-Identifier: MIT */
#include "launcher/run/stdio/output_merge.h"

#include "common/clock.h"

#include <event2/event.h>
#include <stdlib.h>

struct output_merge {
    int ranks, hold_ms;
    struct line_fold *folds[2]; /* by stream */
    struct event *timer;
    output_merge_on_lines *on_lines;
    void *arg;
};

/* How much is written at a time is limited by the agents' windows. */
static bool may_write(size_t size, void *arg)
{
    (void)size, (void)arg;
    return true;
}

static void on_out(const struct line_ranks *ranks, bool is_piece, const char *bytes, size_t size,
                   int host, uint32_t cost, void *arg)
{
    struct output_merge *m = arg;

    (void)is_piece;
    m->on_lines(host, ranks, 1, bytes, size, cost, m->arg);
}

static void on_err(const struct line_ranks *ranks, bool is_piece, const char *bytes, size_t size,
                   int host, uint32_t cost, void *arg)
{
    struct output_merge *m = arg;

    (void)is_piece;
    m->on_lines(host, ranks, 2, bytes, size, cost, m->arg);
}

static void end_pass(struct output_merge *m, int rank, int stream)
{
    const struct line_range one = {(uint32_t)rank, (uint32_t)rank};

    m->on_lines(-1, &(struct line_ranks){&one, 1}, stream, NULL, 0, 0, m->arg);
}

static void on_out_end(int rank, void *arg)
{
    end_pass(arg, rank, 1);
}

static void on_err_end(int rank, void *arg)
{
    end_pass(arg, rank, 2);
}

static void merge_write(struct output_merge *m)
{
    int64_t now = clock_ms();
    int next = -1;

    for (int k = 0; k < 2; k++) {
        int left = line_fold_write(m->folds[k], now);

        next = left >= 0 && (next < 0 || left < next) ? left : next;
    }
    if (next >= 0 && !evtimer_pending(m->timer, NULL)) {
        const struct timeval wait = {0, (next > 0 ? next : 1) * 1000};

        evtimer_add(m->timer, &wait);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    merge_write(arg);
}

/* All ranks write, until their streams end. */
static void ranks_begin(struct output_merge *m)
{
    for (int r = 0; r < m->ranks; r++)
        for (int k = 0; k < 2; k++)
            line_fold_begin(m->folds[k], r);
}

int output_merge_open(struct output_merge **out, struct event_base *base, int ranks, int hold_ms,
                      output_merge_on_lines *on_lines, void *arg, struct fault *why)
{
    struct output_merge *m = calloc(1, sizeof(*m));
    const struct line_fold_events events[2] = {{may_write, on_out, on_out_end, m},
                                               {may_write, on_err, on_err_end, m}};

    if (m) {
        *m = (struct output_merge){
            .ranks = ranks, .hold_ms = hold_ms, .on_lines = on_lines, .arg = arg};
        m->timer = evtimer_new(base, on_timer, m);
        for (int k = 0; k < 2; k++)
            m->folds[k] = line_fold_create(ranks, hold_ms, &events[k]);
    }
    if (!m || !m->timer || !m->folds[0] || !m->folds[1]) {
        output_merge_close(m);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    ranks_begin(m);
    *out = m;
    return 0;
}

void output_merge_close(struct output_merge *m)
{
    if (!m)
        return;
    for (int k = 0; k < 2; k++)
        line_fold_destroy(m->folds[k]);
    if (m->timer)
        event_free(m->timer);
    free(m);
}

void output_merge_lines(struct output_merge *m, int host, const struct line_ranks *ranks,
                        int stream, const char *bytes, size_t size, uint32_t cost)
{
    struct line_fold *f = m->folds[stream - 1];
    const char *end = bytes + size, *next;
    int64_t now = clock_ms();
    uint32_t back = 0; /* what lines that have joined others have cost */

    for (; bytes < end; bytes = next) {
        uint32_t own;

        next = line_fold_line_end(bytes, end);
        own = next == end ? cost : (uint32_t)(next - bytes); /* the last one has the rest */
        cost -= own;
        if (line_fold_add(f, ranks, bytes, (size_t)(next - bytes), host, own, now))
            back += own;
    }
    if (back)
        m->on_lines(host, NULL, stream, NULL, 0, back, m->arg);
    merge_write(m);
}

void output_merge_piece(struct output_merge *m, int host, int rank, int stream, const void *bytes,
                        size_t size, uint32_t cost)
{
    struct line_fold *f = m->folds[stream - 1];

    if (size)
        line_fold_piece(f, rank, bytes, size, host, cost, clock_ms());
    else
        line_fold_end(f, rank);
    merge_write(m);
}

void output_merge_flush(struct output_merge *m)
{
    if (!m)
        return;
    for (int k = 0; k < 2; k++)
        line_fold_hurry(m->folds[k], -1);
    merge_write(m);
    evtimer_del(m->timer);
    ranks_begin(m);
}
