/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/temporary_directory.h"

#include "common/job_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *temporary_directory(const char *wanted)
{
    const char *own = getenv("TMPDIR");
    struct stat st;

    if (*wanted)
        return wanted;
    return own && *own == '/' && strlen(own) <= TMPDIR_MOST && stat(own, &st) == 0 &&
                   S_ISDIR(st.st_mode)
               ? own
               : "/tmp";
}
