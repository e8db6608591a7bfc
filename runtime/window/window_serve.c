/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_serve.h"

static int serve_refuse(const struct window *w, struct fault *why)
{
    (void)w;
    return fault_set(why, ML_ERR_STATE, "windows are for ranks that share memory so far");
}

int window_serve_start(struct window *w, struct fault *why)
{
    for (int i = 0; i < w->group->size; i++)
        if (!w->parts[i].control)
            return serve_refuse(w, why);
    return window_turn_open(&w->turn, why);
}

void window_serve_stop(struct window *w)
{
    window_turn_close(&w->turn);
}

int window_serve_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct fault *why)
{
    (void)from, (void)size, (void)to, (void)offset;
    return serve_refuse(w, why);
}

int window_serve_get(struct window *w, void *into, size_t size, int from, size_t offset,
                     struct fault *why)
{
    (void)into, (void)size, (void)from, (void)offset;
    return serve_refuse(w, why);
}

int window_serve_put_signal(struct window *w, const void *from, size_t size, int to, size_t offset,
                            size_t signal_offset, uint64_t add, struct fault *why)
{
    (void)from, (void)size, (void)to, (void)offset, (void)signal_offset, (void)add;
    return serve_refuse(w, why);
}

int window_serve_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                           struct fault *why)
{
    (void)at, (void)offset, (void)add, (void)old;
    return serve_refuse(w, why);
}

int window_serve_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                              uint64_t wanted, uint64_t *old, struct fault *why)
{
    (void)at, (void)offset, (void)expected, (void)wanted, (void)old;
    return serve_refuse(w, why);
}

int window_serve_flush(struct window *w, int to, struct fault *why)
{
    (void)w, (void)to, (void)why;
    return 0;
}
