/* SPDX-License-Identifier: MIT */
/*
 * auth.h: the two ends of a TCP connection prove to each other that they know the job's secret,
 * without sending it (doc/protocol.md, "Handshake"). A state machine without I/O: frames in, frames
 * out.
 *
 * A proof is an HMAC-SHA-256 (libsodium crypto_auth_hmacsha256) over role, both nonces, job, rank,
 * generation, group, purpose and build. There are three messages, each with a proof of its own: the
 * connecting side's HELLO, the accepting side's CHALLENGE, and the connecting side's PROOF. A HELLO
 * does not know the accepting side's nonce: its proof shows that somebody with the secret has made
 * it, maybe long ago, and so that it is worth an answer; the PROOF shows that he is there. Peers
 * of different builds refuse each other and say why.
 */
#ifndef COMMON_NET_AUTH_H
#define COMMON_NET_AUTH_H

#include "common/fault.h"
#include "common/net/frame.h"

enum { AUTH_SECRET = 32, AUTH_NONCE = 32, AUTH_MAC = 32, AUTH_PURPOSE = 32, AUTH_JOB = 64 };
enum { AUTH_KEY = AUTH_MAC };

/* The frame types of a handshake. The types of protocols on top of it begin above
 * AUTH_FRAME_LAST. */
enum {
    AUTH_FRAME_HELLO = 1,
    AUTH_FRAME_CHALLENGE,
    AUTH_FRAME_PROOF,
    AUTH_FRAME_REFUSED,
    AUTH_FRAME_LAST = 15
};

/* The identity that the connecting side claims. All of it is covered by the HMAC. */
struct auth_identity {
    char purpose[AUTH_PURPOSE]; /* the connection's: "rank", "agent", "mesh" or "join" */
    int32_t rank;               /* world rank; for an agent or "join" the index of its host */
    uint32_t generation;        /* the rank's; else 0 */
    uint32_t group;             /* group id for "mesh", the number of hosts for "join"; else 0 */
};

/* The keys of one connection for what follows its handshake. Both depend on the secret and on both
 * nonces, so no other connection has them. */
struct auth_keys {
    uint8_t send[AUTH_KEY], receive[AUTH_KEY];
};

enum auth_progress { AUTH_MORE, AUTH_DONE };

struct auth; /* one handshake */

/* `job` and `secret` are copied; auth_destroy wipes the copy of the secret. `me` is the identity of
 * the connecting side. ML_ERR_ARGUMENT: the job's id is too long. */
int auth_create_connector(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                          const struct auth_identity *me, struct fault *why);
int auth_create_acceptor(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                         struct fault *why);
void auth_destroy(struct auth *a); /* takes NULL */

/* Call it on both sides, right after they are created. The nonces are then the public halves of
 * two fresh pairs of keys (libsodium's crypto_kx), and the keys of the connection depend on what
 * both sides compute from them, too: whoever learns the secret later cannot open what was recorded.
 * ML_ERR_ARGUMENT, as auth_create_connector. */
int auth_exchange_keys(struct auth *a, struct fault *why);

/* The next bytes to send: a whole frame with its header, owned by `a` and valid until the next
 * call. *size is 0 if there is nothing to send. Call it after create and after each
 * auth_input. */
const void *auth_output(struct auth *a, size_t *size);

/* Handles the peer's next frame. *progress becomes AUTH_DONE once the peer has proved itself; there
 * may still be output to send (the connector's PROOF). ML_ERR_REFUSED: the peer belongs to another
 * job or build, or its frame is malformed. auth_output then holds a REFUSED frame, which tells the
 * peer why without giving anything away. */
int auth_input(struct auth *a, const struct frame *f, enum auth_progress *progress,
               struct fault *why);

/* The proved identity of the connecting side; valid on both sides once AUTH_DONE. */
const struct auth_identity *auth_peer(const struct auth *a);

/* Derives the keys of this side; valid once AUTH_DONE. The caller wipes them. */
void auth_derive_keys(const struct auth *a, struct auth_keys *keys);

/* Does a whole handshake on a connected socket; blocks until deadline_ms (clock_ms) at most. Frames
 * that follow the handshake stay in `r`, whose limit is FRAME_LIMIT from then on. ML_ERR_TIMEOUT,
 * ML_ERR_PEER or ML_ERR_REFUSED. */
int auth_connect(int fd, struct frame_reader *r, const char *job, const uint8_t secret[AUTH_SECRET],
                 const struct auth_identity *me, int64_t deadline_ms, struct fault *why);
/* The same with auth_exchange_keys, which gives the connection *keys. The caller wipes them. */
int auth_connect_keyed(int fd, struct frame_reader *r, const char *job,
                       const uint8_t secret[AUTH_SECRET], const struct auth_identity *me,
                       int64_t deadline_ms, struct auth_keys *keys, struct fault *why);

/* The other side, blocking likewise. The peer may send nothing behind its PROOF before it has an
 * answer. *peer: who that is. keys: NULL, or for a peer that exchanges keys. */
int auth_accept_keyed(int fd, const char *job, const uint8_t secret[AUTH_SECRET],
                      int64_t deadline_ms, struct auth_identity *peer, struct auth_keys *keys,
                      struct fault *why);

#endif
