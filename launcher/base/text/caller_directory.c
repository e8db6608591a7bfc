/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/caller_directory.h"

#include "common/log.h"
#include "common/text/utf8.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int caller_directory_find(char **out, struct fault *why)
{
    const char *pwd = getenv("PWD");
    struct stat a, b;
    char *cwd = NULL;
    int rc;

    if (!pwd || *pwd != '/' || stat(pwd, &a) || stat(".", &b) || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        pwd = cwd = getcwd(NULL, 0);
    if (!pwd)
        log_warn("cannot find the path of this directory (%s); without --cwd, ranks start in the "
                 "home directory",
                 strerror(errno));
    if (pwd && !utf8_is_valid(pwd)) {
        log_warn("the name of this directory is not UTF-8; without --cwd, ranks start in the home "
                 "directory");
        pwd = NULL;
    }
    rc = string_copy(out, pwd ? pwd : "", why);
    free(cwd);
    return rc;
}
