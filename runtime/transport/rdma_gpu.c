/* SPDX-License-Identifier: MIT */
#include "runtime/transport/rdma_gpu.h"

#include "rdma/rdma_table.h"
#include "runtime/gpu/gpu_buffer.h"
#include "runtime/gpu/gpu_range.h"
#include "runtime/gpu/gpu_way.h"

static void gpu_tell(const struct rdma_gpu *s, enum gpu_way way, const struct fault *why)
{
    const struct group *g = s->link->group;

    gpu_way_tell(g->members[g->rank], g->members[s->link->peer], way, why);
}

static void gpu_tell_way(const struct rdma_gpu *s, enum region_way way)
{
    gpu_tell(s, way == REGION_DMABUF ? GPU_WAY_DMABUF : GPU_WAY_PEERMEM, NULL);
}

/* Why a long message is copied is told. */
static bool gpu_reaches(const struct rdma_gpu *s, const struct message_op *t, enum region_way *way)
{
    const struct gpu_buffer *b = t->gpu;
    bool sends = t->what == MESSAGE_OP_SEND;
    struct fault why = {0};

    if (t->size < ENDPOINT_LONG)
        return false;
    if (gpu_range_offer(&b->memory, b->at, t->size, &why) &&
        s->rdma->reaches(s->endpoint, b->at, t->size, sends, way, &why))
        return true;
    if (why.code)
        gpu_tell(s, GPU_WAY_REFUSED, &why);
    return false;
}

/* Adds whose call has failed. */
static int gpu_end(const struct rdma_gpu *s, const struct message_op *t, int rc, struct fault *why)
{
    const struct group *g = s->link->group;
    char who[GROUP_MEMBER_TEXT];

    if (!rc)
        return 0;
    return fault_wrap(why, "%s: %s", group_describe(g, g->rank, who),
                      t->what == MESSAGE_OP_SEND ? "send" : "recv");
}

int rdma_gpu_send(const struct rdma_gpu *s, struct message_op *t, struct fault *why)
{
    enum region_way way;
    int rc;

    if (gpu_reaches(s, t, &way)) {
        gpu_tell_way(s, way);
        t->buf = t->gpu->at;
        return 0;
    }
    rc = gpu_buffer_read_piece(t->gpu, 0, why);
    if (!rc)
        t->buf = gpu_buffer_ready(t->gpu, 0);
    return gpu_end(s, t, rc, why);
}

/* The bytes of the pieces that the devices no longer read. */
static size_t gpu_count_read(const struct rdma_gpu *s, struct gpu_buffer *b)
{
    while (b->read < b->ready &&
           s->rdma->has_read(s->endpoint, b->marks[b->read / GPU_PIECE % GPU_PIPE_PIECES])) {
        size_t left = b->ready - b->read;

        b->read += left < GPU_PIECE ? left : GPU_PIECE;
    }
    return b->read;
}

int rdma_gpu_turn(const struct rdma_gpu *s, const struct message_op *t, struct fault *why)
{
    struct gpu_buffer *b = t->gpu;

    if (!b->ready || (t->moved && t->moved < b->ready))
        return 1; /* it goes from the GPU's memory, or there are more in this piece */
    if (t->moved) {
        b->marks[(b->ready - 1) / GPU_PIECE % GPU_PIPE_PIECES] = s->rdma->mark(s->endpoint);
        if (gpu_buffer_read_piece(b, gpu_count_read(s, b), why))
            return gpu_end(s, t, why->code, why);
    }
    if (t->moved == b->ready)
        return 0;
    s->rdma->turn(s->endpoint, gpu_buffer_ready(b, t->moved), t->moved, b->ready);
    return 1;
}

void *rdma_gpu_announced(const struct rdma_gpu *s, const struct message_op *t)
{
    enum region_way way;

    return gpu_reaches(s, t, &way) ? t->gpu->at : NULL;
}

int rdma_gpu_take(const struct rdma_gpu *s, struct message_op *t, const void *bytes, size_t size,
                  struct fault *why)
{
    size_t offset = t->moved;

    t->moved += size;
    if (bytes)
        return gpu_end(s, t, gpu_buffer_take(t->gpu, offset, bytes, size, why), why);
    t->gpu->is_direct = true;
    return 0;
}

int rdma_gpu_end(const struct rdma_gpu *s, const struct message_op *t, struct fault *why)
{
    enum region_way way;

    if (t->gpu->is_direct && gpu_reaches(s, t, &way))
        gpu_tell_way(s, way);
    return gpu_end(s, t, gpu_buffer_end(t->gpu, why), why);
}
