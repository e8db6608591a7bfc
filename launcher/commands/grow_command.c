/* SPDX-License-Identifier: MIT */
/* grow_command.c: `mlaunch grow JOB -H HOST:RANKS`. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/commands/change_ask.h"
#include "launcher/commands/commands.h"
#include "launcher/input/options/command_line.h"

static const char usage[] =
    "usage: mlaunch grow JOB -H HOST[:RANKS],...\n\n"
    "Adds ranks to a running job of --elastic, which was started on this machine: JOB\n"
    "is its id, which mlaunch ps shows, or its --name. Each host, one of the job's or\n"
    "another, gets that number of ranks, or one. These have the next numbers, and\n"
    "become members when the others call ml_repair. Returns when they run.";

static const struct option own[] = {
    {.letter = 'H', .name = "hosts", .argument = "HOSTS", .help = "where, and how many ranks"},
    {0}};

static const struct command_syntax syntax = {
    .name = "grow", .usage = usage, .own = own, .words = COMMAND_MIXED, .words_most = 1};

int grow_command_run(int argc, char **argv)
{
    struct command_line line = {0};
    const char *hosts = NULL;
    struct fault why;
    int status = STATUS_OURS, rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.action) {
        command_syntax_print_help(&syntax);
        command_line_clear(&line);
        return 0;
    }
    if (!rc)
        hosts = command_line_value(&line, "hosts");
    if (!rc && !line.words.count)
        rc = fault_set(&why, ML_ERR_ARGUMENT,
                       "mlaunch grow: which job? mlaunch ps lists them with their ids");
    if (!rc && !hosts)
        rc = fault_set(&why, ML_ERR_ARGUMENT,
                       "mlaunch grow: where? -H a:2 adds two ranks on host a");
    if (rc)
        log_error("%s", why.text);
    else
        status = change_ask(line.words.items[0],
                            json_pack("{s:s, s:s}", "what", "grow", "hosts", hosts));
    command_line_clear(&line);
    return status;
}
