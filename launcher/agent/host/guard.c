/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/guard.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/signal_text.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/base/machine/place_lock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILLS = 3, /* or more, however long they take on a busy machine */
    CGROUP_WAIT_MS = 200,
    NOTE_TRIES = 3,
    PASS_MS = 20, /* between two passes over /proc */
};

/* What the worker sends, in one message. */
struct guard_note {
    char job_dir[JOB_DIRECTORY_PATH];
    char cgroup[CGROUP_PATH];
};

/* A message with room for descriptors. */
union guard_control {
    char bytes[CMSG_SPACE(GUARD_LOCKS * sizeof(int))];
    struct cmsghdr align;
};

int guard_tell(int guard_fd, const char *job_dir, const char *cgroup, const int locks[GUARD_LOCKS],
               struct fault *why)
{
    struct guard_note note = {0};
    union guard_control control = {0};
    struct iovec part = {&note, sizeof(note)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int there[GUARD_LOCKS];
    size_t count = 0;

    for (int i = 0; i < GUARD_LOCKS; i++)
        if (locks[i] >= 0)
            there[count++] = locks[i];
    if (count) {
        control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                                         .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.align), there, count * sizeof(int));
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    snprintf(note.job_dir, sizeof(note.job_dir), "%s", job_dir);
    snprintf(note.cgroup, sizeof(note.cgroup), "%s", cgroup);
    if (sendmsg(guard_fd, &message, MSG_NOSIGNAL) < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno,
                        "cannot tell the agent's guard process that %s is to be removed at the end",
                        job_dir);
    return 0;
}

void guard_tell_end(int guard_fd)
{
    shutdown(guard_fd, SHUT_WR);
}

/* Reaps children that have ended. True: there are more children. */
static bool children_reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return descendants_exist();
}

static void signal_pause(int ms)
{
    sigset_t set;
    struct timespec time = {.tv_nsec = ms * 1000000L};

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD); /* blocked in the guard: the end of a child ends the pause */
    sigtimedwait(&set, NULL, &time);
}

/* Ends all descendants: with SIGTERM and a grace if `is_polite`, then with SIGKILL until /proc
 * shows none. */
static void descendants_end(const struct guard_note *note, bool is_polite)
{
    int64_t begin = clock_ms() - (is_polite ? 0 : ORPHANS_GRACE_MS);
    int kills = 0;

    for (;;) {
        struct process_list found = {0};
        int64_t past = clock_ms() - begin;
        bool kill_now = past >= ORPHANS_GRACE_MS;

        if (kill_now)
            cgroup_kill(note->cgroup);
        if (!children_reap() || (past >= GUARD_KILLED_MS && kills >= KILLS))
            return;
        kills += kill_now;
        if ((is_polite || kill_now) && descendants_find(&found, NULL) == 0) {
            descendants_signal(&found, kill_now ? SIGKILL : SIGTERM);
            if (!kill_now)
                descendants_signal(&found, SIGCONT);
            is_polite = false;
        }
        process_list_free(&found);
        signal_pause(PASS_MS);
    }
}

static int worker_reap(pid_t worker)
{
    char killed[SIGNAL_TEXT];
    int status;

    while (waitpid(worker, &status, 0) < 0) {
        if (errno != EINTR)
            return STATUS_OURS;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    log_error("the agent's worker (pid %d) %s; its ranks are ended", (int)worker,
              signal_text_killed(killed, WTERMSIG(status)));
    return STATUS_OURS;
}

static void locks_drop(int locks[GUARD_LOCKS])
{
    for (int i = 0; i < GUARD_LOCKS; i++)
        place_lock_drop(&locks[i]);
}

/* The last note counts; its descriptors are in `locks`, and else -1. Without it the job directory
 * stays, so a read that fails is tried again. */
static void notes_read(int fd, struct guard_note *note, int locks[GUARD_LOCKS])
{
    ssize_t size = 1;

    for (int tries = 0; size && tries < NOTE_TRIES; tries += size < 0) {
        union guard_control control;
        struct iovec part = {note, sizeof(*note)};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        const struct cmsghdr *with;

        size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0)
            continue;
        locks_drop(locks);
        with = CMSG_FIRSTHDR(&message);
        if (with && with->cmsg_type == SCM_RIGHTS)
            memcpy(locks, CMSG_DATA(with), with->cmsg_len - CMSG_LEN(0));
    }
}

/* Nothing of the job runs. What cannot be removed now is tried again after the worker's end, when
 * nothing can be using it any more. */
static void directory_remove(struct guard_note *note)
{
    job_directory_sweep_shm(note->job_dir, false);
    job_directory_remove(note->job_dir);
    if (access(note->job_dir, F_OK))
        note->job_dir[0] = '\0';
}

/* Waits for the worker's end, and reads its notes, because the socket has no room for those of many
 * runs (--restarts). After the end of the channel, gives the worker the time that it needs to clean
 * up, and then kills it, because it may have been stopped. False: it had to be killed. */
static bool worker_wait(pid_t worker, int fd, struct guard_note *note, int locks[GUARD_LOCKS])
{
    /* -1 before Linux 5.3: then the end of `fd` shows the worker's end. */
    int pidfd = (int)syscall(SYS_pidfd_open, worker, 0);
    struct pollfd p[] = {{.fd = pidfd, .events = POLLIN},
                         {.fd = fd, .events = POLLIN | POLLRDHUP},
                         {.fd = STDIN_FILENO}};
    int64_t deadline = -1;
    bool is_well = true;

    for (;;) {
        if (poll(p, 3, deadline < 0 ? -1 : clock_left_ms(deadline)) < 0 && errno != EINTR)
            break;
        if (p[0].revents || (p[1].revents & POLLHUP))
            break;
        if (p[1].revents)
            notes_read(fd, note, locks);
        if (p[1].revents & POLLRDHUP) {
            p[1].events = 0;
            locks_drop(locks);
            if (note->job_dir[0])
                directory_remove(note);
        }
        if (p[2].revents) {
            p[2].fd = -1;
            deadline = clock_ms() + GUARD_HUNG_MS;
        }
        if (deadline >= 0 && clock_ms() >= deadline) {
            kill(worker, SIGKILL);
            deadline = -1;
            is_well = false;
        }
    }
    if (pidfd >= 0)
        close(pidfd);
    return is_well;
}

static volatile int term_fd; /* to the worker, for on_term */

static void on_term(int signal)
{
    int error = errno;

    (void)signal;
    (void)!send(term_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    errno = error;
}

/* Passes SIGTERM on to the worker, which ends in order: a batch system may signal only the process
 * that it has started, the guard, and take the guard's end for the end of all. Not as a signal:
 * Slurm may signal the worker, too, and of two that come together only one is heard. */
static void term_pass_on(int fd)
{
    struct sigaction a = {.sa_handler = on_term};

    term_fd = fd;
    sigaction(SIGTERM, &a, NULL);
}

static int guard_watch(pid_t worker, int fd)
{
    struct guard_note note = {0};
    sigset_t chld;
    bool is_well;
    int status, locks[GUARD_LOCKS];

    for (int i = 0; i < GUARD_LOCKS; i++)
        locks[i] = -1;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, NULL);
    term_pass_on(fd);
    is_well = worker_wait(worker, fd, &note, locks);
    status = worker_reap(worker);
    notes_read(fd, &note, locks); /* all of them, even if worker_wait could not wait */
    signal(SIGTERM, SIG_IGN);     /* the rest takes little time */
    if (note.job_dir[0]) {
        descendants_end(&note, is_well);
        cgroup_remove(note.cgroup, CGROUP_WAIT_MS);
        job_directory_sweep_shm(note.job_dir, false);
        job_directory_remove(note.job_dir);
    }
    locks_drop(locks);
    return status;
}

int guard_run(int (*worker)(int guard_fd, pid_t guard))
{
    pid_t guard = getpid(), child;
    int pair[2];

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
        log_error("cannot make a socket pair: %s", strerror(errno));
        return STATUS_OURS;
    }
    child = fork();
    if (child < 0) {
        log_error("cannot fork: %s", strerror(errno));
        return STATUS_OURS;
    }
    if (child == 0) {
        close(pair[0]);
        /* A session of its own: a signal to the guard's process group must not reach both, and the
         * ranks must not belong to a terminal. */
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        return worker(pair[1], guard);
    }
    close(pair[1]);
    return guard_watch(child, pair[0]);
}
