/* SPDX-License-Identifier: MIT */
/*
 * mpi_command.h: how a command has to be served that may be no MPI program itself but start one:
 * Python with the module mpi4py, or a wrapper such as env, valgrind or sh whose arguments name the
 * program. Nothing is run.
 */
#ifndef LAUNCHER_AGENT_MPI_MPI_COMMAND_H
#define LAUNCHER_AGENT_MPI_MPI_COMMAND_H

#include "launcher/agent/mpi/mpi_program.h"

#include <stdbool.h>

/* What the ranks will have in their environment; "" where it is unset. */
struct mpi_command_place {
    const char *path, *library_path, *python_path, *home; /* PATH, LD_LIBRARY_PATH, … */
    const char *python_version;                           /* PYENV_VERSION */
    const char *cwd;
};

struct mpi_command {
    enum mpi_kind kind;
    char library[64];    /* that decided, or "" */
    bool is_certain;     /* the program itself needs it */
    bool is_by_python;   /* a Python's mpi4py needs it, which its script may do without */
    bool is_interpreter; /* it runs a script */
    bool is_python;      /* Python itself, or a script for it */
};

/* `program` is what is executed: argv[0], or the path of its copy. */
void mpi_command_find(struct mpi_command *out, const char *program, const char *const *argv,
                      const struct mpi_command_place *place);

#endif
