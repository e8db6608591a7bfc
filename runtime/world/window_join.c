/* SPDX-License-Identifier: MIT */
#include "runtime/world/window_join.h"

#include "runtime/gpu/gpu_part.h"
#include "runtime/window/window_life.h"
#include "runtime/world/group_join.h"
#include "runtime/world/split.h"

int window_join_create(struct window **out, struct group *g, void *memory, size_t size,
                       struct gpu_part *gpu, struct fault *why)
{
    struct group *own = NULL;
    int rc = split_run(g, 0, g->rank, "window_create", &own, why);

    if (rc) {
        gpu_part_close(gpu);
        return rc;
    }
    rc = window_life_open(out, own, memory, size, gpu, why);
    if (rc)
        group_leave(own);
    else
        group_release(own); /* from now on the window is what ml_repair ends */
    return rc;
}

int window_join_free(struct window *w, struct fault *why)
{
    int rc = window_life_meet(w, why);

    group_leave(window_life_close(w));
    return rc;
}

void window_join_retire(const struct fault *why)
{
    struct window *w;

    while ((w = window_any())) {
        window_break(w, why);
        w->is_retired = true;
        group_retire(window_life_close(w), why);
    }
}

void window_join_end(void)
{
    struct window *w;

    while ((w = window_any()))
        group_leave(window_life_close(w));
}
