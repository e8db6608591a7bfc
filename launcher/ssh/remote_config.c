/* SPDX-License-Identifier: MIT */
#include "launcher/ssh/remote_config.h"

#include "common/number.h"
#include "launcher/ssh/remote_config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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
        return 0; /* the first value counts */
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
        word = remote_config_word(&rest);
        rc = string_list_add(&c->identities, word ? word : "", why);
    }
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords) && !rc; i++) {
        enum remote_option option = keywords[i].option;

        if (strcasecmp(keyword, keywords[i].keyword) != 0)
            continue;
        /* Commands and lists of files are taken as written, quotes included. */
        if (option == REMOTE_PROXY_COMMAND || option == REMOTE_USER_KNOWN_HOSTS ||
            option == REMOTE_GLOBAL_KNOWN_HOSTS)
            word = rest;
        else
            word = remote_config_word(&rest);
        if (!word || !*word)
            rc = fault_set(why, ML_ERR_ARGUMENT, "%s has no value", keyword);
        else
            rc = option_set(c, option, word, why);
    }
    free(copy);
    return rc;
}

/* The words of an option, each expanded, go to the end of a list; "none" ends it. */
static int words_expand(struct remote_config *c, struct string_list *list, const char *words,
                        struct fault *why)
{
    char *copy = NULL, *rest, *word, *made;
    int rc = string_copy(&copy, words, why);

    for (rest = copy; !rc && (word = remote_config_word(&rest)) && strcasecmp(word, "none") != 0;) {
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

/* What nothing was said about, and the tokens. HostName first: other options' tokens refer to it.
 */
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
    return rc ? rc : identities_expand(c, why);
}

static int files_read(struct remote_config *c, struct fault *why)
{
    char path[4096];
    int rc;

    if (c->file && strcmp(c->file, "none") == 0)
        return 0;
    if (c->file)
        return remote_config_file_read(c, c->file, true, keyword_take, why);
    snprintf(path, sizeof(path), "%s/.ssh/config", remote_config_home());
    rc = remote_config_file_read(c, path, false, keyword_take, why);
    return rc ? rc : remote_config_file_read(c, "/etc/ssh/ssh_config", false, keyword_take, why);
}

/* "user@[::1]" → "::1": user and brackets are the hostfile's, not ssh_config's. */
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

int remote_config_read(struct remote_config **out, const struct host *host, const char *file,
                       struct fault *why)
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
        rc = files_read(c, why);
    if (!rc)
        rc = config_finish(c, why);
    if (rc) {
        remote_config_destroy(c);
        return rc;
    }
    *out = c;
    return 0;
}

void remote_config_destroy(struct remote_config *c)
{
    if (!c)
        return;
    for (int i = 0; i < REMOTE_OPTIONS; i++)
        free(c->option[i]);
    string_list_clear(&c->identities);
    string_list_clear(&c->known_hosts);
    free(c->name);
    free(c->file);
    free(c);
}
