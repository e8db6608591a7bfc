/* SPDX-License-Identifier: MIT */
/*
 * door.h: where other ranks connect to this process. A thread that waits in any call, of whatever
 * group, answers them, because the group that they want may have no thread in a call now.
 */
#ifndef RUNTIME_GROUP_DOOR_H
#define RUNTIME_GROUP_DOOR_H

#include "common/fault.h"

struct group;

struct door {
    int fd; /* to poll: readable when `look` is due */
    /* Goes on with all connections that can go on, without waiting. `looker` is the caller's group,
     * whose bell is not rung. Any thread. ML_ERR_SYSTEM: nothing can be accepted. */
    int (*look)(struct door *d, const struct group *looker, struct fault *why);
    void (*close)(struct door *d); /* once no group is left */
};

#endif
