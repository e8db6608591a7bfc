/* SPDX-License-Identifier: MIT */
#include "rdma/endpoint.h"

#include "rdma/explain.h"
#include "rdma/rail.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    SIGN_SECONDS = 2, /* of sleep between two signs of life */
    EVENTS = 2 * ENDPOINT_RAILS + 1,
    NAME = 320,
};
static const uint64_t check_magic = 0x6d6c61756e636834; /* "mlaunch4" */

/* The first chunk on each rail. */
struct check {
    uint64_t magic, tag;
    int32_t from, to, rail, rails;
};

struct endpoint {
    struct rail *rails[ENDPOINT_RAILS]; /* connected ones in the lower rank's order */
    int rail_count;
    uint64_t out, in; /* numbers of the next chunks */
    uint64_t tag;
    int rank, peer;
    char name[NAME];
    int epoll, timer;
    bool has_said; /* its checks */
    int heard;     /* rails on which the peer's check came */
    struct rail_end *published;
};

int endpoint_fd(const struct endpoint *e)
{
    return e->epoll;
}

/* --- bring-up ----------------------------------------------------------------------------------
 */

static int watch(struct endpoint *e, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    return epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int watches_open(struct endpoint *e, struct fault *why)
{
    struct itimerspec every = {{SIGN_SECONDS, 0}, {SIGN_SECONDS, 0}};
    bool good;

    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    good = e->epoll >= 0 && e->timer >= 0 && timerfd_settime(e->timer, 0, &every, NULL) == 0 &&
           watch(e, e->timer) == 0;
    for (int i = 0; i < e->rail_count && good; i++)
        good = watch(e, e->rails[i]->channel->fd) == 0 &&
               watch(e, e->rails[i]->port->context->async_fd) == 0;
    return good ? 0 : fault_os(why, ML_ERR_SYSTEM, errno, "cannot watch the links to %s", e->name);
}

int endpoint_open(struct endpoint **out, const struct endpoint_config *c, struct fault *why)
{
    struct endpoint *e = calloc(1, sizeof(*e));
    int rc = 0;

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    e->epoll = e->timer = -1;
    e->tag = c->tag;
    e->rank = c->rank;
    e->peer = c->peer;
    snprintf(e->name, sizeof(e->name), "%s", c->peer_name);
    e->published = calloc((size_t)c->device_count, sizeof(*e->published));
    if (!e->published)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c->device_count && i < ENDPOINT_RAILS && !rc; i++) {
        struct rail_config config = {.device = c->devices[i],
                                     .peer = e->name,
                                     .port = c->port,
                                     .gid_index = c->gid_index,
                                     .mtu = c->mtu};

        rc = rail_open(&e->rails[i], &config, why);
        if (!rc)
            rail_publish(e->rails[e->rail_count++], &e->published[i]);
    }
    if (!rc)
        rc = watches_open(e, why);
    if (rc) {
        endpoint_close(e);
        return rc;
    }
    *out = e;
    return 0;
}

void endpoint_close(struct endpoint *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->rail_count; i++)
        rail_close(e->rails[i]);
    if (e->timer >= 0)
        close(e->timer);
    if (e->epoll >= 0)
        close(e->epoll);
    free(e->published);
    free(e);
}

const void *endpoint_publish(struct endpoint *e, size_t *size)
{
    *size = (size_t)e->rail_count * sizeof(*e->published);
    return e->published;
}

static int ends_score(const struct rail_end *low, const struct rail_end *high)
{
    if (low->link_layer != high->link_layer)
        return 0;
    return gid_score((struct gid_list){low->gids, low->gid_count, low->gid_index},
                     (struct gid_list){high->gids, high->gid_count, high->gid_index});
}

/* match[i]: which of the higher rank's rails is the other end of the lower rank's i-th: one in the
 * same subnet if there is one, else in the order of the lists. */
static void rails_match(const struct rail_end *low, const struct rail_end *high, int count,
                        int match[ENDPOINT_RAILS])
{
    bool used[ENDPOINT_RAILS] = {false};

    for (int i = 0; i < count; i++) {
        match[i] = -1;
        for (int j = 0; j < count && match[i] < 0; j++)
            if (!used[j] && ends_score(&low[i], &high[j]) >= GID_SHARED)
                match[i] = j;
        if (match[i] >= 0)
            used[match[i]] = true;
    }
    for (int i = 0, j = 0; i < count; i++) {
        if (match[i] >= 0)
            continue;
        while (used[j])
            j++;
        match[i] = j;
        used[j] = true;
    }
}

static bool ends_are_valid(const struct rail_end *ends, int count)
{
    for (int i = 0; i < count; i++)
        if (ends[i].gid_count < 0 || ends[i].gid_count > GID_MOST ||
            !memchr(ends[i].device, 0, sizeof(ends[i].device)))
            return false;
    return true;
}

int endpoint_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why)
{
    struct rail_end ends[ENDPOINT_RAILS];
    struct rail *mine[ENDPOINT_RAILS];
    bool is_low = e->rank <= e->peer;
    int match[ENDPOINT_RAILS], rc = 0;

    if (size != (size_t)e->rail_count * sizeof(*ends))
        return fault_set(why, ML_ERR_LINK,
                         "the hostfile's wiring has %d devices from here to %s, but %zu the other "
                         "way",
                         e->rail_count, e->name, size / sizeof(*ends));
    memcpy(ends, from_peer, size);
    if (!ends_are_valid(ends, e->rail_count))
        return fault_set(why, ML_ERR_REFUSED, "what %s tells of its devices is damaged", e->name);
    memcpy(mine, e->rails, sizeof(mine));
    rails_match(is_low ? e->published : ends, is_low ? ends : e->published, e->rail_count, match);
    for (int i = 0; i < e->rail_count && !rc; i++) {
        int me = is_low ? i : match[i], them = is_low ? match[i] : i;

        e->rails[i] = mine[me];
        rc = rail_connect(e->rails[i], &ends[them], is_low, why);
    }
    if (rc)
        memcpy(e->rails, mine, sizeof(mine));
    return rc;
}

/* --- check -------------------------------------------------------------------------------------
 */

static int check_hear(struct endpoint *e, int index, const struct check *c, struct fault *why)
{
    struct explain_place at = rail_place(e->rails[index]);
    char place[EXPLAIN_PLACE];

    if (c->magic == check_magic && c->tag == e->tag && c->from == e->peer && c->to == e->rank &&
        c->rail == index && c->rails == e->rail_count)
        return 0;
    if (c->magic != check_magic || c->tag != e->tag)
        return fault_set(why, ML_ERR_LINK, "the link%s leads to something that is not of this job",
                         explain_place(&at, place));
    return fault_set(why, ML_ERR_LINK,
                     "the link%s leads from rank %d to rank %d instead: the hostfile's wiring does "
                     "not fit the cables",
                     explain_place(&at, place), c->from, c->to);
}

int endpoint_check(struct endpoint *e, bool *done, struct fault *why)
{
    const struct fault *failed;

    for (int i = 0; i < e->rail_count && !e->has_said; i++) {
        struct check c = {check_magic, e->tag, e->rank, e->peer, i, e->rail_count};
        size_t room;

        memcpy(endpoint_slot(e, &room), &c, sizeof(c)); /* all slots are free yet */
        endpoint_send(e, sizeof(c));
    }
    e->has_said = true;
    endpoint_poll(e);
    failed = endpoint_failed(e);
    if (failed) {
        *why = *failed;
        return why->code;
    }
    while (e->heard < e->rail_count) {
        size_t size;
        const struct check *c = endpoint_chunk(e, &size);
        int rc;

        if (!c)
            break;
        rc = size == sizeof(*c)
                 ? check_hear(e, e->heard, c, why)
                 : fault_set(why, ML_ERR_LINK, "a check from %s is damaged", e->name);
        if (rc)
            return rc;
        endpoint_release(e);
        e->heard++;
    }
    *done = e->heard == e->rail_count;
    return 0;
}

int endpoint_check_late(struct endpoint *e, struct fault *why)
{
    struct explain_place at = rail_place(e->rails[e->heard]);
    char place[EXPLAIN_PLACE];

    return fault_set(why, ML_ERR_LINK,
                     "the link%s was set up on both ends, but nothing comes through: are these two "
                     "devices on one cable, as the hostfile's wiring says?",
                     explain_place(&at, place));
}

/* --- data --------------------------------------------------------------------------------------
 */

void *endpoint_slot(struct endpoint *e, size_t *room)
{
    *room = MEMORY_SLOT;
    return rail_slot(e->rails[e->out % (unsigned)e->rail_count]);
}

void endpoint_send(struct endpoint *e, size_t size)
{
    rail_post(e->rails[e->out % (unsigned)e->rail_count], size);
    e->out++;
}

const void *endpoint_chunk(struct endpoint *e, size_t *size)
{
    return rail_chunk(e->rails[e->in % (unsigned)e->rail_count], size);
}

void endpoint_release(struct endpoint *e)
{
    rail_release(e->rails[e->in % (unsigned)e->rail_count]);
    e->in++;
}

int endpoint_poll(struct endpoint *e)
{
    int moved = 0;

    for (int i = 0; i < e->rail_count; i++)
        moved |= rail_poll(e->rails[i]);
    return moved;
}

const struct fault *endpoint_failed(const struct endpoint *e)
{
    for (int i = 0; i < e->rail_count; i++)
        if (e->rails[i]->failed.code)
            return &e->rails[i]->failed;
    return NULL;
}

/* --- sleep -------------------------------------------------------------------------------------
 */

int endpoint_sleep(struct endpoint *e, bool sends)
{
    /* Armed first, looked at afterwards: what comes in between is either seen or an event. */
    for (int i = 0; i < e->rail_count; i++)
        rail_arm(e->rails[i], sends);
    if (endpoint_poll(e) > 0 || endpoint_failed(e))
        return -1;
    if (sends && rail_slot(e->rails[e->out % (unsigned)e->rail_count]))
        return -1;
    return 0;
}

static void endpoint_take_event(struct endpoint *e, int fd)
{
    uint64_t expirations;

    if (fd == e->timer) {
        if (read(fd, &expirations, sizeof(expirations)) > 0)
            for (int i = 0; i < e->rail_count; i++)
                rail_sign(e->rails[i]);
        return;
    }
    for (int i = 0; i < e->rail_count; i++) {
        if (fd == e->rails[i]->channel->fd)
            rail_disarm(e->rails[i]);
        else if (fd == e->rails[i]->port->context->async_fd)
            rail_look(e->rails[i]);
    }
}

void endpoint_wake(struct endpoint *e)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(e->epoll, events, EVENTS, 0);

    for (int i = 0; i < count; i++)
        endpoint_take_event(e, events[i].data.fd);
}

static bool is_flushed(struct endpoint *e)
{
    bool flushed = true;

    for (int i = 0; i < e->rail_count; i++)
        flushed &= rail_is_flushed(e->rails[i]);
    return flushed;
}

bool endpoint_flush(struct endpoint *e, int timeout_ms)
{
    struct pollfd p = {.fd = e->epoll, .events = POLLIN};

    if (is_flushed(e))
        return true;
    for (int i = 0; i < e->rail_count; i++)
        rail_arm(e->rails[i], true);
    if (is_flushed(e))
        return true;
    poll(&p, 1, timeout_ms);
    endpoint_wake(e);
    return is_flushed(e);
}

int endpoint_descriptors(const struct endpoint *e, int *out, int most)
{
    int count = 0;

    if (most < 2)
        return 0;
    out[count++] = e->epoll;
    out[count++] = e->timer;
    for (int i = 0; i < e->rail_count && count + 3 <= most; i++) {
        out[count++] = e->rails[i]->channel->fd;
        out[count++] = e->rails[i]->port->context->async_fd;
        out[count++] = e->rails[i]->port->context->cmd_fd;
    }
    return count;
}
