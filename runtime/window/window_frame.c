/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_frame.h"

#include <string.h>

static bool frame_is_within(uint64_t offset, uint64_t size, size_t part)
{
    return offset <= part && size <= part - offset;
}

static bool frame_is_number(uint64_t offset, size_t part)
{
    return offset % sizeof(uint64_t) == 0 && frame_is_within(offset, sizeof(uint64_t), part);
}

bool window_frame_is_valid(const struct window_frame *f, size_t size)
{
    switch (f->kind) {
    case FRAME_PUT:
        return frame_is_within(f->offset, f->size, size) && f->signals <= 1 &&
               (!f->signals || frame_is_number(f->number, size));
    case FRAME_PUTS:
        return f->size && f->size <= BATCH_ROOM && f->signals <= 1;
    case FRAME_GET:
        return f->size && frame_is_within(f->offset, f->size, size);
    case FRAME_ADD:
    case FRAME_SWAP:
        return frame_is_number(f->offset, size);
    case FRAME_FLUSH:
    case FRAME_LEAVE:
    case FRAME_END:
    case FRAME_REPLY:
    case FRAME_SLEEP:
    case FRAME_RING:
        return true;
    default:
        return false;
    }
}

/* Before the bytes of each put. */
struct batch_head {
    uint64_t offset, size;
};

bool window_frame_batch_add(struct window_batch *b, const void *from, size_t size, uint64_t offset)
{
    struct batch_head head = {.offset = offset, .size = size};

    if (sizeof(head) + size > BATCH_ROOM - b->size)
        return false;
    memcpy(b->bytes + b->size, &head, sizeof(head));
    memcpy(b->bytes + b->size + sizeof(head), from, size);
    b->size += sizeof(head) + size;
    return true;
}

bool window_frame_batch_apply(const unsigned char *bytes, size_t size, unsigned char *part,
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
