/* SPDX-License-Identifier: MIT */
/* job_spec_change.h: a job that runs changes (PLACED, GROW): its hosts and ranks. */
#ifndef LAUNCHER_WIRE_PROTOCOL_JOB_SPEC_CHANGE_H
#define LAUNCHER_WIRE_PROTOCOL_JOB_SPEC_CHANGE_H

#include "launcher/wire/protocol/job_spec.h"

/* Host `host` is the one of this name and address ("": unknown) from now on; it may be the next one
 * behind the last. ML_ERR_REFUSED: there is no such place, or no room; ML_ERR_MEMORY. */
int job_spec_change_place(struct job_spec *m, int host, const char *name, const char *address,
                          struct fault *why);

/* Adds the rank `rank`, which must be the next one, to the job and to that host, as one of the
 * program `app`. ML_ERR_REFUSED: there is no such host or program, or no room. */
int job_spec_change_grow(struct job_spec *m, uint32_t rank, uint32_t host, uint32_t app,
                         struct fault *why);

#endif
