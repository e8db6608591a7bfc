/* SPDX-License-Identifier: MIT */
/*
 * forward.h: questions of one host's mlaunch-pmix to that of another, or to itself, and the
 * answers. The agents pass them on. All functions here are called on the main thread.
 */
#ifndef LAUNCHER_PMIX_FORWARD_H
#define LAUNCHER_PMIX_FORWARD_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "launcher/pmix/main_queue.h"
#include "launcher/pmix/served_job.h"

#include <stdbool.h>

enum forward_kind {
    FORWARD_MODEX = 1, /* what has the rank put? */
    FORWARD_ANSWER,    /* no question */
    FORWARD_PUBLISH, /* name, NUL, enum forward_value, its bytes: keep it; the rank is its owner */
    FORWARD_PUBLISH_ONCE, /* the same, until it has been looked up */
    FORWARD_UNPUBLISH,    /* name: forget it */
    FORWARD_LOOKUP,       /* name: its owner, u32, and value */
    FORWARD_AWAIT, /* the same, once it is there; for as many seconds as the rank says, or 0 */
};

enum forward_value { FORWARD_TEXT = 's', FORWARD_BYTES = 'b' };

struct forward_question {
    uint32_t host, number; /* for forward_answer */
    enum forward_kind kind;
    uint32_t rank;
    const char *bytes; /* valid during the call */
    size_t size;
};

/* `question` answers by forward_answer, within the call or later. Keeps `job`. */
void forward_open(const struct served_job *job, int fd,
                  int (*question)(const struct forward_question *q, struct fault *why));

/* Asks h->host for h->question with h->rank and h->bytes. The answer goes to h->answer, h->found or
 * h->over. Failures of all functions mean that the agent is gone, or that memory is short. */
int forward_ask(const struct main_queue_item *item, struct fault *why);
int forward_answer(uint32_t host, uint32_t number, bool is_known, const void *bytes, size_t size,
                   struct fault *why);

/* Handles HELP_PASSED. ML_ERR_REFUSED: it is malformed. */
int forward_take(const struct frame *f, struct fault *why);

#endif
