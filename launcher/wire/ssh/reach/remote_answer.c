/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_answer.h"

#include "common/log.h"
#include "common/text/number.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum use { OBEYED, ALGORITHMS, FILES, UNUSED, REFUSED };

struct keyword {
    const char *name;
    enum use use;
    enum remote_option option; /* OBEYED, ALGORITHMS */
    const char *harmless;      /* REFUSED unless it has this value */
    const char *instead;       /* REFUSED: what to do */
};

/* ssh's words, in its order. */
static const struct keyword keywords[] = {
    {"hostname", OBEYED, REMOTE_HOSTNAME, 0, 0},
    {"user", OBEYED, REMOTE_USER, 0, 0},
    {"port", OBEYED, REMOTE_PORT, 0, 0},
    {"addressfamily", OBEYED, REMOTE_ADDRESS_FAMILY, 0, 0},
    {"bindaddress", OBEYED, REMOTE_BIND_ADDRESS, 0, 0},
    {"bindinterface", OBEYED, REMOTE_BIND_INTERFACE, 0, 0},
    {"compression", OBEYED, REMOTE_COMPRESSION, 0, 0},
    {"hostkeyalias", OBEYED, REMOTE_HOST_KEY_ALIAS, 0, 0},
    {"identitiesonly", OBEYED, REMOTE_IDENTITIES_ONLY, 0, 0},
    {"identityagent", OBEYED, REMOTE_IDENTITY_AGENT, 0, 0},
    {"preferredauthentications", OBEYED, REMOTE_PREFERRED_AUTHENTICATIONS, 0, 0},
    {"proxycommand", OBEYED, REMOTE_PROXY_COMMAND, 0, 0},
    {"proxyjump", OBEYED, REMOTE_PROXY_JUMP, 0, 0},
    {"pubkeyauthentication", OBEYED, REMOTE_PUBKEY_AUTHENTICATION, 0, 0},
    {"requiredrsasize", OBEYED, REMOTE_RSA_SIZE, 0, 0},
    {"stricthostkeychecking", OBEYED, REMOTE_STRICT_HOST_KEY, 0, 0},
    {"ciphers", ALGORITHMS, REMOTE_CIPHERS, 0, 0},
    {"hostkeyalgorithms", ALGORITHMS, REMOTE_HOST_KEY_ALGORITHMS, 0, 0},
    {"kexalgorithms", ALGORITHMS, REMOTE_KEX, 0, 0},
    {"macs", ALGORITHMS, REMOTE_MACS, 0, 0},
    {"pubkeyacceptedalgorithms", ALGORITHMS, REMOTE_PUBKEY_ALGORITHMS, 0, 0},
    {"certificatefile", FILES, 0, 0, 0},
    {"globalknownhostsfile", FILES, 0, 0, 0},
    {"identityfile", FILES, 0, 0, 0},
    {"revokedhostkeys", FILES, 0, 0, 0},
    {"userknownhostsfile", FILES, 0, 0, 0},
    {"proxyusefdpass", REFUSED, 0, "no", "let the proxy command pass the bytes itself"},
};

/* Without effect here; doc/ssh.md says why of each. */
static const char *const unused[] = {
    "addkeystoagent",
    "batchmode",
    "canonicaldomains",
    "canonicalizefallbacklocal",
    "canonicalizehostname",
    "canonicalizemaxdots",
    "canonicalizepermittedcnames",
    "casignaturealgorithms",
    "channeltimeout",
    "checkhostip",
    "clearallforwardings",
    "connectionattempts",
    "connecttimeout",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "dynamicforward",
    "enableescapecommandline",
    "enablesshkeysign",
    "escapechar",
    "exitonforwardfailure",
    "fingerprinthash",
    "forkafterauthentication",
    "forwardagent",
    "forwardx11",
    "forwardx11timeout",
    "forwardx11trusted",
    "gatewayports",
    "gssapiauthentication",
    "gssapiclientidentity",
    "gssapidelegatecredentials",
    "gssapikexalgorithms",
    "gssapikeyexchange",
    "gssapirenewalforcesrekey",
    "gssapiserveridentity",
    "gssapitrustdns",
    "hashknownhosts",
    "host",
    "hostbasedacceptedalgorithms",
    "hostbasedauthentication",
    "ignoreunknown",
    "ipqos",
    "kbdinteractiveauthentication",
    "kbdinteractivedevices",
    "knownhostscommand",
    "localcommand",
    "localforward",
    "loglevel",
    "logverbose",
    "nohostauthenticationforlocalhost",
    "numberofpasswordprompts",
    "obscurekeystroketiming",
    "passwordauthentication",
    "permitlocalcommand",
    "permitremoteopen",
    "pkcs11provider",
    "rekeylimit",
    "remotecommand",
    "remoteforward",
    "requesttty",
    "securitykeyprovider",
    "sendenv",
    "serveralivecountmax",
    "serveraliveinterval",
    "sessiontype",
    "setenv",
    "stdinnull",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "syslogfacility",
    "tag",
    "tcpkeepalive",
    "tunnel",
    "tunneldevice",
    "updatehostkeys",
    "verifyhostkeydns",
    "versionaddendum",
    "visualhostkey",
    "warnweakcrypto",
    "xauthlocation",
};

static const struct keyword *keyword_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (strlen(keywords[i].name) == length && strncasecmp(keywords[i].name, name, length) == 0)
            return &keywords[i];
    return NULL;
}

static bool is_unused(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(unused) / sizeof(*unused); i++)
        if (strlen(unused[i]) == length && strncasecmp(unused[i], name, length) == 0)
            return true;
    return false;
}

const char *remote_answer_value(const char *text, const char *keyword, size_t *length)
{
    size_t size = strlen(keyword);

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncasecmp(line, keyword, size) != 0 || line[size] != ' ')
            continue;
        *length = strcspn(line, "\n") - size - 1;
        return line + size + 1;
    }
    return NULL;
}

static bool is_default(const struct keyword *k, const char *value, const char *defaults)
{
    size_t length = 0;
    const char *usual = defaults ? remote_answer_value(defaults, k->name, &length) : value;

    return usual == value ||
           (usual && strlen(value) == length && strncmp(usual, value, length) == 0);
}

/* --- lists of files --------------------------------------------------------------------------- */

static int path_add(struct remote_config *c, struct string_list *to, const char *text,
                    struct fault *why)
{
    char *made;
    int rc = remote_config_expand(&made, c, text, why);

    if (!rc) {
        rc = string_list_add(to, made, why);
        free(made);
    }
    return rc;
}

/* How many bytes of `list` are the first path. ssh -G puts spaces between paths and no quotes
 * around them: the longest piece that is a file's name counts, else a word. */
static size_t path_length(const struct remote_config *c, const char *list)
{
    size_t word = strcspn(list, " "), best = word;

    for (size_t end = word; list[end];) {
        char *piece, *made;
        bool is_there;

        end += 1 + strcspn(list + end + 1, " ");
        piece = strndup(list, end);
        if (!piece || remote_config_expand(&made, c, piece, NULL)) {
            free(piece);
            return best;
        }
        is_there = access(made, F_OK) == 0;
        free(made);
        free(piece);
        if (is_there)
            best = end;
    }
    return best;
}

/* Appends the paths of one line; "none" is none. */
static int paths_add(struct remote_config *c, struct string_list *to, const char *list,
                     struct fault *why)
{
    int rc = 0;

    while (!rc && *list) {
        size_t length = path_length(c, list);
        char *piece = strndup(list, length);

        if (!piece)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        if (*piece && strcasecmp(piece, "none") != 0)
            rc = path_add(c, to, piece, why);
        free(piece);
        list += length;
        list += *list == ' ';
    }
    return rc;
}

/* All lines with the keyword: each is one path, or one line a list of them. */
static int files_read(struct remote_config *c, struct string_list *to, const char *text,
                      const char *keyword, bool is_list, struct fault *why)
{
    const char *value;
    size_t length;
    int rc = 0;

    while (!rc && (value = remote_answer_value(text, keyword, &length))) {
        char *line = strndup(value, length);

        if (!line)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        rc = is_list ? paths_add(c, to, line, why) : path_add(c, to, line, why);
        free(line);
        text = value + length;
    }
    return rc;
}

/* The files that ssh looks for where no IdentityFile is set. */
static bool are_default(const struct string_list *identities)
{
    static const char *const names[] = {"/id_rsa",     "/id_ecdsa",      "/id_ecdsa_sk",
                                        "/id_ed25519", "/id_ed25519_sk", "/id_xmss",
                                        "/id_dsa"};
    const char *home = remote_config_home();
    size_t known = 0;

    for (size_t i = 0; i < identities->count; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
            const char *path = identities->items[i];

            known += strncmp(path, home, strlen(home)) == 0 &&
                     strncmp(path + strlen(home), "/.ssh", 5) == 0 &&
                     strcmp(path + strlen(home) + 5, names[k]) == 0;
        }
    return identities->count >= 4 && known == identities->count;
}

static int revoked_read(struct remote_config *c, const char *text, struct fault *why)
{
    size_t length;
    const char *value = remote_answer_value(text, "revokedhostkeys", &length);
    char *file = value ? strndup(value, length) : NULL;
    int rc = 0;

    if (value && !file)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (file && strcasecmp(file, "none") != 0)
        rc = string_list_add(&c->revoked, file, why);
    free(file);
    return rc;
}

static int all_files_read(struct remote_config *c, const char *text, struct fault *why)
{
    int rc = files_read(c, &c->known_hosts, text, "userknownhostsfile", true, why);

    if (!rc)
        rc = files_read(c, &c->known_hosts, text, "globalknownhostsfile", true, why);
    if (!rc) /* as it is: ssh expands nothing in this one */
        rc = revoked_read(c, text, why);
    if (!rc)
        rc = files_read(c, &c->certificates, text, "certificatefile", false, why);
    if (!rc)
        rc = files_read(c, &c->identities, text, "identityfile", false, why);
    c->has_default_identities = are_default(&c->identities);
    return rc;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int line_read(struct remote_config *c, const char *line, size_t size, const char *defaults,
                     struct fault *why)
{
    size_t name = strcspn(line, " \n");
    const struct keyword *k = keyword_find(line, name);
    char *value;
    int rc = 0;

    if (name >= size) /* ssh prints a keyword alone where its list is empty */
        return 0;
    if (!k && !is_unused(line, name))
        log_info("%s: ssh says \"%.*s\" of it, which mlaunch does not know", c->name, (int)size,
                 line);
    if (!k || k->use == FILES)
        return 0;
    value = strndup(line + name + 1, size - name - 1);
    if (!value)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (k->use == REFUSED && strcasecmp(value, k->harmless) != 0)
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "ssh_config says \"%s %.100s\", which mlaunch cannot "
                       "do: %s",
                       k->name, value, k->instead);
    if (!rc && (k->use == OBEYED || (k->use == ALGORITHMS && !is_default(k, value, defaults))) &&
        !c->option[k->option]) {
        c->option[k->option] = value;
        value = NULL;
    }
    free(value);
    return rc;
}

static int config_finish(struct remote_config *c, struct fault *why)
{
    int64_t port;

    if (!c->option[REMOTE_HOSTNAME] || !c->option[REMOTE_USER] || !c->option[REMOTE_PORT])
        return fault_set(why, ML_ERR_ARGUMENT,
                         "`ssh -G %s` says no HostName, User or Port; is the ssh in PATH OpenSSH?",
                         c->name);
    if (!number_parse(c->option[REMOTE_PORT], 1, 65535, &port))
        return fault_set(why, ML_ERR_ARGUMENT, "`ssh -G %s` says \"port %.40s\", which is no port",
                         c->name, c->option[REMOTE_PORT]);
    c->port = (int)port;
    return 0;
}

int remote_answer_read(struct remote_config *c, const char *text, const char *defaults,
                       struct fault *why)
{
    int rc = 0;

    for (const char *line = text; *line && !rc;) {
        size_t size = strcspn(line, "\n");

        rc = line_read(c, line, size, defaults, why);
        line += size + (line[size] == '\n');
    }
    if (!rc)
        rc = config_finish(c, why);
    return rc ? rc : all_files_read(c, text, why);
}

int remote_answer_none(struct remote_config *c, const char *user, int port, struct fault *why)
{
    char *text = NULL;
    int rc = string_format(&text, why,
                           "hostname %s\nuser %s\nport %d\n"
                           "userknownhostsfile ~/.ssh/known_hosts ~/.ssh/known_hosts2\n"
                           "globalknownhostsfile /etc/ssh/ssh_known_hosts "
                           "/etc/ssh/ssh_known_hosts2\n"
                           "identityfile ~/.ssh/id_rsa\n"
                           "identityfile ~/.ssh/id_ecdsa\n"
                           "identityfile ~/.ssh/id_ecdsa_sk\n"
                           "identityfile ~/.ssh/id_ed25519\n",
                           c->name, user ? user : remote_config_local_user(), port ? port : 22);

    if (!rc)
        rc = remote_answer_read(c, text, NULL, why);
    free(text);
    return rc;
}
