/* SPDX-License-Identifier: MIT */
#include "rdma/rma/copies.h"

#include <errno.h>
#include <sys/mman.h>

int copies_create(struct copies *out, struct fault *why)
{
    void *bytes =
        mmap(NULL, COPIES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return fault_os(why, ML_ERR_MEMORY, errno, "cannot allocate %d KiB for a window's copies",
                        COPIES_SIZE / 1024);
    /* Otherwise a fork could give the parent copied pages that the device does not know. */
    madvise(bytes, COPIES_SIZE, MADV_DONTFORK);
    *out = (struct copies){.bytes = bytes};
    return 0;
}

void copies_destroy(struct copies *c)
{
    if (c->bytes)
        munmap(c->bytes, COPIES_SIZE);
    c->bytes = NULL;
}

int copies_take(struct copies *c)
{
    _Static_assert(COPIES_PLACES == 64, "one bit of `used` for each place");
    int place;

    if (c->used == UINT64_MAX)
        return -1;
    place = __builtin_ctzll(~c->used);
    c->used |= 1ULL << place;
    return place;
}

void copies_give(struct copies *c, int place)
{
    c->used &= ~(1ULL << place);
}

unsigned char *copies_at(const struct copies *c, int place)
{
    return c->bytes + (size_t)place * COPIES_PLACE;
}
