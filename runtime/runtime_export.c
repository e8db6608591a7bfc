/* SPDX-License-Identifier: MIT */
/* runtime_export.c: mlaunch-runtime.so's one export. The table itself is in api.c. */
#include "runtime/api.h"
#include "runtime/api_table.h"

const struct runtime_table *mlaunch_runtime_table(void)
{
    return &api_table;
}
