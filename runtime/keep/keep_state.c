/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_state.h"

#include "common/net/kept_stream.h"

#include <stdlib.h>
#include <string.h>

/* More courses than a world can have, and more worlds, by ml_finalize and ml_init, than a run. */
enum { GENERATION_SHIFT = 24, RUN_SHIFT = 48 };

void keep_state_free(struct keep_state *s)
{
    struct keep_name *one;

    while (s && (one = s->names)) {
        s->names = one->next;
        free(one);
    }
    if (s)
        kept_stream_close(s->copies);
    free(s);
}

struct keep_state *keep_state_of(struct world *w)
{
    uint64_t course = keep_course(w);

    if (!w->keep)
        w->keep = calloc(1, sizeof(*w->keep));
    if (w->keep)
        w->keep->course = course;
    return w->keep;
}

struct keep_name *keep_state_find(const struct keep_state *s, const char *name)
{
    struct keep_name *one = s->names;

    while (one && strcmp(one->name, name) != 0)
        one = one->next;
    return one;
}

struct keep_name *keep_state_name(struct keep_state *s, const char *name)
{
    struct keep_name *one = keep_state_find(s, name);

    if (one)
        return one;
    one = calloc(1, sizeof(*one));
    if (!one)
        return NULL;
    strcpy(one->name, name);
    one->next = s->names;
    s->names = one;
    return one;
}

uint64_t keep_course(const struct world *w)
{
    return w->keep ? w->keep->course
                   : (uint64_t)w->job.restart << RUN_SHIFT | (uint64_t)w->generation
                                                                 << GENERATION_SHIFT;
}
