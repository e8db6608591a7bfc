/* SPDX-License-Identifier: MIT */
/* fuzz_elf_file.c: any file as a program, whose needed libraries and symbols are read. */
#include "launcher/base/loader/elf_file.h"
#include "launcher/base/loader/elf_symbols.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"main", "MPID_Init"};
    static int fd = -1;
    struct elf_file f;
    char path[64];
    size_t sum = 0;

    if (fd < 0)
        fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (elf_symbols_find(path, names, 2) >= 2)
        abort();
    if (!elf_file_open(&f, path))
        return 0;
    for (int i = 0; i < f.count; i++)
        sum += strlen(f.needed[i]);
    sum += strlen(f.run_path);
    if (f.count > ELF_NEEDED_MOST || (sum > 0 && !f.texts))
        abort();
    elf_file_close(&f);
    return 0;
}
