/* SPDX-License-Identifier: MIT */
/* host_name.h: splits and checks "[user@]host[:number]", and knows the names of this machine. */
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

/*
 * True for localhost, 127.x.x.x and ::1; for the machine's name, short or as `hostname -f` says it,
 * in any case and with a dot at its end; for each address of its interfaces; and for a name to
 * which /etc/hosts gives such addresses alone. A name server is asked for names only that begin
 * with the machine's own and a dot, because an answer may take seconds for each host.
 */
bool host_name_is_local(const char *name);

/* True for NULL, and for the name of the user who runs this process. */
bool host_name_is_own_user(const char *user);

#endif
