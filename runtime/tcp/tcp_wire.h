/* SPDX-License-Identifier: MIT */
/* tcp_wire.h: one connection that a mesh is making (tcp_mesh.h, tcp_door.h), until both sides have
 * proved who they are and the accepting side has decided to take it. */
#ifndef RUNTIME_TCP_TCP_WIRE_H
#define RUNTIME_TCP_TCP_WIRE_H

#include "common/net/address.h"
#include "common/net/auth.h"
#include "runtime/group/group.h"

/*
 * connecting:  CONNECTING ──▶ SHAKING ──proved both ways──▶ awaits the decision ──▶ a link
 * accepting:                  SHAKING ──proved, decides──▶ a link
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
int tcp_wire_accept(struct tcp_wire *w, const struct world *world, int fd, struct fault *why);
void tcp_wire_drop(struct tcp_wire *w); /* closes what there is; *w is free afterwards */

/* Goes on after poll() gave `revents`. The handshake is complete once is_proved is true and
 * out_size is 0. ML_ERR_LINK, ML_ERR_REFUSED. */
int tcp_wire_step(struct tcp_wire *w, short revents, struct fault *why);

/* The decision, one byte behind the complete handshake. Nothing else follows it before the
 * connecting side has read it. tcp_wire_decide is false if it can't be sent. tcp_wire_await leaves
 * *verdict alone if it has not come yet. ML_ERR_LINK. */
enum tcp_verdict { TCP_VERDICT_NONE, TCP_VERDICT_TAKEN = 'Y', TCP_VERDICT_REFUSED = 'N' };
bool tcp_wire_decide(struct tcp_wire *w, bool takes);
int tcp_wire_await(struct tcp_wire *w, enum tcp_verdict *verdict, struct fault *why);

#endif
