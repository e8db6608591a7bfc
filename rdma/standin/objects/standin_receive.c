/* SPDX-License-Identifier: MIT */
#include "rdma/standin/objects/standin_receive.h"

#include "rdma/standin/objects/standin_completion.h"
#include "rdma/standin/objects/standin_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- queues ----------------------------------------------------------------------------------- */

bool standin_receives_open(struct standin_receives *r, uint32_t most, uint32_t most_sge)
{
    *r = (struct standin_receives){.most = most, .most_sge = most_sge};
    if (!most)
        return true;
    r->ring = calloc(most, sizeof(*r->ring));
    r->elements = calloc((size_t)most * (most_sge ? most_sge : 1), sizeof(*r->elements));
    return r->ring && r->elements;
}

void standin_receives_close(const struct standin_context *c, struct standin_receives *r)
{
    for (; r->ring && r->head < r->tail; r->head++) {
        const struct standin_receive *posted = &r->ring[r->head % r->most];

        standin_sge_hold(c, posted->list, posted->count, -1);
    }
    free(r->ring);
    free(r->elements);
    *r = (struct standin_receives){0};
}

static int receive_put(const struct standin_context *c, struct standin_receives *r,
                       const struct ibv_pd *pd, const struct ibv_recv_wr *wr, const char *object)
{
    struct standin_receive *posted;

    if (r->tail - r->head >= r->most) {
        standin_break(RULE_RECEIVE_FULL, c, object, "a receive beyond the %u of the queue",
                      r->most);
        return ENOMEM;
    }
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > r->most_sge) {
        standin_break(RULE_SGE_COUNT, c, object, "a receive of %d elements, of at most %u",
                      wr->num_sge, r->most_sge);
        return EINVAL;
    }
    if (standin_sge_check(c, pd, wr->sg_list, wr->num_sge, true, object))
        return EINVAL;
    posted = &r->ring[r->tail % r->most];
    posted->list = r->elements + (r->tail % r->most) * (r->most_sge ? r->most_sge : 1);
    posted->wr_id = wr->wr_id;
    posted->count = wr->num_sge;
    if (wr->num_sge)
        memcpy(posted->list, wr->sg_list, (size_t)wr->num_sge * sizeof(*posted->list));
    posted->length = standin_sge_length(posted->list, posted->count);
    standin_sge_hold(c, posted->list, posted->count, 1);
    r->tail++;
    return 0;
}

int standin_receives_post(const struct standin_context *c, struct standin_receives *r,
                          const struct ibv_pd *pd, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
                          const char *object)
{
    for (; wr; wr = wr->next) {
        int err = receive_put(c, r, pd, wr, object);

        if (err) {
            *bad = wr;
            return err;
        }
    }
    return 0;
}

bool standin_receives_take(struct standin_receives *r, struct standin_receive *out)
{
    const struct standin_receive *posted;

    if (r->head == r->tail)
        return false;
    posted = &r->ring[r->head % r->most];
    *out = *posted;
    out->list = calloc((size_t)posted->count + 1, sizeof(*out->list));
    if (!out->list)
        return false;
    memcpy(out->list, posted->list, (size_t)posted->count * sizeof(*out->list));
    r->head++;
    return true;
}

void standin_receive_end(const struct standin_context *c, struct standin_receive *taken)
{
    standin_sge_hold(c, taken->list, taken->count, -1);
    free(taken->list);
    taken->list = NULL;
}

/* --- shared queues ---------------------------------------------------------------------------- */

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    struct standin_context *c = standin_context(pd->context);
    const struct ibv_device_attr *limits = &c->device.attr;
    struct standin_srq *s = NULL;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &standin_pd(pd)->object, "ibv_create_srq")) {
        err = EINVAL;
    } else if (limits->max_srq == 0) {
        err = EOPNOTSUPP;
    } else if (attr->attr.max_wr < 1 || attr->attr.max_wr > (uint32_t)limits->max_srq_wr ||
               attr->attr.max_sge > (uint32_t)limits->max_srq_sge) {
        standin_break(RULE_LIMIT, c, "shared receive queue",
                      "ibv_create_srq of %u receives of %u elements, of at most %d of %d",
                      attr->attr.max_wr, attr->attr.max_sge, limits->max_srq_wr,
                      limits->max_srq_sge);
        err = EINVAL;
    } else {
        s = standin_object_create(c, STANDIN_SRQ, sizeof(*s), offsetof(struct standin_srq, object),
                                  limits->max_srq);
        err = s ? 0 : errno;
    }
    if (s && !standin_receives_open(&s->receives, attr->attr.max_wr, attr->attr.max_sge)) {
        standin_receives_close(c, &s->receives);
        standin_object_destroy(c, &s->object);
        s = NULL;
        err = ENOMEM;
    }
    if (s) {
        s->verbs.context = pd->context;
        s->verbs.pd = pd;
        s->verbs.srq_context = attr->srq_context;
        pthread_mutex_init(&s->verbs.mutex, NULL);
        pthread_cond_init(&s->verbs.cond, NULL);
        standin_pd(pd)->users++;
    }
    standin_unlock(c);
    errno = err ? err : errno;
    return s ? &s->verbs : NULL;
}

int ibv_modify_srq(struct ibv_srq *verbs, struct ibv_srq_attr *attr, int mask)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_srq *s = (struct standin_srq *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &s->object, "ibv_modify_srq")) {
        err = EINVAL;
    } else if (mask & IBV_SRQ_MAX_WR) {
        err = EOPNOTSUPP;
    } else if (mask & IBV_SRQ_LIMIT && attr->srq_limit >= s->receives.most) {
        standin_break(RULE_SRQ_LIMIT, c, "shared receive queue", "a limit of %u, of %u receives",
                      attr->srq_limit, s->receives.most);
        err = EINVAL;
    } else if (mask & IBV_SRQ_LIMIT) {
        s->limit = attr->srq_limit;
    }
    standin_unlock(c);
    return err;
}

int ibv_query_srq(struct ibv_srq *verbs, struct ibv_srq_attr *attr)
{
    struct standin_context *c = standin_context(verbs->context);
    const struct standin_srq *s = (struct standin_srq *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &s->object, "ibv_query_srq"))
        err = EINVAL;
    else
        *attr = (struct ibv_srq_attr){
            .max_wr = s->receives.most, .max_sge = s->receives.most_sge, .srq_limit = s->limit};
    standin_unlock(c);
    return err;
}

int ibv_destroy_srq(struct ibv_srq *verbs)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_srq *s = (struct standin_srq *)verbs;
    int err = 0;

    standin_lock(c);
    if (!standin_lives(c, &s->object, "ibv_destroy_srq")) {
        err = EINVAL;
    } else if (s->users) {
        standin_break(RULE_IN_USE, c, "shared receive queue",
                      "ibv_destroy_srq while %d queue pairs use it", s->users);
        err = EBUSY;
    } else {
        standin_events_forget(c, verbs);
        standin_receives_close(c, &s->receives);
        standin_pd(verbs->pd)->users--;
        standin_object_destroy(c, &s->object);
    }
    standin_unlock(c);
    return err;
}

uint32_t *standin_srq_events(struct ibv_srq *verbs)
{
    return &((struct standin_srq *)verbs)->events;
}

int standin_srq_post(struct ibv_srq *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct standin_context *c = standin_context(verbs->context);
    struct standin_srq *s = (struct standin_srq *)verbs;
    int err = EINVAL;

    standin_lock(c);
    *bad = wr;
    if (standin_lives(c, &s->object, "ibv_post_srq_recv"))
        err = standin_receives_post(c, &s->receives, verbs->pd, wr, bad, "shared receive queue");
    standin_unlock(c);
    return err;
}

bool standin_srq_take(struct standin_srq *s, struct standin_receive *out)
{
    if (!standin_receives_take(&s->receives, out))
        return false;
    if (s->limit && s->receives.tail - s->receives.head < s->limit) {
        s->limit = 0; /* one event for each time that it is set */
        standin_event(standin_context(s->verbs.context), IBV_EVENT_SRQ_LIMIT_REACHED, &s->verbs, 0);
    }
    return true;
}
