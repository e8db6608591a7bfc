/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/working_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool working_directory_is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, X_OK) == 0;
}

const char *working_directory_home(void)
{
    const char *path = getenv("HOME");

    return path && working_directory_is_there(path) ? path : "/";
}

int working_directory_choose(char **out, const char *cwd, const char *named, struct fault *why)
{
    char *full = NULL;
    int err;

    if (!named[0])
        full = strdup(working_directory_is_there(cwd) ? cwd : working_directory_home());
    else if (named[0] == '/')
        full = strdup(named);
    else if (asprintf(&full, "%s/%s", cwd, named) < 0)
        full = NULL;
    if (!full)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    errno = 0;
    if (named[0] && !working_directory_is_there(full)) {
        err = errno ? errno : ENOTDIR;
        fault_os(why, ML_ERR_SYSTEM, err, "cannot use the working directory %s", full);
        free(full);
        return ML_ERR_SYSTEM;
    }
    *out = full;
    return 0;
}
