/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/detach.h"

#include "common/clock.h"
#include "common/status.h"
#include "launcher/run/job/log_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What asks for the end while the parent waits. */
static void end_signals(sigset_t *set)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaddset(set, signals[i]);
}

/* Closes what the caller had open, which a process in the background would keep from ending. All
 * that mlaunch opens itself is closed at exec, so what is not came through one. */
static void inherited_close(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int fd = (int)strtol(entry->d_name, NULL, 10), flags = fcntl(fd, F_GETFD);

        if (fd > STDERR_FILENO && flags >= 0 && !(flags & FD_CLOEXEC))
            close(fd);
    }
    if (dir)
        closedir(dir);
}

static void background_enter(struct detach *d)
{
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setsid(); /* the end of the terminal is not heard any more */
    inherited_close();
    if (none >= 0) {
        dup2(none, STDIN_FILENO);
        close(none);
    }
    job_log_take(&d->log);
    d->pid = getpid();
    d->start_ms = clock_ms();
}

int detach_start(struct detach *d, bool *is_parent, struct fault *why)
{
    int ends[2], rc = job_log_open(&d->log, d->id, d->name, why);
    sigset_t held, before;

    if (rc)
        return rc;
    log_directory_bound();
    if (pipe2(ends, O_CLOEXEC)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe");
        goto fail;
    }
    fflush(stdout);
    end_signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    d->pid = fork();
    if (d->pid < 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot start a process in the background");
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(ends[0]);
        close(ends[1]);
        goto fail;
    }
    *is_parent = d->pid > 0;
    close(ends[*is_parent]);
    d->to_parent = ends[!*is_parent];
    if (*is_parent) {
        job_log_close(&d->log);
    } else {
        background_enter(d);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    return 0;
fail:
    job_log_close(&d->log);
    unlink(d->log.path);
    return rc;
}

/* What the job has said so far is the user's only copy. */
static void log_show(const struct detach *d)
{
    int fd = open(d->log.path, O_RDONLY | O_CLOEXEC);
    char block[4096];
    ssize_t n;

    while (fd >= 0 && (n = read(fd, block, sizeof(block))) > 0)
        fwrite(block, 1, (size_t)n, stderr);
    if (fd >= 0)
        close(fd);
    unlink(d->log.path);
}

static int status_collect(const struct detach *d)
{
    int status;

    while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
        ;
    log_show(d);
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
}

int detach_await(struct detach *d)
{
    struct signalfd_siginfo info;
    struct pollfd p[] = {{.fd = d->to_parent, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    sigset_t held;
    char byte;
    ssize_t n = -1;

    end_signals(&held); /* blocked since detach_start() */
    p[1].fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    while (n < 0) {
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents && read(p[1].fd, &info, sizeof(info)) == sizeof(info))
            kill(d->pid, (int)info.ssi_signo);
        if (p[0].revents)
            n = read(d->to_parent, &byte, 1);
    }
    close(d->to_parent);
    if (p[1].fd >= 0)
        close(p[1].fd);
    return n == 1 ? -1 : status_collect(d);
}

void detach_on_started(void *arg)
{
    struct detach *d = arg;

    if (d->to_parent < 0)
        return; /* it is a restart */
    (void)!write(d->to_parent, "", 1);
    close(d->to_parent);
    d->to_parent = -1;
}

void detach_on_written(void *arg)
{
    struct detach *d = arg;

    job_log_bound(&d->log);
}

void detach_conclude(struct detach *d, int status)
{
    int64_t s = (clock_ms() - d->start_ms) / 1000;
    char when[64] = "", line[512];
    time_t now = time(NULL);
    struct tm local;

    if (d->to_parent >= 0)
        return; /* it has never started, which the parent says */
    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &local);
    snprintf(line, sizeof(line),
             "mlaunch: job %s%s%.300s%s has ended with status %d after %lld s, at %s\n", d->id,
             d->name ? " (" : "", d->name ? d->name : "", d->name ? ")" : "", status, (long long)s,
             when);
    job_log_end(line);
}
