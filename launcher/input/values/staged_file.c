/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/staged_file.h"

#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 256 << 10 };

int staged_file_read(const struct staged_file *f, void *bytes, size_t size, uint64_t at,
                     struct fault *why)
{
    char *to = bytes;

    while (size > 0) {
        ssize_t n = pread(f->fd, to, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_os(why, ML_ERR_SYSTEM, errno, "--stage: cannot read %s", f->path);
        if (n == 0)
            return fault_set(why, ML_ERR_SYSTEM,
                             "--stage: %s has become shorter while it was copied", f->path);
        to += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int hash_make(struct staged_file *f, struct fault *why)
{
    uint8_t *block = malloc(BLOCK);
    crypto_generichash_state state;
    int rc = 0;

    if (!block || sodium_init() < 0) {
        free(block);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    crypto_generichash_init(&state, NULL, 0, sizeof(f->hash));
    for (uint64_t at = 0; at < f->size && !rc;) {
        size_t size = f->size - at < BLOCK ? (size_t)(f->size - at) : BLOCK;

        rc = staged_file_read(f, block, size, at, why);
        if (!rc)
            crypto_generichash_update(&state, block, size);
        at += size;
    }
    crypto_generichash_final(&state, f->hash, sizeof(f->hash));
    free(block);
    return rc;
}

/* O_NONBLOCK, because opening a FIFO would wait for its writer. */
static int file_open(struct staged_file *f, struct fault *why)
{
    struct stat st;

    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &st))
        return fault_os(why, ML_ERR_REFUSED, errno, "--stage: cannot read %s", f->path);
    if (!S_ISREG(st.st_mode))
        return fault_set(why, ML_ERR_REFUSED, "--stage: %s is %s", f->path,
                         S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
    f->size = (uint64_t)st.st_size;
    f->is_executable = st.st_mode & 0111;
    return 0;
}

int staged_file_open(struct staged_file *out, const char *path, bool is_hashed, struct fault *why)
{
    struct staged_file f = {.fd = -1, .beside = -1};
    int rc = string_copy(&f.path, path, why);

    if (!rc)
        rc = file_open(&f, why);
    if (!rc && is_hashed)
        rc = hash_make(&f, why);
    if (rc) {
        staged_file_close(&f);
        return rc;
    }
    f.name = strrchr(f.path, '/') ? strrchr(f.path, '/') + 1 : f.path;
    *out = f;
    return 0;
}

void staged_file_close(struct staged_file *f)
{
    if (f->path && f->fd >= 0)
        close(f->fd);
    if (f->elf)
        elf_file_close(f->elf);
    free(f->elf);
    free(f->path);
    *f = (struct staged_file){.fd = -1};
}
