/* SPDX-License-Identifier: MIT */
#include "launcher/channel.h"

#include "launcher/channel_ops.h"

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
