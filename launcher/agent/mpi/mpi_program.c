/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/mpi_program.h"

#include "launcher/base/loader/elf_symbols.h"
#include "launcher/base/loader/loader_closure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of libraries, or with a '.' or '_' at their end how they begin. The first of the table that
 * a program needs decides: a client of PMI or PMIx says more than the MPI library that needs it. */
static const struct mpi_library {
    const char *name;
    enum mpi_kind kind;
} known[] = {
    /* the libraries of Slurm and Cray, which ask their own launcher, and not by PMI_FD */
    {"libpmi.so.0", MPI_KIND_OTHER},      {"libpmi2.so.0", MPI_KIND_OTHER},
    {"libpmix.so.2", MPI_KIND_PMIX},      {"libopen-rte.so.40", MPI_KIND_PMIX},
    {"libmpi.so.40", MPI_KIND_PMIX},     /* Open MPI 3 to 5 */
    {"libmpi.so.12", MPI_KIND_PMI1},     /* the ABI of MPICH, Intel MPI, MVAPICH and others */
    {"libmpich.so.1.0", MPI_KIND_OTHER}, /* MPICH 1 */
    {"libmpich.so.", MPI_KIND_PMI1},     /* 12, as Debian names it, and what came before */
    {"libmpi_abi.so.", MPI_KIND_PMI1},   /* MPICH's; that of Open MPI needs libpmix */
    {"libmpi.so.", MPI_KIND_OTHER},      /* Open MPI 1 and 2, Intel MPI 4, Platform MPI */
    {"libmpi_mt.so.", MPI_KIND_OTHER},    {"libmpi_cray.so.", MPI_KIND_OTHER},
    {"libmpi_gnu_", MPI_KIND_OTHER}, /* Cray's, as its others */
    {"libmpi_intel.so.", MPI_KIND_OTHER}, {"libmpi_ibm.so.", MPI_KIND_OTHER},
    {"liblam.so.", MPI_KIND_OTHER},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* The place in the table; KNOWN: it is not there. */
static size_t place_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t i = 0;

    for (name = slash ? slash + 1 : name; i < KNOWN; i++) {
        size_t length = strlen(known[i].name);
        char last = known[i].name[length - 1];

        if (last == '.' || last == '_' ? strncmp(name, known[i].name, length) == 0
                                       : strcmp(name, known[i].name) == 0)
            break;
    }
    return i;
}

/* As mpi_program_of_file, of a file that is open. */
static enum mpi_kind closure_find(const struct loader_closure_config *config, char library[64])
{
    struct loader_closure *closure = NULL;
    const struct loader_library *l;
    size_t best = KNOWN;
    struct fault why;

    if (loader_closure_create(&closure, config, &why))
        return MPI_KIND_NONE;
    for (int i = 0; (l = loader_closure_get(closure, i)); i++) {
        size_t place = place_of(l->name);

        if (place >= best)
            continue;
        best = place;
        snprintf(library, 64, "%s", l->name);
    }
    loader_closure_destroy(closure);
    return best < KNOWN ? known[best].kind : MPI_KIND_NONE;
}

enum mpi_kind mpi_program_of_file(const char *file, const char *library_path, const char *cwd,
                                  char library[64])
{
    struct elf_file f;
    struct loader_closure_config config = {.program = &f, .library_path = library_path, .cwd = cwd};
    enum mpi_kind kind;
    char *path;

    library[0] = '\0';
    if (!elf_file_open(&f, file))
        return MPI_KIND_NONE;
    path = realpath(file, NULL);
    if (path)
        *strrchr(path, '/') = '\0';
    config.origin = path ? path : "";
    kind = closure_find(&config, library);
    free(path);
    elf_file_close(&f);
    return kind;
}

/* Not MPI_Init, which the stubs of programs that can also do without MPI define as well. */
enum mpi_kind mpi_program_of_symbols(const char *file)
{
    static const char *const inner[] = {"MPID_Init", "ompi_mpi_init"};
    static const enum mpi_kind kinds[] = {MPI_KIND_PMI1, MPI_KIND_PMIX};
    int found = elf_symbols_find(file, inner, 2);

    return found >= 0 ? kinds[found] : MPI_KIND_NONE;
}
