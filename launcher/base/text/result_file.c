/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/result_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int result_file_check(const char *option, const char *path, struct fault *why)
{
    char copy[PATH_MAX];
    struct stat st;

    if (snprintf(copy, sizeof(copy), "%s.XXXXXX", path) >= (int)sizeof(copy))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: the path is too long", option);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: %.200s is not a plain file", option, path);
    if (access(dirname(copy), W_OK))
        return fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot make a file in %.200s", option,
                        copy);
    return 0;
}

int result_file_open(struct result_file *out, const char *option, const char *path,
                     struct fault *why)
{
    struct result_file f = {.option = option, .path = path};
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (snprintf(f.draft, sizeof(f.draft), "%s.XXXXXX", path) >= (int)sizeof(f.draft))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: the path is too long", option);
    fd = mkstemp(f.draft);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot make %.200s", option, f.draft);
    f.file = fdopen(fd, "w");
    if (!f.file || fchmod(fd, 0666 & ~mask)) {
        fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot write %.200s", option, f.draft);
        if (f.file)
            fclose(f.file);
        else
            close(fd);
        unlink(f.draft);
        return ML_ERR_SYSTEM;
    }
    *out = f;
    return 0;
}

int result_file_close(struct result_file *f, struct fault *why)
{
    int is_bad = ferror(f->file);

    if (fclose(f->file) == 0 && !is_bad && rename(f->draft, f->path) == 0)
        return 0;
    fault_os(why, ML_ERR_SYSTEM, errno, "%s: cannot write %.200s", f->option, f->path);
    unlink(f->draft);
    return ML_ERR_SYSTEM;
}
