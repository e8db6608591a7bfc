/* SPDX-License-Identifier: MIT */
/* shm_pages_linux.h: pages of a mapped file in memory, taken without a descriptor for the file. */
#ifndef RUNTIME_TRANSPORT_SHM_PAGES_LINUX_H
#define RUNTIME_TRANSPORT_SHM_PAGES_LINUX_H

#include <stdbool.h>
#include <stddef.h>

/* Gives all pages of memory[0 … size) to the file, as if they were written; size is at least 8, as
 * is what lies on the last page. The memory must be all zero, and stays so. False: the file system
 * has no room; then some pages may have been given. The pages are of the memory node of the calling
 * thread. */
bool shm_pages_take(void *memory, size_t size);

#endif
