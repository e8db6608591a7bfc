/* SPDX-License-Identifier: MIT */
/*
 * forwarder.h: questions of one host's mlaunch-pmix to that of another, or to itself, and the
 * answers. The agents pass them on. All functions here are called on the main thread.
 */
#ifndef LAUNCHER_PMIX_FORWARDER_H
#define LAUNCHER_PMIX_FORWARDER_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "launcher/pmix/main_queue.h"
#include "launcher/pmix/served_job.h"

#include <stdbool.h>

enum forwarder_kind {
    FORWARDER_MODEX = 1, /* what has the rank put? */
    FORWARDER_ANSWER,    /* no question */
    FORWARDER_PUBLISH, /* name, NUL, enum forwarder_value, bytes: keep it; the rank is its owner */
    FORWARDER_PUBLISH_ONCE, /* the same, until it has been looked up */
    FORWARDER_UNPUBLISH,    /* name: forget it */
    FORWARDER_LOOKUP,       /* name: its owner, u32, and value */
    FORWARDER_AWAIT, /* the same, once it is there; for as many seconds as the rank says, or 0 */
};

enum forwarder_value { FORWARDER_TEXT = 's', FORWARDER_BYTES = 'b' };

struct forwarder_question {
    uint32_t host, number; /* for forwarder_answer */
    enum forwarder_kind kind;
    uint32_t rank;
    const char *bytes; /* valid during the call */
    size_t size;
};

/* `question` answers by forwarder_answer, within the call or later. Keeps `job`. */
void forwarder_open(const struct served_job *job, int fd,
                    int (*question)(const struct forwarder_question *q, struct fault *why));

/* Asks h->host for h->question with h->rank and h->bytes. The answer goes to h->answer, h->found or
 * h->over. Failures of all functions mean that the agent is gone, or that memory is short. */
int forwarder_ask(const struct main_queue_item *item, struct fault *why);
int forwarder_answer(uint32_t host, uint32_t number, bool is_known, const void *bytes, size_t size,
                     struct fault *why);

/* Handles HELP_PASSED. ML_ERR_REFUSED: it is malformed. */
int forwarder_take(const struct frame *f, struct fault *why);

#endif
