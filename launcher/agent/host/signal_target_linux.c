/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/signal_target_linux.h"

enum { DEPTH_MOST = 64 };

/* The only child that lives; 0: there is none, or more than one. */
static pid_t only_child(const struct process_list *all, pid_t parent)
{
    pid_t found = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct process *p = &all->list[i];

        if (p->parent != parent || p->has_ended)
            continue;
        if (found)
            return 0;
        found = p->pid;
    }
    return found;
}

pid_t signal_target_find(const struct process_list *all, pid_t rank, int signal)
{
    pid_t at = rank;

    for (int depth = 0; at && depth < DEPTH_MOST; depth++) {
        if (process_catches(at, signal))
            return at;
        at = only_child(all, at);
    }
    return rank;
}
