/* SPDX-License-Identifier: MIT */
/*
 * remote_share.h: what ssh_config says about a host, by the only reader of it there is: the ssh
 * program. It is asked once for all hosts that the files do not tell apart (remote_alike.h), by
 * whichever channel's thread comes first; the others wait for its answer. Where there is no ssh,
 * the host's own name and ssh's defaults count, and a configuration that exists is refused.
 */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_SHARE_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_SHARE_H

#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/ssh/reach/remote_config.h"
#include "launcher/wire/ssh/reach/remote_wait.h"

/* `file`: as ssh -F; "none": no file; NULL: ssh's own files. The user and the port of `host` have
 * precedence over the files'. Freed with remote_config_destroy(). Errors as remote_ask() and
 * remote_answer_read(). Any thread may call. */
int remote_share_config(struct remote_config **out, const struct host *host, const char *file,
                        const struct remote_wait *wait, struct fault *why);

#endif
