/* SPDX-License-Identifier: MIT */
/* ranks_stop_state.h: how far the end of the ranks is (ranks_stop.h). */
#ifndef LAUNCHER_AGENT_STATE_RANKS_STOP_STATE_H
#define LAUNCHER_AGENT_STATE_RANKS_STOP_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct ranks_stop {
    bool is_asked; /* the ranks can see that the job is to stop (common/agent_to_rank.h) */
    bool is_active;
    bool is_hurried;   /* after KILL: does not wait until output has been read */
    bool has_given_up; /* on processes that survive SIGKILL, and on unread output */
    int asked;         /* the last polite signal that the ranks have got; 0: none */
    int fewest;        /* processes that were left at any SIGKILL so far; -1: none was sent */
    int64_t term_at, kill_at, give_up_at; /* clock_ms; term_at -1: done */
};

#endif
