/* SPDX-License-Identifier: MIT */
#include "examples/llm/llm_generate.h"

#include <stdio.h>

int llm_generate(int argc, char **argv)
{
    (void)argc;
    fprintf(stderr, "llm: this build has no `%s`\n", argv[0]);
    return 2;
}
