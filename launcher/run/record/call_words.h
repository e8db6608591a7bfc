/* SPDX-License-Identifier: MIT */
/* call_words.h: a recorded call as a text. */
#ifndef LAUNCHER_RUN_RECORD_CALL_WORDS_H
#define LAUNCHER_RUN_RECORD_CALL_WORDS_H

#include "common/rank_calls.h"

#include <stdbool.h>

/* "all_reduce", "send", "receive", "sendrecv", "probe"; "call" if the kind is unknown. */
const char *call_words_name(const struct rank_call *c);

static inline bool call_words_is_probe(const struct rank_call *c)
{
    return c->kind == RANK_CALL_MESSAGE && c->op;
}

/* The names of its ml_type and ml_op; NULL: it is no reduction, or they are unknown. */
const char *call_words_type(const struct rank_call *c);
const char *call_words_op(const struct rank_call *c);

/* The bytes that a call is about, as `mlaunch metrics` counts them: of a message those sent. */
uint64_t call_words_bytes(const struct rank_call *c);

/* True if both are the same collective call, as all ranks of a group must make it. */
bool call_words_fit(const struct rank_call *a, const struct rank_call *b);

/* "all_reduce of 1000 float32 (sum)", "broadcast of 4096 bytes from rank 0". Returns `text`. */
enum { CALL_WORDS = 128 };
const char *call_words_describe(const struct rank_call *c, char text[CALL_WORDS]);

/* Warns that no rank has made a call, so that nothing is in the file. */
void call_words_warn_of_none(const char *path);

#endif
