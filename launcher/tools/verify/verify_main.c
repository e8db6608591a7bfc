/* SPDX-License-Identifier: MIT */
/* verify_main.c: mlaunch-verify, which mlaunch becomes for `info`, `status` and `verify`. */
#include "launcher/base/process/program_main.h"
#include "launcher/tools/verify/verify_command.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    static const struct program_word words[] = {
        {"info", info_run}, {"status", status_run}, {"verify", verify_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
