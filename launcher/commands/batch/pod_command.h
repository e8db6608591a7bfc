/* SPDX-License-Identifier: MIT */
/* pod_command.h: mlaunch join as the containers of a job run it, whichever system starts them. */
#ifndef LAUNCHER_COMMANDS_BATCH_POD_COMMAND_H
#define LAUNCHER_COMMANDS_BATCH_POD_COMMAND_H

#include "launcher/commands/batch/batch_options.h"

#include <jansson.h>

#define POD_PORT "7400" /* where the first one listens */

/* Stores an array of words, for json_decref(), with each $ doubled: Kubernetes and Compose fill in
 * variables. `head`: HOST:PORT of the first; `key`: a file inside; index -1: the system tells it.
 * ML_ERR_ARGUMENT: a word of the program is not UTF-8; ML_ERR_MEMORY. */
int pod_command_make(json_t **out, const struct batch_options *b, const char *head, const char *key,
                     int index, struct fault *why);

#endif
