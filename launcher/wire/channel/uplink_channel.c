/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/uplink_channel.h"

#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/uplink/uplink_hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct uplink_channel {
    struct channel base;
    struct uplink_hub *hub;
    int index;
    channel_ready_fn *ready;
    void *arg;
};

static void on_ready(int fd, const struct fault *why, void *arg)
{
    struct uplink_channel *c = arg;

    c->base.fd = fd;
    c->ready(&c->base, why, c->arg);
}

static void uplink_exit_reason(struct channel *base, char *text, size_t size)
{
    const struct uplink_channel *c = (const struct uplink_channel *)base;
    const char *reason = uplink_hub_reason(c->hub, c->index);

    snprintf(text, size, "%s", *reason ? reason : "its agent has closed the channel");
}

static void uplink_close(struct channel *base)
{
    struct uplink_channel *c = (struct uplink_channel *)base;

    uplink_hub_hang_up(c->hub, c->index);
    if (base->fd >= 0)
        close(base->fd);
    free(c);
}

static const struct channel_ops uplink_ops = {uplink_exit_reason, uplink_close, false};

int uplink_channel_open(struct channel **out, const struct host *host,
                        const struct channel_config *config, channel_ready_fn *ready, void *arg,
                        struct fault *why)
{
    struct uplink_channel *c;

    if (!config->hub)
        return fault_set(why, ML_ERR_STATE, "only the mlaunch that it has joined can reach it");
    c = calloc(1, sizeof(*c));
    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *c = (struct uplink_channel){.base = {&uplink_ops, -1},
                                 .hub = config->hub,
                                 .index = host->join_index,
                                 .ready = ready,
                                 .arg = arg};
    *out = &c->base;
    uplink_hub_reach(c->hub, c->index, on_ready, c);
    return 0;
}
