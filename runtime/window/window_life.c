/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_life.h"

#include "runtime/gpu/gpu_part.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/exchange.h"
#include "runtime/group/world.h"
#include "runtime/process/alloc.h"
#include "runtime/window/window_ask.h"
#include "runtime/window/window_call.h"
#include "runtime/window/window_device.h"
#include "runtime/window/window_serve.h"
#include "runtime/window/window_signal_linux.h"
#include "runtime/window/window_wait.h"

/* This rank's part: the program's memory, or the library's. */
static int life_make_part(struct window *w, void **memory, size_t size,
                          struct window_control **control, struct fault *why)
{
    int rc = window_control_create(control, w->group->size, why);

    if (!rc && !*memory && size) {
        rc = alloc_take(size, &w->owned, why);
        *memory = w->owned;
    }
    return rc;
}

/* This rank uses no part any more, and its owner may free the memory when it knows that. */
static void life_forget(const struct window *w)
{
    for (int i = 0; i < w->group->size; i++)
        if (w->parts[i].giver)
            gpu_ipc_forget(w->parts[i].giver);
}

static void life_end(struct window *w, struct window_control *control)
{
    window_serve_end(w); /* it uses the devices, and they tell it what they have broken */
    window_device_close(w);
    window_serve_stop(w);
    if (w->parts)
        life_forget(w);
    window_parts_free(w->parts, w->group);
    if (w->pinned)
        alloc_unpin(w->pinned);
    gpu_part_close(w->gpu);
    alloc_give(control);
    alloc_give(w->owned);
    window_destroy(w);
}

/* What one rank cannot make, no rank gets: it breaks the group, in which the others wait, so that
 * all of them have its sentence. They wait for the coordinator, which decides it for all at once: a
 * call on the group may be over for some ranks when another one finds that it cannot wake a peer.
 */
static int life_agree(struct group *g, int rc, struct fault *why)
{
    struct exchange *x = NULL;

    if (g->size == 1)
        return rc;
    if (!rc)
        rc = exchange_run(&x, g, (struct blob){0}, -1, why);
    exchange_destroy(x);
    return rc ? coord_events_break_first(g->world->coord_events, g, why) : 0;
}

int window_life_open(struct window **out, struct group *g, void *memory, size_t size,
                     struct gpu_part *gpu, struct fault *why)
{
    struct window *w = window_create();
    struct window_control *control = NULL;
    char who[GROUP_MEMBER_TEXT];
    int rc;

    if (!w) {
        gpu_part_close(gpu);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    w->group = g;
    w->gpu = gpu;
    rc = life_make_part(w, &memory, size, &control, why);
    if (rc && g->size > 1) /* the others may get this sentence */
        rc = fault_wrap(why, "%s", group_describe(g, g->rank, who));
    rc = window_parts_find(&w->parts, g, rc, memory, size, gpu, control, why);
    if (!rc && size && !gpu) {
        w->pinned = memory;
        alloc_pin(memory);
    }
    if (!rc)
        rc = window_device_open(w, memory, why);
    if (!rc)
        rc = window_serve_start(w, why);
    rc = life_agree(g, rc, why);
    if (!rc)
        rc = window_serve_begin(w, why);
    if (rc) {
        life_end(w, control);
        return rc;
    }
    window_add(w);
    *out = w;
    return 0;
}

static bool life_has_met(void *arg)
{
    struct window *w = arg;

    return atomic_load(&w->parts[w->group->rank].control->left) + 1 >= (uint32_t)w->group->size ||
           atomic_load(&w->broken);
}

static bool life_has_ended(void *arg)
{
    struct window *w = arg;

    return atomic_load(&w->parts[w->group->rank].control->ended) >= w->served_count ||
           atomic_load(&w->broken);
}

static void life_leave_direct(struct window *w)
{
    const struct group *g = w->group;

    for (int i = 0; i < g->size; i++) {
        struct window_control *c = w->parts[i].control;

        if (i == g->rank || !c)
            continue;
        atomic_store(&c->stages[g->rank], WINDOW_LEFT);
        atomic_fetch_add(&c->left, 1);
        window_signal_ring(c);
    }
}

int window_life_meet(struct window *w, struct fault *why)
{
    struct window_control *own = w->parts[w->group->rank].control;
    int rc = window_flush(w, ML_ALL, why);

    if (rc)
        return rc;
    life_forget(w);
    life_leave_direct(w);
    rc = window_ask_leave(w, why);
    if (rc)
        return rc;
    window_wait(&(struct window_wait){.window = w,
                                      .has_come = life_has_met,
                                      .arg = w,
                                      .deadline_ns = INT64_MAX,
                                      .stage = WINDOW_LEFT});
    rc = window_check(w, why);
    if (rc && atomic_load(&own->left) + 1 < (uint32_t)w->group->size)
        return rc;
    /* All is complete now. But a rank that closes its links must not look dead to one that is still
     * waiting for another. */
    if (!window_ask_end(w, why))
        window_wait(&(struct window_wait){.window = w,
                                          .has_come = life_has_ended,
                                          .arg = w,
                                          .deadline_ns = INT64_MAX,
                                          .stage = WINDOW_ENDED});
    return 0;
}

struct group *window_life_close(struct window *w)
{
    struct group *g = w->group;

    life_end(w, w->parts[g->rank].control);
    return g;
}
