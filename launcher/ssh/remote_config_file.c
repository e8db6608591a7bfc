/* SPDX-License-Identifier: MIT */
#include "launcher/ssh/remote_config_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INCLUDE_DEPTH = 16 }; /* as ssh's */

struct file {
    struct remote_config *config;
    const char *path;
    remote_keyword_fn *keyword;
    int depth;
    bool applies; /* the block that we are in concerns this host */
};

char *remote_config_word(char **rest)
{
    char *p = *rest, *word, *to;
    bool quoted = false;

    p += strspn(p, " \t");
    if (!*p)
        return NULL;
    for (word = to = p; *p && (quoted || (*p != ' ' && *p != '\t')); p++) {
        if (*p == '"')
            quoted = !quoted;
        else
            *to++ = *p;
    }
    *rest = *p ? p + 1 : p;
    *to = '\0';
    return word;
}

/* ssh's patterns: * and ? alone, no brackets; names of hosts are compared without case. */
static bool pattern_matches(const char *pattern, const char *name)
{
    for (; *pattern; pattern++, name++) {
        if (*pattern == '*') {
            for (; *name; name++)
                if (pattern_matches(pattern + 1, name))
                    return true;
            return pattern_matches(pattern + 1, name);
        }
        if (!*name ||
            (*pattern != '?' && tolower((unsigned char)*pattern) != tolower((unsigned char)*name)))
            return false;
    }
    return !*name;
}

/* One pattern of a list: a match of !PATTERN ends the list with no. */
static bool pattern_decides(const char *pattern, const char *name, bool *result)
{
    bool negated = *pattern == '!';

    if (!pattern_matches(pattern + negated, name))
        return false;
    *result = !negated;
    return negated;
}

static bool list_matches(char *list, const char *name)
{
    bool result = false;
    char *save = NULL;

    for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
        if (pattern_decides(p, name, &result))
            break;
    return result;
}

static bool host_line_matches(const struct remote_config *c, char *value)
{
    bool result = false;

    for (char *p = remote_config_word(&value); p; p = remote_config_word(&value))
        if (pattern_decides(p, c->name, &result))
            break;
    return result;
}

/* Match exec: status 0 matches. */
static int command_run(const struct remote_config *c, const char *text, bool *matches,
                       struct fault *why)
{
    char *command, *argv[] = {"sh", "-c", NULL, NULL};
    int status = -1, rc = remote_config_expand(&command, c, text, why);
    pid_t pid;
    posix_spawn_file_actions_t files;

    if (rc)
        return rc;
    argv[2] = command;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, "/bin/sh", &files, NULL, argv, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&files);
    free(command);
    *matches = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return 0;
}

static int criterion_matches(const struct remote_config *c, const char *name, char *argument,
                             bool *matches, struct fault *why)
{
    const char *host = c->option[REMOTE_HOSTNAME], *user = c->option[REMOTE_USER];

    if (!argument)
        return fault_set(why, ML_ERR_ARGUMENT, "Match %s needs an argument", name);
    if (strcasecmp(name, "exec") == 0)
        return command_run(c, argument, matches, why);
    if (strcasecmp(name, "host") == 0)
        *matches = list_matches(argument, host ? host : c->name);
    else if (strcasecmp(name, "originalhost") == 0)
        *matches = list_matches(argument, c->name);
    else if (strcasecmp(name, "user") == 0)
        *matches = list_matches(argument, user ? user : remote_config_local_user());
    else if (strcasecmp(name, "localuser") == 0)
        *matches = list_matches(argument, remote_config_local_user());
    else
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch does not know Match %s", name);
    return 0;
}

/* All criteria of a Match line must hold; once one doesn't, none of the others is run. */
static int match_line_matches(const struct remote_config *c, char *value, bool *matches,
                              struct fault *why)
{
    int rc = 0;

    *matches = true;
    for (char *name = remote_config_word(&value); name && !rc; name = remote_config_word(&value)) {
        bool negated = *name == '!', one = true;

        name += negated;
        if (strcasecmp(name, "canonical") == 0)
            one = false; /* names are never made canonical here */
        else if (strcasecmp(name, "all") != 0 && strcasecmp(name, "final") != 0) {
            char *argument = remote_config_word(&value);

            if (*matches || !argument)
                rc = criterion_matches(c, name, argument, &one, why);
        }
        *matches = *matches && one != negated;
    }
    return rc;
}

static int file_read(struct remote_config *c, const char *path, bool must_exist,
                     remote_keyword_fn *keyword, int depth, struct fault *why);

/* Where relative names of Include count from. */
static const char *included_from(const char *path)
{
    return strncmp(path, "/etc/ssh/", strlen("/etc/ssh/")) == 0 ? "/etc/ssh" : "~/.ssh";
}

static int include_read(struct file *f, char *value, struct fault *why)
{
    int rc = 0;

    for (char *name = remote_config_word(&value); name && !rc; name = remote_config_word(&value)) {
        char *pattern = NULL;
        glob_t found;

        if (f->depth >= INCLUDE_DEPTH)
            return fault_set(why, ML_ERR_ARGUMENT, "too many levels of Include");
        if (*name == '~' || *name == '/')
            rc = string_copy(&pattern, name, why);
        else
            rc = string_format(&pattern, why, "%s/%s", included_from(f->path), name);
        if (rc)
            return rc;
        if (glob(pattern, GLOB_TILDE, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc && !rc; i++)
                rc = file_read(f->config, found.gl_pathv[i], false, f->keyword, f->depth + 1, why);
            globfree(&found);
        }
        free(pattern);
    }
    return rc;
}

static int line_read(struct file *f, char *line, struct fault *why)
{
    char *keyword = line + strspn(line, " \t"), *value, *end = line + strlen(line);

    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    if (!*keyword || *keyword == '#')
        return 0;
    value = keyword + strcspn(keyword, " \t=");
    if (*value) {
        bool separated = *value == '=';

        *value++ = '\0';
        value += strspn(value, " \t");
        if (!separated && *value == '=')
            value += 1 + strspn(value + 1, " \t");
    }
    if (strcasecmp(keyword, "host") == 0) {
        f->applies = host_line_matches(f->config, value);
        return 0;
    }
    if (strcasecmp(keyword, "match") == 0)
        return match_line_matches(f->config, value, &f->applies, why);
    if (!f->applies)
        return 0;
    if (strcasecmp(keyword, "include") == 0)
        return include_read(f, value, why);
    return f->keyword(f->config, keyword, value, why);
}

static int file_read(struct remote_config *c, const char *path, bool must_exist,
                     remote_keyword_fn *keyword, int depth, struct fault *why)
{
    struct file f = {c, path, keyword, depth, true};
    FILE *stream = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    if (!stream && (must_exist || errno != ENOENT))
        return fault_os(why, ML_ERR_ARGUMENT, errno, "cannot read the SSH configuration %s", path);
    if (!stream)
        return 0;
    for (int number = 1; !rc && getline(&line, &room, stream) >= 0; number++) {
        rc = line_read(&f, line, why);
        if (rc && !strstr(why ? why->text : "", " line "))
            fault_wrap(why, "%s line %d", path, number);
    }
    free(line);
    fclose(stream);
    return rc;
}

int remote_config_file_read(struct remote_config *c, const char *path, bool must_exist,
                            remote_keyword_fn *keyword, struct fault *why)
{
    return file_read(c, path, must_exist, keyword, 0, why);
}
