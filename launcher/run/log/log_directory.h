/* SPDX-License-Identifier: MIT */
/*
 * log_directory.h: the logs of the user's detached jobs on this machine, in
 * $XDG_STATE_HOME/mlaunch/logs (~/.local/state/mlaunch/logs), mode 0700. A log is ID.log, or
 * ID.NAME.log; the older part of a long one is beside it, with ".1" behind its name. As long as
 * its mlaunch lives, that holds a lock on the log.
 */
#ifndef LAUNCHER_RUN_LOG_LOG_DIRECTORY_H
#define LAUNCHER_RUN_LOG_LOG_DIRECTORY_H

#include "common/fault.h"
#include "common/net/job_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define LOG_OLDER_PART ".1"

struct log_entry {
    char path[PATH_MAX];
    char id[AUTH_JOB];
    char name[JOB_NAME]; /* or "" */
    bool is_running;
    int64_t size;       /* both parts together */
    int64_t written_ns; /* when the last byte was, since 1970 */
};

struct log_list {
    struct log_entry *entries; /* the oldest first */
    int count;
};

/* Makes the directory if it is missing. ML_ERR_SYSTEM: it cannot be made, or is not the user's. */
int log_directory_find(char path[PATH_MAX], struct fault *why);

/* Lists the logs; the caller frees entries. Nothing, if there is no directory. */
int log_directory_list(struct log_list *out, struct fault *why);

/* The log of the job with that id or name: of the one that runs, or else of the newest; or NULL. */
const struct log_entry *log_directory_choose(const struct log_list *l, const char *job);

/* How many jobs of that name run; `ids` lists them, "a, b". */
int log_directory_running(const struct log_list *l, const char *name, char *ids, size_t size);

/* Whether the mlaunch that writes this log lives. */
bool log_directory_is_running(const char *path);

/* Removes both parts; 0 or errno. */
int log_directory_remove(const struct log_entry *e);

/* Calls `found` with the logs of ended jobs that are too many or too big together; the log of the
 * job that ended last is never among them. */
void log_directory_each_surplus(const struct log_list *l,
                                void (*found)(const struct log_entry *e, void *arg), void *arg);

/* Removes these. */
void log_directory_bound(void);

#endif
