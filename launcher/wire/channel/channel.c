/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/channel.h"

#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/channel/command_channel.h"
#include "launcher/wire/channel/head_channel.h"
#include "launcher/wire/channel/local_channel.h"
#include "launcher/wire/channel/module_channel.h"
#include "launcher/wire/channel/uplink_channel.h"

#include <fcntl.h>

int channel_open(struct channel **out, const struct host *host, const struct channel_config *config,
                 channel_ready_fn *ready, void *arg, struct fault *why)
{
    enum launch_method method = host->launch_method;

    /* With --fanout srun and --agent-command start agents that call the hub. */
    if (config->hub && (method == LAUNCH_METHOD_SRUN || method == LAUNCH_METHOD_COMMAND))
        method = LAUNCH_METHOD_JOIN;
    switch (method) {
    case LAUNCH_METHOD_LOCAL:
        return local_channel_open(out, config, ready, arg, why);
    case LAUNCH_METHOD_SSH:
        return module_channel_open(out, host, config, ready, arg, why);
    case LAUNCH_METHOD_HEAD:
        return head_channel_open(out, host, ready, arg, why);
    case LAUNCH_METHOD_JOIN:
        return uplink_channel_open(out, host, config, ready, arg, why);
    default:
        return command_channel_open(out, host, config, ready, arg, why);
    }
}

int channel_fd(const struct channel *c)
{
    return c->fd;
}

int channel_take_fd(struct channel *c)
{
    int fd = c->fd;

    if (c->ops->keeps_fd)
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    c->fd = -1;
    return fd;
}

void channel_exit_reason(struct channel *c, char *text, size_t size)
{
    c->ops->exit_reason(c, text, size);
}

void channel_close(struct channel *c)
{
    if (c)
        c->ops->close(c);
}
