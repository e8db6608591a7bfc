/* SPDX-License-Identifier: MIT */
/* remote_pump.h: carries bytes between a command on a host and a local stream socket. */
#ifndef LAUNCHER_SSH_REMOTE_PUMP_H
#define LAUNCHER_SSH_REMOTE_PUMP_H

#include "launcher/ssh/remote_command.h"

/*
 * From the command's stdout to `fd` (after `first`), from `fd` to its stdin, until the command has
 * ended, the connection is broken or the channel is being closed. Each direction holds at most one
 * block that its other side has not taken, and behind it the sender's window (SSH's, the socket's),
 * so memory stays bounded. The end of file of one side is passed on to the other. On return `fd`
 * has given its reader all there was, or is shut. 0: the command's stdout came to its end;
 * ML_ERR_*: the connection broke.
 */
int remote_pump(struct remote_command *c, int fd, const char *first, size_t first_size,
                struct fault *why);

#endif
