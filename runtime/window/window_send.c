/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_send.h"

#include "runtime/gpu/gpu_part.h"
#include "runtime/group/message_op.h"
#include "runtime/window/window_device.h"

#include <stdlib.h>
#include <string.h>

static void order_list_clear(struct order_list *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void order_list_add(struct order_list *l, struct window_order *o)
{
    o->next = NULL;
    *l->end = o;
    l->end = &o->next;
}

static struct window_order *order_list_take(struct order_list *l)
{
    struct window_order *o = l->first;

    l->first = o->next;
    if (!l->first)
        l->end = &l->first;
    return o;
}

void window_send_open(struct window_peer *p)
{
    order_list_clear(&p->sent);
    order_list_clear(&p->asked);
    order_list_clear(&p->held);
}

/* Those that nobody waits for. */
static void order_list_free(struct order_list *l)
{
    while (l->first) {
        struct window_order *o = order_list_take(l);

        if (o->is_own) {
            free(o->batch);
            free(o);
        }
    }
}

void window_send_close(const struct window *w, struct window_peer *p)
{
    order_list_free(&p->sent);
    order_list_free(&p->asked);
    order_list_free(&p->held);
    free(p->late);
    for (int i = 0; i < SERVE_CREDITS && w->gpu; i++)
        gpu_part_unstage(w->gpu, &p->replies[i].stage);
}

/* The frame, and the bytes that follow it. Returns how many transfers that makes. */
static int send_fill(struct message_op out[2], struct window_frame *f, const void *bytes, int peer)
{
    out[0] =
        (struct message_op){.what = MESSAGE_OP_SEND, .peer = peer, .buf = f, .size = sizeof(*f)};
    if (!window_frame_is_followed(f)) {
        if (bytes && f->size)
            memcpy(f->bytes, bytes, (size_t)f->size);
        return 1;
    }
    out[1] = (struct message_op){.what = MESSAGE_OP_SEND,
                                 .peer = peer,
                                 .buf = (void *)(uintptr_t)bytes,
                                 .size = (size_t)f->size};
    return 2;
}

/* Sent by the next step, or with what is sent next. */
static void send_queue(struct window *w, struct message_op *out, int n)
{
    for (int i = 0; i < n; i++)
        message_op_queue(w->group, &out[i]);
}

/* --- the end of orders ------------------------------------------------------------------------ */

/* The order may be gone when this returns. `why`: NULL if it has succeeded. */
static void order_finish(struct window *w, struct window_order *o, const struct fault *why)
{
    struct window_batch *batch = o->batch;

    w->events++;
    if (why && !o->is_own)
        *o->why = *why;
    if (o->is_own)
        free(o);
    else
        atomic_store(o->done, true);
    free(batch);
}

static void order_list_fail(struct window *w, struct order_list *l)
{
    while (l->first)
        order_finish(w, order_list_take(l), &w->why);
}

int window_send_fail(struct window *w, const struct fault *why)
{
    struct group *g = w->group;

    message_op_drop(g);
    window_break(w, why);
    for (int i = 0; i < g->size; i++) {
        order_list_fail(w, &w->peers[i].sent);
        order_list_fail(w, &w->peers[i].asked);
        order_list_fail(w, &w->peers[i].held);
    }
    return w->why.code;
}

static bool order_is_out(const struct window_order *o)
{
    return o->out[0].done && (!window_frame_is_followed(&o->frame) || o->out[1].done);
}

void window_send_retire(struct window *w, struct window_peer *p)
{
    while (p->sent.first && order_is_out(p->sent.first))
        order_finish(w, order_list_take(&p->sent), NULL);
    while (p->asked.first && p->asked.first->has_reply && order_is_out(p->asked.first)) {
        struct window_order *o = order_list_take(&p->asked);

        p->asked_count--;
        if ((o->frame.kind == FRAME_FLUSH || o->frame.kind == FRAME_PUTS) &&
            o->puts > atomic_load(&p->flushed))
            atomic_store(&p->flushed, o->puts);
        if (o->frame.kind == FRAME_FLUSH)
            window_device_note_settled(w, o->peer, o->written);
        order_finish(w, o, NULL);
    }
    while (p->reply_count) {
        struct window_reply *r = &p->replies[p->replied % SERVE_CREDITS];

        if (!r->out[0].done || (window_frame_is_followed(&r->frame) && !r->out[1].done))
            break;
        if (w->gpu)
            gpu_part_unstage(w->gpu, &r->stage);
        p->replied++;
        p->reply_count--;
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

static int send_start(struct window *w, struct window_peer *p, struct window_order *o,
                      struct fault *why)
{
    int n = send_fill(o->out, &o->frame, o->from, o->peer);
    bool waits = o->may_wait && p->asked_count;

    if (window_frame_is_answered(&o->frame)) {
        order_list_add(&p->asked, o);
        p->asked_count++;
    } else {
        order_list_add(&p->sent, o);
    }
    if (!waits)
        return message_op_start(w->group, o->out, n, why);
    send_queue(w, o->out, n);
    return 0;
}

/* Sends the short puts that were kept. */
static int send_late(struct window *w, struct window_peer *p, int peer, struct fault *why)
{
    struct window_order *o = calloc(1, sizeof(*o));
    int rc;

    if (!o)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    o->frame = (struct window_frame){.kind = FRAME_PUTS, .size = p->late->size};
    o->peer = peer;
    o->batch = p->late;
    o->from = o->batch->bytes;
    o->is_own = true;
    p->late = NULL;
    rc = send_start(w, p, o, why);
    if (!rc)
        window_send_retire(w, p);
    return rc;
}

/* Only who has the turn, or its lock while it is free, adds to p->puts. */
static void send_count_put(struct window_peer *p)
{
    uint64_t puts = atomic_load_explicit(&p->puts, memory_order_relaxed);

    atomic_store_explicit(&p->puts, puts + 1, memory_order_release);
}

bool window_send_put_along(struct window *w, int peer, const void *from, size_t size,
                           uint64_t offset)
{
    struct window_peer *p = &w->peers[peer];

    if (!p->late || !window_frame_batch_add(p->late, from, size, offset))
        return false;
    send_count_put(p);
    return true;
}

bool window_send_put_late(struct window *w, int peer, const void *from, size_t size,
                          uint64_t offset)
{
    struct window_peer *p = &w->peers[peer];
    struct fault why;

    if (atomic_load(&w->broken))
        return false;
    if (!p->late) {
        p->late = malloc(sizeof(*p->late));
        if (!p->late)
            return false;
        p->late->size = 0;
    }
    if (window_send_put_along(w, peer, from, size, offset))
        return true;
    if (send_late(w, p, peer, &why) < 0)
        window_send_fail(w, &why);
    return window_send_put_late(w, peer, from, size, offset);
}

/* The short puts that were kept go before the order; with a flush, as one frame. */
static int send_before(struct window *w, struct window_peer *p, struct window_order *o,
                       struct fault *why)
{
    if (!p->late)
        return 0;
    if (o->frame.kind != FRAME_FLUSH || p->asked_count == SERVE_CREDITS || p->held.first)
        return send_late(w, p, o->peer, why);
    o->frame = (struct window_frame){.kind = FRAME_PUTS, .signals = 1, .size = p->late->size};
    o->batch = p->late;
    o->from = o->batch->bytes;
    p->late = NULL;
    return 0;
}

void window_send_order(struct window *w, struct window_order *o)
{
    struct window_peer *p = &w->peers[o->peer];
    struct fault why;

    if (o->frame.kind == FRAME_PUT)
        send_count_put(p);
    o->puts = atomic_load(&p->puts);
    o->written = window_device_written(w, o->peer);
    if (!atomic_load(&w->broken) && send_before(w, p, o, &why) < 0)
        window_send_fail(w, &why);
    if (atomic_load(&w->broken)) {
        order_finish(w, o, &w->why);
        return;
    }
    if (window_frame_is_answered(&o->frame) && (p->asked_count == SERVE_CREDITS || p->held.first)) {
        order_list_add(&p->held, o);
        return;
    }
    if (send_start(w, p, o, &why) < 0)
        window_send_fail(w, &why);
    else
        window_send_retire(w, p);
}

int window_send_held(struct window *w, struct window_peer *p, int peer, struct fault *why)
{
    int rc = p->late ? send_late(w, p, peer, why) : 0;

    while (!rc && p->held.first && p->asked_count < SERVE_CREDITS)
        rc = send_start(w, p, order_list_take(&p->held), why);
    return rc;
}

bool window_send_reply(struct window *w, int peer, uint64_t value, const void *bytes, uint64_t size,
                       const struct gpu_bounce *stage)
{
    struct window_peer *p = &w->peers[peer];
    struct window_reply *r;

    if (p->reply_count == SERVE_CREDITS)
        return false;
    r = &p->replies[(p->replied + p->reply_count++) % SERVE_CREDITS];
    r->frame = (struct window_frame){.kind = FRAME_REPLY, .value = value, .size = size};
    if (stage)
        r->stage = *stage;
    send_queue(w, r->out, send_fill(r->out, &r->frame, bytes, peer));
    return true;
}

struct window_order *window_send_asked(const struct window_peer *p)
{
    struct window_order *o = p->asked.first;

    while (o && o->has_reply)
        o = o->next;
    return o;
}
