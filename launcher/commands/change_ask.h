/* SPDX-License-Identifier: MIT */
/* change_ask.h: asks the mlaunch of a job, which runs on this machine, to change the job. */
#ifndef LAUNCHER_COMMANDS_CHANGE_ASK_H
#define LAUNCHER_COMMANDS_CHANGE_ASK_H

#include <jansson.h>

/* Sends the request, which it takes over (change_requests.h), prints the answers, and returns the
 * exit status of the command. `job`: an id or a name. */
int change_ask(const char *job, json_t *request);

#endif
