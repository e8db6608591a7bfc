/* SPDX-License-Identifier: MIT */
/* channel_ops.h: what a carrier of channel.h implements. */
#ifndef LAUNCHER_WIRE_CHANNEL_CHANNEL_OPS_H
#define LAUNCHER_WIRE_CHANNEL_CHANNEL_OPS_H

#include "launcher/wire/channel/channel_config.h"

#include <stdbool.h>
#include <stddef.h>

/* The calls of channel.h with the same names. */
struct channel_ops {
    void (*exit_reason)(struct channel *c, char *text, size_t size);
    void (*close)(struct channel *c);
    bool keeps_fd; /* the channel itself uses the socket, too */
};

/* First member of each carrier's own struct. */
struct channel {
    const struct channel_ops *ops;
    int fd; /* mlaunch's end of the socket; -1 until there is one */
};

#endif
