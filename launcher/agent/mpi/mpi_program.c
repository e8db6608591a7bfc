/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/mpi_program.h"

#include "launcher/loader/elf_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LIBRARIES_MOST = 256, NAME_MOST = 64 };

static const struct mpi_library {
    const char *name;
    enum mpi_kind kind;
} known[] = {
    {"libmpich.so.12", MPI_KIND_PMI1}, /* MPICH, as Debian names it */
    {"libmpi.so.12", MPI_KIND_PMI1},   /* the ABI of MPICH, Intel MPI and others */
    {"libmpi.so.40", MPI_KIND_PMIX},   /* Open MPI 3 to 5 */
    {"libopen-rte.so.40", MPI_KIND_PMIX}, {"libpmix.so.2", MPI_KIND_PMIX},
    {"libmpi.so.20", MPI_KIND_OTHER}, /* Open MPI 2: its PMIx is too old */
};

/* The libraries that have been met, in the order in which they are looked at. */
struct library_search {
    char names[LIBRARIES_MOST][NAME_MOST];
    int count;
    const char *library_path;
    char machine[80]; /* "x86_64-linux-gnu": Debian's directories */
};

static enum mpi_kind kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    }
    return MPI_KIND_NONE;
}

/* Remembers a library, once. Those of the C library need no others, and are met most often. */
static void search_add(struct library_search *s, const char *name)
{
    if (s->count == LIBRARIES_MOST || strlen(name) >= NAME_MOST || !*name || strchr(name, '/') ||
        strncmp(name, "libc.so.", 8) == 0 || strncmp(name, "ld-linux", 8) == 0)
        return;
    for (int i = 0; i < s->count; i++) {
        if (strcmp(s->names[i], name) == 0)
            return;
    }
    snprintf(s->names[s->count++], NAME_MOST, "%s", name);
}

/* Looks at a file's needed libraries. An MPI library decides at once. */
static enum mpi_kind file_scan(struct library_search *s, const struct elf_file *f, char library[64])
{
    for (int i = 0; i < f->count; i++) {
        enum mpi_kind kind = kind_of(f->needed[i]);

        if (kind != MPI_KIND_NONE) {
            snprintf(library, 64, "%s", f->needed[i]);
            return kind;
        }
        search_add(s, f->needed[i]);
    }
    return MPI_KIND_NONE;
}

/* "DIR/name" for the part of a list that begins at *at; "$ORIGIN" is `origin`. False: no more. */
static bool list_next(const char **at, char out[PATH_MAX], const char *origin, const char *name)
{
    size_t length;
    const char *part = *at;

    if (!part || !*part)
        return false;
    length = strcspn(part, ":");
    *at = part[length] ? part + length + 1 : part + length;
    if (length >= 7 && strncmp(part, "$ORIGIN", 7) == 0)
        snprintf(out, PATH_MAX, "%s%.*s/%s", origin, (int)length - 7, part + 7, name);
    else if (length >= 9 && strncmp(part, "${ORIGIN}", 9) == 0)
        snprintf(out, PATH_MAX, "%s%.*s/%s", origin, (int)length - 9, part + 9, name);
    else
        snprintf(out, PATH_MAX, "%.*s/%s", (int)length, part, name);
    return true;
}

/* Opens a library where the loader would look for it. Its cache (ld.so.cache) is not read, so the
 * directories of /etc/ld.so.conf.d are missed, but for the usual ones. */
static bool library_open(const struct library_search *s, struct elf_file *f, const char *name,
                         const char *run_path, const char *origin)
{
    static const char *const usual[] = {"/usr/lib/%s/%s", "/lib/%s/%s"};
    static const char common[] = "/usr/lib64:/lib64:/usr/lib:/lib:/usr/local/lib";
    const char *lists[] = {run_path, s->library_path, common};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        snprintf(path, sizeof(path), usual[i], s->machine, name);
        if (access(path, R_OK) == 0 && elf_file_open(f, path))
            return true;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (const char *at = lists[i]; list_next(&at, path, origin, name);) {
            if (access(path, R_OK) == 0 && elf_file_open(f, path))
                return true;
        }
    }
    return false;
}

static enum mpi_kind libraries_scan(struct library_search *s, const char *run_path,
                                    const char *origin, char library[64])
{
    enum mpi_kind kind = MPI_KIND_NONE;

    for (int i = 0; i < s->count && kind == MPI_KIND_NONE; i++) {
        struct elf_file f;

        if (library_open(s, &f, s->names[i], run_path, origin)) {
            kind = file_scan(s, &f, library);
            elf_file_close(&f);
        }
    }
    return kind;
}

bool mpi_program_path(char out[PATH_MAX], const char *program, const char *path, const char *cwd)
{
    if (strchr(program, '/')) {
        snprintf(out, PATH_MAX, "%s%s%s", program[0] == '/' ? "" : cwd,
                 program[0] == '/' ? "" : "/", program);
        return true;
    }
    while (list_next(&path, out, "", program)) {
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

enum mpi_kind mpi_program_of_file(const char *file, const char *library_path, char library[64])
{
    enum mpi_kind kind = MPI_KIND_NONE;
    struct library_search *s = calloc(1, sizeof(*s));
    struct utsname system;
    char origin[PATH_MAX];
    struct elf_file f;

    library[0] = '\0';
    if (s && elf_file_open(&f, file)) {
        uname(&system);
        snprintf(s->machine, sizeof(s->machine), "%s-linux-gnu", system.machine);
        s->library_path = library_path;
        snprintf(origin, sizeof(origin), "%s", file);
        *strrchr(origin, '/') = '\0';
        kind = file_scan(s, &f, library);
        if (kind == MPI_KIND_NONE)
            kind = libraries_scan(s, f.run_path, origin, library);
        elf_file_close(&f);
    }
    free(s);
    return kind;
}
