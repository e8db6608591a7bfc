/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/host_set.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name becomes a part of a shell's line and of a path on the host. */
static int is_name(const struct dirent *entry)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const char *name = entry->d_name;

    return name[0] != '.' && strchr(name, '-') && name[strspn(name, plain)] == '\0';
}

int host_set_list(struct host_set out[HOST_SETS_MOST], const char *directory)
{
    struct dirent **found = NULL;
    int count = scandir(directory, &found, is_name, alphasort), used = 0;

    for (int i = 0; i < count; i++) {
        struct host_set *s = &out[used];

        if (used < HOST_SETS_MOST &&
            snprintf(s->name, sizeof(s->name), "%s", found[i]->d_name) < HOST_SET_NAME &&
            snprintf(s->directory, sizeof(s->directory), "%s/%s", directory, s->name) < PATH_MAX)
            used++;
        free(found[i]);
    }
    free(found);
    return used;
}

bool host_set_fits(const char *name, const char *machine, const char *libc)
{
    size_t length = strlen(machine);
    const char *kind = name + length + 1;

    if (strncmp(name, machine, length) != 0 || name[length] != '-')
        return false;
    if (strncmp(libc, "musl ", 5) == 0)
        return strcmp(kind, "musl") == 0;
    return strncmp(kind, "gnu", 3) == 0 && strncmp(libc, "glibc ", 6) == 0 &&
           strverscmp(libc + 6, kind + 3) >= 0;
}
