/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_module.h"

#include "rdma/endpoint_module.h"
#include "runtime/gpu/gpu_range.h"
#include "runtime/process/alloc.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    const struct endpoint_table *table; /* NULL: not open yet */
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Beside this module (an installation, a copy in a cache), or in the build tree. */
static int rdma_module_find(char path[PATH_MAX], struct fault *why)
{
    static const char *const places[] = {"", "../rdma/"};
    const char *slash;
    Dl_info self;

    if (!dladdr((void *)&opened, &self) || !self.dli_fname)
        return fault_set(why, ML_ERR_SYSTEM, "cannot find out where mlaunch's runtime lies");
    slash = strrchr(self.dli_fname, '/');
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, PATH_MAX, "%.*s%s" ENDPOINT_MODULE,
                 slash ? (int)(slash - self.dli_fname) + 1 : 0, self.dli_fname, places[i]);
        if (access(path, F_OK) == 0)
            return 0;
    }
    return fault_set(
        why, ML_ERR_DEVICE,
        "this mlaunch was built without RDMA, or not as a whole: there is no " ENDPOINT_MODULE
        " beside its runtime; build all of it (./bootstrap) with "
        "libibverbs's headers, or use --backend tcp");
}

static bool rdma_module_add_gpu(void *base, size_t size, int dmabuf, uint64_t offset,
                                const char *refusal)
{
    struct region_gpu gpu = {.dmabuf = dmabuf, .offset = offset};

    snprintf(gpu.refusal, sizeof(gpu.refusal), "%s", refusal);
    return opened.table->memory_add_gpu(base, size, &gpu);
}

static int rdma_module_load(struct fault *why)
{
    char path[PATH_MAX];
    struct alloc_watcher watcher;
    int rc = rdma_module_find(path, why);

    if (!rc)
        rc = endpoint_module_open(&opened.table, path, why);
    if (rc)
        return rc;
    watcher =
        (struct alloc_watcher){.add = opened.table->memory_add, .drop = opened.table->memory_drop};
    alloc_watch(&watcher);
    gpu_range_watch(
        &(struct gpu_range_watcher){.add = rdma_module_add_gpu, .drop = opened.table->memory_drop});
    return 0;
}

int rdma_module_open(const struct endpoint_table **out, struct fault *why)
{
    int rc = 0;

    pthread_mutex_lock(&opened.lock);
    if (!opened.table)
        rc = rdma_module_load(why);
    *out = opened.table;
    pthread_mutex_unlock(&opened.lock);
    return rc;
}
