/* SPDX-License-Identifier: MIT */
/*
 * agent_session.h: a supervisor's agents, one for each of its hosts: HELLO is checked, heartbeats
 * find those that are silent, questions get their answers, one or in rounds. All that fails ends
 * the channel to that agent, with a sentence. Everything happens on the supervisor's loop.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_AGENT_SESSION_H
#define LAUNCHER_WIRE_CHANNEL_AGENT_SESSION_H

#include "launcher/wire/channel/agent_channel.h"
#include "launcher/wire/protocol/agent_report.h"

#include <stdbool.h>

struct agent_session;

/* Called from the loop, and on_end also within a send. A failure in one that returns an int ends
 * the channel. Those that are NULL have nothing to do; without on_frame no other frame is valid.
 * `host` is what agent_session_reach() was given. The session must not be closed within them. */
struct agent_session_events {
    int (*on_hello)(int host, const struct hello_report *hello, void *arg, struct fault *why);
    /* `said` is an object and the session's; its texts may go to a terminal. */
    int (*on_answer)(int host, json_t *said, void *arg, struct fault *why);
    int (*on_frame)(int host, const struct frame *f, void *arg, struct fault *why);
    void (*on_pong)(int host, const struct frame *f, void *arg);
    /* Once for each agent_session_reach(): the channel has ended, or could not be opened. */
    void (*on_end)(int host, const char *text, void *arg);
    void (*on_rounds_end)(void *arg); /* the rounds that were asked are over */
    void (*on_pulse)(void *arg);      /* with each heartbeat */
    void *arg;
    bool is_patient; /* agents may be silent for any time: the supervisor has its own deadline */
};

/* The questions of several rounds. A round begins once all hosts have answered the last, or have
 * ended. */
struct query_rounds {
    int count;
    bool goes_on; /* with the other hosts if one has ended; else the last round was this */
    /* The question for a host, which the session takes over. */
    json_t *(*question)(void *arg, int host, int round);
    /* Called with a host's answer, which stays the session's. A failure ends its channel. */
    int (*take)(void *arg, int host, int round, const json_t *said, struct fault *why);
    void *arg;
};

/* One of the agents, as it may be looked at. */
struct session_agent {
    struct agent_channel *channel; /* the session's; NULL: it could not be opened */
    bool has_ended;                /* the channel; or it was not opened yet */
    bool is_greeted;               /* HELLO has come */
    bool is_awaited;               /* its answer of this round has not come */
    int asked;                     /* questions that have no answer yet */
    int pings;                     /* PONGs that are still expected */
};

/* `config` must outlive it. No host is reached yet. ML_ERR_MEMORY. */
int agent_session_open(struct agent_session **out, struct event_base *base, int count,
                       const struct channel_config *config,
                       const struct agent_session_events *events, struct fault *why);
void agent_session_close(struct agent_session *s); /* takes NULL; the agents end by themselves */

/* Begins to open the channel to `to`, in place of one that has ended. Returns it; NULL: it could
 * not be opened, and on_end has been called. */
struct agent_channel *agent_session_reach(struct agent_session *s, int host, const struct host *to);
/* The agents stay beyond a run: those of the session that are not marked to stay are closed, and
 * nobody is told what becomes of the others. */
void agent_session_stay(struct agent_session *s, int host);
void agent_session_hold(struct agent_session *s);
/* The next run takes it over. */
void agent_session_resume(struct agent_session *s, const struct agent_session_events *events);
/* Lets the agent of `to` begin again, if it has stayed and is that host's: on_hello will come.
 * Returns its channel, or NULL. */
struct agent_channel *agent_session_renew(struct agent_session *s, int host, const struct host *to);
/* No run follows: lets them go, waits on the loop for their ends, `limit_ms` at most, and closes
 * the session. Takes NULL. */
void agent_session_part(struct agent_session *s, int limit_ms);

const struct session_agent *agent_session_agent(const struct agent_session *s, int host);

/* Asks an agent that is greeted, once it has answered the questions before. The question is taken
 * over; on_answer gets the answer. */
void agent_session_ask(struct agent_session *s, int host, json_t *question);
/* The same for somebody else: `answer`, which must not ask, gets the answer, which stays the
 * session's, or NULL if the agent has ended. */
typedef void agent_answer_fn(json_t *said, void *arg);
void agent_session_ask_for(struct agent_session *s, int host, json_t *question,
                           agent_answer_fn *answer, void *arg);
/* `arg` gets no more answers. */
void agent_session_forget(struct agent_session *s, int host, const void *arg);
/* Begins the rounds, of which it keeps a copy. Hosts that are not greeted yet are asked then. */
void agent_session_ask_rounds(struct agent_session *s, const struct query_rounds *rounds);
bool agent_session_is_asking(const struct agent_session *s); /* rounds are under way */

/* ML_ERR_REFUSED if `said` tells why the agent has no answer. */
int agent_session_check_error(const json_t *said, struct fault *why);
/* ML_ERR_REFUSED: for a frame that must not come now. */
int agent_session_refuse(const struct frame *f, struct fault *why);

/* Sends PING at once; its PONG is expected. */
void agent_session_ping(struct agent_session *s, int host);
/* The same, and from now on each PING asks for the agent's time. */
void agent_session_ask_time(struct agent_session *s, int host);

/* What to do about an agent that is silent, in words behind the reason. Kept by reference. */
void agent_session_advise(struct agent_session *s, int host, const char *advice);
/* Starts the clocks that watch for silent agents anew, after mlaunch itself could not listen. */
void agent_session_reset_silence(struct agent_session *s);
/* mlaunch will be silent, and so may the agents: they stop their ranks, and nobody takes anybody
 * for dead. on_paused is called once all agents have confirmed that, or after a second, perhaps
 * within the call. */
void agent_session_pause(struct agent_session *s, void (*on_paused)(void *arg), void *arg);
void agent_session_go_on(struct agent_session *s); /* also without a pause: all clocks start anew */

/* Lets all agents go. */
void agent_session_bye(struct agent_session *s);

#endif
