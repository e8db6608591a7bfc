/* SPDX-License-Identifier: MIT */
/*
 * chaos_plan.h: the value of --chaos, faults on purpose:
 *
 *     kill RANKS [after TIME]; stop RANKS for TIME [after TIME]; cut HOST [after TIME]
 *
 * TIME is a whole number of seconds, or with a unit: 500ms, 10s, 2m, 1h. Actions are parted by ';'
 * or the end of a line.
 */
#ifndef LAUNCHER_INPUT_VALUES_CHAOS_PLAN_H
#define LAUNCHER_INPUT_VALUES_CHAOS_PLAN_H

#include "launcher/input/values/rank_set.h"

enum {
    CHAOS_ACTIONS = 64,
    CHAOS_HOST = 256,              /* bytes of a host's name with its final 0 */
    CHAOS_MS_LIMIT = 86400 * 1000, /* the most that a time may be */
};

enum chaos_kind { CHAOS_KILL, CHAOS_STOP, CHAOS_CUT };

struct chaos_action {
    enum chaos_kind kind;
    struct rank_set ranks; /* for CHAOS_KILL and CHAOS_STOP */
    char host[CHAOS_HOST]; /* for CHAOS_CUT */
    int after_ms;          /* since all ranks have started */
    int for_ms;            /* for CHAOS_STOP; at least 1 */
};

struct chaos_plan {
    struct chaos_action actions[CHAOS_ACTIONS];
    int count; /* at least 1 */
};

/* ML_ERR_ARGUMENT: the sentence begins with the action at fault. */
int chaos_plan_parse(struct chaos_plan *out, const char *text, struct fault *why);

#endif
