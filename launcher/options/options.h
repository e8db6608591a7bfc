/* SPDX-License-Identifier: MIT */
/*
 * options.h: what the user asked for, out of the configuration files, the environment and the
 * command line, in this order: later wins. Nothing is looked up or combined here; plan.h does that.
 */
#ifndef LAUNCHER_OPTIONS_OPTIONS_H
#define LAUNCHER_OPTIONS_OPTIONS_H

#include "common/fault.h"
#include "common/rdma_choice.h"
#include "launcher/plan/plan.h"
#include "launcher/text/string_list.h"

#include <stdbool.h>

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };
enum launcher_choice { LAUNCHER_AUTO, LAUNCHER_SSH, LAUNCHER_SRUN, LAUNCHER_COMMAND };
enum backend_choice { BACKEND_AUTO, BACKEND_TCP, BACKEND_SHM, BACKEND_NONE, BACKEND_RDMA };

/* What belongs to one of the programs that ':' separates. */
struct app_options {
    char **argv;                       /* owned, NULL-terminated, at least the program */
    int np;                            /* 0: not said */
    char *cwd;                         /* or NULL */
    struct string_list env_files, env; /* as they were written */
};

struct options {
    enum options_action action;
    struct app_options *apps;
    int app_count;

    char *hosts, *hostfile;          /* or NULL */
    int hosts_layer, hostfile_layer; /* which of two that say so comes later */
    int ppn;                         /* 0: not said */
    bool oversubscribe, no_compat, eager, timestamp, dry_run;
    int backend;                                     /* enum backend_choice; -1: not said */
    int bind;                                        /* enum bind_mode */
    int local_net, map_by_host, continue_on_failure; /* 0 or 1 */
    char *stdin_to;                                  /* "none", "all", a rank; NULL: not said */
    char *output; /* "label", "raw", a directory; NULL: not said */
    int timeout_s, grace_ms, init_timeout_s, restarts;
    int port, starting_port;
    char *rdma_device; /* or NULL */
    struct rdma_choice rdma;
    int agent_launcher; /* enum launcher_choice */
    char *agent_command;
    char *ssh_config, *agent, *events, *config, *profile;
    int ssh_connect_timeout_s;
    int verbose; /* -1 quiet, 0 … 3 */
    int layer;   /* of the setting that is being applied */
};

/* Where options come from, so that tests can say it. */
struct options_source {
    int argc;
    char *const *argv;
    char *const *environment;
    const char *system_config,
        *user_config; /* paths, or NULL; files that don't exist are skipped */
};

/* ML_ERR_ARGUMENT: the sentence names the option, variable or line at fault. With --help and
 * --version only `action` counts. */
int options_parse(struct options **out, const struct options_source *from, struct fault *why);
/* The same with this machine's configuration files and this process's environment. */
int options_load(struct options **out, int argc, char *const *argv, struct fault *why);
void options_destroy(struct options *o); /* takes NULL */

#endif
