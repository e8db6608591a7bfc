/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_ask.h"

#include "runtime/call/progress.h"
#include "runtime/group/wait.h"
#include "runtime/window/window_device.h"
#include "runtime/window/window_send.h"
#include "runtime/window/window_serve.h"

#include <stdlib.h>

/* --- orders ----------------------------------------------------------------------------------- */

/* Has the turn until the order is done. */
static void ask_until(struct window *w, const _Atomic bool *done)
{
    struct waiting waiting = {0};
    bool has_turn = true;

    while (has_turn && !atomic_load(done)) {
        window_serve_step(w, &waiting);
        has_turn = window_turn_share(&w->turn, done);
    }
    if (has_turn)
        window_turn_give(&w->turn, false);
}

/* Sends it and waits until it is done. */
static int ask_run(struct window *w, struct window_order *o, struct fault *why)
{
    why->code = 0;
    o->why = why;
    o->done = &o->is_done;
    window_turn_take(&w->turn);
    window_send_order(w, o);
    ask_until(w, &o->is_done);
    return why->code ? window_check(w, why) : 0;
}

/* --- puts and gets ---------------------------------------------------------------------------- */

static struct window_order ask_put_order(const void *from, size_t size, int to, size_t offset)
{
    return (struct window_order){
        .frame = {.kind = FRAME_PUT, .offset = offset, .size = size}, .from = from, .peer = to};
}

static struct window_order ask_get_order(void *into, size_t size, int from, size_t offset)
{
    return (struct window_order){
        .frame = {.kind = FRAME_GET, .offset = offset, .size = size}, .into = into, .peer = from};
}

/* Sends all but the last piece of an order for a part on a GPU, and leaves that in *o. The frames
 * of a rank are handled in order, so all is done when the last one is. */
static int ask_send_pieces(struct window *w, struct window_order *o, struct fault *why)
{
    struct window_order all_before = {.frame = {.kind = FRAME_FLUSH}, .peer = o->peer};

    while (w->parts[o->peer].is_on_gpu && o->frame.size > SERVE_PIECE) {
        struct window_order *piece = calloc(1, sizeof(*piece));

        if (!piece) {
            ask_run(w, &all_before, why);
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        }
        *piece = *o;
        piece->frame.size = SERVE_PIECE;
        piece->frame.signals = 0;
        piece->is_own = true;
        window_turn_take(&w->turn);
        window_send_order(w, piece);
        window_turn_give(&w->turn, false);
        o->frame.size -= SERVE_PIECE;
        o->frame.offset += SERVE_PIECE;
        if (o->from)
            o->from = (const unsigned char *)o->from + SERVE_PIECE;
        if (o->into)
            o->into = (unsigned char *)o->into + SERVE_PIECE;
    }
    return 0;
}

static int ask_run_pieces(struct window *w, struct window_order *o, struct fault *why)
{
    int rc = ask_send_pieces(w, o, why);

    return rc ? rc : ask_run(w, o, why);
}

/* False: it is too long to be kept, or its copies to a GPU would delay what comes with it. */
static bool ask_put_late(struct window *w, const void *from, size_t size, int to, size_t offset)
{
    bool is_kept;

    if (size > BATCH_PUT_MOST || w->parts[to].is_on_gpu)
        return false;
    /* Most often there is room beside others, and nobody has the turn. */
    if (window_turn_lock(&w->turn)) {
        is_kept = window_send_put_along(w, to, from, size, offset);
        window_turn_unlock(&w->turn);
        if (is_kept)
            return true;
    }
    window_turn_take(&w->turn);
    is_kept = window_send_put_late(w, to, from, size, offset);
    window_turn_give(&w->turn, false);
    return is_kept;
}

int window_ask_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                   struct window_signal signal, struct fault *why)
{
    struct window_order o = ask_put_order(from, size, to, offset);

    if (!signal.signals && ask_put_late(w, from, size, to, offset))
        return 0;
    o.frame.signals = signal.signals;
    o.frame.number = signal.offset;
    o.frame.value = signal.add;
    return ask_run_pieces(w, &o, why);
}

int window_ask_get(struct window *w, void *into, size_t size, int from, size_t offset,
                   struct fault *why)
{
    struct window_order o = ask_get_order(into, size, from, offset);

    return ask_run_pieces(w, &o, why);
}

/* --- those that are started ------------------------------------------------------------------- */

/* What an ml_request points to. */
struct window_request {
    struct request base;
    struct window *window;
    struct window_order order;
};

static void ask_await(struct request *base)
{
    struct window_request *r = (struct window_request *)base;
    struct window *w = r->window;

    window_turn_take(&w->turn);
    ask_until(w, &base->is_done);
}

static int ask_start(struct window *w, const struct window_order *o, struct request **out,
                     struct fault *why)
{
    struct window_request *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->base.await = ask_await;
    r->window = w;
    r->order = *o;
    rc = ask_send_pieces(w, &r->order, why);
    if (rc) {
        free(r);
        return rc;
    }
    r->order.done = &r->base.is_done;
    r->order.why = &r->base.result;
    window_turn_take(&w->turn);
    window_send_order(w, &r->order);
    /* The window's thread continues with it in a moment. If it were called back at once, it would
     * delay the next call, which usually follows. */
    window_turn_give(&w->turn, false);
    *out = &r->base;
    return 0;
}

int window_ask_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                         struct request **out, struct fault *why)
{
    struct window_order o = ask_put_order(from, size, to, offset);

    if (ask_put_late(w, from, size, to, offset))
        return 0;
    return ask_start(w, &o, out, why);
}

int window_ask_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                         struct request **out, struct fault *why)
{
    struct window_order o = ask_get_order(into, size, from, offset);

    o.may_wait = size <= BATCH_PUT_MOST;
    return ask_start(w, &o, out, why);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int ask_change(struct window *w, struct window_order *o, uint64_t *old, struct fault *why)
{
    int rc = ask_run(w, o, why);

    if (!rc && old)
        *old = o->value;
    return rc;
}

int window_ask_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                         struct fault *why)
{
    struct window_order o = {.frame = {.kind = FRAME_ADD, .offset = offset, .value = add},
                             .peer = at};

    return ask_change(w, &o, old, why);
}

int window_ask_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                            uint64_t wanted, uint64_t *old, struct fault *why)
{
    struct window_order o = {
        .frame = {.kind = FRAME_SWAP, .offset = offset, .number = expected, .value = wanted},
        .peer = at};

    return ask_change(w, &o, old, why);
}

/* --- all ranks -------------------------------------------------------------------------------- */

/* One frame to each of the ranks that need it, all at once. */
struct ask_all {
    struct fault why;
    struct window_order order;
};

static bool ask_needs(const struct window *w, int peer, enum window_frame_kind kind)
{
    const struct window_peer *p = &w->peers[peer];

    if (!p->is_served)
        return false;
    return kind != FRAME_FLUSH || atomic_load(&p->flushed) != atomic_load(&p->puts) ||
           !window_device_is_settled(w, peer);
}

static int ask_each(struct window *w, enum window_frame_kind kind, struct fault *why)
{
    struct ask_all *all;
    int rc = 0, count = 0;

    for (int i = 0; i < w->group->size && w->served_count; i++)
        count += ask_needs(w, i, kind);
    if (!count)
        return 0;
    all = calloc((size_t)w->group->size, sizeof(*all));
    if (!all)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    window_turn_take(&w->turn);
    for (int i = 0; i < w->group->size; i++) {
        all[i].order = (struct window_order){.frame = {.kind = (uint8_t)kind},
                                             .peer = i,
                                             .is_done = !ask_needs(w, i, kind),
                                             .done = &all[i].order.is_done,
                                             .why = &all[i].why};
        if (!all[i].order.is_done)
            window_send_order(w, &all[i].order);
    }
    window_turn_give(&w->turn, false);
    for (int i = 0; i < w->group->size; i++) {
        if (!atomic_load(&all[i].order.is_done)) {
            window_turn_take(&w->turn);
            ask_until(w, &all[i].order.is_done);
        }
        if (!rc && all[i].why.code)
            rc = window_check(w, why);
    }
    free(all);
    return rc;
}

int window_ask_flush(struct window *w, int to, struct fault *why)
{
    struct window_order o = {.frame = {.kind = FRAME_FLUSH}, .peer = to};

    if (to == ML_ALL)
        return ask_each(w, FRAME_FLUSH, why);
    return ask_needs(w, to, FRAME_FLUSH) ? ask_run(w, &o, why) : 0;
}

int window_ask_leave(struct window *w, struct fault *why)
{
    return ask_each(w, FRAME_LEAVE, why);
}

int window_ask_end(struct window *w, struct fault *why)
{
    return ask_each(w, FRAME_END, why);
}

/* --- signals ---------------------------------------------------------------------------------- */

int window_ask_sleep(struct window *w, size_t offset, struct fault *why)
{
    for (int i = 0; i < w->group->size; i++) {
        struct window_order *o;

        if (!w->peers[i].is_served)
            continue;
        o = calloc(1, sizeof(*o));
        if (!o)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        *o = (struct window_order){
            .frame = {.kind = FRAME_SLEEP, .offset = offset}, .peer = i, .is_own = true};
        window_turn_take(&w->turn);
        window_send_order(w, o);
        window_turn_give(&w->turn, false);
    }
    return 0;
}

int window_ask_ring(struct window *w, int at, struct fault *why)
{
    struct window_order o = {.frame = {.kind = FRAME_RING}, .peer = at};

    return ask_run(w, &o, why);
}

bool window_ask_spin(struct window *w, bool (*has_come)(void *arg), void *arg)
{
    static const _Atomic bool never;
    struct waiting waiting = {0};
    bool came = has_come(arg);

    if (came || !window_turn_try(&w->turn))
        return came;
    while (!came && window_serve_look(w, &waiting) > 0) {
        window_turn_share(&w->turn, &never);
        came = has_come(arg);
    }
    if (came)
        wait_moved(w->group, &waiting);
    window_turn_give(&w->turn, !came);
    return came || has_come(arg);
}
