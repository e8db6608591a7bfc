/* SPDX-License-Identifier: MIT */
/* container_program.h: the programs that --container knows, one row each: how each is told what to
 * mount, what the container shares with the host, and how a container of it is removed. */
#ifndef LAUNCHER_BASE_CONTAINER_CONTAINER_PROGRAM_H
#define LAUNCHER_BASE_CONTAINER_CONTAINER_PROGRAM_H

#include "common/fault.h"

#include <stdbool.h>

struct container_program {
    const char *name;
    const char *verb;         /* the word behind which options come ("run"), or NULL */
    bool is_apart;            /* another process starts the container: it has a name, by which it is
                               * removed */
    bool has_user_namespaces; /* who is not root needs --userns to stay the same user inside */
    bool is_behind;           /* the words for the mounts come behind the user's, not before */
    bool is_mount_two;        /* source and target of a mount are two words */
    const char *const *fixed; /* words that are always needed; their gaps: container_command.c */
    const char *mount;        /* the option that mounts a directory */
    const char *device;       /* … that gives a device; NULL: all devices are there */
    const char *end;          /* the word between the image and the program, or NULL */
    const char *const *own;   /* directories of the host that the program mounts, besides */
    const char *writable;     /* an option with which missing directories are made, or NULL */
    const char *const *refused; /* the user's words that would part the ranks from each other */
    const char *const *removal; /* the verb and the options that remove a container, or NULL */
};

/* Finds the row by the first of the user's words (NULL-terminated), and checks the others.
 * ML_ERR_ARGUMENT: it is none of the programs, its verb or its image is missing, or a word would
 * part ranks from each other. */
int container_program_find(const struct container_program **out, char *const *words,
                           struct fault *why);

/* The index behind which options of the program come: that of its verb, or of its name. */
int container_program_verb(const struct container_program *p, char *const *words);

/* The image, for sentences: the last word, or what bwrap mounts at "/". */
const char *container_program_image(const struct container_program *p, char *const *words);

/* The directory of this host that is the image and cannot be written; NULL: it is none. */
const char *container_program_directory(const struct container_program *p, char *const *words);

#endif
