/* SPDX-License-Identifier: MIT */
/*
 * mpi_apart_linux.h: finds MPI programs of ranks that are apart from their job. sudo, su or env -i
 * in front of a program take away the variables by which its MPI finds the job, and the library
 * that mlaunch preloads. MPI_Init then makes a world of one, without a word. Such a process is
 * known by what /proc shows while it lives, in containers, too:
 *
 *   - it descends from a rank that has not come to MPI,
 *   - its environment lacks what every process of a job has, also of mpirun's,
 *   - it has an MPI library mapped, or defines functions of one itself, as its symbols say; a
 *     program of the latter kind is also found if it lacks its own protocol's variables alone,
 *   - and it has opened what MPI_Init opens: an epoll, an event or a device's descriptor, or
 *     sockets besides that of PMI. A program that has not called MPI_Init, like one that only
 *     prints its version, has none.
 */
#ifndef LAUNCHER_AGENT_MPI_MPI_APART_LINUX_H
#define LAUNCHER_AGENT_MPI_MPI_APART_LINUX_H

#include "common/fault.h"

#include <sys/types.h>

struct event_base;
struct mpi_apart;

struct mpi_apart_config {
    struct event_base *base;
    int rank_count; /* on this host */
    /* The rank's process; 0: it is not to be looked at, as it does not run, or has come to MPI. */
    pid_t (*rank_pid)(int index, void *arg);
    /* `text` continues a sentence about the rank, and is not valid after the call. It is called
     * once, and may not close the watch. */
    void (*on_found)(int index, const char *text, void *arg);
    void *arg;
};

/* Begins to look at the ranks: often at first, as many programs end soon, and once a second later;
 * a few ranks at a time, in turn. */
int mpi_apart_open(struct mpi_apart **out, const struct mpi_apart_config *config,
                   struct fault *why);
void mpi_apart_close(struct mpi_apart *m); /* takes NULL */

#endif
