/* SPDX-License-Identifier: MIT */
#include "examples/llm/llm_bench.h"

#include <stdio.h>

int llm_bench(int argc, char **argv)
{
    (void)argc;
    fprintf(stderr, "llm: this build has no `%s`\n", argv[0]);
    return 2;
}
