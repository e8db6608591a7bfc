/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_path.h"

#include <string.h>

bool tree_path_tidy(char *path)
{
    bool has_parent = false;
    char *to = path;
    const char *from = path;

    while (*from) {
        size_t size;

        from += strspn(from, "/");
        size = strcspn(from, "/");
        has_parent |= size == 2 && from[0] == '.' && from[1] == '.';
        if (size > 0 && !(size == 1 && *from == '.')) {
            *to++ = '/';
            memmove(to, from, size);
            to += size;
        }
        from += size;
    }
    *to = '\0';
    return has_parent;
}
