/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/job_socket.h"

#include "common/failure_times.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 16 };

/* The first byte of an abstract name is 0. */
static socklen_t address_fill(struct sockaddr_un *a, const char *job)
{
    int length;

    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    length = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "mlaunch-%u-%s",
                      (unsigned)geteuid(), job);
    if (length > (int)sizeof(a->sun_path) - 2)
        length = (int)sizeof(a->sun_path) - 2; /* ids are shorter */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int job_socket_listen(int *out, const char *job, struct fault *why)
{
    struct sockaddr_un a;
    socklen_t size = address_fill(&a, job);
    int err, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, BACKLOG) == 0) {
        *out = fd;
        return 0;
    }
    err = errno;
    if (fd >= 0)
        close(fd);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot listen for mlaunch shrink and grow");
}

static bool peer_read(int fd, struct ucred *who)
{
    socklen_t size = sizeof(*who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &size) == 0;
}

bool job_socket_is_own(int fd)
{
    struct ucred who;

    return peer_read(fd, &who) && who.uid == geteuid();
}

int job_socket_connect(int *out, const struct register_found *f, struct fault *why)
{
    const struct job_file *file = &f->entry.file;
    struct sockaddr_un a;
    socklen_t size = address_fill(&a, file->job);
    static const struct timeval limit = FAILURE_TIMEVAL(CHANGE_SILENCE_MS);
    int err, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct ucred who;

    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&a, size)) {
        err = errno;
        close(fd);
        if (err == EAGAIN) /* others that ask wait, too */
            return fault_set(why, ML_ERR_STATE,
                             "job %s cannot be changed now: its mlaunch, process %lld, takes no "
                             "requests; it may be stopped, as by Ctrl-Z (fg, or kill -CONT %lld, "
                             "lets it go on)",
                             file->job, (long long)file->agent_pid, (long long)file->agent_pid);
        if (err != ECONNREFUSED)
            return fault_os(why, ML_ERR_SYSTEM, err, "job %s: cannot connect to its mlaunch",
                            file->job);
        return fault_set(why, ML_ERR_STATE,
                         "job %s cannot be changed: it was not started with --elastic, or its "
                         "mlaunch has just ended",
                         file->job);
    }
    if (!peer_read(fd, &who) || who.uid != geteuid() || who.pid != (pid_t)file->agent_pid) {
        close(fd);
        return fault_set(why, ML_ERR_STATE,
                         "job %s cannot be changed: another process listens in place of its "
                         "mlaunch, process %lld",
                         file->job, (long long)file->agent_pid);
    }
    *out = fd;
    return 0;
}
