/* SPDX-License-Identifier: MIT */
#include "common/net/tcp_seal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    OPENING = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    TAG = crypto_secretstream_xchacha20poly1305_ABYTES,
    LENGTH = 4 + TAG, /* a record's length, sealed by itself: no length is believed unproved */
    BUFFER = OPENING + LENGTH + TCP_SEAL_RECORD + TAG,
};

_Static_assert(AUTH_KEY == crypto_secretstream_xchacha20poly1305_KEYBYTES, "one key a direction");

/* What comes next from the peer: once OPENING, then LENGTH and BODY in turns. */
enum seal_stage { STAGE_OPENING, STAGE_LENGTH, STAGE_BODY };

struct seal_out {
    crypto_secretstream_xchacha20poly1305_state state;
    unsigned char sealed[BUFFER];
    size_t at, size; /* in `sealed`: the socket has taken `at` of `size` bytes */
    size_t bytes;    /* the stream's, in the record that the socket is taking; 0: none */
    unsigned char plain[TCP_SEAL_RECORD];
};

struct seal_in {
    crypto_secretstream_xchacha20poly1305_state state;
    enum seal_stage stage;
    bool is_broken;
    unsigned char key[AUTH_KEY];
    unsigned char sealed[BUFFER];
    size_t at, size; /* in `sealed`: bytes from `at` to `size` are still to be opened */
    size_t length;   /* the record's, in STAGE_BODY */
    unsigned char plain[TCP_SEAL_RECORD];
    size_t plain_at, plain_size; /* in `plain`: opened, but not wanted yet */
};

struct tcp_seal {
    struct seal_out out;
    struct seal_in in;
};

int tcp_seal_create(struct tcp_seal **out, const struct auth_keys *keys, struct fault *why)
{
    struct tcp_seal *s = calloc(1, sizeof(*s));

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    crypto_secretstream_xchacha20poly1305_init_push(&s->out.state, s->out.sealed, keys->send);
    s->out.size = OPENING; /* goes out with the first record */
    memcpy(s->in.key, keys->receive, AUTH_KEY);
    *out = s;
    return 0;
}

void tcp_seal_destroy(struct tcp_seal *s)
{
    if (!s)
        return;
    sodium_memzero(&s->out.state, sizeof(s->out.state));
    sodium_memzero(&s->in.state, sizeof(s->in.state));
    sodium_memzero(s->in.key, sizeof(s->in.key));
    free(s);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void seal_add(struct seal_out *o, const void *bytes, size_t size)
{
    crypto_secretstream_xchacha20poly1305_push(&o->state, o->sealed + o->size, NULL, bytes, size,
                                               NULL, 0, 0);
    o->size += size + TAG;
}

/* The bytes of the next record, which are copied only if they come from several parts. */
static const void *seal_gather(struct seal_out *o, const struct iovec *part, int count)
{
    o->bytes = 0;
    if (count == 1 || part->iov_len >= TCP_SEAL_RECORD) {
        o->bytes = part->iov_len < TCP_SEAL_RECORD ? part->iov_len : TCP_SEAL_RECORD;
        return part->iov_base;
    }
    for (int i = 0; i < count; i++) {
        size_t room = TCP_SEAL_RECORD - o->bytes;
        size_t n = part[i].iov_len < room ? part[i].iov_len : room;

        memcpy(o->plain + o->bytes, part[i].iov_base, n);
        o->bytes += n;
    }
    return o->plain;
}

ssize_t tcp_seal_send(struct tcp_seal *s, int fd, const struct iovec *part, int count)
{
    struct seal_out *o = &s->out;
    ssize_t bytes;

    if (!o->bytes) {
        const void *record = seal_gather(o, part, count);
        uint32_t length = htonl((uint32_t)o->bytes);

        seal_add(o, &length, sizeof(length));
        seal_add(o, record, o->bytes);
    }
    while (o->at < o->size) {
        ssize_t n = send(fd, o->sealed + o->at, o->size - o->at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return -1;
        o->at += (size_t)n;
    }
    bytes = (ssize_t)o->bytes;
    o->at = o->size = o->bytes = 0;
    return bytes;
}

/* --- receiving -------------------------------------------------------------------------------- */

static size_t parts_size(const struct iovec *part, int count)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += part[i].iov_len;
    return size;
}

/* Passes on what is open already. */
static ssize_t open_take(struct seal_in *i, const struct iovec *part, int count)
{
    size_t taken = 0;

    for (int k = 0; k < count; k++) {
        size_t rest = i->plain_size - i->plain_at;
        size_t n = part[k].iov_len < rest ? part[k].iov_len : rest;

        memcpy(part[k].iov_base, i->plain + i->plain_at, n);
        i->plain_at += n;
        taken += n;
    }
    if (i->plain_at == i->plain_size)
        i->plain_at = i->plain_size = 0;
    return (ssize_t)taken;
}

/* How many sealed bytes the stage needs. */
static size_t open_needs(const struct seal_in *i)
{
    return i->stage == STAGE_OPENING  ? OPENING
           : i->stage == STAGE_LENGTH ? LENGTH
                                      : i->length + TAG;
}

/* Reads from the socket until there is what the stage needs. Before a record, as much is read as
 * one with `wanted` bytes would have, to save a system call. 1, or as recv. */
static ssize_t open_fill(struct seal_in *i, int fd, size_t wanted)
{
    size_t need = open_needs(i), most = need;

    if (wanted > TCP_SEAL_RECORD)
        wanted = TCP_SEAL_RECORD;
    if (i->stage != STAGE_BODY)
        most = (i->stage == STAGE_OPENING ? OPENING : 0) + LENGTH + wanted + TAG;
    if (i->at + most > BUFFER || i->at == i->size) {
        memmove(i->sealed, i->sealed + i->at, i->size - i->at);
        i->size -= i->at;
        i->at = 0;
    }
    while (i->size - i->at < need) {
        ssize_t n = recv(fd, i->sealed + i->size, i->at + most - i->size, MSG_DONTWAIT);

        if (n <= 0)
            return n;
        i->size += (size_t)n;
    }
    return 1;
}

/* Opens the next `size` bytes of the stream into `to`. */
static bool open_sealed(struct seal_in *i, void *to, size_t size)
{
    unsigned char tag = 0;
    int rc = crypto_secretstream_xchacha20poly1305_pull(&i->state, to, NULL, &tag,
                                                        i->sealed + i->at, size + TAG, NULL, 0);

    i->at += size + TAG;
    return rc == 0 && tag == 0;
}

static bool open_opening(struct seal_in *i)
{
    int rc = crypto_secretstream_xchacha20poly1305_init_pull(&i->state, i->sealed + i->at, i->key);

    i->at += OPENING;
    i->stage = STAGE_LENGTH;
    return rc == 0;
}

static bool open_length(struct seal_in *i)
{
    uint32_t length = 0;

    if (!open_sealed(i, &length, sizeof(length)))
        return false;
    i->length = ntohl(length);
    i->stage = STAGE_BODY;
    return i->length > 0 && i->length <= TCP_SEAL_RECORD;
}

/* Opens a record straight into the caller's memory if it fits there. *came: the number of bytes. */
static bool open_body(struct seal_in *i, const struct iovec *part, size_t *came)
{
    bool fits = part->iov_len >= i->length;

    i->stage = STAGE_LENGTH;
    if (!open_sealed(i, fits ? part->iov_base : i->plain, i->length))
        return false;
    *came = fits ? i->length : 0;
    i->plain_size = fits ? 0 : i->length;
    return true;
}

ssize_t tcp_seal_receive(struct tcp_seal *s, int fd, const struct iovec *part, int count)
{
    struct seal_in *i = &s->in;
    size_t wanted = parts_size(part, count), came = 0;

    while (!i->is_broken && !i->plain_size && !came) {
        ssize_t n = open_fill(i, fd, wanted);

        if (n <= 0)
            return n;
        i->is_broken = !(i->stage == STAGE_OPENING  ? open_opening(i)
                         : i->stage == STAGE_LENGTH ? open_length(i)
                                                    : open_body(i, part, &came));
    }
    if (i->is_broken) {
        errno = EBADMSG;
        return -1;
    }
    return came ? (ssize_t)came : open_take(i, part, count);
}
