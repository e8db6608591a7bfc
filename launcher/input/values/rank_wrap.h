/* SPDX-License-Identifier: MIT */
/*
 * rank_wrap.h: a value of --wrap: "0,3-5: strace -o trace.{rank}" puts a command before the program
 * of some ranks. {rank} and {host} in its words are replaced on the rank's host.
 */
#ifndef LAUNCHER_INPUT_VALUES_RANK_WRAP_H
#define LAUNCHER_INPUT_VALUES_RANK_WRAP_H

#include "launcher/input/values/rank_set.h"

struct rank_wrap {
    struct rank_set ranks;
    char **words; /* owned, NULL-terminated, at least one */
};

/* ML_ERR_ARGUMENT: the text is not "RANKS: COMMAND". ML_ERR_MEMORY. */
int rank_wrap_parse(struct rank_wrap *out, const char *text, struct fault *why);
void rank_wrap_clear(struct rank_wrap *w);

#endif
