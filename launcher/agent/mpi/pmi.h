/* SPDX-License-Identifier: MIT */
/*
 * pmi.h: serves PMI-1 to this host's ranks, so that MPICH programs start. Each rank has a socket,
 * whose end PMI_FD names in its environment. What ranks write is not trusted: a line, a rank's
 * pairs and what is under way for a rank are bounded. Everything runs on the agent's libevent loop,
 * in a process that ignores SIGPIPE.
 *
 *     rank ──put──▶ store ──last local barrier_in──▶ on_exchange ─▶ coordinator
 *     rank ◀─get─── store ◀─────────────────────── pmi_exchanged ◀─ all hosts' pairs
 *     rank ◀─barrier_out─┘
 */
#ifndef LAUNCHER_AGENT_MPI_PMI_H
#define LAUNCHER_AGENT_MPI_PMI_H

#include "common/fault.h"
#include "launcher/agent/mpi/pmi_events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct pmi;

struct pmi_config {
    const char *job; /* without blanks; copied */
    int restart;
    int size, hosts;
    const int *host_of; /* for each rank of the job; used during pmi_open only */
    const int *ranks;   /* the numbers of this host's ranks; copied, like `apps` */
    const int *apps;    /* for each of them, which program of the job it runs */
    int rank_count;     /* ranks of this host */
    bool is_elastic;    /* ranks may die: no MPI program can be one */
};

int pmi_open(struct pmi **out, struct event_base *base, const struct pmi_config *config,
             const struct pmi_events *events, struct fault *why);
void pmi_close(struct pmi *p); /* takes NULL */

/* Makes the rank's socket and stores its end, which the caller closes once the rank has it. */
int pmi_rank_open(struct pmi *p, int index, int *fd, struct fault *why);

/* The rank's first process has ended, or could not be started. `has_succeeded`: with status 0. To
 * be called also for ranks without a socket, for which the others may wait. */
void pmi_rank_ended(struct pmi *p, int index, bool has_succeeded);

/* Whether no process of the rank has come to MPI. */
bool pmi_rank_is_silent(const struct pmi *p, int index);

/* The answer to on_exchange: the pairs of all hosts. Ignored if none is awaited. ML_ERR_REFUSED:
 * they are malformed; ML_ERR_MEMORY. */
int pmi_exchanged(struct pmi *p, uint32_t number, const char *pairs, size_t size,
                  struct fault *why);

/* The answer to on_pmix: NULL-terminated NAME=VALUE; NULL: the program does not need it. Ignored if
 * the rank has not asked. */
void pmi_pmix(struct pmi *p, int index, const char *const *variables);

/* The answer to on_name: whether it was done; `port` is that of a name that was found. Ignored if
 * the rank awaits none. */
void pmi_named(struct pmi *p, int index, bool is_done, const char *port);

#endif
