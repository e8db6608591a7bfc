/* SPDX-License-Identifier: MIT */
/* joining.h: what does not go with hosts that join (--await). */
#ifndef LAUNCHER_INPUT_OPTIONS_JOINING_H
#define LAUNCHER_INPUT_OPTIONS_JOINING_H

#include "launcher/input/options/options.h"

/* ML_ERR_ARGUMENT names the options that do not fit together. */
int joining_check(const struct options *o, struct fault *why);

#endif
