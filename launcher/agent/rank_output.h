/* SPDX-License-Identifier: MIT */
/*
 * rank_output.h: what ranks write to stdout and stderr, from their pipes into OUTPUT frames. The agent
 * stops reading all pipes while AGENT_OUTPUT_WINDOW bytes are on their way that the launcher has
 * not written out yet; the ranks then block in their write(), and nothing grows.
 */
#ifndef LAUNCHER_AGENT_RANK_OUTPUT_H
#define LAUNCHER_AGENT_RANK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct event;
struct agent_rank;

struct rank_output {
    struct agent_rank *rank;
    struct event *event; /* NULL: the pipe is closed */
    int fd;
    uint8_t stream; /* 1 stdout, 2 stderr */
    size_t due;     /* bytes that were in the pipe when the rank ended: they go before EXITED */
};

struct rank_output_window {
    size_t unacknowledged;
    bool is_full;      /* too much unacknowledged */
    bool is_backed_up; /* too much that the channel does not take */
    bool is_closed;    /* either: no pipe is read */
    int next;          /* rank whose pipes are read first when it opens again: all get their turn */
};

/* The reading ends of a new rank's pipes. 0 or -1: out of memory (the descriptors are closed). */
int rank_output_open(struct agent_rank *r, int out, int err);
void rank_output_close(struct agent_rank *r);

/* The rank has ended: note what of it is still in the pipes. rank_output_has_due tells whether that has
 * not been sent yet. */
void rank_output_rank_ended(struct agent_rank *r);
bool rank_output_has_due(const struct agent_rank *r);

/* LAUNCH_CREDIT; and: the channel has taken all that was kept. */
void rank_output_acknowledge(struct agent *a, size_t bytes);
void rank_output_on_written(struct agent *a);

/* The channel is gone: what ranks still write is read, so that none blocks on its way out, and
 * dropped. */
void rank_output_abandon(struct agent *a);

/* When nobody is left who could write: ends the streams that are empty. False: some still hold bytes, which
 * go their way first. */
bool rank_output_finish(struct agent *a);

/* Reads no more. How many bytes that were in the pipes are dropped. */
size_t rank_output_close_all(struct agent *a);

#endif
