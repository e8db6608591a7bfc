/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/agent_command.h"

#include "common/log.h"
#include "common/text/signal_text.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/text_file.h"
#include "launcher/wire/channel/srun_command.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The command's end as a sentence with its remedy. */
void agent_command_describe(const struct agent_command *c, int status, bool has_begun,
                            const struct last_words *words, char *text, size_t size)
{
    const char *name = strrchr(c->argv[0], '/') + 1;
    char said[256], how[64];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *signal = code < 0 ? signal_text_name(WTERMSIG(status)) : NULL;

    last_words_line(words, said, sizeof(said));
    if (signal)
        snprintf(how, sizeof(how), "was killed by SIG%s", signal);
    else if (code < 0) /* real-time signals have no name */
        snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof(how), "ended with status %d", code);
    if (code == AGENT_EXIT_NOT_OURS)
        snprintf(text, size,
                 "%s, as %s starts it there, is another build than this mlaunch (%s): install the "
                 "same, or name its place with --agent",
                 c->agent, name, c->build);
    else if (has_begun)
        snprintf(text, size, "%s, which had started its agent, %s%s%s", name, how,
                 *said ? "; end of its standard error: " : "", said);
    else
        snprintf(text, size,
                 "%s %s and started no agent%s%s; it needs %s of this build there (--agent names "
                 "another place)",
                 name, how, *said ? "; it said: " : "", said, c->agent);
}

/* The words of the command, followed by the agent's path and arguments. */
static int words_make(struct string_list *words, const struct agent_command *c,
                      const struct host *const *hosts, int count,
                      const struct channel_config *config, const char *mode, struct fault *why)
{
    const struct text_gap gaps[] = {{"{host}", hosts[0]->name}, {NULL, NULL}};
    const char *const own[] = {c->agent, "--build", c->build, mode, NULL};
    int rc = hosts[0]->launch_method == LAUNCH_METHOD_SRUN
                 ? srun_command_words(words, hosts, count, environ, why)
                 : command_words_fill(words, config->command, gaps, why);

    return rc ? rc : string_list_add_all(words, (char *const *)own, why);
}

int agent_command_make(struct agent_command *out, const struct host *const *hosts, int count,
                       const struct channel_config *config, const char *mode, struct fault *why)
{
    struct agent_command c = {.agent = config->agent ? config->agent : config->local_agent,
                              .build = config->build};
    struct string_list words = {0};
    char *path = NULL;
    int rc = words_make(&words, &c, hosts, count, config, mode, why);

    if (!rc)
        rc = program_path_find(&path, words.items[0], why);
    if (!rc) {
        free(words.items[0]);
        words.items[0] = path;
        rc = string_list_release(&words, &c.argv, why);
    }
    if (!rc && hosts[0]->launch_method == LAUNCH_METHOD_SRUN)
        rc = srun_command_environment(&c.environment, environ, why);
    string_list_clear(&words);
    if (rc)
        agent_command_clear(&c);
    else
        *out = c;
    return rc;
}

void agent_command_clear(struct agent_command *c)
{
    strings_free(c->argv);
    free(c->environment);
    *c = (struct agent_command){0};
}

void agent_command_log(const struct agent_command *c, int pid)
{
    char line[1024] = "";
    size_t used = 0;

    for (char *const *word = c->argv; *word && used < sizeof(line); word++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", *word);
    log_debug("pid %d runs%s", pid, line);
}
