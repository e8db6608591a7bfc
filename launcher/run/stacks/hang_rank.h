/* SPDX-License-Identifier: MIT */
/* hang_rank.h: a rank, as the agent of its host has described it. */
#ifndef LAUNCHER_RUN_STACKS_HANG_RANK_H
#define LAUNCHER_RUN_STACKS_HANG_RANK_H

#include <jansson.h>

struct hang_rank {
    long long rank;
    const char *host;
    const json_t *said; /* an element of "ranks" in the ANSWER of doc/protocol.md, unchecked */
};

#endif
