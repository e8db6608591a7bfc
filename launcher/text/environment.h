/* SPDX-License-Identifier: MIT */
/* environment.h: what -x, --env-file and hostfiles say of the ranks' environment. */
#ifndef LAUNCHER_TEXT_ENVIRONMENT_H
#define LAUNCHER_TEXT_ENVIRONMENT_H

#include "common/fault.h"
#include "launcher/text/string_list.h"

/* Refuses what is not NAME=VALUE with a plain name, and the variables by which mlaunch tells a rank
 * who it is: all ranks would be told the same. */
int environment_check(const char *assignment, struct fault *why);

/* The same for what may stand behind -x: NAME and globs too. */
int environment_check_argument(const char *argument, struct fault *why);

/* Appends what one -x says: "NAME=VALUE" as it is; "NAME" from the caller's environment, with a
 * warning if it isn't there; a glob: each variable of the caller that matches, but those that name
 * a rank. */
int environment_add(struct string_list *l, const char *argument, char *const *caller,
                    struct fault *why);

/* Appends the NAME=VALUE lines of a file. Blank lines and lines that begin with # are skipped;
 * blanks around a line are dropped; a value is taken as it stands, quotes included. */
int environment_read(struct string_list *l, const char *path, struct fault *why);

/* The last value that the list gives `name`, or NULL. */
const char *environment_find(char *const *list, const char *name);

#endif
