/* SPDX-License-Identifier: MIT */
#include "rdma/standin/fabric/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT = 256, DESCRIPTORS = 16 };

int folder_check_empty(const char *path, struct fault *why)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    int rc = 0;

    if (!dir)
        return fault_os(why, ML_ERR_ARGUMENT, errno, "cannot open the folder %s", path);
    while (!rc && (e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "the folder %s is not empty: it has %s; what is allowed is an empty one",
                           path, e->d_name);
    closedir(dir);
    return rc;
}

static void folder_fail(struct folder *f, const char *what, const char *path)
{
    f->rc = fault_os(f->why, ML_ERR_SYSTEM, errno, "cannot %s %s", what, path);
}

void folder_make(struct folder *f, const char *format, ...)
{
    char path[PATH_MAX];
    size_t used = (size_t)snprintf(path, sizeof(path), "%s/", f->path);
    va_list args;

    va_start(args, format);
    if (used < sizeof(path))
        vsnprintf(path + used, sizeof(path) - used, format, args);
    va_end(args);
    for (char *slash = strchr(path + 1, '/'); !f->rc && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            folder_fail(f, "make the folder", path);
        *slash = '/';
    }
    if (!f->rc && mkdir(path, 0755) && errno != EEXIST)
        folder_fail(f, "make the folder", path);
}

void folder_write(struct folder *f, const char *name, const char *format, ...)
{
    char path[PATH_MAX], hidden[PATH_MAX], text[TEXT];
    va_list args;
    size_t size;
    int fd;

    if (f->rc)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text) - 1, format, args);
    va_end(args);
    size = strlen(text);
    text[size++] = '\n';
    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    snprintf(hidden, sizeof(hidden), "%s/.new", f->path);
    fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size || rename(hidden, path))
        folder_fail(f, "write", path);
    if (fd >= 0)
        close(fd);
}

void folder_remove(struct folder *f, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    if (!f->rc && unlink(path) && errno != ENOENT)
        folder_fail(f, "remove", path);
}

static int on_removal(const char *path, const struct stat *of, int type, struct FTW *at)
{
    (void)of;
    (void)type;
    if (at->level > 0)
        remove(path);
    return 0;
}

void folder_empty(const char *path)
{
    nftw(path, on_removal, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
