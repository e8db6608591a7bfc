/* SPDX-License-Identifier: MIT */
/*
 * pmi_state.h: the state that the files of pmi.h share.
 *
 *     SILENT ──init──▶ IN_USE ──finalize──▶ FINALIZED
 *        └───────────────┴── a breach of the protocol, abort ──▶ DEAF: nothing more is read
 *
 * A program that is no MPI program stays SILENT.
 */
#ifndef LAUNCHER_AGENT_MPI_PMI_STATE_H
#define LAUNCHER_AGENT_MPI_PMI_STATE_H

#include "common/fault.h"
#include "launcher/agent/mpi/pmi_events.h"
#include "launcher/agent/mpi/pmi_line.h"

#include <event2/event.h>
#include <stdbool.h>

enum {
    PMI_NAME = 256, /* Hydra's limits, which get_maxes states. Their sum must be even: see there */
    PMI_KEY = 64,
    PMI_VALUE = 1024,
    PMI_VALUE_SENT = 960, /* what fits into a line with the words of an answer to get */
};

enum pmi_state { PMI_SILENT, PMI_IN_USE, PMI_FINALIZED, PMI_DEAF };
enum pmi_wait {
    PMI_WAITS_FOR_NOTHING,
    PMI_WAITS_FOR_BARRIER,
    PMI_WAITS_FOR_NAME,
    PMI_WAITS_FOR_PMIX
};

struct pmi_client {
    struct pmi *pmi;
    int index, rank, app;
    enum pmi_state state;
    enum pmi_wait wait;
    bool has_ended;          /* its first process */
    bool has_pmix;           /* a program of it was given PMIx, which Python may not use */
    bool is_python;          /* what waits for PMIx */
    bool is_in_spawn;        /* within the lines from mcmd=spawn to endcmd */
    const char *name_answer; /* while it waits for a name: the answer's command */
    int spawns, spawns_at;   /* MPI_Comm_spawn_multiple: how many programs, and the number of this
                              * one */
    int fd;                  /* -1: not open */
    struct event *event;
    struct event *closed; /* it has closed the socket: its end should follow at once */
    size_t put_size;      /* bytes of all pairs that it has put */
    size_t filled;        /* bytes in `line` */
    char line[PMI_LINE];
};

struct pmi {
    struct event_base *base;
    struct pmi_events events;
    void (*on_line)(struct pmi_client *c, char *text); /* pmi_command_take */
    struct pmi_store *store;
    char name[PMI_NAME];     /* the store's: MPICH's job id */
    char mapping[PMI_VALUE]; /* PMI_process_mapping; "": it is too long */
    int size, hosts;
    size_t put_limit;  /* bytes of pairs a rank */
    uint32_t barriers; /* how many have begun */
    int waiting;       /* ranks in the barrier that has begun or will */
    bool is_exchanging;
    bool has_failed; /* because of a rank, which has been reported */
    bool is_elastic;
    int client_count;
    struct pmi_client *clients;
};

/* pmi_client.c: a rank's socket. Whole lines go to pmi.on_line. */
int pmi_client_open(struct pmi_client *c, int *fd, struct fault *why);
void pmi_client_close(struct pmi_client *c);
void pmi_client_read_rest(struct pmi_client *c); /* after its end: what it had written */
/* Sends one line, without its newline; one that is too long, or that the socket does not take, is
 * a fault. */
void pmi_client_send(struct pmi_client *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports a fault, the first one only, and stops listening. */
void pmi_client_fail(struct pmi_client *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* pmi_barrier.c */
void pmi_barrier_enter(struct pmi_client *c);
/* The pairs of all hosts have come: the ranks leave, if they wait in that barrier. */
int pmi_barrier_end(struct pmi *p, uint32_t number, const char *pairs, size_t size,
                    struct fault *why);
/* A rank that has ended will never enter the barrier that others wait in. */
void pmi_barrier_check(struct pmi *p);

/* pmi_command.c: handles one line, which is changed. */
void pmi_command_take(struct pmi_client *c, char *text);
/* Answers the question for a name that is under way. */
void pmi_command_answer_name(struct pmi_client *c, bool is_done, const char *port);
/* Answers the question for PMIx that is under way. */
void pmi_command_answer_pmix(struct pmi_client *c, const char *const *variables);

#endif
