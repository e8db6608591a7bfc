/* SPDX-License-Identifier: MIT */
/*
 * sysfs_tree.h: the files that hosts of the network have, as the kernel has them, below DIR/HOST:
 *
 *     sys/class/infiniband/NAME/…             devices, ports, GIDs, counters
 *     sys/class/infiniband_verbs/uverbsN/…
 *     dev/                                    for the sockets uverbsN (contexts.h)
 *     namespace                               the fabric's mount namespace, which standin-host is
 *                                             never to be in
 *
 * The kernel answers with an error where somebody reads the type of a GID that is empty; here the
 * file is missing.
 */
#ifndef RDMA_STANDIN_FABRIC_SYSFS_TREE_H
#define RDMA_STANDIN_FABRIC_SYSFS_TREE_H

#include "rdma/standin/fabric/ports.h"

struct sysfs_tree;

/* Writes everything below `dir`, an empty folder. ML_ERR_SYSTEM, ML_ERR_MEMORY;
 * ML_ERR_ARGUMENT: its path is too long. */
int sysfs_tree_open(struct sysfs_tree **out, struct ports *p, const char *dir, struct fault *why);
/* Removes everything below the folder again. Takes NULL. */
void sysfs_tree_close(struct sysfs_tree *t);

/* Writes the state and the GIDs of a port anew. ML_ERR_SYSTEM. */
int sysfs_tree_write_port(struct sysfs_tree *t, const struct ports_port *p, struct fault *why);

/* Writes the counters that have changed. ML_ERR_SYSTEM. */
int sysfs_tree_write_counters(struct sysfs_tree *t, struct fault *why);

#endif
