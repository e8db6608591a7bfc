/* SPDX-License-Identifier: MIT */
/* place_linux.h: the place in which a job's pids are valid: a machine since its last boot, and a
 * pid namespace. A job directory may be seen from another place: from another container, or after a
 * reboot. */
#ifndef LAUNCHER_AGENT_HOST_PLACE_LINUX_H
#define LAUNCHER_AGENT_HOST_PLACE_LINUX_H

#include "common/net/job_file.h"

enum place {
    PLACE_HERE,
    PLACE_PAST,      /* this machine before its last boot: none of its processes can live */
    PLACE_ELSEWHERE, /* another machine or pid namespace: its processes are unknown here */
};

/* Fills in pid_namespace, boot and node for this process. */
void place_write(struct job_file *j);

/* Where the job of `j` runs or ran, seen from the place of `here`. */
enum place place_compare(const struct job_file *j, const struct job_file *here);

#endif
