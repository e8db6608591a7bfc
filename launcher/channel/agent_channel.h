/* SPDX-License-Identifier: MIT */
/*
 * agent_channel.h: the supervisor's end of one agent: a channel from its opening to its end, frames
 * in and out, and whether it is still heard of. On the supervisor's loop.
 */
#ifndef LAUNCHER_CHANNEL_AGENT_CHANNEL_H
#define LAUNCHER_CHANNEL_AGENT_CHANNEL_H

#include "common/frame.h"
#include "launcher/channel/channel.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct agent_channel;

/* Called from the loop, and on_end also from within a send. Nothing comes after on_end, which comes
 * at most once: the channel couldn't be opened, or has ended; `text` says why and stays valid. The
 * stream must not be closed in either. `host`: what agent_channel_open was given. */
struct agent_channel_events {
    void (*on_frame)(int host, const struct frame *f, void *arg);
    void (*on_end)(int host, const char *text, void *arg);
    void *arg;
};

/* Begins to open a channel to `to`; both it and `config` must outlive the stream. */
int agent_channel_open(struct agent_channel **out, struct event_base *base, int host,
                       const struct host *to, const struct channel_config *config,
                       const struct agent_channel_events *events, struct fault *why);

/* Closes the channel whatever its state; the agent, if there is one, ends by itself. Takes NULL. */
void agent_channel_close(struct agent_channel *s);

/* Dropped unless the channel is open. */
void agent_channel_send(struct agent_channel *s, int type, const void *payload, size_t size);
void agent_channel_send_words(struct agent_channel *s, int type, const uint32_t *words, int count);
/* A word, then bytes. */
void agent_channel_send_tagged(struct agent_channel *s, int type, uint32_t word, const void *bytes,
                               size_t size);
void agent_channel_send_json(struct agent_channel *s, int type, json_t *object); /* takes over */

/* The agent shall see end of file; what it still has to say, and its end, come as ever. A channel
 * that isn't open yet ends at once. */
void agent_channel_shut(struct agent_channel *s);

bool agent_channel_has_ended(const struct agent_channel *s);

/* Reports an agent that has been silent for AGENT_SILENCE_MS as ended; for a heartbeat timer. */
void agent_channel_check_silence(struct agent_channel *s);
void agent_channel_reset_silence(struct agent_channel *s); /* the clock starts anew */

/* Ends the stream from our side, with a reason of ours: it talks nonsense. */
void agent_channel_fail(struct agent_channel *s, const char *text);

#endif
