/* SPDX-License-Identifier: MIT */
/*
 * ssh_module.h: what mlaunch-ssh.so offers to mlaunch, which opens it when the first host needs SSH: to load
 * libssh and libcrypto takes longer than to run a job here. The module has its own copy of common/, so its
 * log is told to pass everything on.
 */
#ifndef LAUNCHER_CHANNEL_SSH_MODULE_H
#define LAUNCHER_CHANNEL_SSH_MODULE_H

#include "common/log.h"
#include "launcher/channel/channel.h"

struct ssh_module {
    const char *build; /* compared before anything else of it is used */
    void (*log_open)(const char *program, enum log_level level);
    void (*log_to)(void (*sink)(enum log_level level, const char *text, void *arg), void *arg);
    int (*open)(struct channel **out, const struct host *host, const struct channel_config *config,
                channel_ready_fn *ready, void *arg, struct fault *why);
};

/* Its one export. */
#define SSH_MODULE_SYMBOL "mlaunch_ssh_module"
extern const struct ssh_module mlaunch_ssh_module;

/* channel_open_ssh's work, in the module. */
int remote_channel_open(struct channel **out, const struct host *host,
                        const struct channel_config *config, channel_ready_fn *ready, void *arg,
                        struct fault *why);

#endif
