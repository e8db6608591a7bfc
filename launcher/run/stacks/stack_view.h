/* SPDX-License-Identifier: MIT */
/*
 * stack_view.h: the stack of a process's main thread as people want to read it, and two processes
 * in the same place have the same: without addresses and arguments, Python's own lines if there are
 * any.
 */
#ifndef LAUNCHER_RUN_STACKS_STACK_VIEW_H
#define LAUNCHER_RUN_STACKS_STACK_VIEW_H

#include <jansson.h>

enum { STACK_VIEW_PLACE = 192 };

struct stack_view {
    json_t *frames; /* texts, the innermost first; owned */
    /* How many of the innermost frames are below a call of MPI, say, and differ from one moment to
     * the next although the process stays where it is. */
    size_t below_call;
    /* What follows "rank 7 is": "in dataloader.py:88 read", "in MPI_Allreduce, called at prog.c:41
     * step", "in the system call read", "running, in no system call"; "": nothing is known. The
     * program's own code, where that can be told. */
    char place[STACK_VIEW_PLACE];
};

/* `process`: an element of "stacks" in the ANSWER of doc/protocol.md, unchecked. NULL has an empty
 * view. stack_view_clear frees what it made. */
void stack_view_make(struct stack_view *v, const json_t *process);
void stack_view_clear(struct stack_view *v);

/* The process of a rank that tells most, of a list "stacks": one that runs Python, or else the
 * first that does not wait for a child. NULL: there is none. */
json_t *stack_view_choose(json_t *stacks);

#endif
