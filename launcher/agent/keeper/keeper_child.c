/* SPDX-License-Identifier: MIT */
#include "launcher/agent/keeper/keeper_child.h"

#include "common/net/job_file.h"
#include "common/net/stranger_limits.h"
#include "common/net/strangers.h"
#include "launcher/agent/children/worker_child_linux.h"
#include "launcher/agent/keeper/keeper_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BACKLOG = 1024, EXHAUSTED_MS = 100 };

/* The child's. */
static struct {
    struct keeper_job job;
    pthread_mutex_t lock; /* over all of the below, and what visits have of it */
    struct strangers strangers;
    int visits;
} keeper = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One connection, with a thread. */
struct keeper_visit {
    struct stranger stranger; /* until the handshake has ended */
    int fd;
    int end; /* until then: a copy of it, by which the thread is told that it has to go */
};

static void on_shaken(void *arg)
{
    struct keeper_visit *v = arg;

    pthread_mutex_lock(&keeper.lock);
    strangers_remove(&keeper.strangers, &v->stranger);
    close(v->end);
    pthread_mutex_unlock(&keeper.lock);
}

static void *visit_run(void *arg)
{
    struct keeper_visit *v = arg;
    struct pollfd p = {v->fd, POLLIN, 0};

    /* Half of its time is for the handshake. */
    if (poll(&p, 1, STRANGER_MS / 2) <= 0)
        shutdown(v->fd, SHUT_RDWR);
    pthread_mutex_lock(&keeper.lock);
    if (p.revents && v->stranger.source)
        strangers_begin(&v->stranger);
    pthread_mutex_unlock(&keeper.lock);
    keeper_serve(&keeper.job, v->fd, on_shaken, v);
    pthread_mutex_lock(&keeper.lock);
    keeper.visits--;
    pthread_mutex_unlock(&keeper.lock);
    free(v);
    return NULL;
}

static void stranger_end(struct stranger *x)
{
    shutdown(((struct keeper_visit *)x)->end, SHUT_RDWR);
    strangers_remove(&keeper.strangers, x);
}

/* Makes room for a connection from there. False: it is refused. */
static bool has_room(const struct address *from)
{
    struct stranger *out;

    /* Threads of those that have to go may take a moment. */
    if (keeper.visits >= 2 * keeper.strangers.most ||
        !strangers_room(&keeper.strangers, from, &out))
        return false;
    if (out)
        stranger_end(out);
    return true;
}

/* NULL: there is no room, no memory, no descriptor or no thread for it. */
static struct keeper_visit *visit_create(int fd)
{
    struct address from = {.length = sizeof(from.storage)};
    struct keeper_visit *v;
    pthread_t thread;

    getpeername(fd, (struct sockaddr *)&from.storage, &from.length);
    v = has_room(&from) ? calloc(1, sizeof(*v)) : NULL;
    if (!v)
        return NULL;
    v->fd = fd;
    v->end = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (v->end >= 0 && strangers_add(&keeper.strangers, &v->stranger, &from, NULL) == 0 &&
        pthread_create(&thread, NULL, visit_run, v) == 0) {
        pthread_detach(thread);
        return v;
    }
    strangers_remove(&keeper.strangers, &v->stranger);
    if (v->end >= 0)
        close(v->end);
    free(v);
    return NULL;
}

static void visit_begin(int fd)
{
    pthread_mutex_lock(&keeper.lock);
    if (visit_create(fd))
        keeper.visits++;
    else
        close(fd);
    pthread_mutex_unlock(&keeper.lock);
}

/* For want of descriptors. */
static void push_out(void)
{
    struct stranger *out;

    pthread_mutex_lock(&keeper.lock);
    out = strangers_first_out(&keeper.strangers);
    if (out)
        stranger_end(out);
    pthread_mutex_unlock(&keeper.lock);
    poll(NULL, 0, EXHAUSTED_MS);
}

_Noreturn static void child_run(int listener)
{
    struct pollfd p = {WORKER_CHILD_FD, POLLIN, 0};

    worker_child_begin(listener);
    signal(SIGPIPE, SIG_IGN);
    strangers_init(&keeper.strangers, STRANGERS_KEEPER + keeper.job.size);
    for (;;) {
        int fd = poll(&p, 1, -1) > 0 ? address_accept(WORKER_CHILD_FD) : -1;

        if (fd >= 0)
            visit_begin(fd);
        else if (address_is_exhausted(errno))
            push_out();
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
