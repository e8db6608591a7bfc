/* SPDX-License-Identifier: MIT */
#include "runtime/process/peer_memory_linux.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VIEWS = 32 /* pieces of a member's memory that stay mapped */ };

struct peer_view {
    uint64_t block;
    size_t size; /* 0: none */
    void *at;
    uint64_t used; /* value of peer_memory.uses at its last use */
};

struct peer_memory {
    int members;
    uint64_t uses;
    struct peer_view (*of)[VIEWS]; /* by member */
};

struct peer_memory *peer_memory_open(int members)
{
    struct peer_memory *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->members = members;
    m->of = calloc((size_t)members, sizeof(*m->of));
    if (m->of)
        return m;
    free(m);
    return NULL;
}

static void peer_view_close(struct peer_view *v)
{
    if (v->size)
        munmap(v->at, v->size);
    v->size = 0;
}

void peer_memory_close(struct peer_memory *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->members; i++)
        for (int k = 0; k < VIEWS; k++)
            peer_view_close(&m->of[i][k]);
    free(m->of);
    free(m);
}

/* --- mapping ---------------------------------------------------------------------------------- */

static bool peer_file_is(const struct stat *st, const struct alloc_file *file)
{
    return S_ISREG(st->st_mode) && st->st_dev == file->device && st->st_ino == file->inode;
}

/* Checks the file before it opens it: opening another kind of file may block, or do something. */
static int peer_file_open(const struct alloc_file *file, int flags)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)file->pid, (int)file->fd);
    if (stat(path, &st) || !peer_file_is(&st, file))
        return -1;
    return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* True if this is the file and contains all of the block for ever, so that reading it can't raise
 * SIGBUS. The size is asked for only after the file is known to be sealed. */
static bool peer_file_contains(int fd, const struct alloc_file *file,
                               const struct alloc_place *place)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
           peer_file_is(&st, file) && st.st_size >= 0 && place->block <= (uint64_t)st.st_size &&
           place->block_size <= (uint64_t)st.st_size - place->block;
}

/* Maps the block. NULL: this process may not, or it makes no sense. */
static void *peer_block_map(const struct alloc_file *file, const struct alloc_place *place,
                            bool is_written)
{
    int fd = peer_file_open(file, is_written ? O_RDWR : O_RDONLY);
    void *at = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (peer_file_contains(fd, file, place))
        at = mmap(NULL, place->block_size, is_written ? PROT_READ | PROT_WRITE : PROT_READ,
                  MAP_SHARED, fd, (off_t)place->block);
    close(fd);
    if (at == MAP_FAILED)
        return NULL;
    /* Neither a child nor a core file needs it. */
    madvise(at, place->block_size, MADV_DONTFORK);
    madvise(at, place->block_size, MADV_DONTDUMP);
    return at;
}

static bool peer_view_open(struct peer_view *out, const struct alloc_file *file,
                           const struct alloc_place *place)
{
    void *at = peer_block_map(file, place, false);

    if (!at)
        return false;
    *out = (struct peer_view){.block = place->block, .size = place->block_size, .at = at};
    return true;
}

void *peer_memory_keep(const struct alloc_file *file, const struct alloc_place *place)
{
    unsigned char *at = NULL;

    if (place->block_size && place->offset <= place->block_size)
        at = peer_block_map(file, place, true);
    return at ? at + place->offset : NULL;
}

void peer_memory_release(void *memory, const struct alloc_place *place)
{
    munmap((unsigned char *)memory - place->offset, place->block_size);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* If the block is not mapped yet, it replaces the one that has not been used for longest. */
static struct peer_view *peer_view_find(struct peer_view *views, const struct alloc_file *file,
                                        const struct alloc_place *place)
{
    struct peer_view *oldest = views, fresh;

    for (struct peer_view *v = views; v < views + VIEWS; v++) {
        if (v->size == place->block_size && v->block == place->block)
            return v;
        if (v->used < oldest->used)
            oldest = v;
    }
    if (!peer_view_open(&fresh, file, place))
        return NULL;
    peer_view_close(oldest);
    *oldest = fresh;
    return oldest;
}

const char *peer_memory_find(struct peer_memory *m, int member, const struct alloc_file *file,
                             const struct alloc_place *place, size_t size)
{
    struct peer_view *v;

    if (!place->block_size || place->offset > place->block_size ||
        size > place->block_size - place->offset)
        return NULL;
    v = peer_view_find(m->of[member], file, place);
    if (!v)
        return NULL;
    v->used = ++m->uses;
    return (const char *)v->at + place->offset;
}
