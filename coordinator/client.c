/* SPDX-License-Identifier: MIT */
#include "coordinator/client.h"

#include "common/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 16384 };

struct client {
    int fd;
    struct frame_reader *reader;
};

int client_open(struct client **out, const char *coordinator, const char *job,
                const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why)
{
    struct auth_identity me = {.purpose = "rank", .rank = rank, .generation = generation};
    struct address address;
    struct client *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->fd = -1;
    rc = frame_reader_create(&c->reader, FRAME_LIMIT_SMALL, why);
    if (!rc)
        rc = address_parse(&address, coordinator, why);
    if (!rc)
        rc = address_connect(&address, deadline_ms, &c->fd, why);
    if (!rc)
        rc = auth_connect(c->fd, c->reader, job, secret, &me, deadline_ms, why);
    if (rc) {
        fault_wrap(why, "the job's coordinator at %s", coordinator);
        client_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    frame_reader_destroy(c->reader);
    if (c->fd >= 0)
        close(c->fd);
    free(c);
}

int client_fd(const struct client *c)
{
    return c->fd;
}

int client_send(struct client *c, uint8_t type, const void *payload, uint32_t size,
                struct fault *why)
{
    int rc = frame_send(c->fd, type, payload, size, -1, why);

    if (rc)
        fault_wrap(why, "the job's coordinator");
    return rc;
}

int client_poll(struct client *c, struct frame *out, struct fault *why)
{
    uint8_t bytes[READ_SIZE];

    for (;;) {
        int rc = frame_reader_next(c->reader, out, why);
        ssize_t n;

        if (rc > 0)
            return rc;
        if (rc == 0) {
            n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return 0;
            if (n == 0)
                return fault_set(why, ML_ERR_PEER,
                                 "the connection to the job's coordinator was closed; the job is "
                                 "ending or rank 0's host is lost");
            if (n < 0)
                return fault_os(why, ML_ERR_PEER, errno, "the connection to the job's coordinator");
            rc = frame_reader_feed(c->reader, bytes, (size_t)n, why);
        }
        if (rc < 0) {
            fault_wrap(why, "the job's coordinator");
            return rc;
        }
    }
}
