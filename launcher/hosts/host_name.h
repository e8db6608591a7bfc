/* SPDX-License-Identifier: MIT */
/* host_name.h: "[user@]host[:number]" taken apart and judged. */
#ifndef LAUNCHER_HOSTS_HOST_NAME_H
#define LAUNCHER_HOSTS_HOST_NAME_H

#include "common/fault.h"

#include <stdbool.h>

struct host_name {
    char *user;  /* owned, or NULL */
    char *name;  /* owned; an IPv6 address without its brackets */
    long number; /* behind the colon: slots or a port; 0: none */
};

/* What stands behind the colon, for the messages. */
struct host_number {
    const char *what; /* "slots", "port" */
    long max;
};

/* An IPv6 address stands in brackets. Refused are empty names, names that could pass for an option
 * or that a shell would not take as one plain word (they reach ssh_config's commands), and numbers
 * out of range. */
int host_name_parse(struct host_name *out, const char *text, const struct host_number *number,
                    struct fault *why);

/* localhost, 127.x.x.x, ::1, or the name of this machine. */
bool host_name_is_local(const char *name);

#endif
