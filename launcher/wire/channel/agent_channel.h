/* SPDX-License-Identifier: MIT */
/*
 * agent_channel.h: the supervisor's end of one agent: a channel from its opening to its end, frames
 * in both directions, and a watch for an agent that has gone silent. Everything happens on the
 * supervisor's loop.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_AGENT_CHANNEL_H
#define LAUNCHER_WIRE_CHANNEL_AGENT_CHANNEL_H

#include "common/net/frame.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct agent_channel;

/* Called from the loop; on_end also from within a send. on_end comes at most once, when the channel
 * could not be opened or has ended, and nothing comes after it; `text` gives the reason and stays
 * valid until the channel is closed. The channel must not be closed within either function. `host`
 * is what agent_channel_open was given. */
struct agent_channel_events {
    void (*on_frame)(int host, const struct frame *f, void *arg);
    void (*on_end)(int host, const char *text, void *arg);
    void *arg;
};

/* Begins to open a channel to `to`; both `to` and `config` must outlive it. */
int agent_channel_open(struct agent_channel **out, struct event_base *base, int host,
                       const struct host *to, const struct channel_config *config,
                       const struct agent_channel_events *events, struct fault *why);

/* Closes the channel in any state; the agent, if there is one, ends by itself. Takes NULL. */
void agent_channel_close(struct agent_channel *a);

/* Once the channel has ended: whether another try may go well. It was lost, or the host could not
 * be reached; the command that was to start the agent has ended, for whatever reason; or what is
 * wrong stays so: a name, a key, another build. */
enum channel_outlook { CHANNEL_MAY_RETURN, CHANNEL_MAY_NOT_RETURN, CHANNEL_STAYS_WRONG };
enum channel_outlook agent_channel_outlook(const struct agent_channel *a);

/* These four send a frame, or drop it if the channel is not open. */
void agent_channel_send(struct agent_channel *a, int type, const void *payload, size_t size);
/* At most four words. */
void agent_channel_send_words(struct agent_channel *a, int type, const uint32_t *words, int count);
/* A word, then bytes. */
void agent_channel_send_tagged(struct agent_channel *a, int type, uint32_t word, const void *bytes,
                               size_t size);
void agent_channel_send_json(struct agent_channel *a, int type, json_t *object); /* takes over */

/* Writes what was sent now, and not in the next turn of the loop. */
void agent_channel_flush(struct agent_channel *a);

/* Gives the agent end of file. Frames that it still sends, and its end, are reported as usual. A
 * channel that is not open yet ends at once. */
void agent_channel_shut(struct agent_channel *a);

/* Ends the channel if the agent has been silent for AGENT_SILENCE_MS; for a heartbeat timer.
 * `advice` follows the reason, and may be "". */
void agent_channel_check_silence(struct agent_channel *a, const char *advice);
void agent_channel_reset_silence(struct agent_channel *a); /* starts the clock anew */

/* Ends the channel from this side, with the reason `text`, also one that is not open yet. */
void agent_channel_fail(struct agent_channel *a, const char *text);
/* The same; the agent breaks the protocol or is of another build, which stays so. */
void agent_channel_refuse(struct agent_channel *a, const char *text);
/* The same for both sides, in the middle of whatever they say: the agent reads end of file. */
void agent_channel_cut(struct agent_channel *a, const char *text);

#endif
