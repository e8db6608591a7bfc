/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/kept_bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Anyone may put a file there, of which the name is what any rank's could be. */
static void file_add(json_t *kept, int shm_fd, const struct dirent *entry, const char *rest,
                     uid_t user)
{
    char rank[16];
    size_t digits = strspn(rest, "0123456789");
    struct stat st;

    if (digits == 0 || digits > 9 || rest[digits] != '.' ||
        fstatat(shm_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
        st.st_uid != user)
        return;
    snprintf(rank, sizeof(rank), "%d", atoi(rest));
    json_object_set_new(kept, rank,
                        json_integer(json_integer_value(json_object_get(kept, rank)) +
                                     (json_int_t)st.st_blocks * 512));
}

json_t *kept_bytes_read(const char *dir, uid_t user)
{
    const char *name = strrchr(dir, '/');
    json_t *kept = json_object();
    DIR *shm = opendir("/dev/shm");
    struct dirent *entry;
    char prefix[NAME_MAX + 1];
    size_t size;

    snprintf(prefix, sizeof(prefix), "mlaunch-%u-%s.keep.", (unsigned)user, name ? name + 1 : dir);
    size = strlen(prefix);
    while (shm && (entry = readdir(shm))) {
        if (strncmp(entry->d_name, prefix, size) == 0)
            file_add(kept, dirfd(shm), entry, entry->d_name + size, user);
    }
    if (shm)
        closedir(shm);
    return kept;
}

json_int_t kept_bytes_of(const json_t *kept, int rank)
{
    char key[16];

    snprintf(key, sizeof(key), "%d", rank);
    return json_integer_value(json_object_get(kept, key));
}

json_int_t kept_bytes_sum(const json_t *kept)
{
    json_int_t sum = 0;
    const char *key;
    json_t *one;

    json_object_foreach((json_t *)kept, key, one) sum += json_integer_value(one);
    return sum;
}
