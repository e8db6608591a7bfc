/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/hostfile.h"
#include "launcher/base/text/text_file.h"

#include <stdlib.h>
#include <string.h>

static bool is_json(const char *text)
{
    text += strspn(text, " \t\r\n\v\f");
    return *text == '[' || *text == '{';
}

int hostfile_parse(struct host_list **out, const char *path, const char *text, size_t size,
                   struct fault *why)
{
    return is_json(text) ? hostfile_json_parse(out, path, text, size, why)
                         : hostfile_text_parse(out, path, text, size, why);
}

int hostfile_read(struct host_list **out, const char *path, struct fault *why)
{
    char *text = NULL;
    size_t size = 0;
    int rc = text_file_read(path, &text, &size, why);

    if (rc)
        return fault_wrap(why, "hostfile");
    rc = hostfile_parse(out, path, text, size, why);
    free(text);
    return rc ? fault_wrap(why, "hostfile") : 0;
}
