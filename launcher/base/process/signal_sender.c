/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/signal_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* What the signal handler leaves to the loop. */
static struct {
    struct signal_sender senders[NSIG]; /* by signal: who sent the last one */
    void (*pass_on[NSIG])(int signal);  /* libevent's handlers */
} handled;

/* The decimal digits of `pid`, before `end`. */
static char *digits_before(char *end, int pid)
{
    for (; pid > 0; pid /= 10)
        *--end = (char)('0' + pid % 10);
    return end;
}

/* The name of the program that process `pid` runs. Looked up in the handler, because the sender may
 * have ended a moment later: snprintf() must not be called there. */
static void program_name_read(char name[SIGNAL_SENDER_NAME], int pid)
{
    static const char before[] = "/proc/", after[] = "/comm";
    char path[40], *at;
    ssize_t size;
    int fd;

    memcpy(path + sizeof(path) - sizeof(after), after, sizeof(after));
    at = digits_before(path + sizeof(path) - sizeof(after), pid) - (sizeof(before) - 1);
    memcpy(at, before, sizeof(before) - 1);
    fd = open(at, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, name, SIGNAL_SENDER_NAME - 1);
    if (fd >= 0)
        close(fd);
    if (size > 0 && name[size - 1] == '\n')
        size--;
    name[size > 0 ? size : 0] = '\0';
}

/* libevent does not tell who sent a signal. */
static void on_handled(int signal, siginfo_t *info, void *context)
{
    struct signal_sender *from = &handled.senders[signal];
    int error = errno;

    (void)context;
    from->is_kernel = info->si_code > 0;
    from->pid = from->is_kernel ? 0 : info->si_pid;
    from->name[0] = '\0';
    from->asks_stop =
        info->si_code == SI_QUEUE && info->si_value.sival_int == SIGNAL_SENDER_ASKS_STOP;
    if (from->pid > 0)
        program_name_read(from->name, from->pid);
    handled.pass_on[signal](signal);
    errno = error;
}

void signal_sender_watch(int signal)
{
    struct sigaction a;

    if (sigaction(signal, NULL, &a) || (a.sa_flags & SA_SIGINFO) || a.sa_handler == SIG_DFL ||
        a.sa_handler == SIG_IGN)
        return; /* the sender stays unknown */
    handled.pass_on[signal] = a.sa_handler;
    memset(&handled.senders[signal], 0, sizeof(handled.senders[signal]));
    a.sa_sigaction = on_handled;
    a.sa_flags |= SA_SIGINFO;
    sigaction(signal, &a, NULL);
}

const struct signal_sender *signal_sender_last(int signal)
{
    return &handled.senders[signal];
}

bool signal_sender_is_slurm(const struct signal_sender *from)
{
    return strcmp(from->name, "slurmstepd") == 0;
}
