/* SPDX-License-Identifier: MIT */
#include "runtime/steps/steps.h"

#include "runtime/kernel/combiner.h"

#include <string.h>

enum {
    LINE = 64,
    CHUNK_LEAST = 16 << 10, /* a shorter message costs more than its bytes do */
    CHUNK_MOST = 256 << 10, /* a second-level cache holds two operands and a result */
    CHUNKS_WANTED = 8,      /* per block, which keep a pipeline full */
};

static size_t round_up(size_t size, size_t unit)
{
    if (unit == LINE) /* shifts instead of divisions */
        return (size + LINE - 1) / LINE * LINE;
    return (size + unit - 1) / unit * unit;
}

/* Bytes at whose multiples the current call's vectors may be cut: cache lines, which hold whole
 * elements, or those of an operator of the program. */
static size_t blocks_unit(const struct group *g)
{
    return g->call.combiner ? g->call.combiner->unit : LINE;
}

size_t blocks_part(const struct group *g, size_t most)
{
    size_t unit = blocks_unit(g);

    return most > unit ? most - most % unit : unit;
}

static void chunks_cut(struct blocks *b, size_t unit)
{
    size_t chunk = b->block / CHUNKS_WANTED + 1;

    if (chunk < CHUNK_LEAST)
        chunk = CHUNK_LEAST;
    if (chunk > CHUNK_MOST)
        chunk = CHUNK_MOST;
    b->chunk = round_up(chunk, unit);
    b->chunks = b->block ? (b->block - 1) / b->chunk + 1 : 1;
}

void blocks_cut(struct blocks *b, const struct group *g, size_t size, int n)
{
    size_t unit = blocks_unit(g);

    b->size = size;
    b->block = round_up(size / (size_t)n + (size % (size_t)n != 0), unit);
    chunks_cut(b, unit);
}

void blocks_cut_equal(struct blocks *b, const struct group *g, size_t size, int n)
{
    b->size = size;
    b->block = size / (size_t)n;
    chunks_cut(b, blocks_unit(g));
}

struct piece blocks_block(const struct blocks *b, int block)
{
    size_t before = b->size / (b->block ? b->block : 1);
    size_t start = (size_t)block <= before ? (size_t)block * b->block : b->size;
    size_t left = b->size - start;

    return (struct piece){start, left < b->block ? left : b->block};
}

struct piece blocks_chunk(const struct blocks *b, int block, size_t chunk)
{
    struct piece p = blocks_block(b, block);
    size_t skip = chunk < b->chunks ? chunk * b->chunk : p.size;

    if (skip > p.size)
        skip = p.size;
    p.offset += skip;
    p.size -= skip;
    if (p.size > b->chunk)
        p.size = b->chunk;
    return p;
}

int steps_scratch(struct group *g, void **work, size_t size, struct fault *why)
{
    *work = group_scratch(g, size);
    if (!*work)
        return fault_set(why, ML_ERR_MEMORY, "%s: out of memory: no %zu bytes to work in",
                         g->words.name, size);
    return 0;
}

int pipeline_open(struct pipeline *p, struct group *g, int most, void **work, size_t size,
                  struct fault *why)
{
    size_t step = (size_t)most * sizeof(struct message_op);
    size_t ops = round_up(PIPELINE_DEPTH * step, LINE);
    void *all;
    int rc = steps_scratch(g, &all, ops + size, why);

    if (rc)
        return rc;
    memset(p, 0, sizeof(*p));
    p->group = g;
    for (int i = 0; i < PIPELINE_DEPTH; i++)
        p->steps[i] = (struct message_op *)((char *)all + (size_t)i * step);
    p->t = p->steps[0];
    if (work)
        *work = (char *)all + ops;
    return 0;
}

int pipeline_step(struct pipeline *p, int n, struct fault *why)
{
    int rc = n ? message_op_start(p->group, p->t, n, why) : 0;

    if (rc)
        return rc;
    p->started[p->next] = n;
    p->next = (p->next + 1) % PIPELINE_DEPTH;
    p->t = p->steps[p->next];
    n = p->started[p->next];
    return n ? message_op_wait(p->group, p->t, n, why) : 0;
}

int pipeline_close(struct pipeline *p, struct fault *why)
{
    for (int i = 0; i < PIPELINE_DEPTH; i++) {
        int rc = pipeline_step(p, 0, why);

        if (rc)
            return rc;
    }
    return 0;
}
