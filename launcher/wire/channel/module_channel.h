/* SPDX-License-Identifier: MIT */
/*
 * module_channel.h: mlaunch-ssh.so, which mlaunch opens when the first host needs SSH, because
 * loading libssh and libcrypto takes longer than running a job on this machine. The module has its
 * own copy of common/, so its log passes every line on to mlaunch's.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_MODULE_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_MODULE_CHANNEL_H

#include "common/log.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

struct channel_module {
    const char *build; /* compared before any other member is used */
    void (*log_open)(const char *program, enum log_level level);
    void (*log_to)(void (*sink)(enum log_level level, const char *text, void *arg), void *arg);
    int (*open)(struct channel **out, const struct host *host, const struct channel_config *config,
                channel_ready_fn *ready, void *arg, struct fault *why);
};

/* The module's one export (launcher/wire/ssh/remote_channel.c). */
#define CHANNEL_MODULE_SYMBOL "mlaunch_ssh_module"
extern const struct channel_module mlaunch_ssh_module;

/* Loads the module if that has not been done yet, and starts to connect to `host` over SSH in a
 * thread of its own: resolve the name, connect, check the host key, log in, find or copy the agent,
 * execute it. `config` and `host` must outlive the channel. Returns at once; failures of these
 * steps come through `ready`. Call it by mlaunch's main thread only. ML_ERR_SYSTEM or
 * ML_ERR_REFUSED: the module is missing, cannot be loaded or belongs to another build. */
int module_channel_open(struct channel **out, const struct host *host,
                        const struct channel_config *config, channel_ready_fn *ready, void *arg,
                        struct fault *why);

#endif
