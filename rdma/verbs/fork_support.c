/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/fork_support.h"

#include <dlfcn.h>

enum { FORK_UNNEEDED = 2 /* IBV_FORK_UNNEEDED */ };

/* The question is looked up, because older versions of libibverbs have neither it nor its words.
 * Then this module is compiled, and loaded, with all of them. */
bool fork_support_is_given(void)
{
    int (*ask)(void);

    *(void **)&ask = dlsym(RTLD_DEFAULT, "ibv_is_fork_initialized");
    return ask && ask() == FORK_UNNEEDED;
}
