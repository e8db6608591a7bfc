/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/terminal_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

struct terminal_size terminal_size_find(void)
{
    struct terminal_size size = {24, 80};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct winsize w;

        if (ioctl(fd, TIOCGWINSZ, &w))
            continue;
        if (w.ws_row && w.ws_col)
            size = (struct terminal_size){w.ws_row, w.ws_col};
        break;
    }
    return size;
}
