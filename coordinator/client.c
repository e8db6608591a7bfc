/* SPDX-License-Identifier: MIT */
#include "coordinator/client.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/address.h"
#include "common/text/parsed_json.h"
#include "coordinator/protocol.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_SIZE = 16384 };

struct client {
    int fd;
    struct frame_reader *reader;
};

/* The coordinator's first frame after the handshake. Until then it may push the connection out. */
static int client_await_admission(struct client *c, int64_t deadline_ms, struct fault *why)
{
    struct frame f;
    const char *text = "it refused the connection without a reason";
    json_t *message;
    int rc = frame_recv(c->fd, c->reader, &f, deadline_ms, why);

    if (rc || f.type == COORD_ADMITTED)
        return rc;
    message = parsed_json((const char *)f.payload, f.size, 0, NULL);
    json_unpack(message, "{s:s}", "text", &text);
    fault_set(why, ML_ERR_REFUSED, "%s", text);
    json_decref(message);
    return ML_ERR_REFUSED;
}

/* One attempt, which leaves c->fd to client_close. *is_reached: there is a coordinator. */
static int client_attempt(struct client *c, const struct address *to, const char *job,
                          const uint8_t secret[AUTH_SECRET], const struct auth_identity *me,
                          int64_t deadline_ms, bool *is_reached, struct fault *why)
{
    int64_t connect_ms = clock_ms() + COORD_CONNECT_MS, shake_ms;
    int rc = frame_reader_create(&c->reader, FRAME_LIMIT_SMALL, why);

    if (!rc)
        rc = address_connect(to, connect_ms < deadline_ms ? connect_ms : deadline_ms, &c->fd, why);
    if (rc)
        return rc;
    *is_reached = true;
    shake_ms = clock_ms() + HANDSHAKE_MS;
    if (shake_ms > deadline_ms)
        shake_ms = deadline_ms;
    rc = auth_connect(c->fd, c->reader, job, secret, me, shake_ms, why);
    return rc ? rc : client_await_admission(c, shake_ms, why);
}

/* Where to connect: to this host's agent, if it relays, else to the coordinator itself. */
static int client_find(struct address *out, const char *directory, const char *coordinator,
                       struct fault *why)
{
    if (directory && address_make_local(out, directory, COORD_SOCKET, NULL) == 0 &&
        access(((const struct sockaddr_un *)&out->storage)->sun_path, F_OK) == 0)
        return 0;
    return address_parse(out, coordinator, why);
}

int client_open(struct client **out, const char *coordinator, const char *directory,
                const char *job, const uint8_t secret[AUTH_SECRET], int rank, uint32_t generation,
                int64_t deadline_ms, struct fault *why)
{
    struct auth_identity me = {.purpose = "rank", .rank = rank, .generation = generation};
    struct address address;
    int rc = client_find(&address, directory, coordinator, why), drops = 0;

    while (!rc) {
        struct client *c = calloc(1, sizeof(*c));
        bool is_reached = false;

        if (!c)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        c->fd = -1;
        rc = client_attempt(c, &address, job, secret, &me, deadline_ms, &is_reached, why);
        if (!rc) {
            *out = c;
            return 0;
        }
        client_close(c);
        if (clock_left_ms(deadline_ms) == 0 ||
            !(rc == ML_ERR_TIMEOUT || (rc == ML_ERR_PEER && is_reached)))
            break;
        /* Pushed out, or not heard, because too many strangers connect to it: tries again. */
        drops += rc == ML_ERR_PEER;
        rc = 0;
        poll(NULL, 0, CONNECT_AGAIN_MS);
    }
    if (drops > 0 && clock_left_ms(deadline_ms) == 0)
        fault_set(why, ML_ERR_TIMEOUT,
                  "it closed %d connections before this rank could prove that it belongs to the "
                  "job; do strangers connect to its port?",
                  drops);
    return fault_wrap(why, "the job's coordinator at %s", coordinator);
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
