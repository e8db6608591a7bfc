/* SPDX-License-Identifier: MIT */
/*
 * sync_session.h: one run of mlaunch sync: opens a channel to each host, and gives them the files
 * (sync_chains.h).
 */
#ifndef LAUNCHER_TOOLS_SYNC_SYNC_SESSION_H
#define LAUNCHER_TOOLS_SYNC_SYNC_SESSION_H

#include "launcher/run/spread/sync_chains.h"
#include "launcher/wire/channel/channel_config.h"

/* Runs until each host is DONE (LOOKED if only compared, WAITING with git) or LOST; `hosts` were
 * opened. *lost counts the files that could not be read here. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int sync_session_run(struct sync_host *hosts, int count, const struct sync_source *source,
                     const struct sync_settings *settings, const struct channel_config *config,
                     uint64_t *lost, struct fault *why);

#endif
