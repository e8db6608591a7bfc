/* SPDX-License-Identifier: MIT */
/* standin_hash.h: whether a program leaves alone what it sends, until the send is completed. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_HASH_H
#define RDMA_STANDIN_LIBRARY_STANDIN_HASH_H

#include "rdma/standin/library/standin_qp.h"

/* Notes the bytes of a request that is posted. */
void standin_send_note(const struct standin_qp *q, struct standin_send *w);
/* Says so if they have changed since. */
void standin_send_check_unchanged(const struct standin_qp *q, const struct standin_send *w,
                                  enum ibv_wc_status status);

#endif
