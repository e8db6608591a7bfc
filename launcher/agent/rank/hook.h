/* SPDX-License-Identifier: MIT */
/*
 * hook.h: --prolog and --epilog: a shell command that the agent runs once before the first rank of
 * its host, or once after the last. Used by the loop's thread.
 */
#ifndef LAUNCHER_AGENT_RANK_HOOK_H
#define LAUNCHER_AGENT_RANK_HOOK_H

#include "launcher/agent/rank/spawn.h"
#include "launcher/wire/protocol/job_spec.h"

#include <event2/event.h>

enum { HOOK_TEXT = 2048 /* the end of what it has written is kept, with the NUL */ };

struct hook;

struct hook_config {
    struct event_base *base;
    const struct job_spec *job;
    const char *name;    /* "prolog" or "epilog" */
    const char *command; /* for sh -c */
    const char *cwd, *job_dir;
    const struct spawn_limits *limits;
    int cgroup;
    /* It has ended, or could not be started: called once, from the loop. `failed` is a sentence
     * with the end of its output; NULL: its status was 0. `output`: the end of it, without the last
     * newline. The hook may be closed from it. */
    void (*on_end)(const struct fault *failed, const char *output, void *arg);
    void *arg;
};

/* Starts it, with an empty input. It is given HOOK_LIMIT_S (agent_protocol.h) to end.
 * ML_ERR_MEMORY, ML_ERR_SYSTEM: it could not be started, and on_end is not called. */
int hook_start(struct hook **out, const struct hook_config *config, struct fault *why);

/* A child has been reaped. Returns whether it was the hook's. Takes NULL. */
bool hook_reaped(struct hook *h, pid_t pid, int status);

/* Forgets it; a process that still runs is one of the descendants that the agent ends. Takes
 * NULL. */
void hook_close(struct hook *h);

#endif
