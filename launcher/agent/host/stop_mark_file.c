/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/stop_mark_file.h"

#include "common/agent_to_rank.h"
#include "launcher/agent/host/job_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int stop_mark_file_set(const char *dir, struct fault *why)
{
    const uint32_t asked = 1;
    char path[JOB_DIRECTORY_PATH + sizeof(STOP_MARK_FILE)];
    int fd, error = 0;

    snprintf(path, sizeof(path), "%s/" STOP_MARK_FILE, dir);
    fd = open(path, STOP_MARK_FLAGS, 0600);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    if (pwrite(fd, &asked, sizeof(asked), 0) != sizeof(asked))
        error = errno;
    close(fd);
    return error ? fault_os(why, ML_ERR_SYSTEM, error, "cannot write %s", path) : 0;
}
