/* SPDX-License-Identifier: MIT */
#include "launcher/commands/exec_host.h"

#include "common/status.h"
#include "launcher/run/job/job.h"
#include "launcher/run/round/job_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The child's life. The parent's handlers of signals are not for it. */
static _Noreturn void child_run(struct event_base *base, struct plan *p, int rank, pid_t parent,
                                const int fds[2], const sigset_t *mask)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    char id[JOB_ID_SIZE];
    struct fault why;
    int status;

    for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++)
        signal(handled[i], SIG_DFL);
    event_reinit(base); /* parts it from the parent's, before it is freed */
    event_base_free(base);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (getppid() != parent || dup2(fds[0], STDOUT_FILENO) < 0 || dup2(fds[1], STDERR_FILENO) < 0)
        _exit(STATUS_OURS);
    plan_keep_rank(p, rank);
    status = job_identity_name(id, &why) ? STATUS_OURS : job_run(p, id, NULL);
    plan_destroy(p);
    fflush(stdout);
    _exit(status);
}

static int pipes_open(int from[2], int to[2])
{
    int ends[2];

    for (int i = 0; i < 2; i++) {
        if (pipe2(ends, O_CLOEXEC))
            return -1;
        from[i] = ends[0];
        to[i] = ends[1];
        if (fcntl(from[i], F_SETFL, O_NONBLOCK))
            return -1;
    }
    return 0;
}

static void fds_close(int fds[2])
{
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

int exec_host_start(struct exec_host *h, struct event_base *base, struct plan *p,
                    event_callback_fn on_bytes, struct fault *why)
{
    const char *name = plan_host(p, p->ranks[h->rank].host)->name;
    int to[2] = {-1, -1};
    pid_t self = getpid();
    sigset_t all, old;
    int rc = 0;

    h->fds[0] = h->fds[1] = -1;
    if (pipes_open(h->fds, to))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make pipes for host %s", name);
    for (int i = 0; i < 2 && !rc; i++) {
        h->events[i] = event_new(base, h->fds[i], EV_READ | EV_PERSIST, on_bytes, h);
        if (!h->events[i] || event_add(h->events[i], NULL))
            rc = fault_set(why, ML_ERR_SYSTEM, "cannot watch the output of host %s", name);
    }
    if (!rc) {
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &old); /* none may run the parent's handlers in the child */
        h->pid = fork();
        if (h->pid == 0)
            child_run(base, p, h->rank, self, to, &old);
        if (h->pid < 0)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot start a process for host %s", name);
        sigprocmask(SIG_SETMASK, &old, NULL);
    }
    fds_close(to);
    if (!rc)
        return 0;
    h->pid = 0;
    exec_host_close(h, 1);
    exec_host_close(h, 2);
    return rc;
}

void exec_host_close(struct exec_host *h, int stream)
{
    if (h->events[stream - 1])
        event_free(h->events[stream - 1]);
    h->events[stream - 1] = NULL;
    if (h->fds[stream - 1] >= 0)
        close(h->fds[stream - 1]);
    h->fds[stream - 1] = -1;
}
