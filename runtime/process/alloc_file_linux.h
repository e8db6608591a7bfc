/* SPDX-License-Identifier: MIT */
/*
 * alloc_file_linux.h: the file without a name in which the memory of ml_alloc lies, one per
 * process. It is larger than will ever be used, and sealed against shrinking, so no access to a
 * mapping of it can be beyond its end (SIGBUS). Each piece of it is used only once; when it is
 * given back, its pages are freed, and a process that still has it mapped reads zeros.
 *
 * Not thread-safe: alloc.c has a lock.
 */
#ifndef RUNTIME_PROCESS_ALLOC_FILE_LINUX_H
#define RUNTIME_PROCESS_ALLOC_FILE_LINUX_H

#include <stddef.h>
#include <stdint.h>

/* How other processes find it: as a descriptor of a process, if that is still this file. */
struct alloc_file {
    int32_t pid, fd;
    uint64_t device, inode;
};

/* Maps the next `size` bytes, whole pages of zeros; *offset: their place in the file. NULL: there
 * is no such file, and the memory must come from elsewhere. */
void *alloc_file_map(size_t size, uint64_t *offset);

/* Frees the pages of a mapping and unmaps it. */
void alloc_file_unmap(void *memory, size_t size);

/* This process's file; fd is -1 if there is none. */
struct alloc_file alloc_file_name(void);

/* In a forked child: its allocations come from a file of its own from now on. Makes only calls that
 * are safe there. */
void alloc_file_leave(void);

#endif
