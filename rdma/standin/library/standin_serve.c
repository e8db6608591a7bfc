/* SPDX-License-Identifier: MIT */
#include "rdma/standin/library/standin_serve.h"

#include "common/clock.h"
#include "rdma/standin/library/standin_requester.h"
#include "rdma/standin/library/standin_responder.h"
#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { AT_ONCE = 64 }; /* messages between two looks at the lock's other users */

static struct standin_qp *qp_find(const struct standin_context *c, uint32_t number)
{
    return fabric_context_of(number) == c->device.context ? c->qps[number & FABRIC_QPS_MOST] : NULL;
}

/* Queue pairs that wait for a slot go on, answers to others' reads first. */
static void slots_offer(struct standin_context *c)
{
    if (!c->arena.is_wanted)
        return;
    c->arena.is_wanted = false;
    for (uint32_t i = 1; i <= c->qp_most; i++)
        if (c->qps[i])
            standin_responder_run(c->qps[i]);
    for (uint32_t i = 1; i <= c->qp_most; i++)
        if (c->qps[i])
            standin_requester_run(c->qps[i]);
}

static void segment_take(struct standin_context *c, const struct fabric_segment *s)
{
    struct standin_qp *q = qp_find(c, s->to_qp);

    if (fabric_is_response(s)) {
        if (q)
            standin_requester_answer(q, s);
        else if (s->type == FABRIC_READ_RESPONSE)
            standin_link_free(c, s->from_context, s->slot);
    } else if (q) {
        standin_responder_take(q, s);
    } else {
        standin_responder_silent(c, s);
    }
}

/* A segment was lost that this context sent, or that was an answer for it. */
static void lost_take(struct standin_context *c, const struct fabric_segment *s)
{
    const bool is_mine = fabric_context_of(s->from_qp) == c->device.context;
    struct standin_qp *q;

    if (is_mine)
        standin_slot_lost(c, s);
    q = qp_find(c, fabric_is_response(s) ? s->to_qp : s->from_qp);
    if (q)
        standin_requester_lost(q, s);
}

/* A context is over: nobody there reads what lies in slots for it, or answers. */
static void gone_take(struct standin_context *c, uint32_t context)
{
    for (uint32_t i = 0; i < FABRIC_SLOTS; i++)
        if (c->arena.slots[i].is_used && c->arena.slots[i].context == context)
            standin_slot_free(c, i);
    for (uint32_t i = 1; i <= c->qp_most; i++)
        if (c->qps[i] && fabric_context_of(c->qps[i]->attr.dest_qp_num) == context)
            standin_requester_lost(c->qps[i], NULL);
}

static void port_take(struct standin_context *c, const struct fabric_port_news *news)
{
    if (news->number < 1 || news->number > c->device.attr.phys_port_cnt)
        return;
    c->device.ports[news->number - 1] = news->port;
    if (news->event == IBV_EVENT_DEVICE_FATAL)
        standin_context_break(c, true);
    else
        standin_event(c, (enum ibv_event_type)news->event, NULL, (int)news->number);
}

static void arrival_take(struct standin_context *c, const union standin_arrival *a)
{
    switch (a->kind) {
    case FABRIC_SEGMENT:
        segment_take(c, &a->segment);
        break;
    case FABRIC_LOST:
        lost_take(c, &a->segment);
        break;
    case FABRIC_FREE:
        standin_slot_free(c, a->free.slot);
        break;
    case FABRIC_GONE:
        gone_take(c, a->gone.context);
        break;
    case FABRIC_PORT:
        port_take(c, &a->port);
        break;
    default: /* an arena has been taken already */
        break;
    }
}

/* Takes what has come. */
static void arrivals_take(struct standin_context *c)
{
    union standin_arrival a;
    int rc = 1;

    for (int i = 0; i < AT_ONCE && rc > 0 && !c->is_broken; i++) {
        rc = standin_link_receive(c, &a);
        if (rc > 0)
            arrival_take(c, &a);
    }
    if (rc < 0)
        standin_context_break(c, false);
    slots_offer(c);
}

/* Does what is due; the milliseconds until the next deadline, -1: there is none. */
static int deadlines_look(struct standin_context *c)
{
    int64_t now = clock_ns(), next = 0;

    for (uint32_t i = 1; i <= c->qp_most; i++) {
        int64_t due = c->qps[i] ? standin_requester_timer(c->qps[i], now) : 0;

        if (due && (!next || due < next))
            next = due;
    }
    if (!next)
        return -1;
    return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static void *serve(void *argument)
{
    struct standin_context *c = argument;
    uint64_t count;

    for (;;) {
        struct pollfd p[] = {{.fd = c->wake, .events = POLLIN},
                             {.fd = c->fabric, .events = POLLIN}};
        int wait_ms;

        standin_lock(c);
        if (c->is_closing || c->is_broken)
            break;
        wait_ms = deadlines_look(c);
        if (!standin_link_flush(c))
            p[1].events |= POLLOUT;
        standin_unlock(c);
        if (poll(p, 2, wait_ms) < 0 && errno != EINTR)
            p[1].revents = 0;
        if (p[0].revents)
            (void)!read(c->wake, &count, sizeof(count));
        if (!(p[1].revents & ~POLLOUT))
            continue;
        standin_lock(c);
        arrivals_take(c);
        standin_unlock(c);
    }
    standin_unlock(c);
    return NULL;
}

int standin_serve_start(struct standin_context *c)
{
    sigset_t all, before;
    int err;

    /* The program's signals are for its own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    standin_lock(c); /* the thread reads what is beside is_threaded */
    err = pthread_create(&c->thread, NULL, serve, c);
    c->is_threaded = !err;
    standin_unlock(c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_setname_np(c->thread, "standin");
    return err;
}

void standin_serve_stop(struct standin_context *c)
{
    const uint64_t one = 1;

    if (!c->is_threaded)
        return;
    (void)!write(c->wake, &one, sizeof(one));
    pthread_join(c->thread, NULL);
}
