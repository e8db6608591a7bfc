/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_batch.h"

#include <string.h>

/* Before the bytes of each put. */
struct batch_head {
    uint64_t offset, size;
};

bool window_batch_add(struct window_batch *b, const void *from, size_t size, uint64_t offset)
{
    struct batch_head head = {.offset = offset, .size = size};

    if (sizeof(head) + size > BATCH_ROOM - b->size)
        return false;
    memcpy(b->bytes + b->size, &head, sizeof(head));
    memcpy(b->bytes + b->size + sizeof(head), from, size);
    b->size += sizeof(head) + size;
    return true;
}

bool window_batch_apply(const unsigned char *bytes, size_t size, unsigned char *part,
                        size_t part_size)
{
    while (size) {
        struct batch_head head;

        if (size < sizeof(head))
            return false;
        memcpy(&head, bytes, sizeof(head));
        bytes += sizeof(head);
        size -= sizeof(head);
        if (!head.size || head.size > size || head.offset > part_size ||
            head.size > part_size - head.offset)
            return false;
        memcpy(part + head.offset, bytes, (size_t)head.size);
        bytes += head.size;
        size -= (size_t)head.size;
    }
    return true;
}
