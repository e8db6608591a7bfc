/* SPDX-License-Identifier: MIT */
/* metrics_main.c: mlaunch-metrics, which mlaunch becomes for `mlaunch metrics`. */
#include "launcher/base/process/program_main.h"
#include "launcher/tools/metrics/metrics_command.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct program_word words[] = {{"metrics", metrics_command_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
