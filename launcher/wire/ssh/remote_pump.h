/* SPDX-License-Identifier: MIT */
/* remote_pump.h: carries bytes between a command on a host and a local stream socket. */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_PUMP_H
#define LAUNCHER_WIRE_SSH_REMOTE_PUMP_H

#include "launcher/wire/ssh/remote_command.h"

/*
 * Copies the command's stdout to `fd` (after `first`) and `fd` to its stdin, until the command has
 * ended, the connection breaks or the channel is being closed. Each direction holds at most one
 * block that the other side has not taken, plus the sender's window (SSH's, the socket's), so
 * memory stays bounded. The end of file of one side is passed on to the other. On return, all bytes
 * of the command have been written to `fd`, unless its reader has gone. 0: the command has closed
 * its stdout; ML_ERR_LINK: the connection broke; ML_ERR_STATE: the channel is being closed.
 */
int remote_pump(struct remote_command *c, int fd, const char *first, size_t first_size,
                struct fault *why);

#endif
