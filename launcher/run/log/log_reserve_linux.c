/* SPDX-License-Identifier: MIT */
#include "launcher/run/log/log_reserve_linux.h"

#include <errno.h>
#include <fcntl.h>

static const off_t at = 1 << 30, size = 4096; /* no part of a log becomes so long */

int log_reserve_take(int fd)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, at, size) == 0)
        return 0;
    return errno == ENOSPC || errno == EDQUOT ? errno : 0;
}

void log_reserve_give_back(int fd)
{
    (void)fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, at, size);
}
