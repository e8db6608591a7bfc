/* SPDX-License-Identifier: MIT */
#include "rdma/standin/host/host_view_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE = 32 + NAME_MAX };

int host_view_begin(struct fault *why)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return 0;
    return fault_os(
        why, ML_ERR_SYSTEM, errno,
        "cannot keep mounts to this process: run standin-host by unshare -m as root, or "
        "by unshare -Urm");
}

/* Makes what a mount needs to be at. */
static int place_make(const char *path, bool is_folder, struct fault *why)
{
    int rc = is_folder ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0);

    if (rc && errno != EEXIST)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", path);
    return 0;
}

/* Folders come with all that is mounted in them, without which a user's namespace may not have
 * them. */
static int bind_at(const char *source, const char *name, const char *at, bool is_folder,
                   struct fault *why)
{
    int rc = place_make(at, is_folder, why);

    if (!rc && mount(source, at, NULL, MS_BIND | (is_folder ? MS_REC : 0), NULL))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot show %s at %s", name, at);
    return rc;
}

int host_view_show(int from, const char *name, const char *at, bool is_folder, struct fault *why)
{
    char source[SOURCE];

    snprintf(source, sizeof(source), "/proc/self/fd/%d", from);
    return bind_at(source, name, at, is_folder, why);
}

/* One entry of the covered folder, which is open as `from`. One that is gone by now is left out. */
static int entry_show(int from, const char *name, const char *at, struct fault *why)
{
    char source[SOURCE], target[PATH_MAX];
    struct stat of;
    ssize_t size;

    if (fstatat(from, name, &of, AT_SYMLINK_NOFOLLOW))
        return 0;
    if (!S_ISLNK(of.st_mode)) {
        snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
        return bind_at(source, at, at, S_ISDIR(of.st_mode), why);
    }
    size = readlinkat(from, name, target, sizeof(target) - 1);
    if (size < 0)
        return 0;
    target[size] = '\0';
    if (symlink(target, at))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", at);
    return 0;
}

int host_view_cover(const char *folder, bool (*hides)(const char *name), struct fault *why)
{
    /* Opened before it is covered, it leads to the old entries. */
    DIR *old = opendir(folder);
    char at[PATH_MAX];
    struct dirent *e;
    int rc = 0;

    if (!old)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s", folder);
    if (mount("standin", folder, "tmpfs", MS_NOSUID, "mode=0755"))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot cover %s", folder);
    while (!rc && (e = readdir(old))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || hides(e->d_name))
            continue;
        snprintf(at, sizeof(at), "%s/%s", folder, e->d_name);
        rc = entry_show(dirfd(old), e->d_name, at, why);
    }
    closedir(old);
    return rc;
}
