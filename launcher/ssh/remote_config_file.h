/* SPDX-License-Identifier: MIT */
/* remote_config_file.h: one ssh_config file: its lines, and whether they concern a host. */
#ifndef LAUNCHER_SSH_REMOTE_CONFIG_FILE_H
#define LAUNCHER_SSH_REMOTE_CONFIG_FILE_H

#include "launcher/ssh/remote_config.h"

#include <stdbool.h>

/* A line that applies: keyword, and what stands behind it without surrounding blanks. */
typedef int remote_keyword_fn(struct remote_config *c, const char *keyword, const char *value,
                              struct fault *why);

/* Calls `keyword` for each line of `path` (and of what it includes) that applies to c->name, in
 * order; Host and Match look at what c holds by then. The words of a fault get file and line in
 * front. A file that doesn't exist is an error if `must_exist`. */
int remote_config_file_read(struct remote_config *c, const char *path, bool must_exist,
                            remote_keyword_fn *keyword, struct fault *why);

/* The next word of a value, quotes removed, in place; *rest moves on. NULL: no more. */
char *remote_config_word(char **rest);

#endif
