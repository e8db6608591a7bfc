/* SPDX-License-Identifier: MIT */
#include "launcher/channel/channel.h"

#include "launcher/channel/channel_ops.h"

int channel_open(struct channel **out, const struct host *host, const struct channel_config *config,
                 channel_ready_fn *ready, void *arg, struct fault *why)
{
    switch (host->way) {
    case HOST_IS_HERE:
        return channel_open_local(out, config, ready, arg, why);
    case HOST_BY_SSH:
        return channel_open_ssh(out, host, config, ready, arg, why);
    default:
        return channel_open_command(out, host, config, ready, arg, why);
    }
}

int channel_fd(const struct channel *c)
{
    return c->fd;
}

void channel_epitaph(struct channel *c, char *text, size_t size)
{
    c->ops->epitaph(c, text, size);
}

void channel_close(struct channel *c)
{
    if (c)
        c->ops->close(c);
}
