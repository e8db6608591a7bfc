/* SPDX-License-Identifier: MIT */
/* query_answer.h: the frames that an agent sends to a launcher that asks it, checked. */
#ifndef LAUNCHER_ASK_QUERY_ANSWER_H
#define LAUNCHER_ASK_QUERY_ANSWER_H

#include "common/fault.h"
#include "launcher/wire/protocol/agent_report.h"

#include <jansson.h>

struct frame;

/* Reads HELLO. An agent of another build is refused: ML_ERR_REFUSED, as what is malformed. */
int query_answer_hello(struct hello_report *out, const struct frame *f, struct fault *why);

/* Reads ANSWER. *out is an object, the caller's, whose texts have no control characters: they may
 * go to a terminal. ML_ERR_REFUSED: it is malformed, or says what has failed. */
int query_answer_read(json_t **out, const struct frame *f, struct fault *why);

#endif
