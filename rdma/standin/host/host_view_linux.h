/* SPDX-License-Identifier: MIT */
/* host_view_linux.h: shows other files in this process's mount namespace, where the kernel lets
 * nobody make them. Errors are ML_ERR_SYSTEM, with the path in the sentence. */
#ifndef RDMA_STANDIN_HOST_HOST_VIEW_LINUX_H
#define RDMA_STANDIN_HOST_HOST_VIEW_LINUX_H

#include "common/fault.h"

#include <stdbool.h>

/* Lets no mount of this namespace be seen in another one, and none of another one here. */
int host_view_begin(struct fault *why);

/* Covers the folder with an empty one, in which all is shown again but the names that `hides`. */
int host_view_cover(const char *folder, bool (*hides)(const char *name), struct fault *why);

/* Shows the file or folder `from`, an open descriptor, at `at`, which is made if it is not there.
 * `name` is that of `from`, for the sentence. */
int host_view_show(int from, const char *name, const char *at, bool is_folder, struct fault *why);

#endif
