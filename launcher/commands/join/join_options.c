/* SPDX-License-Identifier: MIT */
#include "launcher/commands/join/join_options.h"

#include "launcher/base/text/string_list.h"
#include "launcher/input/options/options_load.h"

#include <stdlib.h>
#include <unistd.h>

static const struct option own[] = {
    {.name = "head", .argument = "HOST:PORT", .help = "where index 0, or mlaunch --await, listens"},
    {.name = "index", .argument = "I", .help = "this host's, from 0; with a program 0 is the head"},
    {.name = "hosts", .argument = "N", .help = "how many hosts join, the head among them"},
    {.name = "from",
     .argument = "auto|SYSTEM",
     .help = "take what is not given from the variables of the system that starts the hosts: lws, "
             "volcano, kubeflow, skypilot, aws-batch, dstack, lightning, indexed-job"},
    {.name = "key-new",
     .argument = "FILE",
     .help = "write a new key to FILE, for --key-file, and do nothing else"},
    {0}};

static const char *const without[] = {"hosts",          "hostfile",      "spare-hosts", "await",
                                      "agent-launcher", "agent-command", "check",       "detach",
                                      "json",           "version",       "evict-slow",  NULL};

static const struct command_syntax syntax = {
    .name = "join",
    .usage = "usage: mlaunch join --head HOST:PORT --index I --hosts N --key-file FILE\n"
             "                    [OPTIONS] [[--] PROGRAM [ARG...]]\n"
             "       mlaunch join --from auto --key-file FILE [OPTIONS] [[--] PROGRAM [...]]\n"
             "       mlaunch join --key-new FILE\n"
             "\n"
             "Makes this machine one of the hosts of a job, without SSH. With PROGRAM the\n"
             "same line is started on each host, and index 0 is the head, which runs the job:\n"
             "output, input and signals are there. Without PROGRAM, mlaunch --await N is the\n"
             "head, on any machine. The order does not matter; a head that is not there yet\n"
             "is called again, for --init-timeout. The exit status is the job's everywhere.",
    .ending = "And run's options, which the head uses: --ppn, -x, --restarts, --grace, ...\n"
              "(mlaunch --help).",
    .own = own,
    .borrows_all = true,
    .without = without,
    .why_without = "the hosts are those that join, each by its own mlaunch join",
    .words = COMMAND_PROGRAMS,
    .may_lack_program = true};

static int place_take(struct join_options *j, const struct command_line *line, struct fault *why)
{
    const struct join_words words = {.head = command_line_value(line, "head"),
                                     .index = command_line_value(line, "index"),
                                     .hosts = command_line_value(line, "hosts"),
                                     .from = command_line_value(line, "from")};
    int rc = join_place_find(&j->place, &words, environ, why);

    if (!rc && !j->place.head[0] && line->program_count == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "join needs --head HOST:PORT, where mlaunch --await listens: without a "
                       "program this host is not the head");
    return rc;
}

static int line_take(struct join_options *j, struct command_line *line, struct fault *why)
{
    const char *key_new = command_line_value(line, "key-new");
    bool has_program = line->program_count > 0;
    int rc;

    if (key_new)
        return string_copy(&j->key_new, key_new, why);
    rc = place_take(j, line, why);
    if (!rc)
        rc = options_load_line(&j->run, line, why);
    if (rc)
        return rc;
    j->is_head = has_program && j->place.index == 0;
    if (!j->run->key_file)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "join needs --key-file FILE; mlaunch join --key-new FILE writes one");
    j->run->await = j->place.hosts;
    j->run->is_await_here = has_program;
    return 0;
}

int join_options_read(struct join_options *out, int argc, char *const *argv, struct fault *why)
{
    struct command_line line = {0};
    int rc;

    *out = (struct join_options){0};
    rc = command_line_read(&line, &syntax, NULL, argc, argv, why);
    if (!rc) {
        out->action = line.action;
        if (line.action == OPTIONS_RUN)
            rc = line_take(out, &line, why);
    }
    command_line_clear(&line);
    return rc;
}

void join_options_clear(struct join_options *j)
{
    free(j->key_new);
    options_destroy(j->run);
    *j = (struct join_options){0};
}

void join_options_print_help(void)
{
    command_syntax_print_help(&syntax);
}
