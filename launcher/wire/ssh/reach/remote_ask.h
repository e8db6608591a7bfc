/* SPDX-License-Identifier: MIT */
/* remote_ask.h: asks the ssh program what its configuration says about a host (ssh -G). */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_ASK_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_ASK_H

#include "launcher/wire/ssh/reach/remote_wait.h"

struct remote_question {
    const char *name, *user; /* user: or NULL */
    int port;                /* 0: unstated */
    const char *file;        /* as ssh -F; NULL: ssh's own files */
};

/* *text: a line for each keyword, "port 22". *files: the configuration files that ssh has read, one
 * a line. Both are freed by the caller. Match exec runs as ssh runs it; whatever runs is ended with
 * the wait, as remote_wait_for() does, whose errors are this one's. ML_ERR_REFUSED: there is no ssh
 * program. ML_ERR_ARGUMENT: what ssh says against the configuration, with its file and line. */
int remote_ask(char **text, char **files, const struct remote_question *q,
               const struct remote_wait *wait, struct fault *why);

#endif
