/* SPDX-License-Identifier: MIT */
#include "launcher/input/values/staged_list.h"

#include "common/log.h"
#include "common/text/utf8.h"
#include "launcher/base/loader/loader_closure.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int path_find(char **out, const char *name, const char *cwd, struct fault *why)
{
    char *path = NULL;
    int rc;

    if (!strchr(name, '/')) {
        rc = program_path_find(&path, name, why);
        if (!rc || !program_path_is_python(name)) {
            *out = path;
            return rc;
        }
    }
    rc = cwd && name[0] != '/' ? string_format(&path, why, "%s/%s", cwd, name)
                               : string_copy(&path, name, why);
    *out = path;
    return rc;
}

/* Adds the file `path`: a program, or a library of the program `beside`. */
static int list_add(struct staged_list *l, const char *path, int beside, int *index,
                    struct fault *why)
{
    struct staged_file *more;
    int rc;

    for (*index = 0; *index < l->count; ++*index)
        if (l->files[*index].beside == beside && strcmp(l->files[*index].path, path) == 0)
            return 0;
    if (l->count == JOB_COPIES_MOST)
        return fault_set(why, ML_ERR_REFUSED,
                         "--stage: the programs and libraries are more than %d files",
                         JOB_COPIES_MOST);
    more = realloc(l->files, ((size_t)l->count + 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->files = more;
    rc = staged_file_open(&l->files[l->count], path, l->is_hashed, why);
    if (rc)
        return rc;
    l->files[l->count++].beside = beside;
    return 0;
}

int staged_list_add_program(struct staged_list *l, const char *name, const char *cwd, int *index,
                            struct fault *why)
{
    char *path = NULL;
    int rc = path_find(&path, name, cwd, why);

    if (rc)
        return fault_wrap(why, "--stage");
    rc = list_add(l, path, -1, index, why);
    free(path);
    if (rc)
        return rc;
    if (!l->files[*index].is_executable && !program_path_is_python(name))
        return fault_set(why, ML_ERR_REFUSED, "--stage: %s is not executable: chmod +x makes it so",
                         l->files[*index].path);
    /* The name is sent as JSON. */
    if (!utf8_is_valid(l->files[*index].name))
        return fault_set(why, ML_ERR_ARGUMENT, "--stage: the name of the program %s must be UTF-8",
                         name);
    return 0;
}

/* Reads what the file needs; a script needs nothing. */
static int needs_read(struct staged_file *f, struct fault *why)
{
    f->elf = calloc(1, sizeof(*f->elf));
    if (!f->elf)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!elf_file_open(f->elf, f->path)) {
        free(f->elf);
        f->elf = NULL;
    }
    return 0;
}

static int library_add(struct staged_list *l, int program, const struct loader_library *library,
                       struct fault *why)
{
    const char *needed_by = library->needed_by ? library->needed_by : l->files[program].name;
    int index, rc;

    if (!library->path || !utf8_is_valid(library->name)) {
        log_warn("--stage-libs: %s, which %s needs, is not found on this machine, so it is not "
                 "copied: LD_LIBRARY_PATH can name its directory",
                 library->name, needed_by);
        return 0;
    }
    /* The loader takes a library that is named by a path from nowhere else. */
    if (strchr(library->name, '/'))
        return 0;
    rc = list_add(l, library->path, program, &index, why);
    return rc ? rc : needs_read(&l->files[index], why);
}

static int libraries_find(struct loader_closure **out, const struct staged_file *program,
                          const char *library_path, const char *cwd, char **path, struct fault *why)
{
    struct loader_closure_config config = {
        .program = program->elf, .library_path = library_path, .cwd = cwd};

    *path = realpath(program->path, NULL);
    if (!*path)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--stage-libs: cannot find %s", program->path);
    *strrchr(*path, '/') = '\0';
    config.origin = *path;
    return loader_closure_create(out, &config, why);
}

int staged_list_add_libraries(struct staged_list *l, int program, const char *library_path,
                              const char *cwd, struct fault *why)
{
    struct loader_closure *closure = NULL;
    const struct loader_library *library;
    char *origin = NULL;
    int rc;

    if (l->files[program].elf)
        return 0;
    rc = needs_read(&l->files[program], why);
    if (rc || !l->files[program].elf)
        return rc;
    rc = libraries_find(&closure, &l->files[program], library_path, cwd ? cwd : ".", &origin, why);
    for (int i = 0; !rc && (library = loader_closure_get(closure, i)); i++)
        rc = library_add(l, program, library, why);
    loader_closure_destroy(closure);
    free(origin);
    return rc;
}

void staged_list_clear(struct staged_list *l)
{
    for (int i = 0; i < l->count; i++)
        staged_file_close(&l->files[i]);
    free(l->files);
    *l = (struct staged_list){0};
}
