/* SPDX-License-Identifier: MIT */
/*
 * serve.h: the PMIx server. libpmix talks with the ranks on its own threads, and calls functions of
 * serve.c there, which hand everything over to the main thread (main_queue.h):
 *
 *     ranks ◀──▶ libpmix's threads ─queue─▶ main thread ◀──frames──▶ agent
 *                       ▲───────── answers ──────┘
 *
 * All functions here are called on the main thread.
 */
#ifndef LAUNCHER_PMIX_SERVE_H
#define LAUNCHER_PMIX_SERVE_H

#include "common/net/frame.h"
#include "launcher/pmix/served_job.h"

/* Starts to serve, and keeps `job`, which must stay. `fd` is the socket to the agent.
 * ML_ERR_SYSTEM: libpmix's word. */
int serve_open(const struct served_job *job, int fd, struct fault *why);

/* Tells the agent the ranks' environments. ML_ERR_SYSTEM. */
int serve_announce(struct fault *why);

/* Handles what the ranks have done, and a frame of the agent. ML_ERR_REFUSED: the frame is
 * malformed; others: the agent is gone. */
int serve_queue(struct fault *why);
int serve_frame(const struct frame *f, struct fault *why);

#endif
