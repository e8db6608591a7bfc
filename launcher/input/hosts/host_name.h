/* SPDX-License-Identifier: MIT */
/* host_name.h: splits and checks "[user@]host[:number]". */
#ifndef LAUNCHER_INPUT_HOSTS_HOST_NAME_H
#define LAUNCHER_INPUT_HOSTS_HOST_NAME_H

#include "common/fault.h"

#include <stdbool.h>

struct host_name {
    char *user;  /* owned, or NULL */
    char *name;  /* owned; an IPv6 address without its brackets */
    long number; /* after the colon: slots or a port; 0: none */
};

enum { HOST_NAME_MOST = 255 }; /* bytes */

/* Refuses what is no plain word to a shell, or looks like an option, as OpenSSH does: a name
 * reaches the shell of ProxyCommand as %h or %r. `what` is what `word` is: "the host's name". */
int host_name_check(const char *word, const char *what, struct fault *why);

/* What the number after the colon means, for messages. */
struct host_number {
    const char *what; /* "slots", "port" */
    long max;
};

/* Parses `text`, where an IPv6 address has brackets. *out is set on success only, and its strings
 * are the caller's. ML_ERR_ARGUMENT: a name is empty, looks like an option or is not one plain word
 * to a shell (names reach the commands of ssh_config), or the number is out of range. */
int host_name_parse(struct host_name *out, const char *text, const struct host_number *number,
                    struct fault *why);

/* True if two names may be one host's: batch systems write "n1" where users write "n1.cluster", or
 * the other way round. */
bool host_name_is_same(const char *a, const char *b);

/* True for localhost, 127.x.x.x, ::1 and the name of this machine, short or as `hostname -f` says
 * it. */
bool host_name_is_local(const char *name);

#endif
