/* SPDX-License-Identifier: MIT */
#include "launcher/usage.h"

#include "config.h"

#include "common/build_id.h"
#include "common/failure_times.h"
#include "launcher/input/options/command_syntax.h"
#include "launcher/subcommand.h"

#include <stdbool.h>
#include <stdio.h>

/* What a build may lack. */
static const struct feature {
    const char *name;
    bool is_there;
} features[] = {{"rdma", HAVE_RDMA},   {"ssh", HAVE_SSH},         {"pmix", HAVE_PMIX},
                {"hwloc", HAVE_HWLOC}, {"ncurses", HAVE_NCURSES}, {"llm", HAVE_LLM},
                {"usdt", HAVE_USDT}};

void usage_print_help(void)
{
    puts("usage: mlaunch [run] [OPTIONS] [--] PROGRAM [ARG...] [ : ...]\n"
         "       mlaunch COMMAND [OPTIONS]\n"
         "\n"
         "Starts PROGRAM as N ranks, here or on other hosts over SSH. Options end at the\n"
         "first word that is not one. ':' separates the programs of one job, each with\n"
         "its own -n, -x, --env-file and --cwd.");
    command_syntax_print_options(option_table);
    puts("\nCommands, each with a --help of its own");
    for (const struct subcommand *c = subcommand_table(); c->name; c++)
        if (c->help)
            command_syntax_print_command(c->name, c->help);
    puts("\n"
         "Options also come from [defaults] in configuration files and from variables such\n"
         "as MLAUNCH_OPT_TIMEOUT; the command line wins. Options of mpirun, srun, torchrun\n"
         "and mlx.launch that mean the same are understood, too. The exit status is that\n"
         "of the first rank to fail; 124: timeout, 125: mlaunch failed, 126, 127: no such\n"
         "program. See mlaunch(1), hostfile(5).");
}

void usage_print_version(void)
{
    printf("mlaunch %s (build %s)\nfeatures:", build_version, build_id);
    for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
        printf(" %c%s", features[i].is_there ? '+' : '-', features[i].name);
    putchar('\n');
    if (FAILURE_TIMES_DIVISOR != 1)
        printf("failure times divided by %d: for tests\n", FAILURE_TIMES_DIVISOR);
}
