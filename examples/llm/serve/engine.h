/* SPDX-License-Identifier: MIT */
/*
 * engine.h: the thread of rank 0 that computes. It takes tickets from the queue into its slots, and
 * each step of the model carries all of them on: one row for each that is being answered, and what
 * is left of the step's rows for prompts that are being read.
 *
 *     slot:  free ──queue_take──▶ reads the prompt ──last row──▶ answers ──end──▶ free
 *              ▲                        │                           │
 *              └───── the client has left, noticed before each step ┘
 *
 * A slot keeps what it has computed. The next ticket goes to the free slot that has most of its
 * beginning, and only the rest is computed.
 *
 * An answer that is to be a JSON object is drawn from those of the likeliest tokens that continue
 * one. Where none of them does, the token of one byte is taken that leads to the object's end.
 *
 * Only this thread uses the group of ranks. While there is nothing to do it lets the other ranks
 * know that it lives. Once a call fails, a rank is lost, and so is what the slots answer. In a job
 * of `mlaunch --elastic` the others answer the requests that wait. Else all are lost: it closes the
 * queue with the library's sentence and ends.
 */
#ifndef LLM_SERVE_ENGINE_H
#define LLM_SERVE_ENGINE_H

#include "../steps/lead.h"
#include "../text/tokenizer.h"
#include "queue.h"

struct engine;

enum { ENGINE_MOVED = 1 };

struct engine_config {
    struct lead *lead;
    const struct tokenizer *tokenizer;
    struct queue *queue;
};

/* All of the config must stay until engine_join(). NULL: no memory or no thread. */
struct engine *engine_start(const struct engine_config *config);

/* Any thread: the weights have been read once, so answers come at their usual pace. */
bool engine_is_ready(const struct engine *e);

/* Waits for its end, after queue_stop() or queue_is_closed(), and frees it. Returns 0, the
 * library's error if a rank was lost, or ENGINE_MOVED: rank 0 has come back, and serves. */
int engine_join(struct engine *e);

#endif
