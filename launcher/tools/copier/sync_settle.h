/* SPDX-License-Identifier: MIT */
/* sync_settle.h: all that is no file's contents: directories, links, modes and times, and the
 * deletion of what should not be there. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_SETTLE_H
#define LAUNCHER_TOOLS_COPIER_SYNC_SETTLE_H

#include "launcher/tools/copier/sync_copy.h"

/* Before the files come: deletes what must be deleted, and makes directories. ML_ERR_MEMORY; all
 * else that fails is reported. */
int sync_settle_before(struct sync_copy *c, struct fault *why);
/* After they have come: links, then modes and times. */
void sync_settle_after(struct sync_copy *c);

#endif
