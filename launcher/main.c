/* SPDX-License-Identifier: MIT */
/* main.c: the mlaunch command. */
#include "common/build_id.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("mlaunch %s (build %s)\n", build_version, build_id);
        return 0;
    }
    fprintf(stderr, "mlaunch: only --version is in this build\n");
    return 125;
}
