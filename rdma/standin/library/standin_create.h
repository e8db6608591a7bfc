/* SPDX-License-Identifier: MIT */
/* standin_create.h: how queue pairs come and go: ibv_create_qp() and its like. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_CREATE_H
#define RDMA_STANDIN_LIBRARY_STANDIN_CREATE_H

#include <infiniband/verbs.h>

struct ibv_qp *standin_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex);

#endif
