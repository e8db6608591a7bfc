/* SPDX-License-Identifier: MIT */
#include "runtime/call/task_stage.h"

#include "runtime/call/call.h"
#include "runtime/call/task_bytes.h"
#include "runtime/call/task_hash.h"
#include "runtime/call/task_pieces.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/link.h"
#include "runtime/group/world.h"

#include <stdlib.h>

/* --- copies ----------------------------------------------------------------------------------- */

typedef int stage_copy_fn(struct gpu_buffer *b, const struct gpu_span *spans, size_t count,
                          struct fault *why);

/* The gaps between blocks are the program's, and not copied. */
static int stage_copy_blocks(const struct group *g, struct gpu_buffer *b,
                             const struct task_bytes *bytes, stage_copy_fn *copy, struct fault *why)
{
    struct gpu_span *spans = calloc((size_t)g->size, sizeof(*spans));
    size_t next = 0;
    int rc;

    if (!spans)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int r = 0; r < g->size; r++) {
        spans[r] = (struct gpu_span){bytes->places ? bytes->places[r] : next, bytes->blocks[r]};
        next = spans[r].offset + spans[r].size;
    }
    rc = copy(b, spans, (size_t)g->size, why);
    free(spans);
    return rc;
}

/* `offset`: of the bytes within the buffer. */
static int stage_copy(const struct group *g, struct gpu_buffer *b, size_t offset,
                      const struct task_bytes *bytes, stage_copy_fn *copy, struct fault *why)
{
    struct gpu_span all = {offset, bytes->end};

    return bytes->blocks ? stage_copy_blocks(g, b, bytes, copy, why) : copy(b, &all, 1, why);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int stage_find(struct gpu_memory *m, const struct task_bytes *bytes,
                      const struct cuda_driver *driver, struct fault *why)
{
    return bytes->end ? gpu_memory_open(m, driver, bytes->at, why) : 0;
}

static bool stage_is_within(const void *at, const struct task_bytes *bytes)
{
    uintptr_t a = (uintptr_t)at, b = (uintptr_t)bytes->at;

    return a >= b && a - b < bytes->end;
}

/* A message may stay on the GPU, if the link to the other rank takes such ones. A receive by tag
 * looks at that once its message has come, which may be from any rank. */
static bool stage_is_late(const struct task_stage *s, const struct group *g, int peer)
{
    const struct task *t = &s->task;
    const struct link *l = peer >= 0 ? g->links[peer] : NULL; /* none if ml_repair has failed */
    const struct link_ops *ops = l ? l->ops : NULL;

    if (t->kind != CALL_SEND || s->shares_out || task_hash_is_wanted(g))
        return false;
    return task_receives_tag(t) || (ops && ops->takes_gpu);
}

static void stage_tell(const struct task_stage *s, const struct group *g, int peer)
{
    struct fault why;

    if (s->task.kind != CALL_SEND)
        gpu_way_tell_calls(g->members[g->rank],
                           task_hash_is_wanted(g) ? "their records have hashes of the bytes"
                                                  : "they are short, or of a kind that is not cut");
    if (s->task.kind != CALL_SEND || peer < 0 || peer == g->rank)
        return;
    fault_set(&why, ML_ERR_ARGUMENT, "%s",
              s->shares_out ? "what is sent and what is received overlap"
                            : "the call's record has a hash of the bytes");
    gpu_way_tell(g->members[g->rank], g->members[peer], GPU_WAY_STAGED, &why);
}

/* 1: the bytes are on a GPU, and *b is open; 0: not; ML_ERR_*. */
static int stage_open_late(struct gpu_buffer *b, const struct task_bytes *bytes, void *stream,
                           const struct cuda_driver *driver, struct fault *why)
{
    struct gpu_memory memory;
    int rc = stage_find(&memory, bytes, driver, why);

    if (rc <= 0)
        return rc;
    rc = gpu_buffer_open_late(b, &memory, bytes->at, bytes->end, stream, why);
    return rc ? rc : 1;
}

/* For a call that may be cut: the same if all its bytes are on GPUs. */
static int stage_open_to_cut(struct task_stage *s, const struct group *g,
                             const struct task_bytes *reads, const struct task_bytes *writes,
                             const struct cuda_driver *driver, struct fault *why)
{
    int rc = 1;

    if (!task_pieces_fit(g, &s->task) || task_hash_is_wanted(g))
        return 0;
    if (writes->end)
        rc = stage_open_late(&s->out, writes, s->task.stream, driver, why);
    if (rc > 0 && reads->end)
        rc = stage_open_late(&s->in, reads, s->task.stream, driver, why);
    if (rc <= 0) {
        task_stage_drop(s);
        return rc;
    }
    s->task.out_gpu = writes->end ? &s->out : NULL;
    s->task.in_gpu = reads->end ? &s->in : NULL;
    return 1;
}

/* What is read and written in the same place needs one copy of both, however long each is. */
static int stage_open_out(struct task_stage *s, const struct group *g,
                          const struct task_bytes *reads, const struct task_bytes *writes,
                          const struct cuda_driver *driver, struct fault *why)
{
    struct gpu_memory memory;
    size_t size = writes->end;
    int rc = stage_find(&memory, writes, driver, why);

    if (rc <= 0)
        return rc;
    s->shares_out = reads->end && stage_is_within(reads->at, writes);
    if (s->shares_out) {
        size_t end = (uintptr_t)reads->at - (uintptr_t)writes->at + reads->end;

        size = end > size ? end : size;
    }
    if (stage_is_late(s, g, s->task.from)) {
        rc = gpu_buffer_open_late(&s->out, &memory, writes->at, size, s->task.stream, why);
        s->task.out_gpu = &s->out;
        return rc;
    }
    stage_tell(s, g, s->task.from);
    rc = gpu_buffer_open(&s->out, &memory, writes->at, size, s->task.stream, why);
    if (!rc)
        s->task.out = s->out.bounce.memory;
    return rc;
}

static int stage_open_in(struct task_stage *s, const struct group *g,
                         const struct task_bytes *reads, const struct task_bytes *writes,
                         const struct cuda_driver *driver, struct fault *why)
{
    size_t offset = s->shares_out ? (uintptr_t)reads->at - (uintptr_t)writes->at : 0;
    struct gpu_buffer *from = s->shares_out ? &s->out : &s->in;
    struct gpu_memory memory;
    int rc = s->shares_out ? 1 : stage_find(&memory, reads, driver, why);

    if (rc <= 0)
        return rc;
    if (stage_is_late(s, g, s->task.to)) {
        rc = gpu_buffer_open_late(&s->in, &memory, reads->at, reads->end, s->task.stream, why);
        s->task.in_gpu = &s->in;
        return rc;
    }
    stage_tell(s, g, s->task.to);
    rc = s->shares_out
             ? 0
             : gpu_buffer_open(&s->in, &memory, reads->at, reads->end, s->task.stream, why);
    if (!rc)
        rc = stage_copy(g, from, offset, reads, gpu_buffer_read, why);
    if (call_kind_has(s->task.kind, CALL_IN_PLACE))
        s->task.out = from->bounce.memory;
    else
        s->task.in = (unsigned char *)from->bounce.memory + offset;
    return rc;
}

/* Other members wait in this call for a rank that will not come, so they hear of it. */
static void stage_fail(struct group *g, const char *call, struct fault *why)
{
    char rank[GROUP_MEMBER_TEXT];

    fault_wrap(why, "%s: %s", group_describe(g, g->rank, rank), call);
    if (!group_is_busy(g))
        call_fail(g, why);
    else if (!coord_events_broken(g->world->coord_events, g, NULL))
        coord_events_break(g->world->coord_events, g, why);
}

int task_stage_open(struct task_stage *out, struct group *g, const struct task *t,
                    const struct cuda_driver *driver, struct fault *why)
{
    struct task_bytes reads = task_bytes_read(g, t), writes = task_bytes_written(g, t);
    int rc;

    *out = (struct task_stage){.task = *t};
    rc = stage_open_to_cut(out, g, &reads, &writes, driver, why);
    if (rc > 0)
        return 0;
    if (!rc)
        rc = stage_open_out(out, g, &reads, &writes, driver, why);
    if (!rc)
        rc = stage_open_in(out, g, &reads, &writes, driver, why);
    if (!rc && task_receives_tag(t) && (out->out.bounce.memory || out->out.is_late)) {
        out->wanted = t->status;
        out->task.status = &out->status;
    }
    if (!rc)
        return 0;
    task_stage_drop(out);
    if (rc != ML_ERR_ARGUMENT)
        stage_fail(g, t->name, why);
    return rc;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A message with a tag may be shorter than its room, whose rest is left alone. */
static int stage_copy_back(struct task_stage *s, const struct group *g, const struct task *t,
                           struct fault *why)
{
    struct task_bytes writes = task_bytes_written(g, t);

    if (task_receives_tag(t))
        writes.end = s->status.size;
    return writes.end ? stage_copy(g, &s->out, 0, &writes, gpu_buffer_write, why) : 0;
}

int task_stage_close(struct task_stage *s, struct group *g, const struct task *t, int rc,
                     struct fault *why)
{
    if (!rc && (s->out.bounce.memory || s->out.pipe.bounce.memory || s->out.is_direct)) {
        rc = stage_copy_back(s, g, t, why);
        if (rc)
            stage_fail(g, t->name, why);
    }
    if (s->wanted)
        *s->wanted = s->status;
    task_stage_drop(s);
    return rc;
}

void task_stage_drop(struct task_stage *s)
{
    gpu_buffer_close(&s->in);
    gpu_buffer_close(&s->out);
    s->wanted = NULL;
}
