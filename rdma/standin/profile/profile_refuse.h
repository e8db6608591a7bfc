/* SPDX-License-Identifier: MIT */
/* profile_refuse.h: sentences on what sections of a profile may not say together. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_REFUSE_H
#define RDMA_STANDIN_PROFILE_PROFILE_REFUSE_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* "kind" and so on. */
extern const char *const profile_section_words[PROFILE_SECTIONS];

/* The line that gives `key`, or else `other` (which may be NULL), or else the section's. */
int profile_line(const struct profile_section *s, const char *key, const char *other);

/* "FILE line 7: [device a/rxe0]: …"; returns ML_ERR_ARGUMENT. */
int profile_refuse(const struct profile *p, const struct profile_section *s, int line,
                   struct fault *why, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
