/* SPDX-License-Identifier: MIT */
/* process_linux.h: processes as /proc shows them: their state, user and environment. */
#ifndef LAUNCHER_BASE_MACHINE_PROCESS_LINUX_H
#define LAUNCHER_BASE_MACHINE_PROCESS_LINUX_H

#include "common/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent, group;
    uint64_t start_time;  /* field 22 of stat: together with the pid, identifies a process */
    uint64_t cpu_ticks;   /* user and system time of all its threads, in clock ticks */
    uint64_t child_ticks; /* the same for its children which have ended and were waited for */
    uint64_t memory;      /* bytes that are resident */
    int threads;
    char state;
    bool has_ended; /* a zombie */
    char name[20];
};

struct process_list {
    struct process *list; /* by pid */
    size_t count;
};

/* Whether /proc shows the pids of this process's own namespace. */
bool process_proc_is_ours(void);

/* False: there is no such process. */
bool process_read(struct process *out, pid_t pid);

/* All processes, sorted by pid. ML_ERR_SYSTEM: /proc is missing, or that of another pid namespace,
 * whose pids mean other processes. */
int process_list_read(struct process_list *out, struct fault *why);
void process_list_free(struct process_list *l); /* takes an empty one */
const struct process *process_list_find(const struct process_list *l, pid_t pid); /* or NULL */

/* Its environment as NUL-terminated strings, *size bytes; the caller frees it. NULL: it cannot be
 * read, or there is no such process. */
char *process_environment(pid_t pid, size_t *size);

/* The same as a NULL-terminated array; the caller frees it with process_variables_free(). */
char **process_variables(pid_t pid);
void process_variables_free(char **variables); /* takes NULL */

/* The user that it belongs to; false: it is gone. (A process that has changed its user, such as a
 * setuid program, may belong to root here.) */
bool process_user(pid_t pid, uid_t *user);

/* True if it has a handler for the signal. After exec, for instance, it has none. */
bool process_catches(pid_t pid, int signal);

/* Sends it a signal, unless it has ended and its pid belongs to another process by now. */
void process_signal(const struct process *p, int signal);
/* The same with a value, as sigqueue(3). */
void process_signal_value(const struct process *p, int signal, int value);

#endif
