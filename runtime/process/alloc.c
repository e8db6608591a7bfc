/* SPDX-License-Identifier: MIT */
#include "runtime/process/alloc.h"

#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block {
    unsigned char *base;
    size_t size;
    uint64_t offset; /* in the file */
    bool is_in_file;
    bool is_inherited; /* from the process that forked this one, which may use it still */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct block *blocks; /* by address */
static size_t block_count, block_room;
static struct alloc_watcher watcher;

static void alloc_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void alloc_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void alloc_in_child(void)
{
    int saved = errno;

    for (size_t i = 0; i < block_count; i++)
        blocks[i].is_inherited = true;
    alloc_file_leave();
    pthread_mutex_unlock(&lock);
    errno = saved;
}

static void alloc_prepare(void)
{
    /* Out of memory here: a child that is forked while another thread allocates can't allocate. */
    (void)pthread_atfork(alloc_before_fork, alloc_after_fork, alloc_in_child);
}

/* How many begin at `address` or before. */
static size_t blocks_until(const unsigned char *address)
{
    size_t low = 0, high = block_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (blocks[middle].base > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool blocks_make_room(void)
{
    size_t room = block_room ? 2 * block_room : 16;
    struct block *grown;

    if (block_count < block_room)
        return true;
    grown = realloc(blocks, room * sizeof(*grown));
    if (!grown)
        return false;
    blocks = grown;
    block_room = room;
    return true;
}

/* In the file, if there is one. Private memory is asked for in any case: the kernel refuses it where there isn't
 * as much at all, and a file it would let be of any size. */
static bool block_map(struct block *b)
{
    void *private = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (private == MAP_FAILED)
        return false;
    b->base = alloc_file_map(b->size, &b->offset);
    b->is_in_file = b->base;
    if (b->is_in_file)
        munmap(private, b->size);
    else
        b->base = private;
    return true;
}

int alloc_take(size_t size, void **out, struct fault *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = size / page + (size % page != 0) + (size == 0), at;
    struct block b = {.base = NULL};
    int rc = 0;

    if (!out)
        return fault_set(why, ML_ERR_ARGUMENT, "alloc: out is NULL");
    if (pages > PTRDIFF_MAX / page)
        return fault_set(why, ML_ERR_MEMORY, "alloc: there are no %zu bytes of memory", size);
    b.size = pages * page;
    pthread_once(&once, alloc_prepare);
    pthread_mutex_lock(&lock);
    if (!blocks_make_room() || !block_map(&b)) {
        rc = fault_os(why, ML_ERR_MEMORY, errno, "alloc: cannot get %zu bytes of memory", size);
        goto out;
    }
    at = blocks_until(b.base);
    memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof(*blocks));
    blocks[at] = b;
    block_count++;
    if (watcher.add && !fork_guard_is_child)
        watcher.add(b.base, b.size);
    *out = b.base;
out:
    pthread_mutex_unlock(&lock);
    return rc;
}

/* The block's pages in the file are the parent's, too. */
static void block_unmap(const struct block *b)
{
    if (b->is_in_file && !b->is_inherited)
        alloc_file_unmap(b->base, b->size);
    else
        munmap(b->base, b->size);
}

void alloc_give(void *memory)
{
    size_t behind;

    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    if (watcher.drop && !fork_guard_is_child)
        watcher.drop(memory);
    behind = blocks_until(memory);
    if (behind > 0 && blocks[behind - 1].base == memory) {
        block_unmap(&blocks[behind - 1]);
        memmove(blocks + behind - 1, blocks + behind, (block_count - behind) * sizeof(*blocks));
        block_count--;
    }
    pthread_mutex_unlock(&lock);
}

bool alloc_find(const void *memory, size_t size, struct alloc_file *file, struct alloc_place *place)
{
    const unsigned char *from = memory;
    bool found = false;
    size_t behind;

    pthread_mutex_lock(&lock);
    behind = blocks_until(from);
    if (behind > 0) {
        const struct block *b = &blocks[behind - 1];
        size_t offset = (size_t)(from - b->base);

        found = b->is_in_file && !b->is_inherited && offset <= b->size && size <= b->size - offset;
        *place = (struct alloc_place){b->offset, b->size, offset};
        *file = alloc_file_name();
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void alloc_watch(const struct alloc_watcher *w)
{
    pthread_mutex_lock(&lock);
    watcher = *w;
    for (size_t i = 0; i < block_count; i++)
        watcher.add(blocks[i].base, blocks[i].size);
    pthread_mutex_unlock(&lock);
}
