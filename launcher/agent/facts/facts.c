/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts.h"

#include "common/text/text_json.h"
#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/facts/facts_limits_linux.h"
#include "launcher/agent/facts/facts_modules.h"
#include "launcher/agent/facts/facts_rdma_linux.h"
#include "launcher/agent/facts/facts_system_linux.h"
#include "launcher/base/process/file_sum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static json_t *file_read(const char *path)
{
    json_t *one = json_pack("{so}", "path", text_json(path));
    struct stat st;
    uint32_t sum;

    if (stat(path, &st) || file_sum_read(&sum, path)) {
        fact_put_text(one, "error", strerror(errno));
    } else {
        json_object_set_new(one, "size", json_integer((json_int_t)st.st_size));
        json_object_set_new(one, "sum", json_integer(sum));
    }
    return one;
}

static json_t *files_read(const json_t *paths)
{
    json_t *list = json_array();
    const json_t *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        if (json_is_string(path))
            json_array_append_new(list, file_read(json_string_value(path)));
    }
    return list;
}

void facts_gather(const json_t *question, json_t *out)
{
    const char *root = json_string_value(json_object_get(question, "root"));
    struct timespec now;

    root = root ? root : "";
    json_object_set_new(out, "system", facts_system_read(root));
    json_object_set_new(out, "devices", facts_rdma_read(root));
    if (*root)
        return;
    json_object_set_new(out, "limits", facts_limits_read());
    json_object_set_new(out, "files", files_read(json_object_get(question, "files")));
    json_object_set_new(out, "modules", facts_modules_read(json_object_get(question, "modules")));
    clock_gettime(CLOCK_REALTIME, &now);
    json_object_set_new(out, "time", json_real((double)now.tv_sec + (double)now.tv_nsec / 1e9));
}
