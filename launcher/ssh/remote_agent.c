/* SPDX-License-Identifier: MIT */
#include "launcher/ssh/remote_agent.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "launcher/protocol/agent_end.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/ssh/remote_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const char marker[] = "@mlaunch-agent@\n";

enum {
    NOISE_MAX = 65536, /* bytes that start-up files may print before the marker */
    FRAME_FIRST_MAX =
        4 /* a frame begins with its length's high byte; a word begins with a letter */
};

/* What the line said when no candidate was right. */
struct verdict {
    char tried[16]; /* status of the last candidate, or "missing" */
    char machine[64];
    char home[3500];
};

/* A path as a word within the line's single quotes: octal where a shell might think otherwise. */
static void path_write(FILE *to, const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+,@=:-";

    if (path[strspn(path, plain)] == '\0') {
        fputs(path, to);
        return;
    }
    fputs("\"$(printf %b \"", to);
    for (; *path; path++) {
        if (strchr(plain, *path))
            fputc(*path, to);
        else
            fprintf(to, "\\0%03o", (unsigned char)*path);
    }
    fputs("\")\"", to);
}

int remote_agent_line(char **out, const struct channel_config *config, struct fault *why)
{
    size_t size;
    FILE *to = open_memstream(out, &size);

    if (!to)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    fprintf(to, "exec /bin/sh -c 'echo %.*s; t=missing; for a in ", (int)sizeof(marker) - 2,
            marker);
    path_write(to, config->agent ? config->agent : config->local_agent);
    if (!config->agent)
        fprintf(to, " \"$(command -v mlaunch-agent)\" \"$HOME/.cache/mlaunch/%s/mlaunch-agent\"",
                config->build);
    /* STATUS_NOT_EXECUTABLE and STATUS_NOT_FOUND: of another architecture, or lacking a library. */
    fprintf(to,
            "; do [ -x \"$a\" ] || continue; \"$a\" --build %s; t=$?; "
            "case $t in %d|%d|%d) ;; *) exit $t;; esac; done; "
            "echo none $t \"$(uname -m)\" \"$HOME\"; exit %d'",
            config->build, AGENT_EXIT_NOT_OURS, STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND,
            AGENT_EXIT_NOT_OURS);
    return fclose(to) == 0 ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* The command ended before any agent spoke. */
static int silence_explain(struct remote_agent *a, const char *noise, bool marked,
                           struct fault *why)
{
    struct last_words said = {.size = 0};
    char words[256], how[350];

    remote_command_reap(&a->command);
    last_words_line(&a->command.words, words, sizeof(words));
    if (marked) {
        agent_end_describe(how, sizeof(how), a->command.status,
                           *a->command.signal ? a->command.signal : NULL, words);
        return fault_set(why, ML_ERR_REFUSED, "%s", how);
    }
    last_words_add(&said, a->command.words.bytes, a->command.words.size);
    last_words_add(&said, noise, strlen(noise));
    last_words_line(&said, words, sizeof(words));
    return fault_set(
        why, ML_ERR_REFUSED,
        "the login shell there did not run what mlaunch sent (ForceCommand, a restricted "
        "shell?); it ended with status %d%s%s",
        a->command.status, *words ? " and said: " : "", words);
}

/* Waits for more bytes, which go to buf at *used; or REMOTE_COMMAND_ENDED. */
static int more_read(struct remote_agent *a, char *buf, size_t room, size_t *used,
                     struct fault *why)
{
    int n;

    while ((n = remote_command_read(&a->command, buf + *used, room - *used, why)) == 0) {
        int rc = remote_session_wait(a->command.session, why);

        if (rc == ML_ERR_TIMEOUT)
            fault_set(
                why, rc,
                "logged in, but the login shell or the agent says nothing for too long; do the "
                "shell's start-up files wait for something?");
        if (rc)
            return rc;
    }
    if (n > 0)
        *used += (size_t)n;
    return n > 0 ? 0 : n;
}

/* Passes over what precedes the marker. *used bytes of buf stay, those behind it. */
static int marker_await(struct remote_agent *a, char *buf, size_t *used, struct fault *why)
{
    size_t passed = 0, kept;
    char *found;
    int rc;

    while (!(found = memmem(buf, *used, marker, sizeof(marker) - 1))) {
        if (passed > NOISE_MAX)
            return fault_set(
                why, ML_ERR_REFUSED,
                "the login shell's start-up files print without an end; they must be quiet "
                "when they aren't on a terminal");
        kept = *used < 1024 ? *used : 1024;
        passed += *used - kept;
        memmove(buf, buf + *used - kept, kept);
        *used = kept;
        rc = more_read(a, buf, sizeof(a->first) - 1, used, why);
        if (rc == REMOTE_COMMAND_ENDED) {
            buf[*used] = '\0';
            return silence_explain(a, buf, false, why);
        }
        if (rc)
            return rc;
    }
    found += sizeof(marker) - 1;
    *used -= (size_t)(found - buf);
    memmove(buf, found, *used);
    return 0;
}

/* Runs the line. 0: an agent speaks; 1: *verdict tells why none does. */
static int line_run(struct remote_agent *a, struct remote_session *s, const char *line,
                    struct verdict *verdict, struct fault *why)
{
    size_t *used = &a->first_size;
    int rc = remote_command_start(&a->command, s, line, why);

    *used = 0;
    if (!rc)
        rc = marker_await(a, a->first, used, why);
    while (!rc && (*used == 0 || ((unsigned char)a->first[0] > FRAME_FIRST_MAX &&
                                  !memchr(a->first, '\n', *used)))) {
        rc = *used < sizeof(a->first) - 1
                 ? more_read(a, a->first, sizeof(a->first) - 1, used, why)
                 : fault_set(why, ML_ERR_REFUSED, "what answers there is no agent of mlaunch's");
        if (rc == REMOTE_COMMAND_ENDED)
            rc = silence_explain(a, "", true, why);
    }
    if (rc || (unsigned char)a->first[0] <= FRAME_FIRST_MAX)
        return rc;
    a->first[*used] = '\0';
    if (sscanf(a->first, "none %15s %63s %3499[^\n]", verdict->tried, verdict->machine,
               verdict->home) != 3)
        return fault_set(why, ML_ERR_REFUSED, "what answers there is no agent of mlaunch's: %.100s",
                         a->first);
    return 1;
}

/* --agent names one and only one. */
static int named_explain(struct remote_agent *a, const struct verdict *v,
                         const struct channel_config *config, struct fault *why)
{
    char words[200];

    remote_command_reap(&a->command);
    last_words_line(&a->command.words, words, sizeof(words));
    if (strcmp(v->tried, "missing") == 0)
        return fault_set(why, ML_ERR_REFUSED, "there is no program %s, which --agent names",
                         config->agent);
    if (atoi(v->tried) == AGENT_EXIT_NOT_OURS)
        return fault_set(
            why, ML_ERR_REFUSED,
            "%s, which --agent names, is another build than this mlaunch (%s); without "
            "--agent mlaunch brings its own",
            config->agent, config->build);
    return fault_set(why, ML_ERR_REFUSED,
                     "%s, which --agent names, cannot run there: status %s%s%s", config->agent,
                     v->tried, *words ? ": " : "", words);
}

static int machine_check(const struct verdict *v, struct fault *why)
{
    struct utsname here;

    if (uname(&here) == 0 && strcmp(here.machine, v->machine) != 0)
        return fault_set(
            why, ML_ERR_REFUSED,
            "no agent of this build is there, and mlaunch can't bring its own: the host is "
            "%s, this machine %s; install mlaunch there from the same source, or name an "
            "agent with --agent",
            v->machine, here.machine);
    return 0;
}

static int staged_explain(struct remote_agent *a, const struct verdict *v,
                          const struct channel_config *config, struct fault *why)
{
    char words[200];

    remote_command_reap(&a->command);
    last_words_line(&a->command.words, words, sizeof(words));
    return fault_set(
        why, ML_ERR_REFUSED,
        "the agent was copied to %s/.cache/mlaunch/%s but does not run there (status %s%s%s); "
        "is that file system mounted noexec, or its C library another one?",
        v->home, config->build, v->tried, *words ? ": " : "", words);
}

int remote_agent_start(struct remote_agent *a, struct remote_session *s,
                       const struct channel_config *config, struct fault *why)
{
    struct verdict v = {0};
    char *line;
    int rc = remote_agent_line(&line, config, why);

    if (rc)
        return rc;
    s->wait.deadline_ms = clock_ms() + config->connect_timeout_ms;
    rc = line_run(a, s, line, &v, why);
    if (rc == 1 && config->agent) {
        rc = named_explain(a, &v, config, why);
    } else if (rc == 1) {
        log_info("%s: no agent of build %s is there (last status: %s); copying it", s->config->name,
                 config->build, v.tried);
        rc = machine_check(&v, why);
        if (!rc)
            rc = remote_stage(s, v.home, atoi(v.tried) == AGENT_EXIT_NOT_OURS, config, why);
        remote_command_close(&a->command);
        s->wait.deadline_ms = clock_ms() + config->connect_timeout_ms;
        if (!rc)
            rc = line_run(a, s, line, &v, why);
        if (rc == 1)
            rc = staged_explain(a, &v, config, why);
    }
    free(line);
    return rc;
}

void remote_agent_close(struct remote_agent *a)
{
    remote_command_close(&a->command);
}
