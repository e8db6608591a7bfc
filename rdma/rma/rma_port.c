/* SPDX-License-Identifier: MIT */
#include "rdma/rma/rma_port.h"

#include "rdma/verbs/explain.h"
#include "rdma/verbs/rail_fit.h"
#include "rdma/verbs/region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { READS_MOST = 16 /* under way; more do not make a link faster */ };

static uint8_t reads_of(int offered)
{
    return (uint8_t)(offered < 1 ? 1 : offered > READS_MOST ? READS_MOST : offered);
}

static int rma_port_ask(struct rma_port *p, struct fault *why)
{
    struct explain_place at = {.device = p->port->device, .port = p->port->number};
    struct ibv_device_attr attr;
    int err = ibv_query_device(p->port->context, &attr);

    if (err)
        return explain(why, EXPLAIN_PORT, err, &at);
    p->reads_in = reads_of(attr.max_qp_rd_atom);
    p->reads_out = reads_of(attr.max_qp_init_rd_atom);
    p->has_atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
    return 0;
}

/* No peer changes numbers in a GPU's memory by its device: what is atomic there towards the GPU
 * depends on GPU, device and bridges. */
static int rma_port_register_part(struct rma_port *p, const struct rma_part *part,
                                  const struct explain_place *at, struct fault *why)
{
    const struct range range = {.base = part->memory, .size = part->size};
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

    if (part->gpu) {
        p->part = region_gpu_register(part->gpu, &range, p->domain, access, &p->part_way, at, why);
        return p->part ? 0 : why->code;
    }
    if (p->has_atomics)
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    /* As a function, as in region_gpu.c. */
    p->part = (ibv_reg_mr)(p->domain, part->memory, part->size, access);
    return p->part ? 0 : explain(why, EXPLAIN_MEMORY, errno, at);
}

static int rma_port_register(struct rma_port *p, const struct rma_part *part,
                             const struct bounce_pool *b, struct fault *why)
{
    struct explain_place at = {.device = p->port->device, .port = p->port->number};

    p->domain = ibv_alloc_pd(p->port->context);
    if (!p->domain)
        return explain(why, EXPLAIN_DOMAIN, errno, &at);
    p->channel = ibv_create_comp_channel(p->port->context);
    if (!p->channel)
        return explain(why, EXPLAIN_QUEUE, errno, &at);
    port_unblock(p->channel->fd);
    port_unblock(p->port->context->async_fd);
    p->bounce = ibv_reg_mr(p->domain, b->bytes, BOUNCE_POOL_SIZE, IBV_ACCESS_LOCAL_WRITE);
    if (!p->bounce)
        return explain(why, EXPLAIN_MEMORY, errno, &at);
    return part->size ? rma_port_register_part(p, part, &at, why) : 0;
}

int rma_port_open(struct rma_port **out, const char *name, const struct rdma_choice *choice,
                  const struct rma_part *part, const struct bounce_pool *b, struct fault *why)
{
    struct rma_port *p = calloc(1, sizeof(*p));
    int rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(p->name, sizeof(p->name), "%s", name);
    rc = port_open(&p->port, name, choice->port, why);
    if (!rc)
        rc = rail_fit_mtu(p->port, choice->mtu, &p->mtu, why);
    if (!rc)
        rc = rma_port_ask(p, why);
    if (!rc)
        rc = rma_port_register(p, part, b, why);
    if (rc) {
        rma_port_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void rma_port_close(struct rma_port *p)
{
    if (!p)
        return;
    if (p->part)
        ibv_dereg_mr(p->part);
    if (p->bounce)
        ibv_dereg_mr(p->bounce);
    if (p->channel)
        ibv_destroy_comp_channel(p->channel);
    if (p->domain) {
        region_forget(p->domain);
        ibv_dealloc_pd(p->domain);
    }
    port_close(p->port);
    free(p);
}
