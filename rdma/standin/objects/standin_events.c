/* SPDX-License-Identifier: MIT */
/* Asynchronous events, and which of them the program has acknowledged. */
#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_receive.h"

#include <unistd.h>

/* Where the events of its object are counted; NULL: it has none. *acked: where those are that the
 * program has acknowledged. */
static uint32_t *events_of(const struct ibv_async_event *event, uint32_t **acked)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        *acked = &event->element.cq->async_events_completed;
        return &standin_cq(event->element.cq)->async_events;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        *acked = &event->element.srq->events_completed;
        return standin_srq_events(event->element.srq);
    default:
        return NULL;
    }
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct standin_context *c = standin_context(context);
    uint32_t *acked, *came;

    if (read(context->async_fd, event, sizeof(*event)) != (ssize_t)sizeof(*event))
        return -1;
    standin_lock(c);
    came = events_of(event, &acked);
    if (came)
        ++*came;
    standin_unlock(c);
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    uint32_t *acked;
    struct standin_context *c;

    if (!events_of(event, &acked))
        return;
    c = standin_context(event->event_type == IBV_EVENT_CQ_ERR ? event->element.cq->context
                                                              : event->element.srq->context);
    standin_lock(c);
    ++*acked;
    if (event->event_type == IBV_EVENT_CQ_ERR)
        pthread_cond_broadcast(&event->element.cq->cond);
    standin_unlock(c);
}
