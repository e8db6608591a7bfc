/* SPDX-License-Identifier: MIT */
/* stream_child.h: a child process that talks to us through its stdin and stdout. */
#ifndef LAUNCHER_PROCESS_STREAM_CHILD_H
#define LAUNCHER_PROCESS_STREAM_CHILD_H

#include "common/fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct stream_child {
    pid_t pid;
    int fd;     /* our end of its stdin and stdout: a non-blocking stream socket */
    int errors; /* the reading end of its stderr, non-blocking; -1: it shares ours */
};

/* Starts argv[0] in that environment with no other descriptors, no blocked or ignored signals, and
 * in a session of its own: the terminal's Ctrl-C reaches only us, and it can ask nobody for a
 * password. ML_ERR_SYSTEM: it could not be executed. The caller owns both descriptors and reaps the
 * child. */
int stream_child_start(struct stream_child *out, char *const argv[], char *const environment[],
                       bool own_stderr, struct fault *why);

/* Ends its process group, politely at first, reaps it and closes the descriptors. pid 0:
 * nothing. */
void stream_child_end(struct stream_child *child);

#endif
