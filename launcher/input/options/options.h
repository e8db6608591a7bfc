/* SPDX-License-Identifier: MIT */
/*
 * options.h: what the user asked for, before anything is looked up or combined: plan_create.h does
 * that. options_load.h fills the struct from configuration files, environment and command line.
 */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTIONS_H
#define LAUNCHER_INPUT_OPTIONS_OPTIONS_H

#include "common/fault.h"
#include "common/job_options.h"
#include "launcher/base/text/string_list.h"

#include <stdbool.h>

/* BACKEND_UNSET: the hostfile may choose, else BACKEND_AUTO. */
enum backend_choice {
    BACKEND_UNSET = -1,
    BACKEND_AUTO,
    BACKEND_TCP,
    BACKEND_SHM,
    BACKEND_NONE,
    BACKEND_RDMA
};
enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };
enum launcher_choice { LAUNCHER_AUTO, LAUNCHER_SSH, LAUNCHER_SRUN, LAUNCHER_COMMAND };
enum local_path { LOCAL_SHM, LOCAL_NET };
enum map_mode { MAP_BY_SLOT, MAP_BY_HOST };
enum failure_mode { FAILURE_STOP, FAILURE_CONTINUE };
enum fitness_mode { FITNESS_NONE, FITNESS_QUICK };

/* The options of one of the programs that ':' separates. */
struct app_options {
    char **argv;                       /* owned, NULL-terminated, at least the program */
    int np;                            /* 0: not given */
    char *cwd;                         /* or NULL */
    struct string_list env_files, env; /* as they were written */
};

/* The higher layer wins. The profiles of all files are above the defaults of all files. */
enum options_layer {
    LAYER_SYSTEM,
    LAYER_USER,
    LAYER_CONFIG, /* --config FILE */
    LAYER_PROFILE,
    LAYER_ENVIRONMENT = LAYER_PROFILE + LAYER_CONFIG + 1,
    LAYER_COMMAND_LINE,
};

/* All strings are owned; NULL: not given. */
struct options {
    enum options_action action;
    struct app_options *apps;
    int app_count;

    char *hosts, *hostfile, *spare_hosts;
    char *exclude; /* hosts of those that are left out; only mlaunch exec sets it */
    /* The configuration layer of each; the higher one wins. */
    int hosts_layer, hostfile_layer, spare_hosts_layer;
    int ppn;           /* 0: not given */
    int cpus_per_rank; /* the same */
    bool binds;        /* --bind-to was given */
    bool oversubscribe, no_compat, words, stage, stage_libs, timestamp, dry_run, summary,
        deterministic;
    /* What the hosts need; plan_create() settles what depends on other options and on hosts. */
    struct job_options job;
    enum backend_choice backend;
    enum local_path local;
    enum map_mode map_by;
    bool one_host; /* torchrun's --nnodes 1 or the like was given */
    enum failure_mode on_failure;
    enum fitness_mode check;
    bool evict_slow;
    char *stage_env, *stage_cache;
    char *stdin_to; /* "none", "all" or a rank */
    bool pty;
    int pty_rank;   /* the rank that gets a terminal, if `pty` */
    char *output;   /* "label", "raw", a directory or a pattern */
    int timeout_ms; /* 0: none */
    char *rdma_device, *tuning;
    enum launcher_choice agent_launcher;
    char *agent_command;
    int await;               /* hosts that join; 0: none */
    bool is_await_here;      /* this machine is the first of them; only mlaunch join sets it */
    char *listen, *key_file; /* with `await` */
    bool is_joining_typed;   /* one of these is on the command line */
    int fanout;              /* hosts that call one, be it the head or a host; 0: all the head */
    char *ssh_config, *agent, *events, *record, *trace, *compare_hashes, *config, *profile;
    struct string_list wraps; /* --wrap, as they were written */
    char *gdb, *chaos, *show;
    bool detach, json; /* --json: with --detach */
    int ssh_connect_timeout_s;
    int verbose; /* -1 quiet, 0, 1 (-v), 2 (-vv) */
    int layer;   /* the setting's that is being applied */
    int np_here; /* ranks if nothing says how many, on this machine alone; no user sets it */
};

#endif
