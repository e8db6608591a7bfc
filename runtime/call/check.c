/* SPDX-License-Identifier: MIT */
#include "runtime/call/check.h"

#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/kernel/combiner.h"
#include "runtime/kernel/reduce_op.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/thread_linux.h"

#include <poll.h>

enum { LOOK_MS = 1 /* between looks whether another thread has ended the group */ };

static __attribute__((noinline, cold)) int check_gone(const struct group *g, struct fault *why)
{
    if (!atomic_load_explicit(&g->is_retired, memory_order_acquire))
        return fault_set(why, ML_ERR_STATE,
                         "the group is gone: ml_group_free or the last ml_finalize has freed it");
    *why = g->broken;
    return why->code;
}

int check_handle(const struct group *g, struct fault *why)
{
    if (__builtin_expect(!g, 0))
        return fault_set(why, ML_ERR_ARGUMENT, "the group is NULL");
    if (__builtin_expect(!__atomic_load_n(&g->world, __ATOMIC_ACQUIRE), 0))
        return check_gone(g, why);
    return 0;
}

/* Another thread's call is as good as it was. If this thread has left the call, or one that is
 * gone, what it has queued may lie in a part of the stack that is used again, and what it was to
 * send or receive is still missing: neither this rank nor its peers can go on in the group. */
static __attribute__((noinline, cold)) int check_inside(struct group *g, int thread,
                                                        struct fault *why)
{
    const char *call = atomic_load_explicit(&g->users.call, memory_order_relaxed);
    char rank[GROUP_MEMBER_TEXT];
    struct fault left;

    if (thread != thread_self() && thread_exists(thread))
        return fault_set(why, ML_ERR_STATE,
                         "another thread, %d, is in a call on the group, %s: only one thread at a "
                         "time may use a group; give each a group of its own (ml_split), or let "
                         "them take turns",
                         thread, call);
    if (!group_look_begin(g))
        return check_gone(g, why);
    fault_set(&left, ML_ERR_MISMATCH, "%s has left a call, %s, by longjmp() or a C++ exception",
              group_describe(g, g->rank, rank), call);
    if (!coord_events_broken(g->world->coord_events, g, NULL))
        coord_events_break(g->world->coord_events, g, &left);
    group_look_end(g);
    return fault_set(why, ML_ERR_STATE,
                     "the group cannot be used: a call on it, %s, was left by longjmp() or a C++ "
                     "exception",
                     call);
}

int check_no_operator(struct fault *why)
{
    if (!combiner_forbids())
        return 0;
    return fault_set(why, ML_ERR_STATE,
                     "an operator of the program can't make this call: the library is in the call "
                     "that runs the operator");
}

int check_use(const struct group *g, struct fault *why)
{
    int rc = check_handle(g, why);

    if (__builtin_expect(rc != 0, 0))
        return rc;
    if (__builtin_expect(fork_guard_is_child, 0))
        return fault_set(why, ML_ERR_STATE,
                         "a forked child can't use the rank of its parent; make mlaunch's calls in "
                         "the process that called ml_init");
    return check_no_operator(why);
}

int check_enter(struct group *g, const char *call, struct fault *why)
{
    int rc = check_use(g, why);

    if (__builtin_expect(rc != 0, 0))
        return rc;
    while (__builtin_expect(!group_hold(g, call), 0)) {
        int thread = atomic_load_explicit(&g->users.thread, memory_order_relaxed);

        if (thread > 0)
            return check_inside(g, thread, why);
        if (thread < 0)
            poll(NULL, 0, LOOK_MS); /* then it knows why the group is gone */
    }
    rc = check_handle(g, why); /* whoever had it may have ended it */
    if (__builtin_expect(rc != 0, 0))
        group_release(g);
    return rc;
}

int check_blocks(size_t blocks, size_t size, struct fault *why)
{
    size_t all;

    if (__builtin_mul_overflow(blocks, size, &all) || all > SIZE_MAX / 2)
        return fault_set(why, ML_ERR_ARGUMENT, "%zu times %zu bytes are more than memory can hold",
                         blocks, size);
    return 0;
}

/* Blocks that don't lie in the order of ranks are compared with each other: that order is rare. */
static int check_apart(int ranks, const size_t *sizes, const size_t *offsets, struct fault *why)
{
    for (int a = 0; a < ranks; a++)
        for (int b = a + 1; b < ranks; b++)
            if (sizes[a] && sizes[b] && offsets[a] < offsets[b] + sizes[b] &&
                offsets[b] < offsets[a] + sizes[a])
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "the blocks of ranks %d and %d overlap in out: they begin at %zu "
                                 "and %zu, and have %zu and %zu bytes",
                                 a, b, offsets[a], offsets[b], sizes[a], sizes[b]);
    return 0;
}

int check_shares(int ranks, const size_t *sizes, const size_t *offsets, bool apart,
                 const char *what, size_t *end, struct fault *why)
{
    bool in_order = true;

    *end = 0;
    if (!sizes)
        return fault_set(why, ML_ERR_ARGUMENT, "%s is NULL", what);
    for (int r = 0; r < ranks; r++) {
        size_t begin = !sizes[r] ? 0 : offsets ? offsets[r] : *end;

        if (sizes[r] > SIZE_MAX / 2 || begin > SIZE_MAX / 2 - sizes[r])
            return fault_set(why, ML_ERR_ARGUMENT,
                             "rank %d's block of %zu bytes at %zu is more than memory can hold "
                             "(%s)",
                             r, sizes[r], begin, what);
        in_order &= !sizes[r] || begin >= *end;
        if (begin + sizes[r] > *end)
            *end = begin + sizes[r];
    }
    return in_order || !apart ? 0 : check_apart(ranks, sizes, offsets, why);
}

int check_type(ml_type type, struct fault *why)
{
    if (reduce_type_size((int)type))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "there is no ml_type %d", (int)type);
}

int check_reduction(size_t count, ml_type type, ml_op op, size_t blocks, size_t *size,
                    struct fault *why)
{
    size_t element = reduce_type_size((int)type);
    int rc = check_type(type, why);

    if (rc)
        return rc;
    if (!reduce_op_is_valid((int)type, (int)op))
        return fault_set(why, ML_ERR_ARGUMENT, "%s makes no sense for %s", reduce_op_name((int)op),
                         reduce_type_name((int)type));
    rc = check_blocks(count, element, why);
    if (!rc)
        rc = check_blocks(blocks, count * element, why);
    if (!rc)
        *size = count * element;
    return rc;
}

int check_operator(size_t count, const ml_operator *with, size_t blocks, size_t *size,
                   struct fault *why)
{
    int rc;

    if (!with->function)
        return fault_set(why, ML_ERR_ARGUMENT, "the operator is NULL, or has no function");
    if (!with->size)
        return fault_set(why, ML_ERR_ARGUMENT, "the operator's elements have 0 bytes");
    rc = check_blocks(count, with->size, why);
    if (!rc)
        rc = check_blocks(blocks, count * with->size, why);
    if (!rc)
        *size = count * with->size;
    return rc;
}

int check_refuse_rank(const struct group *g, int rank, const char *what, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT, "%s is %d, but the group has ranks 0 to %d", what, rank,
                     g->size - 1);
}

int check_buffer(const void *buf, size_t size, const char *what, struct fault *why)
{
    if (!buf && size)
        return fault_set(why, ML_ERR_ARGUMENT, "%s is NULL, but its size is %zu bytes", what, size);
    return 0;
}

static inline bool check_is_apart(const void *in, size_t in_size, const void *out, size_t out_size)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;

    return a == b || !in_size || !out_size || a >= b + out_size || b >= a + in_size;
}

int check_overlap(const void *in, size_t in_size, const void *out, size_t out_size, size_t offset,
                  struct fault *why)
{
    if (check_is_apart(in, in_size, out, out_size) ||
        (offset != SIZE_MAX && (uintptr_t)in == (uintptr_t)out + offset))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "in (%zu bytes) and out (%zu bytes) overlap", in_size,
                     out_size);
}

int check_buffers(const void *in, const void *out, size_t in_size, size_t out_size, size_t offset,
                  struct fault *why)
{
    int rc;

    if (in && out && check_is_apart(in, in_size, out, out_size))
        return 0;
    rc = check_buffer(in, in_size, "in", why);
    if (!rc)
        rc = check_buffer(out, out_size, "out", why);
    return rc ? rc : check_overlap(in, in_size, out, out_size, offset, why);
}
