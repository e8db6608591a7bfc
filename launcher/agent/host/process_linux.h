/* SPDX-License-Identifier: MIT */
/* process_linux.h: processes as /proc shows them: what they are, whose, and with which
 * environment. */
#ifndef LAUNCHER_AGENT_HOST_PROCESS_LINUX_H
#define LAUNCHER_AGENT_HOST_PROCESS_LINUX_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent, group;
    uint64_t start_time; /* field 22 of stat: with the pid it names a process for good */
    uint64_t cpu_ticks;  /* user and system time of all its threads, in clock ticks */
    uint64_t memory;     /* bytes that are resident */
    char state;
    bool has_ended; /* a zombie */
    char name[20];
};

struct process_list {
    struct process *list; /* by pid */
    size_t count;
};

/* False: there is no such process. */
bool process_read(struct process *out, pid_t pid);

/* All processes at a look. ML_ERR_SYSTEM if /proc is not there or that of another pid namespace,
 * which would speak of other processes under our numbers. */
int process_list_read(struct process_list *out, struct fault *why);
void process_list_free(struct process_list *l); /* takes an empty one */
const struct process *process_list_find(const struct process_list *l, pid_t pid); /* or NULL */

/* Its environment, one string after the other, NUL-terminated; freed by the caller. NULL: it may
 * not be read, or there is none. */
char *process_environment(pid_t pid, size_t *size);

/* Whose it is; false: it is gone. (A process that changed its user, such as a setuid program, may
 * belong to root here.) */
bool process_user(pid_t pid, uid_t *user);

/* Sends it a signal, unless it has ended and its pid is a stranger's by now. */
void process_signal(const struct process *p, int signal);

#endif
