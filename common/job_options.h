/* SPDX-License-Identifier: MIT */
/* job_options.h: the options of a job that its hosts and ranks need. They travel from mlaunch's
 * options through the plan to each agent as they are here (job_spec.h has their JSON). */
#ifndef COMMON_JOB_OPTIONS_H
#define COMMON_JOB_OPTIONS_H

#include "common/rdma_choice.h"

#include <stdbool.h>

/* Parts of a machine; lists of CPUs; what is beside a rank's GPUs. */
enum bind_mode {
    BIND_NONE,
    BIND_HWTHREAD,
    BIND_CORE,
    BIND_L3CACHE,
    BIND_SOCKET,
    BIND_NUMA,
    BIND_UNITS,
    BIND_CPUS = BIND_UNITS,
    BIND_GPU
};
/* How the ranks' standard output is buffered. */
enum buffer_mode { BUFFER_LINE, BUFFER_FULL, BUFFER_NONE };
/* How MPI programs are served. */
enum { TMPDIR_MOST = 80 /* bytes of --tmpdir, so that paths below it have room */ };
enum mpi_mode { MPI_AUTO, MPI_PMI1, MPI_PMIX, MPI_NONE };
enum stdin_mode { STDIN_NONE, STDIN_ALL, STDIN_RANK };

/* A value and the word that stands for it, in an option and on the wire. */
struct named_value {
    const char *word;
    int value;
};

/* A NULL word ends each. The first of job_words_mpi is for the wire alone. */
extern const struct named_value job_words_bind[], job_words_buffer[], job_words_memory[],
    job_words_mpi[], job_words_stdin[], job_words_stop[];

/* Where a rank's memory is: anywhere, on the nodes beside its processors, there if there is room,
 * spread over them, or on listed nodes. */
enum memory_mode { MEMORY_ANY, MEMORY_LOCAL, MEMORY_PREFERRED, MEMORY_INTERLEAVED, MEMORY_NODES };
enum { GPUS_MOST = 16 /* that a rank gets */ };
enum { THREADS_AUTO = -1, THREADS_MOST = 4096 };

/* Which of its host's processors a rank gets. */
struct binding_options {
    enum bind_mode to;
    int each;           /* how many of them a rank gets; 0: one */
    enum bind_mode map; /* what the ranks of a host are dealt out over first; or BIND_NONE */
    int block;          /* how many ranks at a time; 0: one to each in turn */
    char *cpus;         /* BIND_CPUS: cpu_list.h's; or NULL, and in an agent "" */
    int gpus;           /* how many GPUs a rank gets; 0: it is not told of any */
    enum memory_mode memory;
    char *nodes; /* MEMORY_NODES: as `cpus` */
    int threads; /* what OMP_NUM_THREADS and the like say; 0: nothing; or THREADS_AUTO */
    bool report; /* say what each rank has got */
};

struct job_options {
    struct binding_options binding;
    enum buffer_mode buffer;
    enum mpi_mode mpi;
    enum stdin_mode stdin_mode;
    int stdin_rank;
    bool local_net, secure, compat, eager, signal_children;
    int elastic;             /* the least ranks with which the job goes on; 0: it needs all */
    bool flight_recorder;    /* torch is to keep a record of its calls, and to dump it when asked */
    int port, starting_port; /* 0: any */
    int replace_wait_ms;     /* --elastic with --restarts: how long ml_repair waits for newcomers */
    int init_timeout_ms, stall_ms, grace_ms;
    int restarts;          /* how many there may be */
    int keep;              /* on how many hosts what a rank keeps is: 1 or 2 */
    int stop_signal;       /* by which the job is asked to stop (ml_should_stop); 0: none */
    char *prolog, *epilog; /* commands for sh -c, once a host; see `name` */
    char *mount;           /* SOURCE:DIR, what ranks see in place of DIR; see `name` */
    char *container;       /* the command of --container; see `name` */
    char *tmpdir;          /* where each host's files of the job are; see `name` */
    char *name;            /* the job's; NULL, or "" in an agent: none */
    struct rdma_choice rdma;
};

/* Whether each agent waits after a run of the job for the next one. */
static inline bool job_options_agents_stay(const struct job_options *o)
{
    return o->restarts && !o->elastic;
}

#endif
