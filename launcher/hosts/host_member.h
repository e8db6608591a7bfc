/* SPDX-License-Identifier: MIT */
/* host_member.h: typed values out of a JSON hostfile, with sentences for those of another type. */
#ifndef LAUNCHER_HOSTS_HOST_MEMBER_H
#define LAUNCHER_HOSTS_HOST_MEMBER_H

#include "common/fault.h"
#include "launcher/text/string_list.h"

#include <jansson.h>

const char *host_member_type(const json_t *value); /* "a string", "null" */

/* "NAME: must be WANTED, not a number" */
int host_member_mistyped(struct fault *why, const char *name, const char *wanted,
                         const json_t *value);

/* A member that isn't known is an error if it looks like a slip ("slot" for "slots": the job would be smaller
 * than meant), else its name is added to `ignored`, as other programs may keep theirs in the file. */
int host_member_unknown(const json_t *object, const char *const *known, struct string_list *ignored,
                        struct fault *why);

/* Appends a list of strings, each of which `check` has to like. A value that is no list: "must be
 * WANTED". */
int host_member_strings(struct string_list *out, const json_t *value, const char *wanted,
                        int (*check)(const char *text, struct fault *why), struct fault *why);

/* Appends NAME=VALUE out of ["NAME=VALUE", …] or {"NAME": "VALUE", …}. */
int host_member_environment(struct string_list *out, const json_t *value, struct fault *why);

#endif
