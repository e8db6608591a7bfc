/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_number.h"

#include "runtime/transport/rdma_module.h"
#include "runtime/window/window_ask.h"
#include "runtime/window/window_device.h"
#include "runtime/window/window_send.h"
#include "runtime/window/window_signal_linux.h"

static int number_await_signals(struct window *w, int at, struct fault *why)
{
    return at == w->group->rank ? 0 : window_ask_flush(w, at, why);
}

/* Wakes the threads that wait for a number that has changed. */
static int number_ring(struct window *w, int at, size_t offset, struct fault *why)
{
    if (at == w->group->rank)
        window_signal_ring(w->parts[at].control);
    else if (atomic_load(&w->peers[at].sleeps) & window_frame_number_bit(offset))
        return window_ask_ring(w, at, why);
    return 0;
}

static int number_change(struct window *w, int at, const struct rma_change *change, size_t offset,
                         uint64_t *old, struct fault *why)
{
    uint64_t before;
    int rc = number_await_signals(w, at, why);

    if (!rc)
        rc = window_device_change(w, at, change, offset, &before, why);
    if (rc)
        return rc;
    if (old)
        *old = before;
    if (change->kind == RMA_SWAP && before != change->expected)
        return 0;
    return number_ring(w, at, offset, why);
}

int window_number_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                            struct fault *why)
{
    const struct rma_change change = {.kind = RMA_ADD, .value = add};

    return number_change(w, at, &change, offset, old, why);
}

int window_number_compare_swap(struct window *w, int at, size_t offset, uint64_t expected,
                               uint64_t wanted, uint64_t *old, struct fault *why)
{
    const struct rma_change change = {.kind = RMA_SWAP, .value = wanted, .expected = expected};

    return number_change(w, at, &change, offset, old, why);
}

int window_number_announce(struct window *w, size_t offset, struct fault *why)
{
    uint64_t bit = window_frame_number_bit(offset);
    int rc;

    if (atomic_fetch_or(&w->told, bit) & bit)
        return 0;
    rc = window_ask_sleep(w, offset, why);
    if (rc)
        atomic_fetch_and(&w->told, ~bit);
    return rc;
}
