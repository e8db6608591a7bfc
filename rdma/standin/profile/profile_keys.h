/* SPDX-License-Identifier: MIT */
/* profile_keys.h: the keys of a profile's sections, and what is allowed for each. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_KEYS_H
#define RDMA_STANDIN_PROFILE_PROFILE_KEYS_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* Reads a value into its section, and notes `line`. A list may be given in several lines of one
 * key. ML_ERR_ARGUMENT with a sentence that lacks file, line and section; ML_ERR_MEMORY. */
int profile_key_set(struct profile_section *s, const char *key, const char *value, int line,
                    struct fault *why);

/* The line that gives the key first, or 0 if none does. */
int profile_key_line(const struct profile_section *s, const char *key);

#endif
