/* SPDX-License-Identifier: MIT */
/* setting.h: one "option = value" with the place where it was given, before it is applied. */
#ifndef LAUNCHER_INPUT_OPTIONS_SETTING_H
#define LAUNCHER_INPUT_OPTIONS_SETTING_H

#include "common/fault.h"
#include "launcher/input/options/option_table.h"

#include <stddef.h>

struct setting {
    const struct option *option;
    char *value; /* owned; NULL: a flag alone */
    char *where; /* owned: "--np", "MLAUNCH_OPT_NP", "/etc/mlaunch.ini line 3: np" */
    int app;     /* index of the program; -1: all */
    int layer;   /* settings of a higher layer win */
};

struct setting_list {
    struct setting *items;
    size_t count;
};

/* Appends a copy of `s`, with copies of its strings. ML_ERR_MEMORY. */
int setting_add(struct setting_list *l, const struct setting *s, struct fault *why);

/* Appends copies of all settings of `from`. ML_ERR_MEMORY. */
int setting_add_all(struct setting_list *l, const struct setting_list *from, struct fault *why);
void setting_clear(struct setting_list *l);

/* The last value given to the option `name`: "": it is a flag; NULL: not given. It belongs to the
 * list. */
const char *setting_last(const struct setting_list *l, const char *name);

#endif
