/* SPDX-License-Identifier: MIT */
/* fuzz_loader_cache.c: any file as /etc/ld.so.cache. */
#include "launcher/base/loader/loader_cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"liba", "libb", ""};
    static int fd = -1;
    struct loader_cache c;
    char path[64];
    size_t sum = 0;

    if (fd < 0)
        fd = memfd_create("cache", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    loader_cache_open(&c, path);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint32_t at = 0;

        for (const char *found; (found = loader_cache_next(&c, names[i], &at));)
            sum += strlen(found) + 1;
    }
    if (sum > 0 && c.count == 0)
        abort();
    loader_cache_close(&c);
    return 0;
}
