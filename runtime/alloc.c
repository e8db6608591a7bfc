/* SPDX-License-Identifier: MIT */
#include "runtime/alloc.h"

#include "runtime/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* In a page of its own in front of the memory: the size for munmap, and the list of all. */
struct block {
    struct block *next, *before;
    size_t mapped, size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct block *blocks;
static struct alloc_watcher watcher;

static void alloc_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void alloc_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void alloc_prepare(void)
{
    /* Out of memory here: a child that is forked while another thread allocates can't allocate. */
    (void)pthread_atfork(alloc_before_fork, alloc_after_fork, alloc_after_fork);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *block_memory(struct block *b)
{
    return (unsigned char *)b + page_size();
}

int alloc_take(size_t size, void **out, struct fault *why)
{
    size_t page = page_size(), pages = size / page + (size % page != 0) + (size == 0);
    struct block *b;

    if (!out)
        return fault_set(why, ML_ERR_ARGUMENT, "alloc: out is NULL");
    if (pages >= PTRDIFF_MAX / page)
        return fault_set(why, ML_ERR_MEMORY, "alloc: there are no %zu bytes of memory", size);
    pthread_once(&once, alloc_prepare);
    b = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED)
        return fault_os(why, ML_ERR_MEMORY, errno, "alloc: cannot get %zu bytes of memory", size);
    b->mapped = (pages + 1) * page;
    b->size = pages * page;
    b->before = NULL;
    pthread_mutex_lock(&lock);
    b->next = blocks;
    if (blocks)
        blocks->before = b;
    blocks = b;
    if (watcher.add)
        watcher.add(block_memory(b), b->size);
    pthread_mutex_unlock(&lock);
    *out = block_memory(b);
    return 0;
}

void alloc_give(void *memory)
{
    struct block *b;

    if (!memory)
        return;
    b = (struct block *)(void *)((unsigned char *)memory - page_size());
    pthread_mutex_lock(&lock);
    if (watcher.drop && !fork_guard_is_child)
        watcher.drop(memory);
    if (b->next)
        b->next->before = b->before;
    if (b->before)
        b->before->next = b->next;
    else
        blocks = b->next;
    pthread_mutex_unlock(&lock);
    munmap(b, b->mapped);
}

void alloc_watch(const struct alloc_watcher *w)
{
    pthread_mutex_lock(&lock);
    watcher = *w;
    for (struct block *b = blocks; b; b = b->next)
        watcher.add(block_memory(b), b->size);
    pthread_mutex_unlock(&lock);
}
