/* SPDX-License-Identifier: MIT */
/* remote_command.h: one process at the far end of an SSH session: its standard streams, its end. */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_COMMAND_H
#define LAUNCHER_WIRE_SSH_REMOTE_COMMAND_H

#include "launcher/base/process/last_words.h"
#include "launcher/wire/ssh/remote_session.h"

#include <libssh/callbacks.h>
#include <stdbool.h>

struct remote_command {
    struct remote_session *session;
    ssh_channel channel;     /* owned; NULL: not started */
    struct last_words words; /* from its stderr */
    int status;              /* -1: unknown */
    char signal[16];         /* "KILL", or "" */
    struct ssh_channel_callbacks_struct callbacks;
};

/* Asks sshd to run `line` by the user's login shell. `c` must not move until remote_command_close.
 * ML_ERR_REFUSED: sshd opens no session or runs no commands; otherwise as remote_session_wait. */
int remote_command_start(struct remote_command *c, struct remote_session *s, const char *line,
                         struct fault *why);

/* Reads what has arrived of its stdout, without waiting, and collects stderr meanwhile. Returns the
 * number of bytes, 0 if there are none now, REMOTE_COMMAND_ENDED, or an ML_ERR_*. */
enum { REMOTE_COMMAND_ENDED = -1000 };
int remote_command_read(struct remote_command *c, char *out, size_t size, struct fault *why);

/* After its end, waits up to 0.5 s for its status, which sshd sends separately. Changes the
 * session's deadline. */
void remote_command_reap(struct remote_command *c);

void remote_command_close(struct remote_command *c); /* takes one that never started */

#endif
