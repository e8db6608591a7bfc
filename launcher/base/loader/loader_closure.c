/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/loader_closure.h"

#include "launcher/base/loader/loader_search.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARIES_MOST = 1024 };

struct node {
    struct loader_library library;
    struct loader_object object;
    struct elf_file file;
    char *name, *path, *origin; /* owned */
};

struct loader_closure {
    struct loader_closure_config config;
    struct loader_search search;
    struct loader_object program;
    struct node *nodes[LIBRARIES_MOST];
    int count;
};

/* glibc's own libraries, and ours, which the agent preloads. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "libc.so.6",      "libm.so.6",   "libmvec.so.1",         "libpthread.so.0",
        "libdl.so.2",     "librt.so.1",  "libutil.so.1",         "libresolv.so.2",
        "libanl.so.1",    "libnsl.so.1", "libBrokenLocale.so.1", "libthread_db.so.1",
        "libmlaunch.so.0"};
    static const char *const prefixes[] = {"ld-linux", "ld.so.", "ld64.so.", "libnss_"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return !name[0];
}

static bool is_known(const struct loader_closure *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->nodes[i]->name, name) == 0)
            return true;
    return false;
}

static void node_destroy(struct node *n)
{
    if (!n)
        return;
    if (n->path)
        elf_file_close(&n->file);
    free(n->name);
    free(n->path);
    free(n->origin);
    free(n);
}

/* Without a path the library is supplied, and will lie beside the program. */
static bool node_place(struct node *n, const struct loader_closure *c, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    n->library.file = n->object.file = &n->file;
    if (!path) {
        n->object.origin = c->config.origin;
        return true;
    }
    n->library.path = n->path = strdup(path);
    n->object.origin = n->origin =
        slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");
    return n->path && n->origin;
}

static int library_add(struct loader_closure *c, const struct loader_object *by,
                       const char *needed_by, const char *name, struct fault *why)
{
    struct node *n = calloc(1, sizeof(*n));
    char path[PATH_MAX];
    bool is_whole;

    if (n)
        n->name = strdup(name);
    is_whole = n && n->name;
    if (is_whole) {
        n->library = (struct loader_library){.name = n->name, .needed_by = needed_by};
        n->object.loader = by;
        if (loader_search_find(&c->search, by, name, &n->file, path)) {
            is_whole = node_place(n, c, path);
            if (!n->path)
                elf_file_close(&n->file);
        } else if (c->config.supply && c->config.supply(&n->file, name, c->config.arg)) {
            is_whole = node_place(n, c, NULL);
        }
    }
    if (!is_whole) {
        node_destroy(n);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    c->nodes[c->count++] = n;
    return 0;
}

static int needed_add(struct loader_closure *c, const struct loader_object *by,
                      const char *needed_by, struct fault *why)
{
    int rc = 0;

    for (int i = 0; i < by->file->count && !rc && c->count < LIBRARIES_MOST; i++) {
        const char *name = by->file->needed[i];

        if (!is_left_out(name) && !is_known(c, name))
            rc = library_add(c, by, needed_by, name, why);
    }
    return rc;
}

int loader_closure_create(struct loader_closure **out, const struct loader_closure_config *config,
                          struct fault *why)
{
    struct loader_closure *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->config = *config;
    c->program = (struct loader_object){.file = config->program, .origin = config->origin};
    loader_search_open(&c->search, config->library_path, config->cwd);
    rc = needed_add(c, &c->program, NULL, why);
    for (int i = 0; i < c->count && !rc; i++)
        if (c->nodes[i]->library.file)
            rc = needed_add(c, &c->nodes[i]->object, c->nodes[i]->name, why);
    loader_search_close(&c->search);
    if (rc)
        loader_closure_destroy(c);
    else
        *out = c;
    return rc;
}

void loader_closure_destroy(struct loader_closure *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++)
        node_destroy(c->nodes[i]);
    free(c);
}

const struct loader_library *loader_closure_get(const struct loader_closure *c, int index)
{
    return index < c->count ? &c->nodes[index]->library : NULL;
}
