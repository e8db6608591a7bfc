/* SPDX-License-Identifier: MIT */
/* sync_source.h: what is to be copied: the PATHs of this machine with all that is in them. */
#ifndef LAUNCHER_SYNC_SYNC_SOURCE_H
#define LAUNCHER_SYNC_SYNC_SOURCE_H

#include "launcher/tree/tree_list.h"

#include <stdbool.h>

struct sync_path {
    char *directory, *name; /* here */
    const char *target;     /* the directory on the hosts: --to, or that here */
};

struct sync_source {
    struct sync_path *paths;
    int count;
    struct tree_list list;
    uint64_t bytes; /* of all files */
    uint8_t key[TREE_KEY];
};

/* Finds where `path` is, and adds it. `to` may be NULL, and is kept by reference. ML_ERR_ARGUMENT
 * says what is wrong with it. */
int sync_source_add(struct sync_source *s, const char *path, const char *to, struct fault *why);

/* Makes the secret of the run, as sync_source_scan() does. ML_ERR_SYSTEM. */
int sync_source_secret(struct sync_source *s, struct fault *why);

/* Lists all that is in the PATHs, but for what is excluded, and reads the contents if `is_hashed`.
 * Sockets, pipes and devices are left out with a warning. ML_ERR_SYSTEM names what cannot be
 * read. */
int sync_source_scan(struct sync_source *s, char *const *exclude, bool is_hashed,
                     struct fault *why);
void sync_source_clear(struct sync_source *s);

/* Opens a file of the list, which may have been changed since then. -1 with errno. */
int sync_source_open(const struct sync_source *s, uint32_t index);
/* Writes the entry's path into `out`, here or on the hosts. */
void sync_source_show(const struct sync_source *s, int path, const char *below, bool is_there,
                      char *out, size_t size);

#endif
