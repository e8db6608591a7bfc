/* SPDX-License-Identifier: MIT */
/*
 * loader_closure.h: all libraries that a program needs, by itself or through others, in the order
 * in which the dynamic loader loads them. Left out are the parts of glibc: they belong to the
 * loader and the kernel of the machine where they are installed.
 */
#ifndef LAUNCHER_BASE_LOADER_LOADER_CLOSURE_H
#define LAUNCHER_BASE_LOADER_LOADER_CLOSURE_H

#include "common/fault.h"
#include "launcher/base/loader/elf_file.h"

#include <stdbool.h>

struct loader_library {
    const char *name;      /* as it is needed: without a slash, or a path */
    const char *path;      /* where it was found, or NULL */
    const char *needed_by; /* the name of the first library that needs it; NULL: the program */
    const struct elf_file *file; /* NULL: it was neither found nor supplied */
};

struct loader_closure;

struct loader_closure_config {
    const struct elf_file *program;
    const char *origin;       /* the program's directory */
    const char *library_path; /* LD_LIBRARY_PATH, or "" */
    const char *cwd;          /* where relative directories begin */
    /* Describes a library that was not found: as if it lay beside the program. What *out points to
     * must outlive the closure. False: it does not know it. May be NULL. */
    bool (*supply)(struct elf_file *out, const char *name, void *arg);
    void *arg;
};

/* Finds them. What `config` points to must outlive the closure, but for `config` itself. */
int loader_closure_create(struct loader_closure **out, const struct loader_closure_config *config,
                          struct fault *why);
void loader_closure_destroy(struct loader_closure *c); /* takes NULL */

/* Library number `index`, from 0; NULL: there is no more. */
const struct loader_library *loader_closure_get(const struct loader_closure *c, int index);

#endif
