/* SPDX-License-Identifier: MIT */
/* standin_send.h: ibv_post_send() and ibv_post_recv(), as a context has them. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_SEND_H
#define RDMA_STANDIN_LIBRARY_STANDIN_SEND_H

#include <infiniband/verbs.h>

int standin_post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int standin_post_receive(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
