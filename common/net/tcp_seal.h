/* SPDX-License-Identifier: MIT */
/*
 * tcp_seal.h: what a link over TCP with --secure and an uplink send and receive: a stream of bytes
 * in records that libsodium's secretstream encrypts and authenticates (doc/protocol.md, "Mesh").
 * Bytes that were changed, left out, repeated or put into another order on their way are never
 * passed on. One thread at a time uses it.
 */
#ifndef COMMON_NET_TCP_SEAL_H
#define COMMON_NET_TCP_SEAL_H

#include "common/fault.h"
#include "common/net/auth.h"

#include <sys/types.h>
#include <sys/uio.h>

/* Most bytes of the stream in a record. The receiver opens one while the sender seals the next:
 * with records of 64 KiB, a message of that size took 100 us instead of 80. */
enum { TCP_SEAL_RECORD = 16 * 1024 };

struct tcp_seal;

/* `keys` are those of this connection and of no other. ML_ERR_MEMORY. */
int tcp_seal_create(struct tcp_seal **out, const struct auth_keys *keys, struct fault *why);
void tcp_seal_destroy(struct tcp_seal *s); /* wipes the keys; takes NULL */

/* As sendmsg and recvmsg on `fd` with MSG_DONTWAIT, with bytes of the stream in `part`. They return
 * at least one, or -1 and errno; 0: the peer has closed its end.
 *
 * After -1 with EAGAIN from tcp_seal_send the same bytes must be given again: they may be in a
 * record that the socket has taken in part. They have been sent only once it says so.
 *
 * EBADMSG from tcp_seal_receive, and from each later call: what has come is not what the peer
 * sent. */
ssize_t tcp_seal_send(struct tcp_seal *s, int fd, const struct iovec *part, int count);
ssize_t tcp_seal_receive(struct tcp_seal *s, int fd, const struct iovec *part, int count);

#endif
