/* SPDX-License-Identifier: MIT */
/*
 * gate.h: one port of this host as a window uses it. Its protection domain holds the window's part,
 * which peers may read and write, and memory from and to which this side's own work goes, which
 * they may not. So a peer reaches the part and nothing else, and no longer than the window lives.
 */
#ifndef RDMA_RMA_GATE_H
#define RDMA_RMA_GATE_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "rdma/rma/copies.h"
#include "rdma/verbs/port.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate {
    struct gate *next; /* of the same window */
    struct port *port;
    char name[PORT_DEVICE]; /* as the caller named it: "mlx5_0:2" */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel; /* of the completions of all its tracks */
    struct ibv_mr *part;              /* NULL: it is empty */
    struct ibv_mr *copied;
    uint8_t mtu;                 /* enum ibv_mtu */
    uint8_t reads_in, reads_out; /* most reads under way of one peer here, and of this side */
    bool has_atomics;            /* the device can change numbers in memory atomically */
    struct fault failed;         /* code != 0: the port is down, or the device is lost */
};

/* The memory that peers may read and write. */
struct gate_part {
    void *memory;
    size_t size;
};

/* Opens the port that `name` and `choice` say. ML_ERR_DEVICE, ML_ERR_LINK, ML_ERR_MEMORY,
 * ML_ERR_ARGUMENT. */
int gate_open(struct gate **out, const char *name, const struct rdma_choice *choice,
              const struct gate_part *part, const struct copies *c, struct fault *why);
void gate_close(struct gate *g); /* after its tracks; takes NULL and half-open gates */

/* Reads the device's own events: sets `failed` if its port went down or the device is lost. */
void gate_poll_device(struct gate *g);

#endif
