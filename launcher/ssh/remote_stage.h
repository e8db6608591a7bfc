/* SPDX-License-Identifier: MIT */
/* remote_stage.h: copies this build's agent, shim and runtime to a host. */
#ifndef LAUNCHER_SSH_REMOTE_STAGE_H
#define LAUNCHER_SSH_REMOTE_STAGE_H

#include "launcher/channel/channel_config.h"
#include "launcher/ssh/remote_session.h"

#include <stdbool.h>

/* Copies over SFTP into HOME/.cache/mlaunch/BUILD/ (0700). Each file is created under a temporary
 * name with O_EXCL and then renamed, the agent last, so that simultaneous jobs, and hosts that
 * share a home directory, see whole files or none. An existing file that is usable and has the
 * right size is kept, unless `distrust` is set, because the agent found there is of another build.
 * A failure leaves no partial file behind. ML_ERR_* names file or directory and the reason. */
int remote_stage(struct remote_session *s, const char *home, bool distrust,
                 const struct channel_config *config, struct fault *why);

#endif
