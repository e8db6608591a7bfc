/* SPDX-License-Identifier: MIT */
/* remote_stage.h: copies this build's agent, shim and runtime to a host. */
#ifndef LAUNCHER_SSH_REMOTE_STAGE_H
#define LAUNCHER_SSH_REMOTE_STAGE_H

#include "launcher/channel/channel.h"
#include "launcher/ssh/remote_session.h"

/* Over SFTP into HOME/.cache/mlaunch/BUILD/ (0700). Each file under a temporary name, created with O_EXCL, then
 * renamed, the agent last: jobs at the same time, and homes that hosts share, see whole files or none. A
 * file that is there, usable and of the right size, is left alone, unless `distrust`: then what is there was
 * run and said that it was another build. A failure leaves no half file behind. */
int remote_stage(struct remote_session *s, const char *home, bool distrust,
                 const struct channel_config *config, struct fault *why);

#endif
