/* SPDX-License-Identifier: MIT */
/* module.c: mlaunch-runtime.so's one export. The table itself is in api.c. */
#include "runtime/api.h"
#include "runtime/table.h"

const struct runtime_table *mlaunch_runtime_table(void)
{
    return &api_table;
}
