/* SPDX-License-Identifier: MIT */
/*
 * answer.h: LAUNCH_QUERY: what `mlaunch ps`, `kill`, `clean` and `hosts` want of a host, and what a job wants to
 * know of it before it starts (doc/protocol.md, "Questions").
 */
#ifndef LAUNCHER_AGENT_ANSWER_ANSWER_H
#define LAUNCHER_AGENT_ANSWER_ANSWER_H

#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct probe_run;

struct answer_question {
    const char *base; /* of the job directories: "/tmp" */
    const char *job;  /* its id; "": all */
    bool stacks, dry_run;
    const json_t *question; /* the whole */
    struct probe_run *probe;
};

/* The payload of ANSWER to that of QUERY; takes seconds where something has to end. NULL: out of
 * memory. */
json_t *answer_make(const char *text, size_t size, struct probe_run *probe);

#endif
