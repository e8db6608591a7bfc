/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/detached_job.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/printable.h"
#include "launcher/base/text/command_words.h"
#include "launcher/run/job/job.h"
#include "launcher/run/log/job_log.h"
#include "launcher/run/log/log_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct detach {
    const char *id, *name; /* the job's; name may be NULL */
    struct job_log log;
    int to_parent; /* in the background: tells that the ranks have started; or -1 */
    int pid;       /* the background process's, in the one in the foreground */
    int64_t start_ms;
};

int detached_job_check(const struct options *o, struct fault *why)
{
    if (o->json && !o->detach)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--json goes with --detach; --events FILE writes what happens in a job as "
                         "JSON");
    if (o->detach && o->pty)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--pty does not go with --detach: a job in the background has no "
                         "terminal");
    if (o->detach && o->stdin_to && strcmp(o->stdin_to, "none") != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--stdin %s does not go with --detach: a job in the background has no "
                         "input",
                         o->stdin_to);
    return 0;
}

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

/* Forks. *is_parent: this is the process that the user has started. ML_ERR_SYSTEM, there. */
static int detach_start(struct detach *d, bool *is_parent, struct fault *why)
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

/* In the parent: waits until all ranks have started, and returns -1, or until the other has ended;
 * then it prints its log and returns its exit status. Signals that ask for the end are passed
 * on. */
static int detach_await(struct detach *d)
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

/* In the background, as the next two. On the loop. */
static void on_started(void *arg)
{
    struct detach *d = arg;

    if (d->to_parent < 0)
        return; /* it is a restart */
    (void)!write(d->to_parent, "", 1);
    close(d->to_parent);
    d->to_parent = -1;
}

/* On the thread that writes: no byte comes to a part after the next one has been begun. */
static void on_written(void *arg)
{
    struct detach *d = arg;

    job_log_bound(&d->log);
}

/* Says at the end of the log how the job has ended. */
static void detach_conclude(struct detach *d, int status)
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

static void json_say(const struct detach *d)
{
    json_t *one = json_pack("{ss ss ss si}", "job", d->id, "job_name", d->name ? d->name : "",
                            "log", d->log.path, "pid", d->pid);
    char *text = one ? json_dumps(one, JSON_INDENT(2)) : NULL;

    printable_print("%s\n", text ? text : "{}");
    free(text);
    json_decref(one);
}

/* " -H a,b" */
static void option_say(const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(stderr, " %s ", option);
    command_words_quote(stderr, value);
}

/* The id alone goes to standard output, for scripts. */
static void background_say(const struct options *o, const struct detach *d)
{
    const char *job = d->name ? d->name : d->id;

    if (o->json) {
        json_say(d);
        return;
    }
    puts(d->id);
    fflush(stdout);
    if (o->verbose < 0)
        return;
    fprintf(stderr, "mlaunch: job %s runs in the background; mlaunch logs %s prints its output, ",
            job, job);
    fputs("mlaunch kill", stderr);
    option_say("-H", o->hosts);
    option_say("--hostfile", o->hostfile);
    fprintf(stderr, " %s ends it\n", job);
}

int detached_job_run(const struct options *o, struct plan *p, const char *id,
                     host_check_finder *check)
{
    struct detach d = {.id = id, .name = p->job.name};
    const struct job_config config = {
        .on_started = on_started, .on_written = on_written, .arg = &d, .check = check};
    bool is_parent = true;
    struct fault why;
    int status;

    if (detach_start(&d, &is_parent, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    if (!is_parent) {
        status = job_run(p, id, &config);
        detach_conclude(&d, status);
        return status;
    }
    status = detach_await(&d);
    if (status >= 0)
        return status;
    background_say(o, &d);
    return 0;
}
