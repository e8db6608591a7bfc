/* SPDX-License-Identifier: MIT */
/*
 * host_set.h: files of this build for hosts of another kind than this machine. Each set is a
 * directory that is named for its processor and C library, such as x86_64-gnu2.28 (glibc 2.28 and
 * later) or x86_64-musl.
 */
#ifndef LAUNCHER_BASE_LOADER_HOST_SET_H
#define LAUNCHER_BASE_LOADER_HOST_SET_H

#include <limits.h>
#include <stdbool.h>

enum { HOST_SETS_MOST = 16, HOST_SET_NAME = 64 };

struct host_set {
    char name[HOST_SET_NAME];
    char directory[PATH_MAX]; /* "": this build's own files, wherever they are */
};

/* The sets in `directory`, by name. Returns their number; 0 too if there is no such directory. */
int host_set_list(struct host_set out[HOST_SETS_MOST], const char *directory);

/* Whether a set of that name is for hosts with this processor, as uname names it, and C library, as
 * in libc_need.h. A library that is unknown is one for which none fits. */
bool host_set_fits(const char *name, const char *machine, const char *libc);

#endif
