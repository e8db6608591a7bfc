/* SPDX-License-Identifier: MIT */
/* answer_question.h: a question of mlaunch's, parsed as far as all answers need it. */
#ifndef LAUNCHER_AGENT_QUERIES_ANSWER_QUESTION_H
#define LAUNCHER_AGENT_QUERIES_ANSWER_QUESTION_H

#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>

struct probe_run;

struct answer_question {
    const char *base; /* the folder of the job directories: "/tmp" */
    const char *job;  /* its id; "": all */
    int host;         /* if several hosts share /tmp, only this one's part of a job; -1: all */
    bool stacks, dry_run;
    bool is_brief;  /* stacks only of ranks that don't wait in a call, and of one in each call */
    bool may_debug; /* a debugger may be used for them */
    int stacks_ms;  /* for all of them; 0: the usual time */
    bool soft;      /* kill only asks the job to stop */
    bool counters;  /* what `mlaunch metrics` adds to a list of jobs */
    const json_t *question; /* the whole question */
    struct probe_run *probe;
};

#endif
