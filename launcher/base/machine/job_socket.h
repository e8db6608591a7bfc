/* SPDX-License-Identifier: MIT */
/*
 * job_socket.h: the socket by which the user's other commands ask a running mlaunch of this machine
 * to change its job. Its name is abstract (unix(7)), so that nothing is left of it whatever becomes
 * of mlaunch. Anybody may connect, or take the name before mlaunch does: both ends look whose
 * process the other one is.
 */
#ifndef LAUNCHER_BASE_MACHINE_JOB_SOCKET_H
#define LAUNCHER_BASE_MACHINE_JOB_SOCKET_H

#include "launcher/base/machine/job_register.h"

/* Listens for the job with that id; *out does not block. ML_ERR_SYSTEM. */
int job_socket_listen(int *out, const char *job, struct fault *why);

/* A connection to the mlaunch of that entry; *out blocks. ML_ERR_STATE: its job cannot be changed,
 * or it has ended; ML_ERR_SYSTEM. */
int job_socket_connect(int *out, const struct register_found *f, struct fault *why);

/* Whether the process at the other end is one of this user's. */
bool job_socket_is_own(int fd);

#endif
