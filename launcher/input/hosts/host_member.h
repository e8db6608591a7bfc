/* SPDX-License-Identifier: MIT */
/* host_member.h: reads members of a JSON hostfile, with messages for those of the wrong type. */
#ifndef LAUNCHER_INPUT_HOSTS_HOST_MEMBER_H
#define LAUNCHER_INPUT_HOSTS_HOST_MEMBER_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"

#include <jansson.h>

/* Returns the type in words: "a string", "null". */
const char *host_member_type(const json_t *value);

/* ML_ERR_ARGUMENT: "NAME: must be WANTED, not a string". */
int host_member_mistyped(struct fault *why, const char *name, const char *wanted,
                         const json_t *value);

/* Looks for members that are not in `known`. One that looks like a slip is an error ("slot" for
 * "slots" would make the job smaller than meant). The names of others are added to `ignored`, as
 * other programs may keep members of their own in the file. */
int host_member_unknown(const json_t *object, const char *const *known, struct string_list *ignored,
                        struct fault *why);

/* Appends the strings of a list. ML_ERR_ARGUMENT if `check` fails for one of them, or if `value` is
 * not a list: "must be WANTED". */
int host_member_strings(struct string_list *out, const json_t *value, const char *wanted,
                        int (*check)(const char *text, struct fault *why), struct fault *why);

/* Appends the variables of ["NAME=VALUE", …] or {"NAME": "VALUE", …} as NAME=VALUE. */
int host_member_environment(struct string_list *out, const json_t *value, struct fault *why);

#endif
