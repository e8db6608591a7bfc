/* SPDX-License-Identifier: MIT */
/* started_here.h: the jobs that mlaunch processes of this machine have started, beside what the
 * hosts have answered about them. */
#ifndef LAUNCHER_ASK_STARTED_HERE_H
#define LAUNCHER_ASK_STARTED_HERE_H

#include "launcher/ask/query_command.h"

/* Whether its mlaunch lives, its job is one that is asked about, and one of its hosts is asked. */
bool started_here_is_asked(const struct query_command *c, const struct register_found *f);

/* The same, and no host has said that the job lives there. */
bool started_here_is_silent(const struct query_command *c, const struct register_found *f);

/* Whether its mlaunch says that it is between two runs. */
bool started_here_is_restarting(const struct register_list *here, const char *job);
/* Takes jobs that are between two runs out of what a host has said, if no rank of theirs is left
 * there: their agents live on, but it is their mlaunch that knows. */
void started_here_drop_idle(const struct register_list *here, json_t *said);

/* Whether a host says of a job that it lives: "live" or "stopped". */
bool started_here_is_live(const json_t *job);

/* Why a job that was started here has nothing to show or to attach to: "job train has no ranks to
 * show: its mlaunch, process 12, says that it is restarting 4 of 10". `verb` is "show" or the like.
 * False: its mlaunch does not run here, or several of that name do. */
bool started_here_explain(struct fault *out, const struct register_list *here, const char *job,
                          const char *verb);

int64_t started_here_age_s(const struct register_found *f);

/* Puts the names of its hosts into `out`, as far as there is room: "a,b,...". */
void started_here_hosts(const struct register_found *f, char *out, size_t size);

/* The user's name, or the number, in `out`. */
void started_here_user(char *out, size_t size);

#endif
