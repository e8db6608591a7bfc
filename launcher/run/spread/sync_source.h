/* SPDX-License-Identifier: MIT */
/* sync_source.h: what `mlaunch sync` copies, the PATHs of this machine with all that is in them. */
#ifndef LAUNCHER_RUN_SPREAD_SYNC_SOURCE_H
#define LAUNCHER_RUN_SPREAD_SYNC_SOURCE_H

#include "launcher/base/tree/tree_list.h"
#include "launcher/base/tree/tree_place.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct sync_path {
    char *directory, *name; /* here */
    const char *target;     /* the directory on the hosts: --to, or that here */
    int fd;                 /* the directory's, from the scan on; before it -1 */
};

/* Which file the scan has seen. It stays here: the hosts only know its size and time, which another
 * file may also have. */
struct sync_seen {
    dev_t device;
    ino_t inode;
    struct timespec changed; /* ctime, which nobody can set back */
};

struct sync_source {
    struct sync_path *paths;
    int count;
    struct tree_list list;
    struct sync_seen *seen; /* for each entry of the list */
    uint32_t seen_room;
    uint64_t bytes; /* all files together */
    uint8_t key[TREE_KEY];
};

/* Finds where `path` is, and adds it. `to` may be NULL, and is kept by reference. ML_ERR_ARGUMENT
 * says what is wrong with it. */
int sync_source_add(struct sync_source *s, const char *path, const char *to, struct fault *why);

/* Makes the secret of the run, as sync_source_scan() does. ML_ERR_SYSTEM. */
int sync_source_secret(struct sync_source *s, struct fault *why);

/* Lists all that is in the PATHs, but for what is excluded, and reads the contents if `is_hashed`.
 * Sockets, pipes and devices are left out with a warning. ML_ERR_SYSTEM names what cannot be
 * read; ML_ERR_ARGUMENT: a path is too long for a list. */
int sync_source_scan(struct sync_source *s, char *const *exclude, bool is_hashed,
                     struct fault *why);
void sync_source_clear(struct sync_source *s);

/* Opens what has the name of a file of the list now, without following a link below the PATH's
 * directory: others may write in the tree. `place` keeps the way there for the next file; its root
 * is -1 at first. -1 with errno, which is 0 if a link is in the way. */
int sync_source_open(const struct sync_source *s, struct tree_place *place, uint32_t index);
/* Whether `fd` is that file as the scan has seen it; only then its contents may be read. */
bool sync_source_is_unchanged(const struct sync_source *s, uint32_t index, int fd);
/* Writes the entry's path into `out`, here or on the hosts. */
void sync_source_show(const struct sync_source *s, int path, const char *below, bool is_there,
                      char *out, size_t size);

#endif
