/* SPDX-License-Identifier: MIT */
/* pmi_mapping.h: PMI_process_mapping, by which MPICH learns which ranks share a host. */
#ifndef LAUNCHER_AGENT_MPI_PMI_MAPPING_H
#define LAUNCHER_AGENT_MPI_PMI_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores "(vector,(X,Y,Z),…)": each block says that Z ranks run on host X, the next Z on host
 * X + 1, and so on for Y hosts. MPICH repeats the list until each rank has a host. False: `out` is
 * too small for it; MPICH then compares the hosts' names, which the ranks put.
 */
bool pmi_mapping_format(char *out, size_t size, const int *host_of, int ranks);

#endif
