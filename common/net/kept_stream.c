/* SPDX-License-Identifier: MIT */
#include "common/net/kept_stream.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/address.h"
#include "common/net/stranger_limits.h"
#include "common/net/tcp_seal.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PASSED = 1 << 30, /* bytes of a file, in one call */
    CALL_AGAIN_MS = 20,
};

struct kept_stream {
    int fd;
    struct tcp_seal *seal; /* NULL: what is sent is not encrypted */
};

static const char purpose[] = "keep";

bool kept_is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n > 0 && n < KEPT_NAME && !name[n];
}

void kept_path(char path[KEPT_PATH], const char *dir, int rank, int slot, const char *name)
{
    const char *base = strrchr(dir, '/');

    snprintf(path, KEPT_PATH, "/dev/shm/mlaunch-%u-%s.keep.%d.%d.%s", (unsigned)geteuid(),
             base ? base + 1 : dir, rank, slot, name);
}

bool kept_write_at(int fd, const void *bytes, size_t size, int64_t at)
{
    const unsigned char *from = bytes;

    while (size) {
        ssize_t n = pwrite(fd, from, size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool stream_await(const struct kept_stream *s, short what, int limit_ms)
{
    struct pollfd p = {s->fd, what, 0};
    int64_t deadline_ms = limit_ms < 0 ? -1 : clock_ms() + limit_ms;
    int n;

    do {
        n = clock_poll(&p, 1, deadline_ms);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = ETIMEDOUT;
    return n > 0;
}

bool kept_stream_send(struct kept_stream *s, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;

    while (size) {
        struct iovec part = {(void *)from, size};
        ssize_t n = s->seal ? tcp_seal_send(s->seal, s->fd, &part, 1)
                            : send(s->fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN) {
            if (!stream_await(s, POLLOUT, KEPT_PATIENCE_MS))
                return false;
        } else if (n < 0 && errno != EINTR) {
            return false;
        } else if (n > 0) {
            from += n;
            size -= (size_t)n;
        }
    }
    return true;
}

bool kept_stream_copy_file(struct kept_stream *s, int file, uint64_t size, int64_t at)
{
    unsigned char piece[TCP_SEAL_RECORD];

    while (size) {
        ssize_t n = pread(file, piece, size < sizeof(piece) ? (size_t)size : sizeof(piece), at);

        if (n <= 0 || !kept_stream_send(s, piece, (size_t)n))
            return false;
        at += n;
        size -= (uint64_t)n;
    }
    return true;
}

bool kept_stream_send_file(struct kept_stream *s, int file, uint64_t size, int64_t at)
{
    off_t from = at;

    if (s->seal)
        return kept_stream_copy_file(s, file, size, at);
    while (size) { /* from the file's pages to the socket, copied nowhere */
        ssize_t n = sendfile(s->fd, file, &from, size < PASSED ? (size_t)size : PASSED);

        if (n < 0 && errno == EAGAIN) {
            if (!stream_await(s, POLLOUT, KEPT_PATIENCE_MS))
                return false;
        } else if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        } else if (n > 0) {
            size -= (uint64_t)n;
        }
    }
    return true;
}

bool kept_stream_receive(struct kept_stream *s, void *bytes, size_t size, bool is_patient)
{
    unsigned char *into = bytes;

    while (size) {
        struct iovec part = {into, size};
        ssize_t n = s->seal ? tcp_seal_receive(s->seal, s->fd, &part, 1)
                            : recv(s->fd, into, size, MSG_DONTWAIT);

        if (n == 0) {
            errno = ECONNRESET;
            return false;
        }
        if (n < 0 && errno == EAGAIN) {
            if (!stream_await(s, POLLIN, is_patient ? -1 : KEPT_PATIENCE_MS))
                return false;
        } else if (n < 0 && errno != EINTR) {
            return false;
        } else if (n > 0) {
            into += n;
            size -= (size_t)n;
            is_patient = false;
        }
    }
    return true;
}

/* --- connections ------------------------------------------------------------------------------ */

void kept_stream_close(struct kept_stream *s)
{
    if (!s)
        return;
    tcp_seal_destroy(s->seal);
    close(s->fd);
    free(s);
}

int kept_stream_create(struct kept_stream **out, int fd, const struct auth_keys *keys,
                       struct fault *why)
{
    struct kept_stream *s = calloc(1, sizeof(*s));
    int rc = 0;

    if (!s) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    s->fd = fd;
    if (keys)
        rc = tcp_seal_create(&s->seal, keys, why);
    if (rc)
        kept_stream_close(s);
    else
        *out = s;
    return rc;
}

static int stream_begin(struct kept_stream **out, int fd, bool is_server, struct fault *why,
                        const struct auth_keys *keys)
{
    struct kept_stream *s = NULL;
    char byte = 0;
    int rc = kept_stream_create(&s, fd, keys, why);

    if (rc)
        return rc;
    /* Until it comes neither side sends, so no byte of the stream is taken for the handshake's. */
    if (is_server ? !kept_stream_send(s, &byte, 1) : !kept_stream_receive(s, &byte, 1, false)) {
        rc = fault_os(why, ML_ERR_PEER, errno, "the connection for copies has ended");
        kept_stream_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* One try. *is_dropped: a keeper is there, and has closed the connection. */
static int keeper_try(struct kept_stream **out, const struct address *to, const char *job,
                      const uint8_t secret[AUTH_SECRET], const struct auth_identity *me,
                      bool is_secure, int64_t deadline_ms, bool *is_dropped, struct fault *why)
{
    struct frame_reader *r = NULL;
    struct auth_keys keys;
    int fd = -1, rc = frame_reader_create(&r, FRAME_LIMIT_SMALL, why);

    *is_dropped = false;
    if (!rc)
        rc = address_connect(to, deadline_ms, &fd, why);
    if (!rc) {
        rc = auth_connect_keyed(fd, r, job, secret, me, deadline_ms, is_secure ? &keys : NULL, why);
        if (!rc)
            rc = stream_begin(out, fd, false, why, is_secure ? &keys : NULL);
        else
            close(fd);
        *is_dropped = rc == ML_ERR_PEER;
    }
    frame_reader_destroy(r);
    sodium_memzero(&keys, sizeof(keys));
    return rc;
}

int kept_stream_connect(struct kept_stream **out, const char *address, const char *job,
                        const uint8_t secret[AUTH_SECRET], int rank, bool is_secure,
                        struct fault *why)
{
    struct auth_identity me = {.rank = rank};
    int64_t deadline_ms = clock_ms() + KEPT_PATIENCE_MS;
    struct address to;
    bool is_dropped;
    int rc = address_parse(&to, address, why);

    if (rc)
        return rc;
    snprintf(me.purpose, sizeof(me.purpose), "%s", purpose);
    for (;;) {
        rc = keeper_try(out, &to, job, secret, &me, is_secure, deadline_ms, &is_dropped, why);
        if (!is_dropped || clock_left_ms(deadline_ms) == 0)
            return rc;
        poll(NULL, 0, CALL_AGAIN_MS); /* it was full of strangers */
    }
}

int kept_stream_accept(struct kept_stream **out, int fd, const char *job,
                       const uint8_t secret[AUTH_SECRET], bool is_secure, int *rank,
                       struct fault *why)
{
    struct auth_identity peer = {.rank = -1};
    struct auth_keys keys;
    int rc = auth_accept_keyed(fd, job, secret, clock_ms() + STRANGER_MS / 2, &peer,
                               is_secure ? &keys : NULL, why);

    if (!rc && strcmp(peer.purpose, purpose) != 0)
        rc = fault_set(why, ML_ERR_REFUSED, "a connection for \"%s\" has come to the keeper",
                       peer.purpose);
    *rank = peer.rank;
    if (rc)
        close(fd);
    else
        rc = stream_begin(out, fd, true, why, is_secure ? &keys : NULL);
    sodium_memzero(&keys, sizeof(keys));
    return rc;
}
