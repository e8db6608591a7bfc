/* SPDX-License-Identifier: MIT */
/* mpi_program.h: finds out which MPI library a program needs, by itself or through its other
 * libraries, without running it. */
#ifndef LAUNCHER_AGENT_MPI_MPI_PROGRAM_H
#define LAUNCHER_AGENT_MPI_MPI_PROGRAM_H

/* MPI_KIND_NONE: none is found, as in scripts, interpreters, and programs linked statically. */
enum mpi_kind { MPI_KIND_NONE, MPI_KIND_PMI1, MPI_KIND_PMIX, MPI_KIND_OTHER };

/* What a program's or library's file, a path with a slash, needs. `library_path` is
 * LD_LIBRARY_PATH, or ""; its relative directories begin in `cwd`. Stores the name of the library
 * that decided (64 bytes), or "".
 * MPI_KIND_PMI1: MPICH, or one with its ABI; MPI_KIND_PMIX: Open MPI, or PMIx itself;
 * MPI_KIND_OTHER: an MPI that cannot be served. */
enum mpi_kind mpi_program_of_file(const char *file, const char *library_path, const char *cwd,
                                  char library[64]);

/* What a program needs whose MPI is linked into it: MPI_KIND_PMI1 or MPI_KIND_PMIX; MPI_KIND_NONE:
 * it has none, or no symbols. Reads all its symbols, 64 MiB at most. */
enum mpi_kind mpi_program_of_symbols(const char *file);

#endif
