/* SPDX-License-Identifier: MIT */
/*
 * loader_search.h: where the dynamic loader of this machine finds a library, as ld.so(8) says:
 * DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache, the usual directories. Left out are the
 * directories for single kinds of processors (glibc-hwcaps), and $LIB and $PLATFORM.
 */
#ifndef LAUNCHER_BASE_LOADER_LOADER_SEARCH_H
#define LAUNCHER_BASE_LOADER_LOADER_SEARCH_H

#include "launcher/base/loader/elf_file.h"
#include "launcher/base/loader/loader_cache.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct loader_search {
    const char *library_path; /* LD_LIBRARY_PATH, or "" */
    const char *cwd;          /* where relative directories begin */
    bool is_ready;            /* what follows is filled in, at the first search */
    uint16_t machine;         /* this program's: others are passed over */
    char usual[96];           /* Debian's name for this kind of machine, "x86_64-linux-gnu" */
    struct loader_cache cache;
};

/* A program or library that needs others. */
struct loader_object {
    const struct elf_file *file;
    const char *origin;                 /* its directory */
    const struct loader_object *loader; /* what needed it first; NULL: it is the program */
};

/* Both texts must outlive it. */
void loader_search_open(struct loader_search *s, const char *library_path, const char *cwd);
void loader_search_close(struct loader_search *s);

/* Finds the library `name`, which `by` needs: opens it as *out, and stores its path. */
bool loader_search_find(struct loader_search *s, const struct loader_object *by, const char *name,
                        struct elf_file *out, char path[PATH_MAX]);

#endif
