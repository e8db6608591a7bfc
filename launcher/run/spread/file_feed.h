/* SPDX-License-Identifier: MIT */
/* file_feed.h: sends one host the files that it wants, as fast as its agent takes them and with
 * little memory: at most AGENT_FILE_WINDOW bytes are under way. */
#ifndef LAUNCHER_RUN_SPREAD_FILE_FEED_H
#define LAUNCHER_RUN_SPREAD_FILE_FEED_H

#include "common/fault.h"
#include "launcher/input/values/staged_list.h"
#include "launcher/wire/channel/agent_channel.h"

#include <stdint.h>

struct file_feed;

/* `wanted`: `count` indices of `list`, copied. Both `list` and `channel` must outlive it. */
int file_feed_create(struct file_feed **out, const struct staged_list *list,
                     struct agent_channel *channel, const int *wanted, int count,
                     struct fault *why);
void file_feed_destroy(struct file_feed *f); /* takes NULL */

/* Sends what may be sent now. ML_ERR_SYSTEM: a file cannot be read. */
int file_feed_send(struct file_feed *f, struct fault *why);

/* The agent has taken `bytes` bytes. ML_ERR_REFUSED: more than were sent. */
int file_feed_acknowledge(struct file_feed *f, uint32_t bytes, struct fault *why);

/* Logs what the host has got, and how long that took. */
void file_feed_report(const struct file_feed *f, const char *host);

#endif
