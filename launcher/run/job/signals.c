/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/signals.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

static const int heard[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2};
static const int quiet[] = {SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU};

enum { HEARD = sizeof(heard) / sizeof(*heard), QUIET = sizeof(quiet) / sizeof(*quiet) };

struct signals {
    void (*on_signal)(int signal, const struct signal_sender *from, void *arg);
    void *arg;
    struct event *events[HEARD];
    struct sigaction before[QUIET];
    bool is_quiet;
};

static void on_event(evutil_socket_t signal, short what, void *arg)
{
    struct signals *s = arg;

    (void)what;
    s->on_signal((int)signal, signal_sender_last((int)signal), s->arg);
}

/* Unlike SIG_IGN, a handler does not outlive exec, so the agent and the ranks get the default. */
static void signal_ignore(int signal)
{
    (void)signal;
}

static void signals_quieten(struct signals *s)
{
    for (int i = 0; i < QUIET; i++) {
        bool is_of_writes = quiet[i] == SIGPIPE || quiet[i] == SIGXFSZ;
        struct sigaction a = {.sa_handler = is_of_writes ? signal_ignore : SIG_IGN,
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
        signal_sender_watch(heard[i]);
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
