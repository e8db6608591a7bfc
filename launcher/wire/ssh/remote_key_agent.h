/* SPDX-License-Identifier: MIT */
/*
 * remote_key_agent.h: the user's ssh-agent, key by key. libssh offers either all keys of an agent
 * or none, so it is given a socket of ours: a thread answers there with the one key that is to be
 * offered, and passes on all else to the agent.
 */
#ifndef LAUNCHER_WIRE_SSH_REMOTE_KEY_AGENT_H
#define LAUNCHER_WIRE_SSH_REMOTE_KEY_AGENT_H

#include "launcher/wire/ssh/reach/remote_config.h"
#include "launcher/wire/ssh/reach/remote_wait.h"

#include <stdbool.h>

struct remote_key_agent; /* with its keys, in its order */

/* Connects, as IdentityAgent of ssh_config says, and asks for its keys. *out NULL: there is no
 * agent, or none is to be used; if one was expected, `missing` says what was tried and why it
 * failed (else ""). ML_ERR_TIMEOUT, ML_ERR_STATE as remote_wait_for(); ML_ERR_MEMORY,
 * ML_ERR_SYSTEM. */
int remote_key_agent_open(struct remote_key_agent **out, const struct remote_config *c,
                          const struct remote_wait *wait, char *missing, size_t size,
                          struct fault *why);

int remote_key_agent_count(const struct remote_key_agent *a); /* 0 for NULL */
/* The public part of a key, as in files: base64. */
const char *remote_key_agent_public(const struct remote_key_agent *a, int key);

/* The agent's socket, for a watch (remote_watch_begin). */
int remote_key_agent_socket(const struct remote_key_agent *a);
/* A socket for libssh, which closes it; the thread serves it until it is closed. -1 with errno. */
int remote_key_agent_serve(struct remote_key_agent *a);
/* From now on this is the agent's only key. */
void remote_key_agent_choose(struct remote_key_agent *a, int key);

void remote_key_agent_close(struct remote_key_agent *a); /* takes NULL */

#endif
