/* SPDX-License-Identifier: MIT */
/*
 * sync_guest.h: a connection between two hosts, until both have proved that they know the run's
 * secret. Anybody can connect, so nothing here waits.
 *
 *     FREE ──connect──▶ CONNECTING ──▶ SHAKING ──▶ PROVED
 *      └──accept────────────────────────▲
 */
#ifndef LAUNCHER_TOOLS_COPIER_SYNC_GUEST_H
#define LAUNCHER_TOOLS_COPIER_SYNC_GUEST_H

#include "common/net/address.h"
#include "common/net/strangers.h"
#include "launcher/tools/copier/sync_order.h"

enum sync_guest_state {
    SYNC_GUEST_FREE,
    SYNC_GUEST_CONNECTING,
    SYNC_GUEST_SHAKING,
    SYNC_GUEST_PROVED
};

struct sync_guest {
    struct stranger stranger; /* sync_chain.c: of one that this side has accepted */
    enum sync_guest_state state;
    int fd;              /* unless FREE */
    struct address to;   /* if this side has connected */
    bool has_spoken;     /* a whole frame has come */
    int64_t deadline_ms; /* clock_ms: of the handshake */
    struct auth *auth;
    struct frame_reader *reader;
};

/* Both leave *g FREE if they fail; sync_guest_accept() takes over `fd` in any case. ML_ERR_MEMORY;
 * of connecting also ML_ERR_PEER. */
int sync_guest_accept(struct sync_guest *g, int fd, const struct sync_order *order,
                      struct fault *why);
int sync_guest_connect(struct sync_guest *g, const struct address *to,
                       const struct sync_order *order, uint32_t round, struct fault *why);

/* The events of poll() that it waits for. */
short sync_guest_events(const struct sync_guest *g);
/* Goes on after such an event. ML_ERR_REFUSED: the other end has no proof, or has refused ours;
 * ML_ERR_PEER: it cannot be reached; ML_ERR_LINK: it has closed the connection. */
int sync_guest_step(struct sync_guest *g, struct fault *why);

/* The connection, if it is PROVED; *g is FREE then. */
int sync_guest_take(struct sync_guest *g);
void sync_guest_drop(struct sync_guest *g);

#endif
