/* SPDX-License-Identifier: MIT */
/* thread_linux.h: which thread of the process this is, and whether another one still exists. */
#ifndef RUNTIME_PROCESS_THREAD_LINUX_H
#define RUNTIME_PROCESS_THREAD_LINUX_H

#include <stdbool.h>

/* The calling thread's number, as ps -T shows it; not of a forked child. */
int thread_self(void);
bool thread_exists(int number);

#endif
