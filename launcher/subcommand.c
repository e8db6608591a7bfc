/* SPDX-License-Identifier: MIT */
#include "launcher/subcommand.h"

#include "common/log.h"
#include "common/status.h"
#include "launcher/base/text/nearest.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct subcommand *all;

void subcommand_set_table(const struct subcommand *table)
{
    all = table;
}

const struct subcommand *subcommand_table(void)
{
    return all;
}

const struct subcommand *subcommand_find(const char *name)
{
    for (const struct subcommand *s = all; s->name; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

const char *subcommand_near(const char *word)
{
    /* As other programs call them. */
    static const char *const others[][2] = {
        {"list", "ps"}, {"jobs", "ps"}, {"stop", "kill"}, {"version", "--version"}};
    struct nearest n = {.typed = word};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(word, others[i][0]) == 0)
            return others[i][1];
    for (const struct subcommand *s = all; s->name; s++)
        if (s->help)
            nearest_offer(&n, s->name);
    return n.distance ? nearest_slip(&n) : NULL;
}

int subcommand_run(const struct subcommand *s, int argc, char **argv)
{
    char program[PATH_MAX];
    struct fault why;

    if (s->run)
        return s->run(argc - 1, argv + 1);
    if (install_path_find(program, s->program, &why) == 0) {
        execv(program, argv);
        fault_os(&why, ML_ERR_SYSTEM, errno, "cannot run %s", program);
    }
    log_error("%s", why.text);
    return STATUS_OURS;
}
