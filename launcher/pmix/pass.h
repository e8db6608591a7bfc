/* SPDX-License-Identifier: MIT */
/*
 * pass.h: questions of one host's mlaunch-pmix to that of another, or to itself, and the answers.
 * The agents pass them on. All functions here are called on the main thread.
 */
#ifndef LAUNCHER_PMIX_PASS_H
#define LAUNCHER_PMIX_PASS_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "launcher/pmix/hop.h"
#include "launcher/pmix/served_job.h"

#include <stdbool.h>

enum pass_kind {
    PASS_MODEX = 1,    /* what has the rank put? */
    PASS_ANSWER,       /* no question */
    PASS_PUBLISH,      /* name, NUL, enum pass_value, its bytes: keep it; the rank is its owner */
    PASS_PUBLISH_ONCE, /* the same, until it has been looked up */
    PASS_UNPUBLISH,    /* name: forget it */
    PASS_LOOKUP,       /* name: its owner, u32, and value */
    PASS_AWAIT,        /* the same, once it is there; for as many seconds as the rank says, or 0 */
};

enum pass_value { PASS_TEXT = 's', PASS_BYTES = 'b' };

struct pass_question {
    uint32_t host, number; /* for pass_answer */
    enum pass_kind kind;
    uint32_t rank;
    const char *bytes; /* valid during the call */
    size_t size;
};

/* `question` answers by pass_answer, within the call or later. Keeps `job`. */
void pass_open(const struct served_job *job, int fd,
               int (*question)(const struct pass_question *q, struct fault *why));

/* Asks h->host for h->question with h->rank and h->bytes. The answer goes to h->answer, h->found or
 * h->over. Failures of all functions mean that the agent is gone, or that memory is short. */
int pass_ask(const struct hop *h, struct fault *why);
int pass_answer(uint32_t host, uint32_t number, bool is_known, const void *bytes, size_t size,
                struct fault *why);

/* Handles HELP_PASSED. ML_ERR_REFUSED: it is malformed. */
int pass_take(const struct frame *f, struct fault *why);

#endif
