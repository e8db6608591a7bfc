/* SPDX-License-Identifier: MIT */
#include "rdma/endpoint.h"

#include "rdma/explain.h"
#include "rdma/rail.h"
#include "rdma/zero_copy.h"

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
    ASK_SECONDS = 1,  /* of sleep without a chunk, over UC, before the peer is asked */
    LATE_TICKS = 2,   /* seconds after its answer, when what it had sent must be here */
    EVENTS = 2 * ENDPOINT_RAILS + 1,
    NAME = 320,
};
static const uint64_t check_magic = 0x6d6c61756e636834; /* "mlaunch4" */

/* The first chunk on each rail. */
struct check {
    uint64_t magic, tag;
    int32_t from, to, rail, rails;
};

/* What is kept of a rail that is not used any more. */
struct lost_rail {
    bool is_dropped;
    bool is_told;   /* to the user */
    bool has_said;  /* its word to the peer */
    bool has_heard; /* the peer's */
    uint64_t next;  /* of the chunks that go again, by their number on this rail */
};

/* Of a rail over UC. */
struct doubt {
    bool asks, answers;  /* words to be said */
    bool has_answer;     /* the peer said that it had sent `sent` */
    int ticks;           /* since then */
    uint64_t sent, seen; /* seen: what had arrived at the last tick */
};

/* A chunk that came before its turn. */
struct parked {
    struct parked *next;
    struct rail_chunk what;
    unsigned char bytes[];
};

struct endpoint {
    struct rail *rails[ENDPOINT_RAILS]; /* connected ones in the lower rank's order */
    int rail_count;
    size_t room;                       /* bytes of a chunk that every rail can take */
    struct rail *live[ENDPOINT_RAILS]; /* those that are not dropped */
    int live_count;
    struct lost_rail lost[ENDPOINT_RAILS];
    struct doubt doubts[ENDPOINT_RAILS];
    uint64_t gap_end; /* up to this chunk, some may come again, behind later ones */
    struct parked *parked;
    bool has_doubts;               /* words of struct doubt are to be said */
    struct rail *taking;           /* whose chunk endpoint_chunk gave; NULL: a parked one */
    struct parked **taking_parked; /* which one */
    struct fault failed;           /* code != 0: this side can't go on */
    uint64_t out, in;              /* numbers of the next chunks */
    uint64_t tag;
    int rank, peer;
    char name[NAME];
    int epoll, timer;
    unsigned ticks; /* of the timer */
    bool has_said;  /* its checks */
    int heard;      /* rails on which the peer's check came */
    struct rail_end *published;
    struct zero_copy zero_copy;
    uint64_t
        unread_end; /* behind the last chunk that the device reads outside the slots; 0: it has */
};
_Static_assert((int)ENDPOINT_RAILS == (int)RAILS_MOST &&
                   (int)ENDPOINT_AHEAD == (int)MEMORY_ANNOUNCEMENTS,
               "each rail has its key, and each message its place");

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
    struct itimerspec every = {{ASK_SECONDS, 0}, {ASK_SECONDS, 0}};
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
    e->room = MEMORY_SLOT;
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
                                     .mtu = c->mtu,
                                     .kind = (enum queue_pair_kind)c->kind};

        rc = rail_open(&e->rails[i], &config, why);
        if (rc)
            break;
        rail_publish(e->rails[e->rail_count++], &e->published[i]);
        if (e->rails[i]->room < e->room)
            e->room = e->rails[i]->room;
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
    for (struct parked *p = e->parked, *next; p; p = next) {
        next = p->next;
        free(p);
    }
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
        e->rails[i]->index = i;
        rc = rail_connect(e->rails[i], &ends[them], is_low, why);
    }
    if (rc)
        memcpy(e->rails, mine, sizeof(mine));
    memcpy(e->live, e->rails, sizeof(e->live));
    e->live_count = e->rail_count;
    e->zero_copy.rails = e->rails;
    e->zero_copy.rail_count = e->rail_count;
    return rc;
}

/* --- check -------------------------------------------------------------------------------------
 */

static int check_hear(struct endpoint *e, int index, const struct check *c, struct fault *why)
{
    struct explain_place at = rail_place(e->rails[index]);
    char place[EXPLAIN_PLACE];

    if (c->magic == check_magic && c->tag == e->tag && c->from == e->peer && c->to == e->rank &&
        c->rail == index && e->taking == e->rails[index] && c->rails == e->rail_count)
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
        bool is_direct;
        const struct check *c = endpoint_chunk(e, &size, &is_direct);
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

/* --- dropping a rail ---------------------------------------------------------------------------
 */

static void drop(struct endpoint *e, int index)
{
    struct lost_rail *l = &e->lost[index];

    l->is_dropped = true;
    rail_stop(e->rails[index]);
    e->live_count = 0;
    for (int i = 0; i < e->rail_count; i++)
        if (!e->lost[i].is_dropped)
            e->live[e->live_count++] = e->rails[i];
}

/* 1 if a rail that has failed was dropped. The last one never is: its failure is the link's. */
static int drop_failed(struct endpoint *e)
{
    int dropped = 0;

    if (e->heard < e->rail_count)
        return 0; /* until the check is through, each failure is one of the bring-up */
    for (int i = 0; i < e->rail_count; i++) {
        if (e->lost[i].is_dropped || !e->rails[i]->failed.code || e->live_count == 1)
            continue;
        drop(e, i);
        dropped = 1;
    }
    return dropped;
}

static bool say_doubt(struct endpoint *e, struct endpoint_word *word)
{
    for (int i = 0; i < e->rail_count; i++) {
        struct doubt *d = &e->doubts[i];
        bool *what = d->asks ? &d->asks : &d->answers;

        if (!*what || e->lost[i].is_dropped)
            continue;
        *word = (struct endpoint_word){.kind = d->asks ? ENDPOINT_ASKS : ENDPOINT_SENT,
                                       .rail = i,
                                       .count = e->rails[i]->posted};
        *what = false;
        return true;
    }
    e->has_doubts = false;
    return false;
}

/* A second of sleep is over: what was sent well before must be here, and where nothing came, is there
 * something on the way? */
static void doubt(struct endpoint *e)
{
    for (int i = 0; i < e->rail_count; i++) {
        struct doubt *d = &e->doubts[i];
        struct rail *r = e->rails[i];

        if (e->lost[i].is_dropped || !r->is_connected || rail_is_reliable(r))
            continue;
        rail_poll(r);
        if (d->has_answer && d->ticks++ >= LATE_TICKS) {
            rail_expect(r, d->sent);
            d->has_answer = false;
        }
        d->asks = r->arrived == d->seen;
        d->seen = r->arrived;
        e->has_doubts |= d->asks;
    }
}

static void hear_doubt(struct endpoint *e, const struct endpoint_word *word)
{
    struct doubt *d = &e->doubts[word->rail];

    if (e->lost[word->rail].is_dropped)
        return;
    if (word->kind == ENDPOINT_ASKS) {
        d->answers = e->has_doubts = true;
        /* It may be a free slot that it waits for. */
        rail_repeat_credit(e->rails[word->rail]);
    } else if (!d->has_answer) {
        *d = (struct doubt){.asks = d->asks,
                            .answers = d->answers,
                            .has_answer = true,
                            .sent = word->count,
                            .seen = d->seen};
    }
}

bool endpoint_say(struct endpoint *e, struct endpoint_word *word)
{
    for (int i = 0; i < e->rail_count; i++) {
        struct lost_rail *l = &e->lost[i];

        if (!l->is_dropped || l->has_said)
            continue;
        l->has_said = true;
        *word = (struct endpoint_word){
            .kind = ENDPOINT_DROPPED, .rail = i, .count = e->rails[i]->arrived, .out = e->out};
        return true;
    }
    return e->has_doubts && say_doubt(e, word);
}

int endpoint_hear(struct endpoint *e, const struct endpoint_word *word, struct fault *why)
{
    struct lost_rail *l;
    struct rail *r;

    if (word->rail >= 0 && word->rail < e->rail_count && word->kind != ENDPOINT_DROPPED) {
        hear_doubt(e, word);
        return 0;
    }
    if (word->rail < 0 || word->rail >= e->rail_count || e->lost[word->rail].has_heard)
        return fault_set(why, ML_ERR_REFUSED, "%s drops a rail %d that it can't drop", e->name,
                         word->rail);
    l = &e->lost[word->rail];
    r = e->rails[word->rail];
    if (!l->is_dropped) {
        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK, "%s has lost its end of the link on %s port %d",
                      e->name, r->port->device, r->port->number);
        drop(e, word->rail);
        l->is_told = true;
    }
    if (word->count > r->posted || r->posted - word->count > MEMORY_SLOTS)
        return fault_set(why, ML_ERR_REFUSED,
                         "what %s tells of a rail that it has dropped makes no sense", e->name);
    l->has_heard = true;
    l->next = word->count;
    if (word->out > e->gap_end)
        e->gap_end = word->out;
    return 0;
}

const struct fault *endpoint_dropped(struct endpoint *e, int *left)
{
    for (int i = 0; i < e->rail_count; i++) {
        if (!e->lost[i].is_dropped || e->lost[i].is_told)
            continue;
        e->lost[i].is_told = true;
        *left = e->live_count;
        return &e->rails[i]->failed;
    }
    return NULL;
}

/* Whether all that went into dropped rails has come, or gone again. */
static bool is_sent_again(const struct endpoint *e)
{
    for (int i = 0; i < e->rail_count; i++)
        if (e->lost[i].is_dropped &&
            (!e->lost[i].has_heard || e->lost[i].next < e->rails[i]->posted))
            return false;
    return true;
}

static void send_again(struct endpoint *e, int index)
{
    struct rail *from = e->rails[index];

    while (e->lost[index].next < from->posted) {
        struct rail *to = e->live[e->lost[index].next % (unsigned)e->live_count];
        void *slot = rail_slot(to);
        struct rail_chunk what;
        const void *bytes;

        if (!slot)
            return;
        bytes = rail_posted(from, e->lost[index].next++, &what);
        memcpy(slot, bytes, what.size);
        rail_post(to, what.size, what.number, NULL);
    }
}

static void send_all_again(struct endpoint *e)
{
    for (int i = 0; i < e->rail_count && e->live_count < e->rail_count; i++)
        if (e->lost[i].is_dropped && e->lost[i].has_heard && e->live_count > 0)
            send_again(e, i);
}

/* The rail whose next chunk is that of this number, and the chunk. */
static struct rail *rail_with(const struct endpoint *e, uint64_t number, struct rail_chunk *what,
                              const void **bytes)
{
    for (int i = 0; i < e->rail_count; i++) {
        struct rail *r = e->rails[(number + (unsigned)i) % (unsigned)e->rail_count];

        *bytes = rail_next(r, what);
        if (*bytes && what->number == (number & RAIL_NUMBER_MASK))
            return r;
    }
    return NULL;
}

static bool has_parked(const struct endpoint *e, uint64_t number)
{
    for (const struct parked *p = e->parked; p; p = p->next)
        if (p->what.number == (number & RAIL_NUMBER_MASK))
            return true;
    return false;
}

/* Chunks that come again stand behind later ones, whose slots they may even wait for: so until all
 * that the peer had sent when a rail was lost is here, what is not next is put aside. */
static void park(struct endpoint *e)
{
    struct rail_chunk what;
    const void *bytes;
    bool any = e->in < e->gap_end;

    while (any && !has_parked(e, e->in) && !rail_with(e, e->in, &what, &bytes)) {
        any = false;
        for (int i = 0; i < e->rail_count; i++) {
            struct parked *p;

            bytes = rail_next(e->rails[i], &what);
            if (!bytes)
                continue;
            p = malloc(sizeof(*p) + (what.is_direct ? 0 : what.size));
            if (!p) {
                fault_set(&e->failed, ML_ERR_MEMORY, "out of memory for what came out of order");
                return;
            }
            p->what = what;
            if (!what.is_direct)
                memcpy(p->bytes, bytes, what.size);
            p->next = e->parked;
            e->parked = p;
            rail_release(e->rails[i]);
            any = true;
        }
    }
}

/* --- data --------------------------------------------------------------------------------------
 */

void *endpoint_slot(struct endpoint *e, size_t *room)
{
    if (e->live_count < e->rail_count && (e->live_count == 0 || !is_sent_again(e)))
        return NULL;
    *room = e->room;
    return rail_slot(e->live[e->out % (unsigned)e->live_count]);
}

void endpoint_send(struct endpoint *e, size_t size)
{
    rail_post(e->live[e->out % (unsigned)e->live_count], size, e->out, NULL);
    e->out++;
}

bool endpoint_begin(struct endpoint *e, uint32_t message, const void *bytes, size_t size)
{
    return zero_copy_begin(&e->zero_copy, message, bytes, size);
}

size_t endpoint_part(struct endpoint *e, size_t offset)
{
    size_t room, size = e->zero_copy.size - offset;
    void *slot = endpoint_slot(e, &room);
    struct rail *r;
    struct rail_way way;

    if (!slot)
        return 0;
    r = e->live[e->out % (unsigned)e->live_count];
    way = zero_copy_way(&e->zero_copy, r, offset);
    if (room > ZERO_COPY_PART)
        room = ZERO_COPY_PART;
    if (size > room)
        size = room;
    if (!way.from)
        memcpy(slot, e->zero_copy.bytes + offset, size);
    rail_post(r, size, e->out, &way);
    e->out++;
    if (way.from)
        e->unread_end = e->out;
    return size;
}

uint64_t endpoint_mark(const struct endpoint *e)
{
    return e->out;
}

bool endpoint_has_read(struct endpoint *e, uint64_t mark)
{
    for (int i = 0; i < e->rail_count && e->unread_end; i++) {
        struct lost_rail *l = &e->lost[i];

        /* Of a dropped one nothing is sent twice but what its peer has not got, which is not known yet, or
         * has to be copied into other rails' slots first. */
        if (!rail_has_read(e->rails[i], l->has_heard ? l->next : 0, mark))
            return false;
    }
    if (mark >= e->unread_end)
        e->unread_end = 0;
    return true;
}

bool endpoint_announce(struct endpoint *e, uint32_t message, void *at, size_t size)
{
    return e->live_count == 0 || zero_copy_announce(&e->zero_copy, e->live[0], message, at, size);
}

void endpoint_stop(struct endpoint *e)
{
    for (int i = 0; i < e->rail_count; i++) {
        struct rail *r = e->rails[i];

        if (e->lost[i].is_dropped)
            continue; /* it was stopped then */
        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK, "the link to %s was stopped after an error",
                      e->name);
        rail_stop(r);
    }
}

const struct fault *endpoint_trouble(struct endpoint *e)
{
    struct zero_copy *z = &e->zero_copy;

    if (!z->trouble.code || z->is_told)
        return NULL;
    z->is_told = true;
    return &z->trouble;
}

const void *endpoint_chunk(struct endpoint *e, size_t *size, bool *is_direct)
{
    struct rail_chunk what;
    const void *bytes;

    for (struct parked **p = &e->parked; *p; p = &(*p)->next) {
        if ((*p)->what.number != (e->in & RAIL_NUMBER_MASK))
            continue;
        e->taking = NULL;
        e->taking_parked = p;
        *size = (*p)->what.size;
        *is_direct = (*p)->what.is_direct;
        return (*p)->bytes;
    }
    e->taking = rail_with(e, e->in, &what, &bytes);
    if (!e->taking)
        return NULL;
    *size = what.size;
    *is_direct = what.is_direct;
    return bytes;
}

void endpoint_release(struct endpoint *e)
{
    if (e->taking) {
        rail_release(e->taking);
    } else {
        struct parked *p = *e->taking_parked;

        *e->taking_parked = p->next;
        free(p);
    }
    e->in++;
}

int endpoint_poll(struct endpoint *e)
{
    int moved = 0;

    for (int i = 0; i < e->rail_count; i++)
        if (!e->lost[i].is_dropped)
            moved |= rail_poll(e->rails[i]);
    moved |= drop_failed(e);
    if (e->live_count == e->rail_count)
        return moved;
    park(e);
    send_all_again(e);
    return moved;
}

const struct fault *endpoint_failed(const struct endpoint *e)
{
    const struct fault *last = NULL;

    if (e->failed.code)
        return &e->failed;
    for (int i = 0; i < e->rail_count; i++) {
        bool has_failed = e->rails[i]->failed.code != 0;

        if (!e->lost[i].is_dropped && !has_failed && e->heard == e->rail_count)
            return NULL;
        if (has_failed && (!last || !e->lost[i].is_dropped))
            last = &e->rails[i]->failed;
    }
    return last;
}

/* --- sleep -------------------------------------------------------------------------------------
 */

int endpoint_sleep(struct endpoint *e, bool sends, uint64_t mark)
{
    /* Armed first, looked at afterwards: what comes in between is either seen or an event. */
    size_t room;

    for (int i = 0; i < e->live_count; i++)
        rail_arm(e->live[i], sends || mark || !is_sent_again(e));
    if (endpoint_poll(e) > 0 || endpoint_failed(e) || (mark && endpoint_has_read(e, mark)))
        return -1;
    return sends && endpoint_slot(e, &room) ? -1 : 0;
}

static void endpoint_tick(struct endpoint *e)
{
    if (e->ticks++ % SIGN_SECONDS == 0)
        for (int i = 0; i < e->rail_count; i++)
            rail_sign(e->rails[i]);
    doubt(e);
}

static void endpoint_take_event(struct endpoint *e, int fd)
{
    uint64_t expirations;

    if (fd == e->timer) {
        if (read(fd, &expirations, sizeof(expirations)) > 0)
            endpoint_tick(e);
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

static bool has_failed_rail(const struct endpoint *e)
{
    for (int i = 0; i < e->live_count; i++)
        if (e->live[i]->failed.code)
            return true;
    return false;
}

static bool is_flushed(struct endpoint *e)
{
    bool flushed = true;

    endpoint_poll(e);
    if (endpoint_failed(e))
        return true;
    for (int i = 0; i < e->live_count; i++)
        flushed &= rail_is_flushed(e->live[i]);
    /* What is sent again may be lost again, but then its rail has failed. */
    return flushed && is_sent_again(e) && !has_failed_rail(e);
}

bool endpoint_flush(struct endpoint *e, int timeout_ms)
{
    struct pollfd p = {.fd = e->epoll, .events = POLLIN};

    if (is_flushed(e))
        return true;
    for (int i = 0; i < e->live_count; i++)
        rail_arm(e->live[i], true);
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
