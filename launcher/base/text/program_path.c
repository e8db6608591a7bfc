/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int program_path_find(char **out, const char *name, struct fault *why)
{
    const char *path = getenv("PATH");
    char shown[TEXT_SHOWN];

    if (strchr(name, '/')) {
        if (is_program(name))
            return string_copy(out, name, why);
        return fault_set(why, ML_ERR_REFUSED, "there is no program %s here",
                         text_show(shown, name));
    }
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        size_t length = strcspn(path, ":");
        char *full = NULL;
        int rc =
            string_format(&full, why, "%.*s%s%s", (int)length, path, length ? "/" : "./", name);

        if (rc)
            return rc;
        if (is_program(full)) {
            *out = full;
            return 0;
        }
        free(full);
        path += length + (path[length] == ':');
    }
    return fault_set(why, ML_ERR_REFUSED, "there is no program %s in PATH here",
                     text_show(shown, name));
}

/* `size` bytes of `part` and then `name`, from `cwd` if the path is relative. */
static void path_join(char out[PATH_MAX], const char *cwd, const char *part, size_t size,
                      const char *name)
{
    bool is_absolute = (size ? *part : *name) == '/';

    snprintf(out, PATH_MAX, "%s%s%.*s%s%s", is_absolute ? "" : cwd, is_absolute ? "" : "/",
             (int)size, part, size ? "/" : "", name);
}

bool program_path_of_rank(char out[PATH_MAX], const char *name, const char *path, const char *cwd)
{
    if (strchr(name, '/')) {
        path_join(out, cwd, "", 0, name);
        return true;
    }
    for (const char *at = path;; at++) {
        size_t size = strcspn(at, ":"); /* 0: the current directory */

        path_join(out, cwd, at, size, name);
        if (is_program(out))
            return true;
        at += size;
        if (!*at)
            return false;
    }
}

bool program_path_is_python(const char *name)
{
    size_t length = strlen(name);

    /* python3 would take a name with a dash for its options. */
    return name[0] != '-' && length > 3 && strcmp(name + length - 3, ".py") == 0;
}
