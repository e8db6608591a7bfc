/* SPDX-License-Identifier: MIT */
#include "launcher/stage/staged_list.h"

#include "common/text/utf8.h"
#include "launcher/process/program_path.h"
#include "launcher/text/string_list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Such a script need not be executable, nor in PATH: python3 runs it (spawn.c). */
static bool is_python_script(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '-' && length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static int path_find(char **out, const char *name, const char *cwd, struct fault *why)
{
    char *path = NULL;
    int rc;

    if (!strchr(name, '/')) {
        rc = program_path_find(&path, name, why);
        if (!rc || !is_python_script(name)) {
            *out = path;
            return rc;
        }
    }
    rc = cwd && name[0] != '/' ? string_format(&path, why, "%s/%s", cwd, name)
                               : string_copy(&path, name, why);
    *out = path;
    return rc;
}

static int list_add(struct staged_list *l, const char *path, int *index, struct fault *why)
{
    struct staged_file *more;
    int rc;

    for (*index = 0; *index < l->count; ++*index)
        if (strcmp(l->files[*index].path, path) == 0)
            return 0;
    more = realloc(l->files, ((size_t)l->count + 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->files = more;
    rc = staged_file_open(&l->files[l->count], path, l->is_hashed, why);
    if (!rc)
        l->count++;
    return rc;
}

int staged_list_add_program(struct staged_list *l, const char *name, const char *cwd, int *index,
                            struct fault *why)
{
    char *path = NULL;
    int rc = path_find(&path, name, cwd, why);

    if (rc)
        return fault_wrap(why, "--stage");
    rc = list_add(l, path, index, why);
    free(path);
    if (rc)
        return rc;
    if (!l->files[*index].is_executable && !is_python_script(name))
        return fault_set(why, ML_ERR_REFUSED, "--stage: %s is not executable: chmod +x makes it so",
                         l->files[*index].path);
    /* The name is sent as JSON. */
    if (!utf8_is_valid(l->files[*index].name))
        return fault_set(why, ML_ERR_ARGUMENT, "--stage: the name of the program %s must be UTF-8",
                         name);
    return 0;
}

void staged_list_clear(struct staged_list *l)
{
    for (int i = 0; i < l->count; i++)
        staged_file_close(&l->files[i]);
    free(l->files);
    *l = (struct staged_list){0};
}
