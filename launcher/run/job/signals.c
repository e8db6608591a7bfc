/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/signals.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int heard[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2};
static const int quiet[] = {SIGPIPE, SIGTTIN, SIGTTOU};

enum { HEARD = sizeof(heard) / sizeof(*heard), QUIET = sizeof(quiet) / sizeof(*quiet) };

struct signals {
    void (*on_signal)(int signal, const struct signal_sender *from, void *arg);
    void *arg;
    struct event *events[HEARD];
    struct sigaction before[QUIET];
    bool is_quiet;
};

/* What the signal handler leaves to the loop. Both run on the main thread; all others block these
 * signals (common/quiet_thread.h). */
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
    if (from->pid > 0)
        program_name_read(from->name, from->pid);
    handled.pass_on[signal](signal);
    errno = error;
}

/* Puts on_handled() in front of libevent's handler, which libevent will remove. */
static void sender_watch(int signal)
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

static void on_event(evutil_socket_t signal, short what, void *arg)
{
    struct signals *s = arg;

    (void)what;
    s->on_signal((int)signal, &handled.senders[signal], s->arg);
}

/* Unlike SIG_IGN, a handler does not outlive exec, so the agent and the ranks get the default. */
static void signal_ignore(int signal)
{
    (void)signal;
}

static void signals_quieten(struct signals *s)
{
    for (int i = 0; i < QUIET; i++) {
        struct sigaction a = {.sa_handler = quiet[i] == SIGPIPE ? signal_ignore : SIG_IGN,
                              .sa_flags = SA_RESTART};

        sigaction(quiet[i], &a, &s->before[i]);
    }
    s->is_quiet = true;
}

static bool is_ignored(int signal)
{
    struct sigaction a;

    return sigaction(signal, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

int signals_open(struct signals **out, struct event_base *base,
                 void (*on_signal)(int signal, const struct signal_sender *from, void *arg),
                 void *arg, struct fault *why)
{
    struct signals *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    s->on_signal = on_signal;
    s->arg = arg;
    for (int i = 0; i < HEARD; i++) {
        if (is_ignored(heard[i]))
            continue;
        s->events[i] = evsignal_new(base, heard[i], on_event, s);
        if (!s->events[i] || event_add(s->events[i], NULL)) {
            signals_close(s);
            return fault_set(why, ML_ERR_SYSTEM, "cannot catch signal %d", heard[i]);
        }
        sender_watch(heard[i]);
    }
    signals_quieten(s);
    *out = s;
    return 0;
}

void signals_close(struct signals *s)
{
    if (!s)
        return;
    for (int i = 0; i < HEARD; i++) {
        if (s->events[i])
            event_free(s->events[i]);
    }
    for (int i = 0; i < QUIET && s->is_quiet; i++)
        sigaction(quiet[i], &s->before[i], NULL);
    free(s);
}

void signals_stop_self(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours;

    sigaction(SIGTSTP, &usual, &ours);
    raise(SIGTSTP); /* to this thread: on return the process has been stopped and continued */
    sigaction(SIGTSTP, &ours, NULL);
}
