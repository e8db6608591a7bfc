/* SPDX-License-Identifier: MIT */
/*
 * job_directory.h: JOB.HOST.XXXXXX in the user's directory (user_directory.h), one for each agent,
 * with the files that ranks and `mlaunch ps` read. The random suffix distinguishes agents whose
 * hosts share a /tmp.
 * MLAUNCH_JOB_DIR=<its path> in a process's environment marks the process as this agent's.
 */
#ifndef LAUNCHER_AGENT_HOST_JOB_DIRECTORY_H
#define LAUNCHER_AGENT_HOST_JOB_DIRECTORY_H

#include "common/fault.h"
#include "launcher/base/machine/user_directory.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { JOB_DIRECTORY_PATH = USER_DIRECTORY_PATH }; /* bytes for the longest path, terminated */

/* Makes the directory (0700), and the user's one above it. `base` is "/tmp" (in tests another).
 * ML_ERR_SYSTEM: one of them cannot be made. */
int job_directory_create(char path[JOB_DIRECTORY_PATH], const char *base, const char *job, int host,
                         struct fault *why);

/* Makes it again, and the user's one above it, if a tidy system or the user has removed them. Sets
 * *made if it was made. ML_ERR_SYSTEM. */
int job_directory_restore(const char *path, bool *made, struct fault *why);

/* Locks (place_lock.h) by which others know that an agent lives that uses the directory at `path`:
 * on that, on the user's directory above it and on the one that has its link, and on a file in
 * /dev/shm, "mlaunch-UID-JOB.HOST.XXXXXX.lock", for all names there that begin so. */
enum { JOB_DIRECTORY_LOCKS = 4 };
#define JOB_DIRECTORY_LOCK "lock" /* the last part of that file's name */
#define JOB_DIRECTORY_UNLOCKED                                                                     \
    {                                                                                              \
        -1, -1, -1, -1                                                                             \
    }
/* Takes those that are -1, or on what has been removed, as far as it can. */
void job_directory_lock(const char *path, int locks[JOB_DIRECTORY_LOCKS]);
void job_directory_unlock(int locks[JOB_DIRECTORY_LOCKS]);

/* Lets the directory, what is in it and the one above it look as if they had just been written, for
 * those who remove what is old, and look at no lock. */
void job_directory_touch(const char *path);

/* Whether the directory at `path`, which may be "", is that host's of that job. */
bool job_directory_is_of(const char *path, const char *job, int host);

/* Removes what is in it, but for job.json, and in /dev/shm all but what ranks have kept, as far as
 * a hurried sweep gets. */
void job_directory_empty(const char *path);
#define JOB_DIRECTORY_KEPT "keep." /* names in /dev/shm go on so (runtime/keep/keep_slot.h) */

/* Makes a link to it in the user's directory of user_directory_base(), so that it is found; none if
 * it is in one of user_directory_bases itself. job_directory_remove() removes the link, too. */
void job_directory_link(const char *path);

/* Removes it with its contents, and the user's directory if that is empty then. */
void job_directory_remove(const char *path);

/* What is below this name is copied there; or it is a link to a directory elsewhere, whose name
 * begins so while the copy is not whole. Such a directory is removed with the job's. */
#define JOB_DIRECTORY_ENV        "env"
#define JOB_DIRECTORY_UNFINISHED ".mlaunch-copy."

/* Adds a rank and its first process to the list that ps reads. Errors are ignored: the job can run
 * without the list. */
#define JOB_DIRECTORY_RANKS "ranks"
void job_directory_add_rank(const char *path, int rank, pid_t pid);

/* The file that `mlaunch kill` writes before it signals the worker: the words "by USER on host
 * HOST". */
#define JOB_DIRECTORY_KILLED "killed"

/* Whether there is `rank.N.broken`, by which rank N's runtime has reported that a peer died.
 * `text`, of `size` bytes, is then its sentence or "". */
bool job_directory_rank_is_broken(const char *path, int rank, char *text, size_t size);

/* Whether there is `rank.N.alone`: what rank N keeps is on this host alone, in spite of --keep 2.
 * `text`, of `size` bytes, is then why, or "". */
bool job_directory_rank_is_alone(const char *path, int rank, char *text, size_t size);

/* Calls `found` with the JSON text of each rank.N.waiting.GROUP, by which rank N's runtime says in
 * which call it waits. */
void job_directory_each_wait(const char *path, int rank, void (*found)(const char *text, void *arg),
                             void *arg);

/* Removes the segments that the ranks of the directory at `path` have left in /dev/shm (their names
 * begin with "mlaunch-UID-JOB.HOST.XXXXXX."), of those that are this user's: anybody may make such
 * names there. Another run's stay, because after a restart an agent that was cut off may end beside
 * them. is_hurried: the sweep ends after some milliseconds. */
void job_directory_sweep_shm(const char *path, bool is_hurried);

/* Makes a directory for segments that libraries of the ranks make: in /dev/shm, named like theirs.
 * `out` becomes "" if that is not possible. */
void job_directory_make_segments(const char *path, char *out, size_t size);

#endif
