/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_state.h"

#include "common/net/kept_stream.h"

#include <stdlib.h>

enum { RUN_SHIFT = 32 }; /* more courses than a run can have */

void keep_state_free(struct keep_state *s)
{
    struct keep_agreed *one;

    while (s && (one = s->agreed)) {
        s->agreed = one->next;
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

uint64_t keep_course(const struct world *w)
{
    return w->keep ? w->keep->course : (uint64_t)w->job.restart << RUN_SHIFT;
}
