/* SPDX-License-Identifier: MIT */
#include "runtime/gpu/gpu_way.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    uint32_t *by_peer; /* a bit for each way and reason that was told */
    int peers;
    uint32_t by_calls; /* the same of collective calls */
    bool has_warned;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const ways[GPU_WAYS] = {
    [GPU_WAY_IPC] = "goes by CUDA IPC",
    [GPU_WAY_DMABUF] = "goes by RDMA, registered by a dma-buf",
    [GPU_WAY_PEERMEM] = "goes by RDMA, registered by nvidia-peermem",
};

/* Two reasons may have the same bit; then the second is not told. */
static uint32_t told_reason(const char *reason)
{
    uint32_t sum = 0;

    for (const char *c = reason; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return 1U << (GPU_WAYS + sum % (32 - GPU_WAYS));
}

static uint32_t told_bit(enum gpu_way way, const struct fault *why)
{
    return ways[way] ? 1U << way : told_reason(why->text);
}

/* True the first time. */
static bool told_mark(int peer, uint32_t bit)
{
    bool is_new;

    if (peer >= told.peers) {
        uint32_t *more = realloc(told.by_peer, ((size_t)peer + 1) * sizeof(*more));

        if (!more)
            return false;
        memset(more + told.peers, 0, (size_t)(peer + 1 - told.peers) * sizeof(*more));
        told.by_peer = more;
        told.peers = peer + 1;
    }
    is_new = !(told.by_peer[peer] & bit);
    told.by_peer[peer] |= bit;
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
    if (is_verbose() && told_mark(peer, told_bit(way, why))) {
        if (way == GPU_WAY_STAGED)
            fprintf(stderr,
                    "mlaunch: rank %d: GPU memory for rank %d is copied through host memory: %s\n",
                    rank, peer, why->text);
        else if (!ways[way])
            fprintf(stderr,
                    "mlaunch: rank %d: GPU memory for rank %d is copied through host memory in "
                    "pieces: %s\n",
                    rank, peer, why->text);
        else
            fprintf(stderr, "mlaunch: rank %d: GPU memory for rank %d %s\n", rank, peer, ways[way]);
    } else if (!is_verbose() && way == GPU_WAY_REFUSED && !told.has_warned) {
        told.has_warned = true;
        fprintf(stderr, "mlaunch: warning: rank %d: GPU memory is copied through host memory: %s\n",
                rank, why->text);
    }
    pthread_mutex_unlock(&told.lock);
}

void gpu_way_tell_calls(int rank, const char *reason)
{
    uint32_t bit = reason ? told_reason(reason) : 1;
    bool is_new;

    if (!is_verbose())
        return;
    pthread_mutex_lock(&told.lock);
    is_new = !(told.by_calls & bit);
    told.by_calls |= bit;
    if (is_new && reason)
        fprintf(stderr,
                "mlaunch: rank %d: GPU memory of collective calls is copied to host memory as a "
                "whole: %s\n",
                rank, reason);
    else if (is_new)
        fprintf(stderr,
                "mlaunch: rank %d: GPU memory of collective calls is copied through host memory in "
                "pieces\n",
                rank);
    pthread_mutex_unlock(&told.lock);
}
