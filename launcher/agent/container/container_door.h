/* SPDX-License-Identifier: MIT */
/* container_door.h: the socket at which the containers of the ranks call for their descriptors
 * (entry_answer.h). It lies in the job's directory, which only this user can search. */
#ifndef LAUNCHER_AGENT_CONTAINER_CONTAINER_DOOR_H
#define LAUNCHER_AGENT_CONTAINER_CONTAINER_DOOR_H

#include "common/fault.h"
#include "launcher/agent/container/entry_answer.h"

#include <sys/types.h>

struct container_door;
struct event_base;

/* ML_ERR_SYSTEM: it cannot listen in `job_dir`. */
int container_door_open(struct container_door **out, struct event_base *base, const char *job_dir,
                        int rank_count, struct fault *why);
void container_door_close(struct container_door *d); /* takes NULL */

/* Keeps copies of the descriptors for the rank's container: ENTRY_STREAMS of them and then `pmi`,
 * or -1. ML_ERR_SYSTEM: there is no descriptor left. */
int container_door_keep(struct container_door *d, int index, const int streams[ENTRY_STREAMS],
                        int pmi, struct fault *why);

/* The rank has ended: drops what nobody has called for, and reads a last answer. */
void container_door_end(struct container_door *d, int index);

/* The process that has called for the rank, and becomes its program; 0: none has called. */
pid_t container_door_process(const struct container_door *d, int index);
/* Why the rank's program could not be executed; NULL: it was, or nothing is known. */
const struct entry_answer *container_door_answer(const struct container_door *d, int index);

#endif
