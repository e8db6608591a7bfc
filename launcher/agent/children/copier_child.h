/* SPDX-License-Identifier: MIT */
/*
 * copier_child.h: mlaunch-copier, which does this host's part of `mlaunch sync` and of --stage-env,
 * as the agent sees it: a child process behind a socket, whose orders and reports it passes on
 * unread. Disks and neighbours may make it wait as long as they like, while the worker answers
 * mlaunch's heartbeats; and what other hosts send is read by a process that has nothing else to
 * lose.
 */
#ifndef LAUNCHER_AGENT_CHILDREN_COPIER_CHILD_H
#define LAUNCHER_AGENT_CHILDREN_COPIER_CHILD_H

#include "common/fault.h"
#include "launcher/wire/protocol/frame_stream.h"

struct event_base;
struct copier_child;

/* Its reports are sent on `channel` as AGENT_SYNC. on_end is called if it ends by itself, for the
 * reason `text`. ML_ERR_SYSTEM: it is missing, or cannot be started; ML_ERR_STATE: it is not built
 * yet. */
int copier_child_start(struct copier_child **out, struct event_base *base,
                       struct frame_stream *channel, void (*on_end)(const char *text, void *arg),
                       void *arg, struct fault *why);
/* Ends it at once: from then on nothing is written. Takes NULL. */
void copier_child_end(struct copier_child *p);
void copier_child_close(struct copier_child *p); /* ends it, too; takes NULL */

/* Passes the payload of a LAUNCH_SYNC on, which has at least one byte. */
void copier_child_order(struct copier_child *p, const uint8_t *payload, size_t size);

#endif
