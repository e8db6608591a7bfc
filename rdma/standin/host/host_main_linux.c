/* SPDX-License-Identifier: MIT */
/*
 * host_main_linux.c: standin-host DIR/HOST LIBRARY -- COMMAND…: runs COMMAND as on a host of a test
 * network (fabric_main.c). In its own mount namespace, which the caller has made, it shows
 *
 *     DIR/HOST/sys/class/infiniband*   in /sys/class
 *     DIR/HOST/dev                     as /dev/infiniband
 *     LIBRARY                          in place of the system's libibverbs.so.1
 *
 * All of these end with the namespace.
 */
#include "common/fault.h"
#include "rdma/standin/host/host_view_linux.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define VERBS   "libibverbs.so.1"
#define CLASSES "/sys/class"
/* Structs that libraries share with libibverbs have the layout of this version, that of rdma-core
 * 44; a release that changes them changes the number. */
#define LAYOUT "IBVERBS_PRIVATE_34"

enum { STATUS_FAILED = 1, STATUS_REFUSED = 2, STATUS_NO_COMMAND = 127, NAMESPACE = 64 };

/* --- what is shown ---------------------------------------------------------------------------- */

/* What is open, before anything is covered: DIR may lie below /dev. */
struct host_files {
    const char *host, *library; /* as they were given */
    int classes, devices, library_fd;
    char verbs[PATH_MAX]; /* the system's library */
};

/* The fabric wrote which mount namespace it is in. There, what is done here would be seen by
 * everybody. */
static int namespace_check(const char *host, struct fault *why)
{
    char path[PATH_MAX], ours[NAMESPACE] = "", theirs[NAMESPACE] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/namespace", host);
    f = fopen(path, "re");
    if (!f)
        return fault_os(why, ML_ERR_ARGUMENT, errno,
                        "%s is not a host of a running standin-fabric: cannot read %s", host, path);
    if (fgets(theirs, sizeof(theirs), f))
        theirs[strcspn(theirs, "\n")] = '\0';
    fclose(f);
    if (readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read /proc/self/ns/mnt");
    if (strcmp(ours, theirs) == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "this process is in the mount namespace of standin-fabric: run "
                         "standin-host by unshare -m as root, or by unshare -Urm");
    return 0;
}

static int part_open(int *out, const char *folder, const char *name, int flags, struct fault *why)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s%s", folder, name);
    *out = open(path, flags | O_CLOEXEC);
    return *out < 0 ? fault_os(why, ML_ERR_ARGUMENT, errno, "cannot open %s", path) : 0;
}

static int verbs_find(char path[PATH_MAX], struct fault *why)
{
    void *library = dlopen(VERBS, RTLD_LAZY);
    struct link_map *map;
    int rc = 0;

    if (!library)
        return fault_set(why, ML_ERR_SYSTEM,
                         "this machine has no " VERBS " to put another one at: %s", dlerror());
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !realpath(map->l_name, path))
        rc = fault_set(why, ML_ERR_SYSTEM, "cannot find the file of " VERBS);
    else if (!dlvsym(library, "ibv_query_gid_type", LAYOUT))
        rc = fault_set(why, ML_ERR_SYSTEM,
                       "%s has no " LAYOUT ", so it is of an rdma-core whose layout the stand-in "
                       "does not have: it takes the place of rdma-core 44's, as Debian 12 has it",
                       path);
    dlclose(library);
    return rc;
}

static int files_open(struct host_files *f, struct fault *why)
{
    int rc = namespace_check(f->host, why);

    if (!rc)
        rc = part_open(&f->classes, f->host, CLASSES, O_RDONLY | O_DIRECTORY, why);
    if (!rc)
        rc = part_open(&f->devices, f->host, "/dev", O_PATH | O_DIRECTORY, why);
    if (!rc)
        rc = part_open(&f->library_fd, f->library, "", O_RDONLY, why);
    return rc ? rc : verbs_find(f->verbs, why);
}

/* --- showing it ------------------------------------------------------------------------------- */

static bool is_real_class(const char *name)
{
    return strncmp(name, "infiniband", strlen("infiniband")) == 0;
}

/* Virtual terminals and loop devices are many, and no test uses them. */
static bool is_real_device(const char *name)
{
    return strcmp(name, "infiniband") == 0 || strcmp(name, "ptmx") == 0 ||
           fnmatch("tty[0-9]*", name, 0) == 0 || fnmatch("vcs*", name, 0) == 0 ||
           fnmatch("loop*", name, 0) == 0;
}

static int classes_show(const struct host_files *f, struct fault *why)
{
    DIR *dir = fdopendir(f->classes);
    int rc = dir ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
    struct dirent *e;
    char at[PATH_MAX];

    while (!rc && (e = readdir(dir))) {
        int fd;

        if (!is_real_class(e->d_name))
            continue;
        fd = openat(f->classes, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s of %s", e->d_name, f->host);
        snprintf(at, sizeof(at), CLASSES "/%s", e->d_name);
        if (!rc)
            rc = host_view_show(fd, f->host, at, true, why);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* The kernel looks for "pts" beside a ptmx, but not beside one that is shown from elsewhere: so it
 * is the one inside pts. A user who may not open that one gets terminals of his own, and where not
 * even that is allowed, none. */
static void terminals_show(void)
{
    if (symlink("pts/ptmx", "/dev/ptmx") || access("/dev/ptmx", R_OK | W_OK) == 0)
        return;
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
          "newinstance,ptmxmode=0666,mode=0620");
}

static int files_show(const struct host_files *f, struct fault *why)
{
    int rc = host_view_begin(why);

    if (!rc)
        rc = host_view_cover(CLASSES, is_real_class, why);
    if (!rc)
        rc = classes_show(f, why);
    if (!rc)
        rc = host_view_cover("/dev", is_real_device, why);
    if (!rc)
        terminals_show();
    if (!rc)
        rc = host_view_show(f->devices, f->host, "/dev/infiniband", true, why);
    if (!rc)
        rc = host_view_show(f->library_fd, f->library, f->verbs, false, why);
    return rc;
}

int main(int argc, char **argv)
{
    struct host_files f = {.classes = -1, .devices = -1, .library_fd = -1};
    struct fault why = {0};
    int rc;

    if (argc < 5 || strcmp(argv[3], "--") != 0) {
        fprintf(stderr, "usage: standin-host DIR/HOST LIBRARY -- COMMAND...\n");
        return STATUS_REFUSED;
    }
    f.host = argv[1];
    f.library = argv[2];
    rc = files_open(&f, &why);
    if (!rc)
        rc = files_show(&f, &why);
    if (rc) {
        fprintf(stderr, "standin-host: %s\n", why.text);
        return rc == ML_ERR_ARGUMENT ? STATUS_REFUSED : STATUS_FAILED;
    }
    execvp(argv[4], argv + 4);
    fprintf(stderr, "standin-host: cannot run %s: %s\n", argv[4], strerror(errno));
    return STATUS_NO_COMMAND;
}
