/* SPDX-License-Identifier: MIT */
/* pmi_events.h: what the service of pmi.h reports to the agent. */
#ifndef LAUNCHER_AGENT_MPI_PMI_EVENTS_H
#define LAUNCHER_AGENT_MPI_PMI_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* Called from the loop, or from within pmi_rank_ended. `index` counts this host's ranks. No text is
 * valid after the call. None of them may close the pmi. */
struct pmi_events {
    /* All ranks of this host have entered the barrier `number`, which counts from 1. Joins `pairs`
     * with those of all other hosts, for pmi_exchanged. Not called with one host. */
    void (*on_exchange)(uint32_t number, const char *pairs, size_t size, void *arg);
    /* Asks for a name of MPI_Publish_name, MPI_Unpublish_name (`port` is NULL in the latter two) or
     * MPI_Lookup_name, to be answered by pmi_named. */
    void (*on_name)(int index, const char *what, const char *service, const char *port, void *arg);
    /* A process of the rank needs PMIx instead, to be answered by pmi_pmix; `python`: the path of a
     * Python, of which that is not known; else NULL. NULL if it cannot be had. */
    void (*on_pmix)(int index, const char *python, void *arg);
    /* MPI_Abort. */
    void (*on_abort)(int index, int status, void *arg);
    /* The job cannot go on, because of this rank. `text` continues a sentence about it: "sent …".
     * The rank is not listened to any more. */
    void (*on_fault)(int index, const char *text, void *arg);
    /* A warning about the rank, in the same form. */
    void (*on_note)(int index, const char *text, void *arg);
    void *arg;
};

#endif
