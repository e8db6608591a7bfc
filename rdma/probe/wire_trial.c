/* SPDX-License-Identifier: MIT */
#include "rdma/probe/wire_trial.h"

#include "common/clock.h"
#include "rdma/verbs/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    RECEIVES = 64, /* per port */
    SENDS = 256,
    LONGEST = 4096,
    ROUTE_HEADER = 40, /* before each received datagram */
    RECEIVE_SIZE = ROUTE_HEADER + LONGEST,
    EVERY_MS = 100,  /* between two datagrams to a target that does not answer */
    REPLY_MS = 50,   /* between two replies to a target that asks again, at least */
    GRACE_MS = 1000, /* after the first link of a group, for its other members and long datagrams */
    HOPS = 64,
    BATCH = 16,
};
static const uint32_t queue_key = 0x6d6c;
static const uint64_t datagram_magic = 0x6d6c776972657331; /* "mlwires1" */

struct wire_trial_datagram {
    uint64_t magic, tag;
    uint32_t from, to, heard[2], is_long;
};

struct wire_trial_port {
    int number;
    struct ibv_qp *qp;
};

struct wire_trial {
    struct ibv_context *context;
    const char *device;
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *queue;
    struct ibv_mr *region;
    unsigned char
        *memory; /* receives of all ports, datagrams to be sent, zeros to fill long ones */
    struct wire_trial_port ports[WIRE_TRIAL_PORTS];
    int port_count, sends; /* under way */
    unsigned next_datagram, events;
    struct wire_trial_target *targets;
    int target_count;
    uint64_t tag;
};

enum {
    DATAGRAMS_AT = WIRE_TRIAL_PORTS * RECEIVES * RECEIVE_SIZE,
    FILL_AT = DATAGRAMS_AT + SENDS * (int)sizeof(struct wire_trial_datagram),
    MEMORY = FILL_AT + LONGEST,
};

bool wire_trial_is_linked(const struct wire_trial_target *t)
{
    return t->heard[0] && t->peer_heard[0];
}

bool wire_trial_is_whole(const struct wire_trial_target *t)
{
    return wire_trial_is_linked(t) && t->heard[1] && t->peer_heard[1];
}

/* --- bring-up ----------------------------------------------------------------------------------
 */

static int queues_open(struct wire_trial *w, struct fault *why)
{
    struct explain_place at = {.device = w->device};
    int depth = SENDS + WIRE_TRIAL_PORTS * RECEIVES;

    w->domain = ibv_alloc_pd(w->context);
    if (!w->domain)
        return explain(why, EXPLAIN_DOMAIN, errno, &at);
    w->region = ibv_reg_mr(w->domain, w->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE);
    if (!w->region)
        return explain(why, EXPLAIN_MEMORY, errno, &at);
    w->channel = ibv_create_comp_channel(w->context);
    if (!w->channel)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    w->queue = ibv_create_cq(w->context, depth, NULL, w->channel, 0);
    if (!w->queue)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    fcntl(w->channel->fd, F_SETFL, fcntl(w->channel->fd, F_GETFL) | O_NONBLOCK);
    return 0;
}

int wire_trial_open(struct wire_trial **out, struct ibv_context *context, const char *device,
                    struct fault *why)
{
    struct wire_trial *w = calloc(1, sizeof(*w));
    int rc = 0;

    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    w->context = context;
    w->device = device;
    w->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->memory == MAP_FAILED)
        w->memory = NULL;
    rc = w->memory ? queues_open(w, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc) {
        wire_trial_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void wire_trial_close(struct wire_trial *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->port_count; i++)
        ibv_destroy_qp(w->ports[i].qp);
    if (w->queue) {
        ibv_ack_cq_events(w->queue, w->events);
        ibv_destroy_cq(w->queue);
    }
    if (w->channel)
        ibv_destroy_comp_channel(w->channel);
    if (w->region)
        ibv_dereg_mr(w->region);
    if (w->domain)
        ibv_dealloc_pd(w->domain);
    if (w->memory)
        munmap(w->memory, MEMORY);
    free(w);
}

/* `id`: the index among the receives of all ports; it comes back in the completion. */
static int receive_post(struct wire_trial *w, uint64_t id)
{
    struct ibv_sge piece = {.addr = (uintptr_t)(w->memory + id * RECEIVE_SIZE),
                            .length = RECEIVE_SIZE,
                            .lkey = w->region->lkey};
    struct ibv_recv_wr work = {.wr_id = id, .sg_list = &piece, .num_sge = 1}, *bad;

    return ibv_post_recv(w->ports[id / RECEIVES].qp, &work, &bad);
}

static int pair_start(struct ibv_qp *qp, int port, enum explain_step *step)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port, .qkey = queue_key};
    int err =
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

    *step = EXPLAIN_TO_INIT;
    if (err)
        return err;
    *step = EXPLAIN_TO_RTR;
    attr.qp_state = IBV_QPS_RTR;
    err = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
    if (err)
        return err;
    *step = EXPLAIN_TO_RTS;
    attr.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int wire_trial_add_port(struct wire_trial *w, int port, uint32_t *number, struct fault *why)
{
    struct explain_place at = {.device = w->device, .port = port};
    struct ibv_qp_init_attr attr = {.send_cq = w->queue,
                                    .recv_cq = w->queue,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = RECEIVES,
                                            .max_send_sge = 2,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD,
                                    .sq_sig_all = 1};
    struct wire_trial_port *p = &w->ports[w->port_count];
    enum explain_step step = EXPLAIN_PAIR;
    int err = 0;

    if (w->port_count == WIRE_TRIAL_PORTS)
        return fault_set(why, ML_ERR_DEVICE, "%s has more than %d ports that are up", w->device,
                         WIRE_TRIAL_PORTS);
    p->qp = ibv_create_qp(w->domain, &attr);
    if (!p->qp)
        return explain(why, EXPLAIN_PAIR, errno, &at);
    p->number = port;
    err = pair_start(p->qp, port, &step);
    w->port_count++;
    for (int i = 0; i < RECEIVES && !err; i++) {
        err = receive_post(w, (uint64_t)(w->port_count - 1) * RECEIVES + (uint64_t)i);
        step = err ? EXPLAIN_POST : step;
    }
    if (err) {
        w->port_count--;
        ibv_destroy_qp(p->qp);
        return explain(why, step, err, &at);
    }
    *number = p->qp->qp_num;
    return 0;
}

static struct wire_trial_port *port_find(struct wire_trial *w, int number)
{
    for (int i = 0; i < w->port_count; i++)
        if (w->ports[i].number == number)
            return &w->ports[i];
    return NULL;
}

/* --- sending -----------------------------------------------------------------------------------
 */

struct address_request {
    struct ibv_pd *domain;
    struct wire_trial_target *target;
};

/* In a thread, because the kernel may ask the network for the address: a second if none answers. */
static void *address_find(void *arg)
{
    struct address_request *a = arg;
    struct wire_trial_target *t = a->target;
    struct ibv_ah_attr attr = {
        .dlid = t->lid, .port_num = (uint8_t)t->port, .is_global = t->is_ethernet};
    struct ibv_ah *handle;

    if (t->is_ethernet) {
        memcpy(attr.grh.dgid.raw, t->peer_gid.raw, sizeof(attr.grh.dgid.raw));
        attr.grh.sgid_index = (uint8_t)t->gid.index;
        attr.grh.hop_limit = HOPS;
    }
    errno = 0;
    handle = ibv_create_ah(a->domain, &attr);
    if (handle)
        __atomic_store_n(&t->handle, handle, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&t->error, errno ? errno : EIO, __ATOMIC_RELEASE);
    free(a);
    return NULL;
}

static void address_start(struct wire_trial *w, struct wire_trial_target *t)
{
    struct address_request *a = malloc(sizeof(*a));
    pthread_attr_t detached;
    pthread_t thread;

    t->is_asked = true;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (a)
        *a = (struct address_request){w->domain, t};
    if (!a || pthread_create(&thread, &detached, address_find, a)) {
        t->error = EAGAIN;
        free(a);
    }
    pthread_attr_destroy(&detached);
}

static void datagram_send(struct wire_trial *w, struct wire_trial_target *t, bool is_long)
{
    struct wire_trial_port *p = port_find(w, t->port);
    struct wire_trial_datagram *d =
        (struct wire_trial_datagram *)(void *)(w->memory + DATAGRAMS_AT) +
        w->next_datagram++ % (unsigned)SENDS;
    struct ibv_sge pieces[] = {
        {.addr = (uintptr_t)d, .length = sizeof(*d), .lkey = w->region->lkey},
        {.addr = (uintptr_t)(w->memory + FILL_AT),
         .length = (uint32_t)(t->mtu - (int)sizeof(*d)),
         .lkey = w->region->lkey}};
    struct ibv_send_wr work = {.wr_id = UINT64_MAX,
                               .sg_list = pieces,
                               .num_sge = is_long ? 2 : 1,
                               .opcode = IBV_WR_SEND,
                               .wr = {.ud = {.ah = t->handle,
                                             .remote_qpn = t->number,
                                             .remote_qkey = queue_key}}},
                       *bad;

    if (!p || w->sends >= SENDS)
        return; /* it is sent next time */
    *d = (struct wire_trial_datagram){
        datagram_magic, w->tag, t->from, t->to, {t->heard[0], t->heard[1]}, is_long};
    if (ibv_post_send(p->qp, &work, &bad) == 0)
        w->sends++;
}

static void target_send(struct wire_trial *w, struct wire_trial_target *t, int64_t now)
{
    if (!__atomic_load_n(&t->handle, __ATOMIC_ACQUIRE))
        return;
    t->sent_ms = now;
    datagram_send(w, t, false);
    datagram_send(w, t, true);
}

/* --- receiving ---------------------------------------------------------------------------------
 */

static void datagram_take(struct wire_trial *w, const struct wire_trial_datagram *d, int64_t now)
{
    for (int i = 0; i < w->target_count; i++) {
        struct wire_trial_target *t = &w->targets[i];
        int length = d->is_long ? 1 : 0;
        bool is_new;

        if (t->from != d->to || t->to != d->from)
            continue;
        is_new = !t->heard[length];
        t->heard[length] = true;
        t->peer_heard[0] |= d->heard[0] != 0;
        t->peer_heard[1] |= d->heard[1] != 0;
        if (!t->linked_at_ms && wire_trial_is_linked(t))
            t->linked_at_ms = now;
        if (is_new || ((!d->heard[0] || !d->heard[1]) && now - t->sent_ms >= REPLY_MS))
            target_send(w, t, now);
    }
}

static void completions_take(struct wire_trial *w, int64_t now)
{
    struct ibv_wc done[BATCH];
    int count;

    do {
        count = ibv_poll_cq(w->queue, BATCH, done);
        for (int i = 0; i < count; i++) {
            struct wire_trial_datagram datagram;

            if (done[i].wr_id == UINT64_MAX) {
                w->sends--;
                continue;
            }
            if (done[i].status == IBV_WC_SUCCESS &&
                done[i].byte_len >= ROUTE_HEADER + sizeof(datagram)) {
                memcpy(&datagram, w->memory + done[i].wr_id * RECEIVE_SIZE + ROUTE_HEADER,
                       sizeof(datagram));
                if (datagram.magic == datagram_magic && datagram.tag == w->tag)
                    datagram_take(w, &datagram, now);
            }
            if (done[i].status == IBV_WC_SUCCESS)
                receive_post(w, done[i].wr_id);
        }
    } while (count == BATCH);
}

/* All targets of the group are linked, or one is and the others have had their time. */
static bool group_is_settled(const struct wire_trial *w, int group, int64_t now)
{
    bool all = true, enough = false;

    for (int i = 0; i < w->target_count; i++) {
        const struct wire_trial_target *t = &w->targets[i];

        if (t->group != group)
            continue;
        all &= wire_trial_is_whole(t);
        enough |= t->linked_at_ms && now - t->linked_at_ms >= GRACE_MS;
    }
    return all || enough;
}

static bool trial_is_settled(const struct wire_trial *w, int64_t now)
{
    for (int i = 0; i < w->target_count; i++)
        if (w->targets[i].group >= 0 && !group_is_settled(w, w->targets[i].group, now))
            return false;
    return true;
}

/* Whether every target still waited for has already failed to resolve. */
static bool trial_is_hopeless(const struct wire_trial *w)
{
    for (int i = 0; i < w->target_count; i++)
        if (w->targets[i].group >= 0 && !wire_trial_is_whole(&w->targets[i]) &&
            !__atomic_load_n(&w->targets[i].error, __ATOMIC_ACQUIRE))
            return false;
    return true;
}

static void targets_send(struct wire_trial *w, int64_t now)
{
    for (int i = 0; i < w->target_count; i++)
        if (!wire_trial_is_whole(&w->targets[i]) && now - w->targets[i].sent_ms >= EVERY_MS)
            target_send(w, &w->targets[i], now);
}

void wire_trial_run(struct wire_trial *w, struct wire_trial_target *targets, int count,
                    uint64_t tag, int wait_ms, int stop_fd)
{
    int64_t now = clock_ms(), deadline = wait_ms < 0 ? INT64_MAX : now + wait_ms;
    struct pollfd polls[] = {{.fd = w->channel->fd, .events = POLLIN},
                             {.fd = stop_fd, .events = POLLIN}};

    w->tag = tag;
    w->targets = targets;
    w->target_count = count;
    for (int i = 0; i < count; i++)
        if (!targets[i].is_asked)
            address_start(w, &targets[i]);
    while (now < deadline &&
           (wait_ms < 0 || (!trial_is_settled(w, now) && !trial_is_hopeless(w)))) {
        struct ibv_cq *queue;
        void *context;

        targets_send(w, now);
        ibv_req_notify_cq(w->queue, 0);
        completions_take(w, now);
        if (poll(polls, 2, EVERY_MS / 4) > 0 && polls[1].revents)
            break;
        while (ibv_get_cq_event(w->channel, &queue, &context) == 0)
            w->events++;
        now = clock_ms();
    }
}
