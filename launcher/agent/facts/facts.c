/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts.h"

#include "common/text/object_field.h"
#include "common/text/text_json.h"
#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/facts/facts_limits_linux.h"
#include "launcher/agent/facts/facts_modules.h"
#include "launcher/agent/facts/facts_rdma_linux.h"
#include "launcher/agent/facts/facts_system_linux.h"
#include "launcher/agent/facts/facts_writing.h"
#include "launcher/agent/host/working_directory.h"
#include "launcher/base/process/file_sum.h"
#include "launcher/base/text/program_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Finds a program as a job does that the question's directories and PATH describe. `path` is then
 * its file, which need not be there. */
static int program_find(char path[PATH_MAX], const char *name, const json_t *question,
                        struct fault *why)
{
    const char *variable = object_field_text(question, "path"), *own = getenv("PATH");
    char *cwd = NULL;
    int rc = working_directory_choose(&cwd, object_field_text(question, "cwd"),
                                      object_field_text(question, "host_cwd"), why);

    if (rc)
        return rc;
    if (!*variable)
        variable = own ? own : "/usr/local/bin:/usr/bin:/bin"; /* as ranks_start.c */
    if (!program_path_of_rank(path, name, variable, cwd)) {
        snprintf(path, PATH_MAX, "%s/%s", cwd, name);
        if (!program_path_is_python(name) || access(path, F_OK) != 0)
            rc = fault_set(why, ML_ERR_REFUSED, "not found in PATH (%s)", variable);
    }
    free(cwd);
    return rc;
}

/* What its file is; otherwise why it cannot be started. */
static int program_read(json_t *one, const char *name, const char *path, struct fault *why)
{
    struct stat st;
    uint32_t sum;

    if (stat(path, &st) || file_sum_read(&sum, path))
        return fault_set(why, ML_ERR_SYSTEM, "%s", strerror(errno));
    if (!program_path_is_python(name) && access(path, X_OK))
        return fault_set(why, ML_ERR_SYSTEM, "%s", strerror(errno));
    json_object_set_new(one, "size", json_integer((json_int_t)st.st_size));
    json_object_set_new(one, "sum", json_integer(sum));
    return 0;
}

static json_t *files_read(const json_t *question)
{
    json_t *list = json_array();
    const json_t *file;
    size_t i;

    json_array_foreach(json_object_get(question, "files"), i, file)
    {
        const char *name = json_is_string(file) ? json_string_value(file) : "";
        char path[PATH_MAX];
        struct fault why;
        json_t *one;

        if (!*name)
            continue;
        one = json_pack("{so}", "path", text_json(name));
        if (program_find(path, name, question, &why) || program_read(one, name, path, &why))
            fact_put_text(one, "error", why.text);
        json_array_append_new(list, one);
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
    if (json_is_true(json_object_get(question, "try")))
        facts_writing_try(json_object_get(out, "limits"));
    json_object_set_new(out, "files", files_read(question));
    json_object_set_new(out, "modules", facts_modules_read(json_object_get(question, "modules")));
    clock_gettime(CLOCK_REALTIME, &now);
    json_object_set_new(out, "time", json_real((double)now.tv_sec + (double)now.tv_nsec / 1e9));
}
