/* SPDX-License-Identifier: MIT */
/*
 * sync_process.h: the worker's end of the copying process. Disks and neighbours may make that
 * process wait as long as they like, while the worker answers mlaunch's heartbeats; and what other
 * hosts send is read by a process that has nothing else to lose.
 */
#ifndef LAUNCHER_AGENT_SYNC_SYNC_PROCESS_H
#define LAUNCHER_AGENT_SYNC_SYNC_PROCESS_H

#include "common/fault.h"
#include "launcher/wire/protocol/frame_stream.h"

struct event_base;
struct sync_process;

/* Its reports are sent on `channel` as AGENT_SYNC; at its end `channel` fails. ML_ERR_SYSTEM. */
int sync_process_start(struct sync_process **out, struct event_base *base,
                       struct frame_stream *channel, struct fault *why);
void sync_process_close(struct sync_process *p); /* ends it; takes NULL */

/* Passes the payload of a LAUNCH_SYNC on, which has at least one byte. */
void sync_process_order(struct sync_process *p, const uint8_t *payload, size_t size);

#endif
