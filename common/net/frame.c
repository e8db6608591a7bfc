/* SPDX-License-Identifier: MIT */
#include "common/net/frame.h"

#include "common/clock.h"
#include "common/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    READ_SIZE = 65536,   /* bytes requested in one read */
    START_SIZE = 4096,   /* first size of a buffer */
    KEEP_SIZE = 1 << 20, /* an empty buffer larger than this is freed */
};

/*
 *      0          start          end     capacity
 *      ├──────────┼──────────────┼───────┤
 *        returned   not yet        free: at least one byte
 */
struct frame_reader {
    uint8_t *buf;
    size_t start, end, capacity;
    uint32_t limit;
    /* The byte after the returned payload, which is overwritten with 0 in the meantime. It may be
     * the first byte of the next frame. */
    uint8_t *covered;
    uint8_t covered_byte;
};

void frame_header(uint8_t out[FRAME_HEADER], uint8_t type, uint32_t size)
{
    const uint32_t bytes = htonl(size);

    memcpy(out, &bytes, sizeof(bytes));
    out[4] = FRAME_VERSION;
    out[5] = type;
    out[6] = 0;
    out[7] = 0;
}

int frame_reader_create(struct frame_reader **out, uint32_t limit, struct fault *why)
{
    struct frame_reader *r = calloc(1, sizeof(*r));

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->limit = limit;
    *out = r;
    return 0;
}

void frame_reader_destroy(struct frame_reader *r)
{
    if (!r)
        return;
    free(r->buf);
    free(r);
}

void frame_reader_limit(struct frame_reader *r, uint32_t limit)
{
    r->limit = limit;
}

static void reader_uncover(struct frame_reader *r)
{
    if (r->covered)
        *r->covered = r->covered_byte;
    r->covered = NULL;
}

/* Makes room for `size` bytes and a 0 after the end. The unread bytes move to the front only if
 * they are no more than the read ones; otherwise the buffer doubles. So each byte is moved a
 * bounded number of times, for all sizes of frames and reads. */
static int reader_reserve(struct frame_reader *r, size_t size, struct fault *why)
{
    size_t live = r->end - r->start, need = live + size + 1, capacity;
    uint8_t *bigger;

    reader_uncover(r);
    if (live == 0) {
        r->start = r->end = 0;
        if (r->capacity > KEEP_SIZE && need <= KEEP_SIZE) {
            free(r->buf);
            r->buf = NULL;
            r->capacity = 0;
        }
    }
    if (r->end + size < r->capacity)
        return 0;
    if (live <= r->start && need <= r->capacity) {
        memcpy(r->buf, r->buf + r->start, live);
    } else {
        capacity = 2 * need < START_SIZE ? START_SIZE : 2 * need;
        bigger = malloc(capacity);
        if (!bigger)
            return fault_set(why, ML_ERR_MEMORY, "no memory for a message of %zu bytes", need);
        if (live)
            memcpy(bigger, r->buf + r->start, live);
        free(r->buf);
        r->buf = bigger;
        r->capacity = capacity;
    }
    r->start = 0;
    r->end = live;
    return 0;
}

int frame_reader_feed(struct frame_reader *r, const void *bytes, size_t size, struct fault *why)
{
    int rc;

    if (size == 0)
        return 0;
    rc = reader_reserve(r, size, why);
    if (rc)
        return rc;
    memcpy(r->buf + r->end, bytes, size);
    r->end += size;
    return 0;
}

int frame_reader_room(struct frame_reader *r, size_t size, uint8_t **at, struct fault *why)
{
    int rc = reader_reserve(r, size, why);

    if (!rc)
        *at = r->buf + r->end;
    return rc;
}

void frame_reader_add(struct frame_reader *r, size_t size)
{
    r->end += size;
}

int frame_reader_next(struct frame_reader *r, struct frame *out, struct fault *why)
{
    const uint8_t *h;
    uint32_t size;

    reader_uncover(r);
    if (r->end - r->start < FRAME_HEADER)
        return 0;
    h = r->buf + r->start;
    size = (uint32_t)h[0] << 24 | (uint32_t)h[1] << 16 | (uint32_t)h[2] << 8 | h[3];
    if (h[4] != FRAME_VERSION || h[6] || h[7])
        return fault_set(why, ML_ERR_REFUSED,
                         "the data received is not a message of this protocol (version %d)",
                         FRAME_VERSION);
    if (size > r->limit)
        return fault_set(why, ML_ERR_REFUSED,
                         "a message of %u bytes was received, but at most %u are allowed", size,
                         r->limit);
    if (r->end - r->start - FRAME_HEADER < size)
        return 0;
    out->type = h[5];
    out->size = size;
    out->payload = r->buf + r->start + FRAME_HEADER;
    r->start += FRAME_HEADER + (size_t)size;
    r->covered = r->buf + r->start;
    r->covered_byte = *r->covered;
    *r->covered = 0;
    return 1;
}

/* Returns 0 once `fd` is ready for `events`, or broken, which the next call on it will show. */
static int fd_wait(int fd, short events, int64_t deadline_ms, struct fault *why)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int n = clock_poll(&p, 1, deadline_ms);

        if (n > 0)
            return 0;
        if (n == 0)
            return fault_set(why, ML_ERR_TIMEOUT, "no answer in time");
        if (errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
    }
}

int frame_send(int fd, uint8_t type, const void *payload, uint32_t size, int64_t deadline_ms,
               struct fault *why)
{
    uint8_t header[FRAME_HEADER];
    struct iovec part[2] = {{header, FRAME_HEADER}, {(void *)(uintptr_t)payload, size}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};

    frame_header(header, type, size);
    while (part[0].iov_len + part[1].iov_len > 0) {
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            int rc = fd_wait(fd, POLLOUT, deadline_ms, why);

            if (rc)
                return rc;
        } else if (n < 0 && address_is_dropped(errno)) {
            return fault_set(why, ML_ERR_PEER, "the connection was closed by the other side");
        } else if (n < 0 && errno != EINTR) {
            return fault_os(why, ML_ERR_PEER, errno, "cannot send");
        }
        for (int i = 0; i < 2 && n > 0; i++) {
            size_t sent = (size_t)n < part[i].iov_len ? (size_t)n : part[i].iov_len;

            if (sent == 0)
                continue;
            part[i].iov_base = (uint8_t *)part[i].iov_base + sent;
            part[i].iov_len -= sent;
            n -= (ssize_t)sent;
        }
    }
    return 0;
}

int frame_recv(int fd, struct frame_reader *r, struct frame *out, int64_t deadline_ms,
               struct fault *why)
{
    for (;;) {
        int rc = frame_reader_next(r, out, why);
        ssize_t n;

        if (rc)
            return rc < 0 ? rc : 0;
        rc = fd_wait(fd, POLLIN, deadline_ms, why);
        if (rc)
            return rc;
        rc = reader_reserve(r, READ_SIZE, why);
        if (rc)
            return rc;
        n = read(fd, r->buf + r->end, READ_SIZE);
        if (n > 0)
            r->end += (size_t)n;
        else if (n == 0 || address_is_dropped(errno))
            return fault_set(why, ML_ERR_PEER, "the connection was closed by the other side");
        else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return fault_os(why, ML_ERR_PEER, errno, "cannot receive");
    }
}
