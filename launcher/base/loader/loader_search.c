/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/loader_search.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static const char cache_path[] = "/etc/ld.so.cache";

void loader_search_open(struct loader_search *s, const char *library_path, const char *cwd)
{
    *s = (struct loader_search){.library_path = library_path, .cwd = cwd};
}

/* Reads what a search needs. Many programs need no library but the parts of glibc, and then nothing
 * is looked for. */
static void search_prepare(struct loader_search *s)
{
    struct elf_file self;
    struct utsname system;

    s->is_ready = true;
    uname(&system);
    snprintf(s->usual, sizeof(s->usual), "%s-linux-gnu", system.machine);
    if (elf_file_open(&self, "/proc/self/exe")) {
        s->machine = self.machine;
        elf_file_close(&self);
    }
    loader_cache_open(&s->cache, cache_path);
}

void loader_search_close(struct loader_search *s)
{
    loader_cache_close(&s->cache);
}

static bool library_open(const struct loader_search *s, struct elf_file *out, const char *path)
{
    if (!elf_file_open(out, path))
        return false;
    if (out->machine == s->machine)
        return true;
    elf_file_close(out);
    return false;
}

/* Copies a directory of a list, with $ORIGIN replaced. False: it is too long. */
static bool directory_copy(char out[PATH_MAX], const struct loader_search *s, const char *part,
                           size_t length, const char *origin)
{
    static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
    int n;

    for (size_t i = 0; i < 2 && origin; i++) {
        size_t skip = strlen(names[i]);

        if (length >= skip && strncmp(part, names[i], skip) == 0) {
            n = snprintf(out, PATH_MAX, "%s%.*s", origin, (int)(length - skip), part + skip);
            return n < PATH_MAX;
        }
    }
    n = snprintf(out, PATH_MAX, "%s%s%.*s", length && part[0] == '/' ? "" : s->cwd,
                 length && part[0] == '/' ? "" : "/", (int)length, part);
    return n < PATH_MAX;
}

/* Looks into all directories of a list. `origin`: for $ORIGIN, or NULL. An empty directory is the
 * working directory. */
static bool list_find(const struct loader_search *s, const char *list, const char *origin,
                      const char *name, struct elf_file *out, char path[PATH_MAX])
{
    for (const char *part = list; *list && part;) {
        size_t length = strcspn(part, ":;");
        char directory[PATH_MAX];

        if (directory_copy(directory, s, part, length, origin) &&
            snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX &&
            library_open(s, out, path))
            return true;
        part = part[length] ? part + length + 1 : NULL;
    }
    return false;
}

/* DT_RPATH holds for what an object needs and for all that this needs in turn; but an object's
 * DT_RUNPATH makes the loader ignore all DT_RPATH in the search for what that object needs. */
static bool inherited_find(const struct loader_search *s, const struct loader_object *by,
                           const char *name, struct elf_file *out, char path[PATH_MAX])
{
    if (by->file->run_path[0] && !by->file->is_inherited)
        return false;
    for (; by; by = by->loader) {
        if (by->file->is_inherited && list_find(s, by->file->run_path, by->origin, name, out, path))
            return true;
    }
    return false;
}

static bool cache_find(const struct loader_search *s, const char *name, struct elf_file *out,
                       char path[PATH_MAX])
{
    uint32_t at = 0;

    for (const char *found; (found = loader_cache_next(&s->cache, name, &at));)
        if (snprintf(path, PATH_MAX, "%s", found) < PATH_MAX && library_open(s, out, path))
            return true;
    return false;
}

bool loader_search_find(struct loader_search *s, const struct loader_object *by, const char *name,
                        struct elf_file *out, char path[PATH_MAX])
{
    char usual[4 * sizeof(s->usual)];

    if (!s->is_ready)
        search_prepare(s);
    if (strchr(name, '/'))
        return directory_copy(path, s, name, strlen(name), by->origin) &&
               library_open(s, out, path);
    snprintf(usual, sizeof(usual), "/lib/%s:/usr/lib/%s:/lib64:/usr/lib64:/lib:/usr/lib", s->usual,
             s->usual);
    return inherited_find(s, by, name, out, path) ||
           list_find(s, s->library_path, NULL, name, out, path) ||
           (!by->file->is_inherited &&
            list_find(s, by->file->run_path, by->origin, name, out, path)) ||
           cache_find(s, name, out, path) || list_find(s, usual, NULL, name, out, path);
}
