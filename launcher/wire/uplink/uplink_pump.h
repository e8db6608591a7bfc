/* SPDX-License-Identifier: MIT */
/*
 * uplink_pump.h: carries the bytes between a socket of this machine and one run of an uplink, in
 * both directions: at the head the supervisor's end of a channel, at a host the agent.
 */
#ifndef LAUNCHER_WIRE_UPLINK_UPLINK_PUMP_H
#define LAUNCHER_WIRE_UPLINK_UPLINK_PUMP_H

#include "launcher/wire/uplink/stream/uplink_stream.h"

struct uplink_pump;

/* `fd`, a non-blocking stream socket, has given end of file: uplink_pump_shut() is to say so, once
 * all is known that belongs before it. Called once, from the loop. */
typedef void uplink_pump_end_fn(void *arg);

/* Takes over `fd` on success. What `to` has must outlive it. `host` is the agent's.
 * ML_ERR_MEMORY. */
int uplink_pump_open(struct uplink_pump **out, struct event_base *base,
                     const struct uplink_route *to, int host, uint32_t run, int fd,
                     uplink_pump_end_fn *on_end, void *arg, struct fault *why);
void uplink_pump_close(struct uplink_pump *p); /* takes NULL */

uint32_t uplink_pump_run(const struct uplink_pump *p);

/* What the other side has sent: DATA's bytes, SHUT. ML_ERR_REFUSED: more than `fd` takes. */
int uplink_pump_take(struct uplink_pump *p, const void *bytes, size_t size, struct fault *why);
void uplink_pump_take_shut(struct uplink_pump *p);

void uplink_pump_shut(struct uplink_pump *p);   /* sends SHUT */
void uplink_pump_resume(struct uplink_pump *p); /* the uplink has room */

#endif
