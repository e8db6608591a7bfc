/* SPDX-License-Identifier: MIT */
#include "launcher/ask/session_stop.h"

#include "launcher/base/machine/self_stop.h"

#include <event2/event.h>
#include <signal.h>

static void on_paused(void *arg)
{
    struct session_stop *s = arg;

    if (s->on_stop)
        s->on_stop(s->arg);
    self_stop();
    agent_session_go_on(s->session);
    if (s->on_go_on)
        s->on_go_on(s->arg);
}

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct session_stop *s = arg;

    (void)signal, (void)what;
    agent_session_pause(s->session, on_paused, s);
}

int session_stop_open(struct session_stop *s, struct event_base *base, struct fault *why)
{
    struct sigaction now;

    if (sigaction(SIGTSTP, NULL, &now) || now.sa_handler == SIG_IGN)
        return 0;
    s->signal = evsignal_new(base, SIGTSTP, on_signal, s);
    if (!s->signal || evsignal_add(s->signal, NULL))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

void session_stop_close(struct session_stop *s)
{
    if (s->signal)
        event_free(s->signal);
    s->signal = NULL;
}
