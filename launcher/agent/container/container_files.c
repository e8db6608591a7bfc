/* SPDX-License-Identifier: MIT */
#include "launcher/agent/container/container_files.h"

#include "launcher/base/process/install_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "inside"

enum { PIECE = 1 << 30 };

#define PYTHON_PART(part, file)                                                                    \
    {                                                                                              \
        part, "python/mlaunch/" file, false, true, false                                           \
    }
static const struct part {
    enum install_part part;
    const char *name;
    bool is_optional, is_library, is_bench;
} parts[] = {
    {INSTALL_ENTRY, "mlaunch-entry", false, false, false},
    {INSTALL_SHIM, "libmlaunch.so.0", false, true, false},
    {INSTALL_RUNTIME, "mlaunch-runtime.so", false, true, false},
    {INSTALL_RDMA, "mlaunch-rdma.so", true, true, false},
    INSTALL_PYTHON_ROWS(PYTHON_PART),
    {INSTALL_BENCH, BENCH_PROGRAM, false, false, true},
};

static int file_copy(const char *from, const char *to, struct fault *why)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t n = out < 0 ? -1 : 1;
    int err;

    while (n > 0)
        n = sendfile(out, in, NULL, PIECE);
    err = errno;
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) && n == 0) {
        n = -1;
        err = errno;
    }
    return n == 0 ? 0 : fault_os(why, ML_ERR_SYSTEM, err, "cannot copy %s to %s", from, to);
}

static int folders_make(const char *job_dir, struct fault *why)
{
    static const char *const folders[] = {FOLDER, FOLDER "/python", FOLDER "/python/mlaunch"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", job_dir, folders[i]);
        if (mkdir(path, 0755))
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", path);
    }
    return 0;
}

int container_files_copy(struct container_files *out, const char *job_dir, bool has_shim,
                         bool has_bench, struct fault *why)
{
    char from[PATH_MAX], to[PATH_MAX];
    int rc = folders_make(job_dir, why);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !rc; i++) {
        const struct part *p = &parts[i];
        struct fault missing;

        if ((p->is_library && !has_shim) || (p->is_bench && !has_bench))
            continue;
        rc = install_path_find(from, p->part, p->is_optional ? &missing : why);
        if (rc && p->is_optional) {
            rc = 0;
            continue;
        }
        snprintf(to, sizeof(to), "%s/" FOLDER "/%s", job_dir, p->name);
        if (!rc)
            rc = file_copy(from, to, why);
    }
    if (rc)
        return rc;
    *out = (struct container_files){0};
    snprintf(out->entry, sizeof(out->entry), "%s/" FOLDER "/mlaunch-entry", job_dir);
    if (has_shim) {
        snprintf(out->shim, sizeof(out->shim), "%s/" FOLDER "/libmlaunch.so.0", job_dir);
        snprintf(out->modules, sizeof(out->modules), "%s/" FOLDER "/python", job_dir);
    }
    if (has_bench)
        snprintf(out->bench, sizeof(out->bench), "%s/" FOLDER "/" BENCH_PROGRAM, job_dir);
    return 0;
}
