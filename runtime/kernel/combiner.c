/* SPDX-License-Identifier: MIT */
#include "runtime/kernel/combiner.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = 64,
    GRAIN = 64 << 10, /* bytes: calls of the function are rare, and a second-level cache holds it */
};

_Atomic int combiner_running;

/* The frame that has called the function of the program in this thread; NULL: none has. */
static _Thread_local const char *running;

static size_t combiner_lines(size_t size)
{
    return (size + LINE - 1) / LINE * LINE;
}

struct combiner *combiner_create(const ml_operator *with, int ranks)
{
    size_t element = with->size, head = combiner_lines(sizeof(struct combiner)), parts, all;
    size_t grain = element < GRAIN ? GRAIN - GRAIN % element : element;
    struct combiner *c;

    if (__builtin_mul_overflow((size_t)ranks, element, &parts) ||
        __builtin_add_overflow(parts, head + combiner_lines(grain) + LINE, &all))
        return NULL;
    c = aligned_alloc(LINE, combiner_lines(all));
    if (!c)
        return NULL;
    *c = (struct combiner){.with = *with,
                           .unit = LINE % element == 0 ? LINE : element,
                           .grain = grain,
                           .work = (char *)c + head};
    c->parts = c->work + combiner_lines(grain);
    return c;
}

void combiner_destroy(struct combiner *c)
{
    free(c);
}

bool combiner_runs_here(void)
{
    if (!running)
        return false;
    if ((const char *)__builtin_frame_address(0) < running)
        return true;
    running = NULL; /* the function was left by longjmp(): this frame is further up the stack */
    combiner_running--;
    return false;
}

/* Apart, so that the frames below it are the function's. */
static __attribute__((noinline)) void combiner_call(const ml_operator *with, void *inout,
                                                    const void *in, size_t count)
{
    running = __builtin_frame_address(0);
    combiner_running++;
    with->function(inout, in, count, with->context);
    combiner_running--;
    running = NULL;
}

void combiner_apply(const struct combiner *c, void *inout, const void *in, size_t size)
{
    combiner_call(&c->with, inout, in, size / c->with.size);
}

/* True if `p` is as aligned as an element of the program can need: that divides its size. */
static bool combiner_is_aligned(const struct combiner *c, const void *p)
{
    size_t lowest = c->with.size & -c->with.size;

    return (uintptr_t)p % (lowest < LINE ? lowest : LINE) == 0;
}

void combiner_run(const struct combiner *c, void *into, const void *left, const void *right,
                  size_t size)
{
    for (size_t done = 0, n; done < size; done += n) {
        char *to = (char *)into + done, *inout = into == right ? c->work : to;
        const char *a = (const char *)left + done, *b = (const char *)right + done;

        n = size - done < c->grain ? size - done : c->grain;
        if (inout != a)
            memcpy(inout, a, n);
        if (inout == to && !combiner_is_aligned(c, b))
            b = memcpy(c->work, b, n);
        combiner_apply(c, inout, b, n);
        if (inout != to)
            memcpy(to, inout, n);
    }
}
