/* SPDX-License-Identifier: MIT */
/* pid_domain_linux.h: where a job's pids are valid: a machine since its last boot, and a pid
 * namespace. A job directory may be seen from another domain: from another container, or after a
 * reboot. */
#ifndef LAUNCHER_BASE_MACHINE_PID_DOMAIN_LINUX_H
#define LAUNCHER_BASE_MACHINE_PID_DOMAIN_LINUX_H

#include "common/net/job_file.h"

enum pid_domain {
    PID_DOMAIN_HERE,
    PID_DOMAIN_PAST,      /* this machine before its last boot: none of its processes can live */
    PID_DOMAIN_ELSEWHERE, /* another machine or pid namespace: its processes are unknown here */
};

/* Fills in pid_namespace, boot and node for this process. */
void pid_domain_write(struct job_file *j);

/* Where the job of `j` runs or ran, seen from the domain of `here`. */
enum pid_domain pid_domain_compare(const struct job_file *j, const struct job_file *here);

#endif
