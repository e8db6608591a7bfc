/* SPDX-License-Identifier: MIT */
/* local_channel.c: the agent of this machine, a child on a socketpair. Its stderr is ours. */
#include "launcher/channel/channel_ops.h"
#include "launcher/process/stream_child.h"
#include "launcher/protocol/agent_end.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EPITAPH_WAIT_MS = 200 /* from the end of the stream to the agent's exit */ };

struct local_channel {
    struct channel base;
    pid_t pid;   /* 0 once reaped */
    int process; /* a pidfd, or -1 */
    int status;
};

static void local_reap(struct local_channel *l)
{
    if (l->pid && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
        l->pid = 0;
}

static void local_epitaph(struct channel *c, char *text, size_t size)
{
    struct local_channel *l = (struct local_channel *)c;
    struct pollfd p = {.fd = l->process, .events = POLLIN};

    if (l->pid && l->process >= 0)
        while (poll(&p, 1, EPITAPH_WAIT_MS) < 0 && errno == EINTR)
            ;
    local_reap(l);
    if (l->pid)
        snprintf(text, size, "the agent (pid %d) has closed its stream but still runs",
                 (int)l->pid);
    else if (WIFSIGNALED(l->status))
        agent_end_describe(text, size, 0, sigabbrev_np(WTERMSIG(l->status)), "");
    else
        agent_end_describe(text, size, WEXITSTATUS(l->status), NULL, "");
}

static void local_close(struct channel *c)
{
    struct local_channel *l = (struct local_channel *)c;

    if (c->fd >= 0)
        close(c->fd);
    if (l->process >= 0)
        close(l->process);
    local_reap(
        l); /* if it still runs: it ends by itself now, and is reaped when mlaunch has ended */
    free(l);
}

static const struct channel_ops local_ops = {local_epitaph, local_close};

int channel_open_local(struct channel **out, const struct channel_config *config,
                       channel_ready_fn *ready, void *arg, struct fault *why)
{
    const char *agent = config->agent ? config->agent : config->local_agent;
    char *argv[] = {(char *)agent, "--build", (char *)config->build, NULL};
    struct local_channel *l = calloc(1, sizeof(*l));
    struct fault none = {0};
    struct stream_child child;
    int rc;

    if (!l)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = stream_child_start(&child, argv, environ, false, why);
    if (rc) {
        free(l);
        return rc;
    }
    l->base = (struct channel){&local_ops, child.fd};
    l->pid = child.pid;
    l->process = pidfd_open(child.pid, 0);
    *out = &l->base;
    ready(*out, &none, arg);
    return 0;
}
