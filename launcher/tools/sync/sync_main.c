/* SPDX-License-Identifier: MIT */
/* sync_main.c: mlaunch-sync, which mlaunch becomes for `mlaunch sync`. */
#include "launcher/base/process/program_main.h"
#include "launcher/tools/sync/sync_command.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct program_word words[] = {{"sync", sync_command_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
