/* SPDX-License-Identifier: MIT */
/*
 * rdma_table.h: the interface of mlaunch-rdma.so, the only module that links libibverbs, so that
 * hosts without it can run all other backends. Its one exported function returns a table of the
 * functions of endpoint.h and of rma.h, and .
 */
#ifndef RDMA_RDMA_TABLE_H
#define RDMA_RDMA_TABLE_H

#include "rdma/endpoint.h"
#include "rdma/rma/rma.h"

struct rma_table {
    int (*open)(struct rma **out, const struct rma_config *c, struct fault *why);
    void (*close)(struct rma *r);
    bool (*add)(struct rma *r, int peer, const struct rma_peer_config *c, struct fault *why);
    const void *(*publish)(const struct rma *r, int peer, size_t *size);
    int (*connect)(struct rma *r, int peer, const void *from_peer, size_t size, struct fault *why);
    bool (*has)(const struct rma *r, int peer);
    enum region_way (*part_way)(const struct rma *r, int peer);
    void (*remove)(struct rma *r, int peer);
    int (*put)(struct rma *r, int peer, const void *from, size_t size, uint64_t offset,
               struct fault *why);
    int (*get)(struct rma *r, int peer, void *into, size_t size, uint64_t offset,
               struct fault *why);
    bool (*reaches)(struct rma *r, int peer, const void *local, size_t size, enum region_way *way,
                    struct fault *why);
    bool (*own)(struct rma *r, int self);
    int (*change)(struct rma *r, int peer, const struct rma_change *change, uint64_t offset,
                  uint64_t *old, struct fault *why);
    int (*flush)(struct rma *r, int peer, struct fault *why);
    int (*start)(struct rma *r, struct rma_op *w, struct fault *why);
    void (*await)(struct rma *r, const _Atomic bool *done);
    void (*progress)(struct rma *r);
    bool (*dropped)(struct rma *r, struct fault *out, int *left);
    int (*descriptors)(const struct rma *r, int *out, int most);
};

struct endpoint_table {
    const char *build; /* modules of different builds refuse each other */
    int (*open)(struct endpoint **out, const struct endpoint_config *c, struct fault *why);
    void (*close)(struct endpoint *e);
    const void *(*publish)(struct endpoint *e, size_t *size);
    int (*connect)(struct endpoint *e, const void *from_peer, size_t size, struct fault *why);
    uint32_t (*connected)(const struct endpoint *e);
    int (*agree)(struct endpoint *e, uint32_t peers, struct fault *why);
    int (*check)(struct endpoint *e, bool *done, struct fault *why);
    int (*check_late)(struct endpoint *e, struct fault *why);
    void *(*slot)(struct endpoint *e, size_t *room);
    void (*send)(struct endpoint *e, size_t size);
    bool (*reaches)(const struct endpoint *e, const void *at, size_t size, bool from,
                    enum region_way *way, struct fault *why);
    bool (*begin)(struct endpoint *e, uint32_t message, const void *bytes, size_t size);
    void (*turn)(struct endpoint *e, const void *bytes, size_t begin, size_t end);
    size_t (*part)(struct endpoint *e, size_t offset);
    uint64_t (*mark)(const struct endpoint *e);
    bool (*has_read)(struct endpoint *e, uint64_t mark);
    bool (*announce)(struct endpoint *e, uint32_t message, void *at, size_t size);
    void (*stop)(struct endpoint *e);
    const struct fault *(*trouble)(struct endpoint *e);
    const void *(*chunk)(struct endpoint *e, size_t *size, bool *is_direct);
    void (*release)(struct endpoint *e);
    bool (*control_next)(struct endpoint *e, struct rail_control *control);
    int (*control_take)(struct endpoint *e, const struct rail_control *control, struct fault *why);
    const struct fault *(*dropped)(struct endpoint *e, int *left);
    int (*poll)(struct endpoint *e);
    const struct fault *(*failed)(const struct endpoint *e);
    int (*fd)(const struct endpoint *e);
    int (*sleep)(struct endpoint *e, bool sends, uint64_t mark);
    void (*wake)(struct endpoint *e);
    bool (*flush)(struct endpoint *e, int timeout_ms);
    int (*descriptors)(const struct endpoint *e, int *out, int most);
    void (*memory_add)(void *base, size_t size); /* region.h */
    void (*memory_drop)(void *base);
    bool (*memory_add_gpu)(void *base, size_t size, const struct region_gpu *gpu);
    struct rma_table rma;
};

/* The module's only export. */
#define ENDPOINT_TABLE_SYMBOL "mlaunch_rdma_table"
typedef const struct endpoint_table *endpoint_table_fn(void);
ML_EXPORT endpoint_table_fn mlaunch_rdma_table;

#endif
