/* SPDX-License-Identifier: MIT */
/* rank_streams_state.h: what ranks read and write (rank_input.h, rank_output.h). */
#ifndef LAUNCHER_AGENT_STATE_RANK_STREAMS_STATE_H
#define LAUNCHER_AGENT_STATE_RANK_STREAMS_STATE_H

#include "launcher/wire/protocol/line_cut.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_rank;
struct evbuffer;
struct event;
struct line_fold;

/* rank_input.h */
struct rank_input {
    struct evbuffer *kept; /* NULL: the rank gets no (more) stdin */
    struct event *event;   /* NULL: the rank has not been started */
    int fd;
    bool at_end;      /* the launcher has sent end of file */
    bool is_mid_line; /* the last byte was not a newline */
};

/* rank_output.h: one pipe */
struct rank_output {
    struct agent_rank *rank;
    struct event *event; /* NULL: the pipe is closed */
    int fd;
    uint8_t stream;      /* 1 stdout, 2 stderr */
    size_t due;          /* bytes that were in the pipe when the rank ended: sent before EXITED */
    struct line_cut cut; /* with --output fold: the line that has not ended */
};

struct rank_output_window {
    size_t unacknowledged;
    bool is_full;      /* too many bytes are unacknowledged */
    bool is_backed_up; /* too many bytes wait for the channel */
    bool is_heaped;    /* too many lines wait in the folds */
    bool is_closed;    /* one of the three: no pipe is read */
    int next; /* index of the rank whose pipes are read first on reopening: all take turns */
};

/* What all pipes share. */
struct rank_outputs {
    struct rank_output_window window;
    struct line_fold *folds[2]; /* with --output fold, of stdout and stderr; or NULL */
    struct event *fold_timer;
    bool is_dropped; /* after DROP: once no process is left, output is not waited for */
};

#endif
