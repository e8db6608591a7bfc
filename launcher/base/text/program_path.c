/* SPDX-License-Identifier: MIT */
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"

#include <stdbool.h>
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
