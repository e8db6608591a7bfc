/* SPDX-License-Identifier: MIT */
/* libc_need.h: whether a host's C library is new enough for files of this machine. */
#ifndef LAUNCHER_BASE_LOADER_LIBC_NEED_H
#define LAUNCHER_BASE_LOADER_LIBC_NEED_H

#include <stdbool.h>

enum { LIBC_NEED_TEXT = 32 };

/* Raises `need`, "" or a version of glibc such as "2.34", to what the file at `path` needs. A file
 * that cannot be read, or needs no glibc, changes nothing. */
void libc_need_raise(char need[LIBC_NEED_TEXT], const char *path);

/* Whether files with that need start where the C library is `host`: "glibc 2.31", "musl 1.2.3", or
 * anything else for one that is unknown, which may do. */
bool libc_need_is_met(const char *need, const char *host);

/* The version of glibc in which this process runs, such as "2.31"; "" in another C library. */
void libc_need_own(char own[LIBC_NEED_TEXT]);

#endif
