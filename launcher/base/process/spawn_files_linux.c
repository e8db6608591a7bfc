/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/spawn_files_linux.h"

#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#if HAVE_DECL_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP

int spawn_files_close_from(posix_spawn_file_actions_t *files, int first)
{
    return posix_spawn_file_actions_addclosefrom_np(files, first);
}

#else

int spawn_files_close_from(posix_spawn_file_actions_t *files, int first)
{
    DIR *open_files = opendir("/proc/self/fd");
    struct dirent *entry;
    int err = open_files ? 0 : errno;

    while (!err && (entry = readdir(open_files))) {
        int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);

        if (fd >= first && flags >= 0 && !(flags & FD_CLOEXEC))
            err = posix_spawn_file_actions_addclose(files, fd);
    }
    if (open_files)
        closedir(open_files);
    return err;
}

#endif
