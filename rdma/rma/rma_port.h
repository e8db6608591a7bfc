/* SPDX-License-Identifier: MIT */
/*
 * rma_port.h: one port of this host as a window uses it. Its protection domain holds the window's
 * part, which peers may read and write, and memory from and to which this side's own work goes,
 * which they may not. So a peer reaches the part and nothing else, and no longer than the window
 * lives.
 */
#ifndef RDMA_RMA_RMA_PORT_H
#define RDMA_RMA_RMA_PORT_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/bounce_pool.h"
#include "rdma/verbs/port.h"
#include "rdma/verbs/region_gpu.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rma_port {
    struct rma_port *next; /* the same window's */
    struct port *port;
    char name[PORT_DEVICE]; /* as the caller named it: "mlx5_0:2" */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel; /* for the completions of all its queue pairs */
    struct ibv_mr *part;              /* NULL: it is empty */
    enum region_way part_way;         /* how the device reaches it */
    struct ibv_mr *bounce;
    uint8_t mtu;                 /* enum ibv_mtu */
    uint8_t reads_in, reads_out; /* most reads under way of one peer here, and of this side */
    bool has_atomics;            /* the device can change numbers in memory atomically */
    struct fault failed;         /* code != 0: the port is down, or the device is lost */
};

/* The memory that peers may read and write. */
struct rma_part {
    void *memory;
    size_t size;
    const struct region_gpu *gpu; /* it is a GPU's; NULL: host memory */
};

/* Opens the port that `name` and `choice` say. ML_ERR_DEVICE, ML_ERR_LINK, ML_ERR_MEMORY,
 * ML_ERR_ARGUMENT. */
int rma_port_open(struct rma_port **out, const char *name, const struct rdma_choice *choice,
                  const struct rma_part *part, const struct bounce_pool *b, struct fault *why);
void rma_port_close(struct rma_port *p); /* after its queue pairs; takes NULL and half-open ports */

#endif
