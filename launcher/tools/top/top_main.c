/* SPDX-License-Identifier: MIT */
/* top_main.c: mlaunch-top, which mlaunch becomes for `mlaunch top`. */
#include "launcher/base/process/program_main.h"
#include "launcher/tools/top/top_command.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct program_word words[] = {{"top", top_command_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
