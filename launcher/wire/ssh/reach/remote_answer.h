/* SPDX-License-Identifier: MIT */
/*
 * remote_answer.h: what ssh -G has printed about a host, as a configuration. One table has each
 * keyword that ssh prints: obeyed, without effect here, or refused where leaving it out would be
 * laxer than ssh or lead elsewhere. doc/ssh.md is that table for users.
 */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_ANSWER_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_ANSWER_H

#include "launcher/wire/ssh/reach/remote_config.h"

/* Fills `c`, of which name and file are set. `defaults`: what ssh -G prints without any
 * configuration; lists of algorithms that are as there count as not set. NULL: all count so.
 * ML_ERR_ARGUMENT: a keyword that is refused, or no answer of ssh's. */
int remote_answer_read(struct remote_config *c, const char *text, const char *defaults,
                       struct fault *why);

/* Where there is no ssh: the host's own name, and what ssh has by default. */
int remote_answer_none(struct remote_config *c, const char *user, int port, struct fault *why);

/* The value of the first line of an answer with that keyword, in small letters, and its length;
 * NULL: there is none. */
const char *remote_answer_value(const char *text, const char *keyword, size_t *length);

#endif
