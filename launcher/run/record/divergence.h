/* SPDX-License-Identifier: MIT */
/* divergence.h: where the ranks of one group parted before a job failed: the first collective call
 * in which they differ, or else the ranks that were behind others that waited. */
#ifndef LAUNCHER_RUN_RECORD_DIVERGENCE_H
#define LAUNCHER_RUN_RECORD_DIVERGENCE_H

#include "launcher/run/record/call_log.h"

#include <jansson.h>

struct divergence {
    uint32_t group; /* the coordinator's number; 0: the world */
    uint32_t call;  /* the group's number of the call, from 1 */
    json_t *ranks;  /* owned: that made another call than most, or were behind */
    char text[768]; /* a sentence */
};

/* False: no two ranks of a group have parted, or nothing is known of it. */
bool divergence_find(struct divergence *out, const struct call_log *l);
void divergence_clear(struct divergence *d);

#endif
