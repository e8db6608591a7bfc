/* SPDX-License-Identifier: MIT */
/* remote_pattern.h: the patterns of ssh_config and known_hosts, which know only * and ?. */
#ifndef LAUNCHER_WIRE_SSH_REACH_REMOTE_PATTERN_H
#define LAUNCHER_WIRE_SSH_REACH_REMOTE_PATTERN_H

#include <stdbool.h>

/* Case is ignored. */
bool remote_pattern_matches(const char *pattern, const char *name);

/* Whether a list of patterns, separated by commas, matches the name: one pattern does, and no
 * negated one. The list is cut up. */
bool remote_pattern_list_matches(char *list, const char *name);

#endif
