/* SPDX-License-Identifier: MIT */
/*
 * mock_verbs.h: mock RDMA devices, for what Soft-RoCE lacks (several ports, InfiniBand, devices
 * without RC) and for wiring that no cable can produce. A write goes straight into the memory of
 * the connected queue pair, if the key allows it. Linked instead of libibverbs.
 */
#ifndef TESTS_UNIT_RDMA_MOCK_VERBS_H
#define TESTS_UNIT_RDMA_MOCK_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

enum { MOCK_PORTS = 2, MOCK_PAIRS = 64, MOCK_READS = 4 /* under way, of a queue pair */ };

struct mock_port {
    enum ibv_port_state state;
    uint8_t link_layer;
    enum ibv_mtu mtu;
    const char *gid; /* the only one, as an IPv6 address */
};
struct mock_device {
    const char *name; /* NULL: no more devices */
    struct mock_port ports[MOCK_PORTS];
    enum { MOCK_ALL, MOCK_NO_RC, MOCK_NO_ATOMICS } lacks;
};

/* Sets the test's devices; the last one has no name. */
void mock_verbs_begin(const struct mock_device *devices);
/* A teardown for cmocka: fails the test if anything that was opened or created still exists. */
int mock_verbs_end(void **state);

/* The errors with which ibv_get_device_list, ibv_open_device and ibv_query_port fail; 0: they
 * succeed. */
void mock_verbs_refuse(int list, int open, int port);

/* The errno with which ibv_reg_mr fails from now on; 0: it succeeds. */
void mock_verbs_refuse_memory(int err);
/* The same, but only for memory that peers may write. */
void mock_verbs_refuse_remote(int err);
/* The same for ibv_reg_dmabuf_mr; and with which dma-buf and offset it was called last. */
void mock_verbs_refuse_dmabuf(int err);
int mock_verbs_dmabuf(uint64_t *offset);
/* How often either was called, and how many regions are registered now. */
int mock_verbs_registrations(void);
int mock_verbs_regions(void);

/* What is posted on the device from now on is kept, until mock_verbs_release carries it out, or
 * mock_verbs_cut fails it as if the peer did not answer. */
void mock_verbs_hold(const char *device);
void mock_verbs_release(const char *device);
void mock_verbs_cut(const char *device);
/* How many writes and reads were carried out. */
int mock_verbs_writes(void);
int mock_verbs_reads(void);

/* The attributes with which the queue pair of that number was initialised and connected. */
const struct ibv_qp_attr *mock_verbs_path(uint32_t number);
/* Raises an event of a device for everyone who has opened it. */
void mock_verbs_event(const char *device, enum ibv_event_type type, int port);

#endif
