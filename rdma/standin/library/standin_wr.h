/* SPDX-License-Identifier: MIT */
/* standin_wr.h: requests of ibv_wr_start(3). */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_WR_H
#define RDMA_STANDIN_LIBRARY_STANDIN_WR_H

#include "rdma/standin/library/standin_qp.h"

/* Sets the queue pair's functions and the memory for what they build. False: there is none. */
bool standin_wr_open(struct standin_qp *q);
void standin_wr_close(struct standin_qp *q);

#endif
