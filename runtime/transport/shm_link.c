/* SPDX-License-Identifier: MIT */
/*
 * shm_link.c: messages over rings in shared memory. Positions in a ring only grow. Each message
 * starts on a pair of cache lines of its own, and its header and the first 32 bytes of payload
 * share a line: so a small message costs the receiver two misses, the ring's head and that line. It
 * is a pair because processors fetch the other line of a pair unasked, so the receiver would take
 * away the line that the sender is writing.
 *
 * A long message of a call that reduces nothing is offered (shm_rendezvous.h): only its header goes
 * through the ring, and nothing is sent after it until the receiver has answered the offer. So is a
 * long message whose bytes are on a GPU, for a receiver whose buffer is on one, too. Others on a
 * GPU pass through pieces of host memory on their way to the ring, and from it.
 *
 * Heads, tails and answers are stored with sequential consistency, as sleeper.h requires, and so
 * release what was written or read before; who uses that loads them with acquire
 * (doc/notes/memory-order.md).
 */
#include "runtime/transport/shm_link.h"

#include "runtime/gpu/gpu_buffer.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/group.h"
#include "runtime/group/matching.h"
#include "runtime/group/message.h"
#include "runtime/group/world.h"
#include "runtime/transport/shm_coll.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE = PROCESSOR_LINE, /* messages start at its multiples */
    GRAIN = 16,            /* pieces of a payload are multiples of it; no element is larger */
    CHUNK = 32 * 1024,     /* bytes after which the other side may begin with its part */

    RENDEZVOUS_LEAST = 8 * 1024,           /* bytes: below, two copies through the ring cost less */
    RENDEZVOUS_ALWAYS = 32 * 1024,         /* below, only if that keeps no rank waiting */
    RENDEZVOUS_MOST_ONE_WAY = 1024 * 1024, /* beyond, two processors with a copy each are faster */
    RENDEZVOUS_GPU_LEAST = 32 * 1024,      /* from GPU to GPU; not measured */
    RENDEZVOUS_CHUNK = 1024 * 1024,        /* after which other links get their turn */
};

/* How the payload of the first send, or receive, goes. */
enum shm_payload {
    PAYLOAD_PLAIN,  /* between host memory and the ring */
    PAYLOAD_OFFER,  /* it is offered */
    PAYLOAD_PIECES, /* between memory of a GPU and the ring */
};

struct shm_link {
    struct link base;
    struct shm_segment *segment;
    int them;                  /* the peer's index there */
    struct shm_ring *out, *in; /* NULL: no message has gone, or come */
    size_t ring_size;
    /* CHUNK, or the ring's size if that is less: no more is copied at once, whatever position the
     * other side may have written. */
    size_t chunk;
    /* Own positions, and the other side's when last read: its cache line is only touched when there
     * seems to be nothing to do. */
    uint64_t out_head, out_tail;
    uint64_t in_tail, in_head;
    uint64_t in_tail_told; /* as the sender knows it */
    struct sleeper_slot *my_slot, *peer_slot;
    enum shm_payload gives, takes;
    bool has_sent;       /* a message has gone since the last one came */
    bool was_refused;    /* the peer can't read this process's memory */
    bool is_unreachable; /* nor that of its GPUs */
    uint64_t giver;      /* the peer, once its memory on a GPU was read; else 0 */
};

static struct shm_link *shm_link_of(struct link *l)
{
    return (struct shm_link *)l;
}

/* Where the next message starts, behind one that ends at `position`. */
static uint64_t shm_link_next_line(uint64_t position)
{
    return (position + LINE - 1) & ~(uint64_t)(LINE - 1);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- waking ----------------------------------------------------------------------------------- */

static inline void shm_link_wake_peer(struct shm_link *s)
{
    sleeper_wake(s->peer_slot, s->base.group, s->base.peer);
}

static inline void shm_link_publish(struct shm_link *s, _Atomic uint64_t *position, uint64_t value)
{
    atomic_store(position, value);
    shm_link_wake_peer(s);
}

/* --- sending ---------------------------------------------------------------------------------- */

static size_t shm_link_room(struct shm_link *s)
{
    return s->ring_size - (size_t)(s->out_head - s->out_tail);
}

static void shm_link_copy_in(struct shm_link *s, const void *from, size_t size)
{
    size_t at = (size_t)s->out_head & (s->ring_size - 1);
    size_t first = smaller(size, s->ring_size - at);

    memcpy(s->out->bytes + at, from, first);
    if (size > first)
        memcpy(s->out->bytes, (const unsigned char *)from + first, size - first);
    s->out_head += size;
}

/* An offer blocks the sender until the receiver has read it; the ring buffers several short
 * messages. So a rank that streams short messages uses the ring, and two ranks on one processor
 * need not switch for every message. */
static bool shm_link_prefers_ring(const struct shm_link *s)
{
    const struct group *g = s->base.group;

    return g->world->is_crowded || (g->call.kind == CALL_SEND && s->has_sent && !s->base.recvs);
}

/* In one direction only, and with a processor for each side, the ring is faster for the longest
 * messages. */
static bool shm_link_would_offer(const struct shm_link *s, const struct message_op *t)
{
    const struct group *g = s->base.group;

    if (t->size < RENDEZVOUS_LEAST || s->was_refused || call_kind_has(g->call.kind, CALL_REDUCES))
        return false;
    if (t->size < RENDEZVOUS_ALWAYS && shm_link_prefers_ring(s))
        return false;
    return t->size <= RENDEZVOUS_MOST_ONE_WAY || s->base.recvs || g->world->is_crowded;
}

static void shm_link_publish_offer(struct shm_link *s)
{
    s->out_head = shm_link_next_line(s->out_head);
    shm_link_publish(s, &s->out->head, s->out_head);
}

/* Offers the payload of the message whose header has just been written. */
static void shm_link_offer(struct shm_link *s, const struct message_op *t)
{
    shm_rendezvous_make(&s->out->rendezvous, s->out_head - sizeof(struct message), t->buf);
    s->gives = PAYLOAD_OFFER;
    shm_link_publish_offer(s);
}

/* --- memory of GPUs --------------------------------------------------------------------------- */

static void shm_link_tell(const struct shm_link *s, enum gpu_way way, const struct fault *why)
{
    const struct group *g = s->base.group;

    gpu_way_tell(g->members[g->rank], g->members[s->base.peer], way, why);
}

/* Adds whose call has failed. */
static int shm_link_gpu_failed(const struct shm_link *s, const char *call, struct fault *why)
{
    const struct group *g = s->base.group;
    char who[GROUP_MEMBER_TEXT];

    return fault_wrap(why, "%s: %s", group_describe(g, g->rank, who), call);
}

/* How a message whose bytes are on a GPU goes: offered if it is long. */
static enum shm_payload shm_link_offer_gpu(struct shm_link *s, const struct message_op *t)
{
    struct gpu_ipc_place place;
    struct fault reason = {0};

    if (t->size < RENDEZVOUS_GPU_LEAST || s->is_unreachable)
        return PAYLOAD_PIECES;
    if (!gpu_ipc_find(&t->gpu->memory, t->gpu->at, t->size, &place, &reason)) {
        shm_link_tell(s, GPU_WAY_PIECES, &reason);
        return PAYLOAD_PIECES;
    }
    shm_rendezvous_make_gpu(&s->out->rendezvous, s->out_head, &place);
    return PAYLOAD_OFFER;
}

/* The receiver's reason is told by itself. */
static void shm_link_tell_refused(struct shm_link *s, const struct message_op *t,
                                  enum shm_rendezvous_state answer)
{
    const char *refusal = t->tag ? "that rank's buffer is not on a GPU, or it waited for another "
                                   "message when this one came"
                                 : "that rank's buffer is not on a GPU";
    struct fault reason;

    s->is_unreachable = answer == RENDEZVOUS_UNREACHABLE;
    fault_set(&reason, ML_ERR_ARGUMENT, "%s",
              s->is_unreachable ? "that rank can't open it by CUDA IPC" : refusal);
    shm_link_tell(s, GPU_WAY_PIECES, &reason);
}

/* As shm_link_send, for a message that was offered. */
static int shm_link_take_answer(struct shm_link *s)
{
    struct message_op *t = s->base.sends;
    enum shm_rendezvous_state state = shm_rendezvous_peek(&s->out->rendezvous);

    if (state == RENDEZVOUS_OPEN)
        return 0;
    s->gives = PAYLOAD_PLAIN;
    if (state == RENDEZVOUS_TAKEN) {
        if (s->out->rendezvous.is_gpu)
            shm_link_tell(s, GPU_WAY_IPC, NULL);
        t->moved = t->size;
        link_pop_send(&s->base);
        return 1;
    }
    /* Then the message goes through the ring, from its start. */
    if (s->out->rendezvous.is_gpu) {
        shm_link_tell_refused(s, t, state);
        s->gives = PAYLOAD_PIECES;
    } else {
        s->was_refused = true;
    }
    return 1;
}

static int shm_link_make_ring(struct shm_link *s, struct fault *why)
{
    const struct group *g = s->base.group;
    char who[GROUP_MEMBER_TEXT];

    if (shm_segment_make_ring(&s->out, s->segment, s->them, why) == 0)
        return 0;
    return fault_wrap(why, "%s cannot send to rank %d", group_describe(g, g->rank, who),
                      g->members[s->base.peer]);
}

/* True if the next bytes can be written. */
static bool shm_link_has_room(struct shm_link *s)
{
    if (shm_link_room(s) < LINE)
        s->out_tail = atomic_load_explicit(&s->out->tail, memory_order_acquire);
    return shm_link_room(s) >= LINE;
}

/* The next `size` bytes of the first send have been copied. */
static inline void shm_link_end_part(struct shm_link *s, struct message_op *t, size_t size)
{
    t->moved += size;
    if (t->moved == t->size) {
        s->out_head = shm_link_next_line(s->out_head);
        link_pop_send(&s->base);
    }
    shm_link_publish(s, &s->out->head, s->out_head);
}

/* As shm_link_send, for a message whose header has gone and whose bytes are on a GPU. */
static int shm_link_send_piece(struct shm_link *s, struct fault *why)
{
    struct message_op *t = s->base.sends;
    size_t room;

    if (!shm_link_has_room(s))
        return 0;
    if (t->moved == t->gpu->ready && gpu_buffer_read_piece(t->gpu, t->moved, why))
        return shm_link_gpu_failed(s, "send", why);
    room = smaller(shm_link_room(s) & ~(size_t)(GRAIN - 1), s->chunk);
    room = smaller(t->gpu->ready - t->moved, room);
    shm_link_copy_in(s, gpu_buffer_ready(t->gpu, t->moved), room);
    if (t->moved + room == t->size)
        s->gives = PAYLOAD_PLAIN;
    shm_link_end_part(s, t, room);
    return 1;
}

/* 1 if some of the first send was moved, 0 if there is no room, or ML_ERR_SYSTEM. */
static int shm_link_send(struct shm_link *s, struct fault *why)
{
    struct message_op *t = s->base.sends;
    size_t room = shm_link_room(s), size;

    if (s->gives)
        return s->gives == PAYLOAD_OFFER ? shm_link_take_answer(s) : shm_link_send_piece(s, why);
    if (!s->out) {
        int rc = shm_link_make_ring(s, why);

        if (rc)
            return rc;
    }
    if (room < LINE) {
        s->out_tail = atomic_load_explicit(&s->out->tail, memory_order_acquire);
        room = shm_link_room(s);
        if (room < LINE)
            return 0;
    }
    if (!t->header_moved) {
        struct message m;

        if (__builtin_expect(t->gpu != NULL, 0))
            s->gives = shm_link_offer_gpu(s, t);
        message_fill(&m, &s->base.group->call, t);
        memcpy(s->out->bytes + (s->out_head & (s->ring_size - 1)), &m, sizeof(m));
        s->out_head += sizeof(m);
        room -= sizeof(m);
        t->header_moved = true;
        if (s->gives == PAYLOAD_OFFER)
            shm_link_publish_offer(s);
        else if (!s->gives && shm_link_would_offer(s, t))
            shm_link_offer(s, t);
        s->has_sent = true;
        if (s->gives)
            return 1;
    }
    size = smaller(t->size - t->moved, smaller(room & ~(size_t)(GRAIN - 1), s->chunk));
    if (size)
        shm_link_copy_in(s, (const unsigned char *)t->buf + t->moved, size);
    shm_link_end_part(s, t, size);
    return 1;
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool shm_link_has_ring(struct shm_link *s)
{
    if (!s->in)
        s->in = shm_segment_find_ring(s->segment, s->them);
    return s->in;
}

/* For the last look before something that the peer's message would prevent. */
static bool shm_link_has_come(struct shm_link *s)
{
    return shm_link_has_ring(s) && atomic_load(&s->in->head) != s->in_tail;
}

static void shm_link_copy_out(struct shm_link *s, struct message_op *t, size_t size)
{
    size_t at = (size_t)s->in_tail & (s->ring_size - 1);
    size_t first = smaller(size, s->ring_size - at);

    link_take(&s->base, t, s->in->bytes + at, first);
    if (size > first)
        link_take(&s->base, t, s->in->bytes, size - first);
    s->in_tail += size;
}

/* Tells the sender of free room in steps of a quarter of the ring, not at each message: it always
 * has the rest. In whole lines, so that the end of a message may be rounded up into what the sender
 * sees as free. */
static void shm_link_free_room(struct shm_link *s)
{
    if (s->in_tail - s->in_tail_told < s->ring_size / 4)
        return;
    s->in_tail_told = s->in_tail & ~(uint64_t)(LINE - 1);
    shm_link_publish(s, &s->in->tail, s->in_tail_told);
}

/* True if the message whose header is at in_tail is offered; false if it is in the ring. */
static bool shm_link_is_offered(const struct shm_link *s, const struct message *m)
{
    return m->size >= RENDEZVOUS_LEAST &&
           shm_rendezvous_peek(&s->in->rendezvous) != RENDEZVOUS_NONE &&
           atomic_load_explicit(&s->in->rendezvous.position, memory_order_relaxed) == s->in_tail;
}

static void shm_link_answer(struct shm_link *s, enum shm_rendezvous_state answer)
{
    struct message_op *t = s->base.recvs;

    if (!shm_rendezvous_end(&s->in->rendezvous, answer))
        return; /* withdrawn: the sender has broken the group, as this rank is about to learn */
    s->takes = PAYLOAD_PLAIN;
    if (answer == RENDEZVOUS_TAKEN) {
        link_pop_recv(&s->base);
    } else {
        t->moved = 0;
        s->takes = t->gpu ? PAYLOAD_PIECES : PAYLOAD_PLAIN;
    }
    shm_link_wake_peer(s);
}

/* For an offer of memory of a GPU. What is refused comes through the ring. */
static void shm_link_take_gpu(struct shm_link *s)
{
    const struct shm_rendezvous *o = &s->in->rendezvous;
    struct message_op *t = s->base.recvs;
    struct fault reason;

    if (!t->gpu) {
        shm_link_answer(s, RENDEZVOUS_REFUSED);
        return;
    }
    s->giver = o->cookie;
    if (shm_rendezvous_read_gpu(o, &t->gpu->memory, t->gpu->at, t->size, &reason)) {
        shm_link_tell(s, GPU_WAY_IPC, NULL);
        t->moved = t->size;
        shm_link_answer(s, RENDEZVOUS_TAKEN);
        return;
    }
    shm_link_tell(s, GPU_WAY_PIECES, &reason);
    shm_link_answer(s, RENDEZVOUS_UNREACHABLE);
}

/* `size` bytes of the first receive have come, and are in its room (gpu_buffer.h). */
static int shm_link_took(struct shm_link *s, struct message_op *t, size_t size, struct fault *why)
{
    int rc = gpu_buffer_came(t->gpu, size, why);

    t->moved += size;
    if (!rc && t->moved == t->size)
        rc = gpu_buffer_end(t->gpu, why);
    return rc ? shm_link_gpu_failed(s, "recv", why) : 0;
}

/* As shm_link_receive, for a message whose header has come and whose bytes go to a GPU. */
static int shm_link_receive_piece(struct shm_link *s, struct fault *why)
{
    struct message_op *t = s->base.recvs;
    size_t at = (size_t)s->in_tail & (s->ring_size - 1), size, room;
    void *to;

    if (s->in_head == s->in_tail)
        s->in_head = atomic_load_explicit(&s->in->head, memory_order_acquire);
    size = smaller(t->size - t->moved, smaller((size_t)(s->in_head - s->in_tail), s->chunk));
    if (!size)
        return 0;
    to = gpu_buffer_room(t->gpu, t->moved, &room, why);
    if (!to)
        return shm_link_gpu_failed(s, "recv", why);
    size = smaller(smaller(size, room), s->ring_size - at);
    memcpy(to, s->in->bytes + at, size);
    s->in_tail += size;
    if (shm_link_took(s, t, size, why))
        return why->code;
    if (t->moved == t->size) {
        s->in_tail = shm_link_next_line(s->in_tail);
        s->takes = PAYLOAD_PLAIN;
        link_pop_recv(&s->base);
    }
    shm_link_free_room(s);
    return 1;
}

/* As shm_link_receive, for a message that is offered. */
static int shm_link_take_offered(struct shm_link *s, struct fault *why)
{
    struct message_op *t = s->base.recvs;
    size_t size = smaller(t->size - t->moved, RENDEZVOUS_CHUNK), room = size;
    unsigned char *to = (unsigned char *)t->buf + t->moved;

    if (shm_rendezvous_peek(&s->in->rendezvous) != RENDEZVOUS_OPEN)
        return 0;
    if (s->in->rendezvous.is_gpu) {
        shm_link_take_gpu(s);
        return 1;
    }
    if (t->gpu)
        to = gpu_buffer_room(t->gpu, t->moved, &room, why);
    if (t->gpu && !to)
        return shm_link_gpu_failed(s, "recv", why);
    size = smaller(size, room);
    if (t->what == MESSAGE_OP_REDUCE ||
        !shm_rendezvous_read(&s->in->rendezvous, to, t->moved, size)) {
        shm_link_answer(s, RENDEZVOUS_REFUSED);
        return 1;
    }
    if (!t->gpu)
        t->moved += size;
    else if (shm_link_took(s, t, size, why))
        return why->code;
    if (t->moved == t->size)
        shm_link_answer(s, RENDEZVOUS_TAKEN);
    return 1;
}

static int shm_link_receive(struct shm_link *s, struct fault *why)
{
    struct message_op *t = s->base.recvs;
    size_t size;

    if (s->takes)
        return s->takes == PAYLOAD_OFFER ? shm_link_take_offered(s, why)
                                         : shm_link_receive_piece(s, why);
    if (s->in_head == s->in_tail) {
        if (!shm_link_has_ring(s))
            return 0;
        s->in_head = atomic_load_explicit(&s->in->head, memory_order_acquire);
        if (s->in_head == s->in_tail)
            return 0;
    }
    if (!t->header_moved) {
        struct message m;
        int rc;

        memcpy(&m, s->in->bytes + (s->in_tail & (s->ring_size - 1)), sizeof(m));
        rc = matching_accept(&s->base, &m, why);
        if (rc <= 0)
            return rc;
        t = s->base.recvs;
        s->takes = shm_link_is_offered(s, &m) ? PAYLOAD_OFFER : PAYLOAD_PLAIN;
        s->in_tail += s->takes ? LINE : sizeof(m);
        s->has_sent = false;
        t->header_moved = true;
        if (__builtin_expect(t->gpu != NULL, 0) && !s->takes)
            s->takes = PAYLOAD_PIECES;
        if (s->takes) {
            shm_link_free_room(s);
            return 1;
        }
    }
    size = smaller(t->size - t->moved, smaller((size_t)(s->in_head - s->in_tail), s->chunk));
    if (size)
        shm_link_copy_out(s, t, size);
    if (t->moved == t->size) {
        s->in_tail = shm_link_next_line(s->in_tail);
        link_pop_recv(&s->base);
    }
    shm_link_free_room(s);
    return 1;
}

/* True if the peer waits for this rank on the board while this rank waits for the peer in its link:
 * they would never meet. */
static bool shm_link_is_missed(const struct shm_link *s, struct message *call)
{
    const struct link *l = &s->base;
    const struct shm_coll *b = l->group->shared.coll;

    if (l->recvs && l->recvs->what == MESSAGE_OP_LISTEN_ANY && !l->sends)
        return false; /* others may send what is awaited */
    return b && (l->recvs || l->sends) && shm_coll_is_ahead(b, l->peer, call);
}

/* Called when nothing moved, after the ring was read: what was sent before the peer's end is still
 * used. */
static int shm_link_look_up(struct shm_link *s, struct fault *why)
{
    struct link *l = &s->base;
    struct message call;

    if (atomic_load_explicit(&s->peer_slot->is_closed, memory_order_acquire))
        l->ended = true;
    if (!shm_link_is_missed(s, &call) || shm_link_has_come(s))
        return 0;
    if (s->gives == PAYLOAD_OFFER && shm_rendezvous_peek(&s->out->rendezvous) != RENDEZVOUS_OPEN)
        return 0; /* answered just now */
    return message_check(l->group, &call, l->recvs ? l->recvs : l->sends, why);
}

static bool shm_link_look(struct link *l, struct message *m)
{
    struct shm_link *s = shm_link_of(l);

    if (!shm_link_has_ring(s) ||
        atomic_load_explicit(&s->in->head, memory_order_acquire) == s->in_tail)
        return false;
    memcpy(m, s->in->bytes + (s->in_tail & (s->ring_size - 1)), sizeof(*m));
    return true;
}

static int shm_link_progress(struct link *l, struct fault *why)
{
    struct shm_link *s = shm_link_of(l);
    int moved = 0, rc = 1;

    while (l->sends && rc > 0) {
        rc = shm_link_send(s, why);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    rc = 1;
    while (l->recvs && rc > 0) {
        rc = shm_link_receive(s, why);
        if (rc < 0)
            return rc;
        moved |= rc;
    }
    return moved ? moved : shm_link_look_up(s, why);
}

/* --- sleeping --------------------------------------------------------------------------------- */

static int shm_link_sleep(struct link *l, struct pollfd *p)
{
    struct shm_link *s = shm_link_of(l);
    struct message call;

    (void)p; /* the group's bell ends the sleep */
    atomic_store(&s->my_slot->is_asleep, 1);
    if (l->recvs && shm_link_has_come(s))
        return -1;
    if (s->gives == PAYLOAD_OFFER && shm_rendezvous_peek(&s->out->rendezvous) != RENDEZVOUS_OPEN)
        return -1;
    if (s->takes == PAYLOAD_OFFER && shm_rendezvous_peek(&s->in->rendezvous) == RENDEZVOUS_OPEN)
        return -1;
    if (l->sends && s->gives != PAYLOAD_OFFER &&
        (!s->out || s->ring_size - (size_t)(s->out_head - atomic_load(&s->out->tail)) >= LINE))
        return -1;
    if (!l->ended && atomic_load(&s->peer_slot->is_closed))
        return -1;
    if (l->group->shared.coll && shm_coll_has_come(l->group->shared.coll, l->peer))
        return -1;
    return shm_link_is_missed(s, &call) ? -1 : 0;
}

static void shm_link_wake(struct link *l)
{
    atomic_store_explicit(&shm_link_of(l)->my_slot->is_asleep, 0, memory_order_relaxed);
}

/* The peer may read the buffer of an open offer at any time; after this, what it has read is
 * discarded. */
static void shm_link_cancel(struct link *l)
{
    struct shm_link *s = shm_link_of(l);

    if (s->gives == PAYLOAD_OFFER)
        shm_rendezvous_end(&s->out->rendezvous, RENDEZVOUS_WITHDRAWN);
    s->gives = s->takes = PAYLOAD_PLAIN;
}

static void shm_link_close(struct link *l)
{
    struct shm_link *s = shm_link_of(l);

    shm_link_cancel(l);
    if (s->giver)
        gpu_ipc_forget(s->giver);
    atomic_store(&s->my_slot->is_closed, 1);
    shm_link_wake_peer(s);
    free(s);
}

static const struct link_ops shm_link_ops = {
    .name = "shared memory",
    .takes_gpu = true,
    .drain_ms = 0, /* what a peer wrote before its end is already in the ring */
    .progress = shm_link_progress,
    .sleep = shm_link_sleep,
    .wake = shm_link_wake,
    .cancel = shm_link_cancel,
    .look = shm_link_look,
    .close = shm_link_close,
};

int shm_link_open(struct link **out, struct group *g, int peer, struct shm_segment *s, int me,
                  int them, struct fault *why)
{
    struct shm_link *l = calloc(1, sizeof(*l));

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    link_init(&l->base, &shm_link_ops, g, peer);
    l->segment = s;
    l->them = them;
    l->ring_size = shm_segment_ring_size(s);
    l->chunk = smaller(CHUNK, l->ring_size);
    l->my_slot = shm_segment_slot(s, me);
    l->peer_slot = shm_segment_slot(s, them);
    *out = &l->base;
    return 0;
}
