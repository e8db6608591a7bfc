/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_completion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { ACK_WAIT_S = 1 };

/* --- events that nobody has read -------------------------------------------------------------- */

/* Takes those out of a pipe that have `element` at `offset`, as the kernel does where an object is
 * destroyed. Another thread may read, too, and this one must not wait: it opens the pipe anew. */
static void pipe_forget(int reader, int writer, size_t size, size_t offset, const void *element)
{
    char path[32], event[sizeof(struct ibv_async_event)];
    const void *about;
    int fd, count = 0;

    if (ioctl(reader, FIONREAD, &count) || count == 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", reader);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    for (; count > 0 && read(fd, event, size) == (ssize_t)size; count -= (int)size) {
        memcpy(&about, event + offset, sizeof(about));
        if (about != element)
            (void)!write(writer, event, size);
    }
    close(fd);
}

/* --- channels --------------------------------------------------------------------------------- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct standin_context *c = standin_context(context);
    struct standin_channel *channel = NULL;
    int ends[2];

    if (!c->device.has_events) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (pipe2(ends, O_CLOEXEC))
        return NULL;
    fcntl(ends[1], F_SETFL, O_NONBLOCK); /* the reader's end is the program's to choose */
    standin_lock(c);
    channel = standin_object_create(c, STANDIN_CHANNEL, sizeof(*channel),
                                    offsetof(struct standin_channel, object), 0);
    if (channel) {
        channel->verbs = (struct ibv_comp_channel){.context = context, .fd = ends[0]};
        channel->events = ends[1];
    }
    standin_unlock(c);
    if (!channel) {
        close(ends[0]);
        close(ends[1]);
        return NULL;
    }
    return &channel->verbs;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_channel *channel = (struct standin_channel *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &channel->object, "ibv_destroy_comp_channel")) {
        err = EINVAL;
    } else if (channel->users) {
        standin_break(RULE_IN_USE, c, "completion channel",
                      "ibv_destroy_comp_channel while %d completion queues use it", channel->users);
        err = EBUSY;
    } else {
        close(verbs->fd);
        close(channel->events);
        standin_object_destroy(c, &channel->object);
    }
    standin_unlock(c);
    return err;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    struct standin_context *c = standin_context(channel->context);
    struct standin_cq *q;

    if (read(channel->fd, &q, sizeof(q)) != (ssize_t)sizeof(q))
        return -1;
    standin_lock(c);
    q->comp_events++;
    *cq = &q->verbs;
    *cq_context = q->verbs.cq_context;
    standin_unlock(c);
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    struct standin_context *c = standin_context(cq->context);

    standin_lock(c);
    cq->comp_events_completed += count;
    if (cq->comp_events_completed > standin_cq(cq)->comp_events)
        standin_break(RULE_EVENTS_ACKED, c, "completion queue",
                      "ibv_ack_cq_events of %u, %u in all, of %u that came", count,
                      cq->comp_events_completed, standin_cq(cq)->comp_events);
    pthread_cond_broadcast(&cq->cond);
    standin_unlock(c);
}

/* --- queues ----------------------------------------------------------------------------------- */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *verbs, int vector)
{
    struct standin_context *c = standin_context(context);
    struct standin_channel *channel = (struct standin_channel *)verbs;
    struct standin_cq *q = NULL;
    int err = 0;

    standin_lock(c);
    if (cqe < 1 || cqe > c->device.attr.max_cqe) {
        standin_break(RULE_LIMIT, c, "completion queue", "ibv_create_cq of %d entries, of 1 to %d",
                      cqe, c->device.attr.max_cqe);
        err = EINVAL;
    } else if (vector < 0 || vector >= context->num_comp_vectors) {
        standin_break(RULE_LIMIT, c, "completion queue", "completion vector %d, of 0 to %d", vector,
                      context->num_comp_vectors - 1);
        err = EINVAL;
    } else if (channel && !standin_lives(c, &channel->object, "ibv_create_cq")) {
        err = EINVAL;
    } else if (channel && verbs->context != context) {
        standin_break(RULE_ONE_CONTEXT, c, "completion queue",
                      "ibv_create_cq with a channel of another context");
        err = EINVAL;
    } else {
        q = standin_object_create(c, STANDIN_CQ, sizeof(*q), offsetof(struct standin_cq, object),
                                  c->device.attr.max_cq);
        if (q && !(q->ring = calloc((size_t)cqe, sizeof(*q->ring)))) {
            standin_object_destroy(c, &q->object);
            q = NULL;
            errno = ENOMEM;
        }
        err = q ? 0 : errno;
    }
    if (q) {
        q->verbs.context = context;
        q->verbs.channel = verbs;
        q->verbs.cq_context = cq_context;
        q->verbs.cqe = cqe;
        pthread_mutex_init(&q->verbs.mutex, NULL);
        pthread_cond_init(&q->verbs.cond, NULL);
        if (channel) {
            channel->users++;
            verbs->refcnt++;
        }
    }
    standin_unlock(c);
    errno = err ? err : errno;
    return q ? &q->verbs : NULL;
}

int ibv_resize_cq(struct ibv_cq *verbs, int cqe)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_cq *q = standin_cq(verbs);
    struct standin_completion *ring;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &q->object, "ibv_resize_cq") || cqe < 1 || cqe > c->device.attr.max_cqe ||
        (uint64_t)cqe < q->tail - q->head) {
        err = EINVAL;
    } else if (!(ring = calloc((size_t)cqe, sizeof(*ring)))) {
        err = ENOMEM;
    } else {
        for (uint64_t i = q->head; i < q->tail; i++)
            ring[i % (uint64_t)cqe] = q->ring[i % (uint64_t)verbs->cqe];
        free(q->ring);
        q->ring = ring;
        verbs->cqe = cqe;
    }
    standin_unlock(c);
    return err;
}

static bool has_events(const struct standin_cq *q)
{
    return q->verbs.comp_events_completed < q->comp_events ||
           q->verbs.async_events_completed < q->async_events;
}

/* Waits, as the real library does, until the program has acknowledged its events. Another thread
 * may be about to; else it waits for ever, and that is said. */
static void events_await(struct standin_context *c, struct standin_cq *q)
{
    struct timespec until;
    int err = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ACK_WAIT_S;
    while (has_events(q) && !err)
        err = pthread_cond_timedwait(&q->verbs.cond, &c->lock, &until);
    if (has_events(q))
        standin_break(RULE_EVENTS_ACKED, c, "completion queue",
                      "ibv_destroy_cq waits for %u events that are not acknowledged",
                      q->comp_events - q->verbs.comp_events_completed + q->async_events -
                          q->verbs.async_events_completed);
    while (has_events(q))
        pthread_cond_wait(&q->verbs.cond, &c->lock);
}

int standin_cq_destroy(struct standin_context *c, struct standin_cq *q)
{
    struct standin_channel *channel = (struct standin_channel *)q->verbs.channel;

    if (!standin_lives(c, &q->object, "ibv_destroy_cq"))
        return EINVAL;
    if (q->users) {
        standin_break(RULE_IN_USE, c, "completion queue",
                      "ibv_destroy_cq while %d queues of queue pairs use it", q->users);
        return EBUSY;
    }
    events_await(c, q);
    standin_events_forget(c, q);
    if (channel) {
        pipe_forget(channel->verbs.fd, channel->events, sizeof(q), 0, q);
        channel->users--;
        channel->verbs.refcnt--;
    }
    free(q->ring);
    q->ring = NULL;
    standin_object_destroy(c, &q->object);
    return 0;
}

int ibv_destroy_cq(struct ibv_cq *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    int err;

    standin_lock(c);
    err = standin_cq_destroy(c, standin_cq(verbs));
    standin_unlock(c);
    return err;
}

/* --- completions ------------------------------------------------------------------------------ */

static void cq_tell(struct standin_cq *q)
{
    struct standin_channel *channel = (struct standin_channel *)q->verbs.channel;

    q->armed = STANDIN_UNARMED;
    /* The pipe holds 8,192 events, and each queue has one at most between two calls of
     * ibv_req_notify_cq(). */
    if (channel && !channel->object.is_dead)
        (void)!write(channel->events, &q, sizeof(q));
}

void standin_cq_add(struct standin_cq *q, const struct standin_completion *completion,
                    bool is_solicited)
{
    struct standin_context *c = standin_context(q->verbs.context);

    if (q->is_full || q->object.is_dead)
        return;
    if (q->tail - q->head == (uint64_t)q->verbs.cqe) {
        q->is_full = true;
        standin_break(RULE_CQ_FULL, c, "completion queue",
                      "a completion of queue pair 0x%x finds all %d entries taken",
                      completion->wc.qp_num, q->verbs.cqe);
        standin_event(c, IBV_EVENT_CQ_ERR, q, 0);
        c->on_cq_full(c, &q->verbs);
        return;
    }
    q->ring[q->tail++ % (uint64_t)q->verbs.cqe] = *completion;
    if (q->armed == STANDIN_ARMED || (q->armed == STANDIN_ARMED_SOLICITED &&
                                      (is_solicited || completion->wc.status != IBV_WC_SUCCESS)))
        cq_tell(q);
}

void standin_cq_forget(struct standin_cq *q, uint32_t qp_number)
{
    uint64_t to = q->head;

    for (uint64_t i = q->head; i < q->tail; i++)
        if (q->ring[i % (uint64_t)q->verbs.cqe].wc.qp_num != qp_number)
            q->ring[to++ % (uint64_t)q->verbs.cqe] = q->ring[i % (uint64_t)q->verbs.cqe];
    q->tail = to;
}

int standin_cq_poll(struct ibv_cq *verbs, int most, struct ibv_wc *out)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_cq *q = standin_cq(verbs);
    int count = 0;

    standin_lock(c);
    if (!standin_lives(c, &q->object, "ibv_poll_cq")) {
        count = -EINVAL;
    } else {
        while (count < most && q->head < q->tail) {
            const struct standin_completion *done = &q->ring[q->head++ % (uint64_t)verbs->cqe];

            if (done->polled && done->place > *done->polled)
                *done->polled = done->place;
            out[count++] = done->wc;
        }
    }
    standin_unlock(c);
    return count;
}

int standin_cq_notify(struct ibv_cq *verbs, int solicited_only)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_cq *q = standin_cq(verbs);
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &q->object, "ibv_req_notify_cq")) {
        err = EINVAL;
    } else if (!solicited_only || q->armed == STANDIN_UNARMED) {
        q->armed = solicited_only ? STANDIN_ARMED_SOLICITED : STANDIN_ARMED;
    }
    standin_unlock(c);
    return err;
}

void standin_events_forget(const struct standin_context *c, const void *element)
{
    pipe_forget(c->verbs.context.async_fd, c->events, sizeof(struct ibv_async_event),
                offsetof(struct ibv_async_event, element), element);
}
