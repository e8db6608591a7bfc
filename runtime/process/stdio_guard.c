/* SPDX-License-Identifier: MIT */
#include "runtime/process/stdio_guard.h"

#include <fcntl.h>
#include <unistd.h>

void stdio_guard_begin(int held[STDIO_GUARD])
{
    for (int i = 0; i < STDIO_GUARD; i++) {
        held[i] = -1;
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        held[i] = open("/", O_PATH | O_CLOEXEC); /* the lowest free one, which is i */
    }
}

void stdio_guard_end(const int held[STDIO_GUARD])
{
    for (int i = 0; i < STDIO_GUARD; i++)
        if (held[i] >= 0)
            close(held[i]);
}
