/* SPDX-License-Identifier: MIT */
#include "rdma/verbs/region_gpu.h"

#include "rdma/verbs/explain.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

/* Looked up, because libibverbs has it from version 34 of rdma-core on, and this module is to be
 * loaded beside older ones, too. */
typedef struct ibv_mr *dmabuf_register_fn(struct ibv_pd *domain, uint64_t offset, size_t size,
                                          uint64_t address, int dmabuf, int access);

static struct ibv_mr *dmabuf_register(const struct region_gpu *g, const struct range *range,
                                      struct ibv_pd *domain, int access,
                                      char refusal[REGION_GPU_REFUSAL])
{
    dmabuf_register_fn *registers;
    struct ibv_mr *region;

    if (g->dmabuf < 0) {
        snprintf(refusal, REGION_GPU_REFUSAL, "%s", g->refusal);
        return NULL;
    }
    *(void **)&registers = dlsym(RTLD_DEFAULT, "ibv_reg_dmabuf_mr");
    if (!registers) {
        snprintf(refusal, REGION_GPU_REFUSAL,
                 "this host's libibverbs can't register one; rdma-core 34 can");
        return NULL;
    }
    region = registers(domain, g->offset, range->size, (uintptr_t)range->base, g->dmabuf, access);
    if (!region)
        snprintf(refusal, REGION_GPU_REFUSAL, "the device: %s", strerror(errno));
    return region;
}

/* Without nvidia-peermem the kernel finds no pages at the address. */
static const char *peermem_hint(int err)
{
    return err == EFAULT ? "; is the kernel module nvidia_peermem loaded?" : "";
}

struct ibv_mr *region_gpu_register(const struct region_gpu *g, const struct range *range,
                                   struct ibv_pd *domain, int access, enum region_way *way,
                                   const struct explain_place *at, struct fault *why)
{
    char refusal[REGION_GPU_REFUSAL], place[EXPLAIN_PLACE];
    struct ibv_mr *region = dmabuf_register(g, range, domain, access, refusal);
    int err;

    *way = REGION_DMABUF;
    if (region)
        return region;
    *way = REGION_PEERMEM;
    /* As a function: the macro of newer headers looks at `access` while it is compiled. */
    region = (ibv_reg_mr)(domain, range->base, range->size, access);
    if (region)
        return region;
    err = errno;
    fault_set(why, ML_ERR_DEVICE,
              "%zu KiB of GPU memory can't be registered%s: neither by a dma-buf (%s) nor by "
              "nvidia-peermem (%s%s)",
              range->size / 1024, explain_place(at, place), refusal, strerror(err),
              peermem_hint(err));
    return NULL;
}
