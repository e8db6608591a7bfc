/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

int memory_create(struct memory *out, struct ibv_pd *domain, const struct explain_place *at,
                  struct fault *why)
{
    struct memory m;
    int rc;

    m.bytes = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m.bytes == MAP_FAILED)
        return explain(why, EXPLAIN_MEMORY, errno, at);
    /* Otherwise a fork could give the parent copied pages that the device does not know. */
    madvise(m.bytes, MEMORY_SIZE, MADV_DONTFORK);
    m.region =
        ibv_reg_mr(domain, m.bytes, MEMORY_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!m.region) {
        rc = explain(why, EXPLAIN_MEMORY, errno, at);
        munmap(m.bytes, MEMORY_SIZE);
        return rc;
    }
    *out = m;
    return 0;
}

void memory_destroy(struct memory *m)
{
    if (m->region)
        ibv_dereg_mr(m->region);
    if (m->bytes)
        munmap(m->bytes, MEMORY_SIZE);
    m->region = NULL;
    m->bytes = NULL;
}
