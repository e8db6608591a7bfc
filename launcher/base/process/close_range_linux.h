/* SPDX-License-Identifier: MIT */
/* close_range_linux.h: all descriptors from one on are closed by one system call, of which C
 * libraries before glibc 2.34 and headers before Linux 5.9 know nothing. */
#ifndef LAUNCHER_BASE_PROCESS_CLOSE_RANGE_LINUX_H
#define LAUNCHER_BASE_PROCESS_CLOSE_RANGE_LINUX_H

/* Returns 0, or -1 with errno: before Linux 5.9 there is no such call. */
int close_range_now(int first);

/* They stay open until this process, or a child of it, becomes another program. Returns 0, or -1
 * with errno: before Linux 5.11 it does not exist. */
int close_range_at_exec(int first);

#endif
