/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/head_channel.h"

#include "common/net/frame.h"
#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void head_exit_reason(struct channel *c, char *text, size_t size)
{
    (void)c;
    snprintf(text, size, "the job's mlaunch has closed the connection");
}

static void head_close(struct channel *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

static const struct channel_ops head_ops = {head_exit_reason, head_close, false};

static int door_connect(int fd, const struct host *host, struct fault *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint32_t index = htonl((uint32_t)host->join_index);

    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", host->door) >=
        (int)sizeof(address.sun_path))
        return fault_set(why, ML_ERR_SYSTEM, "the path %.120s... is too long for a socket",
                         host->door);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot ask the job's mlaunch, at %s",
                        host->door);
    return frame_send(fd, LAUNCH_DOOR, &index, sizeof(index), -1, why);
}

int head_channel_open(struct channel **out, const struct host *host, channel_ready_fn *ready,
                      void *arg, struct fault *why)
{
    struct channel *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *c =
        (struct channel){&head_ops, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    rc = c->fd < 0 ? fault_os(why, ML_ERR_SYSTEM, errno, "cannot open a socket")
                   : door_connect(c->fd, host, why);
    if (rc) {
        head_close(c);
        return rc;
    }
    *out = c;
    ready(c, &(struct fault){0}, arg);
    return 0;
}
