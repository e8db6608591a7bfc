/* SPDX-License-Identifier: MIT */
#include "runtime/process/alloc.h"

#include "common/ranges.h"
#include "runtime/process/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

struct alloc_block {
    struct range range;
    uint64_t offset; /* in the file */
    unsigned pins;
    bool is_in_file;
    bool is_inherited; /* from the process that forked this one, which may use it still */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    pthread_mutex_t lock; /* over all of the below, and over every call of alloc_file_linux.h */
    struct ranges blocks;
    struct alloc_watcher watcher;
} alloc = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .blocks = {.item_size = sizeof(struct alloc_block)},
};

static void alloc_before_fork(void)
{
    pthread_mutex_lock(&alloc.lock);
}

static void alloc_after_fork(void)
{
    pthread_mutex_unlock(&alloc.lock);
}

static void alloc_in_child(void)
{
    int saved = errno;

    for (size_t i = 0; i < alloc.blocks.count; i++) {
        struct alloc_block *b = ranges_item(&alloc.blocks, i);

        b->is_inherited = true;
        b->pins = 0;
    }
    alloc_file_leave();
    pthread_mutex_unlock(&alloc.lock);
    errno = saved;
}

static void alloc_prepare(void)
{
    /* If this fails for want of memory, a child that is forked while another thread allocates can't
     * allocate. */
    (void)pthread_atfork(alloc_before_fork, alloc_after_fork, alloc_in_child);
}

/* Maps it in the file, if there is one. Private memory is mapped first in any case, because the
 * kernel refuses it if there is not enough memory at all, while it allows a file of any size. */
static bool alloc_map(struct alloc_block *b, size_t size)
{
    void *private = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (private == MAP_FAILED)
        return false;
    *b = (struct alloc_block){.range = {.size = size}};
    b->range.base = alloc_file_map(size, &b->offset);
    b->is_in_file = b->range.base;
    if (b->is_in_file)
        munmap(private, size);
    else
        b->range.base = private;
    return true;
}

int alloc_take(size_t size, void **out, struct fault *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = size / page + (size % page != 0) + (size == 0);
    struct alloc_block b;
    int rc = 0;

    if (!out)
        return fault_set(why, ML_ERR_ARGUMENT, "alloc: out is NULL");
    if (pages > PTRDIFF_MAX / page)
        return fault_set(why, ML_ERR_MEMORY, "alloc: there are no %zu bytes of memory", size);
    pthread_once(&once, alloc_prepare);
    pthread_mutex_lock(&alloc.lock);
    if (!ranges_reserve(&alloc.blocks) || !alloc_map(&b, pages * page)) {
        rc = fault_os(why, ML_ERR_MEMORY, errno, "alloc: cannot get %zu bytes of memory", size);
        goto out;
    }
    ranges_add(&alloc.blocks, &b);
    if (alloc.watcher.add && !fork_guard_is_child)
        alloc.watcher.add(b.range.base, b.range.size);
    *out = b.range.base;
out:
    pthread_mutex_unlock(&alloc.lock);
    return rc;
}

/* The pages of an inherited block also belong to the parent, so they are not freed in the file. */
static void alloc_unmap(const struct alloc_block *b)
{
    if (b->is_in_file && !b->is_inherited)
        alloc_file_unmap(b->range.base, b->range.size);
    else
        munmap(b->range.base, b->range.size);
}

void alloc_give(void *memory)
{
    struct alloc_block *b;

    if (!memory)
        return;
    pthread_mutex_lock(&alloc.lock);
    if (alloc.watcher.drop && !fork_guard_is_child)
        alloc.watcher.drop(memory);
    b = ranges_find_base(&alloc.blocks, memory);
    if (b) {
        alloc_unmap(b);
        ranges_remove(&alloc.blocks, b);
    }
    pthread_mutex_unlock(&alloc.lock);
}

bool alloc_find(const void *memory, size_t size, struct alloc_file *file, struct alloc_place *place)
{
    const struct alloc_block *b;
    bool found;

    pthread_mutex_lock(&alloc.lock);
    b = ranges_find(&alloc.blocks, memory, size);
    found = b && b->is_in_file && !b->is_inherited;
    if (found) {
        *place = (struct alloc_place){
            .block = b->offset,
            .block_size = b->range.size,
            .offset = (size_t)((const unsigned char *)memory - b->range.base),
        };
        *file = alloc_file_name();
    }
    pthread_mutex_unlock(&alloc.lock);
    return found;
}

bool alloc_holds(const void *memory, size_t size)
{
    bool found;

    pthread_mutex_lock(&alloc.lock);
    found = ranges_find(&alloc.blocks, memory, size) != NULL;
    pthread_mutex_unlock(&alloc.lock);
    return found;
}

static unsigned alloc_count_pins(const void *memory, int more)
{
    struct alloc_block *b;
    unsigned pins = 0;

    pthread_mutex_lock(&alloc.lock);
    b = ranges_find(&alloc.blocks, memory, 1);
    if (b)
        pins = b->pins += (unsigned)more;
    pthread_mutex_unlock(&alloc.lock);
    return pins;
}

void alloc_pin(const void *memory)
{
    alloc_count_pins(memory, 1);
}

void alloc_unpin(const void *memory)
{
    alloc_count_pins(memory, -1);
}

bool alloc_is_pinned(const void *memory)
{
    return alloc_count_pins(memory, 0) > 0;
}

void alloc_watch(const struct alloc_watcher *w)
{
    pthread_mutex_lock(&alloc.lock);
    alloc.watcher = *w;
    for (size_t i = 0; i < alloc.blocks.count; i++) {
        const struct range *r = ranges_item(&alloc.blocks, i);

        alloc.watcher.add(r->base, r->size);
    }
    pthread_mutex_unlock(&alloc.lock);
}
