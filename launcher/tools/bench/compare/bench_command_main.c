/* SPDX-License-Identifier: MIT */
/*
 * bench_command_main.c: mlaunch-bench-command, which mlaunch becomes for `mlaunch bench`: becomes
 * the mlaunch that runs mlaunch-bench as a job, or compares what such jobs have printed.
 */
#include "common/log.h"
#include "common/status.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/process/program_main.h"
#include "launcher/base/text/string_list.h"
#include "launcher/tools/bench/command/bench_command.h"
#include "launcher/tools/bench/compare/compare_command.h"
#include "launcher/tools/bench/compare/vary_command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int job_become(int argc, char **argv)
{
    char mlaunch[PATH_MAX];
    char **words = NULL;
    struct fault why;
    int rc = bench_command_words(&words, argc, argv, &why);

    if (!rc)
        rc = install_path_find(mlaunch, INSTALL_MLAUNCH, &why);
    if (!rc) {
        execv(mlaunch, words);
        fault_os(&why, ML_ERR_SYSTEM, errno, "cannot run %s", mlaunch);
    }
    strings_free(words);
    log_error("%s", why.text);
    return STATUS_OURS;
}

static int bench_run(int argc, char **argv)
{
    if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        bench_command_print_help();
        return 0;
    }
    if (compare_command_is(argc, argv))
        return compare_command_run(argc, argv);
    if (vary_command_is(argc, argv))
        return vary_command_run(argc, argv);
    return job_become(argc, argv);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, bench_run);
}
