/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_way.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    unsigned char *by_peer; /* a bit for each way that was told */
    int peers;
    bool has_warned;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const ways[GPU_WAYS] = {
    [GPU_WAY_DMABUF] = "goes by RDMA, registered by a dma-buf",
    [GPU_WAY_PEERMEM] = "goes by RDMA, registered by nvidia-peermem",
};

/* True the first time. */
static bool told_mark(int peer, enum gpu_way way)
{
    bool is_new;

    if (peer >= told.peers) {
        unsigned char *more = realloc(told.by_peer, (size_t)peer + 1);

        if (!more)
            return false;
        memset(more + told.peers, 0, (size_t)(peer + 1 - told.peers));
        told.by_peer = more;
        told.peers = peer + 1;
    }
    is_new = !(told.by_peer[peer] & 1U << way);
    told.by_peer[peer] |= (unsigned char)(1U << way);
    return is_new;
}

/* Set by mlaunch -v. */
static bool is_verbose(void)
{
    const char *value = getenv("MLAUNCH_VERBOSE");

    return value && *value;
}

void gpu_way_tell(int rank, int peer, enum gpu_way way, const struct fault *why)
{
    pthread_mutex_lock(&told.lock);
    if (is_verbose() && told_mark(peer, way)) {
        if (way == GPU_WAY_STAGED)
            fprintf(stderr,
                    "mlaunch: rank %d: GPU memory for rank %d is copied through host memory: %s\n",
                    rank, peer, why->text);
        else
            fprintf(stderr, "mlaunch: rank %d: GPU memory for rank %d %s\n", rank, peer, ways[way]);
    } else if (!is_verbose() && way == GPU_WAY_STAGED && why->code == ML_ERR_DEVICE &&
               !told.has_warned) {
        told.has_warned = true;
        fprintf(stderr, "mlaunch: warning: rank %d: GPU memory is copied through host memory: %s\n",
                rank, why->text);
    }
    pthread_mutex_unlock(&told.lock);
}
