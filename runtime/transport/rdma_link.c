/* SPDX-License-Identifier: MIT */
/*
 * rdma_link.c: messages over chunks (rdma/endpoint.h). A message begins with its header in a chunk
 * of its own and fills as many chunks as it needs. It is reduced straight out of the slot that the
 * peer's device wrote it to. Most links wait for their first message before they have queue pairs
 * (rdma_meet.h).
 */
#include "runtime/transport/rdma_link.h"

#include "common/clock.h"
#include "coordinator/protocol.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/group.h"
#include "runtime/group/matching.h"
#include "runtime/group/message.h"
#include "runtime/group/wait.h"
#include "runtime/group/world.h"
#include "runtime/process/fork_guard.h"
#include "runtime/transport/rdma_gpu.h"
#include "runtime/transport/rdma_meet.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLUSH_MS = 3000, /* at most, for the last messages to reach a peer that is still there */
    FLUSH_STEP_MS = 50,
    DESCRIPTORS = 32,
    /* Arming, sleeping and waking up take six system calls, and an interrupt. */
    SPIN_NS = 1000 * 1000,
    UNREAD_MOST = 8,
};

/* Far from the numbers of messages that may have been announced. */
#define UNCOUNTED 0x80000000u

struct rdma_link {
    struct link base;
    const struct endpoint_table *rdma;
    struct endpoint *endpoint; /* NULL: not connected yet */
    struct rdma_meet *meet;    /* then */
    bool is_checked;           /* the peer's check has come over each of the endpoint's rails */
    /* Zero-copy. Messages of this side are counted when they begin, those of the peer when they are
     * complete. */
    uint32_t begun, received;
    uint32_t looked;        /* whether to announce messages has been decided up to here */
    uint32_t announced_end; /* behind the last one that was announced */
    /* Where the sends at the head of the queue end that have gone, but that the device may still be
     * reading. */
    uint64_t marks[UNREAD_MOST];
    int unread;
};

static struct rdma_link *rdma_link_of(struct link *l)
{
    return (struct rdma_link *)l;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct rdma_gpu rdma_link_gpu(const struct rdma_link *s)
{
    return (struct rdma_gpu){.link = &s->base, .rdma = s->rdma, .endpoint = s->endpoint};
}

/* Sends the first chunk of a message: its header, and what else has room there. 1; 0: no slot is
 * free; ML_ERR_*. */
static int rdma_link_begin(struct rdma_link *s, struct message_op *t, struct fault *why)
{
    size_t room, size = 0;
    unsigned char *slot = s->rdma->slot(s->endpoint, &room);
    struct rdma_gpu gpu = rdma_link_gpu(s);
    struct message m;

    if (!slot)
        return 0;
    if (__builtin_expect(t->gpu != NULL, 0) && rdma_gpu_send(&gpu, t, why))
        return why->code;
    message_fill(&m, &s->base.group->call, t);
    memcpy(slot, &m, sizeof(m));
    /* One with a tag is not announced: its receiver does not know when one comes, and counts only
     * the others. */
    if (!s->rdma->begin(s->endpoint, t->tag ? s->begun ^ UNCOUNTED : s->begun, t->buf, t->size))
        size = smaller(t->size, room - sizeof(m));
    if (__builtin_expect(t->gpu != NULL, 0) && rdma_gpu_turn(&gpu, t, why) < 0)
        return why->code;
    if (size)
        memcpy(slot + sizeof(m), t->buf, size);
    s->rdma->send(s->endpoint, sizeof(m) + size);
    s->begun += !t->tag;
    t->header_moved = true;
    t->moved = size;
    return 1;
}

static bool rdma_link_has_gone(const struct message_op *t)
{
    return t->header_moved && t->moved == t->size;
}

/* The first send that has not gone entirely, or NULL. */
static struct message_op *rdma_link_to_send(const struct rdma_link *s)
{
    struct message_op *t = s->base.sends;

    for (int i = 0; t && i < s->unread; i++)
        t = t->next;
    return s->unread < UNREAD_MOST ? t : NULL;
}

static int rdma_link_turn(const struct rdma_link *s, const struct message_op *t, struct fault *why)
{
    struct rdma_gpu gpu = rdma_link_gpu(s);

    return rdma_gpu_turn(&gpu, t, why);
}

/* 1 if a chunk has gone, 0 if no slot is free, ML_ERR_*. */
static int rdma_link_send(struct rdma_link *s, struct message_op *t, struct fault *why)
{
    size_t part;
    int rc;

    if (!t->header_moved) {
        rc = rdma_link_begin(s, t, why);
        if (rc <= 0)
            return rc;
    } else {
        rc = __builtin_expect(t->gpu != NULL, 0) ? rdma_link_turn(s, t, why) : 1;
        if (rc <= 0)
            return rc;
        part = s->rdma->part(s->endpoint, t->moved);
        if (!part)
            return 0;
        t->moved += part;
    }
    if (rdma_link_has_gone(t))
        s->marks[s->unread++] = s->rdma->mark(s->endpoint);
    return 1;
}

/* Sends are done once the devices no longer need their memory. */
static int rdma_link_end_sends(struct rdma_link *s)
{
    int ended = 0;

    while (ended < s->unread && s->rdma->has_read(s->endpoint, s->marks[ended])) {
        link_pop_send(&s->base);
        ended++;
    }
    s->unread -= ended;
    memmove(s->marks, s->marks + ended, (size_t)s->unread * sizeof(*s->marks));
    return ended > 0;
}

/* Announces receives, so that the peer's device can write the next messages straight to where they
 * belong. */
static void rdma_link_announce(struct rdma_link *s)
{
    struct rdma_gpu gpu = rdma_link_gpu(s);
    uint32_t message = s->received;
    void *at;

    if ((int32_t)(s->looked - s->received) < 0)
        s->looked = s->received;
    for (struct message_op *t = s->base.recvs; t && message - s->received < ENDPOINT_AHEAD;
         message += !t->tag, t = t->next) {
        if (t->tag)
            continue;
        if ((int32_t)(message - s->looked) < 0)
            continue;
        if (t->what == MESSAGE_OP_RECV && !t->header_moved) {
            at = t->gpu ? rdma_gpu_announced(&gpu, t) : t->buf;
            if (at && !s->rdma->announce(s->endpoint, message, at, t->size))
                return;
            s->announced_end = message + 1;
        }
        s->looked = message + 1;
    }
}

/* The next bytes of t have come, in that chunk or to where they belong. */
static int rdma_link_take(struct rdma_link *s, struct message_op *t, const void *chunk, size_t size,
                          bool is_direct, struct fault *why)
{
    struct rdma_gpu gpu = rdma_link_gpu(s);

    if (__builtin_expect(t->gpu != NULL, 0) && size)
        return rdma_gpu_take(&gpu, t, is_direct ? NULL : chunk, size, why);
    if (is_direct)
        t->moved += size;
    else if (size)
        link_take(&s->base, t, chunk, size);
    return 0;
}

/* All of t has come. */
static int rdma_link_end_receive(struct rdma_link *s, struct message_op *t, struct fault *why)
{
    struct rdma_gpu gpu = rdma_link_gpu(s);

    if (__builtin_expect(t->gpu != NULL, 0) && rdma_gpu_end(&gpu, t, why))
        return why->code;
    s->received += !t->tag;
    link_pop_recv(&s->base);
    return 0;
}

/* 1 if a chunk was taken, 0 if there is none, ML_ERR_*. */
static int rdma_link_receive(struct rdma_link *s, struct fault *why)
{
    struct message_op *t = s->base.recvs;
    size_t size, used = 0;
    bool is_direct;
    const unsigned char *chunk = s->rdma->chunk(s->endpoint, &size, &is_direct);
    int rc;

    if (!chunk)
        return 0;
    if (is_direct && (!t->header_moved || t->what != MESSAGE_OP_RECV))
        return fault_set(why, ML_ERR_LINK, "rank %d has written where nothing was announced",
                         s->base.group->members[s->base.peer]);
    if (!t->header_moved) {
        struct message m;

        if (size < sizeof(m))
            return fault_set(why, ML_ERR_LINK, "a message from rank %d has no header",
                             s->base.group->members[s->base.peer]);
        memcpy(&m, chunk, sizeof(m));
        rc = matching_accept(&s->base, &m, why);
        if (rc <= 0)
            return rc;
        t = s->base.recvs;
        used = sizeof(m);
        t->header_moved = true;
    }
    if (size - used > t->size - t->moved)
        return fault_set(why, ML_ERR_LINK, "a message from rank %d is longer than it said",
                         s->base.group->members[s->base.peer]);
    rc = rdma_link_take(s, t, chunk + used, size - used, is_direct, why);
    if (rc)
        return rc;
    s->rdma->release(s->endpoint);
    if (t->moved == t->size)
        rc = rdma_link_end_receive(s, t, why);
    return rc ? rc : 1;
}

/* --- messages about rails --------------------------------------------------------------------- */

/* Sends the endpoint's messages about its rails to the peer, through the coordinator, and prints
 * what the user should know about them. */
static int rdma_link_relay(struct rdma_link *s, struct fault *why)
{
    struct group *g = s->base.group;
    struct rail_control w;
    const struct fault *dropped, *trouble;
    int left, rc = 0;

    while (!rc && s->rdma->control_next(s->endpoint, &w))
        rc = coord_events_send(g->world->coord_events, COORD_RELAY,
                               json_pack("{s:I, s:i, s:{s:i, s:i, s:I, s:I}}", "group",
                                         (json_int_t)g->id, "to", g->members[s->base.peer], "word",
                                         "kind", w.kind, "rail", w.rail, "count",
                                         (json_int_t)w.count, "out", (json_int_t)w.out),
                               why);
    trouble = s->rdma->trouble(s->endpoint);
    if (trouble)
        fprintf(stderr, "mlaunch: warning: rank %d: %s\n", g->members[g->rank], trouble->text);
    while ((dropped = s->rdma->dropped(s->endpoint, &left)))
        fprintf(stderr, "mlaunch: warning: rank %d: %s; going on over the other %d of its rails\n",
                g->members[g->rank], dropped->text, left);
    return rc;
}

static int rdma_link_join(struct rdma_link *s, bool sends, struct fault *why)
{
    int rc = s->endpoint
                 ? 1
                 : rdma_meet_join(s->meet, s->base.peer, sends && !s->base.gone, &s->endpoint, why);

    s->base.is_connecting = rc <= 0;
    return rc;
}

/* The peer says it of its endpoint, so that of this side is connected once this process has heard
 * what the peer had said before; unless the way to it is lost. */
static int rdma_link_on_relayed(struct link *l, json_t *word, struct fault *why)
{
    struct rdma_link *s = rdma_link_of(l);
    struct door *door = l->group->world->door;
    struct rail_control w;
    json_int_t count, out;
    int rc;

    if (!s->endpoint) {
        door->look(door, l->group, NULL);
        rc = rdma_link_join(s, false, why);
        if (rc < 0 || (rc == 0 && rdma_meet_reason(s->meet, l->peer)))
            return rc;
    }
    if (json_unpack(word, "{s:i, s:i, s:I, s:I}", "kind", &w.kind, "rail", &w.rail, "count", &count,
                    "out", &out) ||
        !s->endpoint || w.kind < RAIL_CONTROL_DROPPED || w.kind > RAIL_CONTROL_SENT || count < 0 ||
        out < 0)
        return fault_set(why, ML_ERR_REFUSED, "rank %d sent a damaged message about a rail",
                         l->group->members[l->peer]);
    w.count = (uint64_t)count;
    w.out = (uint64_t)out;
    rc = s->rdma->control_take(s->endpoint, &w, why);
    return rc ? rc : rdma_link_relay(s, why);
}

/* A failure of this side's device ends the link at once; after any other, the coordinator may know
 * of a death. */
static int rdma_link_check(struct rdma_link *s, struct fault *why)
{
    struct group *g = s->base.group;
    const struct fault *failed = s->rdma->failed(s->endpoint);
    char who[GROUP_MEMBER_TEXT];

    s->base.ended = failed != NULL;
    if (!failed || failed->code != ML_ERR_DEVICE)
        return 0;
    fault_set(why, failed->code, "%s", failed->text);
    return fault_wrap(why, "%s", group_describe(g, g->rank, who));
}

/* 1: messages may be sent and received; 0: not yet. What has failed is treated as later, but for
 * checks that are wrong. */
static int rdma_link_bring_up(struct rdma_link *s, struct fault *why)
{
    struct link *l = &s->base;
    char who[GROUP_MEMBER_TEXT];
    int rc = rdma_link_join(s, l->sends != NULL, why);

    /* What could have been under way has come by now, if the peer is gone or can't be reached. */
    if (rc == 0 && (l->gone || rdma_meet_reason(s->meet, l->peer)))
        l->ended = true;
    if (rc <= 0)
        return rc;
    rc = s->rdma->check(s->endpoint, &s->is_checked, why);
    if (rc && !s->rdma->failed(s->endpoint))
        return fault_wrap(why, "%s", group_describe(l->group, l->group->rank, who));
    rc = rdma_link_relay(s, why);
    if (rc || s->is_checked)
        return rc ? rc : 1;
    return rdma_link_check(s, why);
}

static int rdma_link_progress(struct link *l, struct fault *why)
{
    struct rdma_link *s = rdma_link_of(l);
    struct message_op *t;
    int moved, rc;

    if (__builtin_expect(!s->is_checked, 0)) {
        rc = rdma_link_bring_up(s, why);
        if (rc <= 0)
            return rc;
    }
    moved = s->rdma->poll(s->endpoint) > 0;
    rc = rdma_link_relay(s, why);
    if (rc)
        return rc;
    if (l->recvs)
        rdma_link_announce(s);
    while ((t = rdma_link_to_send(s)) && (rc = rdma_link_send(s, t, why)) > 0) {
        moved = 1;
        rdma_link_end_sends(s);
    }
    if (rc < 0)
        return rc;
    moved |= rdma_link_end_sends(s);
    rc = 1;
    while (l->recvs && rc > 0) {
        rc = rdma_link_receive(s, why);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    /* What had arrived before the failure is still used. */
    return moved ? moved : rdma_link_check(s, why);
}

/* For a look at what has come: what has failed is for progress to say. */
static bool rdma_link_comes_up(struct rdma_link *s)
{
    struct fault why;

    return rdma_link_join(s, false, &why) > 0 &&
           s->rdma->check(s->endpoint, &s->is_checked, &why) == 0 && s->is_checked;
}

static bool rdma_link_look(struct link *l, struct message *m)
{
    struct rdma_link *s = rdma_link_of(l);
    const void *chunk;
    bool is_direct;
    size_t size;

    if (!s->is_checked && !rdma_link_comes_up(s))
        return false;
    s->rdma->poll(s->endpoint);
    chunk = s->rdma->chunk(s->endpoint, &size, &is_direct);
    if (!chunk || is_direct || size < sizeof(*m))
        return false;
    memcpy(m, chunk, sizeof(*m));
    return true;
}

static int rdma_link_sleep(struct link *l, struct pollfd *p)
{
    struct rdma_link *s = rdma_link_of(l);

    if (l->ended || !s->endpoint)
        return 0;
    if (s->rdma->sleep(s->endpoint, s->is_checked && rdma_link_to_send(s),
                       s->unread ? s->marks[0] : 0) < 0)
        return -1;
    *p = (struct pollfd){.fd = s->rdma->fd(s->endpoint), .events = POLLIN};
    return 1;
}

static void rdma_link_wake(struct link *l)
{
    struct rdma_link *s = rdma_link_of(l);

    if (s->endpoint)
        s->rdma->wake(s->endpoint);
}

static void rdma_link_cancel(struct link *l)
{
    struct rdma_link *s = rdma_link_of(l);

    if (!s->endpoint)
        return;
    if ((int32_t)(s->announced_end - s->received) > 0 ||
        !s->rdma->has_read(s->endpoint, s->rdma->mark(s->endpoint)))
        s->rdma->stop(s->endpoint);
}

static const struct fault *rdma_link_reason(const struct link *l)
{
    const struct rdma_link *s = (const struct rdma_link *)l;

    return s->endpoint ? s->rdma->failed(s->endpoint) : rdma_meet_reason(s->meet, l->peer);
}

/* A send is done when it is in the ring: the queue pair must live until it has arrived. */
static void rdma_link_flush(struct rdma_link *s)
{
    struct group *g = s->base.group;
    int64_t deadline = clock_ms() + FLUSH_MS;
    struct fault why;

    while (!g->broken.code && !s->rdma->flush(s->endpoint, FLUSH_STEP_MS) &&
           clock_ms() < deadline) {
        coord_events_read(g->world->coord_events, g);
        if (wait_take_news(g, &why) || rdma_link_relay(s, &why))
            return;
        if (coord_events_peer(g->world->coord_events, g->members[s->base.peer], NULL) !=
            PEER_PRESENT)
            return; /* it has got what it needed */
    }
}

static void rdma_link_close(struct link *l)
{
    struct rdma_link *s = rdma_link_of(l);
    int fds[DESCRIPTORS];
    int count = s->endpoint ? s->rdma->descriptors(s->endpoint, fds, DESCRIPTORS) : 0;

    if (s->endpoint)
        rdma_link_flush(s);
    for (int i = 0; i < count; i++)
        fork_guard_forget(fds[i]);
    s->rdma->close(s->endpoint);
    free(s);
}

static const struct link_ops rdma_link_ops = {
    .name = "rdma",
    .spin_ns = SPIN_NS,
    .takes_gpu = true,
    .drain_ms = 300,
    .progress = rdma_link_progress,
    .sleep = rdma_link_sleep,
    .wake = rdma_link_wake,
    .cancel = rdma_link_cancel,
    .look = rdma_link_look,
    .on_relayed = rdma_link_on_relayed,
    .reason = rdma_link_reason,
    .close = rdma_link_close,
};

int rdma_link_open(struct link **out, struct group *g, int peer, const struct endpoint_table *rdma,
                   struct endpoint *e, struct fault *why)
{
    struct rdma_link *s = calloc(1, sizeof(*s));
    int fds[DESCRIPTORS], count;

    if (!s) {
        rdma->close(e);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    link_init(&s->base, &rdma_link_ops, g, peer);
    s->rdma = rdma;
    s->endpoint = e;
    s->is_checked = true;
    count = rdma->descriptors(e, fds, DESCRIPTORS);
    for (int i = 0; i < count; i++)
        fork_guard_add(fds[i]);
    *out = &s->base;
    return 0;
}

int rdma_link_open_later(struct link **out, struct group *g, int peer, struct rdma_meet *m,
                         struct fault *why)
{
    struct rdma_link *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    link_init(&s->base, &rdma_link_ops, g, peer);
    s->base.is_connecting = true;
    s->rdma = rdma_meet_table(m);
    s->meet = m;
    *out = &s->base;
    return 0;
}
