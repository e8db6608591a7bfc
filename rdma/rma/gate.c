/* SPDX-License-Identifier: MIT */
#include "rdma/rma/gate.h"

#include "rdma/verbs/explain.h"
#include "rdma/verbs/rail_fit.h"
#include "rdma/verbs/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { READS_MOST = 16 /* under way; more do not make a link faster */ };

static struct explain_place gate_place(const struct gate *g)
{
    return (struct explain_place){.device = g->port->device, .port = g->port->number};
}

static void gate_unblock(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static uint8_t reads_of(int offered)
{
    return (uint8_t)(offered < 1 ? 1 : offered > READS_MOST ? READS_MOST : offered);
}

static int gate_ask(struct gate *g, struct fault *why)
{
    struct explain_place at = gate_place(g);
    struct ibv_device_attr attr;
    int err = ibv_query_device(g->port->context, &attr);

    if (err)
        return explain(why, EXPLAIN_PORT, err, &at);
    g->reads_in = reads_of(attr.max_qp_rd_atom);
    g->reads_out = reads_of(attr.max_qp_init_rd_atom);
    g->has_atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
    return 0;
}

static int gate_register(struct gate *g, const struct gate_part *part, const struct copies *c,
                         struct fault *why)
{
    struct explain_place at = gate_place(g);

    g->domain = ibv_alloc_pd(g->port->context);
    if (!g->domain)
        return explain(why, EXPLAIN_DOMAIN, errno, &at);
    g->channel = ibv_create_comp_channel(g->port->context);
    if (!g->channel)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    gate_unblock(g->channel->fd);
    gate_unblock(g->port->context->async_fd);
    g->copied = ibv_reg_mr(g->domain, c->bytes, COPIES_SIZE, IBV_ACCESS_LOCAL_WRITE);
    if (!g->copied)
        return explain(why, EXPLAIN_MEMORY, errno, &at);
    if (!part->size)
        return 0;
    g->part = ibv_reg_mr(g->domain, part->memory, part->size,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                             (g->has_atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0));
    return g->part ? 0 : explain(why, EXPLAIN_MEMORY, errno, &at);
}

int gate_open(struct gate **out, const char *name, const struct rdma_choice *choice,
              const struct gate_part *part, const struct copies *c, struct fault *why)
{
    struct gate *g = calloc(1, sizeof(*g));
    int rc;

    if (!g)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(g->name, sizeof(g->name), "%s", name);
    rc = port_open(&g->port, name, choice->port, why);
    if (!rc)
        rc = rail_fit_mtu(g->port, choice->mtu, &g->mtu, why);
    if (!rc)
        rc = gate_ask(g, why);
    if (!rc)
        rc = gate_register(g, part, c, why);
    if (rc) {
        gate_close(g);
        return rc;
    }
    *out = g;
    return 0;
}

void gate_close(struct gate *g)
{
    if (!g)
        return;
    if (g->part)
        ibv_dereg_mr(g->part);
    if (g->copied)
        ibv_dereg_mr(g->copied);
    if (g->channel)
        ibv_destroy_comp_channel(g->channel);
    if (g->domain) {
        region_forget(g->domain);
        ibv_dealloc_pd(g->domain);
    }
    port_close(g->port);
    free(g);
}

void gate_poll_device(struct gate *g)
{
    struct ibv_async_event event;

    while (ibv_get_async_event(g->port->context, &event) == 0) {
        bool is_port =
            event.event_type == IBV_EVENT_PORT_ERR && event.element.port_num == g->port->number;
        bool is_device = event.event_type == IBV_EVENT_DEVICE_FATAL;

        ibv_ack_async_event(&event);
        if (g->failed.code || (!is_port && !is_device))
            continue;
        fault_set(&g->failed, ML_ERR_DEVICE, "%s port %d %s", g->port->device, g->port->number,
                  is_port ? "has gone down: look at its cable and its network device (ip link)"
                          : "has failed: the device is lost, see the kernel's log");
    }
}
