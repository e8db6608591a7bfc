/* SPDX-License-Identifier: MIT */
/* shm_link.h: a link over two rings in shared memory, one each way. */
#ifndef RUNTIME_TRANSPORT_SHM_LINK_H
#define RUNTIME_TRANSPORT_SHM_LINK_H

#include "runtime/group/link.h"
#include "runtime/transport/shm_segment.h"

/* To `peer`; me and them: the indices of this process and the peer in the segment, which outlives
 * the link. */
int shm_link_open(struct link **out, struct group *g, int peer, struct shm_segment *s, int me,
                  int them, struct fault *why);

#endif
