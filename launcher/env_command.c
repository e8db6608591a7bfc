/* SPDX-License-Identifier: MIT */
#include "launcher/env_command.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/command_words.h"
#include "launcher/input/options/command_line.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Each directory goes in front of the variable's value. An empty part of MANPATH stands for the
 * system's pages; so there the colon stays if there was no value. */
static const struct search_path {
    const char *name;
    enum install_part part;
    const char *rest;
} search_paths[] = {
    {"PATH", INSTALL_MLAUNCH, "\"${PATH:+:$PATH}\""},
    {"PATH", INSTALL_PROBE, "\"${PATH:+:$PATH}\""},
    {"MANPATH", INSTALL_MAN, ":\"${MANPATH-}\""},
    {"PKG_CONFIG_PATH", INSTALL_PKG_CONFIG, "\"${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}\""},
    {"PYTHONPATH", INSTALL_MODULE, "\"${PYTHONPATH:+:$PYTHONPATH}\""},
};

/* What this build or installation lacks, such as mlaunch-probe without RDMA, gets no line. */
static void exports_print(void)
{
    char directory[PATH_MAX], last[PATH_MAX] = "";
    struct fault why;

    for (size_t i = 0; i < sizeof(search_paths) / sizeof(*search_paths); i++) {
        const struct search_path *p = &search_paths[i];

        if (install_path_find_directory(directory, p->part, &why) || strcmp(directory, last) == 0)
            continue;
        printf("export %s=", p->name);
        command_words_quote(stdout, directory);
        puts(p->rest);
        memcpy(last, directory, sizeof(last));
    }
}

int env_command_run(int argc, char **argv)
{
    static const struct command_syntax syntax = {
        .name = "env",
        .usage = "usage: eval \"$(mlaunch env)\"\n\n"
                 "Prints commands for sh, bash or zsh that set PATH, MANPATH, PKG_CONFIG_PATH and\n"
                 "PYTHONPATH, so that programs and man pages of this build or installation are\n"
                 "found. `mlaunch run env` starts the program env.",
        .words = COMMAND_MIXED,
        .words_most = SIZE_MAX};
    struct command_line line = {0};
    struct fault why;
    int rc = command_line_read(&line, &syntax, NULL, argc, argv, &why);

    if (!rc && line.words.count)
        rc = fault_set(&why, ML_ERR_ARGUMENT,
                       "mlaunch env takes no arguments; the program env is started by mlaunch run "
                       "env");
    if (rc)
        log_error("%s", why.text);
    else if (line.action)
        command_syntax_print_help(&syntax);
    else
        exports_print();
    command_line_clear(&line);
    return rc ? STATUS_OURS : 0;
}
