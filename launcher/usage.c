/* SPDX-License-Identifier: MIT */
#include "launcher/usage.h"

#include "common/build_id.h"
#include "launcher/options/option_help.h"
#include "launcher/subcommand.h"

#include <stdio.h>

void usage_print_help(void)
{
    puts("usage: mlaunch [run] [OPTIONS] [--] PROGRAM [ARG...] [ : [OPTIONS] [--] PROGRAM [ARG...] "
         "]...\n"
         "       mlaunch bench [OPERATION] ... (measures the collectives; mlaunch bench --help)\n"
         "       mlaunch COMMAND [OPTIONS]\n"
         "\n"
         "Starts PROGRAM as N ranks, here or on other hosts over SSH. Options end at the first "
         "word that\n"
         "is not one. ':' separates the programs of one job, each with its own -n, -x, --env-file "
         "and\n--cwd.");
    for (const struct option *s = option_table; s->help; s++) {
        if (s->name)
            option_help_print(s);
        else
            printf("\n%s\n", s->help);
    }
    puts("\nCommands, each with a --help of its own");
    for (const struct subcommand *c = subcommand_table; c->name; c++)
        printf("  %-*s%s\n", OPTION_COLUMN - 2, c->name, c->help);
    printf("  %-*s%s\n", OPTION_COLUMN - 2, "help", "print this, or the help of a command");
    puts("\n"
         "Options also come from [defaults] in configuration files and from variables such as\n"
         "MLAUNCH_OPT_TIMEOUT; the command line wins. The exit status is that of the first rank to "
         "fail;\n"
         "124: timeout, 125: mlaunch failed, 126, 127: no such program. Options of mpirun, srun, "
         "torchrun and\n"
         "mlx.launch that mean the same are understood, too. See mlaunch(1), hostfile(5).");
}

void usage_print_version(void)
{
    printf("mlaunch %s (build %s)\n", build_version, build_id);
}
