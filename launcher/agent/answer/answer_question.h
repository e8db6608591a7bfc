/* SPDX-License-Identifier: MIT */
/* answer_question.h: a question of mlaunch's, parsed as far as all answers need it. */
#ifndef LAUNCHER_AGENT_ANSWER_ANSWER_QUESTION_H
#define LAUNCHER_AGENT_ANSWER_ANSWER_QUESTION_H

#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>

struct probe_run;

struct answer_question {
    const char *base; /* of the job directories: "/tmp" */
    const char *job;  /* its id; "": all */
    bool stacks, dry_run;
    bool counters;          /* what `mlaunch metrics` adds to a list of jobs */
    const json_t *question; /* the whole question */
    struct probe_run *probe;
};

#endif
