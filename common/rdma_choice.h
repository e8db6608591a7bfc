/* SPDX-License-Identifier: MIT */
/* rdma_choice.h: what the user has chosen for all RDMA ports of a job. On its way from mlaunch's
 * options to the ranks it is JSON: {"port", "gid_index", "mtu", "qp"}. The rest is a rank's own. */
#ifndef COMMON_RDMA_CHOICE_H
#define COMMON_RDMA_CHOICE_H

enum { RDMA_RAILS = 8 }; /* at most, between two hosts: pairs of ports */

/* In the order of enum queue_pair_kind. */
enum rdma_choice_pairs { RDMA_PAIRS_OFFERED /* RC, else UC */, RDMA_PAIRS_RC, RDMA_PAIRS_UC };

struct rdma_choice {
    int port;      /* from 1; 0: not chosen */
    int gid_index; /* -1: not chosen */
    int mtu;       /* the path's, bytes; 0: not chosen */
    int qp;        /* enum rdma_choice_pairs */
    /* In a rank: the devices beside its GPUs, "mlx5_0,mlx5_1", not owned; NULL: none is known. */
    const char *near;
};

#endif
