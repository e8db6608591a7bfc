/* SPDX-License-Identifier: MIT */
/*
 * script_channel.h: a stand-in for launcher/wire/channel/agent_channel.c. What the agents send is a
 * script, of which each line is a step:
 *   0 … 3, two digits, payload   that host's agent sends a frame of that type; in the payload @ is
 *                                replaced by this build's id
 *   x, 0 … 3, text               that host's channel ends
 *   w                            with script_channel_watch(): the next step waits until something
 *                                has been sent since the last step of this kind
 *   w, 0 … 3                     likewise, until there is a channel to that host
 * After the last step all channels end.
 */
#ifndef TESTS_FUZZ_SCRIPT_CHANNEL_H
#define TESTS_FUZZ_SCRIPT_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

/* Sets the script, which must stay valid, of the channels that are opened from now on. One step is
 * taken in each round of their event loop. */
void script_channel_begin(const uint8_t *script, size_t size);

/* Called with all that is sent to the agents of the next script, but for heartbeats: words as this
 * machine has them, and bytes without the word before them. NULL: what is sent is dropped, as at
 * first. */
typedef void script_channel_on_send(int host, int type, const uint8_t *payload, size_t size);
void script_channel_watch(script_channel_on_send *on_send);

#endif
