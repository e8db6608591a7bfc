/* SPDX-License-Identifier: MIT */
#include "launcher/env_command.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/command_words.h"
#include "launcher/input/options/command_line.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each directory goes in front of the variable's value. An empty part of MANPATH stands for the
 * system's pages; so there the colon stays if there was no value. */
static const struct search_path {
    const char *name;
    enum install_part part;
    const char *rest;
    const char *system; /* how directories begin that are searched anyway, or NULL */
} search_paths[] = {
    {"PATH", INSTALL_MLAUNCH, "\"${PATH:+:$PATH}\"", NULL},
    {"PATH", INSTALL_PROBE, "\"${PATH:+:$PATH}\"", NULL},
    {"MANPATH", INSTALL_MAN, ":\"${MANPATH-}\"", "/usr/share/man"},
    {"PKG_CONFIG_PATH", INSTALL_PKG_CONFIG, "\"${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}\"",
     "/usr/lib"},
    {"PYTHONPATH", INSTALL_MODULE, "\"${PYTHONPATH:+:$PYTHONPATH}\"", NULL},
};

static bool is_searched(const struct search_path *p, const char *directory)
{
    const char *part = getenv(p->name);
    size_t length = strlen(directory);

    if (p->system && strncmp(directory, p->system, strlen(p->system)) == 0)
        return true;
    for (; part; part = strchr(part, ':') ? strchr(part, ':') + 1 : NULL)
        if (strncmp(part, directory, length) == 0 && (!part[length] || part[length] == ':'))
            return true;
    return false;
}

/* What this build or installation lacks, such as mlaunch-probe without RDMA, gets no line, nor does
 * what is found anyway: /usr/bin must not come before the user's own directories, once more in each
 * shell. */
static void exports_print(void)
{
    char directory[PATH_MAX], last[PATH_MAX] = "";
    struct fault why;

    for (size_t i = 0; i < sizeof(search_paths) / sizeof(*search_paths); i++) {
        const struct search_path *p = &search_paths[i];

        if (install_path_find_directory(directory, p->part, &why) || strcmp(directory, last) == 0 ||
            is_searched(p, directory))
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
                 "found, or nothing where they are. `mlaunch run env` starts the program env.",
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
