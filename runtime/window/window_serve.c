/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_serve.h"

#include "common/clock.h"
#include "common/quiet_thread.h"
#include "runtime/call/call.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/message_op.h"
#include "runtime/group/wait.h"
#include "runtime/group/world.h"
#include "runtime/window/window_device.h"
#include "runtime/window/window_send.h"
#include "runtime/window/window_signal_linux.h"

#include <stdlib.h>
#include <string.h>

enum { OWED_MOST = 16 /* signals of one addition by the device */ };

/* --- serving ---------------------------------------------------------------------------------- */

static int serve_await(struct window *w, int peer, void *to, size_t size, struct fault *why)
{
    struct window_peer *p = &w->peers[peer];

    p->came = (struct message_op){.what = MESSAGE_OP_RECV, .peer = peer, .buf = to, .size = size};
    return message_op_start(w->group, &p->came, 1, why);
}

static int serve_await_frame(struct window *w, int peer, struct fault *why)
{
    w->peers[peer].brings_bytes = false;
    return serve_await(w, peer, &w->peers[peer].in, sizeof(w->peers[peer].in), why);
}

static int serve_refuse(const struct window *w, int peer, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    return fault_set(why, ML_ERR_LINK,
                     "%s has sent something for a window that makes no sense (kind %u): the stream "
                     "is damaged",
                     group_describe(w->group, peer, who), w->peers[peer].in.kind);
}

/* A reply without bytes. The other rank never has more frames without a reply than there is room
 * for. */
static int serve_reply(struct window *w, int peer, uint64_t value, struct fault *why)
{
    return window_send_reply(w, peer, value, NULL, 0, NULL) ? 0 : serve_refuse(w, peer, why);
}

/* Adds the signals of a rank that have come: the device does it, which takes longer than a frame.
 * So signals to one number that came together make one addition. */
static int serve_pay(struct window *w, struct window_peer *p, struct fault *why)
{
    int rc;

    if (!p->owed_signals)
        return 0;
    rc = window_device_add_own(w, (size_t)p->owed_to, p->owed, why);
    p->owed_signals = 0;
    p->owed = 0;
    window_signal_ring(w->parts[w->group->rank].control);
    return rc;
}

/* For a part on a GPU, whose driver may have failed: the other ranks don't see that, and would wait
 * for this one. Returns rc. */
static int serve_gpu(struct window *w, int rc, struct fault *why)
{
    struct group *g = w->group;
    char who[GROUP_MEMBER_TEXT];

    if (!rc)
        return 0;
    fault_wrap(why, "%s: its part of the window", group_describe(g, g->rank, who));
    coord_events_break(g->world->coord_events, g, why);
    return rc;
}

/* What the peer's device has written to a part on a GPU is there for work on the GPU, before this
 * rank's program learns of it. */
static int serve_settle(struct window *w, int peer, struct fault *why)
{
    if (!w->gpu || !window_device_has(w, peer))
        return 0;
    return serve_gpu(w, gpu_part_settle(w->gpu, why), why);
}

static int serve_signal(struct window *w, int peer, struct fault *why)
{
    struct window_peer *p = &w->peers[peer];
    const struct window_part *own = &w->parts[w->group->rank];
    const struct window_frame *f = &p->in;
    uint64_t old;
    int rc = 0;

    if (!f->signals)
        return 0;
    if (!w->has_device_numbers) {
        rc = serve_settle(w, peer, why);
        if (rc)
            return rc;
        if (w->gpu)
            rc = serve_gpu(w, gpu_part_change(w->gpu, (size_t)f->number, NULL, f->value, &old, why),
                           why);
        else
            atomic_fetch_add((_Atomic uint64_t *)(own->memory + f->number), f->value);
        window_signal_ring(own->control);
        return rc;
    }
    if (p->owed_to != f->number || p->owed_signals == OWED_MOST)
        rc = serve_pay(w, p, why);
    p->owed_to = f->number;
    p->owed += f->value;
    p->owed_signals++;
    return rc;
}

static int serve_change(struct window *w, const struct window_frame *f, uint64_t *old,
                        struct fault *why)
{
    const struct window_part *own = &w->parts[w->group->rank];
    _Atomic uint64_t *number = (_Atomic uint64_t *)(own->memory + f->offset);
    int rc = 0;

    *old = f->number;
    if (w->gpu)
        rc =
            serve_gpu(w,
                      gpu_part_change(w->gpu, (size_t)f->offset,
                                      f->kind == FRAME_ADD ? NULL : &f->number, f->value, old, why),
                      why);
    else if (f->kind == FRAME_ADD)
        *old = atomic_fetch_add(number, f->value);
    else
        atomic_compare_exchange_strong(number, old, f->value);
    window_signal_ring(own->control);
    return rc;
}

/* The bytes of a put have come. */
static int serve_put(struct window *w, int peer, struct fault *why)
{
    struct window_peer *p = &w->peers[peer];
    const void *bytes = window_frame_is_followed(&p->in) ? p->stage.memory : p->in.bytes;
    int rc = 0;

    if (w->gpu && p->in.size) {
        rc = gpu_part_write(w->gpu, (size_t)p->in.offset, bytes, (size_t)p->in.size, why);
        rc = serve_gpu(w, rc, why);
        gpu_part_unstage(w->gpu, &p->stage);
    }
    return rc ? rc : serve_signal(w, peer, why);
}

/* What a get wants of a part on a GPU is copied first. */
static int serve_get(struct window *w, int peer, struct fault *why)
{
    const struct window_part *own = &w->parts[w->group->rank];
    struct window_peer *p = &w->peers[peer];
    size_t offset = (size_t)p->in.offset, size = (size_t)p->in.size;
    struct gpu_bounce stage = {0};
    unsigned char few[FRAME_INLINE];
    bool is_staged = w->gpu && size > sizeof(few);
    void *bytes = w->gpu ? few : own->memory + offset;
    int rc = is_staged ? gpu_part_stage(w->gpu, &stage, size, why) : 0;

    if (is_staged)
        bytes = stage.memory;
    if (!rc && w->gpu)
        rc = gpu_part_read(w->gpu, offset, bytes, size, why);
    rc = serve_gpu(w, rc, why);
    if (!rc && !window_send_reply(w, peer, 0, bytes, p->in.size, is_staged ? &stage : NULL))
        rc = serve_refuse(w, peer, why);
    if (rc && w->gpu)
        gpu_part_unstage(w->gpu, &stage);
    return rc;
}

static void serve_leave(struct window_control *control, int peer)
{
    atomic_store(&control->stages[peer], WINDOW_LEFT);
    atomic_fetch_add(&control->left, 1);
    window_signal_ring(control);
}

static void serve_take_reply(const struct window *w, struct window_peer *p)
{
    struct window_order *o = window_send_asked(p);

    o->value = p->in.value;
    o->has_reply = true;
    /* What the other rank has changed before it knew of this rank's sleep is there now. */
    if (o->frame.kind == FRAME_SLEEP)
        window_signal_ring(w->parts[w->group->rank].control);
}

/* Handles a frame that no bytes follow, or whose bytes have come, and waits for the next one. */
static int serve_frame(struct window *w, int peer, struct fault *why)
{
    const struct window_part *own = &w->parts[w->group->rank];
    struct window_peer *p = &w->peers[peer];
    uint64_t old;
    int rc = p->in.kind == FRAME_PUT ? 0 : serve_pay(w, p, why);

    if (rc)
        return rc;
    switch (p->in.kind) {
    case FRAME_PUT:
        rc = serve_put(w, peer, why);
        break;
    case FRAME_PUTS:
        if (w->gpu ||
            !window_frame_batch_apply(p->batch->bytes, (size_t)p->in.size, own->memory, own->size))
            return serve_refuse(w, peer, why);
        if (p->in.signals)
            rc = serve_reply(w, peer, 0, why);
        break;
    case FRAME_GET:
        rc = serve_get(w, peer, why);
        break;
    case FRAME_ADD:
    case FRAME_SWAP:
        rc = serve_change(w, &p->in, &old, why);
        if (!rc)
            rc = serve_reply(w, peer, old, why);
        break;
    case FRAME_FLUSH:
        rc = serve_settle(w, peer, why);
        if (!rc)
            rc = serve_reply(w, peer, 0, why);
        break;
    case FRAME_LEAVE:
        serve_leave(own->control, peer);
        break;
    case FRAME_END:
        atomic_store(&own->control->stages[peer], WINDOW_ENDED);
        atomic_fetch_add(&own->control->ended, 1);
        window_signal_ring(own->control);
        return 0;
    case FRAME_SLEEP:
        atomic_fetch_or(&p->sleeps, window_frame_number_bit(p->in.offset));
        rc = serve_reply(w, peer, 0, why);
        break;
    case FRAME_RING:
        window_signal_ring(own->control);
        break;
    default:
        serve_take_reply(w, p);
    }
    return rc ? rc : serve_await_frame(w, peer, why);
}

static uint64_t order_reply_size(const struct window_order *o)
{
    return o->frame.kind == FRAME_GET ? o->frame.size : 0;
}

/* Where the bytes of puts or of a reply go. NULL: nowhere, as the frame makes no sense. */
static unsigned char *serve_target(const struct window *w, const struct window_peer *p)
{
    const struct window_part *own = &w->parts[w->group->rank];
    const struct window_order *o;

    if (p->in.kind == FRAME_PUT)
        return w->gpu ? p->stage.memory : own->memory + p->in.offset;
    if (p->in.kind == FRAME_PUTS)
        return p->batch->bytes;
    o = window_send_asked(p);
    return o && order_reply_size(o) == p->in.size ? o->into : NULL;
}

static int serve_head(struct window *w, int peer, struct fault *why)
{
    struct window_peer *p = &w->peers[peer];
    const struct window_order *o = p->in.kind == FRAME_REPLY ? window_send_asked(p) : NULL;
    unsigned char *to;
    int rc = 0;

    if (!window_frame_is_valid(&p->in, w->parts[w->group->rank].size) ||
        (p->in.kind == FRAME_REPLY && (!o || order_reply_size(o) != p->in.size)) ||
        (w->gpu && p->in.kind != FRAME_REPLY && p->in.size > SERVE_PIECE))
        return serve_refuse(w, peer, why);
    if (p->in.kind == FRAME_PUTS && !p->batch)
        p->batch = malloc(sizeof(*p->batch));
    if (p->in.kind == FRAME_PUTS && !p->batch)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if ((p->in.kind != FRAME_PUT && p->in.kind != FRAME_PUTS && p->in.kind != FRAME_REPLY) ||
        !p->in.size)
        return serve_frame(w, peer, why);
    if (p->in.kind == FRAME_PUT && w->gpu && !window_frame_is_followed(&p->in))
        return serve_frame(w, peer, why);
    if (p->in.kind == FRAME_PUT && w->gpu)
        rc = serve_gpu(w, gpu_part_stage(w->gpu, &p->stage, (size_t)p->in.size, why), why);
    if (rc)
        return rc;
    to = serve_target(w, p);
    if (window_frame_is_followed(&p->in)) {
        p->brings_bytes = true;
        return serve_await(w, peer, to, (size_t)p->in.size, why);
    }
    memcpy(to, p->in.bytes, (size_t)p->in.size);
    return serve_frame(w, peer, why);
}

/* All that has come from one rank. A frame that is waited for may be here already. */
static int serve_peer(struct window *w, int peer, struct fault *why)
{
    struct window_peer *p = &w->peers[peer];
    int rc = 0;

    while (!rc && p->came.done) {
        p->came.done = false;
        w->events++;
        rc = p->brings_bytes ? serve_frame(w, peer, why) : serve_head(w, peer, why);
        window_send_retire(w, p);
    }
    if (!rc)
        rc = serve_pay(w, p, why);
    window_send_retire(w, p);
    return rc ? rc : window_send_held(w, p, peer, why);
}

static bool serve_has_news(const struct window *w)
{
    for (int i = 0; i < w->group->size; i++)
        if (w->peers[i].is_served && w->peers[i].came.done)
            return true;
    return false;
}

/* A rank whose part is direct sends nothing, so its link does not notice its end. */
static int serve_check_peers(struct window *w, struct fault *why)
{
    const struct window_control *own = w->parts[w->group->rank].control;
    struct group *g = w->group;

    for (int i = 0; i < g->size; i++)
        if (i != g->rank && !w->peers[i].is_served && g->links[i]->gone &&
            atomic_load(&own->stages[i]) == WINDOW_STAYS) {
            coord_events_peer(g->world->coord_events, g->members[i], why);
            return ML_ERR_PEER;
        }
    return 0;
}

static int serve_all(struct window *w, struct fault *why)
{
    int rc = 0;

    do
        for (int i = 0; i < w->group->size && !rc; i++)
            if (w->peers[i].is_served)
                rc = serve_peer(w, i, why);
    while (!rc && serve_has_news(w));
    return rc ? rc : serve_check_peers(w, why);
}

int window_serve_step(struct window *w, struct waiting *waiting)
{
    struct fault why = {0};
    int rc;

    unsigned events = w->events;

    if (atomic_load(&w->broken))
        return w->why.code;
    /* What came while something else was sent, and the news that ended the last sleep, must not
     * wait for the end of the next one. */
    rc = wait_take_news(w->group, &why);
    if (!rc)
        rc = serve_all(w, &why);
    if (!rc && events == w->events) {
        rc = message_op_step(w->group, waiting, &why);
        if (rc >= 0)
            rc = serve_all(w, &why);
    }
    return rc < 0 ? window_send_fail(w, &why) : 0;
}

int window_serve_look(struct window *w, struct waiting *waiting)
{
    struct fault why = {0};
    unsigned events = w->events;
    int rc;

    if (atomic_load(&w->broken))
        return w->why.code;
    rc = wait_read_news(w->group, &why);
    if (!rc)
        rc = message_op_start(w->group, NULL, 0, &why);
    if (rc >= 0)
        rc = serve_all(w, &why);
    if (rc < 0)
        return window_send_fail(w, &why);
    return events != w->events || wait_spin(w->group, waiting);
}

/* --- the window's thread ---------------------------------------------------------------------- */

/* It must not take the processor from the program. So it spins only while frames come one soon
 * after the other, for about as long as the next one should take, and yields meanwhile. A yield
 * that takes long has let another thread compute, and then a thread that sleeps gets the processor
 * back sooner than one that yields: so this one spins no more for a while. */
enum {
    SPIN_NS = 50 * 1000,
    YIELD_NS = 500 * 1000,
    SHY_NS = 20 * 1000 * 1000,
    SHY_DOUBLINGS = 9,
};

struct patience {
    struct waiting waiting; /* its spin_ns: 0: sleep at once */
    int64_t came_ns;        /* the last frame */
    int64_t shy_ns;         /* until then it does not spin */
    int doublings;          /* how often SHY_NS was doubled */
};

static void patience_renew(struct patience *p, int64_t now)
{
    int64_t gap = now - p->came_ns;

    p->came_ns = now;
    p->waiting = (struct waiting){.steps = UINT32_MAX / 2, .since_ns = now};
    if (gap <= SPIN_NS && now >= p->shy_ns)
        p->waiting.spin_ns = 2 * gap < SPIN_NS ? 2 * gap : SPIN_NS;
}

static void patience_lose(struct patience *p, int64_t now)
{
    if (now - p->shy_ns > (int64_t)SHY_NS << p->doublings)
        p->doublings = 0;
    else if (p->doublings < SHY_DOUBLINGS)
        p->doublings++;
    p->shy_ns = now + ((int64_t)SHY_NS << p->doublings);
    p->waiting.spin_ns = 0;
}

static int serve_patiently(struct window *w, struct patience *p)
{
    unsigned events = w->events;
    bool spins = p->waiting.spin_ns > 0;
    int64_t began = spins ? clock_ns() : 0, now;
    int rc = (spins ? window_serve_look : window_serve_step)(w, &p->waiting);

    if (!spins && events == w->events)
        return rc;
    now = clock_ns();
    if (events != w->events)
        patience_renew(p, now);
    else if (rc == 0)
        p->waiting.spin_ns = 0;
    if (spins && now - began > YIELD_NS)
        patience_lose(p, now);
    return rc;
}

static void *serve_main(void *arg)
{
    struct window *w = arg;
    struct patience patience = {.shy_ns = 0};

    while (window_turn_watch(&w->turn)) {
        patience_renew(&patience, clock_ns());
        do
            if (serve_patiently(w, &patience) < 0)
                window_turn_end(&w->turn);
        while (window_turn_keep(&w->turn));
    }
    return NULL;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int serve_make_peers(struct window *w, struct fault *why)
{
    struct group *g = w->group;

    w->peers = calloc((size_t)g->size, sizeof(*w->peers));
    if (!w->peers)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < g->size; i++) {
        window_send_open(&w->peers[i]);
        w->peers[i].is_served = !w->parts[i].control;
        w->served_count += w->peers[i].is_served;
    }
    return 0;
}

static int serve_start_thread(struct window *w, struct fault *why)
{
    int err;

    window_turn_take(&w->turn);
    err = quiet_thread_start(&w->thread, 0, serve_main, w);
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot start a thread for a window");
    pthread_setname_np(w->thread, "mlaunch"); /* as ps -T and debuggers show it */
    w->has_thread = true;
    return 0;
}

int window_serve_start(struct window *w, struct fault *why)
{
    const struct group *g = w->group;
    char who[GROUP_MEMBER_TEXT];
    int rc;

    if (g->size == 1)
        return 0;
    rc = window_turn_open(&w->turn, why);
    if (!rc) {
        rc = serve_make_peers(w, why);
        if (rc)
            window_turn_close(&w->turn);
    }
    if (!rc)
        rc = serve_start_thread(w, why);
    return rc ? fault_wrap(why, "%s", group_describe(g, g->rank, who)) : 0;
}

int window_serve_begin(struct window *w, struct fault *why)
{
    struct group *g = w->group;
    int rc;

    if (!w->peers)
        return 0;
    rc = call_begin(g, CALL_SEND, "window", 0, 0, 0, -1, why);
    g->waiting.waker = w->turn.waker[0];
    g->waiting.is_patient = true;
    for (int i = 0; i < g->size && !rc; i++)
        if (w->peers[i].is_served) {
            g->links[i]->reads_ahead = true;
            rc = serve_await_frame(w, i, why);
        }
    if (!rc)
        window_turn_give(&w->turn, true);
    return rc;
}

void window_serve_end(struct window *w)
{
    if (!w->has_thread)
        return;
    window_turn_end(&w->turn);
    pthread_join(w->thread, NULL);
    w->has_thread = false;
}

void window_serve_stop(struct window *w)
{
    if (!w->peers)
        return;
    message_op_drop(w->group);
    w->group->waiting.waker = -1;
    window_turn_close(&w->turn);
    for (int i = 0; i < w->group->size; i++) {
        window_send_close(w, &w->peers[i]);
        free(w->peers[i].batch);
        if (w->gpu)
            gpu_part_unstage(w->gpu, &w->peers[i].stage);
    }
    free(w->peers);
    w->peers = NULL;
}
