/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/user_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX = 6 /* characters that mkdtemp() chooses */ };

const char *const user_directory_bases[] = {"/tmp", "/dev/shm", NULL};

const char *user_directory_base(void)
{
    return access("/tmp", W_OK) && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

size_t user_directory_length(const char *name)
{
    static const char alphanumeric[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t prefix = strlen("mlaunch-"), length;

    if (strncmp(name, "mlaunch-", prefix) != 0 || !isdigit((unsigned char)name[prefix]))
        return 0;
    length = prefix + strspn(name + prefix, "0123456789");
    if (name[length] == '.' && strspn(name + length + 1, alphanumeric) == SUFFIX)
        length += 1 + SUFFIX;
    return length;
}

int user_directory_each(const char *base, user_directory_found *found, void *arg, struct fault *why)
{
    DIR *dir = opendir(base);
    char path[USER_DIRECTORY_PATH];
    struct dirent *entry;
    int rc = 0;

    if (!dir)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot look into %s", base);
    while (!rc && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        size_t length = user_directory_length(name);

        if (length && !name[length] &&
            snprintf(path, sizeof(path), "%s/%s", base, name) < (int)sizeof(path))
            rc = found(path, arg, why);
    }
    closedir(dir);
    return rc;
}

/* Whether it is a directory that is safe for secrets. */
static bool parent_is_safe(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

/* Makes the user's directory if it is missing. Another user may have taken its name, and only that
 * user or root could remove what has it, so one with a random name is made then. */
int user_directory_make(char path[USER_DIRECTORY_PATH], const char *base, struct fault *why)
{
    if (snprintf(path, USER_DIRECTORY_PATH, "%s/mlaunch-%u", base, (unsigned)geteuid()) >=
        USER_DIRECTORY_PATH - 64)
        return fault_set(why, ML_ERR_SYSTEM, "the path of %.200s is too long", base);
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno == EEXIST) {
        if (parent_is_safe(path))
            return 0;
        snprintf(path, USER_DIRECTORY_PATH, "%s/mlaunch-%u.XXXXXX", base, (unsigned)geteuid());
        if (mkdtemp(path))
            return 0;
    }
    return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", path);
}
