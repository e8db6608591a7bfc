/* SPDX-License-Identifier: MIT */
/* environment.h: the variables that -x, --env-file and hostfiles set for the ranks. */
#ifndef LAUNCHER_BASE_TEXT_ENVIRONMENT_H
#define LAUNCHER_BASE_TEXT_ENVIRONMENT_H

#include "common/fault.h"
#include "launcher/base/text/string_list.h"

/* ML_ERR_ARGUMENT: the text is not NAME=VALUE with a plain name, or the variable is one that
 * mlaunch sets to a different value for each rank. */
int environment_check(const char *assignment, struct fault *why);

/* The same for the argument of -x, which may also be NAME or a glob. */
int environment_check_argument(const char *argument, struct fault *why);

/* Appends the variables of one -x: "NAME=VALUE" as it is; "NAME" from the caller's environment,
 * with a warning if it is missing; for a glob each of the caller's variables that matches, except
 * those that mlaunch sets for each rank. */
int environment_add(struct string_list *l, const char *argument, char *const *caller,
                    struct fault *why);

/* Appends the NAME=VALUE lines of a file. Blank lines and lines that begin with # are skipped,
 * blanks around a line are dropped, and quotes are part of the value. */
int environment_read(struct string_list *l, const char *path, struct fault *why);

/* Returns the last value of `name` in the list, or NULL. It belongs to the list. */
const char *environment_find(char *const *list, const char *name);

#endif
