/* SPDX-License-Identifier: MIT */
/* pidfd_linux.h: a descriptor that becomes readable when a process ends. */
#ifndef LAUNCHER_BASE_PROCESS_PIDFD_LINUX_H
#define LAUNCHER_BASE_PROCESS_PIDFD_LINUX_H

#include <sys/types.h>

/* The system's call itself, because glibc has a function for it only from 2.36. -1 sets errno. */
int pidfd_linux_open(pid_t pid);

/* Sends it SIGKILL, and waits for its end for 2 s at most; whoever reaps it may do so meanwhile. */
void pidfd_linux_kill(int fd);

#endif
