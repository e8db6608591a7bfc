/* SPDX-License-Identifier: MIT */
/* channel_ops.h: what a carrier of channel.h brings. */
#ifndef LAUNCHER_CHANNEL_CHANNEL_OPS_H
#define LAUNCHER_CHANNEL_CHANNEL_OPS_H

#include "launcher/channel/channel.h"

struct channel_ops {
    void (*epitaph)(struct channel *c, char *text, size_t size);
    void (*close)(struct channel *c);
};

/* First member of each carrier's own struct. */
struct channel {
    const struct channel_ops *ops;
    int fd; /* mlaunch's end of the stream; -1 until there is one */
};

#endif
