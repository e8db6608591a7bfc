/* SPDX-License-Identifier: MIT */
/*
 * remote_alike.h: which hosts ssh_config does not tell apart, so that ssh need be asked for one of
 * them only. Hosts are alike if each pattern of a Host or Match line matches all of them or none.
 * Nothing else of the files is understood here: where a line may tell hosts apart in another way
 * (Match exec, quotes, tokens in Include), they are doubtful, and each host is asked for.
 */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_ALIKE_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_ALIKE_H

#include "launcher/base/text/string_list.h"

#include <stdbool.h>

/* All zero: no file has been read. */
struct remote_alike {
    struct string_list patterns;
    bool is_doubtful;
    bool sets_algorithms; /* a line sets ciphers, keys' algorithms or the like, for some host */
};

/* Adds what a configuration file says, which ssh has read. What cannot be read is doubtful. */
void remote_alike_scan(struct remote_alike *a, const char *path);

/* For each pattern whether it matches: a string that is equal for hosts that are alike. NULL: the
 * host is to be asked for by itself, or there is no memory. Freed by the caller. */
char *remote_alike_signature(const struct remote_alike *a, const char *name);

void remote_alike_clear(struct remote_alike *a);

#endif
