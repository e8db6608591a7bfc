/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/user_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SUFFIX = 6, /* characters that mkdtemp() chooses */
    NAMES_MOST = 16384,
};

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

int user_directory_each_own(const char *base, user_directory_found *found, void *arg,
                            struct fault *why)
{
    char path[USER_DIRECTORY_PATH];
    int prefix = snprintf(path, sizeof(path), "%s/mlaunch-%u", base, (unsigned)geteuid()), rc = 0;
    const char *name = path + strlen(base) + 1;
    size_t length = prefix - (size_t)(name - path);
    struct dirent *entry;
    DIR *dir;

    if (prefix + 1 + SUFFIX >= USER_DIRECTORY_PATH)
        return 0;
    if (parent_is_safe(path))
        return found(path, arg, why);
    dir = opendir(base);
    for (int i = 0; dir && !rc && i < NAMES_MOST && (entry = readdir(dir)); i++) {
        if (strncmp(entry->d_name, name, length) != 0 || entry->d_name[length] != '.' ||
            strlen(entry->d_name) != user_directory_length(entry->d_name))
            continue;
        snprintf(path + prefix, sizeof(path) - (size_t)prefix, "%s", entry->d_name + length);
        if (parent_is_safe(path))
            rc = found(path, arg, why);
        path[prefix] = '\0';
    }
    if (dir)
        closedir(dir);
    return rc;
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

void user_directory_leave(const char *path, const char *name)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
        if (name)
            unlinkat(fd, name, 0);
        rmdir(path);
    }
    close(fd);
}
