/* SPDX-License-Identifier: MIT */
/* option_binding.h: the values of --bind-to, --map-by, --mem-bind and --threads, with the words of
 * mpirun, Hydra and srun for them. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_BINDING_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_BINDING_H

#include "launcher/input/options/option.h"

/* "core", "core:4", "cpus:0-3,4-7". The option's field is the text of the last. */
option_setter option_binding_to;

/* "local", "nodes:0,1". The option's field is the text of the last. */
option_setter option_binding_memory;

/* "auto", or a number. */
option_setter option_binding_threads;

/* "slot", "host", "numa", "numa:PE=4", "ppr:2:socket". */
option_setter option_binding_map;

#endif
