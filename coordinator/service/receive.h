/* SPDX-License-Identifier: MIT */
/*
 * receive.h: hands out the frames that ranks and agents send. Each kind of frame has a handler in
 * another file, FILE_receive() or FILE_receive_KIND(). `message` is the frame's JSON, an object
 * that the caller keeps; `seat` is the sender's in the group `p`. A handler returns a negative code
 * and fills `why` if the frame is malformed; the connection is then dropped. It may free
 * generations and groups, and drop connections.
 */
#ifndef COORDINATOR_SERVICE_RECEIVE_H
#define COORDINATOR_SERVICE_RECEIVE_H

#include "common/fault.h"
#include "common/net/frame.h"

struct connection;

int receive_frame(struct connection *c, const struct frame *f, struct fault *why);

#endif
