/* SPDX-License-Identifier: MIT */
/* api.h: the calls of mlaunch.h as a table, which the shim calls them through. */
#ifndef RUNTIME_API_H
#define RUNTIME_API_H

#include "runtime/api_table.h"

extern const struct runtime_table api_table;

#endif
