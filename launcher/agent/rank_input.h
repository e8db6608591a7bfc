/* SPDX-License-Identifier: MIT */
/*
 * rank_input.h: STDIN frames into ranks' standard input. What a rank has not read yet is kept, at most
 * AGENT_STDIN_WINDOW bytes; the launcher may send more when STDIN_CREDIT says that some were
 * taken. A rank that closes its stdin, or ends, takes everything.
 */
#ifndef LAUNCHER_AGENT_RANK_INPUT_H
#define LAUNCHER_AGENT_RANK_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct evbuffer;
struct event;
struct agent_rank;

struct rank_input {
    struct evbuffer *kept; /* NULL: nobody reads (any more) */
    struct event *event;   /* NULL: the rank has not been started */
    int fd;
    bool at_end; /* no more will come */
};

/* For each rank that gets stdin, before it is started: frames may come from now on. -1: out of
 * memory. */
int rank_input_create(struct agent_rank *r);
/* The writing end of the started rank's pipe, taken over. -1: out of memory. */
int rank_input_open(struct agent_rank *r, int fd);
void rank_input_close(struct agent_rank *r);

/* LAUNCH_STDIN for this rank; no bytes: end of file. -1: more than the window allows. */
int rank_input_take(struct agent_rank *r, const void *bytes, size_t size);

#endif
