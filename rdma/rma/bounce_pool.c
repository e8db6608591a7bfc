/* SPDX-License-Identifier: MIT */
#include "rdma/rma/bounce_pool.h"

#include <errno.h>
#include <sys/mman.h>

int bounce_pool_create(struct bounce_pool *out, struct fault *why)
{
    void *bytes =
        mmap(NULL, BOUNCE_POOL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return fault_os(why, ML_ERR_MEMORY, errno, "cannot allocate %d KiB for a window's copies",
                        BOUNCE_POOL_SIZE / 1024);
    /* Otherwise a fork could give the parent copied pages that the device does not know. */
    madvise(bytes, BOUNCE_POOL_SIZE, MADV_DONTFORK);
    *out = (struct bounce_pool){.bytes = bytes};
    return 0;
}

void bounce_pool_destroy(struct bounce_pool *b)
{
    if (b->bytes)
        munmap(b->bytes, BOUNCE_POOL_SIZE);
    b->bytes = NULL;
}

int bounce_pool_take(struct bounce_pool *b)
{
    _Static_assert(BOUNCE_POOL_SLOTS == 64, "one bit of `used` for each slot");
    int slot;

    if (b->used == UINT64_MAX)
        return -1;
    slot = __builtin_ctzll(~b->used);
    b->used |= 1ULL << slot;
    return slot;
}

void bounce_pool_give(struct bounce_pool *b, int slot)
{
    b->used &= ~(1ULL << slot);
}

unsigned char *bounce_pool_at(const struct bounce_pool *b, int slot)
{
    return b->bytes + (size_t)slot * BOUNCE_POOL_SLOT;
}
