/* SPDX-License-Identifier: MIT */
/* standin_serve.h: the thread of a context, which does what a device does by itself. */
#ifndef RDMA_STANDIN_LIBRARY_STANDIN_SERVE_H
#define RDMA_STANDIN_LIBRARY_STANDIN_SERVE_H

#include "rdma/standin/objects/standin_context.h"

/* 0 or an errno. */
int standin_serve_start(struct standin_context *c);
void standin_serve_stop(struct standin_context *c);

#endif
