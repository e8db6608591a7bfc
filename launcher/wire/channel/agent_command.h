/* SPDX-License-Identifier: MIT */
/*
 * agent_command.h: the command that starts agents where srun, or --agent-command, does so: its
 * words, and its end as a sentence.
 */
#ifndef LAUNCHER_WIRE_CHANNEL_AGENT_COMMAND_H
#define LAUNCHER_WIRE_CHANNEL_AGENT_COMMAND_H

#include "launcher/base/process/last_words.h"
#include "launcher/input/hosts/host_list.h"
#include "launcher/wire/channel/channel_config.h"

#include <stddef.h>

struct agent_command {
    char **argv;        /* owned; argv[0] is a path */
    char **environment; /* owned, the strings are environ's; NULL: environ */
    const char *agent;  /* the agent's path there */
    const char *build;
};

/* For `count` hosts of one launch method; --agent-command starts one each. `mode` is the agent's
 * last argument, or NULL. ML_ERR_REFUSED: there is no such program. */
int agent_command_make(struct agent_command *out, const struct host *const *hosts, int count,
                       const struct channel_config *config, const char *mode, struct fault *why);
void agent_command_clear(struct agent_command *c);

/* `status` is waitpid's, `words` what it has said to stderr. */
void agent_command_describe(const struct agent_command *c, int status, bool has_begun,
                            const struct last_words *words, char *text, size_t size);
void agent_command_log(const struct agent_command *c, int pid);

#endif
