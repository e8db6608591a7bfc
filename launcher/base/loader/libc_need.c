/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/libc_need.h"

#include "launcher/base/loader/elf_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void libc_need_raise(char need[LIBC_NEED_TEXT], const char *path)
{
    struct elf_file f;

    if (elf_file_open(&f, path) && strverscmp(f.glibc, need) > 0)
        snprintf(need, LIBC_NEED_TEXT, "%s", f.glibc);
    elf_file_close(&f);
}

bool libc_need_is_met(const char *need, const char *host)
{
    if (!*need)
        return true;
    if (strncmp(host, "musl ", 5) == 0)
        return false;
    return strncmp(host, "glibc ", 6) != 0 || strverscmp(host + 6, need) >= 0;
}

void libc_need_own(char own[LIBC_NEED_TEXT])
{
    char named[LIBC_NEED_TEXT]; /* "glibc 2.31" */
    size_t size = confstr(_CS_GNU_LIBC_VERSION, named, sizeof(named));

    *own = '\0';
    if (size > 0 && size <= sizeof(named))
        snprintf(own, LIBC_NEED_TEXT, "%s", named + strcspn(named, "0123456789"));
}
