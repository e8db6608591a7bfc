/* SPDX-License-Identifier: MIT */
/*
 * auth.h: two ends of a TCP connection prove to each other that they know the job's secret, without
 * sending it (doc/protocol.md, "Handshake"). A state machine without I/O: frames in, frames out.
 *
 * HMAC-SHA-256 (libsodium crypto_auth_hmacsha256) over role, both nonces, job, rank, generation, group,
 * purpose and build. Three messages: the connecting side's HELLO, the accepting side's CHALLENGE with
 * its own proof, the connecting side's PROOF. Peers of different builds refuse each other in words.
 */
#ifndef COMMON_AUTH_H
#define COMMON_AUTH_H

#include "common/fault.h"
#include "common/frame.h"

enum { AUTH_SECRET = 32, AUTH_NONCE = 32, AUTH_MAC = 32, AUTH_PURPOSE = 32, AUTH_JOB = 64 };

/* The types of frames that a handshake uses; protocols on top start above them. */
enum {
    AUTH_FRAME_HELLO = 1,
    AUTH_FRAME_CHALLENGE,
    AUTH_FRAME_PROOF,
    AUTH_FRAME_REFUSED,
    AUTH_FRAME_LAST = 15
};

/* Who one says one is; everything in it is covered by the HMAC. */
struct auth_identity {
    char purpose[AUTH_PURPOSE]; /* "rank", "agent", "mesh": what the connection is for */
    int32_t rank;               /* world rank, or the host's index for an agent */
    uint32_t generation;        /* of the rank; 0 for agents */
    uint32_t group;             /* group id for mesh connections; else 0 */
};

enum auth_progress { AUTH_MORE, AUTH_DONE };

struct auth; /* one handshake */

/* `job` and `secret` are copied; the copy of the secret is wiped by auth_destroy. The connecting side
 * names itself in `me`. */
int auth_create_connector(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                          const struct auth_identity *me, struct fault *why);
int auth_create_acceptor(struct auth **out, const char *job, const uint8_t secret[AUTH_SECRET],
                         struct fault *why);
void auth_destroy(struct auth *a); /* takes NULL */

/* What to send first (connector) or next: a whole frame (header and payload), owned by `a`, valid until
 * the next call; *size 0 if there is nothing to send now. Call after create and after each input. */
const void *auth_output(struct auth *a, size_t *size);

/* Takes the peer's next frame. *progress becomes AUTH_DONE when the peer has proved itself; output may
 * still be left to send (the connector's PROOF). ML_ERR_REFUSED: not of this job, another build, or
 * nonsense; auth_output then holds the REFUSED frame that tells the peer why, in words that give
 * nothing away. */
int auth_input(struct auth *a, const struct frame *f, enum auth_progress *progress,
               struct fault *why);

/* The connecting side's identity, as proved; valid on either side once AUTH_DONE. */
const struct auth_identity *auth_peer(const struct auth *a);

/* A whole handshake on a connected socket, blocking with a deadline (clock_ms). Frames that come behind
 * the handshake stay in `r`, whose limit is FRAME_LIMIT from then on. */
int auth_connect(int fd, struct frame_reader *r, const char *job, const uint8_t secret[AUTH_SECRET],
                 const struct auth_identity *me, int64_t deadline_ms, struct fault *why);

#endif
