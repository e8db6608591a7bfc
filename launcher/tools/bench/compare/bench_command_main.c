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

#include <errno.h>
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
    struct command_line line = {0};
    struct bench_reading r;
    struct fault why;
    int status = 0;

    if (bench_command_read(&line, &r, argc, argv, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    if (line.action == OPTIONS_HELP)
        bench_command_print_help();
    else if (command_line_value(&line, "compare"))
        status = compare_command_run(&line, &r.options);
    else if (command_line_value(&line, "vary"))
        status = vary_command_run(argv[0], &line, &r.options);
    else
        status = job_become(argc, argv);
    command_line_clear(&line);
    return status;
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, bench_run);
}
