/* SPDX-License-Identifier: MIT */
/* tcp_wire.h: one connection that a mesh is making (tcp_mesh.h), until both sides have proved who
 * they are. */
#ifndef RUNTIME_TRANSPORT_TCP_WIRE_H
#define RUNTIME_TRANSPORT_TCP_WIRE_H

#include "common/net/address.h"
#include "common/net/auth.h"
#include "runtime/group/group.h"

/*
 * connecting:  CONNECTING ──▶ SHAKING ──proved both ways──▶ a link, and the slot is free
 * accepting:                  SHAKING ──proved, expected──▶ a link
 *                                └──anything else──▶ dropped; a stranger may not disturb
 */
enum tcp_wire_state { TCP_WIRE_FREE, TCP_WIRE_CONNECTING, TCP_WIRE_SHAKING };

struct tcp_wire {
    enum tcp_wire_state state;
    int fd;
    int peer; /* rank in the group; -1: accepted, not known yet */
    struct auth *auth;
    struct frame_reader *reader;
    const unsigned char *out; /* auth_output's, not taken by the socket yet */
    size_t out_size;
    bool has_spoken;     /* it has sent a valid frame; strangers that have not are dropped first */
    bool is_proved;      /* the peer has proved who it is; a last output may be left */
    int64_t deadline_ms; /* clock_ms; of accepted ones */
    struct address to;   /* where a connecting one goes */
};

/* Begin a connection; *w is free, except for w->peer and w->to of a connecting one. tcp_wire_accept
 * takes over `fd`. In error tcp_wire_drop is still due. ML_ERR_LINK, ML_ERR_SYSTEM,
 * ML_ERR_MEMORY. */
int tcp_wire_connect(struct tcp_wire *w, const struct group *g, struct fault *why);
int tcp_wire_accept(struct tcp_wire *w, const struct group *g, int fd, struct fault *why);
void tcp_wire_drop(struct tcp_wire *w); /* closes what there is; *w is free afterwards */

/* Goes on after poll() gave `revents`. The handshake is complete once is_proved is true and
 * out_size is 0. ML_ERR_LINK, ML_ERR_REFUSED. */
int tcp_wire_step(struct tcp_wire *w, short revents, struct fault *why);

#endif
