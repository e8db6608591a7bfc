/* SPDX-License-Identifier: MIT */
#include "launcher/agent/keeper/keeper_child.h"

#include "common/net/job_file.h"
#include "launcher/agent/children/worker_child_linux.h"
#include "launcher/agent/keeper/keeper_serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    STRANGERS = 64, /* connections besides one of each rank */
    EXHAUSTED_MS = 100,
};

/* The child's. */
static struct {
    struct keeper_job job;
    atomic_int visits;
} keeper;

static void *visit_run(void *arg)
{
    keeper_serve(&keeper.job, (int)(intptr_t)arg);
    atomic_fetch_sub(&keeper.visits, 1);
    return NULL;
}

static void visit_begin(int fd)
{
    pthread_t thread;

    if (atomic_fetch_add(&keeper.visits, 1) >= keeper.job.size + STRANGERS ||
        pthread_create(&thread, NULL, visit_run, (void *)(intptr_t)fd)) {
        atomic_fetch_sub(&keeper.visits, 1);
        close(fd);
        return;
    }
    pthread_detach(thread);
}

_Noreturn static void child_run(int listener)
{
    struct pollfd p = {WORKER_CHILD_FD, POLLIN, 0};

    worker_child_begin(listener);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = poll(&p, 1, -1) > 0 ? address_accept(WORKER_CHILD_FD) : -1;

        if (fd >= 0)
            visit_begin(fd);
        else if (address_is_exhausted(errno))
            poll(NULL, 0, EXHAUSTED_MS);
    }
}

/* Before the fork, because the child of a process that has threads should not allocate at once. */
static int job_copy(const struct job_spec *job, const char *dir, struct fault *why)
{
    keeper.job = (struct keeper_job){.dir = strdup(dir),
                                     .job = strdup(job->job),
                                     .size = job->size + (job->options.elastic ? JOB_GROW_MOST : 0),
                                     .is_secure = job->options.secure};
    memcpy(keeper.job.secret, job->secret, sizeof(keeper.job.secret));
    return keeper.job.dir && keeper.job.job ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

static void job_clear(void)
{
    free(keeper.job.dir);
    free(keeper.job.job);
    explicit_bzero(&keeper.job, sizeof(keeper.job));
}

int keeper_child_start(pid_t *pid, char address[ADDRESS_TEXT], const struct job_spec *job,
                       const char *dir, const char *ip, struct fault *why)
{
    struct address bound;
    int listener = -1, rc = job_copy(job, dir, why);

    if (!rc)
        rc = address_listen(ip, 0, BACKLOG, &listener, &bound, why);
    if (!rc) {
        address_format(&bound, address);
        *pid = fork();
        if (*pid == 0)
            child_run(listener);
        if (*pid < 0) {
            *pid = 0;
            rc = fault_os(why, ML_ERR_SYSTEM, errno,
                          "cannot start the process that holds copies for other hosts");
        }
    }
    if (listener >= 0)
        close(listener);
    job_clear();
    return rc;
}

void keeper_child_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
