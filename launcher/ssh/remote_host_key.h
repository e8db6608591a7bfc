/* SPDX-License-Identifier: MIT */
/*
 * remote_host_key.h: is it the host that it claims to be? Always as with StrictHostKeyChecking yes:
 * the key must stand in one of the known_hosts files, under HostKeyAlias or the host's name.
 * Certificates of hosts
 * (@cert-authority) are not looked at.
 */
#ifndef LAUNCHER_SSH_REMOTE_HOST_KEY_H
#define LAUNCHER_SSH_REMOTE_HOST_KEY_H

#include "launcher/ssh/remote_session.h"

/* The algorithms to ask for, first those of the keys that are known; malloc'ed. Else a host that is
 * known by one key could show another. */
int remote_host_key_algorithms(char **out, const struct remote_config *c, struct fault *why);

/* 0: the key is known. ML_ERR_REFUSED: unknown, changed or revoked; with what to do. */
int remote_host_key_check(struct remote_session *s, struct fault *why);

#endif
