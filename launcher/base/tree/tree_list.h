/* SPDX-License-Identifier: MIT */
/*
 * tree_list.h: what a tree holds: its directories, files and links, each directory before what is
 * in it. The packed form, which comes from other hosts, is drawn in doc/protocol.md, "Copying
 * trees".
 */
#ifndef LAUNCHER_BASE_TREE_TREE_LIST_H
#define LAUNCHER_BASE_TREE_TREE_LIST_H

#include "common/fault.h"
#include "launcher/base/tree/tree_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tree_kind {
    TREE_DIRECTORY = 1,
    TREE_FILE,
    TREE_LINK,       /* symbolic */
    TREE_OTHER_NAME, /* a hard link to a file that comes before */
};

enum {
    TREE_PATH_MOST = 4000, /* bytes of a path, or of a link's target */
    TREE_NAME_MOST = 255,  /* one name in it */
    TREE_ENTRIES_MOST = 50000000,
    TREE_DEPTH_MOST = TREE_PATH_MOST / 2,       /* directories below one another in a path */
    TREE_PACKED_MOST = 80 + 2 * TREE_PATH_MOST, /* bytes of a packed entry */
};

struct tree_entry {
    enum tree_kind kind;
    bool is_sparse, has_hash;
    uint16_t root;   /* which PATH it belongs to */
    uint32_t mode;   /* permissions */
    int64_t seconds; /* when it was modified */
    uint32_t nanoseconds;
    uint64_t size;           /* a file's */
    uint32_t first;          /* for TREE_OTHER_NAME: index of the file */
    uint8_t hash[TREE_HASH]; /* the contents', if has_hash */
    char *path;              /* "NAME" or "NAME/…", without "." and ".." */
    char *target;            /* for TREE_LINK, else "" */
};

/* All zero is an empty list. */
struct tree_list {
    struct tree_entry *entries;
    uint32_t count, room;
    uint32_t last_directory; /* 1 + index; 0: none */
};

/* Adds a copy, once it is known to be in order: a path that leaves nothing, below a directory that
 * the list has. ML_ERR_REFUSED names what is wrong; ML_ERR_MEMORY. */
int tree_list_add(struct tree_list *l, const struct tree_entry *e, int roots, struct fault *why);
void tree_list_clear(struct tree_list *l);

/* Packs an entry into `out`, which has TREE_PACKED_MOST bytes; returns their number. */
size_t tree_list_pack(const struct tree_entry *e, uint8_t *out);
/* Adds the packed entry at `bytes`, and stores its size. ML_ERR_REFUSED, ML_ERR_MEMORY. */
int tree_list_unpack(struct tree_list *l, const uint8_t *bytes, size_t size, size_t *used,
                     int roots, struct fault *why);

/* Whether it is one name: not empty, ".", "..", too long or with a slash. */
bool tree_list_is_name(const char *name);

#endif
