/* SPDX-License-Identifier: MIT */
/* port_files.h: the files of one port in sysfs: ports/N/state, gids/0, counters/port_rcv_data and
 * so on. */
#ifndef RDMA_STANDIN_FABRIC_PORT_FILES_H
#define RDMA_STANDIN_FABRIC_PORT_FILES_H

#include "rdma/standin/fabric/folder.h"
#include "rdma/standin/fabric/ports.h"

enum { PORT_FILES_COUNTERS = 24 };

/* The counters that their files have now. */
struct port_files_shown {
    bool is_there[PORT_FILES_COUNTERS];
    uint64_t values[PORT_FILES_COUNTERS];
};

/* Writes all but the counters into the port's folder, which is made if it is not there. */
void port_files_write(struct folder *f, const struct ports_port *p);

/* Writes those counters that have changed. */
void port_files_count(struct folder *f, const struct ports_port *p, struct port_files_shown *shown);

#endif
