/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/loader_cache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_MOST = 64 << 20, OLD_HEADER = 16, OLD_ENTRY = 12 };

static const char new_magic[] = "glibc-ld.so.cache1.1";
static const char old_magic[] = "ld.so-1.7.0";

struct cache_header {
    char magic[sizeof(new_magic) - 1];
    uint32_t count;
    uint32_t unused[6];
};

struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* where their texts are */
    uint32_t os_version;
    uint64_t hardware; /* 0: any processor */
};

static char *file_read(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *bytes = NULL;
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= CACHE_MOST)
        bytes = malloc((size_t)st.st_size + 1);
    if (bytes)
        n = pread(fd, bytes, (size_t)st.st_size, 0);
    close(fd);
    if (n < 0) {
        free(bytes);
        return NULL;
    }
    bytes[n] = '\0'; /* so every text in it ends */
    *size = (size_t)n;
    return bytes;
}

/* ldconfig may write the old format in front of the new one, for programs of the last century. */
static size_t base_find(const struct loader_cache *c)
{
    uint32_t count;
    size_t base;

    if (c->size < OLD_HEADER || memcmp(c->bytes, old_magic, sizeof(old_magic) - 1) != 0)
        return 0;
    memcpy(&count, c->bytes + OLD_HEADER - sizeof(count), sizeof(count));
    base = OLD_HEADER + (size_t)count * OLD_ENTRY;
    return (base + 7) & ~(size_t)7;
}

void loader_cache_open(struct loader_cache *c, const char *path)
{
    struct cache_header h;

    *c = (struct loader_cache){0};
    c->bytes = file_read(path, &c->size);
    if (!c->bytes)
        return;
    c->base = base_find(c);
    if (c->base > c->size || c->size - c->base < sizeof(h))
        return;
    memcpy(&h, c->bytes + c->base, sizeof(h));
    if (memcmp(h.magic, new_magic, sizeof(h.magic)) == 0 &&
        h.count <= (c->size - c->base - sizeof(h)) / sizeof(struct cache_entry))
        c->count = h.count;
}

void loader_cache_close(struct loader_cache *c)
{
    free(c->bytes);
    *c = (struct loader_cache){0};
}

/* "" for one that is outside of the file. */
static const char *text_at(const struct loader_cache *c, uint32_t at)
{
    return at < c->size - c->base ? c->bytes + c->base + at : "";
}

const char *loader_cache_next(const struct loader_cache *c, const char *name, uint32_t *at)
{
    /* The list is gone through twice: *at continues from the first time to the second. */
    for (; *at < 2 * c->count; ++*at) {
        bool is_second = *at >= c->count;
        struct cache_entry e;

        memcpy(&e, c->bytes + c->base + sizeof(struct cache_header) + *at % c->count * sizeof(e),
               sizeof(e));
        if ((e.hardware != 0) == is_second && strcmp(text_at(c, e.name), name) == 0) {
            ++*at;
            return text_at(c, e.path);
        }
    }
    return NULL;
}
