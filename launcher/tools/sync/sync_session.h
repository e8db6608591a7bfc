/* SPDX-License-Identifier: MIT */
/*
 * sync_session.h: one run of mlaunch sync: opens a channel to each host, makes chains of those that
 * can be reached, sends the stream, and begins a new round with those that are left when a chain
 * breaks.
 */
#ifndef LAUNCHER_TOOLS_SYNC_SYNC_SESSION_H
#define LAUNCHER_TOOLS_SYNC_SYNC_SESSION_H

#include "common/rdma_choice.h"
#include "launcher/tools/sync/sync_host.h"
#include "launcher/tools/sync/sync_source.h"
#include "launcher/wire/channel/channel_config.h"

#include <jansson.h>
#include <stdbool.h>

struct sync_settings {
    bool is_comparing; /* --check and --dry-run: nothing is written */
    bool is_checksum, is_delete, is_git, shows_progress;
    int stall_ms;         /* after which a host that does not go on is named */
    char *const *exclude; /* ends with NULL */
    json_t *wiring;       /* sync_topology.h; or NULL */
    struct rdma_choice rdma;
};

/* Runs until each host is DONE (LOOKED if only compared, WAITING with git) or LOST; `hosts` were
 * opened. *lost counts the files that could not be read here. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int sync_session_run(struct sync_host *hosts, int count, const struct sync_source *source,
                     const struct sync_settings *settings, const struct channel_config *config,
                     uint64_t *lost, struct fault *why);

#endif
