/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_call.h"

#include "common/clock.h"
#include "runtime/call/check.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/group/world.h"
#include "runtime/process/processor.h"
#include "runtime/window/window_ask.h"
#include "runtime/window/window_device.h"
#include "runtime/window/window_number.h"
#include "runtime/window/window_signal_linux.h"
#include "runtime/window/window_wait.h"

#include <sched.h>
#include <string.h>

/* --- checks ----------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) int
range_refuse(const struct window *w, int rank, size_t offset, size_t size, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "%zu bytes at offset %zu are not within rank %d's part of the window, which "
                     "has %zu bytes",
                     size, offset, rank, w->parts[rank].size);
}

static inline int range_check(struct window *w, int rank, size_t offset, size_t size,
                              const char *what, struct fault *why)
{
    int rc = window_check(w, why);

    if (!rc)
        rc = check_rank(w->group, rank, what, why);
    if (rc)
        return rc;
    if (__builtin_expect(offset > w->parts[rank].size || size > w->parts[rank].size - offset, 0))
        return range_refuse(w, rank, offset, size, why);
    return 0;
}

static inline int number_check(struct window *w, int rank, size_t offset, const char *what,
                               struct fault *why)
{
    int rc = range_check(w, rank, offset, sizeof(uint64_t), what, why);

    if (!rc && offset % sizeof(uint64_t) != 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "offset %zu of a uint64_t is not 8-byte aligned",
                       offset);
    return rc;
}

static inline bool window_is_direct(const struct window *w, int rank)
{
    return w->parts[rank].control != NULL;
}

/* The part is this rank's own, and the processor can't reach it. */
static inline bool window_is_on_gpu(const struct window *w, int rank)
{
    return __builtin_expect(w->gpu != NULL, 0) && rank == w->group->rank;
}

/* expected: NULL to add. old may be NULL. */
static __attribute__((noinline)) int number_change_on_gpu(struct window *w, size_t offset,
                                                          const uint64_t *expected, uint64_t value,
                                                          uint64_t *old, struct fault *why)
{
    uint64_t before;
    int rc = gpu_part_change(w->gpu, offset, expected, value, &before, why);

    if (rc)
        return rc;
    window_signal_ring(w->parts[w->group->rank].control);
    if (old)
        *old = before;
    return 0;
}

static inline _Atomic uint64_t *window_number(const struct window *w, int rank, size_t offset)
{
    return (_Atomic uint64_t *)(w->parts[rank].memory + offset);
}

/* --- puts and gets ---------------------------------------------------------------------------- */

/* 1: there is something to do. */
static inline int copy_check(struct window *w, const void *buf, const char *what, size_t size,
                             int rank, const char *role, size_t offset, struct fault *why)
{
    int rc = range_check(w, rank, offset, size, role, why);

    if (!rc)
        rc = check_buffer(buf, size, what, why);
    return rc ? rc : size > 0;
}

int window_check_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct fault *why)
{
    return copy_check(w, from, "from", size, to, "to", offset, why);
}

int window_check_get(struct window *w, const void *into, size_t size, int from, size_t offset,
                     struct fault *why)
{
    return copy_check(w, into, "into", size, from, "from", offset, why);
}

/* Inlined with `starts` as a constant, so that the four calls have no branch more. */
static inline __attribute__((always_inline)) int bytes_put(struct window *w, const void *from,
                                                           size_t size, int to, size_t offset,
                                                           bool starts, struct request **out,
                                                           struct fault *why)
{
    int rc = copy_check(w, from, "from", size, to, "to", offset, why);

    if (rc <= 0)
        return rc;
    if (window_device_has(w, to))
        return starts ? window_device_start_put(w, from, size, to, offset, out, why)
                      : window_device_put(w, from, size, to, offset, why);
    if (!window_is_direct(w, to))
        return starts ? window_ask_start_put(w, from, size, to, offset, out, why)
                      : window_ask_put(w, from, size, to, offset, (struct window_signal){0}, why);
    if (window_is_on_gpu(w, to))
        return gpu_part_write(w->gpu, offset, from, size, why);
    memmove(w->parts[to].memory + offset, from, size);
    return 0;
}

static inline __attribute__((always_inline)) int bytes_get(struct window *w, void *into,
                                                           size_t size, int from, size_t offset,
                                                           bool starts, struct request **out,
                                                           struct fault *why)
{
    int rc = copy_check(w, into, "into", size, from, "from", offset, why);

    if (rc <= 0)
        return rc;
    if (window_device_has(w, from))
        return starts ? window_device_start_get(w, into, size, from, offset, out, why)
                      : window_device_get(w, into, size, from, offset, why);
    if (!window_is_direct(w, from))
        return starts ? window_ask_start_get(w, into, size, from, offset, out, why)
                      : window_ask_get(w, into, size, from, offset, why);
    if (window_is_on_gpu(w, from))
        return gpu_part_read(w->gpu, offset, into, size, why);
    memmove(into, w->parts[from].memory + offset, size);
    return 0;
}

int window_check_number(struct window *w, int rank, size_t offset, const char *what,
                        struct fault *why)
{
    return number_check(w, rank, offset, what, why);
}

int window_put(struct window *w, const void *from, size_t size, int to, size_t offset,
               struct fault *why)
{
    return bytes_put(w, from, size, to, offset, false, NULL, why);
}

int window_get(struct window *w, void *into, size_t size, int from, size_t offset,
               struct fault *why)
{
    return bytes_get(w, into, size, from, offset, false, NULL, why);
}

int window_start_put(struct window *w, const void *from, size_t size, int to, size_t offset,
                     struct request **out, struct fault *why)
{
    return bytes_put(w, from, size, to, offset, true, out, why);
}

int window_start_get(struct window *w, void *into, size_t size, int from, size_t offset,
                     struct request **out, struct fault *why)
{
    return bytes_get(w, into, size, from, offset, true, out, why);
}

int window_flush(struct window *w, int to, struct fault *why)
{
    int rc = window_check(w, why);

    if (!rc && to != ML_ALL)
        rc = check_rank(w->group, to, "to", why);
    if (rc)
        return rc;
    atomic_thread_fence(memory_order_seq_cst);
    rc = window_device_flush(w, to, why);
    return rc ? rc : window_ask_flush(w, to, why);
}

/* --- numbers ---------------------------------------------------------------------------------- */

int window_put_signal(struct window *w, const void *from, size_t size, int to, size_t offset,
                      size_t signal_offset, uint64_t add, struct fault *why)
{
    int rc = copy_check(w, from, "from", size, to, "to", offset, why);

    if (rc >= 0)
        rc = number_check(w, to, signal_offset, "to", why);
    if (rc)
        return rc;
    if (window_device_has(w, to))
        rc = window_device_settle(w, from, &size, to, offset, why);
    if (rc)
        return rc;
    if (!window_is_direct(w, to))
        return window_ask_put(w, from, size, to, offset,
                              (struct window_signal){true, signal_offset, add}, why);
    if (window_is_on_gpu(w, to)) {
        rc = size ? gpu_part_write(w->gpu, offset, from, size, why) : 0;
        return rc ? rc : number_change_on_gpu(w, signal_offset, NULL, add, NULL, why);
    }
    if (size)
        memmove(w->parts[to].memory + offset, from, size);
    if (w->has_device_numbers)
        return window_number_fetch_add(w, to, signal_offset, add, NULL, why);
    atomic_fetch_add(window_number(w, to, signal_offset), add);
    window_signal_ring(w->parts[to].control);
    return 0;
}

int window_fetch_add(struct window *w, int at, size_t offset, uint64_t add, uint64_t *old,
                     struct fault *why)
{
    int rc = number_check(w, at, offset, "at", why);
    uint64_t before;

    if (rc)
        return rc;
    if (w->has_device_numbers)
        return window_number_fetch_add(w, at, offset, add, old, why);
    if (!window_is_direct(w, at))
        return window_ask_fetch_add(w, at, offset, add, old, why);
    if (window_is_on_gpu(w, at))
        return number_change_on_gpu(w, offset, NULL, add, old, why);
    before = atomic_fetch_add(window_number(w, at, offset), add);
    window_signal_ring(w->parts[at].control);
    if (old)
        *old = before;
    return 0;
}

int window_compare_swap(struct window *w, int at, size_t offset, uint64_t expected, uint64_t wanted,
                        uint64_t *old, struct fault *why)
{
    int rc = number_check(w, at, offset, "at", why);

    if (rc)
        return rc;
    if (w->has_device_numbers)
        return window_number_compare_swap(w, at, offset, expected, wanted, old, why);
    if (!window_is_direct(w, at))
        return window_ask_compare_swap(w, at, offset, expected, wanted, old, why);
    if (window_is_on_gpu(w, at))
        return number_change_on_gpu(w, offset, &expected, wanted, old, why);
    if (atomic_compare_exchange_strong(window_number(w, at, offset), &expected, wanted))
        window_signal_ring(w->parts[at].control);
    if (old)
        *old = expected; /* on failure, what was there */
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

enum { SPIN_NS = 50 * 1000, SPIN_PAUSES = 40, MS_NS = 1000 * 1000 };

struct awaited {
    struct window *window;
    size_t offset;
    const _Atomic uint64_t *number; /* there, or `copy` */
    uint64_t at_least;
    /* A number on a GPU is copied whenever one has changed. */
    _Atomic uint64_t copy;
    uint64_t changes; /* that were seen */
    struct fault why; /* code < 0: it can't be copied */
};

static void signal_look(struct awaited *a)
{
    struct gpu_part *gpu = a->window->gpu;
    uint64_t changes = atomic_load(&gpu->changes), now = 0;

    if (changes == a->changes || a->why.code)
        return;
    a->changes = changes;
    if (gpu_part_read(gpu, a->offset, &now, sizeof(now), &a->why) == 0)
        atomic_store(&a->copy, now);
}

static bool signal_has_come(void *arg)
{
    struct awaited *a = arg;

    if (a->number == &a->copy)
        signal_look(a);
    return a->why.code || atomic_load(a->number) >= a->at_least || atomic_load(&a->window->broken);
}

/* The writer may be about to write; and if it shares a processor with this rank, it had better run
 * instead. */
static bool signal_spin(struct awaited *a)
{
    int64_t until_ns = 0, now;

    for (int i = 0; !signal_has_come(a); i++) {
        if (i < SPIN_PAUSES && !a->window->group->world->is_crowded) {
            processor_pause();
            continue;
        }
        now = clock_ns();
        until_ns = until_ns ? until_ns : now + SPIN_NS;
        if (now >= until_ns)
            return false;
        sched_yield();
    }
    return true;
}

static int signal_sleep(struct awaited *a, int64_t deadline_ns, struct fault *why)
{
    struct window *w = a->window;
    int rc = w->has_device_numbers ? window_number_announce(w, a->offset, why) : 0;

    if (!rc)
        window_wait(&(struct window_wait){.window = w,
                                          .has_come = signal_has_come,
                                          .arg = a,
                                          .deadline_ns = deadline_ns,
                                          .number = a->number,
                                          .offset = a->offset,
                                          .at_least = a->at_least});
    return rc;
}

int window_wait_signal(struct window *w, size_t signal_offset, uint64_t at_least, int timeout_ms,
                       struct fault *why)
{
    int64_t deadline_ns = INT64_MAX;
    struct awaited a = {
        .window = w, .offset = signal_offset, .at_least = at_least, .changes = UINT64_MAX};
    int rc = window_check(w, why);

    if (!rc)
        rc = number_check(w, w->group->rank, signal_offset, "at", why);
    if (rc)
        return rc;
    a.number = w->gpu ? &a.copy : window_number(w, w->group->rank, signal_offset);
    if (timeout_ms > 0)
        deadline_ns = clock_ns() + (int64_t)timeout_ms * MS_NS;
    if (!signal_has_come(&a) && timeout_ms != 0 &&
        !(w->served_count ? window_ask_spin(w, signal_has_come, &a) : signal_spin(&a)))
        rc = signal_sleep(&a, deadline_ns, why);
    if (a.why.code) {
        *why = a.why;
        return why->code;
    }
    if (atomic_load(a.number) >= at_least)
        return 0;
    if (!rc)
        rc = window_check(w, why);
    return rc ? rc
              : fault_set(why, ML_ERR_TIMEOUT,
                          "the signal at offset %zu did not reach %llu within %d ms: it is %llu",
                          signal_offset, (unsigned long long)at_least, timeout_ms,
                          (unsigned long long)atomic_load(a.number));
}
