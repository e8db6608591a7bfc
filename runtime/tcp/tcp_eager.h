/* SPDX-License-Identifier: MIT */
/* tcp_eager.h: connects all links of a group over TCP at once, the lower of two ranks to the higher
 * one: those of a window, and with --eager those of every group. */
#ifndef RUNTIME_TCP_TCP_EAGER_H
#define RUNTIME_TCP_TCP_EAGER_H

#include "runtime/group/group.h"

/* ML_ERR_TIMEOUT at deadline_ms (clock_ms), ML_ERR_LINK or ML_ERR_REFUSED, each naming the member;
 * ML_ERR_PEER if one dies. The thread that joins the group calls it. */
int tcp_eager_run(struct group *g, int64_t deadline_ms, struct fault *why);

#endif
