/* SPDX-License-Identifier: MIT */
/* batch_options.h: the options of mlaunch batch. */
#ifndef LAUNCHER_COMMANDS_BATCH_BATCH_OPTIONS_H
#define LAUNCHER_COMMANDS_BATCH_BATCH_OPTIONS_H

#include "launcher/base/text/string_list.h"

#include <stdbool.h>
#include <stdint.h>

enum batch_system { BATCH_SLURM, BATCH_PBS, BATCH_LSF, BATCH_SGE, BATCH_KUBERNETES };

enum { BATCH_RESOURCE = 256 /* bytes of the name of a resource of Kubernetes, with its 0 */ };

enum batch_kind { BATCH_KIND_JOB, BATCH_KIND_COMPOSE };

struct batch_options {
    enum batch_system system;
    int kind; /* enum batch_kind, of Kubernetes */
    bool help, submit;
    int nodes, ntasks, ntasks_per_node; /* 0: not given */
    int64_t time_s;                     /* 0: not given */
    int stop_before_s;                  /* 0: not given, until the options have been checked */
    int stop_signal;                    /* run's --stop-signal, or 0 */
    int restarts, grace_s;              /* run's */
    bool elastic;                       /* run has --elastic */
    int gpus;                           /* for each host, of Kubernetes; 0: not given */
    char *partition, *account, *job_name, *output, *pe, *file; /* job_name is never NULL */
    char *image;                                               /* Kubernetes needs one */
    struct string_list resources;                              /* NAME=N, for Kubernetes */
    struct string_list extra;
    struct string_list words; /* for run: options, --, program, arguments */
};

/* argv[0] is "batch". Checks the options of run as well. ML_ERR_ARGUMENT, ML_ERR_MEMORY. Call
 * batch_options_clear() in either case. */
int batch_options_parse(struct batch_options *out, int argc, char *const *argv, struct fault *why);
void batch_options_clear(struct batch_options *b);

/* Prints to stdout. */
void batch_options_print_help(void);

#endif
