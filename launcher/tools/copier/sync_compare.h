/* SPDX-License-Identifier: MIT */
/* sync_compare.h: compares a host's files with the list, and reports what differs. */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_COMPARE_H
#define LAUNCHER_TOOLS_COPIER_SYNC_COMPARE_H

#include "launcher/tools/copier/sync_copy.h"

/* Fills c->differs, and sends DIFFERS, PART and LOOKED. ML_ERR_MEMORY. */
int sync_compare_run(struct sync_copy *c, uint32_t round, struct fault *why);

#endif
