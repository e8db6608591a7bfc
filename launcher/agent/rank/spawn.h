/* SPDX-License-Identifier: MIT */
/*
 * spawn.h: starts the process of a rank. The agent's memory is not copied (vfork), so that hundreds
 * of ranks start about as fast as the kernel can execute them.
 */
#ifndef LAUNCHER_AGENT_RANK_SPAWN_H
#define LAUNCHER_AGENT_RANK_SPAWN_H

#include "common/fault.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What all ranks have in common, read once when the agent starts. */
struct spawn_limits {
    struct rlimit files; /* RLIMIT_NOFILE as it was before the agent raised its own */
    int changed[65]; /* signals that are ignored or handled here, 0-terminated: reset in ranks */
};

/* Stores the limits, and raises the agent's own number of descriptors to the hard limit. */
void spawn_prepare(struct spawn_limits *limits);

struct memory_policy;
struct rank_view;

struct spawn {
    const char *const *argv; /* NULL-terminated */
    const char *program;     /* what is executed: argv[0], or the path of its copy */
    char *const *env;        /* NULL-terminated */
    const char *path;        /* where the program is searched if it has no slash; relative to cwd */
    const char *cwd;
    int in, out, err;      /* become 0, 1, 2; the caller closes them */
    int kept;              /* a descriptor that the program keeps under its number, or -1 */
    bool is_held;          /* it is stopped at the program's first instruction, until SIGCONT */
    bool is_terminal;      /* they are a terminal, which becomes the controlling one */
    const cpu_set_t *cpus; /* or NULL */
    const struct memory_policy *memory; /* or NULL */
    struct memory_policy *memory_seen;  /* or NULL: filled in with what the kernel made of it */
    const struct rank_view *view;       /* the file system that it sees, cwd included; or NULL */
    const struct spawn_limits *limits;
    int ignored;    /* a signal that the program ignores, unless it handles it; 0: none */
    int cgroup;     /* an open control group to start it in, if this system can; or -1 */
    char *pid_text; /* or NULL: 12 bytes within `env` where the child writes its own pid */
};

/* Starts it in a process group of its own, which it does not lead, so that it may leave it by
 * setsid(); with a terminal, as the leader of a session of its own. descendants_signal_group()
 * signals the group. Returns once it runs the program. On failure nothing is left, and *status is
 * what a shell would return: 126 not executable, 127 not found, 125 anything else (no such
 * directory, no more processes). `why` names the program or directory. */
int spawn_process(pid_t *pid, const struct spawn *s, int *status, struct fault *why);

#endif
