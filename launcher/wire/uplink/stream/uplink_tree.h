/* SPDX-License-Identifier: MIT */
/*
 * uplink_tree.h: which host calls which: all of them the head, or with --fanout N only the first N,
 * and the others a host with a smaller index, at most N each. Everybody computes it.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_TREE_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_TREE_H

#include <stdbool.h>

enum { UPLINK_HEAD = -1, UPLINK_FANOUT_MOST = 1024 };

struct uplink_tree {
    int fanout;       /* 0: all hosts call the head */
    int first, count; /* the indices that call: first to count - 1 */
};

/* The host above, or UPLINK_HEAD. `index` is one of those that call. */
int uplink_tree_parent(const struct uplink_tree *t, int index);
bool uplink_tree_has_children(const struct uplink_tree *t, int index);
/* The child of `above` that leads to `index`, maybe `index` itself. -1: none does. Any `index` is
 * allowed. */
int uplink_tree_child_towards(const struct uplink_tree *t, int above, int index);
/* `index` is `top`, or below it. Any `index` is allowed. */
bool uplink_tree_is_within(const struct uplink_tree *t, int top, int index);
/* How many children one parent has at most, and the place of a child among them, from 0. */
int uplink_tree_width(const struct uplink_tree *t);
int uplink_tree_slot(const struct uplink_tree *t, int index);

#endif
