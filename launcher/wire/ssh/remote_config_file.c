/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_config_file.h"

#include "common/text/number.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INCLUDE_DEPTH = 16 }; /* the same limit as ssh's */

struct config_reader {
    struct remote_config *config;
    const char *path;
    int depth;
    bool is_checked; /* only this user and root may write the file */
    bool applies;    /* the current block concerns this host */
    const struct remote_wait *wait;
    bool is_placed; /* what went wrong is in an included file, and the sentence says where */
};

/* The next word of a value, with quotes removed in place; *rest moves on. NULL: no more, or a
 * comment begins. */
static char *word_next(char **rest)
{
    char *p = *rest, *word, *to;
    bool quoted = false;

    p += strspn(p, " \t");
    if (!*p || *p == '#')
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

/* --- keywords --------------------------------------------------------------------------------- */

static const struct {
    const char *keyword;
    enum remote_option option;
} keywords[] = {
    {"hostname", REMOTE_HOSTNAME},
    {"user", REMOTE_USER},
    {"port", REMOTE_PORT},
    {"hostkeyalias", REMOTE_HOST_KEY_ALIAS},
    {"proxycommand", REMOTE_PROXY_COMMAND},
    {"proxyjump", REMOTE_PROXY_JUMP},
    {"userknownhostsfile", REMOTE_USER_KNOWN_HOSTS},
    {"globalknownhostsfile", REMOTE_GLOBAL_KNOWN_HOSTS},
    {"identitiesonly", REMOTE_IDENTITIES_ONLY},
    {"identityagent", REMOTE_IDENTITY_AGENT},
    {"addressfamily", REMOTE_ADDRESS_FAMILY},
    {"bindaddress", REMOTE_BIND_ADDRESS},
    {"revokedhostkeys", REMOTE_REVOKED_HOST_KEYS},
    {"pubkeyauthentication", REMOTE_PUBKEY_AUTHENTICATION},
    {"preferredauthentications", REMOTE_PREFERRED_AUTHENTICATIONS},
    {"requiredrsasize", REMOTE_RSA_SIZE},
    {"ciphers", REMOTE_CIPHERS},
    {"macs", REMOTE_MACS},
    {"kexalgorithms", REMOTE_KEX},
    {"hostkeyalgorithms", REMOTE_HOST_KEY_ALGORITHMS},
    {"pubkeyacceptedalgorithms", REMOTE_PUBKEY_ALGORITHMS},
    {"pubkeyacceptedkeytypes", REMOTE_PUBKEY_ALGORITHMS},
    {"compression", REMOTE_COMPRESSION},
};

static int option_set(struct remote_config *c, enum remote_option option, const char *value,
                      struct fault *why)
{
    if (c->option[option])
        return 0; /* the first value wins */
    return string_copy(&c->option[option], value, why);
}

static int keyword_take(struct remote_config *c, const char *keyword, const char *value,
                        struct fault *why)
{
    char *copy, *rest, *word;
    int rc = 0;

    if (strcasecmp(keyword, "proxycommand") == 0 || strcasecmp(keyword, "proxyjump") == 0) {
        if (c->option[REMOTE_PROXY_COMMAND] || c->option[REMOTE_PROXY_JUMP])
            return 0;
    }
    if (string_copy(&copy, value, why))
        return ML_ERR_MEMORY;
    rest = copy;
    if (strcasecmp(keyword, "identityfile") == 0) {
        word = word_next(&rest);
        rc = string_list_add(&c->identities, word ? word : "", why);
    }
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords) && !rc; i++) {
        enum remote_option option = keywords[i].option;

        if (strcasecmp(keyword, keywords[i].keyword) != 0)
            continue;
        /* Commands and lists of files are taken as written, quotes included. */
        if (option == REMOTE_PROXY_COMMAND || option == REMOTE_USER_KNOWN_HOSTS ||
            option == REMOTE_GLOBAL_KNOWN_HOSTS || option == REMOTE_REVOKED_HOST_KEYS)
            word = rest;
        else
            word = word_next(&rest);
        if (!word || !*word)
            rc = fault_set(why, ML_ERR_ARGUMENT, "%s has no value", keyword);
        else
            rc = option_set(c, option, word, why);
    }
    free(copy);
    return rc;
}

/* --- Host and Match --------------------------------------------------------------------------- */

/* A pattern of ssh knows only * and ?, no brackets. Case is ignored. */
static bool pattern_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *taken = name; /* the last '*', and the end of what it stands for */

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            taken = name;
        } else if (*pattern == '?' ||
                   tolower((unsigned char)*pattern) == tolower((unsigned char)*name)) {
            pattern++;
            name++;
        } else if (star) { /* earlier stars need not take more: this one can take all the rest */
            pattern = star + 1;
            name = ++taken;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

/* Applies one pattern of a list. True: a match of !PATTERN has decided the whole list. */
static bool pattern_decides(const char *pattern, const char *name, bool *result)
{
    bool negated = *pattern == '!';

    if (!pattern_matches(pattern + negated, name))
        return false;
    *result = !negated;
    return negated;
}

bool remote_config_file_list_matches(char *list, const char *name)
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

    for (char *p = word_next(&value); p; p = word_next(&value))
        if (pattern_decides(p, c->name, &result))
            break;
    return result;
}

/* Match exec: the command matches if it ends with status 0. */
static int command_run(const struct config_reader *f, const char *text, bool *matches,
                       struct fault *why)
{
    char *command, *argv[] = {"sh", "-c", NULL, NULL};
    int status = -1, rc = remote_config_expand(&command, f->config, text, why);
    pid_t pid;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    if (rc)
        return rc;
    argv[2] = command;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (posix_spawn(&pid, "/bin/sh", &files, &attributes, argv, environ) == 0)
        rc = remote_wait_group(f->wait, pid, &status, why);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (rc == ML_ERR_TIMEOUT)
        fault_set(why, rc, "the command of Match exec has not ended in time: %s", command);
    free(command);
    *matches = !rc && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return rc;
}

static int criterion_matches(const struct config_reader *f, const char *name, char *argument,
                             bool *matches, struct fault *why)
{
    const struct remote_config *c = f->config;
    const char *host = c->option[REMOTE_HOSTNAME], *user = c->option[REMOTE_USER];

    if (!argument)
        return fault_set(why, ML_ERR_ARGUMENT, "Match %s needs an argument", name);
    if (strcasecmp(name, "exec") == 0)
        return command_run(f, argument, matches, why);
    if (strcasecmp(name, "host") == 0)
        *matches = remote_config_file_list_matches(argument, host ? host : c->name);
    else if (strcasecmp(name, "originalhost") == 0)
        *matches = remote_config_file_list_matches(argument, c->name);
    else if (strcasecmp(name, "user") == 0)
        *matches =
            remote_config_file_list_matches(argument, user ? user : remote_config_local_user());
    else if (strcasecmp(name, "localuser") == 0)
        *matches = remote_config_file_list_matches(argument, remote_config_local_user());
    else
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch does not know Match %s", name);
    return 0;
}

/* All criteria of a Match line must hold. After the first that does not, no command is run. */
static int match_line_matches(const struct config_reader *f, char *value, bool *matches,
                              struct fault *why)
{
    int rc = 0;

    *matches = true;
    for (char *name = word_next(&value); name && !rc; name = word_next(&value)) {
        bool negated = *name == '!', one = true;

        name += negated;
        if (strcasecmp(name, "canonical") == 0)
            one = false; /* mlaunch never canonicalizes names */
        else if (strcasecmp(name, "all") != 0 && strcasecmp(name, "final") != 0) {
            char *argument = word_next(&value);

            if (*matches || !argument)
                rc = criterion_matches(f, name, argument, &one, why);
        }
        *matches = *matches && one != negated;
    }
    return rc;
}

static int file_read(struct config_reader *f, bool must_exist, struct fault *why);

/* The directory that relative names of Include start from. */
static const char *included_from(const char *path)
{
    return strncmp(path, "/etc/ssh/", strlen("/etc/ssh/")) == 0 ? "/etc/ssh" : "~/.ssh";
}

static int include_read(struct config_reader *f, char *value, struct fault *why)
{
    int rc = 0;

    for (char *name = word_next(&value); name && !rc; name = word_next(&value)) {
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
            for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
                struct config_reader in = {.config = f->config,
                                           .path = found.gl_pathv[i],
                                           .depth = f->depth + 1,
                                           .is_checked = true,
                                           .applies = true,
                                           .wait = f->wait};

                rc = file_read(&in, false, why);
                f->is_placed = in.is_placed;
            }
            globfree(&found);
        }
        free(pattern);
    }
    return rc;
}

static int line_read(struct config_reader *f, char *line, struct fault *why)
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
        return match_line_matches(f, value, &f->applies, why);
    if (!f->applies)
        return 0;
    if (strcasecmp(keyword, "include") == 0)
        return include_read(f, value, why);
    return keyword_take(f->config, keyword, value, why);
}

/* Whether nobody but the user is in the group, as Debian makes one for each user. */
static bool group_is_own(gid_t gid)
{
    struct passwd user, *found_user = NULL;
    struct group group, *found = NULL;
    char user_text[4096], text[4096];

    if (getpwuid_r(getuid(), &user, user_text, sizeof(user_text), &found_user) || !found_user ||
        user.pw_gid != gid || getgrgid_r(gid, &group, text, sizeof(text), &found) || !found ||
        strcmp(group.gr_name, user.pw_name) != 0)
        return false;
    for (char **member = group.gr_mem; *member; member++)
        if (strcmp(*member, user.pw_name) != 0)
            return false;
    return true;
}

/* As ssh does: whoever may write there can have commands run, by Match exec or ProxyCommand.
 * Debian's ssh permits a group of one. */
static int owner_check(const struct config_reader *f, int fd, struct fault *why)
{
    struct stat st;

    if (fstat(fd, &st))
        return fault_os(why, ML_ERR_ARGUMENT, errno, "cannot read the SSH configuration %s",
                        f->path);
    if ((st.st_uid == 0 || st.st_uid == getuid()) && !(st.st_mode & S_IWOTH) &&
        (!(st.st_mode & S_IWGRP) || group_is_own(st.st_gid)))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "Bad owner or permissions on %s: others may write to it, so ssh refuses it, "
                     "too; run chmod go-w %s, or make it yours",
                     f->path, f->path);
}

static int file_read(struct config_reader *f, bool must_exist, struct fault *why)
{
    FILE *stream = fopen(f->path, "re");
    char *line = NULL;
    size_t room = 0;
    int rc = 0;

    if (!stream && (must_exist || errno != ENOENT))
        return fault_os(why, ML_ERR_ARGUMENT, errno, "cannot read the SSH configuration %s",
                        f->path);
    if (!stream)
        return 0;
    if (f->is_checked && owner_check(f, fileno(stream), why)) {
        f->is_placed = true;
        fclose(stream);
        return why->code;
    }
    for (int number = 1; !rc && getline(&line, &room, stream) >= 0; number++) {
        rc = line_read(f, line, why);
        if (rc && !f->is_placed)
            fault_wrap(why, "%s line %d", f->path, number);
        f->is_placed = rc != 0;
    }
    free(line);
    fclose(stream);
    return rc;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Appends the words of an option, each expanded, to a list; "none" ends it. */
static int words_expand(struct remote_config *c, struct string_list *list, const char *words,
                        struct fault *why)
{
    char *copy = NULL, *rest, *word, *made;
    int rc = string_copy(&copy, words, why);

    for (rest = copy; !rc && (word = word_next(&rest)) && strcasecmp(word, "none") != 0;) {
        rc = remote_config_expand(&made, c, word, why);
        if (!rc) {
            rc = string_list_add(list, made, why);
            free(made);
        }
    }
    free(copy);
    return rc;
}

static int identities_expand(struct remote_config *c, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < c->identities.count && !rc; i++) {
        char *made;

        rc = remote_config_expand(&made, c, c->identities.items[i], why);
        if (!rc) {
            free(c->identities.items[i]);
            c->identities.items[i] = made;
        }
    }
    return rc;
}

/* Sets what the files have left open, and expands tokens: those of HostName first, because the
 * tokens of other options refer to it. */
static int config_finish(struct remote_config *c, struct fault *why)
{
    char *written, *hostname;
    const char *user = c->option[REMOTE_USER_KNOWN_HOSTS];
    const char *global = c->option[REMOTE_GLOBAL_KNOWN_HOSTS];
    int64_t port;
    int rc = option_set(c, REMOTE_HOSTNAME, c->name, why);

    if (!rc)
        rc = option_set(c, REMOTE_USER, remote_config_local_user(), why);
    if (!rc)
        rc = option_set(c, REMOTE_PORT, "22", why);
    if (rc)
        return rc;
    /* In HostName itself %h is the name that the user wrote. */
    written = c->option[REMOTE_HOSTNAME];
    c->option[REMOTE_HOSTNAME] = NULL;
    rc = remote_config_expand(&hostname, c, written, why);
    c->option[REMOTE_HOSTNAME] = rc ? NULL : hostname;
    free(written);
    if (rc)
        return rc;
    if (!number_parse(c->option[REMOTE_PORT], 1, 65535, &port))
        return fault_set(why, ML_ERR_ARGUMENT, "\"%s\" is no port", c->option[REMOTE_PORT]);
    c->port = (int)port;
    rc = words_expand(c, &c->known_hosts, user ? user : "~/.ssh/known_hosts ~/.ssh/known_hosts2",
                      why);
    if (!rc)
        rc = words_expand(c, &c->known_hosts,
                          global ? global : "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",
                          why);
    if (!rc && c->option[REMOTE_REVOKED_HOST_KEYS])
        rc = words_expand(c, &c->revoked, c->option[REMOTE_REVOKED_HOST_KEYS], why);
    return rc ? rc : identities_expand(c, why);
}

/* ssh checks neither what -F names nor the system's file, but all that these include. */
static int files_read(struct remote_config *c, const struct remote_wait *wait, struct fault *why)
{
    char path[4096];
    struct config_reader given = {.config = c, .path = c->file, .applies = true, .wait = wait},
                         own = given, systems = given;
    int rc;

    own.path = path;
    own.is_checked = true;
    systems.path = "/etc/ssh/ssh_config";
    if (c->file && strcmp(c->file, "none") == 0)
        return 0;
    if (c->file)
        return file_read(&given, true, why);
    snprintf(path, sizeof(path), "%s/.ssh/config", remote_config_home());
    rc = file_read(&own, false, why);
    return rc ? rc : file_read(&systems, false, why);
}

/* "user@[::1]" → "::1": user and brackets belong to the hostfile's syntax, not to ssh_config's. */
static char *name_copy(const char *name)
{
    const char *at = strrchr(name, '@');
    size_t size;

    if (at)
        name = at + 1;
    size = strlen(name);
    if (*name == '[' && size > 2 && name[size - 1] == ']')
        return strndup(name + 1, size - 2);
    return strdup(name);
}

int remote_config_file_read(struct remote_config **out, const struct host *host, const char *file,
                            const struct remote_wait *wait, struct fault *why)
{
    struct remote_config *c = calloc(1, sizeof(*c));
    char port[16];
    int rc = 0;

    if (!c || !(c->name = name_copy(host->name)) || (file && !(c->file = strdup(file)))) {
        remote_config_destroy(c);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    snprintf(port, sizeof(port), "%d", host->port);
    if (host->user)
        rc = option_set(c, REMOTE_USER, host->user, why);
    if (!rc && host->port)
        rc = option_set(c, REMOTE_PORT, port, why);
    if (!rc)
        rc = files_read(c, wait, why);
    if (!rc)
        rc = config_finish(c, why);
    if (rc) {
        remote_config_destroy(c);
        return rc;
    }
    *out = c;
    return 0;
}
