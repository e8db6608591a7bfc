/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/pair/pair_traffic.h"

#include "common/clock.h"
#include "launcher/tools/bench/measure/bench_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_UP = 2,
    TIMED = 3, /* to choose how many more */
    ITERATIONS_LEAST = 10,
    WINDOW = 64,             /* messages, as in OSU's osu_bw */
    WINDOW_LEAST = 4,        /* so that the next one is under way while one arrives */
    WINDOW_BYTES = 64 << 20, /* at most */
    WINDOW_US = 20000,       /* about, where the way is slow */
    CANARY = 0xa5,
};

/* --- buffers ---------------------------------------------------------------------------------- */

/* Memory that is granted and not there would end the rank by the kernel's hand. */
static int memory_check(size_t size, struct fault *why)
{
    FILE *f = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    char line[128];
    bool is_known = false;

    while (f && !is_known && fgets(line, sizeof(line), f))
        is_known = sscanf(line, "MemAvailable: %llu kB", &kib) == 1; // NOLINT(cert-err34-c)
    if (f)
        fclose(f);
    if (!is_known || size / 1024 < kib / 2)
        return 0;
    return fault_set(why, ML_ERR_MEMORY,
                     "two buffers of %zu bytes are more than the %llu KiB of memory that this host "
                     "has left",
                     size, kib);
}

int pair_buffers_open(struct pair_buffers *b, size_t size, bool uses_alloc, struct fault *why)
{
    int rc = memory_check(size, why);

    *b = (struct pair_buffers){.uses_alloc = uses_alloc};
    if (rc)
        return rc;
    b->in = bench_buffer_open(size ? size : 1, uses_alloc);
    b->out = bench_buffer_open(size ? size : 1, uses_alloc);
    if (b->in && b->out)
        return 0;
    pair_buffers_close(b);
    return fault_set(why, ML_ERR_MEMORY, "out of memory for two buffers of %zu bytes", size);
}

void pair_buffers_close(struct pair_buffers *b)
{
    bench_buffer_close(b->in, b->uses_alloc);
    bench_buffer_close(b->out, b->uses_alloc);
    b->in = b->out = NULL;
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* What the leader has chosen for a round. */
struct round_plan {
    uint64_t iterations[PAIR_WAYS];
    uint64_t window;
};

struct pair_round {
    const struct bench_options *options;
    ml_group *world;
    int peer;
    bool leads;
    size_t size;
    const struct pair_buffers *buffers;
    struct round_plan plan;
    struct pair_times *times; /* the leader's */
    uint64_t errors;
};

/* Byte `i` of what `from` sends; different in each place of a page and in each page. */
static unsigned char byte_at(int from, size_t i)
{
    return (unsigned char)((unsigned)from * 101U + (unsigned)i * 7U + (unsigned)(i >> 8) * 3U +
                           (unsigned)(i >> 16) * 5U + 1U);
}

static void buffers_fill(const struct pair_round *p)
{
    int mine = ml_rank(p->world);

    for (size_t i = 0; i < p->size; i++)
        p->buffers->in[i] = byte_at(mine, i);
}

/* Counts what is wrong in the message that came last. */
static void message_check(struct pair_round *p)
{
    for (size_t i = 0; p->options->check && i < p->size; i++)
        p->errors += p->buffers->out[i] != byte_at(p->peer, i);
}

static void message_spoil(const struct pair_round *p)
{
    if (p->options->check)
        memset(p->buffers->out, CANARY, p->size);
}

static int message_send(const struct pair_round *p)
{
    return ml_send(p->world, p->buffers->in, p->size, p->peer);
}

static int message_receive(const struct pair_round *p)
{
    return ml_recv(p->world, p->buffers->out, p->size, p->peer);
}

static int word_pass(const struct pair_round *p, bool sends)
{
    uint64_t word = 0;

    return sends ? ml_send(p->world, &word, sizeof(word), p->peer)
                 : ml_recv(p->world, &word, sizeof(word), p->peer);
}

static int ping_pong(const struct pair_round *p)
{
    int rc = p->leads ? message_send(p) : message_receive(p);

    if (rc)
        return rc;
    return p->leads ? message_receive(p) : message_send(p);
}

/* A window of messages one way and a word the other way, so that the leader's clock sees both
 * ends. */
static int window_one_way(const struct pair_round *p, bool sends)
{
    int rc = p->leads == sends ? 0 : word_pass(p, !sends);

    for (uint64_t i = 0; i < p->plan.window && !rc; i++)
        rc = sends ? message_send(p) : message_receive(p);
    return rc || p->leads != sends ? rc : word_pass(p, !sends);
}

static int window_both(const struct pair_round *p)
{
    int rc = 0;

    for (uint64_t i = 0; i < p->plan.window && !rc; i++)
        rc = ml_sendrecv(p->world, p->buffers->in, p->size, p->peer, p->buffers->out, p->size,
                         p->peer);
    return rc;
}

static int way_step(const struct pair_round *p, enum pair_way way)
{
    switch (way) {
    case PAIR_LATENCY:
        return ping_pong(p);
    case PAIR_THERE:
        return window_one_way(p, p->leads);
    case PAIR_BACK:
        return window_one_way(p, !p->leads);
    default:
        return window_both(p);
    }
}

/* --- how often -------------------------------------------------------------------------------- */

static void window_choose(struct pair_round *p, double message_us)
{
    uint64_t window = WINDOW;

    while (window > WINDOW_LEAST &&
           ((double)window * message_us > WINDOW_US || window * p->size > WINDOW_BYTES))
        window /= 2;
    p->plan.window = window;
}

static uint64_t iterations_for(const struct pair_round *p, double step_us)
{
    double most = p->options->duration_s * 1e6 / (step_us > 0.01 ? step_us : 0.01);

    return most > ITERATIONS_LEAST ? (uint64_t)most : ITERATIONS_LEAST;
}

/* The leader times a few steps of each way, chooses, and tells. */
static int way_plan(struct pair_round *p, enum pair_way way)
{
    int64_t begin = 0;
    int rc = 0;

    for (int i = 0; i < WARM_UP + TIMED && !rc; i++) {
        if (i == WARM_UP)
            begin = clock_ns();
        rc = way_step(p, way);
    }
    if (rc || !p->leads)
        return rc ? rc : ml_recv(p->world, &p->plan, sizeof(p->plan), p->peer);
    {
        double us = (double)(clock_ns() - begin) / 1000 / TIMED;

        if (way == PAIR_LATENCY)
            window_choose(p, us / 2);
        p->plan.iterations[way] = iterations_for(p, us);
    }
    return ml_send(p->world, &p->plan, sizeof(p->plan), p->peer);
}

static int way_run(struct pair_round *p, enum pair_way way)
{
    int rc = way_plan(p, way);
    double messages;

    if (rc)
        return rc;
    message_spoil(p);
    messages = way == PAIR_LATENCY ? 2 : (double)p->plan.window;
    for (uint64_t i = 0; i < p->plan.iterations[way] && !rc; i++) {
        int64_t begin = clock_ns();

        rc = way_step(p, way);
        if (p->leads) {
            double us = (double)(clock_ns() - begin) / 1000 / messages;

            time_spread_add(&p->times->round[way], us);
            time_spread_add(&p->times->all[way], us);
        }
    }
    /* For the ways with one direction, at the end that received. */
    if (!rc && (way == PAIR_LATENCY || way == PAIR_BOTH || p->leads == (way == PAIR_BACK)))
        message_check(p);
    return rc;
}

int pair_traffic_run(const struct bench_options *o, ml_group *world, int peer, size_t size,
                     const struct pair_buffers *b, struct pair_times *t)
{
    struct pair_round p = {.options = o,
                           .world = world,
                           .peer = peer,
                           .leads = ml_rank(world) < peer,
                           .size = size,
                           .buffers = b,
                           .plan.window = WINDOW_LEAST,
                           .times = t};
    uint64_t theirs = 0;
    int rc = 0;

    buffers_fill(&p);
    memset(t->round, 0, sizeof(t->round));
    for (int way = 0; way < PAIR_WAYS && !rc; way++)
        rc = way_run(&p, (enum pair_way)way);
    if (!rc)
        rc = p.leads ? ml_recv(world, &theirs, sizeof(theirs), peer)
                     : ml_send(world, &p.errors, sizeof(p.errors), peer);
    t->errors += p.errors + theirs;
    return rc;
}
