/* SPDX-License-Identifier: MIT */
#include "runtime/window/window.h"

#include "runtime/gpu/gpu_part.h"
#include "runtime/group/world.h"
#include "runtime/process/alloc.h"
#include "runtime/process/claim.h"
#include "runtime/process/fork_guard.h"
#include "runtime/window/window_signal_linux.h"

#include <stdlib.h>
#include <string.h>

enum { UNUSED_KEPT = 512 };

/* Windows that live, and structs of windows that are gone, the oldest first: so a program may pass
 * the handle of a window that is gone. A struct is used again only after UNUSED_KEPT others have
 * gone, or a stale handle would soon be that of another window. */
static struct {
    pthread_mutex_t lock;
    struct window *live, *unused, **unused_end;
    size_t unused_count;
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER, .unused_end = &windows.unused};

struct window *window_create(void)
{
    struct window *w = NULL;

    pthread_mutex_lock(&windows.lock);
    if (windows.unused_count > UNUSED_KEPT) {
        w = windows.unused;
        windows.unused = w->next; /* not the last one */
        windows.unused_count--;
        w->next = NULL;
        w->why = (struct fault){0};
    }
    pthread_mutex_unlock(&windows.lock);
    return w ? w : calloc(1, sizeof(*w));
}

void window_add(struct window *w)
{
    pthread_mutex_lock(&windows.lock);
    w->next = windows.live;
    windows.live = w;
    pthread_mutex_unlock(&windows.lock);
}

void window_destroy(struct window *w)
{
    struct window **at = &windows.live;
    struct fault why = w->is_retired ? w->why : (struct fault){0};

    pthread_mutex_lock(&windows.lock);
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
    memset(w, 0, sizeof(*w));
    w->why = why;
    *windows.unused_end = w;
    windows.unused_end = &w->next;
    windows.unused_count++;
    pthread_mutex_unlock(&windows.lock);
}

struct window *window_any(void)
{
    struct window *w;

    pthread_mutex_lock(&windows.lock);
    w = windows.live;
    pthread_mutex_unlock(&windows.lock);
    return w;
}

/* --- checks ----------------------------------------------------------------------------------- */

void window_break(struct window *w, const struct fault *why)
{
    pthread_mutex_lock(&w->turn.lock);
    if (!w->broken) {
        w->why = *why;
        atomic_store(&w->broken, why->code);
    }
    pthread_mutex_unlock(&w->turn.lock);
    window_signal_wake(w->parts[w->group->rank].control);
}

static __attribute__((noinline, cold)) int window_refuse(struct window *w, struct fault *why)
{
    if (!w)
        return fault_set(why, ML_ERR_ARGUMENT, "the window is NULL");
    if (!w->group && w->why.code) {
        *why = w->why;
        return why->code;
    }
    if (!w->group)
        return fault_set(why, ML_ERR_STATE,
                         "the window is gone: ml_window_free or the last ml_finalize has freed it");
    if (fork_guard_is_child)
        return fault_set(why, ML_ERR_STATE, "a forked child can't use its parent's windows");
    *why = w->why;
    if (why->code == ML_ERR_PEER && w->group->world->is_launched)
        claim_mark_broken(w->group->world->dir, w->group->world->rank, why->text);
    return why->code;
}

bool window_is_usable(const struct window *w)
{
    return w && w->group && !fork_guard_is_child;
}

int window_check(struct window *w, struct fault *why)
{
    if (__builtin_expect(
            window_is_usable(w) && !atomic_load_explicit(&w->broken, memory_order_acquire), 1))
        return 0;
    return window_refuse(w, why);
}

int window_check_memory(const struct cuda_driver *driver, void *stream, void *memory, size_t size,
                        struct gpu_part **gpu, struct fault *why)
{
    int rc;

    *gpu = NULL;
    if (!memory)
        return 0;
    if ((uintptr_t)memory % sizeof(uint64_t) != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "a window's memory must be 8-byte aligned, but this is at %p", memory);
    rc = driver && size ? gpu_part_open(gpu, driver, stream, memory, size, why) : 0;
    if (rc)
        return rc;
    if (!*gpu && !alloc_holds(memory, size))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "the %zu bytes of a window must be in one block of ml_alloc, or on a GPU "
                         "(or let the library allocate them: NULL)",
                         size);
    return 0;
}
