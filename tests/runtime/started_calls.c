/* SPDX-License-Identifier: MIT */
#include "tests/runtime/started_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPANIONS = 12, COUNT_MOST = 40000 };

/* A call made beside the one under test: a sum over all ranks, or messages around the ring. */
struct companion {
    ml_request *first, *second; /* the second of a ring: the send, or NULL */
    int64_t *in, *out;
    size_t count;
    int64_t seed, step; /* out[i] must become seed + step * i */
};

static struct {
    ml_group *group;
    int rank, size;
    uint64_t shared, own; /* random states: the same on all ranks; this rank's */
    struct companion companions[COMPANIONS];
    unsigned long failures;
} started;

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

/* --- companions --------------------------------------------------------------------------------
 */

/* An error breaks the group, so the case under test will fail too. */
static void companion_wait(struct companion *c)
{
    int rc, second;

    if (!c->in)
        return;
    rc = ml_wait(c->first);
    second = ml_wait(c->second);
    for (size_t i = 0; !rc && !second && i < c->count; i++)
        rc = c->out[i] != c->seed + c->step * (int64_t)i;
    if (rc || second) {
        fprintf(stderr, "rank %d: a companion of %zu: %s\n", started.rank, c->count,
                rc > 0 ? "wrong" : ml_error());
        started.failures++;
    }
    free(c->in);
    free(c->out);
    memset(c, 0, sizeof(*c));
}

static void companion_sum(struct companion *c)
{
    int64_t n = started.size;

    c->step = n;
    c->seed = n * c->seed + n * (n - 1) / 2;
    if (ml_start_all_reduce(started.group, c->in, c->out, c->count, ML_INT64, ML_SUM, &c->first))
        started.failures++;
}

/* Each rank decides by itself whether it receives before it sends. */
static void companion_ring(struct companion *c)
{
    int right = (started.rank + 1) % started.size;
    int left = (started.rank + started.size - 1) % started.size, rc = 0;
    size_t size = c->count * sizeof(*c->in);
    unsigned form = draw(&started.own, 4);

    c->step = 1;
    c->seed += left;
    if (form == 0)
        rc = ml_start_sendrecv(started.group, c->in, size, right, c->out, size, left, &c->first);
    if (form == 1)
        rc = ml_start_send(started.group, c->in, size, right, &c->second);
    if (form > 0 && !rc)
        rc = ml_start_recv(started.group, c->out, size, left, &c->first);
    if (form == 2 && !rc)
        rc = ml_start_send(started.group, c->in, size, right, &c->second);
    if (form == 3 && !rc)
        rc = ml_send(started.group, c->in, size, right);
    started.failures += rc != 0;
}

static void companion_start(void)
{
    struct companion *c = &started.companions[draw(&started.shared, COMPANIONS)];
    bool sums = draw(&started.shared, 2);
    size_t count = draw(&started.shared, COUNT_MOST) >> draw(&started.shared, 16);
    int64_t seed = draw(&started.shared, 1000);

    companion_wait(c);
    c->count = count;
    c->in = malloc(count * sizeof(*c->in) + 1);
    c->out = malloc(count * sizeof(*c->out) + 1);
    if (!c->in || !c->out)
        abort();
    for (size_t i = 0; i < count; i++)
        c->in[i] = seed + started.rank + (int64_t)i;
    c->seed = seed;
    if (sums)
        companion_sum(c);
    else
        companion_ring(c);
}

static void companions_start(void)
{
    for (unsigned n = draw(&started.shared, 4); n > 0; n--)
        companion_start();
}

static void companions_wait_for_some(void)
{
    for (unsigned n = draw(&started.own, 4); n > 0; n--)
        companion_wait(&started.companions[draw(&started.own, COMPANIONS)]);
}

unsigned long started_calls_end(void)
{
    for (int i = 0; i < COMPANIONS; i++)
        companion_wait(&started.companions[i]);
    return started.failures;
}

/* --- the calls ---------------------------------------------------------------------------------
 */

static int finish(int rc, ml_request *r)
{
    int done = 0;

    companions_start();
    if (rc)
        return rc;
    companions_wait_for_some();
    while (draw(&started.own, 3) && !done && !rc)
        rc = ml_test(r, &done);
    return ml_wait(r);
}

/* Blocking or started, which the other ranks don't see; what comes after it they do. */
#define EITHER(call, parameters, ...)                                                              \
    static int started_##call parameters                                                           \
    {                                                                                              \
        ml_request *r = NULL;                                                                      \
        int rc;                                                                                    \
                                                                                                   \
        companions_start();                                                                        \
        if (draw(&started.own, 3) == 0) {                                                          \
            rc = ml_##call(__VA_ARGS__);                                                           \
            return finish(rc, NULL);                                                               \
        }                                                                                          \
        rc = ml_start_##call(__VA_ARGS__, &r);                                                     \
        return finish(rc, r);                                                                      \
    }

EITHER(all_reduce, (ml_group * g, const void *in, void *out, size_t count, ml_type type, ml_op op),
       g, in, out, count, type, op)
EITHER(reduce_scatter,
       (ml_group * g, const void *in, void *out, size_t count, ml_type type, ml_op op), g, in, out,
       count, type, op)
EITHER(reduce,
       (ml_group * g, const void *in, void *out, size_t count, ml_type type, ml_op op, int root), g,
       in, out, count, type, op, root)
EITHER(scan, (ml_group * g, const void *in, void *out, size_t count, ml_type type, ml_op op), g, in,
       out, count, type, op)
EITHER(exclusive_scan,
       (ml_group * g, const void *in, void *out, size_t count, ml_type type, ml_op op), g, in, out,
       count, type, op)
EITHER(all_reduce_with,
       (ml_group * g, const void *in, void *out, size_t count, const ml_operator *with), g, in, out,
       count, with)
EITHER(reduce_scatter_with,
       (ml_group * g, const void *in, void *out, size_t count, const ml_operator *with), g, in, out,
       count, with)
EITHER(reduce_with,
       (ml_group * g, const void *in, void *out, size_t count, const ml_operator *with, int root),
       g, in, out, count, with, root)
EITHER(scan_with, (ml_group * g, const void *in, void *out, size_t count, const ml_operator *with),
       g, in, out, count, with)
EITHER(exclusive_scan_with,
       (ml_group * g, const void *in, void *out, size_t count, const ml_operator *with), g, in, out,
       count, with)
EITHER(all_gather, (ml_group * g, const void *in, void *out, size_t size), g, in, out, size)
EITHER(all_to_all, (ml_group * g, const void *in, void *out, size_t size), g, in, out, size)
EITHER(all_gather_v,
       (ml_group * g, const void *in, void *out, const size_t *sizes, const size_t *offsets), g, in,
       out, sizes, offsets)
EITHER(all_to_all_v,
       (ml_group * g, const void *in, const size_t *in_sizes, const size_t *in_offsets, void *out,
        const size_t *out_sizes, const size_t *out_offsets),
       g, in, in_sizes, in_offsets, out, out_sizes, out_offsets)
EITHER(broadcast, (ml_group * g, void *buf, size_t size, int root), g, buf, size, root)
EITHER(gather, (ml_group * g, const void *in, void *out, size_t size, int root), g, in, out, size,
       root)
EITHER(scatter, (ml_group * g, const void *in, void *out, size_t size, int root), g, in, out, size,
       root)
EITHER(sendrecv,
       (ml_group * g, const void *out, size_t out_size, int to, void *in, size_t in_size, int from),
       g, out, out_size, to, in, in_size, from)
EITHER(barrier, (ml_group * g), g)

struct subject started_calls(const struct subject *s, uint64_t seed)
{
    struct subject made = *s;

    made.all_reduce = started_all_reduce;
    made.reduce_scatter = started_reduce_scatter;
    made.reduce = started_reduce;
    made.scan = started_scan;
    made.exclusive_scan = started_exclusive_scan;
    made.all_reduce_with = started_all_reduce_with;
    made.reduce_scatter_with = started_reduce_scatter_with;
    made.reduce_with = started_reduce_with;
    made.scan_with = started_scan_with;
    made.exclusive_scan_with = started_exclusive_scan_with;
    made.all_gather = started_all_gather;
    made.all_to_all = started_all_to_all;
    made.all_gather_v = started_all_gather_v;
    made.all_to_all_v = started_all_to_all_v;
    made.broadcast = started_broadcast;
    made.gather = started_gather;
    made.scatter = started_scatter;
    made.sendrecv = started_sendrecv;
    made.barrier = started_barrier;
    started.group = s->group;
    started.rank = s->rank;
    started.size = s->size;
    started.shared = seed;
    started.own = seed + 77 * (uint64_t)(s->rank + 1);
    return made;
}
