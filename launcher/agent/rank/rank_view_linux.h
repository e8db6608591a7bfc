/* SPDX-License-Identifier: MIT */
/*
 * rank_view_linux.h: the file system as the ranks of this host see it with --mount or --stage-env:
 * one directory in the place of another. It is one mount namespace for all of them; where the agent
 * may not make one, it is in one user namespace, which all ranks must share, since the kernel lets
 * no process of one namespace read the memory of a process in another.
 */
#ifndef LAUNCHER_AGENT_RANK_RANK_VIEW_LINUX_H
#define LAUNCHER_AGENT_RANK_RANK_VIEW_LINUX_H

#include "common/fault.h"

struct rank_view;

/* `mount`: "SOURCE:DIR", both absolute and directories of this host; or "". `copy`: a directory
 * that is seen at `path`, where nothing can be written then; or NULL. ML_ERR_REFUSED: they are not
 * absolute; ML_ERR_SYSTEM: a directory is missing, or the kernel does not allow it. */
int rank_view_open(struct rank_view **out, const char *mount, const char *copy, const char *path,
                   struct fault *why);
/* The processes that have entered it keep it. Takes NULL. */
void rank_view_close(struct rank_view *v);

/* Lets the calling process, of one thread, see it; its directory is then the root. System calls
 * only. -1 with errno. */
int rank_view_enter(const struct rank_view *v);

#endif
