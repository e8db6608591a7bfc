/* SPDX-License-Identifier: MIT */
/* names_fork.c: the calls that keep a device's memory in the parent over fork(). The stand-in's
 * device is a part of the process and follows its page tables, so there is nothing to keep. */
#include <infiniband/verbs.h>

/* For providers; not in verbs.h. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int ibv_fork_init(void)
{
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}
