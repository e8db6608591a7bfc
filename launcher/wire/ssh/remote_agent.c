/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_agent.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/text_gaps.h"
#include "common/text/text_stream.h"
#include "launcher/base/loader/libc_need.h"
#include "launcher/base/process/install_path.h"
#include "launcher/wire/protocol/agent_end.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "launcher/wire/ssh/remote_find.h"
#include "launcher/wire/ssh/remote_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define MARKER "@mlaunch-agent@"
static const char marker[] = MARKER "\n";

enum { NOISE_MAX = 65536 /* bytes that start-up files may print before the marker */ };

/* What the line has printed when no candidate was right. */
struct verdict {
    char tried[16]; /* status of the last candidate, "missing", or "changed": a copy isn't whole */
    unsigned user;  /* the uid there */
    char machine[64];
    char libc[64]; /* "glibc 2.31" or "musl 1.2.3"; "unknown " if it was not found */
    char home[3500];
};

/* A path as a word within the line's single quotes, in octal if it holds a character that may mean
 * something to a shell. For the caller to free; NULL: out of memory. */
static char *path_word(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+,@=:-";
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return NULL;
    if (path[strspn(path, plain)] == '\0') {
        fputs(path, to);
        return text_stream_close(to, &s);
    }
    fputs("\"$(printf %b \"", to);
    for (; *path; path++) {
        if (strchr(plain, *path))
            fputc(*path, to);
        else
            fprintf(to, "\\0%03o", (unsigned char)*path);
    }
    fputs("\")\"", to);
    return text_stream_close(to, &s);
}

/* Sum, size and name of each file of the user's copy, as cksum prints them, on one line. For the
 * caller to free; NULL: out of memory. */
static char *files_words(const struct channel_config *config, const struct host_set *set)
{
    struct remote_stage_size sizes[REMOTE_STAGE_FILES];
    int count = config->agent ? 0 : remote_stage_sizes(sizes, config, set);
    struct text_stream s;
    FILE *to = text_stream_open(&s);

    if (!to)
        return NULL;
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%u %lld %s", i ? " " : "", sizes[i].sum, (long long)sizes[i].size,
                sizes[i].name);
    return text_stream_close(to, &s);
}

static int line_make(char **out, const struct channel_config *config, const struct host_set *set,
                     struct fault *why)
{
    char copy[REMOTE_STAGE_NAME], none[8], others[32], *script = NULL;
    char *candidate = path_word(config->agent ? config->agent : config->local_agent);
    char *files = files_words(config, set);
    const struct text_gap gaps[] = {{"{marker}", MARKER},
                                    {"{copy}", copy},
                                    {"{files}", files},
                                    {"{candidate}", candidate},
                                    {"{only}", config->agent ? "only" : ""},
                                    {"{build}", config->build},
                                    {"{others}", others},
                                    {"{none}", none},
                                    {NULL, NULL}};

    remote_stage_name(copy, config->build, set);
    snprintf(none, sizeof(none), "%d", AGENT_EXIT_NOT_OURS);
    /* The last two: it is of another architecture, or a library is missing. */
    snprintf(others, sizeof(others), "%d|%d|%d", AGENT_EXIT_NOT_OURS, STATUS_NOT_EXECUTABLE,
             STATUS_NOT_FOUND);
    if (candidate && files)
        script = text_gaps_fill(remote_find, gaps);
    if (!script || asprintf(out, "exec /bin/sh -c '%s'", script) < 0)
        *out = NULL;
    free(script);
    free(candidate);
    free(files);
    return *out ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* The reason why the command has ended before any agent sent a byte. */
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

/* Waits for more bytes and appends them at buf + *used. REMOTE_COMMAND_ENDED: there are no more. */
static int more_read(struct remote_agent *a, char *buf, size_t room, size_t *used,
                     struct fault *why)
{
    int n;

    while ((n = remote_command_read(&a->command, buf + *used, room - *used, why)) == 0) {
        int rc = remote_session_wait(a->command.session, why);

        if (rc == ML_ERR_TIMEOUT)
            fault_set(
                why, rc,
                "logged in, but the login shell or the agent sent nothing for too long; do the "
                "shell's start-up files wait for something?");
        if (rc)
            return rc;
    }
    if (n > 0)
        *used += (size_t)n;
    return n > 0 ? 0 : n;
}

/* Skips everything up to the marker. The bytes that follow it are moved to the beginning of buf;
 * *used of them have arrived. */
static int marker_await(struct remote_agent *a, char *buf, size_t *used, struct fault *why)
{
    size_t passed = 0, kept;
    char *found;
    int rc;

    while (!(found = memmem(buf, *used, marker, sizeof(marker) - 1))) {
        if (passed > NOISE_MAX)
            return fault_set(
                why, ML_ERR_REFUSED,
                "the login shell's start-up files print endlessly; they must be quiet without a "
                "terminal");
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

/* Runs the line. 0: an agent has answered; 1: none is right, for the reasons in *verdict. */
static int line_run(struct remote_agent *a, struct remote_session *s, const char *line,
                    struct verdict *verdict, struct fault *why)
{
    size_t *used = &a->first_size;
    int rc = remote_command_start(&a->command, s, line, why);

    *used = 0;
    if (!rc)
        rc = marker_await(a, a->first, used, why);
    while (!rc && (*used == 0 || ((unsigned char)a->first[0] > AGENT_FIRST_BYTE_MAX &&
                                  !memchr(a->first, '\n', *used)))) {
        rc = *used < sizeof(a->first) - 1
                 ? more_read(a, a->first, sizeof(a->first) - 1, used, why)
                 : fault_set(why, ML_ERR_REFUSED, "the program that answered is not mlaunch-agent");
        if (rc == REMOTE_COMMAND_ENDED)
            rc = silence_explain(a, "", true, why);
    }
    if (rc || (unsigned char)a->first[0] <= AGENT_FIRST_BYTE_MAX)
        return rc;
    a->first[*used] = '\0';
    if (sscanf(a->first, "none %15s %u %63s %63s %3499[^\n]", verdict->tried, &verdict->user,
               verdict->machine, verdict->libc, verdict->home) != 5)
        return fault_set(why, ML_ERR_REFUSED,
                         "the program that answered is not mlaunch-agent: %.100s", a->first);
    if (strchr(verdict->libc, '-'))
        *strchr(verdict->libc, '-') = ' ';
    return 1;
}

/* The reason why the only candidate, that of --agent, is not right. */
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
            "--agent mlaunch copies its own",
            config->agent, config->build);
    return fault_set(why, ML_ERR_REFUSED,
                     "%s, which --agent names, cannot run there: status %s%s%s", config->agent,
                     v->tried, *words ? ": " : "", words);
}

/* What this build's own files need that every job has there. */
static void need_find(char need[LIBC_NEED_TEXT], const struct channel_config *config)
{
    static const enum install_part libraries[] = {INSTALL_SHIM, INSTALL_RUNTIME};
    char path[PATH_MAX];
    struct fault why;

    *need = '\0';
    libc_need_raise(need, config->local_agent);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (install_path_find(path, libraries[i], &why) == 0)
            libc_need_raise(need, path);
}

/* The reason why neither this build's own files nor those of a set are for this host. */
static int unfit_explain(const struct verdict *v, const char *machine, const char *need,
                         const struct host_set *sets, int count, struct fault *why)
{
    const char *libc = strncmp(v->libc, "unknown", 7) == 0 ? "an unknown C library" : v->libc;
    char names[200] = "none";

    for (int i = 0, used = 0; i < count && used < (int)sizeof(names); i++)
        used += snprintf(names + used, sizeof(names) - (size_t)used, "%s%s", i ? ", " : "",
                         sets[i].name);
    if (strcmp(machine, v->machine) != 0)
        return fault_set(
            why, ML_ERR_REFUSED,
            "no agent of this build is there, and mlaunch cannot copy its own: the host is "
            "%s with %s, this machine %s; install mlaunch there from the same source, or name "
            "an agent with --agent (host sets here: %s)",
            v->machine, libc, machine, names);
    return fault_set(
        why, ML_ERR_REFUSED,
        "no agent of this build is there, and this machine's would not start: it needs glibc %s, "
        "and the host has %s; build mlaunch there from the same source and name its agent with "
        "--agent, or build it here on a system as old as the host (host sets here: %s)",
        need, libc, names);
}

/* Sets *set to what is to be copied to the host: this build's own files, where they start; else the
 * first set that fits. */
static int set_choose(struct host_set *set, const struct verdict *v,
                      const struct channel_config *config, struct fault *why)
{
    struct host_set *sets = calloc(HOST_SETS_MOST, sizeof(*sets));
    char need[LIBC_NEED_TEXT], directory[PATH_MAX];
    int count = 0, i = 0, rc = 0;

    need_find(need, config);
    if (!sets)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else if (strcmp(set->name, v->machine) != 0 || !libc_need_is_met(need, v->libc)) {
        if (install_path_find(directory, INSTALL_HOSTS, why) == 0)
            count = host_set_list(sets, directory);
        while (i < count && !host_set_fits(sets[i].name, v->machine, v->libc))
            i++;
        if (i < count)
            *set = sets[i];
        else
            rc = unfit_explain(v, set->name, need, sets, count, why);
    }
    free(sets);
    return rc;
}

static int staged_explain(struct remote_agent *a, const struct verdict *v,
                          const struct channel_config *config, const struct host_set *set,
                          struct fault *why)
{
    char words[200], name[REMOTE_STAGE_NAME];

    remote_stage_name(name, config->build, set);
    remote_command_reap(&a->command);
    last_words_line(&a->command.words, words, sizeof(words));
    if (strcmp(v->tried, "changed") == 0)
        return fault_set(why, ML_ERR_REFUSED,
                         "the agent was copied to %s/.cache/mlaunch/%s, but what is there now is "
                         "not what was copied, or others may write to it; remove that directory",
                         v->home, name);
    return fault_set(
        why, ML_ERR_REFUSED,
        "the agent was copied to %s/.cache/mlaunch/%s but does not run there (status %s%s%s); "
        "is that file system mounted noexec, or does it have another C library?",
        v->home, name, v->tried, *words ? ": " : "", words);
}

/* Runs the line for the set; as line_run. */
static int set_run(struct remote_agent *a, struct remote_session *s,
                   const struct channel_config *config, const struct host_set *set,
                   struct verdict *v, struct fault *why)
{
    char *line;
    int rc = line_make(&line, config, set, why);

    if (rc)
        return rc;
    remote_command_close(&a->command);
    s->wait.deadline_ms = clock_ms() + config->connect_timeout_ms;
    rc = line_run(a, s, line, v, why);
    free(line);
    return rc;
}

static bool is_distrusted(const struct verdict *v)
{
    return atoi(v->tried) == AGENT_EXIT_NOT_OURS || strcmp(v->tried, "changed") == 0;
}

/* Copies what fits the host, unless it is there already, and starts it. *is_copied: it did copy. */
static int copy_run(struct remote_agent *a, struct remote_session *s,
                    const struct channel_config *config, struct host_set *set, struct verdict *v,
                    bool *is_copied, struct fault *why)
{
    int rc = set_choose(set, v, config, why);

    if (!rc && *set->directory) { /* there may be a copy of that set */
        rc = set_run(a, s, config, set, v, why);
        if (rc != 1)
            return rc;
        rc = 0;
    }
    if (rc)
        return rc;
    log_info("%s: no agent of build %s is there (last status: %s); copying %s", s->config->name,
             config->build, v->tried, *set->directory ? set->name : "it");
    *is_copied = true;
    rc = remote_stage(s, v->home, v->user, is_distrusted(v), config, set, why);
    if (!rc)
        rc = set_run(a, s, config, set, v, why);
    return rc == 1 ? staged_explain(a, v, config, set, why) : rc;
}

int remote_agent_start(struct remote_agent *a, struct remote_session *s,
                       const struct channel_config *config, struct fault *why)
{
    struct host_set set = {.directory = ""};
    struct verdict v = {0};
    struct utsname here;
    bool is_copied = false;
    int rc;

    uname(&here);
    snprintf(set.name, sizeof(set.name), "%.*s", HOST_SET_NAME - 1, here.machine);
    rc = set_run(a, s, config, &set, &v, why);
    if (rc == 1 && config->agent)
        rc = named_explain(a, &v, config, why);
    else if (rc == 1)
        rc = copy_run(a, s, config, &set, &v, &is_copied, why);
    if (!rc)
        log_debug("%s: an agent of this build runs%s", s->config->name,
                  is_copied ? ", just copied" : "; nothing had to be copied");
    return rc;
}

void remote_agent_close(struct remote_agent *a)
{
    remote_command_close(&a->command);
}
