/* SPDX-License-Identifier: MIT */
#include "rdma/endpoint.h"

#include "rdma/rail.h"
#include "rdma/rail_check.h"
#include "rdma/rails.h"
#include "rdma/reorder.h"
#include "rdma/uc_loss.h"
#include "rdma/verbs/rail_match.h"
#include "rdma/watch.h"
#include "rdma/zero_copy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 320 };

struct endpoint {
    struct rails rails;
    /* One for each device, in the order of c->devices, and once connected in the lower rank's;
     * NULL: it could not be opened. */
    struct rail *pairs[RDMA_RAILS];
    int pair_count;
    bool may_lack;
    struct fault *lacks; /* why rails are missing that this side could not open or connect */
    int lack_count, lacks_told;
    size_t room; /* bytes of a chunk that every rail can take */
    struct uc_loss uc_loss;
    struct reorder reorder;
    struct rail *taking; /* owner of the chunk last returned; NULL: the reorder buffer */
    struct fault failed; /* code != 0: this side cannot continue */
    uint64_t out, in;    /* numbers of the next chunks to send and to return */
    uint64_t tag;
    int rank, peer;
    char name[NAME];
    struct watch watch;
    bool checks_sent;
    int checks_received; /* rails whose check has arrived */
    struct rail_end *published;
    struct zero_copy zero_copy;
    uint64_t
        unread_end; /* number after the last chunk that a device reads outside a slot; 0: none */
};
_Static_assert((int)ENDPOINT_AHEAD == (int)MEMORY_ANNOUNCEMENTS,
               "each message that may be announced has a place");
_Static_assert((int)ENDPOINT_LONG == (int)ZERO_COPY_LEAST, "from there on nothing is copied");

int endpoint_fd(const struct endpoint *e)
{
    return e->watch.epoll;
}

/* --- bring-up --------------------------------------------------------------------------------- */

/* True if the failure of a rail, which is left out; else it is the endpoint's. */
static bool endpoint_lacks(struct endpoint *e, int rc, const struct fault *why)
{
    if (!rc || !e->may_lack || (rc != ML_ERR_DEVICE && rc != ML_ERR_LINK))
        return false;
    e->lacks[e->lack_count++] = *why;
    return true;
}

static int endpoint_has_none(const struct endpoint *e, struct fault *why)
{
    if (!e->lack_count)
        return fault_set(why, ML_ERR_LINK, "%s has no device that works for its links to here",
                         e->name);
    *why = e->lacks[e->lack_count - 1];
    return why->code;
}

/* A rail that is missing is published as zeros: it has no device. */
static int endpoint_open_rail(struct endpoint *e, const struct rail_config *c, struct fault *why)
{
    int place = e->pair_count++;
    struct rail *r;
    int rc = rail_open(&r, c, why);

    if (rc)
        return endpoint_lacks(e, rc, why) ? 0 : rc;
    e->pairs[place] = e->rails.all[e->rails.count++] = r;
    rail_publish(r, &e->published[place]);
    if (r->room < e->room)
        e->room = r->room;
    return 0;
}

int endpoint_open(struct endpoint **out, const struct endpoint_config *c, struct fault *why)
{
    struct endpoint *e = calloc(1, sizeof(*e));
    int rc = 0;

    if (!e)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    e->watch.epoll = e->watch.timer = -1;
    e->room = MEMORY_SLOT;
    e->tag = c->tag;
    e->rank = c->rank;
    e->peer = c->peer;
    e->may_lack = c->may_lack;
    snprintf(e->name, sizeof(e->name), "%s", c->peer_name);
    e->rails.peer = e->name;
    e->published = calloc((size_t)c->device_count, sizeof(*e->published));
    if (c->may_lack)
        e->lacks = calloc((size_t)c->device_count, sizeof(*e->lacks));
    if (!e->published || (c->may_lack && !e->lacks))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c->device_count && i < RDMA_RAILS && !rc; i++)
        rc = endpoint_open_rail(
            e, &(struct rail_config){.device = c->devices[i], .peer = e->name, .choice = c->choice},
            why);
    if (!rc && !e->rails.count)
        rc = endpoint_has_none(e, why);
    if (!rc)
        rc = watch_open(&e->watch, &e->rails, why);
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
    for (int i = 0; i < e->rails.count; i++)
        rail_close(e->rails.all[i]);
    reorder_clear(&e->reorder);
    watch_close(&e->watch);
    free(e->published);
    free(e->lacks);
    free(e);
}

const void *endpoint_publish(struct endpoint *e, size_t *size)
{
    *size = (size_t)e->pair_count * sizeof(*e->published);
    return e->published;
}

/* Takes the pairs with a bit in `used` into use and closes the others. */
static void endpoint_use(struct endpoint *e, uint32_t used)
{
    e->rails.count = 0;
    for (int i = 0; i < e->pair_count; i++) {
        struct rail *r = e->pairs[i];

        e->pairs[i] = NULL;
        if (!r)
            continue;
        if (!(used >> i & 1)) {
            rail_close(r);
            continue;
        }
        r->index = e->rails.count;
        e->rails.all[e->rails.count++] = r;
    }
    rails_start(&e->rails);
    e->zero_copy.rails = e->rails.all;
    e->zero_copy.rail_count = e->rails.count;
}

int endpoint_connect(struct endpoint *e, const void *from_peer, size_t size, struct fault *why)
{
    struct rail_end ends[RDMA_RAILS];
    struct rail *mine[RDMA_RAILS];
    bool is_low = e->rank <= e->peer;
    int match[RDMA_RAILS], count = e->pair_count, rc = 0;

    if (size != (size_t)count * sizeof(*ends))
        return fault_set(why, ML_ERR_LINK,
                         "the hostfile's wiring has %d devices from here to %s, but %zu the other "
                         "way",
                         count, e->name, size / sizeof(*ends));
    memcpy(ends, from_peer, size);
    if (!rail_match_is_valid(ends, count))
        return fault_set(why, ML_ERR_REFUSED,
                         "the description that %s sent of its devices is damaged", e->name);
    memcpy(mine, e->pairs, sizeof(mine));
    rail_match(is_low ? e->published : ends, is_low ? ends : e->published, count, match);
    for (int i = 0; i < count; i++)
        e->pairs[i] = mine[is_low ? i : match[i]];
    for (int i = 0; i < count && !rc; i++) {
        const struct rail_end *other = &ends[is_low ? match[i] : i];

        if (!e->pairs[i] || (e->may_lack && !rail_end_is_there(other)))
            continue;
        rc = rail_connect(e->pairs[i], other, is_low, why);
        if (endpoint_lacks(e, rc, why))
            rc = 0;
    }
    if (!rc && e->may_lack && !endpoint_connected(e))
        rc = endpoint_has_none(e, why);
    if (!rc && !e->may_lack)
        endpoint_use(e, UINT32_MAX);
    return rc;
}

uint32_t endpoint_connected(const struct endpoint *e)
{
    uint32_t connected = 0;

    for (int i = 0; i < e->pair_count; i++)
        if (e->pairs[i] && e->pairs[i]->is_connected)
            connected |= 1u << i;
    return connected;
}

int endpoint_agree(struct endpoint *e, uint32_t peers, struct fault *why)
{
    uint32_t used = endpoint_connected(e) & peers;

    if (!peers || peers >> e->pair_count)
        return fault_set(why, ML_ERR_REFUSED,
                         "%s has connected devices that it does not have, or none", e->name);
    if (!used)
        return endpoint_has_none(e, why);
    endpoint_use(e, used);
    return 0;
}

/* --- check ------------------------------------------------------------------------------------ */

static int check_compare(struct endpoint *e, const void *chunk, size_t size, struct fault *why)
{
    int i = e->checks_received;
    struct rail *r = e->rails.all[i];
    struct rail_check wanted = rail_check_make(e->tag, e->peer, e->rank, i, e->rails.count);
    /* Over another rail it comes once both ends have dropped its own; what was put aside until then
     * may be from any. */
    const struct rail *over = e->rails.lost[i].is_dropped || !e->taking ? r : e->taking;

    return rail_check_compare(r, over, &wanted, chunk, size, why);
}

/* True if a rail that fails is dropped: at first its failure ends the bring-up. */
static bool endpoint_drops(const struct endpoint *e)
{
    return e->may_lack || e->checks_received == e->rails.count;
}

int endpoint_check(struct endpoint *e, bool *done, struct fault *why)
{
    const struct fault *failed;

    for (int i = 0; i < e->rails.count && !e->checks_sent; i++) {
        struct rail_check c = rail_check_make(e->tag, e->rank, e->peer, i, e->rails.count);
        size_t room;

        memcpy(endpoint_slot(e, &room), &c, sizeof(c)); /* no slot is in use yet */
        endpoint_send(e, sizeof(c));
    }
    if (!e->checks_sent)
        rails_prefer_near(&e->rails);
    e->checks_sent = true;
    endpoint_poll(e);
    failed = endpoint_failed(e);
    if (failed) {
        *why = *failed;
        return why->code;
    }
    while (e->checks_received < e->rails.count) {
        size_t size;
        bool is_direct;
        const void *chunk = endpoint_chunk(e, &size, &is_direct);
        int rc;

        if (!chunk)
            break;
        rc = check_compare(e, chunk, size, why);
        if (rc)
            return rc;
        endpoint_release(e);
        e->checks_received++;
    }
    *done = e->checks_received == e->rails.count;
    return 0;
}

int endpoint_check_late(struct endpoint *e, struct fault *why)
{
    return rail_check_late(e->rails.all[e->checks_received], why);
}

/* --- control messages ------------------------------------------------------------------------- */

bool endpoint_control_next(struct endpoint *e, struct rail_control *control)
{
    return rails_control_next(&e->rails, e->out, control) ||
           uc_loss_control_next(&e->uc_loss, &e->rails, control);
}

int endpoint_control_take(struct endpoint *e, const struct rail_control *control, struct fault *why)
{
    int rc;

    if (control->rail >= 0 && control->rail < e->rails.count &&
        control->kind != RAIL_CONTROL_DROPPED) {
        uc_loss_control_take(&e->uc_loss, &e->rails, control);
        return 0;
    }
    rc = rails_control_take(&e->rails, control, why);
    if (!rc && control->out > e->reorder.until)
        e->reorder.until = control->out;
    return rc;
}

const struct fault *endpoint_dropped(struct endpoint *e, int *left)
{
    if (e->lacks_told < e->lack_count) {
        *left = e->rails.count;
        return &e->lacks[e->lacks_told++];
    }
    return rails_dropped(&e->rails, left);
}

/* --- data ------------------------------------------------------------------------------------- */

void *endpoint_slot(struct endpoint *e, size_t *room)
{
    const struct rails *s = &e->rails;

    if (s->live_count < s->count && (s->live_count == 0 || !rails_have_resent(s)))
        return NULL;
    *room = e->room;
    return rail_slot(rails_route(s, e->out));
}

void endpoint_send(struct endpoint *e, size_t size)
{
    rail_post(rails_route(&e->rails, e->out), size, e->out, NULL);
    e->out++;
}

bool endpoint_reaches(const struct endpoint *e, const void *at, size_t size, bool from,
                      enum region_way *way, struct fault *why)
{
    return zero_copy_reaches(&e->zero_copy, at, size, from, way, why);
}

bool endpoint_begin(struct endpoint *e, uint32_t message, const void *bytes, size_t size)
{
    return zero_copy_begin(&e->zero_copy, message, bytes, size);
}

void endpoint_turn(struct endpoint *e, const void *bytes, size_t begin, size_t end)
{
    zero_copy_turn(&e->zero_copy, bytes, begin, end);
}

size_t endpoint_part(struct endpoint *e, size_t offset)
{
    size_t room, size = e->zero_copy.end - offset;
    void *slot = endpoint_slot(e, &room);
    struct rail *r;
    struct rail_way way;

    if (!slot)
        return 0;
    r = rails_route(&e->rails, e->out);
    way = zero_copy_way(&e->zero_copy, r, offset);
    if (room > ZERO_COPY_PART)
        room = ZERO_COPY_PART;
    if (size > room)
        size = room;
    if (!way.from)
        memcpy(slot, e->zero_copy.bytes + (offset - e->zero_copy.begin), size);
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
    for (int i = 0; i < e->rails.count && e->unread_end; i++) {
        struct rails_lost *l = &e->rails.lost[i];

        /* A dropped rail's chunks that the peer has not got are read once more, to copy them into
         * other rails' slots. Which ones is unknown until the peer's control message. */
        if (!rail_has_read(e->rails.all[i], l->has_peer_control ? l->next : 0, mark))
            return false;
    }
    if (mark >= e->unread_end)
        e->unread_end = 0;
    return true;
}

bool endpoint_announce(struct endpoint *e, uint32_t message, void *at, size_t size)
{
    struct rails *s = &e->rails;

    return s->live_count == 0 || zero_copy_announce(&e->zero_copy, s->live[0], message, at, size);
}

void endpoint_stop(struct endpoint *e)
{
    for (int i = 0; i < e->rails.count; i++) {
        struct rail *r = e->rails.all[i];

        if (e->rails.lost[i].is_dropped)
            continue; /* already stopped */
        if (!r->failed.code)
            fault_set(&r->failed, ML_ERR_LINK, "the link to %s was stopped after an error",
                      e->name);
        rail_stop(r);
    }
}

const struct fault *endpoint_trouble(struct endpoint *e)
{
    struct zero_copy *z = &e->zero_copy;

    if (!z->trouble.code || z->is_reported)
        return NULL;
    z->is_reported = true;
    return &z->trouble;
}

const void *endpoint_chunk(struct endpoint *e, size_t *size, bool *is_direct)
{
    struct rail_chunk what;
    const void *bytes = reorder_find(&e->reorder, e->in, &what);

    e->taking = NULL;
    if (!bytes) {
        e->taking = rails_find(&e->rails, e->in, &what, &bytes);
        if (!e->taking)
            return NULL;
    }
    *size = what.size;
    *is_direct = what.is_direct;
    return bytes;
}

void endpoint_release(struct endpoint *e)
{
    if (e->taking)
        rail_release(e->taking);
    else
        reorder_release(&e->reorder, e->in);
    e->in++;
}

int endpoint_poll(struct endpoint *e)
{
    struct rails *s = &e->rails;
    int moved = 0;

    for (int i = 0; i < s->count; i++)
        if (!s->lost[i].is_dropped)
            moved |= rail_poll(s->all[i]);
    if (endpoint_drops(e))
        moved |= rails_drop_failed(s);
    if (s->live_count == s->count)
        return moved;
    reorder_take(&e->reorder, s, e->in, &e->failed);
    rails_resend(s);
    return moved;
}

const struct fault *endpoint_failed(const struct endpoint *e)
{
    const struct rails *s = &e->rails;
    const struct fault *last = NULL;

    if (e->failed.code)
        return &e->failed;
    for (int i = 0; i < s->count; i++) {
        bool has_failed = s->all[i]->failed.code != 0;

        if (!s->lost[i].is_dropped && !has_failed && endpoint_drops(e))
            return NULL;
        if (has_failed && (!last || !s->lost[i].is_dropped))
            last = &s->all[i]->failed;
    }
    return last;
}

/* --- sleep ------------------------------------------------------------------------------------ */

int endpoint_sleep(struct endpoint *e, bool sends, uint64_t mark)
{
    /* Arm first, then look: whatever arrives in between is either seen here or raises an event. */
    const struct rails *s = &e->rails;
    size_t room;

    for (int i = 0; i < s->live_count; i++)
        rail_arm(s->live[i], sends || mark || !rails_have_resent(s));
    if (endpoint_poll(e) > 0 || endpoint_failed(e) || (mark && endpoint_has_read(e, mark)))
        return -1;
    return sends && endpoint_slot(e, &room) ? -1 : 0;
}

void endpoint_wake(struct endpoint *e)
{
    if (watch_wake(&e->watch, &e->rails))
        uc_loss_tick(&e->uc_loss, &e->rails);
}

static bool is_flushed(struct endpoint *e)
{
    const struct rails *s = &e->rails;
    bool flushed = true;

    endpoint_poll(e);
    if (endpoint_failed(e))
        return true;
    for (int i = 0; i < s->live_count; i++) {
        flushed &= rail_is_flushed(s->live[i]);
        /* A chunk that was sent again may be lost again; then the rail that carried it has
         * failed. */
        flushed &= !s->live[i]->failed.code;
    }
    return flushed && rails_have_resent(s);
}

bool endpoint_flush(struct endpoint *e, int timeout_ms)
{
    struct pollfd p = {.fd = e->watch.epoll, .events = POLLIN};

    if (is_flushed(e))
        return true;
    for (int i = 0; i < e->rails.live_count; i++)
        rail_arm(e->rails.live[i], true);
    if (is_flushed(e))
        return true;
    poll(&p, 1, timeout_ms);
    endpoint_wake(e);
    return is_flushed(e);
}

int endpoint_descriptors(const struct endpoint *e, int *out, int most)
{
    return watch_descriptors(&e->watch, &e->rails, out, most);
}
