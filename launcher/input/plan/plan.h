/* SPDX-License-Identifier: MIT */
/*
 * plan.h: what will run, and where. plan_create() makes it from options and hosts before anything
 * starts; once it has returned, nothing in the plan changes but the names of hosts that join. Who
 * is where is an object of its own, which changes while the job runs. The supervisor (job.h)
 * carries the plan out; --dry-run prints it.
 */
#ifndef LAUNCHER_INPUT_PLAN_PLAN_H
#define LAUNCHER_INPUT_PLAN_PLAN_H

#include "common/fault.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/input/options/options.h"
#include "launcher/input/values/chaos_plan.h"
#include "launcher/input/values/rank_wrap.h"
#include "launcher/input/values/staged_list.h"

#include <stdbool.h>
#include <stdint.h>

/* One program of the job (several with ':'). */
struct app {
    char **argv; /* NULL-terminated, at least the program */
    char **env;  /* NULL-terminated NAME=VALUE from --env-file and -x; the later one wins */
    char *cwd;   /* --cwd, or NULL */
    int ranks;
    unsigned words; /* with --words: which its arguments have, a bit each (argument_words.h) */
    int file;       /* index into the plan's files: what other hosts get as the program; or -1 */
};

struct planned_rank {
    int host;       /* index into hosts */
    int local_rank; /* from 0 on its host */
    int app;
    const struct rank_wrap *wrap; /* one of the plan's, or NULL */
    bool is_held;                 /* it stays stopped at its first instruction, for a debugger */
};

/* Who debugs the ranks of --gdb: windows on the user's terminal, or whoever connects. */
enum gdb_mode { GDB_NONE, GDB_WINDOWS, GDB_SERVER };
enum output_mode { OUTPUT_LABEL, OUTPUT_RAW, OUTPUT_FOLD, OUTPUT_DIR };

/* Who is where. It is no part of what was asked for: it changes while the job runs, when a spare
 * host takes the place of another (plan_spares.h), and by what `mlaunch grow` adds
 * (plan_growth.h). */
struct roster {
    /* Indices into the plan's list->hosts: of the used ones, in rank order, and behind them of the
     * spare ones, the next one first. */
    int *hosts;
    int host_count, spare_count;
    int spares_left;            /* the first spares that this restart has not tried yet */
    bool *is_unfit;             /* by index into list->hosts: --check has found it so; or NULL */
    struct planned_rank *ranks; /* .host is an index into `hosts` above */
    int size;
    int places; /* for how many ranks there is room (plan_places) */
};

struct plan {
    const struct options *options; /* it is made of them; they outlive it */
    /* The options' with what follows from others, from hosts and the environment; their strings. */
    struct job_options job;
    struct host_list *list; /* owned; also holds the hosts that got no rank */
    struct roster *where;   /* owned: who is where */
    bool is_np_here;        /* it is the options' np_here: nothing said how many ranks */
    struct app *apps;
    int app_count;
    struct staged_list files; /* --stage: what the other hosts get a copy of */
    char *stage_env;          /* --stage-env: an absolute path here, or NULL */
    char **library_env;       /* NULL-terminated NAME=VALUE for the ranks of all hosts, or NULL */

    char backend[8];      /* "tcp", "shm", "rdma" or "none" */
    char *backend_reason; /* why "auto" chose it, in one line; else NULL */
    char *cwd;            /* the caller's directory, the default on hosts that have it; or "" */
    enum output_mode output;
    struct rank_set shown;   /* --show, if it is given */
    char **agent_command;    /* --agent-command, split into words, or NULL */
    struct rank_wrap *wraps; /* --wrap, and the server of --gdb */
    int wrap_count;
    enum gdb_mode gdb;
    struct rank_set gdb_ranks;
    struct chaos_plan *chaos; /* --chaos, or NULL */
    /* mlaunch attach: the process of another job that rank 0 joins, and its rank there; or 0. */
    int attach_pid, attach_rank;
    bool leaves_exit; /* whoever runs the plan says with which status its one rank has exited */
};

/* The host that `index` of plan.hosts names, a spare one from host_count on; it belongs to
 * plan.list. */
struct host *plan_host(const struct plan *p, int index);

/* How many ranks the job may ever have: those of the plan, and with --elastic those that `mlaunch
 * grow` may add. What is kept for each rank has room for these. */
int plan_places(const struct plan *p);

/* The same for the hosts. */
int plan_host_places(const struct plan *p);

/* Leaves one rank of the plan, alone on its host, as rank 0 of a job of one. */
void plan_keep_rank(struct plan *p, int rank);

/* An empty plan of these options, for plan_create() and for commands that start agents without a
 * job. NULL: out of memory. */
struct plan *plan_new(const struct options *o);
void plan_destroy(struct plan *p); /* takes NULL */

/* With OUTPUT_FOLD: for how long agents, and then mlaunch if there are several, hold lines. */
int plan_fold_ms(const struct plan *p);

/* How MPI programs are served, for people; is_pmix: as the agents have found out, all by PMIx. */
const char *plan_mpi_text(const struct plan *p, bool is_pmix);

/* Prints hosts, ranks, devices and environment to stdout, for --dry-run. */
void plan_print(const struct plan *p);

#endif
