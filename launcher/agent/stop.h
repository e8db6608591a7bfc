/* SPDX-License-Identifier: MIT */
/*
 * stop.h: the ladder by which ranks and all their descendants are ended:
 *
 *     first signal ──half the grace──▶ SIGTERM ──grace──▶ SIGKILL, again and again ──▶ nobody left
 *
 * (from SIGTERM straight to SIGKILL if that was the first). Starting again only ever makes it
 * faster.
 */
#ifndef LAUNCHER_AGENT_STOP_H
#define LAUNCHER_AGENT_STOP_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct event;

struct stop {
    struct event *timer;
    bool is_active;
    bool is_hurried;                      /* KILL: output that nobody takes is not waited for */
    bool has_given_up;                    /* on whoever survives SIGKILL, and on that output */
    int fewest;                           /* that were left at a SIGKILL; -1: none was sent */
    int64_t term_at, kill_at, give_up_at; /* clock_ms; term_at -1: done */
};

/* -1: out of memory. */
int stop_open(struct agent *a);
void stop_close(struct agent *a);

/* The signal goes out before it returns. `signal` SIGKILL or no grace: at once. */
void stop_start(struct agent *a, int signal, int grace_ms);

/* SIGKILL, and no waiting for a reader. */
void stop_hurry(struct agent *a);

/* Sends to the ranks' process groups, no descendants beyond: SIGNAL. */
void stop_signal_ranks(struct agent *a, int signal);

/* Sends to the ranks and to all that has come out of them: PAUSE, RESUME. */
void stop_signal_all(struct agent *a, int signal);

#endif
