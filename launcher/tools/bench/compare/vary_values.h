/* SPDX-License-Identifier: MIT */
/* vary_values.h: the settings that --vary names, as options of mlaunch. */
#ifndef LAUNCHER_TOOLS_BENCH_COMPARE_VARY_VALUES_H
#define LAUNCHER_TOOLS_BENCH_COMPARE_VARY_VALUES_H

#include "launcher/base/text/string_list.h"
#include "launcher/tools/bench/compare/comparison.h"

struct vary_values {
    char *names[COMPARISON_MOST];              /* as a user would write each; "" for none */
    struct string_list words[COMPARISON_MOST]; /* the same as options of run or bench */
    int count;
};

/* Splits "NAME=a|b" or "--option a|b" at each '|'. A later part that is neither empty nor an option
 * or variable of its own takes the place of what follows the last blank or '=' of the first part.
 * An empty part stands for no option at all. *out is set on success only; free it with
 * vary_values_clear(). ML_ERR_ARGUMENT. */
int vary_values_parse(struct vary_values *out, const char *text, struct fault *why);
void vary_values_clear(struct vary_values *v); /* takes zeros */

#endif
