/* SPDX-License-Identifier: MIT */
/* shm_link.h: a link over two rings in shared memory, one in each direction. */
#ifndef RUNTIME_TRANSPORT_SHM_LINK_H
#define RUNTIME_TRANSPORT_SHM_LINK_H

#include "runtime/group/link.h"
#include "runtime/transport/shm_segment.h"

/* Makes a link to `peer`. me, them: the indices of this process and of the peer in the segment,
 * which must outlive the link. ML_ERR_MEMORY. */
int shm_link_open(struct link **out, struct group *g, int peer, struct shm_segment *s, int me,
                  int them, struct fault *why);

#endif
