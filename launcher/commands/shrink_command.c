/* SPDX-License-Identifier: MIT */
/* shrink_command.c: `mlaunch shrink JOB RANKS`. */
#include "common/log.h"
#include "common/status.h"
#include "launcher/commands/change_ask.h"
#include "launcher/commands/commands.h"
#include "launcher/input/options/command_line.h"
#include "launcher/input/values/rank_set.h"

#include <string.h>

static const char usage[] =
    "usage: mlaunch shrink JOB RANKS\n\n"
    "Takes ranks, as 2,5-7, out of a running job of --elastic, which was started on\n"
    "this machine: JOB is its id, which mlaunch ps shows, or its --name. The other\n"
    "ranks see that these are gone, and repair; these get SIGTERM, and SIGKILL after\n"
    "the job's --grace. Nobody takes their places. Returns when they have ended.";

static const struct command_syntax syntax = {
    .name = "shrink", .usage = usage, .words = COMMAND_MIXED, .words_most = 2};

int shrink_command_run(int argc, char **argv)
{
    struct command_line line = {0};
    struct rank_set ranks;
    struct fault why;
    int status = STATUS_OURS, rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.action) {
        command_syntax_print_help(&syntax);
        command_line_clear(&line);
        return 0;
    }
    if (!rc && line.words.count < 2)
        rc = fault_set(&why, ML_ERR_ARGUMENT,
                       "mlaunch shrink: which %s? mlaunch ps lists jobs with their ids, and "
                       "mlaunch ps JOB its ranks",
                       line.words.count ? "ranks" : "job and ranks");
    if (!rc)
        rc = rank_set_parse(&ranks, line.words.items[1], strlen(line.words.items[1]), &why);
    if (rc)
        log_error("%s", why.text);
    else
        status = change_ask(line.words.items[0], json_pack("{s:s, s:s}", "what", "shrink", "ranks",
                                                           line.words.items[1]));
    command_line_clear(&line);
    return status;
}
