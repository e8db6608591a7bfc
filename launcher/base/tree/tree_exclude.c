/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_exclude.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool pattern_fits(const char *pattern, const char *below, bool is_directory)
{
    char text[PATH_MAX];
    size_t size = strlen(pattern);
    const char *name = strrchr(below, '/') ? strrchr(below, '/') + 1 : below;

    if (size == 0 || size >= sizeof(text))
        return false;
    memcpy(text, pattern, size + 1);
    if (text[size - 1] == '/') {
        if (!is_directory)
            return false;
        text[size - 1] = '\0';
    }
    if (!strchr(text, '/'))
        return fnmatch(text, name, 0) == 0;
    return fnmatch(text[0] == '/' ? text + 1 : text, below, FNM_PATHNAME) == 0;
}

bool tree_exclude_has(char *const *patterns, const char *path, bool is_directory)
{
    const char *below = strchr(path, '/');

    for (; below && patterns && *patterns; patterns++)
        if (pattern_fits(*patterns, below + 1, is_directory))
            return true;
    return false;
}
