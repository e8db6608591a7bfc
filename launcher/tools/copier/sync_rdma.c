/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_rdma.h"

#include "common/clock.h"
#include "common/net/frame.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "rdma/endpoint_module.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CONTROL_SIZE = 18, PART = 4096 };

/*
 * AWAITS_ENDS ──ENDS──▶ (sender: AWAITS_CONNECTED ──CONNECTED──▶) CHECKS ──CHECKED, both──▶ AGREED
 *      └── a failure here ──▶ LEAVES ──NOT──▶ REFUSED ◀── NOT, from any state before AGREED
 */
enum step { AWAITS_ENDS, AWAITS_CONNECTED, CHECKS, AGREED, LEAVES, REFUSED };

struct sync_rdma {
    const struct endpoint_table *rdma;
    struct endpoint *endpoint; /* NULL: `why` says why it cannot be opened */
    struct frame_reader *reader;
    char name[160]; /* the other host's, for sentences */
    int fd;         /* the caller's */
    enum step step;
    bool is_receiver;
    bool has_checked, peer_has_checked; /* has the other one's check */
    bool is_closed;                     /* the other host has ended the connection */
    int64_t deadline_ms;                /* for CHECKS */
    struct fault why;                   /* for LEAVES and REFUSED */
};

/* --- opening ---------------------------------------------------------------------------------- */

static int endpoint_create(struct sync_rdma *r, const struct sync_rdma_config *c, struct fault *why)
{
    const char *ports[RDMA_RAILS];
    const struct endpoint_config config = {.devices = ports,
                                           .device_count = c->rails->count,
                                           .choice = c->order->rdma,
                                           .tag = endpoint_tag(c->order->job, c->round),
                                           .rank = c->order->host,
                                           .peer = c->peer,
                                           .peer_name = r->name};
    char path[PATH_MAX];
    int rc = install_path_find(path, INSTALL_RDMA, why);

    if (rc == ML_ERR_STATE)
        return rc;
    if (rc)
        return fault_set(why, ML_ERR_DEVICE, "its mlaunch was built without RDMA");
    for (int i = 0; i < c->rails->count; i++)
        ports[i] = c->rails->ports[i];
    if (endpoint_module_open(&r->rdma, path, why))
        return why->code;
    return r->rdma->open(&r->endpoint, &config, why);
}

/* --- what the two hosts say to each other ----------------------------------------------------- */

static int frame_put(struct sync_rdma *r, int type, const void *bytes, size_t size,
                     struct fault *why)
{
    if (frame_send(r->fd, (uint8_t)type, bytes, (uint32_t)size, clock_ms() + SYNC_RDMA_MS, why))
        return fault_set(why, ML_ERR_PEER, "the connection broke");
    return 0;
}

static int ends_put(struct sync_rdma *r, struct fault *why)
{
    size_t size;
    const void *ends = r->rdma->publish(r->endpoint, &size);

    return frame_put(r, SYNC_RDMA_ENDS, ends, size, why);
}

/* Says no, for the reason in r->why. */
static int not_put(struct sync_rdma *r, enum step next, struct fault *why)
{
    r->step = next;
    return frame_put(r, SYNC_RDMA_NOT, r->why.text, strlen(r->why.text), why);
}

static int check_begin(struct sync_rdma *r)
{
    r->step = CHECKS;
    r->deadline_ms = clock_ms() + SYNC_RDMA_MS;
    return 0;
}

static int on_ends(struct sync_rdma *r, const struct frame *f, struct fault *why)
{
    int rc;

    if (!r->endpoint || r->rdma->connect(r->endpoint, f->payload, f->size, &r->why))
        return not_put(r, LEAVES, why);
    if (r->is_receiver) {
        rc = frame_put(r, SYNC_RDMA_CONNECTED, NULL, 0, why);
        return rc ? rc : check_begin(r);
    }
    r->step = AWAITS_CONNECTED;
    return ends_put(r, why);
}

static int on_not(struct sync_rdma *r, const struct frame *f, struct fault *why)
{
    if (r->step == LEAVES) {
        r->step = REFUSED;
        return 0;
    }
    fault_set(&r->why, ML_ERR_LINK, "%.*s", (int)f->size, (const char *)f->payload);
    return not_put(r, REFUSED, why);
}

static int on_control(struct sync_rdma *r, const struct frame *f, struct fault *why)
{
    const struct rail_control control = {.kind = f->payload[0],
                                         .rail = f->payload[1],
                                         .count = packed_get(f->payload + 2, 8),
                                         .out = packed_get(f->payload + 10, 8)};

    return r->rdma->control_take(r->endpoint, &control, why);
}

static int frame_take(struct sync_rdma *r, const struct frame *f, struct fault *why)
{
    if (f->type == SYNC_RDMA_NOT && r->step < REFUSED && r->step != AGREED)
        return on_not(r, f, why);
    if (r->step == LEAVES)
        return 0;
    if (f->type == SYNC_RDMA_ENDS && r->step == AWAITS_ENDS)
        return on_ends(r, f, why);
    if (f->type == SYNC_RDMA_CONNECTED && r->step == AWAITS_CONNECTED)
        return check_begin(r);
    if (f->type == SYNC_RDMA_CONTROL && f->size == CONTROL_SIZE &&
        (r->step == CHECKS || r->step == AGREED))
        return on_control(r, f, why);
    if (f->type != SYNC_RDMA_CHECKED || r->step != CHECKS)
        return fault_set(why, ML_ERR_PEER, "%s sent what is invalid about RDMA", r->name);
    r->peer_has_checked = true;
    return 0;
}

static int frames_take(struct sync_rdma *r, struct fault *why)
{
    struct frame f;
    uint8_t *at;
    ssize_t n;
    int rc = frame_reader_room(r->reader, PART, &at, why);

    if (rc)
        return rc;
    n = recv(r->fd, at, PART, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    r->is_closed = n <= 0;
    if (n > 0)
        frame_reader_add(r->reader, (size_t)n);
    while (!rc && r->step != REFUSED) {
        rc = frame_reader_next(r->reader, &f, why);
        if (rc <= 0)
            return rc;
        rc = frame_take(r, &f, why);
    }
    return rc;
}

/* Rails that have failed, while others work. */
static int controls_put(struct sync_rdma *r, struct fault *why)
{
    struct rail_control control;
    uint8_t bytes[CONTROL_SIZE];
    int rc = 0;

    while (!rc && r->rdma->control_next(r->endpoint, &control)) {
        bytes[0] = (uint8_t)control.kind;
        bytes[1] = (uint8_t)control.rail;
        packed_put(bytes + 2, control.count, 8);
        packed_put(bytes + 10, control.out, 8);
        rc = frame_put(r, SYNC_RDMA_CONTROL, bytes, sizeof(bytes), why);
    }
    return rc;
}

/* --- checking --------------------------------------------------------------------------------- */

static int check_go_on(struct sync_rdma *r, struct fault *why)
{
    int rc = 0;

    if (!r->has_checked) {
        if (r->rdma->check(r->endpoint, &r->has_checked, &r->why))
            return not_put(r, LEAVES, why);
        if (r->has_checked)
            rc = frame_put(r, SYNC_RDMA_CHECKED, NULL, 0, why);
    }
    if (!rc && r->has_checked && r->peer_has_checked) {
        r->step = AGREED;
    } else if (!rc && clock_ms() >= r->deadline_ms) {
        if (r->has_checked)
            fault_set(&r->why, ML_ERR_LINK, "nothing comes through to %s over RDMA", r->name);
        else
            r->rdma->check_late(r->endpoint, &r->why);
        rc = not_put(r, LEAVES, why);
    }
    return rc;
}

/* --- interface -------------------------------------------------------------------------------- */

int sync_rdma_open(struct sync_rdma **out, const struct sync_rdma_config *config, int fd,
                   struct fault *why)
{
    struct sync_rdma *r = calloc(1, sizeof(*r));
    int rc = 0;

    if (!r)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    r->fd = fd;
    r->is_receiver = config->is_receiver;
    snprintf(r->name, sizeof(r->name), "host %s", config->rails->name);
    rc = frame_reader_create(&r->reader, FRAME_LIMIT_SMALL, why);
    if (!rc)
        endpoint_create(r, config, &r->why);
    if (!rc && r->is_receiver)
        rc = r->endpoint ? ends_put(r, why) : not_put(r, LEAVES, why);
    if (rc)
        sync_rdma_close(r);
    else
        *out = r;
    return rc;
}

void sync_rdma_close(struct sync_rdma *r)
{
    if (!r)
        return;
    if (r->endpoint)
        r->rdma->close(r->endpoint);
    frame_reader_destroy(r->reader);
    free(r);
}

enum sync_rdma_state sync_rdma_state(const struct sync_rdma *r)
{
    return r->step == AGREED    ? SYNC_RDMA_AGREED
           : r->step == REFUSED ? SYNC_RDMA_REFUSED
                                : SYNC_RDMA_AGREEING;
}

const char *sync_rdma_reason(const struct sync_rdma *r)
{
    return r->why.text;
}

bool sync_rdma_arm(struct sync_rdma *r, bool is_full, struct pollfd polls[SYNC_RDMA_POLLS],
                   int64_t *deadline_ms)
{
    bool is_live = r->step == CHECKS || r->step == AGREED;

    polls[0] = (struct pollfd){.fd = r->fd, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = -1};
    if (!is_live)
        return true;
    polls[1] = (struct pollfd){.fd = r->rdma->fd(r->endpoint), .events = POLLIN};
    if (r->step == CHECKS && (*deadline_ms < 0 || r->deadline_ms < *deadline_ms))
        *deadline_ms = r->deadline_ms;
    return r->rdma->sleep(r->endpoint, is_full, 0) == 0;
}

/* What has come before a failure is still read. */
static int end_look(struct sync_rdma *r, struct fault *why)
{
    const struct fault *failed;
    bool is_direct;
    size_t size;

    r->rdma->poll(r->endpoint);
    if (r->rdma->chunk(r->endpoint, &size, &is_direct))
        return 0;
    if (r->is_closed)
        return fault_set(why, ML_ERR_PEER, "the connection was closed");
    failed = r->rdma->failed(r->endpoint);
    return failed ? fault_set(why, failed->code, "%s", failed->text) : 0;
}

int sync_rdma_handle(struct sync_rdma *r, const struct pollfd polls[SYNC_RDMA_POLLS],
                     struct fault *why)
{
    int rc = 0;

    if (polls[1].fd >= 0)
        r->rdma->wake(r->endpoint);
    if (polls[0].revents)
        rc = frames_take(r, why);
    if (!rc && r->step == CHECKS)
        rc = check_go_on(r, why);
    if (!rc && (r->step == CHECKS || r->step == AGREED))
        rc = controls_put(r, why);
    if (!rc && r->step == AGREED)
        return end_look(r, why);
    if (!rc && r->is_closed && r->step != REFUSED)
        rc = fault_set(why, ML_ERR_PEER, "the connection was closed");
    return rc;
}

size_t sync_rdma_read(struct sync_rdma *r, void *bytes, size_t size)
{
    size_t used = 0, part;
    const void *chunk;
    bool is_direct;

    r->rdma->poll(r->endpoint);
    while ((chunk = r->rdma->chunk(r->endpoint, &part, &is_direct)) && part <= size - used) {
        memcpy((char *)bytes + used, chunk, part);
        used += part;
        r->rdma->release(r->endpoint);
    }
    return used;
}

size_t sync_rdma_write(struct sync_rdma *r, const void *bytes, size_t size)
{
    size_t used = 0, room;
    void *slot;

    r->rdma->poll(r->endpoint);
    while (used < size && (slot = r->rdma->slot(r->endpoint, &room))) {
        size_t part = size - used < room ? size - used : room;

        memcpy(slot, (const char *)bytes + used, part);
        r->rdma->send(r->endpoint, part);
        used += part;
    }
    return used;
}
