/* SPDX-License-Identifier: MIT */
/*
 * standin_memory.h: protection domains and registered memory. Bytes are copied by the kernel
 * (process_vm_readv(2) of the own process), so that memory that is not mapped any more is found
 * rather than ends the program.
 */
#ifndef RDMA_STANDIN_OBJECTS_STANDIN_MEMORY_H
#define RDMA_STANDIN_OBJECTS_STANDIN_MEMORY_H

#include "rdma/standin/objects/standin_rule.h"

struct standin_pd {
    struct ibv_pd verbs; /* first */
    struct standin_object object;
    int users;
};

struct standin_mr {
    struct ibv_mr verbs; /* first */
    struct standin_object object;
    uint64_t iova; /* the address that work requests give for the first byte */
    int access;
    int requests; /* that stand and name it */
};

static inline struct standin_pd *standin_pd(struct ibv_pd *pd)
{
    return (struct standin_pd *)pd;
}

/* The context's list of regions; those that its program has left are the kernel's again. */
void standin_memory_free(struct standin_context *c);

/* The region of `key`; NULL: there is none. */
struct standin_mr *standin_mr_find(const struct standin_context *c, uint32_t key);
bool standin_mr_has(const struct standin_mr *m, uint64_t address, uint64_t length);
/* Where that address is in this process. */
void *standin_mr_at(const struct standin_mr *m, uint64_t address);

/* Checks the elements of a work request of domain `pd`; the bytes are written if `is_written`.
 * `object` and `call` are for sentences. IBV_WC_SUCCESS, or the status that a device would give. */
enum ibv_wc_status standin_sge_check(const struct standin_context *c, const struct ibv_pd *pd,
                                     const struct ibv_sge *list, int count, bool is_written,
                                     const char *object);
/* Adds `by` to the count of requests that stand of each element's region. */
void standin_sge_hold(const struct standin_context *c, const struct ibv_sge *list, int count,
                      int by);
uint64_t standin_sge_length(const struct ibv_sge *list, int count);

/* Copies `size` bytes, the first of which is byte `offset` of the elements. False: the memory is
 * not mapped, or not there. */
bool standin_sge_read(const struct standin_context *c, const struct ibv_sge *list, int count,
                      uint64_t offset, void *to, size_t size);
bool standin_sge_write(const struct standin_context *c, const struct ibv_sge *list, int count,
                       uint64_t offset, const void *from, size_t size);
bool standin_memory_read(const void *at, void *to, size_t size);
bool standin_memory_write(void *at, const void *from, size_t size);

#endif
