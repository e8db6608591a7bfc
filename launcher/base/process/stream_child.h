/* SPDX-License-Identifier: MIT */
/* stream_child.h: a child process whose stdin and stdout are a socket to this process. */
#ifndef LAUNCHER_BASE_PROCESS_STREAM_CHILD_H
#define LAUNCHER_BASE_PROCESS_STREAM_CHILD_H

#include "common/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct stream_child {
    pid_t pid;
    int fd;     /* the other end of its stdin and stdout: a non-blocking stream socket */
    int errors; /* the reading end of its stderr, non-blocking; -1: it shares this process's */
};

/* Starts the program argv[0] in that environment, without other descriptors and without blocked or
 * ignored signals. It gets a session of its own, so that the terminal's Ctrl-C does not reach it
 * and it cannot ask for a password. ML_ERR_SYSTEM: it cannot be executed. The caller owns both
 * descriptors and reaps the child. */
int stream_child_start(struct stream_child *out, char *const argv[], char *const environment[],
                       bool own_stderr, struct fault *why);

/* Closes the descriptors, ends its process group, with SIGTERM first and SIGKILL after 0.5 s, and
 * reaps it. Does nothing if pid is 0. */
void stream_child_end(struct stream_child *child);

#endif
