/* SPDX-License-Identifier: MIT */
#include "launcher/commands/draw/topology_drawing.h"

#include "launcher/base/text/result_file.h"

#include <string.h>
#include <strings.h>

static const char option[] = "--draw";

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path);

    return length > strlen(end) && strcasecmp(path + length - strlen(end), end) == 0;
}

int topology_drawing_check(const char *path, struct fault *why)
{
    if (!ends_in(path, ".svg") && !ends_in(path, ".dot"))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s: '%.200s' is not a file's name that ends in .svg or .dot, the forms "
                         "of a drawing",
                         option, path);
    return result_file_check(option, path, why);
}

int topology_drawing_write(const struct topology_picture *p, const char *path, struct fault *why)
{
    struct result_file f;
    int rc = topology_drawing_check(path, why);

    if (!rc)
        rc = result_file_open(&f, option, path, why);
    if (rc)
        return rc;
    (ends_in(path, ".dot") ? topology_dot_draw : topology_svg_draw)(p, f.file);
    return result_file_close(&f, why);
}
