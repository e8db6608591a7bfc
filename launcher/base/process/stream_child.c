/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/stream_child.h"

#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/spawn_files_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TERM_GRACE_MS = 500 };

static int child_spawn(pid_t *pid, int fd, int errors, char *const argv[],
                       char *const environment[])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int err;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    err = posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
    if (!err && errors >= 0)
        err = posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    if (!err)
        err = spawn_files_close_from(&files, STDERR_FILENO + 1);
    if (!err)
        err = posix_spawn(pid, argv[0], &files, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return err;
}

/* Moves it above stderr, so that no dup2 in the child overwrites it if this process was started
 * with closed standard streams. */
static int raise_fd(int fd)
{
    int raised = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (raised != fd)
        close(fd);
    return raised;
}

static void close_both(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

int stream_child_start(struct stream_child *out, char *const argv[], char *const environment[],
                       bool own_stderr, struct fault *why)
{
    int stream[2] = {-1, -1}, errors[2] = {-1, -1}, err;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0 ||
        (own_stderr && pipe2(errors, O_CLOEXEC) < 0)) {
        err = errno;
        goto fail;
    }
    for (int i = 0; i < 2; i++) {
        stream[i] = raise_fd(stream[i]);
        errors[i] = own_stderr ? raise_fd(errors[i]) : -1;
    }
    err = child_spawn(&pid, stream[1], errors[1], argv, environment);
    if (err)
        goto fail;
    close(stream[1]);
    if (errors[1] >= 0)
        close(errors[1]);
    fcntl(stream[0], F_SETFL, O_NONBLOCK);
    if (errors[0] >= 0)
        fcntl(errors[0], F_SETFL, O_NONBLOCK);
    *out = (struct stream_child){pid, stream[0], errors[0]};
    return 0;
fail:
    close_both(stream);
    close_both(errors);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot start %s", argv[0]);
}

void stream_child_end(struct stream_child *child)
{
    struct pollfd p = {.events = POLLIN};

    if (!child->pid)
        return;
    close(child->fd);
    if (child->errors >= 0)
        close(child->errors);
    kill(-child->pid, SIGTERM);
    p.fd = pidfd_linux_open(child->pid);
    while (poll(&p, 1, TERM_GRACE_MS) < 0 && errno == EINTR)
        ;
    kill(-child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (p.fd >= 0)
        close(p.fd);
    *child = (struct stream_child){.fd = -1, .errors = -1};
}
