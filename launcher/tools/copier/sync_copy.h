/* SPDX-License-Identifier: MIT */
/* sync_copy.h: what the parts of mlaunch-copier share: the order, the list of files, what
 * differs, and what has been done. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_COPY_H
#define LAUNCHER_TOOLS_COPIER_SYNC_COPY_H

#include "launcher/base/tree/sync_wire.h"
#include "launcher/base/tree/tree_list.h"
#include "launcher/base/tree/tree_place.h"
#include "launcher/tools/copier/sync_control.h"

#include <sys/stat.h>

struct sync_copy {
    struct sync_control *control;
    const struct sync_order *order;
    struct tree_place *places; /* one for each root; its directory is -1 if it is not there */
    struct tree_list list;
    uint8_t *differs;               /* for each entry: bits of enum sync_difference */
    uint8_t *block;                 /* SYNC_BLOCK_MOST bytes */
    uint64_t files, bytes, deleted; /* in all rounds */
    uint64_t failed;                /* in this round: things that this host lacks */
    uint64_t at;                    /* bytes of contents that have come in this round */
};

/* Opens the directories, and makes those that are missing, unless all is only compared. They are
 * the user's own words, so links that lead there are followed. ML_ERR_SYSTEM, ML_ERR_MEMORY. */
int sync_copy_open(struct sync_copy *c, struct fault *why);

/* Reports that this host lacks something: "cannot WHAT /DIRECTORY/PATH: " and the system's word for
 * `err`, or `text` if err is 0. */
void sync_copy_fail(struct sync_copy *c, const char *what, int root, const char *path, int err,
                    const char *text);

/* tree_place_go() in the root's directory. */
int sync_copy_go(struct sync_copy *c, int root, const char *path, const char **name);

/* The name of the temporary file in whose place `name` gets what comes for it. It is the same in
 * all runs, so the next one finds what an interrupted one has left. */
enum { SYNC_TEMPORARY = 40 };
void sync_copy_temporary(char out[SYNC_TEMPORARY], const char *name);
enum { SYNC_PART_MODE = 0600 }; /* until all has come */

/* Whether `fd` is what an interrupted run has left: a plain file of the user's own, with one name
 * and closed to all others. Whoever owns the directory can move another file there, and have it
 * open if it was readable. Fills *st. */
bool sync_copy_is_part(int fd, struct stat *st);

/* Whether this entry is a file whose contents this host needs. */
bool sync_copy_needs(const struct sync_copy *c, uint32_t index);

/* Compares the host's files with the list: fills c->differs, and sends DIFFERS, PART and LOOKED.
 * ML_ERR_MEMORY. */
int sync_compare_run(struct sync_copy *c, uint32_t round, struct fault *why);

/* Settle all that is no file's contents. Before the files come: deletes what must be deleted, and
 * makes directories. ML_ERR_MEMORY; all else that fails is reported. */
int sync_settle_before(struct sync_copy *c, struct fault *why);
/* After they have come: links, then modes and times. */
void sync_settle_after(struct sync_copy *c);

#endif
