/* SPDX-License-Identifier: MIT */
/* sync_store.h: the file that comes: it is written beside the old one, and takes its place once all
 * of it has come and been checked. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_STORE_H
#define LAUNCHER_TOOLS_COPIER_SYNC_STORE_H

#include "launcher/tools/copier/sync_copy.h"

struct sync_store {
    struct sync_copy *copy;
    int fd; /* the temporary file; -1: none is being written */
    int directory;
    const char *name; /* the entry's */
    char temporary[SYNC_TEMPORARY];
    uint32_t index;
    uint64_t at, begun; /* `at`: the end of what was written */
    struct tree_hash hash;
};

void sync_store_open(struct sync_store *s, struct sync_copy *copy);

/* A file begins, of which the bytes before `at` are there already. What fails is reported, and the
 * rest of the file is ignored. */
void sync_store_begin(struct sync_store *s, uint32_t index, uint64_t at);
void sync_store_add(struct sync_store *s, uint64_t at, const void *bytes, size_t size);
void sync_store_end(struct sync_store *s, const uint8_t hash[TREE_HASH]);
/* Leaves what has come for the next time. */
void sync_store_leave(struct sync_store *s);

#endif
