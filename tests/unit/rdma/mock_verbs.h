/* SPDX-License-Identifier: MIT */
/*
 * mock_verbs.h: RDMA devices that are mocks, for what Soft-RoCE has not (several ports, InfiniBand, no RC) and for wiring that
 * no cable can give. A write goes straight into the memory of the queue pair with which the sender's is connected. To be
 * linked in the place of libibverbs.
 */
#ifndef TESTS_UNIT_RDMA_MOCK_VERBS_H
#define TESTS_UNIT_RDMA_MOCK_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

enum { MOCK_PORTS = 2, MOCK_PAIRS = 32 };

struct mock_port {
    enum ibv_port_state state;
    uint8_t link_layer;
    enum ibv_mtu mtu;
    const char *gid; /* its only one: an IPv6 address */
};
struct mock_device {
    const char *name; /* NULL: no more devices */
    struct mock_port ports[MOCK_PORTS];
    bool has_no_rc;
};

/* The devices of the test, up to one without a name. */
void mock_verbs_begin(const struct mock_device *devices);
/* cmocka's teardown: fails the test if anything that was opened or created is still there. */
int mock_verbs_end(void **state);

/* ibv_get_device_list, ibv_open_device, ibv_query_port fail with this error; 0: they don't. */
void mock_verbs_refuse(int list, int open, int port);

/* How the queue pair of that number was told its way: its port as initialised, and the peer's. */
const struct ibv_qp_attr *mock_verbs_path(uint32_t number);
/* News of a device to all who have it open. */
void mock_verbs_event(const char *device, enum ibv_event_type type, int port);

#endif
