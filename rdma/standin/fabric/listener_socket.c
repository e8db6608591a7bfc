/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/listener_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int listener_socket_open(const char *folder, const char *name, int type, mode_t mode,
                         struct fault *why)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 ? -1 : socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd;

    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s", dir, name);
    /* Nobody can connect before the mode is right. */
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || fchmodat(dir, name, mode, 0) ||
        listen(fd, SOMAXCONN)) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot listen at %s/%s", folder, name);
        if (fd >= 0)
            close(fd);
    }
    if (dir >= 0)
        close(dir);
    return rc;
}
