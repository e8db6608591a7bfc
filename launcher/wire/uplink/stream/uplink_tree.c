/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/stream/uplink_tree.h"

/* The head's children are the places 0 to N - 1, those of place p are N (p + 1) to N (p + 1) +
 * N - 1. */
int uplink_tree_parent(const struct uplink_tree *t, int index)
{
    int place = index - t->first;

    return t->fanout == 0 || place < t->fanout ? UPLINK_HEAD : t->first + place / t->fanout - 1;
}

bool uplink_tree_has_children(const struct uplink_tree *t, int index)
{
    return t->fanout > 0 && (long)t->fanout * (index - t->first + 1) < t->count - t->first;
}

int uplink_tree_child_towards(const struct uplink_tree *t, int above, int index)
{
    int parent;

    if (index < t->first || index >= t->count)
        return -1;
    while ((parent = uplink_tree_parent(t, index)) != above && parent != UPLINK_HEAD)
        index = parent;
    return parent == above ? index : -1;
}

bool uplink_tree_is_within(const struct uplink_tree *t, int top, int index)
{
    return index == top || uplink_tree_child_towards(t, top, index) >= 0;
}

int uplink_tree_width(const struct uplink_tree *t)
{
    return t->fanout ? t->fanout : t->count - t->first;
}

int uplink_tree_slot(const struct uplink_tree *t, int index)
{
    return t->fanout ? (index - t->first) % t->fanout : index - t->first;
}
