/* SPDX-License-Identifier: MIT */
/* port_counter.h: what a port of an RDMA device has carried, whatever its maker calls it. */
#ifndef LAUNCHER_ASK_PORT_COUNTER_H
#define LAUNCHER_ASK_PORT_COUNTER_H

#include <jansson.h>
#include <stdbool.h>

enum port_counter {
    PORT_COUNTER_RECEIVED, /* bytes */
    PORT_COUNTER_SENT,
    PORT_COUNTER_PACKETS_RECEIVED,
    PORT_COUNTER_PACKETS_SENT,
    PORT_COUNTERS
};

/* `counters`: all that the driver has of a port, by their names in sysfs. False: not this one. */
bool port_counter_read(const json_t *counters, enum port_counter which, double *out);

/* The names of the counters that grow when something goes wrong; NULL ends them. */
extern const char *const port_counter_errors[];

#endif
