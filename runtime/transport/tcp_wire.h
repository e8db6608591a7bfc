/* SPDX-License-Identifier: MIT */
/* tcp_wire.h: one connection of a mesh that is being made (tcp_mesh.h), up to the proof of who is
 * there. */
#ifndef RUNTIME_TRANSPORT_TCP_WIRE_H
#define RUNTIME_TRANSPORT_TCP_WIRE_H

#include "common/address.h"
#include "common/auth.h"
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
    const unsigned char *out; /* what auth_output gave and the socket hasn't taken yet */
    size_t out_size;
    bool has_spoken;     /* something that makes sense: strangers who haven't go first */
    bool is_proved;      /* the peer has; a last output may be left */
    int64_t deadline_ms; /* accepted ones */
    struct address to;   /* connecting ones */
};

/* Begins; *w is free, but for w->peer and w->to of a connecting one. tcp_wire_accept takes over
 * `fd`. In error tcp_wire_drop is still due. */
int tcp_wire_connect(struct tcp_wire *w, const struct group *g, struct fault *why);
int tcp_wire_accept(struct tcp_wire *w, const struct group *g, int fd, struct fault *why);
void tcp_wire_drop(struct tcp_wire *w); /* closes whatever there is; *w is free then */

/* Goes on after poll() gave `revents`. Over once is_proved and out_size is 0. ML_ERR_LINK,
 * ML_ERR_REFUSED. */
int tcp_wire_step(struct tcp_wire *w, short revents, struct fault *why);

#endif
