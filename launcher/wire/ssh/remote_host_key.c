/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_host_key.h"

#include "common/log.h"
#include "common/text/text_stream.h"
#include "launcher/wire/ssh/reach/remote_pattern.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#define LIBSSH_LEGACY_0_4 /* as in remote_session.h */
#include <libssh/libssh.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

static const char default_algorithms[] =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";

/* How a key revocation list begins; any other file is one of public keys. */
static const char list_magic[8] = {'S', 'S', 'H', 'K', 'R', 'L', '\n', '\0'};

/* What the known_hosts files contain about a host. */
struct finding {
    ssh_key key;            /* the one to look for, or NULL */
    FILE *algorithms;       /* to list those of known keys, or NULL */
    const char *known_file; /* holds the key, in known_line; NULL: the key is unknown */
    int known_line;
    const char *other_file; /* holds another key of the same type, in other_line */
    int other_line;
    const char *revoked_file;
    int revoked_line;
    int entries; /* about this host */
};

/* The name under which the key must be known, as known_hosts writes it. */
static void name_known_as(const struct remote_config *c, bool with_port, char *out, size_t size)
{
    if (c->option[REMOTE_HOST_KEY_ALIAS])
        snprintf(out, size, "%s", c->option[REMOTE_HOST_KEY_ALIAS]);
    else if (with_port && c->port != 22)
        snprintf(out, size, "[%s]:%d", c->option[REMOTE_HOSTNAME], c->port);
    else
        snprintf(out, size, "%s", c->option[REMOTE_HOSTNAME]);
    /* ssh writes names in small letters, and hashes them so. */
    for (char *at = out; *at && !c->option[REMOTE_HOST_KEY_ALIAS]; at++)
        *at = (char)tolower((unsigned char)*at);
}

static void algorithms_add(FILE *to, ssh_key key)
{
    switch (ssh_key_type(key)) {
    case SSH_KEYTYPE_RSA:
        fputs("rsa-sha2-512,rsa-sha2-256,", to);
        break;
    case SSH_KEYTYPE_ED25519:
    case SSH_KEYTYPE_ECDSA_P256:
    case SSH_KEYTYPE_ECDSA_P384:
    case SSH_KEYTYPE_ECDSA_P521:
        fprintf(to, "%s,", ssh_key_type_to_char(ssh_key_type(key)));
        break;
    default: /* types that libssh would not use anyway */
        break;
    }
}

/* Asked as well as libssh, for which a negated pattern that matches is a match: `!b,*` would make b
 * known. A hashed name is no pattern. The line is cut up. */
static bool names_match(char *line, const char *name)
{
    if (*line == '|')
        return true;
    line[strcspn(line, " ")] = '\0';
    return remote_pattern_list_matches(line, name);
}

static void line_judge(struct finding *f, const char *name, char *line, const char *file,
                       int number)
{
    struct ssh_knownhosts_entry *entry = NULL;
    bool revokes = strncmp(line, "@revoked", 8) == 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; *p; p++)
        if (*p == '\t')
            *p = ' ';
    if (revokes)
        line += 8;
    line += strspn(line, " ");
    if (*line == '#' || *line == '@' || !*line)
        return;
    if (ssh_known_hosts_parse_line(name, line, &entry) != SSH_OK)
        return;
    if (!names_match(line, name)) {
        ssh_knownhosts_entry_free(entry);
        return;
    }
    f->entries += !revokes;
    if (f->algorithms && !revokes)
        algorithms_add(f->algorithms, entry->publickey);
    if (f->key && ssh_key_cmp(f->key, entry->publickey, SSH_KEY_CMP_PUBLIC) == 0) {
        if (!revokes && !f->known_file) {
            f->known_file = file;
            f->known_line = number;
        }
        if (revokes) {
            f->revoked_file = file;
            f->revoked_line = number;
        }
    } else if (f->key && !revokes && !f->other_file &&
               ssh_key_type(f->key) == ssh_key_type(entry->publickey)) {
        f->other_file = file;
        f->other_line = number;
    }
    ssh_knownhosts_entry_free(entry);
}

/* A missing file is no error, as with ssh. */
static int files_search(struct finding *f, const struct remote_config *c, bool with_port,
                        struct fault *why)
{
    char name[300], *line = NULL;
    size_t room = 0;

    name_known_as(c, with_port, name, sizeof(name));
    for (size_t i = 0; i < c->known_hosts.count; i++) {
        const char *file = c->known_hosts.items[i];
        FILE *from = fopen(file, "re");

        if (!from && errno != ENOENT && errno != ENOTDIR) {
            free(line);
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read the known hosts in %s", file);
        }
        for (int number = 1; from && getline(&line, &room, from) >= 0; number++)
            line_judge(f, name, line, file, number);
        if (from)
            fclose(from);
    }
    free(line);
    return 0;
}

/* A host on a port other than 22 may be known by its bare name, as with ssh. */
static int host_search(struct finding *f, const struct remote_config *c, struct fault *why)
{
    int rc = files_search(f, c, true, why);

    if (!rc && f->entries == 0 && c->port != 22 && !c->option[REMOTE_HOST_KEY_ALIAS])
        rc = files_search(f, c, false, why);
    return rc;
}

/* The default ones, those of known keys first; in either half in the order in which they are here,
 * as with ssh. `known`: names, each with a comma behind it. */
static int algorithms_order(char **out, const char *known, struct fault *why)
{
    char all[sizeof(default_algorithms)], name[64], *save;
    struct text_stream s;
    FILE *to = text_stream_open(&s);
    const char *between = "";

    if (!to)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int is_known = 1; is_known >= 0; is_known--) {
        memcpy(all, default_algorithms, sizeof(all));
        for (char *a = strtok_r(all, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
            snprintf(name, sizeof(name), "%s,", a);
            if ((strstr(known, name) != NULL) != (is_known == 1))
                continue;
            fprintf(to, "%s%s", between, a);
            between = ",";
        }
    }
    *out = text_stream_close(to, &s);
    return *out ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

int remote_host_key_algorithms(char **out, const struct remote_config *c, struct fault *why)
{
    struct finding f = {0};
    struct text_stream s;
    char *known;
    int rc;

    if (c->option[REMOTE_HOST_KEY_ALGORITHMS])
        return string_copy(out, c->option[REMOTE_HOST_KEY_ALGORITHMS], why);
    *out = NULL;
    f.algorithms = text_stream_open(&s);
    if (!f.algorithms)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = host_search(&f, c, why);
    known = text_stream_close(f.algorithms, &s);
    if (!known && !rc)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = algorithms_order(out, known, why);
    free(known);
    return rc;
}

static int key_refuse(const struct finding *f, const struct remote_config *c, const char *print,
                      struct fault *why)
{
    const char *file =
        c->known_hosts.count ? c->known_hosts.items[0] : "known_hosts (no file is set)";
    char name[300], command[200];

    name_known_as(c, true, name, sizeof(name));
    remote_config_command(c, command, sizeof(command));
    if (f->revoked_file)
        return fault_set(why, ML_ERR_REFUSED, "its host key %s is revoked in %s line %d", print,
                         f->revoked_file, f->revoked_line);
    if (f->other_file)
        return fault_set(
            why, ML_ERR_REFUSED,
            "its host key has changed: %s line %d has another one for %s than the %s that "
            "it shows; if the host was installed anew, run ssh-keygen -R '%s' -f %s and "
            "log in once with ssh; if not, somebody may be in between",
            f->other_file, f->other_line, name, print, name, f->other_file);
    if (strcmp(file, "/dev/null") == 0)
        return fault_set(why, ML_ERR_REFUSED,
                         "its host key is unknown: UserKnownHostsFile of ssh_config is /dev/null, "
                         "which keeps none; name a file there for %s, log in once with `%s` and "
                         "compare the fingerprint with %s",
                         name, command, print);
    return fault_set(
        why, ML_ERR_REFUSED,
        "its host key is unknown: %s is not in %s for %s; log in once with `%s` and compare "
        "the fingerprint",
        print, file, name, command);
}

/* StrictHostKeyChecking no or off, which ssh -G prints as false. */
static bool is_lax(const struct remote_config *c)
{
    const char *strict = c->option[REMOTE_STRICT_HOST_KEY];

    return strict && (strcasecmp(strict, "false") == 0 || strcasecmp(strict, "no") == 0 ||
                      strcasecmp(strict, "off") == 0);
}

/* ssh says as much: somebody may be in between. */
static void key_tolerate(const struct finding *f, const struct remote_config *c, const char *print)
{
    if (f->revoked_file || f->other_file)
        log_warn("host %s: its host key %s is not that of %s line %d, and StrictHostKeyChecking of "
                 "ssh_config is \"no\"",
                 c->name, print, f->revoked_file ? f->revoked_file : f->other_file,
                 f->revoked_file ? f->revoked_line : f->other_line);
    else
        log_info("%s: its host key %s is unknown, and StrictHostKeyChecking of ssh_config is "
                 "\"no\"",
                 c->name, print);
}

/* --- RevokedHostKeys -------------------------------------------------------------------------- */

/* Asks ssh-keygen about a key revocation list. *text: the key as it would be in a file. */
static int list_search(const struct remote_wait *wait, const char *file, const char *text,
                       bool *is_revoked, struct fault *why)
{
    char *argv[] = {"ssh-keygen", "-Q", "-f", (char *)(uintptr_t)file, "/dev/stdin", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int ends[2], status = -1, rc = 0, err;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe");
    (void)!write(ends[1], text, strlen(text)); /* a pipe has room for it */
    close(ends[1]);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    err = posix_spawnp(&pid, argv[0], &files, &attributes, argv, environ);
    close(ends[0]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (err)
        return fault_os(why, ML_ERR_REFUSED, err,
                        "RevokedHostKeys names %s, for which ssh-keygen is needed here: cannot "
                        "start it",
                        file);
    rc = remote_wait_group(wait, pid, &status, why);
    *is_revoked = !rc && WIFEXITED(status) && WEXITSTATUS(status) == 1;
    if (!rc && !*is_revoked && status != 0)
        rc = fault_set(why, ML_ERR_REFUSED,
                       "RevokedHostKeys names %s, which ssh-keygen -Q cannot read: no host is "
                       "trusted then, as with ssh",
                       file);
    return rc;
}

/* A file of public keys, one a line: "TYPE BASE64 COMMENT". */
static bool keys_search(FILE *from, const char *base64)
{
    char *line = NULL, *save;
    bool is_found = false;
    size_t room = 0;

    while (!is_found && getline(&line, &room, from) >= 0) {
        const char *type = strtok_r(line, " \t\r\n", &save), *key = NULL;

        if (type && *type != '#')
            key = strtok_r(NULL, " \t\r\n", &save);
        is_found = key && strcmp(key, base64) == 0;
    }
    free(line);
    return is_found;
}

static int revoked_search(const struct remote_wait *wait, const char *file, ssh_key key,
                          const char *base64, bool *is_revoked, struct fault *why)
{
    char magic[sizeof(list_magic)] = "", text[8192];
    FILE *from = fopen(file, "re");
    bool is_list;

    if (!from)
        return fault_os(why, ML_ERR_REFUSED, errno,
                        "RevokedHostKeys names %s, and no host is trusted unless that can be "
                        "read, as with ssh",
                        file);
    is_list = fread(magic, 1, sizeof(list_magic), from) == sizeof(list_magic) &&
              memcmp(magic, list_magic, sizeof(list_magic)) == 0;
    rewind(from);
    *is_revoked = !is_list && keys_search(from, base64);
    fclose(from);
    if (!is_list)
        return 0;
    snprintf(text, sizeof(text), "%s %s\n", ssh_key_type_to_char(ssh_key_type(key)), base64);
    return list_search(wait, file, text, is_revoked, why);
}

/* ssh asks these files first, too. */
static int revoked_check(const struct remote_config *c, const struct remote_wait *wait, ssh_key key,
                         const char *print, struct fault *why)
{
    const struct string_list *files = &c->revoked;
    bool is_revoked = false;
    char *base64 = NULL;
    int rc = 0;

    if (files->count && ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK)
        return fault_set(why, ML_ERR_REFUSED, "cannot read its host key: %s", print);
    for (size_t i = 0; i < files->count && !rc; i++) {
        rc = revoked_search(wait, files->items[i], key, base64, &is_revoked, why);
        if (!rc && is_revoked)
            rc =
                fault_set(why, ML_ERR_REFUSED, "its host key %s is revoked in %s (RevokedHostKeys)",
                          print, files->items[i]);
    }
    ssh_string_free_char(base64);
    return rc;
}

int remote_host_key_check(struct ssh_session_struct *ssh, const struct remote_config *c,
                          const struct remote_wait *wait, struct fault *why)
{
    struct finding f = {0};
    unsigned char *hash = NULL;
    size_t size;
    char *print = NULL;
    int rc;

    if (ssh_get_server_publickey(ssh, &f.key) != SSH_OK ||
        ssh_get_publickey_hash(f.key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) < 0 ||
        !(print = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size))) {
        rc = fault_set(why, ML_ERR_REFUSED, "cannot read its host key: %s", ssh_get_error(ssh));
    } else {
        rc = revoked_check(c, wait, f.key, print, why);
        if (!rc)
            rc = host_search(&f, c, why);
        if (!rc && (!f.known_file || f.revoked_file) && is_lax(c))
            key_tolerate(&f, c, print);
        else if (!rc && (!f.known_file || f.revoked_file))
            rc = key_refuse(&f, c, print, why);
        else if (!rc)
            log_debug("%s: host key %s %s is known from %s line %d", c->name,
                      ssh_key_type_to_char(ssh_key_type(f.key)), print, f.known_file, f.known_line);
    }
    ssh_string_free_char(print);
    ssh_clean_pubkey_hash(&hash);
    ssh_key_free(f.key);
    return rc;
}
