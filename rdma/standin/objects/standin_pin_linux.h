/* SPDX-License-Identifier: MIT */
/* standin_pin_linux.h: how much memory may be registered, which the kernel locks for a device. */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_PIN_LINUX_H
#define RDMA_STANDIN_OBJECTS_STANDIN_PIN_LINUX_H

#include <stdbool.h>
#include <stddef.h>

/* Counts the pages of these bytes; false: with them the process would have more than its limit of
 * locked memory (RLIMIT_MEMLOCK), which holds for all without CAP_IPC_LOCK. Any thread. */
bool standin_pin(const void *address, size_t length);
void standin_unpin(const void *address, size_t length);

#endif
