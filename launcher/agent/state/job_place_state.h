/* SPDX-License-Identifier: MIT */
/* job_place_state.h: the place of a job on this host, which job_place.h makes. */
#ifndef LAUNCHER_AGENT_STATE_JOB_PLACE_STATE_H
#define LAUNCHER_AGENT_STATE_JOB_PLACE_STATE_H

#include "common/fault.h"
#include "common/net/job_file.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/agent/host/job_directory.h"

#include <stdbool.h>
#include <stdint.h>

struct binding;
struct container;
struct machine;
struct rank_view;
struct received_files;
struct staged_place;

/* What is the same for all jobs of an agent, and found once. */
struct job_place_ahead {
    struct job_file here;       /* the members that do not depend on the job */
    char cgroup[CGROUP_PATH];   /* the agent's own, or "" */
    char shim[4096];            /* "" if it is not installed, as `modules` */
    char modules[4096];         /* the package mlaunch's directory; "": PYTHONPATH cannot name it */
    struct fault not_installed; /* why both are "" */
};

/* After AGAIN the next run of the same job finds it again, empty but for what ranks have kept. */
struct job_place_directory {
    char path[JOB_DIRECTORY_PATH];  /* "" until it is made */
    int locks[JOB_DIRECTORY_LOCKS]; /* by which others know that it is used */
    int64_t touched_ms;             /* clock_ms; when all in it was */
    bool is_guard_removing;         /* the guard removes it, unless the guard is killed */
};

struct job_place {
    int64_t started_at;       /* when job.json was first written; or 0 */
    char cgroup[CGROUP_PATH]; /* "": there is none */
    int cgroup_fd;            /* or -1, which it is at HELLO */
    char bind_ip[64];
    char shim[4096];              /* "": nothing is injected */
    char modules[4096];           /* "": PYTHONPATH is left as it is */
    char bench[4096];             /* mlaunch-bench's path, if the job names it */
    char **cwds;                  /* per app */
    struct binding *bindings;     /* per local rank, or NULL */
    struct machine *machine;      /* what they are parts of, or NULL */
    struct container *container;  /* --container; or NULL */
    struct received_files *files; /* NULL: the job has none for this host */
    struct staged_place *staged;  /* --stage-env; or NULL */
    char **staged_programs;       /* per app, where the copy must be named: its; or NULL */
    struct rank_view *view;       /* --mount and --stage-env; or NULL */
};

#endif
