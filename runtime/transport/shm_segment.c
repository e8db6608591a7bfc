/* SPDX-License-Identifier: MIT */
#include "runtime/transport/shm_segment.h"

#include "runtime/process/file_room.h"
#include "runtime/transport/shm_coll.h"
#include "runtime/transport/shm_pages_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RING_MAX = 1 << 20, /* bytes: no faster beyond that */
    RING_MIN = 1024,    /* with hundreds of ranks; longer messages are offered (shm_rendezvous.h) */
    RING_SMALL = 4096,
    SEGMENT_AIM = 32 << 20, /* bytes, which all rings together should not exceed */
    CELL_MAX = 256 << 10,   /* bytes: a rank's two and what it reads fit in a second-level cache */
    CELL_MIN = 4096,
    CELLS_AIM = 8 << 20, /* bytes, for all cells together */
    SEGMENT_MAGIC = 0x4d4c5333,
};

struct shm_head {
    _Alignas(PROCESSOR_LINE) uint32_t magic;
    uint32_t count;
    uint64_t ring_size;
};

struct shm_segment {
    char name[NAME_MAX];
    bool is_named; /* made by this process, and not unlinked yet */
    int count, index;
    size_t ring_size, cell_size;
    size_t head_size, part_size, rings_size; /* the head with its slots; each part; its rings */
    size_t size;                             /* all, holes included */
    unsigned char *memory;
};

static size_t shm_segment_ring_size_for(int count)
{
    size_t pairs = (size_t)count * (size_t)(count - 1), size = RING_MAX;

    while (size > RING_MIN && pairs * size > SEGMENT_AIM)
        size /= 2;
    return size;
}

static size_t shm_segment_cell_size_for(int count)
{
    size_t size = CELL_MAX;

    while (size > CELL_MIN && (size_t)count * SHM_COLL_CELLS * size > CELLS_AIM)
        size /= 2;
    return size;
}

static size_t shm_segment_ring_stride(size_t ring_size)
{
    return sizeof(struct shm_ring) + ring_size;
}

/* Offsets in a part: cells first, as they are whole pages, then lines, then a mark for each member,
 * which says that there is a ring to it. */
static size_t shm_segment_lines_offset(const struct shm_segment *s)
{
    return SHM_COLL_CELLS * s->cell_size;
}

static size_t shm_segment_marks_offset(const struct shm_segment *s)
{
    return shm_segment_lines_offset(s) + SHM_COLL_LINES * sizeof(struct shm_coll_line);
}

static size_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

/* What all members together allocate at the start: the head and the parts. */
static size_t shm_segment_start_size(const struct shm_segment *s)
{
    return s->head_size + (size_t)s->count * s->part_size;
}

static unsigned char *shm_segment_part(const struct shm_segment *s, int index)
{
    return s->memory + s->head_size + (size_t)index * s->part_size;
}

static _Atomic unsigned char *shm_segment_mark(const struct shm_segment *s, int from, int to)
{
    return (_Atomic unsigned char *)(shm_segment_part(s, from) + shm_segment_marks_offset(s)) + to;
}

static struct shm_ring *shm_segment_ring(const struct shm_segment *s, int from, int to)
{
    /* Each sender has count - 1 rings: none to itself. */
    size_t number = (size_t)(to > from ? to - 1 : to);

    return (struct shm_ring *)(s->memory + shm_segment_start_size(s) +
                               (size_t)from * s->rings_size +
                               number * shm_segment_ring_stride(s->ring_size));
}

static int shm_segment_new(struct shm_segment **out, const char *name, int count, int index,
                           bool is_small, struct fault *why)
{
    struct shm_segment *s = calloc(1, sizeof(*s));

    if (!s || strlen(name) >= sizeof(s->name)) {
        free(s);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    strcpy(s->name, name);
    s->count = count;
    s->index = index;
    s->ring_size = is_small ? RING_SMALL : shm_segment_ring_size_for(count);
    s->cell_size = is_small ? CELL_MIN : shm_segment_cell_size_for(count);
    s->head_size =
        whole_pages(sizeof(struct shm_head) + (size_t)count * sizeof(struct sleeper_slot));
    s->part_size = whole_pages(shm_segment_marks_offset(s) + (size_t)count);
    s->rings_size = whole_pages((size_t)(count - 1) * shm_segment_ring_stride(s->ring_size));
    s->size = shm_segment_start_size(s) + (size_t)count * s->rings_size;
    *out = s;
    return 0;
}

/* The kernel takes the pages from the memory node of the processor that allocates them: the
 * caller's own. */
static int shm_segment_allocate(const struct shm_segment *s, int fd, size_t offset, size_t size,
                                struct fault *why)
{
    int err = file_room_take(fd, (off_t)offset, (off_t)size);

    if (!err)
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, err,
                    "/dev/shm has no room for the %zu KiB that %d ranks share (enlarge it, or use "
                    "--backend tcp --local net)",
                    shm_segment_start_size(s) / 1024, s->count);
}

static int shm_segment_map(struct shm_segment *s, int fd, struct fault *why)
{
    void *at = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot map %zu bytes of shared memory",
                        s->size);
    s->memory = at;
    (void)sched_getaffinity(0, sizeof(cpu_set_t), &shm_segment_slot(s, s->index)->processors);
    return 0;
}

/* Allocates this process's part, with the head if it is the first one, and maps all of the
 * segment. */
static int shm_segment_take_part(struct shm_segment *s, int fd, struct fault *why)
{
    size_t offset = s->index == 0 ? 0 : s->head_size + (size_t)s->index * s->part_size;
    size_t size = s->part_size + (s->index == 0 ? s->head_size : 0);
    int rc = shm_segment_allocate(s, fd, offset, size, why);

    return rc ? rc : shm_segment_map(s, fd, why);
}

/* What keeps one from being made is nearly always /dev/shm itself, whose path shm_open hides. */
static int shm_segment_refused(const char *name, int err, struct fault *why)
{
    if (err != ENOENT && err != EROFS && err != EACCES && err != EPERM)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot make the shared memory %s", name);
    return fault_set(why, ML_ERR_SYSTEM,
                     "cannot make shared memory in /dev/shm: %s; mount a tmpfs there that this "
                     "user may write to, or use --backend tcp --local net",
                     strerror(err));
}

int shm_segment_create(struct shm_segment **out, const char *name, int count, bool is_small,
                       struct fault *why)
{
    struct shm_segment *s;
    struct shm_head *head;
    int fd, rc = shm_segment_new(&s, name, count, 0, is_small, why);

    if (rc)
        return rc;
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        rc = shm_segment_refused(name, errno, why);
        goto fail;
    }
    s->is_named = true;
    if (ftruncate(fd, (off_t)s->size) != 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make the shared memory %s %zu KiB long",
                      name, s->size / 1024);
        goto fail;
    }
    rc = shm_segment_take_part(s, fd, why);
    if (rc)
        goto fail;
    close(fd);
    head = (struct shm_head *)s->memory;
    head->count = (uint32_t)count;
    head->ring_size = s->ring_size;
    head->magic = SEGMENT_MAGIC;
    *out = s;
    return 0;
fail:
    if (fd >= 0)
        close(fd);
    shm_segment_close(s);
    return rc;
}

int shm_segment_open(struct shm_segment **out, const char *name, int count, int index,
                     bool is_small, struct fault *why)
{
    struct shm_segment *s;
    const struct shm_head *head;
    struct stat st;
    int fd, rc = shm_segment_new(&s, name, count, index, is_small, why);

    if (rc)
        return rc;
    fd = shm_open(name, O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot open the shared memory %s", name);
        goto fail;
    }
    if ((size_t)st.st_size != s->size || st.st_uid != geteuid()) {
        rc = fault_set(why, ML_ERR_SYSTEM, "the shared memory %s is not this job's", name);
        goto fail;
    }
    rc = shm_segment_take_part(s, fd, why);
    if (rc)
        goto fail;
    head = (const struct shm_head *)s->memory;
    if (head->magic != SEGMENT_MAGIC || head->count != (uint32_t)count ||
        head->ring_size != s->ring_size) {
        rc = fault_set(why, ML_ERR_SYSTEM, "the shared memory %s is not this job's", name);
        goto fail;
    }
    close(fd);
    *out = s;
    return 0;
fail:
    if (fd >= 0)
        close(fd);
    shm_segment_close(s);
    return rc;
}

void shm_segment_unlink(struct shm_segment *s)
{
    if (!s || !s->is_named)
        return;
    shm_unlink(s->name);
    s->is_named = false;
}

void shm_segment_close(struct shm_segment *s)
{
    if (!s)
        return;
    shm_segment_unlink(s);
    if (s->memory)
        munmap(s->memory, s->size);
    free(s);
}

bool shm_segment_is_crowded(struct shm_segment *s, int index)
{
    const cpu_set_t *mine = &shm_segment_slot(s, index)->processors;
    cpu_set_t all = *mine, both;
    int members = 0;

    for (int i = 0; i < s->count; i++) {
        const cpu_set_t *theirs = &shm_segment_slot(s, i)->processors;

        CPU_AND(&both, mine, theirs);
        if (CPU_COUNT(&both) == 0)
            continue;
        members++;
        CPU_OR(&all, &all, theirs);
    }
    return members > CPU_COUNT(&all);
}

struct sleeper_slot *shm_segment_slot(struct shm_segment *s, int index)
{
    return (struct sleeper_slot *)(s->memory + sizeof(struct shm_head)) + index;
}

int shm_segment_make_ring(struct shm_ring **out, struct shm_segment *s, int to, struct fault *why)
{
    _Atomic unsigned char *mark = shm_segment_mark(s, s->index, to);
    struct shm_ring *ring = shm_segment_ring(s, s->index, to);
    size_t size = shm_segment_ring_stride(s->ring_size);

    if (!atomic_load_explicit(mark, memory_order_relaxed) && !shm_pages_take(ring, size))
        return fault_set(why, ML_ERR_SYSTEM,
                         "/dev/shm has no room for the %zu KiB of messages to one more rank "
                         "(enlarge it, or use --backend tcp --local net; with --eager all of it is "
                         "taken at the start)",
                         size / 1024);
    atomic_store(mark, 1);
    *out = ring;
    return 0;
}

struct shm_ring *shm_segment_find_ring(struct shm_segment *s, int from)
{
    return atomic_load(shm_segment_mark(s, from, s->index)) ? shm_segment_ring(s, from, s->index)
                                                            : NULL;
}

size_t shm_segment_ring_size(const struct shm_segment *s)
{
    return s->ring_size;
}

int shm_segment_coll(struct shm_coll **out, struct shm_segment *s, struct group *g,
                     struct fault *why)
{
    struct shm_coll *b = calloc(1, sizeof(*b));

    if (!b)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    b->group = g;
    b->cells = shm_segment_part(s, 0);
    b->lines = shm_segment_part(s, 0) + shm_segment_lines_offset(s);
    b->stride = s->part_size;
    b->cell_size = s->cell_size;
    *out = b;
    return 0;
}
