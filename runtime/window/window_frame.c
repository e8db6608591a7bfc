/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_frame.h"

#include "runtime/window/window_batch.h"

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
