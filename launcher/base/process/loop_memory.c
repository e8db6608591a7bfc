/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/loop_memory.h"

#include "common/log.h"
#include "common/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

static const char *kept_file; /* or NULL */

static void *memory_require(void *memory, size_t size)
{
    if (memory || size == 0)
        return memory;
    log_to(NULL, NULL); /* at once, and without threads */
    log_error("out of memory");
    if (kept_file)
        unlink(kept_file);
    _exit(STATUS_OURS);
}

static void *memory_allocate(size_t size)
{
    return memory_require(malloc(size), size);
}

static void *memory_resize(void *old, size_t size)
{
    return memory_require(realloc(old, size), size);
}

void loop_memory_keep_file(const char *path)
{
    kept_file = path;
}

void loop_memory_prepare(void)
{
    event_set_mem_functions(memory_allocate, memory_resize, free);
}
