/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/env_directory.h"

#include "common/text/utf8.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/tree/tree_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int env_directory_find(char **out, const char *named, const char *cwd, struct fault *why)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat st;

    if (!utf8_is_valid(named) || strchr(named, ':'))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--stage-env: the path of a directory that goes into PATH is UTF-8 text "
                         "without a colon");
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", named[0] == '/' ? "" : cwd, named) >=
        sizeof(path))
        return fault_set(why, ML_ERR_ARGUMENT, "--stage-env: %s is too long", named);
    if (stat(path, &st) || !realpath(path, real))
        return fault_os(why, ML_ERR_ARGUMENT, errno, "--stage-env: cannot use %s", named);
    if (!S_ISDIR(st.st_mode))
        return fault_set(why, ML_ERR_ARGUMENT, "--stage-env: %s is not a directory", named);
    if (strcmp(real, "/") == 0)
        return fault_set(why, ML_ERR_ARGUMENT, "--stage-env: / cannot be copied as a whole");
    if (tree_path_tidy(path))
        snprintf(path, sizeof(path), "%s", real);
    return string_copy(out, path, why);
}
