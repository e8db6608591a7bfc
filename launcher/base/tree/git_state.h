/* SPDX-License-Identifier: MIT */
/* git_state.h: what a working tree of git is at, as the program git says it. */
#ifndef LAUNCHER_BASE_TREE_GIT_STATE_H
#define LAUNCHER_BASE_TREE_GIT_STATE_H

#include <stdint.h>

struct git_state {
    char commit[72];  /* hexadecimal, or "" */
    int64_t changes;  /* files that differ from the commit, or that git does not know */
    char change[256]; /* the first of them, as `git status --porcelain` shows it */
    char error[256];  /* why it could not be read; or "" */
};

/* Runs git in DIRECTORY/NAME. */
void git_state_read(struct git_state *out, const char *directory, const char *name);

#endif
