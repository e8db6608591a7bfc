/* SPDX-License-Identifier: MIT */
/*
 * session_stop.h: Ctrl-Z of a command that asks agents or works with them. They hear of it before
 * the command stops, so that none takes it for lost, and it goes on when it is continued.
 */
#ifndef LAUNCHER_ASK_SESSION_STOP_H
#define LAUNCHER_ASK_SESSION_STOP_H

#include "common/fault.h"
#include "launcher/wire/channel/agent_session.h"

struct event;
struct event_base;

struct session_stop {
    struct agent_session *session;
    void (*on_stop)(void *arg);  /* before the process stops; NULL: nothing to do */
    void (*on_go_on)(void *arg); /* once it is continued; NULL as well */
    void *arg;
    struct event *signal; /* NULL: SIGTSTP is ignored, and stays so */
};

/* From now on SIGTSTP stops this process so; all other members are set. ML_ERR_MEMORY. */
int session_stop_open(struct session_stop *s, struct event_base *base, struct fault *why);
void session_stop_close(struct session_stop *s); /* before the session; also one that is not open */

#endif
