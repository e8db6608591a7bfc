/* SPDX-License-Identifier: MIT */
/*
 * join_place.h: which host of a job this one is, of how many, and where the head is: from the
 * command line, and with --from from the variables of the system that has started all hosts.
 */
#ifndef LAUNCHER_COMMANDS_JOIN_JOIN_PLACE_H
#define LAUNCHER_COMMANDS_JOIN_JOIN_PLACE_H

#include "launcher/wire/uplink/uplink_address.h"

enum { JOIN_PORT = 7400 /* where --from has none */ };

/* What the command line says; NULL: nothing. */
struct join_words {
    const char *head, *index, *hosts;
    const char *from; /* "auto", or the name of a system */
};

struct join_place {
    char head[UPLINK_HOST]; /* "": not known, which only the head itself can bear */
    int port;
    int index, hosts;
    char system[64];                              /* which has said so; or "" */
    char index_by[64], hosts_by[64], head_by[64]; /* the option or the variable of each */
};

/* ML_ERR_ARGUMENT names the option or the variable at fault. */
int join_place_find(struct join_place *out, const struct join_words *words,
                    char *const *environment, struct fault *why);

#endif
