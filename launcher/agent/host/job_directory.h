/* SPDX-License-Identifier: MIT */
/*
 * job_directory.h: /tmp/mlaunch-UID/JOB.HOST.XXXXXX, one an agent: what ranks and `mlaunch ps`
 * read. Always in /tmp, whatever $TMPDIR says, so that ps finds it; the random end keeps agents
 * apart whose hosts share a /tmp. MLAUNCH_JOB_DIR=<its path> in a process's environment marks it as
 * this agent's.
 */
#ifndef LAUNCHER_AGENT_HOST_JOB_DIRECTORY_H
#define LAUNCHER_AGENT_HOST_JOB_DIRECTORY_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { JOB_DIRECTORY_PATH = 192 }; /* bytes for the longest path, terminated */

/* Makes the directory, 0700, and the user's one above it. That one is refused if it is a link,
 * somebody else's or open to others: ML_ERR_SYSTEM with a sentence. `base` is "/tmp" (tests:
 * another). */
int job_directory_create(char path[JOB_DIRECTORY_PATH], const char *base, const char *job, int host,
                         struct fault *why);

/* Removes it with all that is in it, and the user's directory if that is empty then. */
void job_directory_remove(const char *path);

/* Writes `text` to the new file `name` in it, 0600. ML_ERR_SYSTEM names the file. */
int job_directory_write(const char *path, const char *name, const char *text, struct fault *why);

/* Adds a rank and its first process to the list that ps reads. What fails, fails: a job runs
 * without. */
#define JOB_DIRECTORY_RANKS "ranks"
void job_directory_add_rank(const char *path, int rank, pid_t pid);

/* The file that `mlaunch kill` leaves before it signals the worker; who did it, in words. */
#define JOB_DIRECTORY_KILLED "killed"

/* Whether it has `rank.N.broken`: rank N's runtime has reported that a peer died. `text`, of `size`
 * bytes, is then its sentence, or "". */
bool job_directory_rank_is_broken(const char *path, int rank, char *text, size_t size);

/* Calls `found` with each call of rank N's runtime that waits, as rank.N.waiting.GROUP has it in
 * words. */
void job_directory_each_wait(const char *path, int rank, void (*found)(const char *text, void *arg),
                             void *arg);

/* Unlinks what ranks of this job and host left in /dev/shm (names begin
 * "mlaunch-UID-JOB.HOST."). */
void job_directory_sweep_shm(const char *job, int host);

#endif
