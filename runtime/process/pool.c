/* SPDX-License-Identifier: MIT */
#include "runtime/process/pool.h"

#include "common/ranges.h"
#include "runtime/process/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { POOL_ALIGNMENT = 64 /* a cache line: neighbours don't slow each other */ };

struct pool_piece {
    struct range range;
    bool is_free; /* never two neighbours */
};

struct pool {
    pthread_mutex_t lock; /* over `pieces` and `left` */
    struct ranges pieces; /* all of the memory, so that to free a block needs no memory */
    size_t left;          /* bytes */
    unsigned char *memory;
    bool is_foreign; /* the memory is the program's, perhaps on a GPU: it is never touched */
    size_t size, alignment;
    pid_t owner;
};

/* `size`, at least 1, as whole units of the alignment, which is a power of two. SIZE_MAX: there is
 * no such number. */
static size_t pool_round(size_t size, size_t alignment)
{
    return size > SIZE_MAX - alignment ? SIZE_MAX
                                       : ((size ? size : 1) + alignment - 1) & ~(alignment - 1);
}

static int pool_check(size_t size, size_t alignment, struct fault *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if ((alignment & (alignment - 1)) || alignment > page)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "pool: an alignment of %zu bytes: give a power of two up to %zu, or 0",
                         alignment, page);
    if (!size)
        return fault_set(why, ML_ERR_ARGUMENT, "pool: its size is 0");
    return 0;
}

/* memory: NULL, or of that size, which is a multiple of the alignment. */
static int pool_make(struct pool **out, void *memory, size_t size, size_t alignment,
                     struct fault *why)
{
    struct pool_piece all = {.is_free = true};
    struct pool *p;
    int rc;

    p = calloc(1, sizeof(*p));
    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "pool: out of memory");
    p->pieces = (struct ranges){.item_size = sizeof(struct pool_piece)};
    p->alignment = alignment;
    p->is_foreign = memory != NULL;
    p->owner = getpid();
    p->size = p->left = size;
    pthread_mutex_init(&p->lock, NULL);
    if (!ranges_reserve(&p->pieces)) {
        rc = fault_set(why, ML_ERR_MEMORY, "pool: out of memory");
        goto fail;
    }
    rc = memory ? 0 : alloc_take(size, &memory, why);
    if (rc)
        goto fail;
    p->memory = memory;
    all.range = (struct range){.base = memory, .size = p->size};
    ranges_add(&p->pieces, &all);
    *out = p;
    return 0;
fail:
    pool_destroy(p);
    return rc;
}

int pool_create(struct pool **out, size_t size, size_t alignment, struct fault *why)
{
    int rc;

    alignment = alignment ? alignment : POOL_ALIGNMENT;
    rc = pool_check(size, alignment, why);
    return rc ? rc : pool_make(out, NULL, pool_round(size, alignment), alignment, why);
}

int pool_create_at(struct pool **out, void *memory, size_t size, size_t alignment,
                   struct fault *why)
{
    int rc;

    alignment = alignment ? alignment : POOL_ALIGNMENT;
    rc = pool_check(size, alignment, why);
    if (rc)
        return rc;
    if ((uintptr_t)memory % alignment != 0)
        return fault_set(why, ML_ERR_ARGUMENT, "pool: its memory, at %p, is not %zu-byte aligned",
                         memory, alignment);
    if (size < alignment)
        return fault_set(why, ML_ERR_ARGUMENT, "pool: %zu bytes are no block of %zu bytes", size,
                         alignment);
    return pool_make(out, memory, size & ~(alignment - 1), alignment, why);
}

bool pool_is_foreign(const struct pool *p)
{
    return p->is_foreign;
}

void pool_destroy(struct pool *p)
{
    if (!p)
        return;
    if (!p->is_foreign)
        alloc_give(p->memory);
    free(p->pieces.items);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static int pool_lock(struct pool *p, struct fault *why)
{
    if (p->owner != getpid())
        return fault_set(why, ML_ERR_STATE,
                         "the pool belongs to the process that forked this one: a forked child "
                         "needs a pool of its own");
    pthread_mutex_lock(&p->lock);
    return 0;
}

static struct pool_piece *pool_piece(const struct pool *p, size_t index)
{
    return ranges_item(&p->pieces, index);
}

/* The first free piece of at least `size` bytes. NULL: there is none, and *longest is the size of
 * the longest one. */
static struct pool_piece *pool_find(const struct pool *p, size_t size, size_t *longest)
{
    *longest = 0;
    for (size_t i = 0; i < p->pieces.count; i++) {
        struct pool_piece *piece = pool_piece(p, i);

        if (!piece->is_free)
            continue;
        if (piece->range.size >= size)
            return piece;
        if (piece->range.size > *longest)
            *longest = piece->range.size;
    }
    return NULL;
}

int pool_take(struct pool *p, size_t size, void **out, struct fault *why)
{
    size_t wanted = pool_round(size, p->alignment), longest;
    struct pool_piece *piece, rest = {.is_free = true};
    int rc = pool_lock(p, why);

    if (rc)
        return rc;
    if (!ranges_reserve(&p->pieces)) {
        rc = fault_set(why, ML_ERR_MEMORY, "pool: out of memory");
        goto out;
    }
    piece = pool_find(p, wanted, &longest);
    if (!piece) {
        rc = fault_set(why, ML_ERR_MEMORY,
                       "pool: no room for a block of %zu bytes: %zu of %zu bytes are free, at most "
                       "%zu of them in one piece; free other blocks first, or make the pool larger",
                       size, p->left, p->size, longest);
        goto out;
    }
    piece->is_free = false;
    p->left -= wanted;
    *out = piece->range.base;
    if (piece->range.size > wanted) {
        rest.range.base = piece->range.base + wanted;
        rest.range.size = piece->range.size - wanted;
        piece->range.size = wanted;
        ranges_add(&p->pieces, &rest);
    }
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

/* The block that begins at `address`. NULL: there is none, and *why says why. */
static struct pool_piece *pool_block(const struct pool *p, const void *address, struct fault *why)
{
    struct pool_piece *piece = ranges_find(&p->pieces, address, 1);
    size_t offset = (size_t)((const unsigned char *)address - p->memory);

    if (!piece)
        fault_set(why, ML_ERR_ARGUMENT, "pool: %p is not in the pool of %zu bytes at %p", address,
                  p->size, (void *)p->memory);
    else if (piece->is_free)
        fault_set(why, ML_ERR_ARGUMENT,
                  "pool: nothing is allocated at offset %zu of the pool: it was freed before",
                  offset);
    else if (piece->range.base != address)
        fault_set(why, ML_ERR_ARGUMENT,
                  "pool: offset %zu of the pool is %zu bytes within a block of %zu bytes: give the "
                  "address that the block was allocated at",
                  offset, offset - (size_t)(piece->range.base - p->memory), piece->range.size);
    else
        return piece;
    return NULL;
}

/* Merges pieces `index` and index + 1 if both are free. */
static void pool_merge(struct pool *p, size_t index)
{
    struct pool_piece *piece = pool_piece(p, index), *next = piece + 1;

    if (index + 1 >= p->pieces.count || !piece->is_free || !next->is_free)
        return;
    piece->range.size += next->range.size;
    ranges_remove(&p->pieces, next);
}

int pool_give(struct pool *p, void *block, struct fault *why)
{
    struct pool_piece *piece;
    size_t index;
    int rc;

    if (!block)
        return 0;
    rc = pool_lock(p, why);
    if (rc)
        return rc;
    piece = pool_block(p, block, why);
    if (!piece) {
        rc = ML_ERR_ARGUMENT;
        goto out;
    }
    index = (size_t)(piece - pool_piece(p, 0));
    piece->is_free = true;
    p->left += piece->range.size;
    pool_merge(p, index);
    if (index > 0)
        pool_merge(p, index - 1);
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

void *pool_memory(const struct pool *p, size_t *size)
{
    *size = p->size;
    return p->memory;
}

int pool_left(struct pool *p, size_t *left, size_t *longest, struct fault *why)
{
    int rc = pool_lock(p, why);

    if (rc)
        return rc;
    (void)pool_find(p, SIZE_MAX, longest); /* none is so long, so all are looked at */
    *left = p->left;
    pthread_mutex_unlock(&p->lock);
    return 0;
}
