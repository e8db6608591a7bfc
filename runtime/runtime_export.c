/* SPDX-License-Identifier: MIT */
/* runtime_export.c: what mlaunch-runtime.so exports: the function that returns the table of
 * api.c. */
#include "runtime/api.h"
#include "runtime/api_table.h"

const struct runtime_table *mlaunch_runtime_table(void)
{
    return &api_table;
}
