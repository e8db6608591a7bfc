/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/local_channel.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/signal_text.h"
#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/protocol/agent_end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_WAIT_MS = 200 /* from the end of the socket to the agent's exit */ };

struct local_channel {
    struct channel base;
    pid_t pid;   /* 0 once reaped */
    int process; /* a pidfd, or -1 */
    int status;  /* as waitpid gives it, once reaped */
};

static void local_reap(struct local_channel *l)
{
    if (l->pid && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
        l->pid = 0;
}

static void local_exit_reason(struct channel *c, char *text, size_t size)
{
    struct local_channel *l = (struct local_channel *)c;
    struct pollfd p = {.fd = l->process, .events = POLLIN};

    if (l->pid && l->process >= 0)
        while (poll(&p, 1, EXIT_WAIT_MS) < 0 && errno == EINTR)
            ;
    local_reap(l);
    if (l->pid)
        snprintf(text, size, "the agent (pid %d) has closed its channel but still runs",
                 (int)l->pid);
    else if (WIFSIGNALED(l->status)) /* real-time signals have no name */
        agent_end_describe(text, size, STATUS_SIGNAL + WTERMSIG(l->status),
                           signal_text_name(WTERMSIG(l->status)), "");
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
    /* An agent that still runs ends by itself now; init reaps it once mlaunch has ended. One that
     * has been stopped is woken up first: its guard then ends its worker, stopped or not, and the
     * ranks. */
    local_reap(l);
    if (l->pid)
        kill(l->pid, SIGCONT);
    free(l);
}

static const struct channel_ops local_ops = {local_exit_reason, local_close, false};

int local_channel_open(struct channel **out, const struct channel_config *config,
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
    l->process = pidfd_linux_open(child.pid);
    log_debug("agent %s started on this machine as pid %d", agent, (int)child.pid);
    *out = &l->base;
    ready(*out, &none, arg);
    return 0;
}
