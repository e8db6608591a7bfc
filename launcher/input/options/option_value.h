/* SPDX-License-Identifier: MIT */
/* option_value.h: setters that several commands share. Each stores a value in the field of *to that
 * the option names; the type behind it is that of the field. */
#ifndef LAUNCHER_INPUT_OPTIONS_OPTION_VALUE_H
#define LAUNCHER_INPUT_OPTIONS_OPTION_VALUE_H

#include "launcher/input/options/option.h"

option_setter option_value_flag;   /* bool; "yes", "off" and the like, or no value */
option_setter option_value_number; /* int, from spec->min to spec->max */
option_setter option_value_choice; /* an enum: one of spec->choices */
option_setter option_value_text;   /* char *, owned by *to; not empty */
option_setter option_value_list;   /* struct string_list, which gets one more; not empty */

/* Frees what a text or a list holds; of other options nothing. */
void option_value_clear(void *of, const struct option *spec);

void *option_value_field(void *to, const struct option *spec);

/* "yes", "off" and the like; NULL: true. */
int option_value_parse_flag(bool *out, const char *value, struct fault *why);

#endif
