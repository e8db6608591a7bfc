/* SPDX-License-Identifier: MIT */
/* profile_file.h: reads a profile (profile.h) from its INI file. */
#ifndef RDMA_STANDIN_PROFILE_PROFILE_FILE_H
#define RDMA_STANDIN_PROFILE_PROFILE_FILE_H

#include "common/fault.h"
#include "rdma/standin/profile/profile.h"

/* ML_ERR_ARGUMENT: the sentence names file and line, what is wrong there and what is allowed;
 * ML_ERR_MEMORY. */
int profile_file_read(struct profile **out, const char *path, struct fault *why);
void profile_file_close(struct profile *p); /* takes NULL */

#endif
