/* SPDX-License-Identifier: MIT */
#include "launcher/wire/uplink/uplink_call.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/address.h"
#include "launcher/wire/uplink/stream/uplink_protocol.h"
#include "launcher/wire/uplink/uplink_address.h"
#include "launcher/wire/uplink/uplink_patience.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int handshake(const struct uplink_call *c, int fd, int64_t deadline_ms,
                     struct auth_keys *keys, struct fault *why)
{
    struct auth_identity me = {
        .purpose = UPLINK_PURPOSE, .rank = c->index, .group = (uint32_t)c->hosts};
    struct frame_reader *r = NULL;
    int rc = frame_reader_create(&r, FRAME_LIMIT_SMALL, why);

    if (!rc)
        rc = auth_connect_keyed(fd, r, UPLINK_PURPOSE, c->key, &me, deadline_ms, keys, why);
    frame_reader_destroy(r);
    return rc;
}

/* One try to get through. */
struct
try {
    const struct uplink_call *c;
    int64_t deadline_ms;
    bool is_dropped; /* a head is there, and did not end the handshake */
};

static int address_try(struct try *t, const struct addrinfo *to, int *out, struct auth_keys *keys,
                       struct fault *why)
{
    struct address a = {.length = to->ai_addrlen};
    int64_t now = clock_ms();
    int fd, rc;

    memcpy(&a.storage, to->ai_addr, to->ai_addrlen);
    rc = address_connect(&a, earlier(t->deadline_ms, now + UPLINK_CONNECT_MS), &fd, why);
    if (rc)
        return rc;
    rc = handshake(t->c, fd, earlier(t->deadline_ms, clock_ms() + HANDSHAKE_MS), keys, why);
    t->is_dropped |= rc == ML_ERR_PEER;
    if (rc)
        close(fd);
    else
        *out = fd;
    return rc;
}

static int name_try(struct try *t, const char *host, int *fd, struct auth_keys *keys,
                    struct fault *why)
{
    struct addrinfo *list = NULL;
    int rc = uplink_address_find(&list, host, t->c->port, why);

    if (rc)
        return rc;
    rc = ML_ERR_PEER;
    for (struct addrinfo *a = list; a && rc && rc != ML_ERR_REFUSED; a = a->ai_next)
        rc = address_try(t, a, fd, keys, why);
    freeaddrinfo(list);
    return rc;
}

static int once(struct try *t, int *fd, struct auth_keys *keys, struct fault *why)
{
    int rc = name_try(t, t->c->host, fd, keys, why);

    for (const char *const *o = t->c->others; o && *o && rc && clock_left_ms(t->deadline_ms) > 0;
         o++)
        rc = name_try(t, *o, fd, keys, why);
    return rc;
}

/* Whoever has started this process is gone. */
static bool stdin_has_ended(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;

    return poll(&p, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int uplink_call(int *fd, struct auth_keys *keys, const struct uplink_call *c, struct fault *why)
{
    struct uplink_patience p = uplink_patience_begin(c->limit_ms);
    struct try t = {.c = c, .deadline_ms = p.deadline_ms};
    int rc;

    while ((rc = once(&t, fd, keys, why)) != 0) {
        if (rc == ML_ERR_REFUSED || rc == ML_ERR_MEMORY || rc == ML_ERR_ARGUMENT)
            return fault_wrap(why, "cannot join the head at %s:%d", c->host, c->port);
        if (c->ends_with_stdin && stdin_has_ended())
            return fault_set(why, ML_ERR_PEER, "mlaunch has ended");
        /* Its door is full of strangers: who asks often gets in soon. */
        if (t.is_dropped)
            p.pause_ms = UPLINK_PAUSE_MS;
        t.is_dropped = false;
        if (!uplink_patience_wait(&p, why))
            return fault_set(why, ML_ERR_TIMEOUT,
                             "cannot join the head at %s:%d within %d s (--init-timeout): %.400s",
                             c->host, c->port, c->limit_ms / 1000, p.last);
    }
    return 0;
}
